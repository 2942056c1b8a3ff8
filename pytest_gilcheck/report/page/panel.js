// The content of an opened row: a card for each interpreter.

const MARKS = { holds: "✓", violated: "✗", inconclusive: "?", measured: "·" };

function card(record, title, units) {
  const verdict = Object.hasOwn(MARKS, record.verdict ?? "measured") ? record.verdict ?? "measured" : "inconclusive";
  const details = object(record.details);
  const claim = words(object(record.claim).text);
  const made = node("section", { class: "card", "aria-label": title },
    node("header", {}, node("h3", {}, title), node("b", { class: verdict }, `${MARKS[verdict]} ${verdict}`)));
  if (claim) made.append(node("p", {}, node("span", { class: "soft" }, "Claim: "), claim));
  if (record.reason) made.append(node("p", {}, words(record.reason)));
  const gil = object(record.gil);
  if (gil.before && gil.after && gil.before !== gil.after) made.append(node("p", {}, `The interpreter was ${words(gil.before)} before the check and ${words(gil.after)} after it.`));
  if (record.token) made.append(command("Replay", `gilcheck replay ${words(record.token)}`));
  if (record.rerun && !record.token) made.append(command("Run again", words(record.rerun)));
  if (record.code) made.append(command("How to mend it", `gilcheck explain ${words(record.code)}`));
  made.append(pairs(entries(record.figures).filter(([name]) => name !== "token"), units, "figures of measurement"));
  const draw = Object.hasOwn(CHARTS, record.check) ? CHARTS[record.check] : () => [];
  made.append(...draw(record));
  made.append(...breaks(details), ...locks(details));
  if (typeof details.stacks === "string" && details.stacks) made.append(fold("Stacks at that moment", node("pre", {}, details.stacks)));
  if (details.text) made.append(fold("Full report", node("pre", {}, words(details.text)), true));
  const run = object(record.run);
  const about = [
    ...entries(record.parameters), ["recorded", record.recorded], ["load", Array.isArray(record.load) ? record.load[0] : record.load],
    ["run", run.id], ["commit", run.commit], ["uncommitted changes", run.commit ? run.dirty : null],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  if (about.length) made.append(fold("Parameters and run", pairs(about, units, "parameters")));
  return made;
}

// A command with a button that copies it. Where a page may not use the clipboard, the text is selected for the reader to copy.
function command(title, text) {
  const code = node("code", {}, text);
  const button = node("button", { type: "button", class: "copy", "aria-label": `Copy: ${text}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return node("p", { class: "command" }, node("span", { class: "soft" }, `${title}: `), code, " ", button);
}

function pairs(named, units, what) {
  const made = node("dl", { class: "figures", "aria-label": what });
  for (const [name, value] of named.slice(0, 200)) {
    if (value === null || value === undefined) continue;
    const shown = clipped(figure(value, units[name]), 600);
    made.append(node("div", { class: shown.length > 18 ? "long" : "" }, node("dt", {}, clipped(name.replaceAll("_", " "), 80)), node("dd", {}, shown)));
  }
  return made;
}

function fold(title, content, open = false) {
  const made = node("details", {}, node("summary", {}, title), content);
  made.open = open;
  return made;
}

function table(title, head, rows) {
  const body = node("tbody", {}, ...rows.map((row) => node("tr", {}, ...row.map((cell) => node("td", {}, clipped(cell, 400))))));
  return node("table", {}, node("caption", {}, title), node("thead", {}, node("tr", {}, ...head.map((each) => node("th", { scope: "col" }, each)))), body);
}

function breaks(details) {
  const found = list(details.breaks).map(object);
  if (!found.length) return [];
  const rows = found.slice(0, 200).map((each) => [each.index, each.place, each.kind, each.reachable === true ? "yes" : each.reachable === false ? "no" : "–"]);
  const more = found.length > rows.length ? ` (the first ${rows.length})` : "";
  return [table(`${found.length} steps at which an interrupt breaks something${more}`, ["step", "place", "what breaks", "signals are seen there"], rows)];
}

function locks(details) {
  const found = list(details.locks).map(object);
  if (!found.length) return [];
  const rows = found.slice(0, 200).map((each) => [each.where, each.noticed === true ? "the test notices" : "the test does not notice", each.words]);
  return [table("Without each lock", ["lock", "its absence", "how"], rows)];
}
