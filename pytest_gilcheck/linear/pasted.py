"""A program that fails as a test of its own, to be pasted into a file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

from .bundles import Earlier
from .operations import DrawnProgram, InLane, value_text
from .subject import Subject

_LANES = {0: "before"}


def test_of(subject: Subject, drawn: DrawnProgram, token: str) -> str:
    """The test of one program, with its shortest schedule; with real threads if there is no token."""
    make, module = getattr(subject.make, "__qualname__", subject.name), getattr(subject.make, "__module__", "")
    notes = []
    if "<" in make:
        make, module = "make_object", ""
        notes.append("    # make_object: the function that makes the object in the test that failed")
    named = {(module, make.partition(".")[0]), *_names(drawn)}
    imports = [f"from {where} import {what}" for where, what in sorted(named) if where not in ("", "__main__", "builtins")]
    imports += ["", ""] if imports else []
    name = "".join(each.lower() if each.isalnum() else "_" for each in subject.constructor).strip("_") or "class"
    threads = f"threads={subject.threads}, " if subject.threads != 2 else ""
    own = [kind for kind in subject.kinds if kind.by_user]
    if own:
        notes.append(f"    # ops: as in the test that failed, for {', '.join(kind.name for kind in own)}")
    rows = [f"            {_row(step, drawn)}," for step in sorted(drawn.steps, key=lambda step: step.lane)]
    more = [
        f"{argument}={value!r}, " for argument, value, default in (
            ("order", subject.rule, "linearizable"), ("waiting", subject.waiting, "strict"),
        ) if value != default
    ]  # fmt: skip
    arguments = f"{_values(drawn)}{threads}{''.join(more)}{f'replay={token!r}' if token else 'stress=True'}"
    return "\n".join(
        [*imports, f"def test_{name}(gilcheck):", *notes, "    gilcheck.linearizable(", f"        {make}, {arguments},",
         "        program=[", *rows, "        ],", "    ).assert_holds()"]
    )  # fmt: skip


def _names(drawn: DrawnProgram) -> Iterator[tuple[str, str]]:
    """The functions and classes among the arguments, by module and name."""
    operations = [step.operation for step in drawn.steps]
    arguments = [value for each in operations for value in (*each.arguments, *dict(each.named).values())]
    for value in (*drawn.init, *arguments):
        if type(value) is Earlier:
            yield "pytest_gilcheck", "Earlier"
        elif isinstance(value, (type, FunctionType)) and "<" not in value.__qualname__:
            yield value.__module__, value.__qualname__.partition(".")[0]


def _values(drawn: DrawnProgram) -> str:
    return f"init=[{', '.join(f'[{value_text(each)}]' for each in drawn.init)}], " if drawn.init else ""


def _row(step: InLane, drawn: DrawnProgram) -> str:
    lane = "after" if step.lane == drawn.after else _LANES.get(step.lane, step.lane)
    values = [repr(lane), repr(step.operation.kind.name), *map(_written, step.operation.arguments)]
    named = ", ".join(f"{name!r}: {_written(value)}" for name, value in step.operation.named)
    return f"({', '.join([*values, *([f'{{{named}}}'] if named else [])])})"


def _written(value: Any) -> str:
    return value.written() if type(value) is Earlier else value_text(value)
