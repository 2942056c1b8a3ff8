"""The one way in which every check runs: settings, plan, machine lock, check, record."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from .checks import Check
from .core import arguments
from .core.arguments import Argument, Arguments
from .core.errors import BadValue
from .core.evidence import Record, record
from .core.fork_safety import can_fork
from .core.interpreter import build, watcher
from .core.machine_lock import MachineLockTimeout, machine_lock
from .core.prepared import Prepared, Progress
from .core.signatures import is_of_kind, needed_argument
from .core.system import HAS_FORK
from .core.tracebacks import without_ours
from .core.verdict import Inconclusive, Judged, Verdict
from .settings import Settings

LOCK_TIMEOUT = 600.0  # seconds to wait for other timing checks on this machine
DISABLED = "not run: --gilcheck-disable"


class Runner:
    """Runs checks and records them.

    Args:
        settings: the settings of the run.
        on_record: called with the evidence record of each check.
        on_result: called with each result, its record, and whether somebody must judge it.
        set_deadline: called with the seconds until the next progress report is due; with None when the check is over.
        progress: called with the name of each phase before it begins.
        during: makes a context for the time of each check, called with its name.
        stays: why a program that may kill its process has to run in this one all the same; None if only the settings, threads and
            tools of this process decide.
        output: captures what the runs of a program print, see `engine.program.RunOutput`; None if nothing does.
    """

    def __init__(
        self,
        settings: Settings,
        on_record: Callable[[Record], None],
        on_result: Callable[[Any, Record, bool], None],
        set_deadline: Callable[[float | None], None],
        progress: Progress,
        during: Callable[[str], AbstractContextManager[object]] = nullcontext,
        stays: Callable[[], str | None] = lambda: None,
        output: Any = None,
    ) -> None:
        self.settings, self.output = settings, output
        self.during = during
        self._stays = stays
        self._on_record, self._on_result = on_record, on_result
        self._set_deadline, self._progress = set_deadline, progress

    def run(
        self,
        check: Check,
        work: Any,
        given: Mapping[str, Any],
        source: str = "argument",
        name: str | None = None,
        known: tuple[Argument, ...] | None = None,
        judged: str | None = "caller",
        **context: Any,
    ) -> Any:
        """Run one check from unchecked arguments to its record.

        Args:
            check: the check's entry.
            work: the workload: a callable, or what the check's ``prepare`` takes.
            given: unchecked arguments by name.
            source: where they came from, in words.
            name: what to call the workload in reports.
            known: the arguments that may be given; those of the call by default.
            judged: how the result is judged, for its record; None if the test must do it.
            context: for the check's ``prepare``.

        Returns:
            The check's result, a `Judged`.

        Raises:
            BadValue: an argument that cannot be used.
            BaseException: what the workload raised by itself; see the check.
        """
        __tracebackhide__ = True
        try:
            return self._run(check, work, given, source, name, known, judged, **context)
        except Exception as error:
            error.__traceback__ = without_ours(error)
            raise

    def _run(
        self,
        check: Check,
        work: Any,
        given: Mapping[str, Any],
        source: str,
        name: str | None,
        known: tuple[Argument, ...] | None,
        judged: str | None,
        **context: Any,
    ) -> Any:
        with self.during(check.name):
            build_before = build()
            given_values = self.read(check.of_calls() if known is None else known, given, source)
            if not check.searches and not check.makes:
                refuse_workload(work, source)
            prepared = check.prepare(work, name, given_values, **context)
            with self._errors_named(given_values):
                result = self._measured(check, prepared)
            self._record(check.name, result, result, prepared.claim, prepared.parameters, build_before, judged)
            if (failure := getattr(result, "failure", None)) is not None:
                raise failure
        return result

    def measure(
        self,
        name: str,
        work: Any,
        given: Arguments,
        measure: Callable[[Progress], Any],
        *,
        parameters: Mapping[str, Any],
        longest_phase: float,
    ) -> Any:
        """Run a measurement, which has no claim and so no verdict, under the machine lock, and record it.

        Args:
            name: of the measurement, in evidence.
            work: what is measured.
            given: checked arguments, for the sources of errors.
            measure: called with a function that takes the name of each phase before it begins.
            parameters: how it is measured, for evidence.
            longest_phase: seconds that a phase may take.

        Raises:
            Inconclusive: checks are disabled.
            MachineLockTimeout: another check held the machine for too long.
            BadValue: an argument that cannot be used.
        """
        __tracebackhide__ = True
        with self.during(name):
            build_before = build()
            refuse_workload(work, given.source)
            if self.settings.value("disable")[0]:
                raise Inconclusive(DISABLED)
            with self._errors_named(given), self._alone():
                result = measure(self._phases(longest_phase))
            self._record(name, result, None, {}, parameters, build_before, "nothing to judge")
        return result

    def read(self, known: tuple[Argument, ...], given: Mapping[str, Any], source: str) -> Arguments:
        """Check the given arguments, with the settings of the run below them and its factor for times."""
        return arguments.read(known, given, source, self.settings.value, self.settings.scale)

    def _measured(self, check: Check, prepared: Prepared[Any]) -> Any:
        __tracebackhide__ = True
        if self.settings.value("disable")[0]:
            prepared.plainly()
            return prepared.undecided(DISABLED)
        try:
            with self._alone() if check.exclusive else nullcontext():
                return _watched(prepared.run(self._phases(prepared.longest_phase)))
        except MachineLockTimeout as error:
            return prepared.undecided(str(error))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        __tracebackhide__ = True
        with machine_lock(LOCK_TIMEOUT, lambda pid: self._progress(f"waiting for another check on this machine (pid {pid})")):
            yield

    def stays(self) -> str | None:
        """Why a program that may kill its process has to run in this one; None if it may run in a fork."""
        if (why := self._stays()) is not None:
            return why
        mode = self.settings.value("isolate")[0] or "auto"
        if mode == "none":
            return "isolate=none"
        if (watched := watcher()) is not None:
            return f"{watched} traces this process"
        return can_fork() if mode == "auto" or not HAS_FORK else None

    def _phases(self, longest: float) -> Progress:
        def phase(label: str) -> None:
            self._set_deadline(longest)
            self._progress(label)

        return phase

    @contextmanager
    def _errors_named(self, given: Arguments) -> Iterator[None]:
        """Give an error that only the running check could find, such as too many cores, the source of its argument."""
        __tracebackhide__ = True
        try:
            yield
        except BadValue as error:
            raise BadValue(error.name, error.value, error.expected, given.source_of(error.name)) from error
        finally:
            self._set_deadline(None)

    def _record(
        self,
        check: str,
        result: Any,
        verdict: Judged | None,
        claim: Mapping[str, Any],
        parameters: object,
        build_before: str,
        judged: str | None,
    ) -> None:
        entry = record(
            check,
            result.workload,
            verdict,
            claim,
            result.figures(),
            parameters=parameters,
            details=result.details() | {"text": str(result)},
            gil_before=build_before,
            judged=judged or "nobody",  # until the test does
        )
        self._on_record(entry)
        self._on_result(result, entry, judged is None)


def _watched(result: Judged) -> Judged:
    """An inconclusive result that came about under a tracer names it: it may be the cause, whatever else the reason is."""
    seen = watcher()
    if result.conclusion is not Verdict.INCONCLUSIVE or seen is None or result.distorted:
        return result
    return replace(result, reason=f"{result.reason}; {seen} was active, which may be why: run the check without it")


def refuse_workload(work: object, source: str) -> None:
    """Check that a workload can be called and does something when it is called.

    Raises:
        BadValue: it cannot, or needs an argument, or it is a generator function.
    """
    generates = is_of_kind(work, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if not callable(work) or generates:
        raise BadValue("work", work, "a callable or coroutine function without arguments, and no generator", source)
    refuse_arguments(work, "work", work, source)


def refuse_arguments(function: Callable[..., object], name: str, value: object, source: str) -> None:
    """Check that a function can be called without arguments, as far as its signature says.

    Args:
        name, value: of what the user gave for it.

    Raises:
        BadValue: it needs one; the message names it.
    """
    if needed := needed_argument(function):
        raise BadValue(name, value, f"a function without arguments; this one needs {needed!r}: write one that calls it", source)
