"""The check of a class: a session, a campaign on it, and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..core import stop_request
from ..core.clocks import monotonic
from ..core.interpreter import Interpreter
from ..core.verdict import Verdict
from ..engine.outcome import NotExplorable, SequentialFailure
from ..engine.running.events import MonitoringConflict
from ..engine.schedule import Token, checksum, preemptions
from .campaign import Campaign
from .class_session import Blocked, ClassSession
from .classified import Teller, Told, told
from .drawing import warm_ups
from .exploring import Finding, explored
from .judging import CAUSES, Refused, refused
from .operations import DrawnProgram
from .oracle import Why
from .pasted import test_of
from .plan import FEWEST, SCHEDULES, LinearPlan
from .result import LinearizableResult
from .stressed import stressed
from .subject import Subject
from .telling import alternatives, columns

_INTERRUPTED = "Ctrl-C ended the campaign"
_NONE = "wait before their threads begin, do not meet a precondition, or cannot make their object, and are none"


def linearizable(
    subject: Subject, plan: LinearPlan, tell: Teller, progress: Callable[[str], None], program: DrawnProgram | None = None
) -> LinearizableResult:
    """Search programs of a class for a schedule that no sequential order explains.

    Args:
        tell: makes the text of a failing run.
        program: search this one alone; None: draw them.
    """
    begun = monotonic()
    template = undecided(subject, plan, subject.untold)
    if subject.untold:
        return template
    if plan.stress:
        alone = replace(plan, stress=False)
        return stressed(
            subject, plan, template, lambda drawn: linearizable(subject, alone, tell, progress, drawn), progress, program
        )
    try:
        with stop_request.listening(), ClassSession(subject, plan.timeout, (*subject.modules, *plan.include), progress) as session:
            progress("first runs")
            session.warm(warm_ups(subject))
            if subject.refuses is not None and (why := subject.refuses(session.written, subject.threads)):
                raise Refused(why)
            if plan.replay is not None or program is not None:
                result = _of_one(session, plan, template, tell, progress, program)
            else:
                result = _of_many(session, plan, template, tell, progress)
    except (Refused, NotExplorable, SequentialFailure, MonitoringConflict) as error:
        result = refused(template, error)
    except Blocked:
        result = replace(template, reason="an operation before the threads waits for ever, so this is no program")
    return replace(result, seconds=monotonic() - begun)


def undecided(subject: Subject, plan: LinearPlan, reason: str) -> LinearizableResult:
    """The result where nothing can be told."""
    return LinearizableResult(
        conclusion=Verdict.INCONCLUSIVE,
        reason=reason,
        workload=subject.name,
        interpreter=Interpreter.current(),
        left_out=subject.left_out,
        seed=plan.seed,
    )


def _of_many(
    session: ClassSession, plan: LinearPlan, template: LinearizableResult, tell: Teller, progress: Callable[[str], None]
) -> LinearizableResult:
    campaign = Campaign(session, plan, progress)
    finding = campaign.run()
    counted = campaign.counted
    pairs = len(campaign.pairs)
    template = replace(
        template,
        programs=counted.programs,
        schedules=counted.schedules,
        orders=counted.orders,
        settled=counted.settled,
        pairs=pairs,
        overlapped=pairs - len(campaign.missing),
        notes=_notes(campaign),
    )
    if finding is not None:
        progress("the shortest schedule")
        shown = told(session, finding, tell)
        campaign.keep(shown.token)
        return _violated(session, template, shown)
    if campaign.refusal is not None:
        return refused(template, campaign.refusal)
    if stop_request.made():
        return replace(template, reason=f"{_INTERRUPTED} before it was over; {template.coverage}")
    if why := _too_little(campaign):
        return replace(template, reason=f"{why}; {template.coverage}")
    return replace(template, conclusion=Verdict.HOLDS, reason=f"sequential orders explain every run: {template.coverage}")


def _too_little(campaign: Campaign) -> str:
    """Why what was searched is too little for any claim; empty if it is not."""
    counted, session = campaign.counted, campaign.session
    if not session.steps:
        where = "give include=(...) for Python code of libraries; of code in C, stress tells on a free-threaded build"
        return f"its operations make no visible step, so no schedule can switch in them: {where}"
    ended = "budget ended the campaign: raise it" if counted.expired else f"{counted.blocked} others {_NONE}"
    enough = min(FEWEST, campaign.plan.examples)
    if counted.programs < enough and (counted.expired or counted.blocked):
        return f"{counted.programs} programs are too few; {ended}"
    if counted.programs == 0:
        return f"no program was searched; {ended}"
    return campaign.too_few_pairs(ended) if campaign.few_overlapped else ""


def _notes(campaign: Campaign) -> tuple[str, ...]:
    counted, subject = campaign.counted, campaign.session.subject
    notes = []
    if counted.expired:
        notes.append(f"the budget of {campaign.plan.budget:g} s ended the campaign")
    if counted.blocked:
        notes.append(f"{counted.blocked} more programs {_NONE}")
    if counted.doubts:
        doubt = max(counted.doubts, key=lambda each: counted.doubts[each])
        notes.append(f"{sum(counted.doubts.values())} programs were sampled, and not searched to the end: {doubt}, for instance")
    if noted := campaign.session.noted:
        notes.append(f"not atomic, which is a bug only if the documentation of the class promises it: {noted}")
    if subject.waiting != "strict":
        notes.append(f"waiting={subject.waiting!r}: an operation that waits may go on between two others")
    return tuple(notes)


def _violated(session: ClassSession, template: LinearizableResult, shown: Told) -> LinearizableResult:
    finding = shown.finding
    drawn, failure = finding.drawn, finding.failure
    few = failure.schedule.preemptions
    subject = session.subject
    return replace(
        template,
        conclusion=Verdict.VIOLATED,
        reason=f"{_reason(finding)}; with {preemptions(few)}",
        cause=str(finding.why),
        kind=shown.kind or None,
        program=drawn.text,
        token=shown.token,
        preemptions=few,
        replays=shown.replays,
        outcome="\n".join(
            [
                *columns(subject, drawn, finding.outcome),
                *alternatives(drawn, finding.outcome, list(finding.allowed.orders), subject.model is not None),
            ]
        ),
        story=shown.story,
        rows=shown.rows,
        pasted=test_of(subject, drawn, shown.token),
        notes=(f"{_INTERRUPTED}: a smaller program or a shorter schedule may fail, too",) if stop_request.made() else (),
    )


def _reason(finding: Finding) -> str:
    if finding.why is not Why.STUCK:
        return CAUSES[finding.why]
    waits = f"{finding.failure.symptom}: {finding.failure.message}"
    return f"no sequential order waits there for ever: {waits}"


def _of_one(
    session: ClassSession,
    plan: LinearPlan,
    template: LinearizableResult,
    tell: Teller,
    progress: Callable[[str], None],
    program: DrawnProgram | None,
) -> LinearizableResult:
    """The result of one program, all of its schedules or the one of a token."""
    token = plan.replay
    if program is None and token is not None:
        program = Campaign(session, plan, progress).known_program(token.program)
    if program is None:
        where = "hypothesis' database has no program of this token: paste the test of the report, which has it"
        return replace(template, reason=where)
    if token is not None:
        return _replayed(session, template, tell, program, token)
    found = explored(session, program, SCHEDULES)
    template = replace(template, programs=1, schedules=found.schedules, orders=found.orders, settled=int(found.settled))
    if found.finding is not None:
        return _violated(session, template, told(session, found.finding, tell))
    if not session.steps:
        return replace(template, reason="its operations make no visible step, so no schedule can switch in them")
    return replace(template, conclusion=Verdict.HOLDS, reason=f"sequential orders explain every run of {program.text}")


def _replayed(
    session: ClassSession, template: LinearizableResult, tell: Teller, program: DrawnProgram, token: Token
) -> LinearizableResult:
    if checksum(program.text) != token.program:
        return replace(template, reason=f"the token is of another program than {program.text}")
    with session.listening():
        allowed, run, failure = session.followed(program, token)
        same = tuple(map(checksum, run.anchors)) == token.anchors and run.schedule.choices == token.schedule.choices
        if failure is None or session.why is None:
            if not same:
                return replace(template, reason="the replay went another way than the token: the steps of the class have changed")
            reason = f"the replayed schedule ({token.schedule}) is explained by a sequential order"
            return replace(template, conclusion=Verdict.HOLDS, reason=reason, programs=1, schedules=1, orders=allowed.runs)
        finding = Finding(program, failure, session.outcome, allowed, session.why, session.waits)
    return _violated(session, replace(template, programs=1, schedules=1, orders=allowed.runs), told(session, finding, tell))
