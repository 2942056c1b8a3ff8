"""Made-up records of every kind of check, the same in each run and as many as wanted; and records that no check writes."""

from __future__ import annotations

import math
import random
from typing import Any

from pytest_gilcheck.core.evidence import Record

Python = dict[str, Any]

INTERPRETERS: tuple[Python, ...] = tuple(
    {
        "implementation": "CPython",
        "version": version,
        "build": build,
        "free_threaded_build": free_threaded,
        "switch_interval": 0.005,
        "cores": 8,
        "platform": "linux-x86_64",
    }
    for version, build, free_threaded in (
        ("3.11.7", "gil", False),
        ("3.12.9", "gil", False),
        ("3.13.5", "gil", False),
        ("3.13.5", "gil", True),
        ("3.13.5", "free-threaded", True),
        ("3.14.2", "free-threaded", True),
    )
)
CHECKS = ("scaling", "interrupt", "injection", "latency", "fuzz", "linearizable", "curve")
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0)


def every_check(interpreters: tuple[Python, ...] = (INTERPRETERS[2], INTERPRETERS[4])) -> list[Record]:
    """Return one record of each check on each of these interpreters."""
    return [
        record(check, f"tests/test_{check}.py::test_{check}_of_the_store", python, random.Random(f"{check}{place}"))
        for place, python in enumerate(interpreters)
        for check in CHECKS
    ]


def many(tests: int = 1000, interpreters: int = 6) -> list[Record]:
    """Return records of this many tests on this many interpreters, of all kinds of checks, each with all its details."""
    return [
        record(
            CHECKS[test % len(CHECKS)], f"tests/unit/test_part_{test // 20:02}.py::TestStore::test_case_{test:04}", python, chance
        )
        for place, python in enumerate(INTERPRETERS[:interpreters])
        for chance in [random.Random(place)]
        for test in range(tests)
    ]


def record(check: str, subject: str, python: Python, chance: random.Random) -> Record:
    """Return a record of this check, as close as possible to what the check itself writes."""
    free = python["build"] == "free-threaded"
    made = {
        "scaling": _scaling,
        "curve": _curve,
        "latency": _latency,
        "interrupt": _interrupt,
        "injection": _injection,
        "fuzz": _fuzz,
        "linearizable": _linearizable,
    }[check](free, chance)
    verdict, reason, claim, figures, details = made
    title = f"{subject.rpartition('::')[2]}: {verdict}: {reason}"
    rows = "\n".join(f"  {name:<16}  {value}" for name, value in figures.items())
    return {
        "check": check,
        "subject": subject,
        "number": 1,
        "verdict": verdict,
        "reason": reason,
        "claim": claim,
        "parameters": {"budget": 2.0, "timeout": None, "threads": 8},
        "figures": figures,
        "details": details | {"text": f"{title}\n{rows}"},
        "token": figures.get("token"),
        "interpreter": python,
        "gil": {"before": python["build"], "after": python["build"]},
        "machine": {"system": "Linux 6.1.0", "processor": "Some Processor at 3.00 GHz", "cores": 8, "memory": 16 * 2**30},
        "load": round(chance.uniform(0.1, 1.5), 2),
        "recorded": f"2026-11-21T20:{chance.randrange(50):02}:00Z",
        "run": {
            "id": "0f" * 16,
            "began": "2026-11-21T20:00:00Z",
            "ended": "2026-11-21T20:50:00Z",
            "commit": "c0ffee" * 6,
            "dirty": False,
        },
    }


_Made = tuple[str | None, str, dict[str, Any], dict[str, Any], dict[str, Any]]


def _scaling(free: bool, chance: random.Random) -> _Made:
    true = 5.2 if free else 0.97
    rounds = []
    for _ in range(9):
        speedup = true * chance.uniform(0.9, 1.08)
        rounds.append(
            {"speedup": speedup, "low": speedup * 0.93, "high": speedup * 1.06, "ceiling": 6.4 * chance.uniform(0.95, 1.03)}
            | {"sequential": 0.0042, "threaded": 0.0042 / speedup}
        )
    verdict = "inconclusive" if chance.random() < 0.15 else "holds" if free else "violated"
    figures = {
        "speedup": true,
        "low": true * 0.95,
        "high": true * 1.04,
        "ceiling": 6.4,
        "efficiency": true / 6.4,
        "threshold": 4.0,
        "threads": 8,
        "cores_used": 6.1 if free else 1.0,
        "cause": "scales" if free else "gil",
        "rounds": 9,
        "seconds": 1.9,
        "call_seconds": 0.0042,
        "calls": 5,
        "held": None if free else 0.99,
        "blocked": 0.02 if free else 0.86,
        "denied": 0.0,
        "diagnosis": "scales" if free else "serialised by the GIL; without a GIL it scales unless something else limits it",
    }
    one_thread = [0.0042 * (1.3 if free else 1.0) * chance.uniform(0.97, 1.03) for _ in range(12)]
    reason = f"{true:.2f}x with 8 threads; asked for at least 4x"
    return verdict, reason, {"text": "at least 4x faster with 8 threads"}, figures, {"rounds": rounds, "one_thread": one_thread}


def _curve(free: bool, chance: random.Random) -> _Made:
    laws = {"threads": (0.03, 0.004) if free else (0.97, 0.01), "processes": (0.02, 0.001)}
    points, usl = [], {}
    for mode, (contention, coherence) in laws.items():
        for n in (1, 2, 4, 8):
            speedup = n / (1 + contention * (n - 1) + coherence * n * (n - 1)) * chance.uniform(0.97, 1.03)
            points.append(
                {"mode": mode, "workers": n, "throughput": 240 * speedup, "speedup": speedup, "efficiency": speedup / n}
                | {"p50": n / speedup / 240, "p99": n / speedup / 150, "low": speedup * 0.94, "high": speedup * 1.05}
            )
        peak = math.sqrt((1 - contention) / coherence)
        usl[mode] = {"scale": 240.0, "contention": contention, "coherence": coherence, "peak": peak, "residual": 0.02}
    amdahl = {mode: law | {"coherence": 0.0, "peak": None} for mode, law in usl.items()}
    figures = {"rounds": 5, "threads_calls": 900.0, "processes_calls": 1500.0}
    return None, "", {}, figures, {"points": points, "usl": usl, "amdahl": amdahl, "notes": ["asyncio: not a coroutine function"]}


def _latency(free: bool, chance: random.Random) -> _Made:
    def spread(scale: float, growth: float) -> list[list[float]]:
        return [
            [share, scale * (1 + growth * share**8 * (1 - math.log10(1.0001 - share)) / 2) * chance.uniform(0.9, 1.1)]
            for share in _SHARES
        ]

    slow = 8 if free else 400
    lateness = {
        "heartbeat": {"alone": sorted(spread(6e-5, 4)), "beside": sorted(spread(8e-5 if free else 4e-3, slow / 20))},
        "echo": {"alone": sorted(spread(1.4e-4, 5)), "beside": sorted(spread(2e-4 if free else 5e-3, slow / 20))},
    }
    p99 = {f"{probe}_{condition}_p99": points[7][1] for probe, both in lateness.items() for condition, points in both.items()}
    figures = {
        "workers": 2,
        "switch_interval": 0.005,
        "p99_limit": 0.01,
        "max_limit": 0.1,
        "requests_alone": 4100.0,
        "requests_beside": 3900.0 if free else 150.0,
        "convoy": 0.95 if free else 0.04,
        "stall": 0.0004,
        "seconds": 4.1,
        **p99,
    }
    verdict = "holds" if p99["heartbeat_beside_p99"] <= 0.01 else "violated"
    sweep = [{"interval": 0.0005, "heartbeat": {"p50": 1e-3, "p99": 2e-3}, "echo": None, "requests": 900.0, "calls": 40.0}]
    reason = f"heartbeat p99 {p99['heartbeat_beside_p99'] * 1e3:.3g} ms beside the workload; asked for at most 10 ms"
    return (
        verdict,
        reason,
        {"text": "others late by at most 10 ms (p99)", "p99": 0.01, "max": 0.1},
        figures,
        {"lateness": lateness, "sweep": sweep},
    )


def _interrupt(free: bool, chance: random.Random) -> _Made:
    trials: list[dict[str, Any]] = [
        {
            "signal": "SIGINT" if turn % 2 else "SIGTERM",
            "moment": turn / 12,
            "delivery": chance.lognormvariate(-8.5, 0.7),
            "unwinding": chance.lognormvariate(-7.5, 0.8),
            "exit": chance.lognormvariate(-4, 0.5),
            "outcome": None,
        }
        for turn in range(12)
    ]
    late = chance.random() < 0.5
    if late:
        trials[3] |= {"delivery": 0.8, "outcome": "late"}
        trials[7] |= {"delivery": None, "unwinding": None, "exit": None, "outcome": "deaf"}
    seen = [trial["delivery"] for trial in trials if trial["delivery"] is not None]
    figures = {
        "delivery_min": min(seen),
        "delivery_median": sorted(seen)[5],
        "delivery_max": max(seen),
        "signals": 12,
        "seed": 653385,
        "signal_outcome": "deaf" if late else None,
        "culprit": "sum(range(10 ** 8)) at test_x.py:8 (test_y)" if late else None,
        "over": 1.0,
    }
    stacks = 'Current thread (most recent call first):\n  File "test_x.py", line 8 in test_y' if late else None
    claim = {
        "text": "the handler of SIGINT and SIGTERM starts within 0.2 s, and the process exits within 2 s after that",
        "signals": ["SIGINT", "SIGTERM"],
        "within": 0.2,
        "exits_within": 2.0,
    }
    return (
        "violated" if late else "holds",
        "deaf: not seen for 0.93 s" if late else "12 of 12 signals seen in time",
        claim,
        figures,
        {"trials": trials, "stacks": stacks},
    )


def _injection(free: bool, chance: random.Random) -> _Made:
    breaks = [
        {"index": 4, "place": "store.py:14 (Store.move)", "kind": "invariant", "reachable": True},
        {"index": 9, "place": "store.py:22 (Store.close)", "kind": "a lock is left held", "reachable": False},
    ]
    figures = {"steps": 31, "broken": "step 4: invariant", "seconds": 2.4}
    return (
        "violated",
        "KeyboardInterrupt at store.py:14 breaks the invariant",
        {"text": "KeyboardInterrupt breaks nothing"},
        figures,
        {"breaks": breaks},
    )


def _linearizable(free: bool, chance: random.Random) -> _Made:
    verdict, reason, _, figures, details = _fuzz(free, chance)
    own = {"cause": "not atomic", "kind": figures["kind"], "token": figures["token"], "programs": 41, "pairs": 6, "overlapped": 6}
    return verdict, reason, {"text": "every run is explained by a sequential order"}, own, details


def _fuzz(free: bool, chance: random.Random) -> _Made:
    steps: list[dict[str, Any]] = [
        {
            "thread": 0,
            "index": 1,
            "source": "old = counter.value",
            "note": "reads counter.value = 0",
            "file": "counter.py",
            "line": 7,
        },
        {"switch": [0, 1], "why": "is preempted"},
        {
            "thread": 1,
            "index": 2,
            "source": "old = counter.value",
            "note": "reads counter.value = 0",
            "file": "counter.py",
            "line": 7,
        },
        {
            "thread": 1,
            "index": 3,
            "source": "counter.value = old + 1  # and a comment that goes on",
            "note": "writes counter.value = 1",
            "file": "counter.py",
            "line": 8,
        },
        {"switch": [1, 0], "why": "ends or waits"},
        {
            "thread": 0,
            "index": 4,
            "source": "counter.value = old + 1",
            "note": "writes counter.value = 1",
            "file": "counter.py",
            "line": 8,
        },
    ]
    token = "gil1_AAECAwQFBgcICQ"
    figures = {
        "mode": "search",
        "kind": "BREAKS-TODAY",
        "symptom": "invariant",
        "token": token,
        "preemptions": 1,
        "schedules": 214,
        "steps": 4,
        "seed": 7,
    }
    locks = [
        {"where": "counter.py:3", "noticed": True, "words": "the invariant fails"},
        {"where": "counter.py:4", "noticed": False, "words": "214 runs in vain"},
    ]
    details = {"lanes": {"threads": ["T0", "T1"], "steps": steps}, "locks": locks, "story": "T0 is preempted"}
    return "violated", "invariant: counter.value is 1 after two increments", {"text": "no schedule breaks it"}, figures, details


HOSTILE = (
    "<img src=x onerror=window.hit=1>",
    "</script><script>window.hit=1</script>",
    "<!--<script>",
    "]]>-->\"'`</style></title></textarea><svg onload=window.hit=1>",
    "{{ 7*7 }}{% raw %}",
    "\x1b[31mred\x1b[0m\x07\x00\x9b1m",
    "\u202egnp.exe\u2066\u2069",
    "\u2028\u2029\ufeff",
    "\ud800 half",
    "javascript:window.hit=1",
    "__proto__",
    "constructor",
    "n" * 10_000,
    "",
)
STRANGE: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    "12",
    None,
    True,
    [],
    {},
    -1,
    0,
    1e308,
    5e-324,
    10**400,
    10**5000,
    [[[[]]]],
)


def hostile() -> list[Record]:
    """Return records with hostile text in every place of every check, and some with places missing."""
    made: list[Any] = []
    for turn, text in enumerate(HOSTILE):
        for check in CHECKS:
            python = INTERPRETERS[turn % 2]
            sound = record(check, f"{text}{turn}", python, random.Random(turn))
            made.append(_spoilt(sound, text, keep=("check", "verdict", "number")))
    for turn, value in enumerate(STRANGE):
        for check in CHECKS:
            sound = record(check, f"strange {turn}", INTERPRETERS[2], random.Random(turn))
            made.append(sound | {part: _numbers(sound[part], value) for part in ("figures", "details", "claim", "parameters")})
            made.append(
                sound
                | {
                    "subject": f"strange details {turn}",
                    "details": dict.fromkeys(sound["details"], value),
                    "load": [value],
                    "run": value,
                }
            )
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    made.append({"check": "scaling", "subject": "deep", "details": {"rounds": deep}})
    made += [
        {},
        {"check": "scaling"},
        {"subject": HOSTILE[1], "verdict": HOSTILE[1]},
        {"check": HOSTILE[0], "interpreter": HOSTILE[0]},
    ]
    made += [{"check": "fuzz", "subject": "no details", "interpreter": {"version": HOSTILE[1], "build": ["x"], "platform": {}}}]
    made += [{"check": check, "subject": f"bare {check}", "verdict": "holds", "interpreter": INTERPRETERS[2]} for check in CHECKS]
    return made


def _spoilt(value: Any, text: str, keep: tuple[str, ...] = ()) -> Any:
    """Return the value with every string replaced, and a key of that text added to every mapping."""
    if isinstance(value, str):
        return text
    if isinstance(value, dict):
        return {name: part if name in keep else _spoilt(part, text, keep) for name, part in value.items()} | {text: text}
    return [_spoilt(part, text, keep) for part in value] if isinstance(value, list) else value


def _numbers(value: Any, other: Any) -> Any:
    """Return the value with every number replaced."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return other
    if isinstance(value, dict):
        return {name: _numbers(part, other) for name, part in value.items()}
    return [_numbers(part, other) for part in value] if isinstance(value, list) else value
