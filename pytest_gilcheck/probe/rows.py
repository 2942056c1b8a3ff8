"""The rows of the table: the figures, their order, and the published figures beside them."""

from __future__ import annotations

from dataclasses import dataclass

from . import published as p

THREADS, COROUTINES = 200, 10_000  # that wait at the same time


@dataclass(frozen=True)
class ProbeRow:
    """One figure of every interpreter.

    Attributes:
        name: in evidence, and in ``ProbedInterpreter.figures``.
        label: in the table.
        published: published figures of the same kind.
    """

    name: str
    label: str
    published: tuple[p.PublishedFigure, ...] = ()


@dataclass(frozen=True)
class ProbeGroup:
    """The rows of one experiment.

    Attributes:
        name: of the experiment, in evidence.
        title: what the experiment does, and how to read its figures.
        rows: its figures.
    """

    name: str
    title: str
    rows: tuple[ProbeRow, ...]


FACTS = ProbeGroup(
    "facts",
    "Facts that the interpreter reports",
    (
        ProbeRow("build", "build"),
        ProbeRow("gil", "GIL"),
        ProbeRow("cores", "cores it may use"),
        ProbeRow("platform", "platform"),
        ProbeRow("interval", "switch interval", (*p.INTERVAL, *p.TICK)),
    ),
)
COUNT = ProbeGroup(
    "count",
    "Counting down twice in Python: speedup of two threads over the sequence",
    (
        ProbeRow("count", "all cores", p.COUNT_ALL),
        ProbeRow("count_one_core", "one core", p.COUNT_ONE),
        ProbeRow("count_cores", "two threads: all cores over one", p.COUNT_ALL_ONE),
        ProbeRow("count_unit", "one thread: time of a step"),
    ),
)
JSON = ProbeGroup(
    "json",
    "json.dumps of 10,000 numbers: speedup of two threads over the sequence",
    (ProbeRow("json", "all cores", p.JSON), ProbeRow("json_unit", "one thread: time of a call", p.JSON_UNIT)),
)
SHA256 = ProbeGroup(
    "sha256",
    "hashlib.sha256 of 1 MiB, again and again: speedup of two threads over the sequence",
    (ProbeRow("sha256", "all cores", p.SHA256),),
)
SLEEP = ProbeGroup(
    "sleep", "time.sleep of 50 ms: speedup of two threads over the sequence", (ProbeRow("sleep", "all cores", p.SLEEP),)
)
CONVOY = ProbeGroup(
    "convoy",
    "Convoy effect: an echo thread answers pings beside busy threads (pauses of 1 to 2 ms between pings; as long: pauses included)",
    tuple(
        row
        for number, beside in enumerate(("alone", "1 busy thread", "2 busy threads"))
        for row in (
            ProbeRow(f"convoy_{number}_p50", f"{beside}: p50"),
            ProbeRow(f"convoy_{number}_p99", f"{beside}: p99"),
            ProbeRow(f"convoy_{number}_rate", f"{beside}: answers"),
            *((ProbeRow(f"convoy_{number}", f"{beside}: as long as alone", p.CONVOY if number == 1 else ()),) if number else ()),
        )
    ),
)
PLACES = {
    "sleep": "time.sleep",
    "loop": "a loop in Python",
    "acquire": "Lock.acquire",
    "join": "Thread.join, busy thread",
    "c": "one long C operation",
}
INTERRUPT = ProbeGroup(
    "interrupt",
    "Ctrl-C: time until the handler runs, with the main thread in",
    tuple(
        ProbeRow(
            f"interrupt_{place}", label, {"acquire": p.UNSTOPPABLE, "join": p.UNSTOPPABLE, "c": p.LONG_OPERATION}.get(place, ())
        )
        for place, label in PLACES.items()
    ),
)
WAKEUPS = ProbeGroup(
    "wakeups",
    "A second thread sleeps and then needs the GIL: how late it runs",
    (
        ProbeRow("wakeups_alone", "alone: p50"),
        ProbeRow("wakeups_beside_p50", "beside a busy thread: p50", p.INTERVAL),
        ProbeRow("wakeups_beside_p99", "beside a busy thread: p99"),
    ),
)
COST = ProbeGroup(
    "cost",
    f"Cost of a waiting process, thread (of {THREADS}) or coroutine (of {COROUTINES}): time of start and end, resident memory",
    (
        ProbeRow("cost_process", "process: first line of output", p.COST_PROCESS),
        ProbeRow("cost_process_memory", "process: memory"),
        ProbeRow("cost_thread", "thread: start and join", p.COST_THREAD),
        ProbeRow("cost_thread_memory", "thread: memory"),
        ProbeRow("cost_coroutine", "coroutine: start and end", p.COST_COROUTINE),
        ProbeRow("cost_coroutine_memory", "coroutine: memory"),
    ),
)
GROUPS = (FACTS, COUNT, JSON, SHA256, SLEEP, CONVOY, INTERRUPT, WAKEUPS, COST)
