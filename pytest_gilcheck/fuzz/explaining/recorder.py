"""Records the steps of a run: which object each step touches, and which value it reads or writes.

What a step touches is told by `effects`; the source text gives it a name for the reader. Values are read where that runs no code of
the program: attributes in an instance's ``__dict__`` or slots, items of plain containers. A value that a step writes is read at the
next step of any thread.
"""

from __future__ import annotations

import ast
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType, MemberDescriptorType
from typing import Any

from ...core.classes import dictionary_of, in_class, is_a, name_of_class
from ...core.lookup import looked_up
from ...core.origin import module_of, ours, standard
from ...core.own_builtins import PutBack
from ...core.source import code_position, file_of, innermost, line_at, line_text, position_text
from ...engine.bytecode.code_facts import instruction_at, instructions_of
from ...engine.bytecode.effects import touches_of
from ...engine.bytecode.touch import ALL, container_of
from ...engine.bytecode.visible import ACQUIRE, Access
from ...engine.running.task import Task
from ...engine.touched.objects import Objects

_NOTHING = object()
_MOST_TEXTS = 10_000  # after which all are forgotten
_EVALUATES = ("COMPARE_OP", "CONTAINS_OP", "IS_OP", "BINARY_OP", "UNARY_NEGATIVE", "UNARY_INVERT", "CALL_FUNCTION_EX")
_CALLING = ("PRECALL", "CALL")  # up to Python 3.11, a call is two instructions
_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_MAPPINGS = (dict, OrderedDict, defaultdict)
_SUBSCRIPT = 26  # the argument of BINARY_OP, from 3.14 on
_OF_ONE_PART = ("_ATTR", "_METHOD", "_SUBSCR", "_GLOBAL", "_NAME")
Location = tuple[int, str]  # the number of an object, and a name in it


@dataclass
class RecordedStep:
    """One step of a run.

    Attributes:
        point, thread, access, file, line, function: of the step.
        what: the source text of what it touches, or of the call.
        where: the object that it reads or writes, and the name in it; None if unknown.
        value: the text of the value that it reads or writes; empty if unknown.
        touched: all that it touches, as far as it is known, and whether it changes that.
        verb: what it does to that, such as ``"reads"`` or ``"tests"``; empty if its source text does not say it.
        learns: whether its thread goes on with what it has read, or with what its call has returned.
        beneath: whether its thread is in `threading` or an executor, which are not under test, and in no function of the program.
        own: 2 if it is in the function in which its thread begins, which a test has written; 1 if in the file of that; else 0.
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
    touched: dict[Location, bool] = field(default_factory=dict)
    verb: str = "reads"
    learns: bool = True
    own: int = 0
    beneath: bool = False

    @property
    def source(self) -> str:
        return line_text(self.file, self.line)

    @property
    def deed(self) -> str:
        """What the step does, such as ``"reads c.v = 0"``; empty for a call, and for the end of an object."""
        if self.access.kind in ("call", "end") or not self.verb:
            return ""
        if self.access == ACQUIRE:
            return "acquires a lock"
        if self.access.name == "[]" and not self.what:
            return ""  # nothing that has a name
        text = f"{self.verb} {self.what or self.access.name}"
        return f"{text} = {self.value}" if self.value else text

    @property
    def in_words(self) -> str:
        """What the step does: its deed, the call that it is, or its line."""
        return self.deed or (f"calls {self.what}" if self.what and self.access.kind == "call" else self.source)

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line} ({self.function})"

    def conflict(self, other: RecordedStep) -> Location | None:
        """What both steps touch and one of them, in another thread, changes: `ALL` if one touches that. None if nothing."""
        if self.thread == other.thread:
            return None
        for (holder, name), changes in self.touched.items():
            for (held, part), changed in other.touched.items():
                if holder == held and (changes or changed) and (name == part or ALL in (name, part)):
                    return holder, ALL if part == ALL else name
        return None

    def changes(self, what: Location) -> bool:
        """Whether it changes this, or all of the object; or of `ALL`, any part."""
        holder, name = what
        return any(
            changed for (held, part), changed in self.touched.items() if held == holder and (part == name or ALL in (part, name))
        )


class Recorder:
    """An observer that records every step of a run."""

    def __init__(self, takes_part: Callable[[str], bool]) -> None:
        self._takes_part = takes_part
        self.steps: list[RecordedStep] = []
        self._unread: tuple[RecordedStep, Any, Any] | None = None
        self._objects = Objects()

    def __call__(self, task: Task, point: int, access: Access, frame: FrameType) -> None:
        self.settle()
        self._objects.let_go()
        at = innermost(frame, self._takes_part) or innermost(frame, _not_ours) or frame  # a lock is taken in the standard library
        step = RecordedStep(point, task.index, access, file_of(at.f_code), line_at(at), at.f_code.co_qualname)
        self.steps.append(step)
        step.verb = _verb(access, frame)
        step.learns = _learns(access, frame)
        step.own = self._own(at)
        step.beneath = _of_threads(step.file) and not self._takes_part(step.file)
        if access.kind in ("read", "write", "call") and at is frame:
            try:
                self._look(step, frame)
            except Exception:  # of the program's own code, which an attribute may run: the step is shown without a value
                pass
            try:
                self._note_touched(step, frame)
            except Exception:
                pass
            if step.access.kind == "read" and step.access.name == "[]" and step.touched == {}:
                step.verb = ""  # it works on values that no other thread can see

    def _own(self, at: FrameType) -> int:
        first, outer = at, at.f_back
        while (outer := innermost(outer, self._takes_part)) is not None:
            first, outer = outer, outer.f_back
        return 2 if first is at else int(first.f_code.co_filename == at.f_code.co_filename)

    def settle(self) -> None:
        """Read the value that the last step wrote."""
        if self._unread is None:
            return
        step, holder, part = self._unread
        self._unread = None
        try:
            step.value = shown(_part(holder, part))
        except Exception:  # as above
            pass

    def _look(self, step: RecordedStep, frame: FrameType) -> None:
        node = _expression(frame.f_code, frame.f_lasti)
        if isinstance(node, (ast.Assert, ast.Constant)) or _is_pytests(step, frame.f_code):
            step.verb = ""
        if node is None:
            return
        if step.access.kind == "call":
            step.what = _text(node) if isinstance(node, ast.Call) else ""
            return
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                return  # the operator alone, which touches the value; the store is another step
            node = node.target
        if isinstance(node, ast.Assign):
            node = node.targets[0]
        step.what = _text(node) if isinstance(node, ast.expr) else ""

    def _note_touched(self, step: RecordedStep, frame: FrameType) -> None:
        """Note what the step touches, and of an attribute, a global or an element the value."""
        name, argument, text = instruction_at(frame.f_code, frame.f_lasti)
        found = touches_of(frame, name, argument, text, self._takes_part) or []
        for each in found:
            where = self._objects.number(each.holder), _name(each.holder, each.part)
            step.touched[where] = each.changes or step.touched.get(where, False)
        changes = step.access.kind == "write"
        one = next((each for each in found if each.changes == changes and each.part != ALL and not is_a(each.holder, type)), None)
        if one is None or not (name.endswith(_OF_ONE_PART) or (name == "BINARY_OP" and argument == _SUBSCRIPT)):
            return
        step.where = self._objects.number(one.holder), _name(one.holder, one.part)
        if changes:
            self._unread = step, one.holder, one.part
        else:
            step.value = shown(_part(one.holder, one.part))


@lru_cache(maxsize=1_000)
def _of_threads(file: str) -> bool:
    return module_of(file).startswith(("threading", "concurrent.futures")) and standard(file)


def _verb(access: Access, frame: FrameType) -> str:
    """What a step does to what its source text names, or an empty text.

    The instructions by which an exception leaves a ``with`` statement have the text of its lock, and the end of a generator that
    of the call that made it. A test of what a call has returned is no second call.
    """
    instruction = instruction_at(frame.f_code, frame.f_lasti)[0] if frame.f_lasti >= 0 else ""
    if access.kind == "write":
        if access.name == "[]" and not instruction.startswith(("STORE", "DELETE")):
            return ""
        return "deletes" if instruction.startswith("DELETE") else "writes"
    if "WITH_EXCEPT_START" in (instruction, _before(frame.f_code, frame.f_lasti)):
        return ""
    if instruction == "FOR_ITER":
        return "takes the next of"
    if instruction in _EVALUATES:
        return "evaluates"
    tests = instruction in ("TO_BOOL", "UNARY_NOT") or ("JUMP" in instruction and "_IF_" in instruction)
    return "tests" if tests else "reads"


def _learns(access: Access, frame: FrameType) -> bool:
    """Whether a step reads, or is a call whose result is not dropped at once."""
    if access.kind != "call":
        return access.kind == "read"
    return not _is_dropped(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=10_000)
def _is_dropped(code: CodeType, offset: int) -> bool:
    """Whether the result of the call at an offset is."""
    after = (each.opname for each in instructions_of(code) if each.offset > offset)
    return next((name for name in after if name not in _CALLING), "") == "POP_TOP"


def _before(code: CodeType, offset: int) -> str:
    """The name of the instruction before an offset, if it has no cache behind it, which would be between."""
    before = "EXTENDED_ARG"
    while before == "EXTENDED_ARG":
        offset -= 2
        before = instruction_at(code, offset)[0]
    return before


def _name(holder: Any, part: Any) -> str:
    """A part (`Touch.part`) as the name in a `Location`."""
    if part == ALL:
        return str(part)
    if isinstance(part, str):  # an attribute, or a name of a module
        return f"[{part!r}]" if type(holder) is dict else f".{part}"
    return f"[{part[0]!r}]" if type(part[0]) in _PLAIN else "[?]"


def _is_pytests(step: RecordedStep, code: CodeType) -> bool:
    """Whether this reads a name that pytest has put into an assertion, to explain it."""
    name = step.access.name.removeprefix(".").removeprefix("global ")
    return "@pytest_ar" in code.co_names and name != "[]" and name not in step.source


def _not_ours(file: str) -> bool:
    return not ours(file)


_texts: dict[int, tuple[ast.AST, str]] = {}  # by the ids of nodes, which it keeps


def _text(node: ast.AST) -> str:
    """The source text of a node that `_expression` keeps, or of a part of it."""
    known = looked_up(_texts, id(node))
    if known is None:
        if len(_texts) >= _MOST_TEXTS:
            _texts.clear()
        with PutBack():
            known = _texts[id(node)] = node, ast.unparse(node)[:60]
    return known[1]


@lru_cache(maxsize=10_000)
def _expression(code: CodeType, offset: int) -> ast.AST | None:
    """The expression or statement of the instruction at an offset; None if it has no source text in one line."""
    text = position_text(code.co_filename, code_position(code, offset))
    for mode in ("eval", "exec"):
        try:
            with PutBack():
                tree = ast.parse(text.strip(), mode=mode)
        except (SyntaxError, ValueError):
            continue
        if isinstance(tree, ast.Expression):
            return tree.body
        if isinstance(tree, ast.Module) and len(tree.body) == 1:
            return tree.body[0]
    return None


def _item(holder: Any, key: Any) -> Any:
    """An item that a container in C has, or an instance of a class that leaves its items to one; `_NOTHING` if there is none.

    What ``holder[key]`` would make of a key that is not there (``__missing__``, a default factory) is not there.
    """
    if type(key) not in _PLAIN:
        return _NOTHING
    kind = container_of(type(holder))
    if in_class(type(holder), "__getitem__") is not in_class(kind, "__getitem__"):
        return _NOTHING
    if kind in _MAPPINGS:
        return dict.get(holder, key, _NOTHING)
    try:
        return list.__getitem__(holder, key) if kind is list else holder[key] if kind is tuple else _NOTHING
    except (LookupError, TypeError):
        return _NOTHING


def _part(holder: Any, part: Any) -> Any:
    """An attribute in an instance's ``__dict__`` or slots, or an item of a plain container; `_NOTHING` if there is none."""
    try:
        if type(part) is tuple or type(holder) is dict:  # or a name of a module
            return _item(holder, part[0] if type(part) is tuple else part)
        kept = dictionary_of(holder)
        if kept is not None and part in kept:
            return kept[part]
        descriptor = in_class(type(holder), part)
        return descriptor.__get__(holder) if type(descriptor) is MemberDescriptorType else _NOTHING
    except (AttributeError, TypeError):
        return _NOTHING


def shown(value: Any) -> str:
    """A short text of a plain value, or the type's name of any other, because its ``__repr__`` may run any code."""
    if value is _NOTHING:
        return ""
    if type(value) in _PLAIN:
        text = repr(value)
    elif type(value) is dict and len(value) <= 6:
        text = "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    elif type(value) in (list, tuple, set) and len(value) <= 6:
        brackets = "[]" if type(value) is list else "()" if type(value) is tuple else "{}"
        text = brackets[0] + ", ".join(shown(each) for each in value) + brackets[1]
    else:
        text = f"<{name_of_class(type(value))}>"
    return text if len(text) <= 40 else f"{text[:37]}..."
