"""Probe interpreters: all experiments over each of them, and whatever becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..core.cores import affinity
from ..core.machine_lock import MachineLockTimeout, machine_lock
from ..core.neighbours import busiest
from . import session
from .measuring import EXPERIMENTS, THOROUGH, Bench, Effort
from .result import Column, Figure, Refused
from .rows import FACTS, GROUPS

_LOCK_TIMEOUT = 600.0  # seconds to wait for other timing checks on this machine
_TEXTS = ("implementation", "version", "full", "platform")
_NUMBERS = ("cores", "switch_interval", "check_interval")
_FLAGS = ("gil", "free_threaded_build", "jit")


def probe(
    interpreters: Sequence[str],
    *,
    effort: Effort = THOROUGH,
    patience: float = session.PATIENCE,
    progress: Callable[[str], None] = lambda label: None,
) -> tuple[list[Column], list[Refused], list[str]]:
    """Probe one interpreter after the other.

    Args:
        interpreters: paths or names, each with arguments for it if need be.
        effort: how much of everything.
        patience: seconds that an interpreter may take for an answer.
        progress: told what is going on.

    Returns:
        what was found, in their order; those that could not be probed; and doubts about the figures.
    """
    columns: list[Column] = []
    refused: list[Refused] = []
    notes: list[str] = []
    for given in interpreters:
        progress(f"{given}: starting")
        try:
            bench = Bench(session.command(given), effort, patience)
            facts = _facts(bench)
            bench = replace(bench, warm=effort.warm if facts["jit"] else 0.0)
        except session.Failed as error:
            refused.append(Refused(given, str(error)))
            continue
        figures = _told(facts)
        column = Column(given, facts, figures)
        busy: list[list[str]] = []
        for at, (name, experiment) in enumerate(EXPERIMENTS.items(), 1):
            label = f"{column.label}: {name} ({at} of {len(EXPERIMENTS)})"
            progress(label)
            rows = next(group for group in GROUPS if group.name == name).rows
            try:
                with machine_lock(_LOCK_TIMEOUT, partial(progress, f"{label}: waiting for another timing check on this machine")):
                    busy.append([other.partition(" (pid")[0] for other in busiest()])
                    figures.update(experiment(bench))
            except (session.Failed, MachineLockTimeout) as error:
                figures.update({row.name: Figure.missing(str(error)) for row in rows})
        if any(busy):
            names = ", ".join(sorted({name for others in busy for name in others}))
            notes.append(
                f"{column.label}: others used the cores before {sum(map(bool, busy))} of {len(busy)} experiments ({names})"
            )
        columns.append(column)
    if columns and affinity() < 3:
        notes.append("a ping beside two busy threads comes from a process that has no core of its own here")
    return columns, refused, notes


def _facts(bench: Bench) -> dict[str, Any]:
    with bench.guest() as guest:
        facts = guest.ask("facts")
    if not all(isinstance(facts.get(name), str) for name in _TEXTS):
        raise session.Gone("it does not say what Python it is")
    facts |= {name: session.plain(facts[name]) for name in _TEXTS}
    facts |= {name: _number(facts.get(name)) for name in _NUMBERS}
    facts |= {name: facts.get(name) if isinstance(facts.get(name), bool) else None for name in _FLAGS}
    return facts


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _told(facts: Mapping[str, Any]) -> dict[str, Figure]:
    gil = {True: "yes", False: "no"}.get(facts["gil"], "it does not say")
    if facts["switch_interval"] is not None:
        interval = f"{facts['switch_interval'] * 1e3:g} ms"
    elif facts["check_interval"] is not None:
        interval = f"{facts['check_interval']} ticks"
    else:
        interval = "none"
    if facts["gil"] is False and interval != "none":
        interval += ", to no effect"
    if facts["free_threaded_build"]:
        gil = f"{gil} (free-threaded build)"
    texts = (facts["full"], gil, str(facts["cores"] or "it does not say"), facts["platform"], interval)
    return {row.name: Figure.said(text) for row, text in zip(FACTS.rows, texts, strict=True)}
