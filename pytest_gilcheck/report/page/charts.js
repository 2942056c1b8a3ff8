// The charts of each kind of check. Each function takes a record and gives figures, none if the record has nothing to draw.

const MOST = 1000; // marks of one series
const series = (index) => `s${index % 6}`;
const shapes = (index) => SHAPES[index % 6];
const dashes = (index) => DASHES[index % 6];
const times = (value) => `${value.toFixed(2)}x`;

// Speedup over workers, with the span of its rounds and the Universal Scalability Law that fits.
function curveCharts(record) {
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
}

// Each round's speedup between its bounds, beside what the machine could give in that round and what is asked for.
function scalingCharts(record) {
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
}

// How late each probe was, alone and beside the workload: seconds over the share of moments, both axes stretched towards what is rare.
function latencyCharts(record) {
  const figures = object(record.figures);
  const claim = { ...object(record.parameters), ...object(record.claim) };
  const limits = [["p99", 0.99, positive(figures.p99_limit) ?? positive(claim.p99)], ["max", 1, positive(figures.max_limit) ?? positive(claim.max)]];
  const found = [];
  for (const [probe, conditions] of entries(object(record.details).lateness).slice(0, 6)) {
    const lines = [];
    for (const condition of ["alone", "beside"]) {
      const points = list(object(conditions)[condition]).slice(0, MOST).map(list)
        .map(([share, late]) => [number(share), number(late)])
        .filter(([share, late]) => share !== null && late !== null && share >= 0 && share <= 1 && late >= 0)
        .sort((a, b) => a[0] - b[0]);
      if (points.length) lines.push({ condition, points });
    }
    if (!lines.length) continue;
    const asked = limits.filter(([, , value]) => value !== null);
    const values = [...lines.flatMap((each) => each.points.map((point) => point[1])), ...asked.map((each) => each[2])].filter((v) => v > 0);
    const high = Math.max(1e-5, ...values) * 1.6;
    const low = Math.max(1e-7, Math.min(high / 20, ...values) / 1.6);
    const rarest = Math.max(0.99, ...lines.flatMap((each) => each.points.map((point) => point[0])).filter((share) => share < 1));
    const nines = (share) => -Math.log10(1 - share);
    const end = nines(rarest) + 0.5;
    const where = (share) => (share < 1 ? Math.min(nines(share), end - 0.1) : end);
    const shares = [[0, "0%"], [0.5, "50%"], [0.9, "90%"], [0.99, "99%"], [0.999, "99.9%"], [0.9999, "99.99%"]].filter(([share]) => share <= rarest + 1e-9);
    const at = (points, share) => points.find((point) => point[0] >= share - 1e-9);
    const summary = lines.map(({ condition, points }) => {
      const parts = [[0.5, "p50"], [0.99, "p99"], [1, "max"]].map(([share, name]) => [name, at(points, share)]).filter(([, point]) => point);
      return `${condition}: ${parts.map(([name, point]) => `${name} ${seconds(point[1])}`).join(", ")}`;
    });
    for (const [name, , value] of asked) summary.push(`limit for ${name} ${seconds(value)}`);
    const named = { alone: "without the workload", beside: "beside the workload" };
    const keys = lines.map(({ condition }) => (condition === "alone" ? ["s0", "circle", "dashed", named.alone] : ["s1", "square", "", named.beside]));
    if (asked.length) keys.push(["limit", "", "", "limit"]);
    const drawing = (width) => {
      const made = frame(
        width, 250,
        { low: 0, high: end, ticks: [...shares.map(([share, text]) => [nines(share), text]), [end, "max"]], label: "share of intended moments that were no later (%)" },
        { low, high, log: true, ticks: logTicks(low, high).map((v) => [v, seconds(v)]), label: "lateness (seconds, log)" },
        64,
      );
      const { svg, x, y, box } = made;
      const height = (late) => y(Math.min(Math.max(late, low), high));
      for (const [name, share, value] of asked) {
        if (share === 1) svg.append(line(box.left, height(value), box.right, height(value), "limit"));
        else svg.append(line(box.left, height(value), x(nines(share)), height(value), "limit"));
        svg.append(label(box.left + 5, height(value) - 4, `${name}: ${seconds(value)}`, "start", "limit-text"));
      }
      for (const { condition, points } of lines) {
        const [name, shape, dash] = condition === "alone" ? ["s0", "circle", "dashed"] : ["s1", "square", ""];
        svg.append(path(points.map(([share, late]) => [x(where(share)), height(late)]), `line ${dash} ${name}`));
        for (const [share, late] of points) {
          const of = share < 1 ? `${digits(share * 100, 4)}%` : "all";
          svg.append(mark(shape, x(where(share)), height(late), name, `${condition}: ${of} at most ${seconds(late)} late`, 3.2));
        }
      }
      return svg;
    };
    found.push(chart(`Lateness of the ${clipped(probe, 30)}`, `${summary.join(". ")}.`, keys, drawing));
  }
  return found;
}

// Every signal: how long until it was seen, until the workload was left, until the process was gone.
function interruptCharts(record) {
  const claim = { ...object(record.parameters), ...object(record.claim) };
  const shots = list(object(record.details).shots).slice(0, MOST).map(object);
  const stages = [
    ["delivery", "delivery", positive(claim.within)], ["unwinding", "unwinding", null], ["exit", "exit", positive(claim.exits_within)],
  ].map(([name, text, most]) => ({ name, text, most, seen: shots.map((shot) => ({ shot, late: number(shot[name]) })).filter(({ late }) => late !== null && late >= 0) }));
  if (!shots.length) return [];
  const values = stages.flatMap(({ seen, most }) => [...seen.map(({ late }) => late), ...known([most])]).filter((v) => v > 0);
  const high = Math.max(1e-4, ...values) * 2;
  const low = Math.max(1e-7, Math.min(high / 20, ...values) / 2);
  const signals = [...new Set(shots.map((shot) => words(shot.signal) || "signal"))].slice(0, 6);
  const troubles = new Map();
  for (const shot of shots) if (shot.trouble) troubles.set(words(shot.trouble), (troubles.get(words(shot.trouble)) || 0) + 1);
  const parts = stages.map(({ text, most, seen }) => {
    const times = seen.map(({ late }) => late);
    const spread = times.length ? `median ${seconds(median(times))}, at most ${seconds(Math.max(...times))}` : "none seen";
    return `${text}: ${spread} (${times.length} of ${shots.length})${most === null ? "" : `, limit ${seconds(most)}`}`;
  });
  const wrong = [...troubles].map(([name, count]) => `${count} ${clipped(name, 30)}`);
  const summary = `${parts.join(". ")}.${wrong.length ? ` Trouble: ${wrong.join(", ")}.` : ""}`;
  const keys = signals.map((name, index) => [series(index), shapes(index), null, clipped(name, 20)]);
  if (wrong.length) keys.push(["bad", "cross", null, "with trouble"]);
  if (stages.some(({ most }) => most !== null)) keys.push(["limit", "", "", "limit"]);
  const drawing = (width) => {
    const rows = stages.map((_, index) => [stages.length - index, stages[index].text]);
    const made = frame(
      width, 215,
      { low, high, log: true, ticks: logTicks(low, high, width < 420 ? 5 : 7).map((v) => [v, seconds(v)]), label: "time (seconds, log)" },
      { low: 0.45, high: 3.55, ticks: rows, label: "stage" },
      82,
    );
    const { svg, x, y } = made;
    stages.forEach(({ name, most, seen }, index) => {
      const middle = y(stages.length - index);
      if (most !== null) svg.append(line(x(most), middle - 20, x(most), middle + 20, "limit"));
      if (!seen.length) svg.append(label(made.box.left + 8, middle - 5, `none of ${shots.length} seen`));
      seen.forEach(({ shot, late }, turn) => {
        const kind = signals.indexOf(words(shot.signal) || "signal");
        const aside = (((turn * 7) % 11) - 5) * 2.4; // spread over the strip, the same each time
        const trouble = shot.trouble ? `, ${words(shot.trouble)}` : "";
        const tip = `${words(shot.signal)} at ${figure(shot.moment, "s")}: ${name} ${seconds(late)}${trouble}`;
        const at = x(Math.min(Math.max(late, low), high));
        svg.append(shot.trouble ? mark("cross", at, middle + aside, "bad", tip, 3.5) : mark(shapes(kind), at, middle + aside, `${series(kind)}`, tip, 3.2));
      });
    });
    return svg;
  };
  const missing = stages.filter(({ seen }) => seen.length < shots.length).map(({ text, seen }) => `${shots.length - seen.length} without ${text}`);
  const below = [...(wrong.length ? [`Trouble: ${wrong.join(", ")}`] : []), ...(missing.length ? [`Of ${shots.length} signals, ${missing.join(", ")}`] : [])].map((each) => `${each}.`).join(" ");
  return [chart("Signals: delivery, unwinding and exit", summary, keys, drawing, below)];
}
