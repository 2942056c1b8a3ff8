"""The rows of the table: which figures there are, in which order, and what was published beside them."""

from __future__ import annotations

from dataclasses import dataclass

from . import published as p

THREADS, COROUTINES = 200, 10_000  # that wait at once


@dataclass(frozen=True)
class Row:
    """One figure of every interpreter.

    Attributes:
        name: in evidence, and in ``Column.figures``.
        label: for people.
        published: what others have measured.
    """

    name: str
    label: str
    published: tuple[p.Published, ...] = ()


@dataclass(frozen=True)
class Group:
    """The rows of one experiment.

    Attributes:
        name: the experiment's, in evidence.
        title: what it is, and how to read it.
        rows: its figures.
    """

    name: str
    title: str
    rows: tuple[Row, ...]


FACTS = Group(
    "facts",
    "What it says of itself",
    (
        Row("build", "build"),
        Row("gil", "GIL"),
        Row("cores", "cores it may use"),
        Row("platform", "platform"),
        Row("interval", "switch interval", (*p.INTERVAL, *p.TICK)),
    ),
)
COUNT = Group(
    "count",
    "Counting down twice in Python: speedup of two threads over the sequence",
    (
        Row("count", "all cores", p.COUNT_ALL),
        Row("count_one_core", "one core", p.COUNT_ONE),
        Row("count_cores", "two threads: all cores over one", p.COUNT_ALL_ONE),
        Row("count_unit", "one thread: time of a step"),
    ),
)
JSON = Group(
    "json",
    "json.dumps of 10,000 numbers: speedup of two threads over the sequence",
    (Row("json", "all cores", p.JSON), Row("json_unit", "one thread: time of a call", p.JSON_UNIT)),
)
SHA256 = Group(
    "sha256",
    "hashlib.sha256 of 1 MiB, again and again: speedup of two threads over the sequence",
    (Row("sha256", "all cores", p.SHA256),),
)
SLEEP = Group("sleep", "time.sleep of 50 ms: speedup of two threads over the sequence", (Row("sleep", "all cores", p.SLEEP),))
CONVOY = Group(
    "convoy",
    "Convoy effect: an echo thread answers pings beside busy threads (pauses of 1 to 2 ms between pings; as long: pauses included)",
    tuple(
        row
        for number, beside in enumerate(("alone", "1 busy thread", "2 busy threads"))
        for row in (
            Row(f"convoy_{number}_p50", f"{beside}: p50"),
            Row(f"convoy_{number}_p99", f"{beside}: p99"),
            Row(f"convoy_{number}_rate", f"{beside}: answers"),
            *((Row(f"convoy_{number}", f"{beside}: as long as alone", p.CONVOY if number == 1 else ()),) if number else ()),
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
INTERRUPT = Group(
    "interrupt",
    "Ctrl-C: until the handler runs, with the main thread in",
    tuple(
        Row(f"interrupt_{place}", label, {"acquire": p.UNSTOPPABLE, "join": p.UNSTOPPABLE, "c": p.LONG_OPERATION}.get(place, ()))
        for place, label in PLACES.items()
    ),
)
TURNS = Group(
    "turns",
    "A second thread wants its turn: how late it gets it",
    (
        Row("turns_alone", "alone: p50"),
        Row("turns_beside_p50", "beside a busy thread: p50", p.INTERVAL),
        Row("turns_beside_p99", "beside a busy thread: p99"),
    ),
)
COST = Group(
    "cost",
    f"Cost of one that waits, where {THREADS} threads or {COROUTINES} coroutines do: time of its start and end, resident memory",
    (
        Row("cost_process", "process: first line of output", p.COST_PROCESS),
        Row("cost_process_memory", "process: memory"),
        Row("cost_thread", "thread: start and join", p.COST_THREAD),
        Row("cost_thread_memory", "thread: memory"),
        Row("cost_coroutine", "coroutine: start and end", p.COST_COROUTINE),
        Row("cost_coroutine_memory", "coroutine: memory"),
    ),
)
GROUPS = (FACTS, COUNT, JSON, SHA256, SLEEP, CONVOY, INTERRUPT, TURNS, COST)
