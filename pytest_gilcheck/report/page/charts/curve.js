// Speedup over workers, with the span of its rounds and the Universal Scalability Law that fits.
CHARTS.curve = function (record) {
  const details = object(record.details);
  const modes = new Map();
  for (const each of list(details.points).slice(0, MOST).map(object)) {
    const [workers, speedup] = [positive(each.workers), positive(each.speedup)];
    if (workers === null || speedup === null) continue;
    const mode = words(each.mode) || "work";
    if (!modes.has(mode)) modes.set(mode, []);
    modes.get(mode).push({ ...each, workers, speedup, low: number(each.low), high: number(each.high) });
  }
  if (!modes.size) return [];
  const all = [...modes.values()].flat();
  const most = Math.max(...all.map((point) => point.workers), 2);
  const laws = new Map();
  for (const [mode, points] of modes) {
    const law = object(object(details.usl)[mode]);
    const [single, contention, coherence] = [positive(law.scale), number(law.contention), number(law.coherence)];
    const base = points.filter((point) => positive(point.throughput)).map((point) => point.throughput / point.speedup);
    if (single === null || contention === null || coherence === null || !base.length) continue;
    const sequential = median(base);
    const at = (n) => (single * n) / (1 + contention * (n - 1) + coherence * n * (n - 1)) / sequential;
    if (Number.isFinite(at(1)) && Number.isFinite(at(most))) laws.set(mode, { at, contention, coherence, peak: positive(law.peak) });
  }
  const top = Math.max(1.2, ...all.map((point) => Math.max(point.speedup, point.high ?? 0))) * 1.12;
  const sentences = [...modes].map(([mode, points]) => {
    const law = laws.get(mode);
    const fit = law ? `; USL contention ${digits(law.contention)}, coherence ${digits(law.coherence)}${law.peak ? `, peak at ${digits(law.peak)} workers` : ""}` : "";
    return `${mode}: ${points.map((point) => `${point.workers} workers ${times(point.speedup)}`).join(", ")}${fit}`;
  });
  const keys = [...modes.keys()].map((mode, index) => [series(index), shapes(index), laws.has(mode) ? dashes(index) : null, clipped(mode, 30)]);
  const drawing = (width) => {
    const workers = [...new Set(all.map((point) => point.workers))].sort((a, b) => a - b);
    const made = frame(
      width, 270,
      { low: Math.min(1, workers[0]) - most * 0.04, high: most * 1.04, ticks: workers.map((n) => [n, String(n)]), label: "workers (number)" },
      { low: 0, high: top, ticks: ticks(0, top).map((v) => [v, `${v}x`]), label: "speedup (times sequential)" },
    );
    const { svg, x, y } = made;
    svg.append(line(x(1), y(1), x(Math.min(most, top)), y(Math.min(most, top)), "axis dotted"));
    [...modes].forEach(([mode, points], index) => {
      const shift = (index - (modes.size - 1) / 2) * 5; // intervals of several modes beside each other
      const law = laws.get(mode);
      if (law) {
        const along = Array.from({ length: 61 }, (_, step) => 1 + ((most - 1) * step) / 60);
        svg.append(path(along.map((n) => [x(n), y(Math.min(Math.max(law.at(n), 0), top))]), `line ${dashes(index)} ${series(index)}`));
      }
      for (const point of points) {
        const at = x(point.workers) + shift;
        if (point.low !== null && point.high !== null && point.low <= point.high) {
          svg.append(path([[at, y(Math.max(0, point.low))], [at, y(point.high)]], `line ${series(index)}`));
          for (const end of [Math.max(0, point.low), point.high]) svg.append(line(at - 3, y(end), at + 3, y(end), series(index)));
        }
        const span = point.low !== null && point.high !== null ? ` (${times(point.low)} to ${times(point.high)})` : "";
        const call = number(point.p50) === null ? "" : `; one call p50 ${seconds(point.p50)}, p99 ${figure(point.p99, "s")}`;
        svg.append(mark(shapes(index), at, y(point.speedup), series(index), `${mode}, ${point.workers} workers: ${times(point.speedup)}${span}${call}`));
      }
    });
    return svg;
  };
  const fits = [...laws].map(([mode, law]) => `${clipped(mode, 30)}: contention ${digits(law.contention)}, coherence ${digits(law.coherence)}${law.peak ? `, peak at ${digits(law.peak)} workers` : ""}`);
  const below = `Bars: least and greatest round. Dotted: one more for each worker.${fits.length ? ` Lines: Universal Scalability Law. ${fits.join("; ")}.` : ""}`;
  return [chart("Speedup over workers", `${sentences.join(". ")}.`, keys, drawing, below)];
};
