"""The namespace of all calls: the ``gilcheck`` fixture, and the same without pytest."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .core.errors import BadValue
from .core.evidence import Record, record
from .core.interpreter import Interpreter, build
from .core.names import name_of
from .core.turn import TurnTimeout, turn
from .core.verdict import Verdict
from .settings import Settings

if TYPE_CHECKING:
    from .scaling.curve import CurveResult
    from .scaling.result import ScalingResult

PATIENCE = 600.0  # seconds to wait for other timing checks on this machine
SCALING_ARGUMENTS = (
    "min_speedup", "max_slowdown", "efficiency", "threads", "budget", "timeout", "cores", "switchinterval", "warmup", "setup",
)  # fmt: skip
_SETTABLE = ("threads", "budget", "timeout")


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
        from .scaling.check import plan, scaling
        from .scaling.claim import claim
        from .scaling.result import ScalingResult

        _callable(work, source)
        refuse_unknown(arguments, SCALING_ARGUMENTS, source)
        values, sources = dict(arguments), dict.fromkeys(arguments, source)
        for key in _SETTABLE:
            values[key], sources[key] = self._settings.value(key, arguments.get(key), source)
        claims = {key: values.pop(key, None) for key in ("min_speedup", "max_slowdown", "efficiency")}
        how = plan(**values, sources=sources)
        claimed = claim(**claims, threads=how.threads, build=build(), source=source)

        def progress(label: str) -> None:
            self._clock(how.timeout)
            self._progress(label)

        try:
            with turn(PATIENCE, lambda: self._progress("waiting for another timing check on this machine")):
                result = scaling(work, claimed, how, name=name, progress=progress)
        except BadValue as error:  # what only the system could tell: too many threads or cores
            raise BadValue(error.name, error.value, error.expected, sources.get(error.name, source)) from error
        except TurnTimeout as error:
            result = ScalingResult(
                verdict=Verdict.INCONCLUSIVE,
                reason=str(error),
                workload=name or name_of(work),
                claim=claimed,
                interpreter=Interpreter.current(),
                threads=how.threads,
            )
        finally:
            self._clock(None)
        self._on_record(record("scaling", result.workload, result, {"text": str(claimed), **vars(claimed)}, result.figures()))
        self._on_result(result)
        return result

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
        from .scaling.check import DEFAULT_TIMEOUT
        from .scaling.curve import curve

        _callable(work, "argument")
        values = {"budget": budget, "timeout": timeout}
        sources = {}
        for key in values:
            values[key], sources[key] = self._settings.value(key, values[key])

        def progress(label: str) -> None:
            self._clock(values["timeout"] or DEFAULT_TIMEOUT)
            self._progress(label)

        try:
            with turn(PATIENCE, lambda: self._progress("waiting for another timing check on this machine")):
                result = curve(work, workers=threads, modes=modes, name=name, progress=progress, sources=sources, **values)
        finally:
            self._clock(None)
        self._on_result(result)
        return result


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
