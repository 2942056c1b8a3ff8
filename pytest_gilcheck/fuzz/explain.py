"""The story of a failing run: its steps in columns, what each one read or wrote, and the pair of accesses that decides.

Values are looked up by the source text of a step: ``self.items[key]`` names what is touched. Only what cannot run code of the
user's is
evaluated: names, attributes that instances keep, subscripts of plain containers. A value written is read back when the next step of
any thread comes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ..core.source import code_position, innermost, line_text, position_text
from .engine import Run, Waiting
from .explorer import Explorer, Failure
from .minimise import observed
from .schedule import Choice, Schedule
from .task import Task
from .visible import Access

_WIDTH = 46
_MOST_ROWS = 44
_AROUND = 4  # rows shown before and after a switch, if there are too many
_NOTHING = object()
_PLAIN = (int, float, complex, bool, str, bytes, type(None))
Location = tuple[int, str]  # id of an object, and the name in it


@dataclass
class Step:
    """One step of the run.

    Attributes:
        point, thread, access, file, line, function: which, whose and where.
        what: its source text.
        where: the object it touches, and under which name; None if that cannot be told.
        value: what it read or wrote, in words; empty if that cannot be told.
    """

    point: int
    thread: int
    access: Access
    file: str
    line: int
    function: str
    what: str = ""
    where: Location | None = None
    value: str = ""
    keeps: Any = field(default=None, repr=False)  # so that ids stay what they are

    @property
    def source(self) -> str:
        return line_text(self.file, self.line)

    @property
    def deed(self) -> str:
        """``"read c.v = 0"``."""
        if self.access.kind == "call":
            return ""
        if self.access.name == "a lock":
            return "acquires a lock"
        words = f"{'reads' if self.access.kind == 'read' else 'writes'} {self.what or self.access.name}"
        return f"{words} = {self.value}" if self.value else words

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"

    def conflicts(self, other: Step) -> bool:
        return (
            self.thread != other.thread
            and self.where is not None
            and self.where == other.where
            and "write" in (self.access.kind, other.access.kind)
        )


class _Recorder:
    """Observes a run."""

    def __init__(self, takes_part: Callable[[str], bool]) -> None:
        self._takes_part = takes_part
        self.steps: list[Step] = []
        self._unread: tuple[Step, Any] | None = None

    def __call__(self, task: Task, point: int, access: Access, frame: FrameType) -> None:
        self.settle()
        at = innermost(frame, self._takes_part) or frame  # of a lock, in the standard library
        step = Step(point, task.index, access, at.f_code.co_filename, at.f_lineno or 0, at.f_code.co_qualname)
        self.steps.append(step)
        if access.kind != "call" and at is frame:
            self._look(step, frame)

    def settle(self) -> None:
        """Read back what the last step wrote."""
        if self._unread is None:
            return
        step, holder = self._unread
        self._unread = None
        step.value = shown(_part(holder, step.where[1] if step.where else ""))

    def _look(self, step: Step, frame: FrameType) -> None:
        node = _expression(frame)
        if node is None:
            return
        if isinstance(node, ast.AugAssign):
            node = node.target
        if isinstance(node, ast.Assign):
            node = node.targets[0]
        step.what = ast.unparse(node)[:60] if isinstance(node, ast.expr) else ""
        holder: Any = _NOTHING
        if isinstance(node, ast.Attribute) and step.access.name == f".{node.attr}":
            holder, name = _evaluated(node.value, frame), f".{node.attr}"
        elif isinstance(node, ast.Subscript) and step.access.name == "[]":
            holder, key = _evaluated(node.value, frame), _evaluated(node.slice, frame)
            name = f"[{key!r}]" if isinstance(key, _PLAIN) else "[?]"
        elif isinstance(node, ast.Name) and step.access.name.startswith("global "):
            holder, name = frame.f_globals, f"[{node.id!r}]"
        if holder is _NOTHING:
            return
        step.where, step.keeps = (id(holder), name), holder
        if step.access.kind == "write":
            self._unread = step, holder
        else:
            step.value = shown(_part(holder, name))


def _expression(frame: FrameType) -> ast.AST | None:
    """The source of what the frame executes now."""
    text = position_text(frame.f_code.co_filename, code_position(frame.f_code, frame.f_lasti))
    for mode in ("eval", "exec"):
        try:
            tree = ast.parse(text.strip(), mode=mode)
        except (SyntaxError, ValueError):
            continue
        if isinstance(tree, ast.Expression):
            return tree.body
        if isinstance(tree, ast.Module) and len(tree.body) == 1:
            return tree.body[0]
    return None


def _evaluated(node: ast.expr, frame: FrameType) -> Any:
    """The value of a name, of attributes of one, or of subscripts; `_NOTHING` if code would have to run."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        names = frame.f_locals
        return names[node.id] if node.id in names else frame.f_globals.get(node.id, _NOTHING)
    if isinstance(node, ast.Attribute):
        holder = _evaluated(node.value, frame)
        return _NOTHING if holder is _NOTHING else _part(holder, f".{node.attr}")
    if isinstance(node, ast.Subscript):
        holder, key = _evaluated(node.value, frame), _evaluated(node.slice, frame)
        if type(holder) in (list, dict, tuple) and isinstance(key, _PLAIN):
            try:
                return holder[key]
            except (LookupError, TypeError):
                return _NOTHING
    return _NOTHING


def _part(holder: Any, name: str) -> Any:
    """An attribute that the instance keeps, or an item of a plain container."""
    try:
        if name.startswith("."):
            kept = object.__getattribute__(holder, "__dict__") if hasattr(type(holder), "__dict__") else {}
            if isinstance(holder, type) or type(kept) is not dict or name[1:] not in kept:
                descriptor: Any = next(
                    (base.__dict__[name[1:]] for base in type(holder).__mro__ if name[1:] in base.__dict__), None
                )
                return descriptor.__get__(holder) if type(descriptor).__name__ == "member_descriptor" else _NOTHING
            return kept[name[1:]]
        return holder[ast.literal_eval(name[1:-1])] if isinstance(holder, (list, dict, tuple)) else _NOTHING
    except (AttributeError, LookupError, TypeError, ValueError, SyntaxError):
        return _NOTHING


def shown(value: Any) -> str:
    """A short text of a plain value; the type's name of any other, whose ``__repr__`` may be anything."""
    if value is _NOTHING:
        return ""
    if isinstance(value, _PLAIN):
        text = repr(value)
    elif type(value) is dict and len(value) <= 6:
        text = "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    elif type(value) in (list, tuple, set) and len(value) <= 6:
        brackets = "[]" if type(value) is list else "()" if type(value) is tuple else "{}"
        text = brackets[0] + ", ".join(shown(each) for each in value) + brackets[1]
    else:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 40 else f"{text[:37]}..."


@dataclass
class Line:
    """One line of source that a thread went through without a switch, and what it read and wrote."""

    thread: int
    point: int
    source: str
    deeds: list[str]
    file: str
    line: int

    def __str__(self) -> str:
        return "; ".join([f"{self.source}  # {self.deeds[0]}", *self.deeds[1:]]) if self.deeds else self.source

    def figures(self) -> dict[str, Any]:
        return {
            "thread": self.thread,
            "index": self.point,
            "source": self.source,
            "note": "; ".join(self.deeds),
            "file": self.file,
            "line": self.line,
        }


@dataclass
class Switch:
    """Another thread goes on: ``before`` was preempted, or ended or waits."""

    before: int
    after: int
    why: str

    def __str__(self) -> str:
        return f"-- T{self.before} {self.why}: T{self.after} goes on --"

    def figures(self) -> dict[str, Any]:
        return {"switch": [self.before, self.after], "why": self.why}


@dataclass(frozen=True)
class Story:
    """The minimal failing run: as text, and its rows for who draws them."""

    text: str
    rows: tuple[Line | Switch, ...]


def told(explorer: Explorer, failure: Failure) -> tuple[Story, Failure]:
    """The story of the failure, and the failure as it happened again for that."""
    steps, run, again = _watched(explorer, failure.schedule)
    again = again or failure
    lines = []
    if run.stuck:
        lines += _table(run.waiting)
    rows = _rows(steps, run)
    lines += _columns(rows, max([len(explorer.program.threads), *(step.thread + 1 for step in steps)]))
    if (pair := _deciding(explorer, failure, steps)) is not None:
        first, second = pair
        lines.append(f"  decided by  T{first.thread} {first.deed or first.source} at {first.place}")
        lines.append(
            f"       before T{second.thread} {second.deed or second.source} at {second.place}; the other way round nothing breaks"
        )
    return Story("\n".join(lines), tuple(rows)), again


def _watched(explorer: Explorer, schedule: Schedule) -> tuple[list[Step], Run, Failure | None]:
    recorder = _Recorder(explorer.engine.takes_part)
    with observed(explorer.engine, recorder):
        run, failure = explorer.follow(schedule)
    recorder.settle()
    return recorder.steps, run, failure


def _table(waiting: tuple[Waiting, ...]) -> list[str]:
    """Who waits for what, who has it, where that was taken and made."""
    lines = []
    for entry in waiting:
        held = f", held by {entry.holder}" if entry.holder else ""
        lines.append(f"  {entry.thread} waits for {entry.wants}{held}")
        lines.append(f"      at    {entry.at}")
        if entry.taken:
            lines.append(f"      taken {entry.taken}")
        if entry.made:
            lines.append(f"      made  {entry.made}")
    return lines


def _rows(steps: list[Step], run: Run) -> list[Line | Switch]:
    """The steps of one line of source together, and the switches between them."""
    rows: list[Line | Switch] = []
    owners = {step.point: step.thread for step in steps}
    last: Step | None = None
    for step in steps:
        if last is not None and step.thread != last.thread:
            stopped = any(
                not choice.forced and choice.thread == step.thread and owners.get(choice.point, last.thread) == last.thread
                for choice in run.schedule.choices
                if last.point < choice.point <= max(step.point, last.point + 1)
            )
            rows.append(Switch(last.thread, step.thread, "is preempted" if stopped else "ends or waits"))
        before = rows[-1] if rows else None
        deeds = [step.deed] if step.deed else []
        if isinstance(before, Line) and (before.file, before.line) == (step.file, step.line):
            before.deeds += deeds
        else:
            rows.append(Line(step.thread, step.point, step.source, deeds, step.file, step.line))
        last = step
    return rows


def _columns(rows: list[Line | Switch], columns: int) -> list[str]:
    """The rows as text, each line in its thread's column; of too many, those around switches."""
    shown: list[Line | Switch | None] = list(rows)  # None: some were left out
    if len(rows) > _MOST_ROWS:
        switches = [index for index, row in enumerate(rows) if isinstance(row, Switch)]
        keep = {near for index in switches for near in range(index - _AROUND, index + _AROUND + 1)}
        shown = [row if index in keep else None for index, row in enumerate(rows)]
        shown = [row for index, row in enumerate(shown) if row is not None or index == 0 or shown[index - 1] is not None]
    heads = "".join(f"T{index}".ljust(_WIDTH if columns > 1 else 0) for index in range(columns)).rstrip()
    lines = [f"     {heads}"]
    for row in shown:
        if isinstance(row, Line):
            lines.append(f"{row.point:>4} {' ' * (_WIDTH * row.thread)}{row}")
        else:
            lines.append(f"     {row or '...'}")
    return lines


def _deciding(explorer: Explorer, failure: Failure, steps: list[Step]) -> tuple[Step, Step] | None:
    """The pair of accesses whose order makes the difference between this run and its nearest neighbour that breaks nothing."""
    choices = failure.schedule.choices
    preemptions = [index for index, choice in enumerate(choices) if not choice.forced]
    for position in reversed(preemptions):
        for offset in (1, -1, 2, -2, 3, -3):
            point = choices[position].point + offset
            if point < 1:
                continue
            neighbour = Schedule((*choices[:position], Choice(point, choices[position].thread), *choices[position + 1 :]))
            other, _, broken = _watched(explorer, neighbour)
            if broken is None and (pair := _flipped(steps, other)) is not None:
                return pair
        other, _, broken = _watched(explorer, Schedule((*choices[:position], *choices[position + 1 :])))
        if broken is None and (pair := _flipped(steps, other)) is not None:
            return pair
    return None


def _flipped(failing: list[Step], passing: list[Step]) -> tuple[Step, Step] | None:
    """The first conflicting pair that comes in the other order in the run that passes.

    A step is known again by its thread, its place, its access and how many like it the thread made before: states are made anew
    for each run, so objects are not the same.
    """
    order = {name: index for index, name in enumerate(_named(passing))}
    names = _named(failing)
    pairs = [
        (later - earlier, earlier, later)
        for later in range(len(failing))
        for earlier in range(max(0, later - 200), later)
        if failing[earlier].conflicts(failing[later])
        and names[earlier] in order
        and names[later] in order
        and order[names[earlier]] > order[names[later]]
    ]
    if not pairs:
        return None
    _, earlier, later = min(pairs)
    return failing[earlier], failing[later]


def _named(steps: list[Step]) -> list[tuple[Any, ...]]:
    counts: dict[tuple[Any, ...], int] = {}
    names = []
    for step in steps:
        name = (step.thread, step.file, step.line, step.access.kind, step.access.name)
        counts[name] = counts.get(name, 0) + 1
        names.append((*name, counts[name]))
    return names
