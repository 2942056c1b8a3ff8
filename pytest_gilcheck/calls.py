"""The namespace of all calls: the ``gilcheck`` fixture, and the same without pytest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import running_test
from .checks import FUZZ, LATENCY, LINEARIZABLE, MARKERS, SCALING, Check, selected
from .core.errors import BadValue
from .core.evidence import Record
from .core.interpreter import Interpreter
from .core.values import FLAG, NAME
from .runner import Runner
from .settings import Settings

if TYPE_CHECKING:
    from types import ModuleType

    from .fuzz.result import FuzzResult
    from .injection.result import InjectionResult
    from .interrupt.claim import Signals
    from .interrupt.result import InterruptResult
    from .latency.result import LatencyResult
    from .linear.result import LinearizableResult
    from .scaling.curve import CurveResult
    from .scaling.result import ScalingResult

T = TypeVar("T")
NOT_ASKED = "not asked"


class Gilcheck:
    """Every check as a call. ``from pytest_gilcheck import gilcheck``, or the fixture of that name.

    Args:
        settings: the settings of the whole run; those of the environment alone when used without pytest.
        on_record: called with the evidence record of each check.
        on_result: called with each result, its record, and whether somebody must judge it.
        set_deadline: called with the seconds until the next progress report is due; with None when the check is over.
        progress: called with the name of each phase before it begins.
        during: makes a context for the time of each check, called with its name.
        stays: why a program that may kill its process has to run in this one all the same; see `Runner`.
        output: captures what the runs of a program print; see `Runner`.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        on_record: Callable[[Record], None] = lambda entry: None,
        on_result: Callable[[Any, Record, bool], None] = lambda result, entry, to_be_judged: None,
        set_deadline: Callable[[float | None], None] = lambda seconds: None,
        progress: Callable[[str], None] = lambda label: None,
        during: Callable[[str], AbstractContextManager[object]] = nullcontext,
        stays: Callable[[], str | None] = lambda: None,
        output: Any = None,
    ) -> None:
        settings = settings or Settings.from_environment()
        self.runner = Runner(settings, on_record, on_result, set_deadline, progress, during, stays, output)

    @property
    def interpreter(self) -> Interpreter:
        """The running interpreter as it is now, with its version, build and GIL."""
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
        judge: bool = True,
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
            judge: whether the test must judge the result; False for a measurement without a claim.

        Raises:
            BadValue: an argument that cannot be used.
            BaseException, BaseExceptionGroup, TeamHung: what the workload did; see `scaling.check.scaling`.
        """
        __tracebackhide__ = True
        given = _given(SCALING, locals())
        judged = self._judged(SCALING.name, name, judge)
        result: ScalingResult = self.runner.run(SCALING, work, given, name=name, judged=judged)
        return result

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
        judge: bool = True,
    ) -> InterruptResult: ...

    @overload
    def interrupt(
        self,
        work: Callable[[], Any],
        *,
        inject: str,
        invariant: Callable[[], object] | None = None,
        exception: type[BaseException] | BaseException | None = None,
        include: Sequence[str | ModuleType] | str | ModuleType | None = None,
        first: int | None = None,
        sample: int | None = None,
        seed: int | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        setup: Callable[[], object] | None = None,
        name: str | None = None,
        judge: bool = True,
    ) -> InjectionResult: ...

    def interrupt(
        self, work: Callable[[], Any], *, name: str | None = None, judge: bool = True, **arguments: Any
    ) -> InterruptResult | InjectionResult:
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
            invariant: called after each of these runs; it is broken if it raises, or returns something false other than None.
            exception: what is raised, KeyboardInterrupt by default.
            include: modules or packages of libraries to step through, () for none; by default those of the standard library that
                hold resources, such as `contextlib` and `threading`.
            first: how many steps to leave out, because an earlier check that ran out of time has tried them.
            sample: how many steps (100).
            name: what to call it in reports.
            judge: whether the test must judge the result; False for a measurement without a claim.

        Raises:
            BadValue: an argument that cannot be used, or a process that can have no such children now.
            BaseException: what the workload raised when it was left alone.
        """
        __tracebackhide__ = True
        check = selected("gil_interrupt", arguments)
        with self.runner.during(check.name):
            refuse_without_selector(check, arguments, "argument")
        judged = self._judged(check.name, name, judge)
        result: InterruptResult | InjectionResult = self.runner.run(check, work, arguments, name=name, judged=judged)
        return result

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
        judge: bool = True,
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
            judge: whether the test must judge the result; False for a measurement without a claim.

        Raises:
            BadValue: an argument that cannot be used.
            BaseException, BaseExceptionGroup, TeamHung: what the workload did.
        """
        __tracebackhide__ = True
        given = _given(LATENCY, locals())
        judged = self._judged(LATENCY.name, name, judge)
        result: LatencyResult = self.runner.run(LATENCY, work, given, name=name, judged=judged)
        return result

    def fuzz(
        self,
        *,
        threads: Sequence[Callable[..., Any]],
        setup: Callable[[], Any] | None = None,
        invariant: Callable[..., object] | None = None,
        preemptions: int | None = None,
        schedules: int | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        seed: int | None = None,
        mode: str | None = None,
        replay: str | None = None,
        sensitivity: bool | None = None,
        include: Sequence[str | ModuleType] | str | ModuleType | None = None,
        name: str | None = None,
        judge: bool = True,
    ) -> FuzzResult:
        """Does it survive? Search the interleavings of ``threads`` for one that breaks what they share.

        Args:
            threads: what each thread calls, with the state that ``setup`` made, or without arguments if there is no setup. One
                alone has to start threads itself.
            setup: makes a fresh state for every schedule.
            invariant: called with the state afterwards; broken if it raises, or returns something false other than None. An
                exception that escapes from a thread is a failure unless every sequential order of the threads raises it too.
            preemptions: enumerate all schedules of at most so many preemptions (2), if they fit the budget; sample otherwise.
            schedules: stop after exactly so many schedules. The same seed then gives the same schedules and the same verdict on
                every machine with this interpreter; a time budget that ends first makes it inconclusive.
            budget: seconds for the search (5; 60 with ``schedules``).
            timeout: seconds of a single run after which it hangs (20).
            seed: of what is sampled.
            mode: ``"search"`` by default; ``"exhaustive"``: enumerate or say that it cannot; ``"gil"``: only where a build with a
                GIL can switch threads; ``"stress"``: run for real, on a free-threaded build.
            replay: the token of an earlier failure, to be followed instead of a search.
            sensitivity: search again without each lock in turn: the program must then fail, or it proves nothing.
            include: modules or packages whose code is under test although it is the standard library's, or a tool's.
            name: what to call it in reports.
            judge: whether the test must judge the result; False for a measurement without a claim.

        Raises:
            BadValue: an argument that cannot be used.
            ReplayDiverged: the steps are not those that the token was made with.
            BaseException: what ``setup`` raised, or what every thread raises in every sequential order.
        """
        __tracebackhide__ = True
        from .fuzz.check import program

        given = _given(FUZZ, locals())
        judged = self._judged(FUZZ.name, name, judge)
        with self.runner.during(FUZZ.name):
            work = program(threads, setup, invariant, name, output=self.runner.output)
        result: FuzzResult = self.runner.run(FUZZ, work, given, judged=judged, stays=self.runner.stays())
        return result

    def linearizable(
        self,
        make: Callable[..., Any],
        *,
        init: Sequence[Any] | None = None,
        ops: Mapping[str, Any] | None = None,
        values: Mapping[str, Sequence[Any]] | None = None,
        model: Callable[..., Any] | None = None,
        roles: Mapping[str, Sequence[str]] | None = None,
        alone: Sequence[str] | None = None,
        weak: Sequence[str] | None = None,
        final: Callable[[Any], Any] | None = None,
        order: str | None = None,
        waiting: str | None = None,
        only: str | None = None,
        threads: int | None = None,
        examples: int | None = None,
        budget: float | None = None,
        timeout: float | None = None,
        seed: int | None = None,
        include: Sequence[str | ModuleType] | str | ModuleType | None = None,
        settings: Any = None,
        stress: bool | None = None,
        program: Sequence[tuple[Any, ...]] | None = None,
        replay: str | None = None,
        name: str | None = None,
        judge: bool = True,
    ) -> LinearizableResult:
        """Is a class correct under threads? Draw programs of its operations, and search their schedules for one that gives what no
        sequential order of the same operations gives.

        Args:
            make: the class, or a function that makes an object of it.
            init: for each argument of ``make`` a strategy of hypothesis', or a list of values.
            ops: for each operation a list of these for its arguments, or a mapping by parameter; ``(function, list)`` calls the
                function with the object. By default the public methods and properties, with values by names and type hints.
            values: lists of values by the name of a parameter, for every operation and the constructor; they go before those that
                are inferred.
            model: a simpler class with the same operations, which says what is right; by default the class itself.
            roles: the operations of each role; each role is one thread.
            alone: operations that never overlap others.
            weak: operations whose results are not compared; their exceptions are.
            final: called with the object in the end; by default its public attributes that compare by value.
            order: ``"linearizable"`` (default): an order explains a run only if it keeps what came before in real time;
                ``"sequential"``: also if it does not.
            waiting: ``"strict"`` (default): an operation that has to wait in a sequential order ends it; ``"visible"``: it goes on
                as soon as it can, for a design in which others see that it waits.
            only: ``"errors"``: results that no order gives are noted, and no failure; for a class that promises nothing.
            threads: of each program, 2 or 3.
            examples: programs that are drawn at most (``max_examples`` of the settings if that is not hypothesis' own 100; 200).
            budget: seconds for all of them (60).
            timeout: seconds of one run after which it hangs (5).
            seed: of what is drawn. With it, nothing depends on hypothesis' database.
            include: modules under test although they are the standard library's, or a tool's.
            settings: of hypothesis, of which ``max_examples``, ``database`` and ``derandomize`` count (the profile that is loaded).
            stress: whether programs run with real threads, many times each, in place of a search; also those of a class in C. It
                takes a free-threaded build, and what it finds is found by chance.
            program: one program in place of drawn ones: rows such as ``("before", "put", 1)``, ``(1, "get")`` and
                ``("after", "size")``.
            replay: the token of an earlier failure, to be followed instead of a search.
            name: what to call it in reports.
            judge: whether the test must judge the result; False for a measurement without a claim.

        Raises:
            BadValue: an argument that cannot be used, or a class of which no object can be made.
        """
        __tracebackhide__ = True
        given = _given(LINEARIZABLE, locals())
        judged = self._judged(LINEARIZABLE.name, name, judge)
        result: LinearizableResult = self.runner.run(LINEARIZABLE, make, given, name=name, judged=judged)
        return result

    def shared(self, container: T) -> T:
        """A list, dict, set, deque, OrderedDict, defaultdict or Counter that other threads can change in a fuzz check while C
        iterates over it (``sum``, ``max``, ``tuple(d.values())``), as they can without a GIL; what stays atomic there stays atomic.

        Raises:
            BadValue: a container of another type.
        """
        from .engine.bytecode.shared import shared

        return shared(container)  # type: ignore[return-value,unused-ignore]

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
        from .scaling.curve import DEFAULT_BUDGET, curve
        from .scaling.plan import DEFAULT_TIMEOUT

        self._judged("curve", name, False)
        known = tuple(argument for argument in SCALING.arguments if argument.name in ("budget", "timeout"))
        given = self.runner.read(known, {"budget": budget, "timeout": timeout}, "argument")
        seconds, limit = given.time("budget", DEFAULT_BUDGET), given.time("timeout", DEFAULT_TIMEOUT)
        result: CurveResult = self.runner.measure(
            "curve",
            work,
            given,
            lambda progress: curve(work, workers=threads, modes=modes, budget=seconds, timeout=limit, name=name, progress=progress),
            parameters={"threads": threads, "modes": modes, "budget": seconds, "timeout": limit},
            longest_phase=limit,
        )
        return result

    def _judged(self, check: str, name: object, judge: object) -> str | None:
        """How a result is judged, as its record says; None if the test must do it.

        Args:
            name, judge: as the call was given them, unchecked: a false value such as None would make a measurement of a check.

        Raises:
            BadValue: one of them cannot be used.
        """
        __tracebackhide__ = True
        with self.runner.during(check):
            NAME.read("name", name, "argument")
            return None if FLAG.read("judge", judge, "argument") else NOT_ASKED


class Imported(Gilcheck):
    """What ``from pytest_gilcheck import gilcheck`` gives: in a test that pytest runs, its calls are those of the fixture."""

    def __init__(self) -> None:
        self._own = Gilcheck().runner

    @property
    def runner(self) -> Runner:  # type: ignore[override] # an attribute there
        of_test = running_test.runner()
        return self._own if of_test is None else of_test


def _given(check: Check, local: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the check among the local variables of a call, as they were given."""
    return {argument.name: local[argument.name] for argument in check.of_calls()}


def refuse_without_selector(check: Check, given: Mapping[str, Any], source: str) -> None:
    """Check that no argument belongs to another check of the same marker, which nobody selected.

    Raises:
        BadValue: one does.
    """
    if check.selected_by:
        return  # it refuses by itself what it does not know
    own = {argument.name for argument in check.arguments}
    for other in MARKERS[check.marker]:
        for argument in other.arguments:
            if argument.name not in own and given.get(argument.name) is not None:
                expected = f"{other.selected_by}=... beside it, which selects the check that has it"
                raise BadValue(argument.name, given[argument.name], expected, source)
