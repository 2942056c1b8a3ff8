"""How long does an I/O thread wait beside busy threads, and what does the switch interval buy?

An echo thread answers another process over a socket pair; that process idles 1 to 3 ms between two requests. Beside it run
nothing, one and two threads of pure Python, a call into C that holds the GIL, and a hash that lets go of it, at switch intervals
of 5, 1, 0.5 and 0.05 ms. Prints a markdown table for this interpreter: the time to an answer, its ratio to that of the echo
alone, what 10,000 requests take, and how fast the busy threads were. Run it with each interpreter that is to be compared.

    python benchmarks/convoy.py --seconds 4 >> convoy.md

The cells are measured in turn, round by round, because the speed of a shared machine drifts: the echo alone before each of them,
and the speed of the busy threads against that at 5 ms in the same round (median of the rounds).
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from pytest_gilcheck.core.interpreter import FREE_THREADED, Interpreter, switch_interval
from pytest_gilcheck.core.team import Team
from pytest_gilcheck.latency.echo import Echo, Exchange
from pytest_gilcheck.latency.lateness import quantile
from pytest_gilcheck.latency.load import Load
from pytest_gilcheck.latency.peer import Peer
from pytest_gilcheck.latency.window import Window

BUFFER = bytes(1 << 20)
INTERVALS = (0.005, 0.001, 0.0005, 0.00005)
SMALL = (0.005, 0.0005)
ALONE = 0.2  # seconds of the echo alone before each cell of each round
LIMIT = 120.0  # seconds for one call, or for one answer
PUBLISHED = """\
Published, machines of their day (compare ratios): Python 3.2, dual core, an I/O thread alone 23 s, beside a CPU thread 97 s: 4.2x
(Kanaujia and Chetan, PyCon India 2011). Beazley (2009, CPython 2): a CPU-bound thread lengthens an I/O thread's response, worst
on several cores."""


def count() -> None:
    n = 2_000
    while n:
        n -= 1


def c_call() -> None:
    sum(range(1_000_000))


def sha256() -> None:
    hashlib.sha256(BUFFER).digest()


@dataclass(frozen=True)
class Cell:
    """One row: how many threads of what, at which switch intervals."""

    name: str
    threads: int
    work: Callable[[], None]
    intervals: tuple[float, ...]


CELLS = (
    Cell("1 pure Python", 1, count, INTERVALS),
    Cell("2 pure Python", 2, count, INTERVALS),
    Cell("1 C call that holds the GIL, `sum(range(1_000_000))`", 1, c_call, SMALL),
    Cell("1 sha256 of 1 MB, which lets go", 1, sha256, SMALL),
)


@dataclass
class Row:
    """What was measured of one cell at one interval: seconds to each answer, and in each round the calls a second."""

    beside: str
    interval: float | None
    answers: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return quantile(sorted(self.answers), 0.5)

    @property
    def p99(self) -> float:
        return quantile(sorted(self.answers), 0.99)

    @property
    def ten_thousand(self) -> float:
        """Seconds for 10,000 requests one after the other, without the time that the client idles."""
        return 1e4 * statistics.fmean(self.answers)


def exchange(echo: Echo, seconds: float, load: Load | None) -> tuple[Exchange, float | None]:
    begin = time.perf_counter() + 0.02
    echo.start(Window(begin, begin + seconds, load is not None))
    rate = None if load is None else load.until(begin + seconds, "busy threads").rate
    return echo.exchange(seconds + LIMIT), rate


def measure(seconds: float, rounds: int, progress: Callable[[str], None]) -> list[Row]:
    alone = Row("nothing", None)
    rows = {(cell, interval): Row(cell.name, interval) for cell in CELLS for interval in cell.intervals}
    with ExitStack() as stack:
        peer = stack.enter_context(closing(Peer()))
        echo = stack.enter_context(closing(Echo(peer, [], LIMIT)))  # no wait is looked into: nobody is judged
        exchange(echo, ALONE, None)  # warm
        for number in range(1, rounds + 1):
            for (cell, interval), row in rows.items():
                progress(f"round {number} of {rounds}: {cell.name}, {interval * 1e3:g} ms")
                alone.answers += exchange(echo, ALONE, None)[0].answers
                with Team(cell.threads, "busy") as team, switch_interval(interval):
                    seen, rate = exchange(echo, seconds / rounds, Load(cell.work, team, LIMIT))
                assert rate is not None, "it was loaded"
                row.answers += seen.answers
                row.calls.append(rate)
    return [alone, *rows.values()]


def table(rows: list[Row], interpreter: Interpreter) -> list[str]:
    alone = rows[0]
    usual: dict[str, list[float]] = {}
    for row in rows[1:]:
        usual.setdefault(row.beside, row.calls)  # the first interval of each is 5 ms
    lines = [
        f"### {interpreter}",
        "",
        "| beside | switch interval | p50 / p99 | p50 with / without | 10,000 requests | busy threads' speed, to 5 ms | n |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        interval = "" if row.interval is None else f"{row.interval * 1e3:g} ms"
        ratios = [calls / at_5_ms for calls, at_5_ms in zip(row.calls, usual.get(row.beside, []), strict=False)]
        speed = f"{statistics.median(ratios):.2f}" if ratios else ""
        lines.append(
            f"| {row.beside} | {interval} | {row.p50 * 1e3:.3f} / {row.p99 * 1e3:.3f} ms | {row.p50 / alone.p50:.0f}x "
            f"| {row.ten_thousand:.1f} s | {speed} | {len(row.answers)} |"
        )
    if interpreter.build == FREE_THREADED:
        lines += ["", "A free-threaded build accepts a switch interval, and has no use for it."]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=4.0, help="seconds beside each kind of busy threads (default 4)")
    parser.add_argument("--quiet", action="store_true", help="do not say on stderr what is being measured")
    parser.add_argument("--rounds", type=int, default=4, help="rounds through all kinds that these are spread over (default 4)")
    given = parser.parse_args()
    if given.seconds <= 0 or given.rounds < 1:
        parser.error("--seconds must be above 0, and --rounds at least 1")

    def progress(label: str) -> None:
        if not given.quiet:
            print(label, file=sys.stderr, flush=True)

    rows = measure(given.seconds, given.rounds, progress)
    print("\n".join(table(rows, Interpreter.current())))
    print(f"\n{PUBLISHED}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
