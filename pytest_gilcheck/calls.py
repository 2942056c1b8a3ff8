"""The namespace of all calls: the ``gilcheck`` fixture, and the same without pytest."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from .core.errors import BadValue
from .core.evidence import Record, record
from .core.interpreter import Interpreter, build
from .core.turn import TurnTimeout, turn
from .core.verdict import Verdict
from .core.workloads import name_of
from .settings import Settings

if TYPE_CHECKING:
    from types import ModuleType

    from .fuzz.program import Program
    from .fuzz.result import FuzzResult
    from .interrupt.claim import Signals
    from .interrupt.injection import InjectionResult
    from .interrupt.result import InterruptResult
    from .latency.result import LatencyResult
    from .scaling.curve import CurveResult
    from .scaling.result import ScalingResult

PATIENCE = 600.0  # seconds to wait for other timing checks on this machine
SCALING_ARGUMENTS = (
    "min_speedup", "max_slowdown", "efficiency", "threads", "budget", "timeout", "cores", "switchinterval", "warmup", "setup",
)  # fmt: skip
INTERRUPT_ARGUMENTS = ("within", "exits_within", "signals", "repeats", "over", "seed", "budget", "timeout", "setup")
INJECTION_ARGUMENTS = ("inject", "invariant", "exception", "first", "sample", "seed", "budget", "timeout", "setup")
FUZZ_ARGUMENTS = ("preemptions", "budget", "timeout", "seed", "mode", "replay", "sensitivity", "include")
LATENCY_ARGUMENTS = ("p99", "max", "workers", "think", "loop", "switchinterval", "cores", "budget", "timeout", "setup")
_SETTABLE = ("threads", "seed", "budget", "timeout", "replay")


class _Measured(Protocol):
    """A result that can be kept as evidence."""

    @property
    def workload(self) -> str: ...
    def figures(self) -> dict[str, Any]: ...
    def details(self) -> dict[str, Any]: ...


class _Figures(_Measured, Protocol):
    """One with a verdict."""

    @property
    def verdict(self) -> Verdict: ...
    @property
    def reason(self) -> str: ...


T = TypeVar("T")
Checked = TypeVar("Checked", bound=_Figures)


class Gilcheck:
    """Every check as a call. ``from pytest_gilcheck import gilcheck``, or the fixture of that name.

    Args:
        settings: what was set for the whole run; of the environment alone when used without pytest.
        on_record: told the evidence of every check.
        on_result: given every result.
        clock: told how many seconds may pass before the next word; None stops that clock while others are waited for.
        progress: told what comes next.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        on_record: Callable[[Record], None] = lambda entry: None,
        on_result: Callable[[Any], None] = lambda result: None,
        clock: Callable[[float | None], None] = lambda seconds: None,
        progress: Callable[[str], None] = lambda label: None,
    ) -> None:
        self._settings = settings or Settings.from_environment()
        self._on_record, self._on_result, self._clock, self._progress = on_record, on_result, clock, progress
        self._build = build()  # as it was when the last check began

    @property
    def settings(self) -> Settings:
        """What was set for the whole run."""
        return self._settings

    @property
    def interpreter(self) -> Interpreter:
        """What this Python is right now."""
        return Interpreter.current()

    def scaling(
        self,
        work: Callable[[], Any],
        *,
        min_speedup: float | Mapping[str, float] | None = None,
        max_slowdown: float | Mapping[str, float] | None = None,
        efficiency: float | Mapping[str, float] | None = None,
        threads: int | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        cores: int | None = None,
        switchinterval: float | None = None,
        warmup: int | None = None,
        setup: Callable[[], object] | None = None,
        name: str | None = None,
    ) -> ScalingResult:
        """Does ``work`` scale over threads?

        Args:
            work: a callable or coroutine function without arguments; it runs in worker threads, many times.
            min_speedup: claim that ``threads`` calls at once take at most this much less time than one after the other; a
                number, or one for each build: ``{"gil": 0.9, "free-threaded": 1.8}``.
            max_slowdown: claim that they take at most this many times as long.
            efficiency: claim that the speedup is at least this share of what the machine can give right now.
                Without a claim: efficiency 0.7 on a free-threaded build, max_slowdown 1.25 on a GIL build.
            threads: how many run at once.
            budget: seconds to spend; fewer are spent if it is decided sooner.
            timeout: seconds after which a lap that does not end is ended.
            cores: keep the check on so many cores.
            switchinterval: seconds, for ``sys.setswitchinterval`` during the check.
            warmup: untimed calls first.
            setup: called before each lap, untimed; each thread then calls ``work`` once in a lap.
            name: what to call it in reports.

        Raises:
            BadValue: an argument that cannot be used.
            BaseException, BaseExceptionGroup, TeamHung: what the workload did; see `scaling.check.scaling`.
        """
        given = {key: value for key, value in locals().items() if key in SCALING_ARGUMENTS and value is not None}
        return self.checked_scaling(work, given, "argument", name)

    def checked_scaling(
        self, work: Callable[[], Any], arguments: Mapping[str, Any], source: str, name: str | None = None
    ) -> ScalingResult:
        """`scaling` with arguments that nobody has looked at yet, from a marker say; ``source`` names where they came from."""
        from .scaling.check import scaling
        from .scaling.claim import claim
        from .scaling.plan import plan
        from .scaling.result import ScalingResult

        values, sources = self._values(work, arguments, SCALING_ARGUMENTS, source)
        claims = {key: values.pop(key, None) for key in ("min_speedup", "max_slowdown", "efficiency")}
        how = plan(**values, sources=sources)
        claimed = claim(**claims, threads=how.threads, build=build(), source=source)
        result = self._in_turn(
            lambda progress: scaling(work, claimed, how, name=name, progress=progress),
            lambda reason: ScalingResult(
                verdict=Verdict.INCONCLUSIVE,
                reason=reason,
                workload=name or name_of(work),
                claim=claimed,
                interpreter=Interpreter.current(),
                threads=how.threads,
            ),
            seconds=how.timeout,
            sources=sources,
            source=source,
        )
        return self._told("scaling", result, {"text": str(claimed), **vars(claimed)}, how)

    @overload
    def interrupt(
        self,
        work: Callable[[], Any],
        *,
        within: float | None = None,
        exits_within: float | None = None,
        signals: Signals | None = None,
        repeats: int | None = None,
        over: float | None = None,
        seed: int | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        setup: Callable[[], object] | None = None,
        name: str | None = None,
    ) -> InterruptResult: ...

    @overload
    def interrupt(
        self,
        work: Callable[[], Any],
        *,
        inject: str,
        invariant: Callable[[], object] | None = None,
        exception: type[BaseException] | BaseException | None = None,
        first: int | None = None,
        sample: int | None = None,
        seed: int | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        setup: Callable[[], object] | None = None,
        name: str | None = None,
    ) -> InjectionResult: ...

    def interrupt(self, work: Callable[[], Any], *, name: str | None = None, **arguments: Any) -> InterruptResult | InjectionResult:
        """Does Ctrl-C work in ``work``? Or, with ``inject``: is it safe to interrupt?

        Args:
            work: a callable or coroutine function without arguments; it runs in the main thread of child processes.
            within: claim that each signal is seen, its Python handler entered, after at most so many seconds (0.2).
            exits_within: claim that the process is gone at most so many seconds after that (2.0).
            signals: names or numbers; ``"SIGINT"`` by default.
            repeats: how many of each signal (8).
            over: seconds from the beginning of the workload over which their moments are spread (1.0).
            seed: of what is drawn at random: moments, or the sample of steps.
            budget: seconds to spend.
            timeout: seconds for what comes before the workload, or for one run with an injected exception.
            setup: called in each child first.
            inject: ``"every-step"`` raises an exception at each visible step of the workload in turn, one run for each;
                ``"sample"`` at some of them.
            invariant: called after each of these runs; it is broken if it returns False or raises.
            exception: what is raised, KeyboardInterrupt by default.
            first: the step to begin with, where an earlier check ran out of time.
            sample: how many steps (100).
            name: what to call it in reports.

        Raises:
            BadValue: an argument that cannot be used, or a process that can have no such children now.
            BaseException: what the workload raised when it was left alone.
        """
        given = {key: value for key, value in arguments.items() if value is not None}
        return self.checked_interrupt(work, given, "argument", name)

    def checked_interrupt(
        self, work: Callable[[], Any], arguments: Mapping[str, Any], source: str, name: str | None = None
    ) -> InterruptResult | InjectionResult:
        """`interrupt` with arguments that nobody has looked at yet; ``source`` names where they came from."""
        if "inject" in arguments:
            return self._injected(work, arguments, source, name)
        from .interrupt.check import interrupt
        from .interrupt.claim import claim
        from .interrupt.plan import plan
        from .interrupt.result import InterruptResult

        if "invariant" in arguments or "exception" in arguments:
            stray = "invariant" if "invariant" in arguments else "exception"
            raise BadValue(stray, arguments[stray], "inject='every-step' or inject='sample' beside it", source)
        values, sources = self._values(work, arguments, INTERRUPT_ARGUMENTS, source)
        claims = {key: values.pop(key, None) for key in ("within", "exits_within", "signals")}
        how = plan(**values, sources=sources)
        claimed = claim(**claims, source=source)
        result = self._in_turn(
            lambda progress: interrupt(work, claimed, how, name=name, progress=progress),
            lambda reason: InterruptResult(
                verdict=Verdict.INCONCLUSIVE,
                reason=reason,
                workload=name or name_of(work),
                claim=claimed,
                interpreter=Interpreter.current(),
            ),
            seconds=how.timeout + how.over + 10 * claimed.within + claimed.exits_within + 10,
            sources=sources,
            source=source,
        )
        claim_record = {"within": claimed.within, "exits_within": claimed.exits_within}
        signals = [number.name for number in claimed.signals]
        return self._told("interrupt", result, {"text": str(claimed), "signals": signals, **claim_record}, how)

    def _injected(self, work: Callable[[], Any], arguments: Mapping[str, Any], source: str, name: str | None) -> InjectionResult:
        from .interrupt.injection import InjectionResult, inject, plan

        values, sources = self._values(work, arguments, INJECTION_ARGUMENTS, source)
        how = plan(**values, sources=sources)
        result = self._in_turn(
            lambda progress: inject(work, how, name=name, progress=progress),
            lambda reason: InjectionResult(
                verdict=Verdict.INCONCLUSIVE,
                reason=reason,
                workload=name or name_of(work),
                interpreter=Interpreter.current(),
                mode=how.mode,
                exception=how.exception_name,
            ),
            seconds=how.timeout + 10,
            sources=sources,
            source=source,
        )
        return self._told("injection", result, {"text": f"{how.exception_name} breaks nothing", "mode": how.mode}, how)

    def latency(
        self,
        work: Callable[[], Any],
        *,
        p99: float | Mapping[str, float] | None = None,
        max: float | Mapping[str, float] | None = None,
        workers: int | None = None,
        think: float | None = None,
        loop: bool | None = None,
        switchinterval: float | Sequence[float] | None = None,
        cores: int | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        setup: Callable[[], object] | None = None,
        name: str | None = None,
    ) -> LatencyResult:
        """Does the rest stay responsive while ``work`` runs in worker threads?

        Args:
            work: a callable or coroutine function without arguments, called over and over.
            p99: claim that 99% of what else wants to run is at most so many seconds late (0.05); a number, or one for each
                build: ``{"gil": 0.05, "free-threaded": 0.01}``.
            max: claim that nothing is later than so many seconds.
            workers: threads that run ``work`` (1).
            think: mean seconds for which the echo's client thinks between requests.
            loop: also measure an asyncio event loop.
            switchinterval: seconds, for ``sys.setswitchinterval``; a list compares them, and the verdict is for the current one.
            cores: keep the check on so many cores.
            budget: seconds to spend.
            timeout: seconds after which a call that does not return is ended.
            setup: called before each time that the workload is started.
            name: what to call it in reports.

        Raises:
            BadValue: an argument that cannot be used.
            BaseException, BaseExceptionGroup, TeamHung: what the workload did.
        """
        given = {key: value for key, value in locals().items() if key in LATENCY_ARGUMENTS and value is not None}
        return self.checked_latency(work, given, "argument", name)

    def checked_latency(
        self, work: Callable[[], Any], arguments: Mapping[str, Any], source: str, name: str | None = None
    ) -> LatencyResult:
        """`latency` with arguments that nobody has looked at yet; ``source`` names where they came from."""
        from .latency.check import LONGEST_DEFAULT_BUDGET, latency
        from .latency.claim import claim
        from .latency.plan import plan
        from .latency.result import LatencyResult

        values, sources = self._values(work, arguments, LATENCY_ARGUMENTS, source)
        claims = {key: values.pop(key, None) for key in ("p99", "max")}
        how = plan(**values, sources=sources)
        claimed = claim(**claims, source=source)
        result = self._in_turn(
            lambda progress: latency(work, claimed, how, name=name, progress=progress),
            lambda reason: LatencyResult(
                verdict=Verdict.INCONCLUSIVE,
                reason=reason,
                workload=name or name_of(work),
                claim=claimed,
                interpreter=Interpreter.current(),
                workers=how.workers,
                switch_interval=sys.getswitchinterval(),
            ),
            seconds=how.timeout + (how.budget or LONGEST_DEFAULT_BUDGET) + 10,
            sources=sources,
            source=source,
        )
        return self._told("latency", result, {"text": str(claimed), "p99": claimed.p99, "max": claimed.max}, how)

    def fuzz(
        self,
        *,
        threads: Sequence[Callable[..., Any]],
        setup: Callable[[], Any] | None = None,
        invariant: Callable[..., object] | None = None,
        preemptions: int | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        seed: int | None = None,
        mode: str | None = None,
        replay: str | None = None,
        sensitivity: bool | None = None,
        include: Sequence[str | ModuleType] | str | ModuleType | None = None,
        name: str | None = None,
    ) -> FuzzResult:
        """Does it survive? Search the interleavings of ``threads`` for one that breaks what they share.

        Args:
            threads: what each thread calls, with the state that ``setup`` made, or without arguments if there is no setup.
            setup: makes a fresh state for every schedule.
            invariant: called with the state afterwards; broken if it returns False or raises. An exception that escapes from a
                thread is a failure unless every sequential order of the threads raises it too.
            preemptions: enumerate all schedules of at most so many preemptions (2), if they fit the budget; sample otherwise.
            budget: seconds for the search (5).
            timeout: seconds of a single run after which it hangs (20).
            seed: of what is sampled.
            mode: ``"search"`` by default; ``"exhaustive"``: enumerate or say that it cannot; ``"gil"``: only where a build with a
                GIL can switch threads; ``"stress"``: run for real, on a free-threaded build.
            replay: the token of an earlier failure, to be followed instead of a search.
            sensitivity: search again without each lock in turn: the program must then fail, or it proves nothing.
            include: modules or packages whose code is under test although it is the standard library's, or a tool's.
            name: what to call it in reports.

        Raises:
            BadValue: an argument that cannot be used.
            ReplayDiverged: the steps are not those that the token was made with.
            BaseException: what ``setup`` raised, or what every thread raises in every sequential order.
        """
        from .fuzz.check import program

        given = {key: value for key, value in locals().items() if key in FUZZ_ARGUMENTS and value is not None}
        return self.checked_fuzz(program(threads, setup, invariant, name), given, "argument")

    def shared(self, container: T) -> T:
        """A list, dict, set, deque, OrderedDict, defaultdict or Counter that other threads can change in a fuzz check while C
        iterates over it (``sum``, ``max``, ``tuple(d.values())``), as they can without a GIL; what stays atomic there stays atomic.

        Raises:
            BadValue: a container of another type.
        """
        from .fuzz.steps.shared import shared

        return shared(container)  # type: ignore[return-value,unused-ignore]

    def checked_fuzz(
        self, program: Program, arguments: Mapping[str, Any], source: str, share: tuple[int, int] = (0, 1)
    ) -> FuzzResult:
        """`fuzz` with arguments that nobody has looked at yet; ``source`` names where they came from.

        Args:
            share: (which, of how many): run only this share of the schedules, where others run the rest.
        """
        from .fuzz.check import fuzz
        from .fuzz.plan import plan

        values, sources = self._values(program.begin, arguments, FUZZ_ARGUMENTS, source)
        how = plan(**values, sources=sources, share=share)
        if how.replay is not None and sources["replay"] != source and how.replay.program != program.checksum:
            how = replace(how, replay=None)  # the run's token is another program's

        def progress(label: str) -> None:
            self._clock(how.timeout + how.budget + 60)
            self._progress(label)

        try:
            result = fuzz(program, how, progress=progress)
        except BadValue as error:
            raise BadValue(error.name, error.value, error.expected, sources.get(error.name, source)) from None
        finally:
            self._clock(None)
        claimed = {"text": f"survives its schedules of at most {how.preemptions} preemptions", "preemptions": how.preemptions}
        return self._told("fuzz", result, claimed, how)

    def curve(
        self,
        work: Callable[[], Any],
        *,
        threads: Sequence[int] | None = None,
        modes: Sequence[str] | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        name: str | None = None,
    ) -> CurveResult:
        """How does throughput grow with the number of workers? A measurement, not a check: it has no verdict.

        Args:
            work: as for `scaling`; for the mode ``interpreters`` it must be an importable function.
            threads: numbers of workers; by default 1, 2, 4 up to twice the cores.
            modes: of sequential, threads, processes, interpreters and asyncio; by default all that can run here.
            budget: seconds to spend.
            timeout: seconds after which a lap that does not end is ended.
            name: what to call it in the report.

        Raises:
            BadValue: an argument that cannot be used.
        """
        from .scaling.curve import curve
        from .scaling.plan import DEFAULT_TIMEOUT

        given = {key: value for key, value in (("budget", budget), ("timeout", timeout)) if value is not None}
        values, sources = self._values(work, given, ("budget", "timeout"), "argument")
        result = self._in_turn(
            lambda progress: curve(work, workers=threads, modes=modes, name=name, progress=progress, sources=sources, **values),
            None,
            seconds=values.get("timeout") or DEFAULT_TIMEOUT,
            sources=sources,
            source="argument",
        )
        self._keep("curve", result, None, {}, {"threads": threads, "modes": modes, **values})
        return result

    def _values(
        self, work: object, arguments: Mapping[str, Any], known: Sequence[str], source: str
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The arguments with the run's settings above and below them, and where each came from."""
        self._build = build()
        _callable(work, source)
        refuse_unknown(arguments, known, source)
        values, sources = dict(arguments), dict.fromkeys(arguments, source)
        for key in _SETTABLE:
            if key in known:
                values[key], sources[key] = self._settings.value(key, arguments.get(key), source)
        return values, sources

    def _in_turn(
        self,
        measure: Callable[[Callable[[str], None]], T],
        undecided: Callable[[str], T] | None,
        *,
        seconds: float,
        sources: Mapping[str, str],
        source: str,
    ) -> T:
        """Measure while no other timing check does on this machine.

        Args:
            measure: given what to call with the name of each step.
            undecided: the result if the machine's turn never comes; without it that is an error.
            seconds: the time that may pass between two such names.
        """

        def progress(label: str) -> None:
            self._clock(seconds)
            self._progress(label)

        try:
            with turn(PATIENCE, lambda: self._progress("waiting for another timing check on this machine")):
                return measure(progress)
        except BadValue as error:  # what only the system could tell: too many threads or cores
            raise BadValue(error.name, error.value, error.expected, sources.get(error.name, source)) from error
        except TurnTimeout as error:
            if undecided is None:
                raise
            return undecided(str(error))
        finally:
            self._clock(None)

    def _told(self, check: str, result: Checked, claimed: Mapping[str, Any], how: object) -> Checked:
        self._keep(check, result, result, claimed, how)
        return result

    def _keep(self, check: str, result: _Measured, judged: _Figures | None, claimed: Mapping[str, Any], how: object) -> None:
        details = result.details() | {"text": str(result)}
        self._on_record(
            record(
                check,
                result.workload,
                judged,
                claimed,
                result.figures(),
                parameters=how,
                details=details,
                gil_before=self._build,
            )
        )
        self._on_result(result)


def _callable(work: object, source: str) -> None:
    generates = inspect.isgeneratorfunction(work) or inspect.isasyncgenfunction(work)
    if not callable(work) or generates:
        raise BadValue("work", work, "a callable or coroutine function without arguments, and no generator", source)


def refuse_unknown(arguments: Mapping[str, Any], known: Sequence[str], source: str) -> None:
    """Raise for the first argument that nobody knows, with the one that was meant."""
    for name, value in arguments.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}"
            raise BadValue(name, value, f"no such argument; {hint}", source)
