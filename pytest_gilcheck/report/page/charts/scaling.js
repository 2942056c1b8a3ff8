// Each round's speedup between its bounds, beside what the machine could give in that round and what is asked for.
CHARTS.scaling = function (record) {
  const figures = object(record.figures);
  const given = list(object(record.details).rounds).map(object);
  const rounds = given.slice(0, MOST).map((each, index) => ({
    n: index + 1, speedup: number(each.speedup), low: number(each.low), high: number(each.high), ceiling: number(each.ceiling),
  })).filter((each) => each.speedup !== null);
  if (!rounds.length) return [];
  const threshold = number(figures.threshold);
  const ceiling = number(figures.ceiling);
  const [low, high] = [number(figures.low), number(figures.high)];
  const typical = known([...rounds.flatMap((each) => [each.speedup, each.ceiling, each.low]), threshold, ceiling, low]);
  // one round with an upper bound of 40x would flatten all others: bounds may leave the chart
  const top = Math.max(1.2, ...typical, ...known([high]).filter((v) => v <= 3 * Math.max(...typical))) * 1.15;
  const inside = (v) => Math.min(Math.max(v, 0), top);
  const interval = low === null && high === null ? "" : `; interval ${low === null ? "0" : times(low)} to ${high === null ? "no bound" : times(high)}`;
  const summary = `${rounds.length} rounds: ${rounds.slice(0, 30).map((each) => times(each.speedup)).join(", ")}${interval}`
    + `${threshold === null ? "" : `; asked for ${times(threshold)}`}${ceiling === null ? "" : `; ceiling ${times(ceiling)}`}.`;
  const keys = [["s0", "circle", "", "speedup of a round, and its bounds"]];
  if (rounds.some((each) => each.ceiling !== null)) keys.push(["s2", "bar", null, "ceiling in that round"]);
  if (low !== null || high !== null) keys.push(["s0 band", "square", null, "interval of the verdict"]);
  if (threshold !== null) keys.push(["limit", "", "", "asked for"]);
  const drawing = (width) => {
    const last = Math.max(2, rounds[rounds.length - 1].n);
    const shown = ticks(1, last, width < 400 ? 6 : 12).filter(Number.isInteger);
    const made = frame(
      width, 250,
      { low: 0.4, high: last + 0.6, ticks: shown.map((n) => [n, String(n)]), label: "round (number)" },
      { low: 0, high: top, ticks: ticks(0, top).map((v) => [v, `${v}x`]), label: "speedup (times sequential)" },
    );
    const { svg, x, y, box } = made;
    if (low !== null || high !== null) {
      const [from, to] = [y(inside(high ?? top)), y(inside(low ?? 0))];
      svg.append(draw("rect", { x: box.left, y: from, width: box.right - box.left, height: Math.max(1, to - from), class: "s0 band" }));
    }
    for (const each of rounds) {
      const at = x(each.n);
      if (each.ceiling !== null) svg.append(mark("bar", at, y(inside(each.ceiling)), "s2", `round ${each.n}: ceiling ${times(each.ceiling)}`));
      if (each.low !== null || each.high !== null) svg.append(path([[at, y(inside(each.low ?? 0))], [at, y(inside(each.high ?? top))]], "line s0"));
      const bounds = `${each.low === null ? "" : `, at least ${times(each.low)}`}${each.high === null ? "" : `, at most ${times(each.high)}`}`;
      svg.append(mark("circle", at, y(inside(each.speedup)), "s0", `round ${each.n}: ${times(each.speedup)}${bounds}`));
    }
    const taken = [];
    if (threshold !== null) limit(made, threshold, `asked for ${times(threshold)}`, "limit", taken);
    if (ceiling !== null) limit(made, ceiling, `ceiling ${times(ceiling)}`, "axis dashed", taken);
    return svg;
  };
  const left = given.length > rounds.length ? `${given.length - rounds.length} rounds are not drawn.` : "";
  return [chart("Rounds: speedup, interval and ceiling", summary, keys, drawing, left)];
};
