// Elements, scales and the frame of a chart. Text goes through textContent and createElementNS only, so it never becomes markup.
//
// Charts are drawn here, when their row is opened, and not by Python beforehand: a drawn figure for each of 6,000 checks would make
// a file of 100 MB.

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = ["circle", "square", "triangle", "diamond", "plus", "bar"];
const DASHES = ["", "dashed", "dotted", "dashed", "dotted", ""];

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== "") element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const node = (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) => filled(document.createElementNS(SVG, name), attributes, children);

function scale(from, to, start, end, log) {
  const value = log ? Math.log10 : (x) => x;
  const [low, high] = [value(from), value(to)];
  return (x) => start + ((value(x) - low) / (high - low || 1)) * (end - start);
}

function ticks(low, high, most = 6) {
  const rough = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough * 0.999);
  const found = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let index = first; index * step <= high + step * 1e-9 && index < first + 50; index++) found.push(Number((index * step).toPrecision(10)));
  return found;
}

function logTicks(low, high, most = 7) {
  const decades = Math.log10(high / low);
  const each = decades <= 1.5 ? [1, 2, 5] : decades <= 3 && most > 5 ? [1, 3] : [1];
  const found = [];
  const skip = Math.max(1, Math.ceil(decades / most));
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    if (power % skip) continue;
    for (const factor of each) {
      const at = Number((factor * 10 ** power).toPrecision(3));
      if (at >= low * 0.999 && at <= high * 1.001) found.push(at);
    }
  }
  return found;
}

// A point with a shape of its own for each series, so that series differ in more than colour.
function mark(shape, x, y, name, tip, size = 4) {
  const s = size;
  const paths = {
    square: `M${x - s} ${y - s}h${2 * s}v${2 * s}h${-2 * s}z`,
    triangle: `M${x} ${y - s - 1}L${x + s + 1} ${y + s}H${x - s - 1}z`,
    diamond: `M${x} ${y - s - 1}L${x + s + 1} ${y}L${x} ${y + s + 1}L${x - s - 1} ${y}z`,
    plus: `M${x - s} ${y}h${2 * s}M${x} ${y - s}v${2 * s}`,
    cross: `M${x - s} ${y - s}l${2 * s} ${2 * s}M${x - s} ${y + s}l${2 * s} ${-2 * s}`,
    bar: `M${x - s - 2} ${y}h${2 * s + 4}`,
  };
  const stroke = ["plus", "cross", "bar"].includes(shape) ? 2 : 1;
  const drawn = shape === "circle"
    ? draw("circle", { cx: x, cy: y, r: s, class: name })
    : draw("path", { d: paths[shape] || paths.square, class: name, "stroke-width": stroke });
  if (tip) drawn.append(draw("title", {}, tip));
  return drawn;
}

const line = (x1, y1, x2, y2, name) => draw("line", { x1, y1, x2, y2, class: name });

function path(points, name) {
  return draw("path", { class: name, d: points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("") });
}

function label(x, y, text, anchor = "start", name = "") {
  return draw("text", { x, y, "text-anchor": anchor, class: name }, text);
}

// Axes with their labels and grid. `x` and `y` are {low, high, log, ticks: [[value, text]], label}; gives {svg, x, y, box}.
function frame(width, height, x, y, left = 58) {
  const box = { left, right: width - 14, top: 10, bottom: height - 40 };
  const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  const across = scale(x.low, x.high, box.left, box.right, x.log);
  const up = scale(y.low, y.high, box.bottom, box.top, y.log);
  for (const [value, text] of y.ticks) {
    svg.append(line(box.left, up(value), box.right, up(value), "grid"), label(box.left - 7, up(value) + 4, text, "end"));
  }
  let free = -Infinity; // labels that would overlap are left out
  for (const [value, text] of x.ticks) {
    const half = text.length * 3.1;
    svg.append(line(across(value), box.bottom, across(value), box.bottom + 4, "axis"));
    if (across(value) - half < free) continue;
    svg.append(label(across(value), box.bottom + 16, text, "middle"));
    free = across(value) + half + 4;
  }
  svg.append(path([[box.left, box.top], [box.left, box.bottom], [box.right, box.bottom]], "axis"));
  svg.append(label((box.left + box.right) / 2, height - 6, x.label, "middle"));
  const turned = label(0, 0, y.label, "middle");
  turned.setAttribute("transform", `translate(12 ${(box.top + box.bottom) / 2}) rotate(-90)`);
  svg.append(turned);
  return { svg, x: across, y: up, box };
}

// A line across a chart with its name; names that would overlap are moved.
function limit(chart, at, text, name = "limit", taken = []) {
  const { svg, y, box } = chart;
  if (!(y(at) >= box.top - 1 && y(at) <= box.bottom + 1)) return;
  let where = y(at) - 4;
  while (taken.some((other) => Math.abs(other - where) < 12)) where += 4;
  taken.push(where);
  svg.append(line(box.left, y(at), box.right, y(at), name), label(box.right - 2, where, text, "end", name === "limit" ? "limit-text" : ""));
}

// A figure that is drawn as wide as its container, once it has a width. `keys` is the legend: [class, shape or "line" or "limit", dash, text].
function chart(title, summary, keys, drawing, below = "") {
  const plot = node("div", { class: "plot" });
  const legend = node("ul", { class: "legend", "aria-hidden": "true" });
  for (const [name, shape, dash, text] of keys) {
    const key = draw("svg", { width: 24, height: 12 });
    if (dash !== null) key.append(line(0, 6, 24, 6, `line ${dash} ${name}`));
    if (shape) key.append(mark(shape, 12, 6, name));
    legend.append(node("li", {}, key, text));
  }
  const made = node("figure", { class: "chart" }, node("figcaption", {}, title), keys.length ? legend : null, plot);
  if (below) made.append(node("div", { class: "below" }, below));
  let width = 0;
  charts.set(made, () => {
    const room = Math.max(280, Math.min(640, Math.floor(plot.clientWidth)));
    if (!plot.clientWidth || room === width) return;
    width = room;
    const svg = drawing(room);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `${title}. ${summary}`);
    plot.replaceChildren(svg);
    scrollable(plot, title);
  });
  return made;
}

const charts = new WeakMap();
const redraw = (element) => element.querySelectorAll("figure.chart").forEach((each) => charts.get(each)());

// Make elements that scroll sideways reachable by keyboard.
function scrollable(element, name) {
  const over = element.scrollWidth > element.clientWidth + 1;
  for (const [key, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", `${name}, scrolls sideways`]]) {
    if (over) element.setAttribute(key, value);
    else element.removeAttribute(key);
  }
}
