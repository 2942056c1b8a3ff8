// How late each probe was, alone and beside the workload: seconds over the share of moments, both axes stretched towards what is rare.
CHARTS.latency = function (record) {
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
};
