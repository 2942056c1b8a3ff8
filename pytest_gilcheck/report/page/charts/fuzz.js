// The interleaving of a fuzz check: a lane for each thread, time downwards, an arrow at each switch to another thread.

const MOST_STEPS = 150;

CHARTS.fuzz = function (record) {
  const lanes = object(object(record.details).lanes);
  const given = list(lanes.steps).map(object);
  const rows = [];
  for (const each of given.slice(0, MOST_STEPS)) {
    const [from, to] = list(each.switch).map(lane);
    if (Array.isArray(each.switch) && from !== undefined && to !== undefined && from !== null && to !== null) rows.push({ from, to, why: words(each.why) });
    else if (lane(each.thread) !== null) rows.push({ ...each, thread: each.thread });
  }
  if (!rows.some((row) => row.thread !== undefined)) return [];
  const count = 1 + Math.max(...rows.map((row) => row.thread ?? Math.max(row.from, row.to)));
  const names = Array.from({ length: count }, (_, index) => clipped(list(lanes.threads)[index] || `T${index}`, 24));
  const switches = rows.filter((row) => row.thread === undefined);
  const summary = `${names.length} threads, ${rows.length - switches.length} lines, ${switches.length} switches. ${rows.slice(0, 60)
    .map((row) => (row.thread === undefined ? `${names[row.from]} ${row.why}, ${names[row.to]} runs` : `${names[row.thread]}: ${words(row.source)}${row.note ? ` (${words(row.note)})` : ""}`))
    .map((text) => clipped(text, 160)).join(". ")}.`;
  const drawing = (room) => {
    const left = 52;
    const column = Math.max(165, (room - left) / count);
    const width = left + column * count;
    const fits = Math.floor((column - 22) / 7.0);
    const middle = (index) => left + column * (index + 0.5);
    const height = 52 + rows.reduce((sum, row) => sum + (row.thread === undefined ? 32 : 42), 0);
    const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
    names.forEach((name, index) => svg.append(label(middle(index), 26, name, "middle", "name"), line(middle(index), 34, middle(index), height - 6, "lane")));
    svg.append(label(left + (column * count) / 2, 11, "thread (name)", "middle"));
    const axis = label(0, 0, "step (number), time goes down", "start");
    axis.setAttribute("transform", "translate(11 36) rotate(90)");
    if (height > 240) svg.append(axis);
    else svg.append(label(2, 26, "step (no.)"));
    let y = 40;
    for (const row of rows) {
      if (row.thread === undefined) {
        const [from, to] = [middle(row.from), middle(row.to)];
        const name = row.why === "is preempted" ? "bad" : "quiet";
        const way = to >= from ? 1 : -1;
        svg.append(
          path([[from, y], [from, y + 16], [to, y + 16], [to, y + 26]], `line ${name}${name === "bad" ? "" : " dashed"}`),
          draw("path", { class: name, d: `M${to - 4} ${y + 23}h8l-4 6z` }),
          label((from + to) / 2, y + 11, clipped(`${names[row.from]} ${row.why}`, Math.max(14, Math.floor((Math.abs(to - from) || column) / 6.2))), "middle", name === "bad" ? "limit-text" : ""),
          mark("circle", from, y + 1, name, "", way && 2.5),
        );
        y += 32;
        continue;
      }
      const x = left + column * row.thread + 5;
      const place = row.file ? `${words(row.file)}:${words(row.line)}` : "";
      svg.append(
        draw("rect", { x, y: y + 1, width: column - 10, height: 38, rx: 3, class: "hollow" }),
        draw("rect", { x, y: y + 1, width: column - 10, height: 38, rx: 3, class: `box ${series(row.thread)}` },
          draw("title", {}, [words(row.source), words(row.note), place].filter(Boolean).join("\n"))),
        label(left - 6, y + 17, clipped(row.index, 4), "end"),
        label(x + 7, y + 16, clipped(row.source, fits), "start", "source"),
        label(x + 7, y + 32, clipped(row.note, Math.floor(fits * 1.08)), "start", "deed"),
      );
      y += 42;
    }
    return svg;
  };
  const left = given.length > rows.length ? ` ${given.length - rows.length} more steps are in the full report.` : "";
  return [chart("Interleaving of the minimal failing run", summary, [], drawing, `Time goes down. Solid arrows: the thread is preempted; dashed: it ends or waits.${left}`)];
};

function lane(value) {
  return Number.isInteger(value) && value >= 0 && value < 64 ? value : null;
}
