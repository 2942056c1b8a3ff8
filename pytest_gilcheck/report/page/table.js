// The matrix: opens rows, moves with the keyboard, and keeps the filters in the address.

const facts = JSON.parse(document.getElementById("facts").textContent);
const body = document.querySelector("#matrix > tbody");
const rows = Array.from(body.rows, (row) => ({
  row, panel: null, button: row.querySelector("button"), name: row.cells[0].textContent.toLowerCase(),
  verdicts: row.dataset.verdicts.split(" "), check: row.dataset.check, differs: row.dataset.differs === "1",
}));
const byRow = new Map(rows.map((entry, index) => [entry.row, index]));
let lines = null; // lines of the data: split when the first row is opened; each is parsed when its row is opened

function records(index) {
  lines ??= document.getElementById("data").textContent.split("\n");
  return JSON.parse(lines[index + 1].replace(/,$/, ""));
}

function open(index) {
  if (document.readyState === "loading") { // the data are at the end of the file
    addEventListener("DOMContentLoaded", () => open(index), { once: true });
    return;
  }
  const entry = rows[index];
  if (entry.panel === null) {
    const cards = node("div", { class: "cards" });
    records(index).forEach((record, column) => {
      if (record !== null) cards.append(card(record, facts.columns[column], facts.units));
    });
    entry.panel = node("tr", { class: "panel", id: `panel-${index}` }, node("td", { colspan: entry.row.cells.length }, cards));
    entry.button.setAttribute("aria-controls", entry.panel.id);
    entry.row.after(entry.panel);
  }
  entry.panel.hidden = false;
  entry.button.setAttribute("aria-expanded", "true");
  redraw(entry.panel);
}

function close(index) {
  if (rows[index].panel === null) return;
  rows[index].panel.hidden = true;
  rows[index].button.setAttribute("aria-expanded", "false");
}

const opened = (index) => rows[index].button.getAttribute("aria-expanded") === "true";
const toggle = (index) => (opened(index) ? close(index) : open(index));

body.addEventListener("click", (event) => {
  const index = byRow.get(event.target.closest("tr"));
  if (index === undefined) return;
  if (event.target.closest("a")) return; // the page of a code
  if (!event.target.closest("button") && !getSelection().isCollapsed) return; // the reader is selecting text
  toggle(index);
});

body.addEventListener("keydown", (event) => {
  const button = event.target.closest("button");
  const index = button && byRow.get(button.closest("tr"));
  if (index === null || index === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  const shown = rows.map((_, each) => each).filter((each) => !rows[each].row.hidden);
  const at = shown.indexOf(index);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[event.key];
  if (next !== undefined) rows[shown[Math.min(Math.max(next, 0), shown.length - 1)]].button.focus();
  else if (event.key === "ArrowRight") { if (!opened(index)) open(index); }
  else if (event.key === "ArrowLeft") { if (opened(index)) close(index); }
  else return; // the button handles Enter and Space itself
  event.preventDefault();
});

const form = document.getElementById("filters");
const search = document.getElementById("search");
const boxes = Array.from(form.querySelectorAll("input[type=checkbox]"));
const chosen = (name) => boxes.filter((box) => box.name === name && box.checked).map((box) => box.value);

function filter() {
  const text = search.value.trim().toLowerCase();
  const [verdicts, checks, differs] = [chosen("verdict"), chosen("check"), chosen("differs").length > 0];
  let count = 0;
  for (const { row, panel, button, name, verdicts: has, check, differs: changes } of rows) {
    const shown = name.includes(text) && (!verdicts.length || verdicts.some((each) => has.includes(each)))
      && (!checks.length || checks.includes(check)) && (!differs || changes);
    row.hidden = !shown;
    if (panel !== null) panel.hidden = !shown || button.getAttribute("aria-expanded") !== "true";
    count += shown;
  }
  document.getElementById("shown").textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
  document.getElementById("nothing").hidden = count > 0 || rows.length === 0;
}

function toAddress() {
  const parameters = new URLSearchParams();
  if (search.value.trim()) parameters.set("text", search.value.trim());
  for (const name of ["verdict", "check", "differs"]) for (const value of chosen(name)) parameters.append(name, value);
  const address = `#${parameters}`;
  try {
    history.replaceState(null, "", parameters.size ? address : location.pathname + location.search);
  } catch {
    location.hash = address; // a document without an origin, or too many changes in a second
  }
}

function fromAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  search.value = parameters.get("text") ?? "";
  for (const box of boxes) box.checked = parameters.getAll(box.name).includes(box.value);
  filter();
}

form.addEventListener("input", () => { filter(); toAddress(); });
form.addEventListener("reset", () => setTimeout(() => { filter(); toAddress(); }));
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", fromAddress);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address belongs to the filters
  document.getElementById("results").focus();
});

// Colours: those of the system, or the choice of the reader, which the browser stores if it allows that for files.
const theme = document.getElementById("theme");
const THEMES = { "": "as the system", light: "light", dark: "dark" };

function coloured(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  theme.textContent = `Colours: ${THEMES[name]}`;
}

function kept() {
  try {
    const name = localStorage.getItem("gilcheck-colours") ?? "";
    return Object.hasOwn(THEMES, name) ? name : "";
  } catch {
    return "";
  }
}

theme.addEventListener("click", () => {
  const names = Object.keys(THEMES);
  const name = names[(names.indexOf(document.documentElement.dataset.theme ?? "") + 1) % names.length];
  coloured(name);
  try {
    localStorage.setItem("gilcheck-colours", name);
  } catch {
    // not stored: the choice is for this visit only
  }
});

let asked = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(asked);
  asked = requestAnimationFrame(() => {
    for (const { panel } of rows) if (panel !== null && !panel.hidden) redraw(panel);
    sideways();
  });
});

const sideways = () => document.querySelectorAll("main .wide").forEach((each) => scrollable(each, "table"));

// Unfold everything before printing.
let folded = [];
addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll("details:not([open])"));
  folded.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => folded.forEach((each) => { each.open = false; }));

coloured(kept());
theme.hidden = false;
form.hidden = false;
fromAddress();
sideways();
document.documentElement.dataset.ready = "1";
