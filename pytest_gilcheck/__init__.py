"""Concurrency regression testing for pytest: the public names, and nothing else.

They load when they are first used: the pytest plugin lives in this package, and a run that uses no check must not pay for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .core.own_builtins import give_own_names

give_own_names(__name__)  # before any other module of this package is imported

if TYPE_CHECKING:
    from .calls import Gilcheck
    from .core.errors import BadValue
    from .core.gil_watch import GilReenabledWarning
    from .core.interpreter import Interpreter
    from .core.team import TeamHung
    from .core.verdict import ClaimViolated, Inconclusive, Verdict
    from .core.version import __version__ as __version__
    from .engine.bytecode.shared import shared
    from .fuzz.replay import ReplayDiverged
    from .fuzz.result import FuzzResult, Kind
    from .injection.result import InjectionResult
    from .interrupt.result import InterruptResult
    from .interrupt.trial import SignalOutcome
    from .latency.result import LatencyResult
    from .linear.assigned import linearizable
    from .linear.bundles import Earlier
    from .linear.machine import ConcurrentMachine, role
    from .linear.result import LinearizableResult
    from .scaling.curve import CurveResult
    from .scaling.diagnosis import Cause
    from .scaling.result import ScalingResult

    gilcheck: Gilcheck

__all__ = [
    "BadValue",
    "Cause",
    "ClaimViolated",
    "ConcurrentMachine",
    "CurveResult",
    "Earlier",
    "FuzzResult",
    "GilReenabledWarning",
    "Gilcheck",
    "Inconclusive",
    "InjectionResult",
    "Interpreter",
    "InterruptResult",
    "Kind",
    "LatencyResult",
    "LinearizableResult",
    "ReplayDiverged",
    "ScalingResult",
    "SignalOutcome",
    "TeamHung",
    "Verdict",
    "gilcheck",
    "linearizable",
    "role",
    "shared",
]

_HOMES = {
    "BadValue": "core.errors",
    "Cause": "scaling.diagnosis",
    "ClaimViolated": "core.verdict",
    "ConcurrentMachine": "linear.machine",
    "CurveResult": "scaling.curve",
    "Earlier": "linear.bundles",
    "FuzzResult": "fuzz.result",
    "GilReenabledWarning": "core.gil_watch",
    "Gilcheck": "calls",
    "Inconclusive": "core.verdict",
    "InjectionResult": "injection.result",
    "Interpreter": "core.interpreter",
    "InterruptResult": "interrupt.result",
    "Kind": "fuzz.result",
    "LatencyResult": "latency.result",
    "LinearizableResult": "linear.result",
    "ReplayDiverged": "fuzz.replay",
    "ScalingResult": "scaling.result",
    "SignalOutcome": "interrupt.trial",
    "TeamHung": "core.team",
    "Verdict": "core.verdict",
    "__version__": "core.version",
    "linearizable": "linear.assigned",
    "role": "linear.machine",
    "shared": "engine.bytecode.shared",
}


def __getattr__(name: str) -> Any:
    if name == "gilcheck":
        value = import_module(".calls", __name__).Imported()
    elif name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
