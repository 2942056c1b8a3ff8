"""Seeded defects of the latency checks: lateness, its bounds, its judgement, and who is named."""

from __future__ import annotations

from . import Mutant

JUDGEMENT = ("tests/latency/test_judgement.py",)

MUTANTS = (
    Mutant(
        "latency-one-stall",
        "latency/bounds.py",
        "LEAST_STALLS = 2 ",
        "LEAST_STALLS = 1 ",
        "one stall, which anything on the machine may have caused, fails the test",
        ("tests/latency/test_bounds.py",),
    ),
    Mutant(
        "latency-error-rate",
        "latency/bounds.py",
        "ERROR = 0.05",
        "ERROR = 0.5",
        "a p99 holds after 69 observations, and is wrong every other time",
        ("tests/latency/test_bounds.py",),
    ),
    Mutant(
        "latency-omission",
        "latency/lateness.py",
        "        return [self.late - missed * self.every for missed in range(self.moments)]\n",
        "        return [self.late]\n",
        "a stall of a second counts as one late observation of hundreds, and the p99 holds",
        ("tests/latency/test_lateness.py",),
    ),
    Mutant(
        "latency-all-probes",
        "latency/judgement.py",
        "    if any(_beyond(probe, bound, conditions)",
        "    if all(_beyond(probe, bound, conditions)",
        "a workload that stalls the echo, and not the heartbeat, is inconclusive instead of violated",
        JUDGEMENT,
    ),
    Mutant(
        "latency-alone",
        "latency/judgement.py",
        "    return _met_alone(number, probe, bound) and _client_on_time(number, bound, conditions)\n",
        "    return _client_on_time(number, bound, conditions)\n",
        "on a machine that is late without the workload too, the workload is blamed",
        JUDGEMENT,
    ),
    Mutant(
        "latency-window-after",
        "latency/judgement.py",
        "    windows = probe.alone[number : number + 2]\n",
        "    windows = probe.alone[number : number + 1]\n",
        "a neighbour that came during a round, and shows right after it, is charged to the workload",
        JUDGEMENT,
    ),
    Mutant(
        "latency-stolen",
        "latency/judgement.py",
        "    own = max(0.0, 1 - sum(conditions.stolen[number] for number in rounds) / waited) if stalls else 0.0\n",
        "    own = 1.0 if stalls else 0.0\n",
        "time that the hypervisor took is charged to the workload",
        JUDGEMENT,
    ),
    Mutant(
        "latency-not-covered",
        "latency/judgement.py",
        "    if not conditions.covered:\n",
        "    if not observed:\n",
        "a workload of which no whole call was seen passes",
        JUDGEMENT,
    ),
    Mutant(
        "latency-max-from-few",
        "latency/judgement.py",
        "        return late == 0 and n >= least_moments(0, P99)\n",
        "        return late == 0\n",
        "a maximum holds after a handful of observations",
        JUDGEMENT,
    ),
    Mutant(
        "latency-kind-of-culprit",
        "latency/culprit.py",
        "    return IN_C if median(holds) >= _LONG else BYTECODE if median(holds) <= _BRIEF else EITHER\n",
        "    return IN_C if median(waits) > longest else BYTECODE\n",
        "a C call as long as the switch interval is reported as bytecode",
        ("tests/latency/test_culprit.py",),
    ),
    Mutant(
        "latency-quantile",
        "latency/lateness.py",
        "math.ceil(share * len(ordered)) - 1)]",
        "math.floor(share * len(ordered)) - 1)]",
        "the reported p99 is one observation too low",
        ("tests/latency/test_lateness.py",),
    ),
    Mutant(
        "latency-probe-error",
        "latency/window.py",
        "        if self._error is not None:\n            raise self._error\n",
        "",
        "a probe that failed counts as one that saw nothing, and the reason is lost",
        ("tests/latency/test_window.py",),
    ),
    Mutant(
        "latency-other-build",
        "latency/claim.py",
        "value.get(now) if isinstance(value, Mapping)",
        "max(value.values()) if isinstance(value, Mapping)",
        "the limit that was given for the other build is used",
        ("tests/latency/test_claim.py",),
    ),
)
