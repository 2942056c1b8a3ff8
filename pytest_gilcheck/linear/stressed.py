"""The check of a class with real threads: the campaign of drawn programs, each run many times in a child process of its own.

What it finds, it finds by chance: no token replays it. So a search of schedules is asked afterwards, for the smallest program
alone. If a schedule shows it too, the result is that of the search, with its token. If none does, it is at the level of C.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from ..core import stop_request
from ..core.arguments import Arguments
from ..core.clocks import monotonic
from ..core.cores import usable_cores
from ..core.fork_safety import can_fork
from ..core.interpreter import FREE_THREADED, build
from ..core.verdict import Verdict
from ..engine.program import describe_error
from ..engine.stress.child import SharedCount, StressBounds
from ..engine.stress.guard import HANGS, run
from ..engine.stress.stress import ONE_CORE_NOTE
from .campaign import Campaign
from .class_session import Blocked
from .exploring import Explored
from .judging import CAUSES, Refused, refused
from .kept import KeptFailures
from .operations import DrawnProgram
from .oracle import Why
from .pasted import test_of
from .plan import FEWEST, LinearPlan
from .real_threads import NoProgram, RealThreads, seen_in
from .result import C_LEVEL, LinearizableResult
from .subject import Subject
from .telling import columns

RUNS = 100  # of each program
_CRASHED = "crashed"

Searched = Callable[[DrawnProgram], LinearizableResult]


@dataclass(frozen=True, eq=False)
class SeenForReal:
    """A program that real threads have broken.

    Attributes:
        why: the cause, by the names of results.
        reason: the same in words.
        outcome: what was seen beside what the orders give, as text.
        story: where it crashed or hangs.
        hits, runs: in how many runs of how many.
    """

    drawn: DrawnProgram
    why: str
    reason: str
    outcome: str
    story: str
    hits: int
    runs: int


def refuse_here(given: Arguments) -> None:
    """Refuse to run with real threads where a GIL hides what they show.

    Raises:
        BadValue: this is such a build; or a schedule was to be replayed, too.
    """
    if not given.get("stress"):
        return
    if build() != FREE_THREADED:
        hidden = "a build without a GIL, which hides what real threads show: run it with python3.13t or later (-X gil=0)"
        raise given.refused("stress", f"{hidden}; without stress, schedules are searched on every build")
    if "replay" in given and given.source_of("replay") == given.source:
        raise given.refused("replay", "nothing beside stress, which follows no schedule: replay it without stress")


class _RealCampaign(Campaign):
    """Runs programs of one class with real threads.

    Attributes:
        noted: runs with results that no order gives, where these are no failure.
    """

    def __init__(self, subject: Subject, plan: LinearPlan, progress: Callable[[str], None]) -> None:
        session: Any = SimpleNamespace(subject=subject)
        super().__init__(session, plan, progress)
        self._digest += b" with real threads"  # what passes by chance must not be dropped from the examples of a search
        self._kept = KeptFailures(None, self._digest)
        self._ended = False
        self.noted = 0

    @property
    def _over(self) -> bool:
        return self._ended or super()._over

    def _explored(self, drawn: DrawnProgram) -> Explored:
        return self.really(drawn, self._until - monotonic(), RUNS)

    def really(self, drawn: DrawnProgram, seconds: float, most: int) -> Explored:
        """Run a program with real threads.

        Raises:
            Blocked: it is none.
            Refused: nothing can be told of the class.
        """
        real = RealThreads(self.session.subject, drawn)
        bounds = StressBounds(max(0.0, min(seconds, _LONGEST)), self.plan.timeout, most)
        child = run(real, bounds)
        self.noted += real.noted
        if isinstance(child.failure, NoProgram):
            raise Blocked
        if child.failure is not None:
            raise child.failure if isinstance(child.failure, Refused) else Refused(f"{drawn.text}: {describe_error(child.failure)}")
        finding: Any = None
        hits, runs = sum(child.kinds().values()), child.counts[SharedCount.FINISHED] + (child.outcome is not None)
        if child.outcome is not None:
            symptom, message, story = child.end()
            if not real.ready:
                if symptom == HANGS:
                    raise Blocked
                raise Refused(f"without any concurrency, {drawn.text} ends its process: {message}")
            if symptom == HANGS and not self._hangs_again(drawn, bounds):
                once = "did not end once, and a second time all did: a busy machine may do that; raise timeout"
                raise Refused(f"a run of {drawn.text} {once}")
            why, told = (Why.STUCK, "no sequential order waits for ever") if symptom == HANGS else (_CRASHED, "it ends its process")
            shown = "\n".join(columns(self.session.subject, drawn, ((), tuple(() for _ in drawn.parallel), (), None)))
            finding = SeenForReal(drawn, str(why), f"{told}: {message}", shown, story, hits, runs)
            self._ended = symptom == HANGS  # each further run that hangs takes as long as the timeout
        elif child.first is not None:
            cause, outcome = seen_in(child.first[1])
            finding = SeenForReal(drawn, str(cause), CAUSES[cause], outcome, "", hits, runs)
        return Explored(finding, runs, 0, False, frozenset(real.overlapped))

    def _hangs_again(self, drawn: DrawnProgram, bounds: StressBounds) -> bool:
        """Whether a second process hangs, too, with twice the time: on a busy machine, one that waits for a core looks the same."""
        real = RealThreads(self.session.subject, drawn)
        child = run(real, replace(bounds, timeout=2 * bounds.timeout))
        return child.outcome is not None and child.end()[0] == HANGS


_LONGEST = 1e6  # seconds, of a campaign that has no end


def stressed(
    subject: Subject,
    plan: LinearPlan,
    template: LinearizableResult,
    searched: Searched,
    progress: Callable[[str], None],
    program: DrawnProgram | None,
) -> LinearizableResult:
    """The result of a campaign with real threads.

    Args:
        searched: searches the schedules of one program.
        program: run this one alone, until the budget ends; None: draw them.
    """
    if why := can_fork():
        return replace(template, reason=f"stress runs programs in forked processes, but {why}")
    if usable_cores() < subject.threads:
        return replace(template, reason=ONE_CORE_NOTE)
    begun = monotonic()
    campaign = _RealCampaign(subject, plan, progress)
    try:
        with stop_request.listening():
            finding: Any = campaign.run() if program is None else _of_one(campaign, program)
    except Refused as error:
        return refused(template, error)
    except Blocked:
        return replace(
            template, reason="an operation of the program waits in a sequential order: search its schedules, without stress"
        )
    counted, pairs = campaign.counted, len(campaign.pairs)
    template = replace(
        template,
        programs=counted.programs,
        runs=counted.schedules,
        pairs=pairs,
        overlapped=pairs - len(campaign.missing),
        notes=_notes(campaign),
        seconds=monotonic() - begun,
    )
    if finding is not None:
        progress("does a schedule show it too?")
        return _violated(subject, template, finding, searched)
    if campaign.refusal is not None:
        return refused(template, campaign.refusal)
    if stop_request.made():
        return replace(template, reason=f"Ctrl-C ended the campaign before it was over; {template.coverage}")
    if why := _too_little(campaign, program is not None):
        return replace(template, reason=f"{why}; {template.coverage}")
    return replace(template, conclusion=Verdict.HOLDS, reason=f"{template.coverage}: nothing seen")


def _of_one(campaign: _RealCampaign, program: DrawnProgram) -> Any:
    explored = campaign.really(program, campaign.plan.budget, _MANY)
    campaign._count(program, explored)
    return explored.finding


_MANY = 1 << 40


def _too_little(campaign: _RealCampaign, one: bool) -> str:
    """Why what was run is too little for any claim; empty if it is not."""
    counted = campaign.counted
    ended = "budget ended the campaign: raise it" if counted.expired else f"{counted.blocked} others wait in a sequential order"
    if counted.programs < (1 if one else min(FEWEST, campaign.plan.examples)):
        return f"{counted.programs} programs are too few; {ended}"
    return campaign.too_few_pairs(ended) if not counted.overlapped or (not one and campaign.few_overlapped) else ""


def _notes(campaign: _RealCampaign) -> tuple[str, ...]:
    counted, notes = campaign.counted, []
    if counted.expired:
        notes.append(f"the budget of {campaign.plan.budget:g} s ended the campaign")
    if counted.blocked:
        notes.append(f"{counted.blocked} more programs wait in a sequential order, and were not run: search them, without stress")
    if campaign.noted:
        notes.append(f"not atomic in {campaign.noted} runs, which is a bug only if the documentation of the class promises it")
    return tuple(notes)


def _violated(subject: Subject, template: LinearizableResult, seen: SeenForReal, searched: Searched) -> LinearizableResult:
    chance = f"seen in {seen.hits:,} of {seen.runs:,} runs with real threads"
    again = template if seen.why == _CRASHED else searched(seen.drawn)  # which would end this process
    if again.conclusion is Verdict.VIOLATED:  # which can be replayed
        return replace(
            again,
            programs=template.programs,
            runs=template.runs,
            pairs=template.pairs,
            overlapped=template.overlapped,
            hits=seen.hits,
            notes=(*template.notes, f"{chance}, and then found by a search of its schedules"),
        )
    by_chance = f"no token replays it, and seed={template.seed} draws the same programs again"
    return replace(
        template,
        conclusion=Verdict.VIOLATED,
        reason=f"{seen.reason}; {chance}, by chance: {by_chance}",
        cause=seen.why,
        kind=C_LEVEL,
        program=seen.drawn.text,
        outcome=seen.outcome,
        story=seen.story,
        hits=seen.hits,
        pasted=test_of(subject, seen.drawn, ""),
        notes=(*template.notes, *([] if again is template else [f"no schedule shows it: {again.reason}"])),
    )
