"""A program that fails as a test of its own, to be pasted into a file of tests."""

from __future__ import annotations

from .operations import DrawnProgram, InLane
from .subject import Subject

_LANES = {0: "before"}


def test_of(subject: Subject, drawn: DrawnProgram, token: str) -> str:
    """The test of one program, with its shortest schedule."""
    make, module = getattr(subject.make, "__qualname__", subject.name), getattr(subject.make, "__module__", "")
    notes = []
    if "<" in make:
        make, module = "make_object", ""
        notes.append("    # make_object: the function that makes the object in the test that failed")
    imports = [] if module in ("", "__main__", "builtins") else [f"from {module} import {make.partition('.')[0]}", "", ""]
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
    arguments = f"{_values(drawn)}{threads}{''.join(more)}replay={token!r}"
    return "\n".join(
        [*imports, f"def test_{name}(gilcheck):", *notes, "    gilcheck.linearizable(", f"        {make}, {arguments},",
         "        program=[", *rows, "        ],", "    ).assert_holds()"]
    )  # fmt: skip


def _values(drawn: DrawnProgram) -> str:
    return f"init=[{', '.join(f'[{each!r}]' for each in drawn.init)}], " if drawn.init else ""


def _row(step: InLane, drawn: DrawnProgram) -> str:
    lane = "after" if step.lane == drawn.after else _LANES.get(step.lane, step.lane)
    values = [repr(lane), repr(step.operation.kind.name), *map(repr, step.operation.arguments)]
    return f"({', '.join([*values, *([repr(dict(step.operation.named))] if step.operation.named else [])])})"
