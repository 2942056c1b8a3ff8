"""What a check says where it claims less than that the program holds, and of what a claim does not speak."""

from __future__ import annotations

from math import floor, log10

from ..core.durations import seconds
from ..core.verdict import Verdict
from ..search.explorer import Explorer
from ..search.ledger import FEWEST, NEEDED
from ..search.plan import EXHAUSTIVE, FuzzPlan
from .draws import Drawn
from .failing import Left, Unrepeatable
from .result import FuzzResult, NoClaim

_MOST_NAMED = 3  # modules


def changed_by_a_run(result: FuzzResult, why: str, first_alone: str = "") -> Unrepeatable:
    """What to raise for a program of which a run leaves something for all that come after it.

    Args:
        first_alone: what the first run did and no later one, in words; empty if another run did it.
    """
    what_to_do = "make it anew in setup (for a test, in a fixture), or before the check"
    held = (result, first_alone) if first_alone and result.conclusion is Verdict.HOLDS else None
    return Unrepeatable(Left(result.without_claim(NoClaim.NOT_REPEATABLE, f"{why}: {what_to_do}", result.reason), held))


def too_dear(result: FuzzResult, explorer: Explorer, made: tuple[str, ...]) -> Unrepeatable:
    """What to raise for a program whose first run took too long to be searched, and of which later runs hold.

    Args:
        made: what the first run has changed for all others.
    """
    what = f", and made {few(made)}" if made else ""
    why = (
        f"the first run took {seconds(explorer.first_seconds)}, where a later one takes {seconds(explorer.pace)}{what}: "
        f"its steps from {explorer.unreported} on were not watched, and none of its schedules was searched"
    )
    what_to_do = "make it before the check: call it once in a fixture, or in setup"
    return Unrepeatable(Left(result.without_claim(NoClaim.NOT_REPEATABLE, f"{why}: {what_to_do}", result.reason)))


def few(names: tuple[str, ...]) -> str:
    return f"{'; '.join(names[:3])}{' and more' * (len(names) > 3)}"


def one_step(modules: tuple[str, ...], imported: tuple[str, ...]) -> str:
    """What a claim says of code in which no schedule switches; empty if there is none.

    Args:
        modules: of the standard library, called.
        imported: modules that the threads have imported.
    """
    words = ""
    if modules:
        words = f"; each call of Python code in {_named(modules)} was one step: include={modules[:_MOST_NAMED]!r} searches it too"
    return f"{words}; the import of {_named(imported)} was one step" if imported else words


def _named(modules: tuple[str, ...]) -> str:
    return ", ".join(modules[:_MOST_NAMED]) + " and others" * (len(modules) > _MOST_NAMED)


def unfinished(plan: FuzzPlan, drawn: Drawn, pace: float) -> str | None:
    """Why a search without a failure claims nothing; None if it claims what it has explored.

    Args:
        pace: seconds of a run.
    """
    searched, budget = drawn.outcome, f"budget={plan.budget:g} s"
    if searched.expired:
        reason = f"{budget} ended after {searched.explored:,} of {plan.own_schedules:,} schedules (schedules={plan.schedules})"
        return f"cut short: {reason}; raise budget, or ask for fewer schedules"
    if plan.schedules is None and drawn.too_few:
        left = searched.conflicts_left
        needed = plan.budget + NEEDED * max(FEWEST, left) * pace
        why = f"that is too few for a claim: it takes {FEWEST}, or all of them"
        if left:
            conflicts = "1 conflict was" if left == 1 else f"{left:,} conflicts were"
            why = f"{conflicts} seen in a run, and not tried in the other order"
        elif searched.conflicts_open:
            why = "there was no time to record a run, so it is not known which of its steps conflict"
        return (
            f"cut short by {budget}: {drawn}; {why}. A run takes {seconds(pace)}, so raise budget to "
            f"{_rounded_up(needed):g} s, or make the test shorter"
        )
    if plan.mode == EXHAUSTIVE and not searched.all_enumerated:
        return f"cut short by schedules={plan.schedules}: {searched}; ask for more schedules, or use fewer preemptions"
    return None


def _rounded_up(seconds: float) -> float:
    """A time limit of one figure, or of 1.5, that is not below this."""
    unit: float = 10.0 ** floor(log10(seconds))
    figures = [1.0, 1.5, *map(float, range(2, 11))]
    return round(min(unit * figure for figure in figures if unit * figure >= seconds), 9)


def expected_errors(explorer: Explorer) -> str:
    expected = sorted(explorer.baseline.expected.items())
    names = [f"{name} (at most {count} times)" if count > 1 else name for name, count in expected]
    return f"{explorer.every_order} raises {', '.join(names)} too" if names else ""
