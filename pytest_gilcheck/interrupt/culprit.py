"""Names of places in the code under test, made of stacks, positions and source lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from ..core.origin import foreign, ours
from ..core.source import Position, line_text, place, position_text, syntax_tree
from .ccalls import CCall

_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)$')
_IDENT = re.compile(r"0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Frame:
    """One line of a stack."""

    file: str
    line: int
    function: str

    @property
    def source(self) -> str:
        return line_text(self.file, self.line)

    def __str__(self) -> str:
        return place(self.file, self.line, self.function)


def threads(stacks: str, idents: Collection[int] | None = None) -> list[list[Frame]]:
    """The frames of each thread in a ``faulthandler`` dump, innermost first and without ours; the main thread comes first.

    Args:
        idents: leave other threads out, except the main thread.
    """
    found: list[list[Frame]] = []
    left_out: set[int] = set()
    main = 0
    for line in stacks.splitlines():
        if match := _FRAME.match(line):
            if not found:
                found.append([])
            if ours(match["file"]):
                main = len(found) - 1
                found[-1].append(Frame("", 0, ""))  # the frames below it are those of pytest, or of another caller
            elif match["line"].isdigit() and not (found[-1] and found[-1][-1].file == ""):
                found[-1].append(Frame(match["file"], int(match["line"]), match["function"]))
        elif "most recent call first" in line:
            if idents is not None and not ((match := _IDENT.search(line)) and int(match[0], 16) in idents):
                left_out.add(len(found))
            found.append([])
    others = [index for index in range(len(found)) if index != main and index not in left_out]
    return [[frame for frame in found[index] if frame.file] for index in (main, *others)] if found else []


def trimmed(stacks: str) -> str:
    """The dump without the frames below the workload: ours, and those of our caller."""
    lines: list[str] = []
    below = False
    for line in stacks.splitlines():
        match = _FRAME.match(line)
        below = bool(match) and (below or ours(match["file"]))  # type: ignore[index]
        if not below:
            lines.append(line)
    return "\n".join(lines)


def own_frame(frames: list[Frame]) -> Frame | None:
    """The innermost frame in the user's code; without one, the innermost frame."""
    return next((frame for frame in frames if not foreign(frame.file)), frames[0] if frames else None)


def expression(file: str, line: int, end_line: int | None, column: int | None, end_column: int | None) -> str:
    """The source text at a position; empty if it spans lines or is unknown. Columns count bytes."""
    return position_text(file, Position(line, end_line, column, end_column))


def statement(frame: Frame) -> str:
    """The statement at a line, as one line of source; the line itself if it has several or none, or the statement is long."""
    found = _statements(frame)
    text = "" if len(found) != 1 else ast.unparse(found[0])
    return text if text and "\n" not in text and len(text) <= 100 else frame.source


def call_text(frame: Frame, call: CCall) -> str:
    """The C call as written in the source; with its name alone where its columns do not tell; empty if the frame is not at it.

    A stack shows lines only, and it may be of another run than the call.
    """
    if (call.file, call.position.line) != (frame.file, frame.line):
        return ""
    tree = syntax_tree(frame.file)
    calls = [part for part in (ast.walk(tree) if tree is not None else ()) if isinstance(part, ast.Call)]
    end = call.position.end_line, call.position.end_column
    if (exact := next((part for part in calls if (part.end_lineno, part.end_col_offset) == end), None)) is not None:
        return _shortened(exact)
    text = statement(frame)
    return f"{call.name}() in `{text}`" if text else f"{call.name}()"


def _shortened(call: ast.Call) -> str:
    text = ast.unparse(call)
    return text if len(text) <= 60 else f"{ast.unparse(call.func)}(...)"


@dataclass(frozen=True)
class Clause:
    """A clause that stops an exception.

    Attributes:
        kind: ``"except"``, ``"with"`` or ``"finally"``.
        where: its source line.
        swallows: whether it has ended the exception; otherwise it is still at work, except for an ``except``, which ended it.
    """

    kind: str
    where: Frame
    swallows: bool = False


def stop(file: str, function: str, lines: list[int]) -> Clause | None:
    """The clause that stopped an exception; None if it cannot be determined.

    Args:
        lines: the lines that ran next in the same frame.
    """
    if not lines or (tree := syntax_tree(file)) is None:
        return None
    handlers = {node.lineno: node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    matched = None
    for line in lines:
        if line in handlers:
            matched = handlers[line]  # its condition was evaluated; the next line shows whether it matched
        elif matched is not None:
            break
        else:
            break
    first = lines[0]
    if matched is not None:
        return Clause("except", Frame(file, matched.lineno, function))
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)) and node.lineno <= first <= max(
            item.context_expr.lineno for item in node.items
        ):
            return Clause("with", Frame(file, first, function))
        if (
            isinstance(node, ast.Try)
            and node.finalbody
            and node.finalbody[0].lineno <= first <= (node.finalbody[-1].end_lineno or 0)
        ):
            return Clause("finally", Frame(file, first, function))
    return None


def left_at(clause: Clause, lines: list[int]) -> Clause:
    """A ``finally`` that discards the exception, with the ``return``, ``break`` or ``continue`` that ran as its place.

    Args:
        lines: the lines that ran in it.
    """
    tree = syntax_tree(clause.where.file)
    if clause.kind != "finally" or tree is None:
        return clause
    bodies = [node.finalbody for node in ast.walk(tree) if isinstance(node, (ast.Try, ast.TryStar)) and node.finalbody]
    inside = [body for body in bodies if body[0].lineno <= clause.where.line <= (body[-1].end_lineno or 0)]
    ran = [
        part.lineno
        for body in inside
        for statement in body
        for part in ast.walk(statement)
        if isinstance(part, (ast.Return, ast.Break, ast.Continue)) and part.lineno in lines
    ]
    line = next((line for line in reversed(lines) if line in ran), clause.where.line)
    return replace(clause, where=replace(clause.where, line=line))


def with_at(file: str, function: str, line: int) -> Clause | None:
    """The innermost ``with`` that has its body on this one line: where it stops an exception, no line of its own runs next."""
    tree = syntax_tree(file)
    found = [
        node
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, (ast.With, ast.AsyncWith)) and node.body[0].lineno == line == node.items[-1].context_expr.lineno
    ]
    return Clause("with", Frame(file, line, function)) if found else None


_CATCHES_ALL = {"BaseException", "KeyboardInterrupt"}
_CLEANUPS = {"__del__", "__exit__", "__aexit__"}
_LEAVES = (ast.Raise, ast.Return, ast.Break)


def clause_around(stack: list[Frame]) -> Clause | None:
    """The clause that the innermost possible frame of a stack is in, to explain without a trace why the workload goes on.

    Either a ``finally`` or the line of a ``with``, which does not end, or the body of a ``try`` in a loop whose handler catches the
    interrupt and goes on: the workload is in there again. None if there is none.
    """
    for frame in stack:
        if (clause := stop(frame.file, frame.function, [frame.line])) is not None:
            return clause
        if frame.function.rpartition(".")[2] in _CLEANUPS:  # the exception may be on its way, and no handler has it yet
            return None
        if (handler := _handler_around(frame)) is not None:
            return Clause("except", Frame(frame.file, handler.lineno, frame.function))
    return None


def _handler_around(frame: Frame) -> ast.ExceptHandler | None:
    """The handler of the innermost loop's ``try`` around a line that catches every interrupt and does not leave the loop."""
    tree = syntax_tree(frame.file)
    around = [node for node in (ast.walk(tree) if tree is not None else ()) if _has_in_body(node, frame.line)]
    around.sort(key=lambda node: node.lineno)  # type: ignore[attr-defined]
    for number, node in reversed(list(enumerate(around))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        looped = any(isinstance(outer, (ast.While, ast.For, ast.AsyncFor)) for outer in around[:number])
        for handler in node.handlers if isinstance(node, (ast.Try, ast.TryStar)) else ():
            kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
            if any(kind is None or ast.unparse(kind).rpartition(".")[2] in _CATCHES_ALL for kind in kinds):
                leaves = any(isinstance(part, _LEAVES) for part in ast.walk(handler))
                return handler if looped and not leaves else None
    return None


def _has_in_body(node: ast.AST, line: int) -> bool:
    """Whether a line belongs to the body of a function, a loop or a ``try``."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.While, ast.For, ast.AsyncFor, ast.Try, ast.TryStar)
    return isinstance(node, kinds) and node.body[0].lineno <= line <= (node.body[-1].end_lineno or 0)


def _statements(frame: Frame) -> list[ast.stmt]:
    """The statements that may run at a line: simple ones, and the heads of those that have a body."""
    tree = syntax_tree(frame.file)
    nodes = [node for node in (ast.walk(tree) if tree is not None else ()) if isinstance(node, ast.stmt)]
    return [node for node in nodes if node.lineno <= frame.line <= _end_of_head(node)]


def _end_of_head(node: ast.stmt) -> int:
    """The last line of a statement without its body; 0 if that has no head which takes time, as a ``def`` or a ``try``."""
    match node:
        case ast.If(test=last) | ast.While(test=last) | ast.For(iter=last) | ast.AsyncFor(iter=last) | ast.Match(subject=last):
            return last.end_lineno or 0
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return (items[-1].optional_vars or items[-1].context_expr).end_lineno or 0
    return 0 if hasattr(node, "body") else node.end_lineno or 0
