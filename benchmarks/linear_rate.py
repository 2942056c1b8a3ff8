"""How many drawn programs a second are searched, and what the sequential orders of a program cost by its size.

Usage::

    taskset -c 1 python benchmarks/linear_rate.py [programs]

The class has a file of its own, in which no name is replaced: a search has less to look at then. Rates are of CPU seconds of this
process, from the first program on: the session is open and warm by then, which takes about half a second once in a campaign. In the
second table, a program has so many operations in each of two threads.
"""

import sys
from pathlib import Path
from random import Random
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1]))
from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.arguments import Arguments
from pytest_gilcheck.linear import campaign, drawing
from pytest_gilcheck.linear.class_session import ClassSession
from pytest_gilcheck.linear.exploring import explored
from pytest_gilcheck.linear.operations import DrawnOperation, DrawnProgram, InLane
from pytest_gilcheck.linear.reading import subject_of
from tests.linear.locked_counter import Locked

SIZES = (2, 3, 4)  # operations of each of the two threads
REPEATED = 5


def rate(programs: int, *, exactly: bool) -> str:
    """Programs a second in one campaign.

    Args:
        exactly: draw 2 x 2 operations and none before or after; otherwise as by default.
    """
    begun = 0.0
    searched = campaign.Campaign._searched
    made = drawing.programs

    def first(self: campaign.Campaign, drawn: DrawnProgram) -> object:
        nonlocal begun
        begun = begun or process_time()
        return searched(self, drawn)

    def two_by_two(*given: object) -> object:
        return made(*given).map(_squared)  # type: ignore[arg-type]

    campaign.Campaign._searched = first  # type: ignore[method-assign, assignment]
    if exactly:
        campaign.programs = two_by_two  # type: ignore[attr-defined, assignment]
    try:
        found = gilcheck.linearizable(Locked, judge=False, examples=programs, seed=1, budget=1000)
    finally:
        campaign.Campaign._searched = searched  # type: ignore[method-assign]
        campaign.programs = made  # type: ignore[attr-defined]
    seconds = process_time() - begun
    runs = found.schedules + found.orders
    return (
        f"{found.programs} programs, {found.orders} orders, {found.schedules} schedules ({found.verdict}): "
        f"{found.programs / seconds:.0f} programs and {runs / seconds:.0f} runs a second"
    )


def _squared(drawn: DrawnProgram) -> DrawnProgram:
    operations = [operation for _, operation in drawn.steps]
    four = [operations[index % len(operations)] for index in range(4)]
    return drawn.replaced([InLane(1 + index // 2, operation) for index, operation in enumerate(four)])


def costs() -> None:
    """Print a row for each size."""
    print(f"{'size':<12} {'orders':>7} {'ms':>7} {'schedules':>10} {'ms in all':>10}")
    subject = subject_of(Locked, None, Arguments({}))
    draw = Random(1)
    with ClassSession(subject, 5.0, subject.modules) as session:
        session.warm(drawing.warm_ups(subject))
        for count in SIZES:
            rows = []
            for _ in range(REPEATED):
                steps = [InLane(lane, _operation(subject, draw)) for lane in (1, 2) for _ in range(count)]
                drawn = DrawnProgram((), tuple(steps), 2)
                begun = process_time()
                with session.listening():
                    orders = session.orders(drawn).runs
                ordered = process_time()
                found = explored(session, drawn, 10_000)
                rows.append((orders, ordered - begun, found.schedules, process_time() - ordered))
            orders, first, schedules, whole = (sorted(column)[len(column) // 2] for column in zip(*rows, strict=True))
            print(f"{count} x {count:<8} {orders:>7} {first * 1000:>7.0f} {schedules:>10} {whole * 1000:>10.0f}", flush=True)


def _operation(subject: object, draw: Random) -> DrawnOperation:
    kind = draw.choice(subject.kinds)  # type: ignore[attr-defined]
    return DrawnOperation(kind, (draw.choice((1, 2)),) if kind.name == "add" else ())


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print("2 x 2, nothing else  ", rate(wanted, exactly=True), flush=True)
    print("as drawn by default  ", rate(wanted, exactly=False), flush=True)
    costs()
