"""The workload without any signal: how long it takes, and whether a signal can be sent to it at all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..core import reaper
from ..core.errors import EndedByItself
from ..core.exit_status import describe_exit, is_crash, not_of_the_workload
from . import process_snapshot
from .imports import Imports
from .starting import Starter
from .survivors import adoption, kill_adopted
from .target_log import TargetLog
from .trial import SignalOutcome


@dataclass(frozen=True)
class DryRun:
    """What happened without a signal.

    Attributes:
        seconds: duration of the workload; None if it was still running after the time it was given, or did not end by itself.
        error: what it raised; None if nothing.
        imports: names of the modules that it imported.
        outcome, detail: crashed or ended, and how; stacks follow in further lines.
    """

    seconds: float | None
    error: BaseException | None = None
    outcome: SignalOutcome | None = None
    detail: str = ""
    imports: tuple[str, ...] = ()


def dry_run(starter: Starter, seconds: float, limit: float) -> DryRun:
    """Run the workload without a signal.

    Args:
        seconds: how long to watch it; the moments of the signals will be spread over the same time.
        limit: seconds that its setup may take.
    """
    reaper.start()  # before the adoption: the reaper loses its parent, and must not become our child
    with adoption():
        process = starter.start(Imports())
        log = TargetLog(process)
        try:
            run = _watch(log, seconds, limit, starter.setup is not None)
        finally:
            stacks = process.end()
            kill_adopted(process.pid)
    run = replace(run, imports=tuple(dict.fromkeys(note[1] for note in log.others if note[0] == "imports")))
    return run if run.outcome is None or not stacks else replace(run, detail=f"{run.detail}\n{stacks}")


def _watch(log: TargetLog, seconds: float, limit: float, has_setup: bool) -> DryRun:
    if not log.wait(limit, lambda log: log.began or log.left) and not log.gone:
        detail = f"the setup did not end within {limit:g} s; make it shorter, or raise timeout"
        return DryRun(None, outcome=SignalOutcome.MISSED, detail=detail)
    log.wait(seconds, lambda log: log.left or log.gone)
    if log.left is not None:
        return DryRun((log.left[0] - (log.began or log.left[0])) / 1e9, error=log.error)
    if not log.gone:
        if process_snapshot.stopped(log.process.pid):
            return DryRun(None, outcome=SignalOutcome.UNREPORTED, detail=f"the process {process_snapshot.WAS_STOPPED}")
        return DryRun(None)
    status = log.process.status
    if why := not_of_the_workload(status):
        return DryRun(None, outcome=SignalOutcome.UNREPORTED, detail=f"the process {why}")
    if log.began is None and has_setup:
        return DryRun(None, error=EndedByItself(f"the setup ended its process, which {describe_exit(status)}"))
    if is_crash(status):
        return DryRun(None, outcome=SignalOutcome.CRASHED, detail=f"the process {describe_exit(status)}")
    by_itself = " by itself (os._exit?)" if status is not None and status >= 0 else ""
    return DryRun(None, outcome=SignalOutcome.ENDED, detail=f"the process {describe_exit(status)}{by_itself}")
