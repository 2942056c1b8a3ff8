"""Probes interpreters: runs all experiments on each of them, and collects the figures and the reasons for missing ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..core.cores import affinity
from ..core.machine_lock import MachineLockTimeout, machine_lock
from ..core.neighbours import busiest
from . import session
from .measuring import EXPERIMENTS, THOROUGH, Effort, ExperimentContext
from .result import Figure, NotProbed, ProbedInterpreter
from .rows import FACTS, GROUPS

_LOCK_TIMEOUT = 600.0  # seconds to wait for other timing checks on this machine
_TEXTS = ("implementation", "version", "full", "platform")
_NUMBERS = ("cores", "switch_interval", "check_interval")
_FLAGS = ("gil", "free_threaded_build", "jit")


def probe(
    interpreters: Sequence[str],
    *,
    effort: Effort = THOROUGH,
    answer_timeout: float = session.ANSWER_TIMEOUT,
    progress: Callable[[str], None] = lambda label: None,
) -> tuple[list[ProbedInterpreter], list[NotProbed], list[str]]:
    """Probe one interpreter after the other.

    Args:
        interpreters: paths or names, each optionally followed by arguments for it.
        effort: how much each experiment measures.
        answer_timeout: seconds that an interpreter may take for an answer.
        progress: called with the name of each experiment before it starts.

    Returns:
        The probed interpreters in the order given, those that could not be probed, and notes about disturbed figures.
    """
    probed: list[ProbedInterpreter] = []
    refused: list[NotProbed] = []
    notes: list[str] = []
    for given in interpreters:
        progress(f"{given}: starting")
        try:
            context = ExperimentContext(session.command(given), effort, answer_timeout)
            facts = _facts(context)
            context = replace(context, warm=effort.warm if facts["jit"] else 0.0)
        except session.ExperimentFailed as error:
            refused.append(NotProbed(given, str(error)))
            continue
        figures = _fact_figures(facts)
        interpreter = ProbedInterpreter(given, facts, figures)
        busy: list[list[str]] = []
        for at, (name, experiment) in enumerate(EXPERIMENTS.items(), 1):
            label = f"{interpreter.label}: {name} ({at} of {len(EXPERIMENTS)})"
            progress(label)
            rows = next(group for group in GROUPS if group.name == name).rows
            try:
                with machine_lock(_LOCK_TIMEOUT, partial(_waiting, progress, label)):
                    busy.append([other.name for other in busiest()])
                    figures.update(experiment(context))
            except (session.ExperimentFailed, MachineLockTimeout) as error:
                figures.update({row.name: Figure.missing(str(error)) for row in rows})
        if any(busy):
            names = ", ".join(sorted({name for others in busy for name in others}))
            disturbed = f"{sum(map(bool, busy))} of {len(busy)} experiments"
            notes.append(f"{interpreter.label}: other processes used the cores before {disturbed} ({names})")
        probed.append(interpreter)
    if probed and affinity() < 3:
        notes.append("the pings beside two busy threads come from a process that has no core of its own here")
    return probed, refused, notes


def _facts(context: ExperimentContext) -> dict[str, Any]:
    with context.start() as interpreter:
        facts = interpreter.request("facts")
    if not all(isinstance(facts.get(name), str) for name in _TEXTS):
        raise session.InterpreterGone("it did not report its implementation and version")
    facts |= {name: session.printable(facts[name]) for name in _TEXTS}
    facts |= {name: _number(facts.get(name)) for name in _NUMBERS}
    facts |= {name: facts.get(name) if isinstance(facts.get(name), bool) else None for name in _FLAGS}
    return facts


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _fact_figures(facts: Mapping[str, Any]) -> dict[str, Figure]:
    gil = {True: "yes", False: "no"}.get(facts["gil"], "not reported")
    if facts["switch_interval"] is not None:
        interval = f"{facts['switch_interval'] * 1e3:g} ms"
    elif facts["check_interval"] is not None:
        interval = f"{facts['check_interval']} ticks"
    else:
        interval = "none"
    if facts["gil"] is False and interval != "none":
        interval += ", without effect"
    if facts["free_threaded_build"]:
        gil = f"{gil} (free-threaded build)"
    texts = (facts["full"], gil, str(facts["cores"] or "not reported"), facts["platform"], interval)
    return {row.name: Figure.of_text(text) for row, text in zip(FACTS.rows, texts, strict=True)}


def _waiting(progress: Callable[[str], None], label: str, pid: int) -> None:
    progress(f"{label}: waiting for another check on this machine (pid {pid})")
