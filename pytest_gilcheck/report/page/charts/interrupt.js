// Every signal: how long until it was seen, until the workload was left, until the process was gone.
CHARTS.interrupt = function (record) {
  const claim = { ...object(record.parameters), ...object(record.claim) };
  const trials = list(object(record.details).trials).slice(0, MOST).map(object);
  const stages = [
    ["delivery", "delivery", positive(claim.within)], ["unwinding", "unwinding", null], ["exit", "exit", positive(claim.exits_within)],
  ].map(([name, text, most]) => ({ name, text, most, seen: trials.map((trial) => ({ trial, late: number(trial[name]) })).filter(({ late }) => late !== null && late >= 0) }));
  if (!trials.length) return [];
  const values = stages.flatMap(({ seen, most }) => [...seen.map(({ late }) => late), ...known([most])]).filter((v) => v > 0);
  const high = Math.max(1e-4, ...values) * 2;
  const low = Math.max(1e-7, Math.min(high / 20, ...values) / 2);
  const signals = [...new Set(trials.map((trial) => words(trial.signal) || "signal"))].slice(0, 6);
  const outcomes = new Map();
  for (const trial of trials) if (trial.outcome) outcomes.set(words(trial.outcome), (outcomes.get(words(trial.outcome)) || 0) + 1);
  const parts = stages.map(({ text, most, seen }) => {
    const times = seen.map(({ late }) => late);
    const spread = times.length ? `median ${seconds(median(times))}, at most ${seconds(Math.max(...times))}` : "none seen";
    return `${text}: ${spread} (${times.length} of ${trials.length})${most === null ? "" : `, limit ${seconds(most)}`}`;
  });
  const wrong = [...outcomes].map(([name, count]) => `${count} ${clipped(name, 30)}`);
  const summary = `${parts.join(". ")}.${wrong.length ? ` Outcome: ${wrong.join(", ")}.` : ""}`;
  const keys = signals.map((name, index) => [series(index), shapes(index), null, clipped(name, 20)]);
  if (wrong.length) keys.push(["bad", "cross", null, "went wrong"]);
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
      if (!seen.length) svg.append(label(made.box.left + 8, middle - 5, `none of ${trials.length} seen`));
      seen.forEach(({ trial, late }, turn) => {
        const kind = signals.indexOf(words(trial.signal) || "signal");
        const aside = (((turn * 7) % 11) - 5) * 2.4; // spread over the strip, the same each time
        const outcome = trial.outcome ? `, ${words(trial.outcome)}` : "";
        const tip = `${words(trial.signal)} at ${figure(trial.moment, "s")}: ${name} ${seconds(late)}${outcome}`;
        const at = x(Math.min(Math.max(late, low), high));
        svg.append(trial.outcome ? mark("cross", at, middle + aside, "bad", tip, 3.5) : mark(shapes(kind), at, middle + aside, `${series(kind)}`, tip, 3.2));
      });
    });
    return svg;
  };
  const missing = stages.filter(({ seen }) => seen.length < trials.length).map(({ text, seen }) => `${trials.length - seen.length} without ${text}`);
  const below = [...(wrong.length ? [`Outcome: ${wrong.join(", ")}`] : []), ...(missing.length ? [`Of ${trials.length} signals, ${missing.join(", ")}`] : [])].map((each) => `${each}.`).join(" ");
  return [chart("Signals: delivery, unwinding and exit", summary, keys, drawing, below)];
};
