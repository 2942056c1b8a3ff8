"""From a frame or a code object to its place and its source text; the one way for the whole package.

A place is written ``file:line (function)``, with the qualified name of the function. Source text is read with ``linecache``, which
also serves sources that are in no file, such as those of a doctest or of a zip archive.

Columns of a code position count bytes of UTF-8. To slice the text of a line with them cuts a line with other than ASCII characters
in the wrong places, so `position_text` slices the encoded line.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import path
from types import CodeType, FrameType
from typing import NamedTuple

from .own_builtins import PutBack

UNKNOWN_PLACE = "an unknown place"
_NUMBER = re.compile(r"\d+")
_getlines = linecache.getlines  # a workload may replace that of the module


class Position(NamedTuple):
    """A range of source text, as `code.co_positions` gives it: lines count from 1, columns from 0 in bytes of UTF-8."""

    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


def place(file: str, line: int, function: str) -> str:
    """``"file:line (function)"``."""
    return f"{file}:{line} ({function})"


def frame_place(frame: FrameType | None, line: int | None = None) -> str:
    """The place that the frame executes now, or another line of it; `UNKNOWN_PLACE` for None."""
    if frame is None:
        return UNKNOWN_PLACE
    return place(frame.f_code.co_filename, line or frame.f_lineno or 0, frame.f_code.co_qualname)


def innermost(frame: FrameType | None, accept: Callable[[str], bool]) -> FrameType | None:
    """The innermost frame, from this one outwards, whose file is accepted; None if there is none."""
    while frame is not None and not accept(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def file_of(code: CodeType) -> str:
    """The file of a code object; of a module that is frozen into the interpreter, that of its source in the standard library."""
    file = code.co_filename
    if not (file.startswith("<frozen ") and file.endswith(">")):
        return file
    source = path.join(path.dirname(linecache.__file__), *file.removeprefix("<frozen ").removesuffix(">").split(".")) + ".py"
    return source if path.isfile(source) else file


def unnumbered(file: str) -> str:
    """The file of a code object, without the numbers in a name such as ``<generated-12>``, by which a generator counts its code."""
    return _NUMBER.sub("#", file) if file.startswith("<") else file


def line_text(file: str, line: int) -> str:
    """The source line without surrounding space; empty where there is no source."""
    return _line(file, line).strip()


def code_position(code: CodeType, offset: int) -> Position:
    """The source range of the instruction at this offset (`frame.f_lasti`); unknown before the first instruction."""
    if offset < 0:
        return Position()
    return Position(*next(itertools.islice(code.co_positions(), offset // 2, None), (None,) * 4))


def line_at(frame: FrameType) -> int:
    """The line at which a frame is; of an instruction that the compiler gave none, that of the last one before it that has one.

    So it is where the branches of ``a() if x else b()`` come together again. The first line of the function would not be true.
    """
    code = frame.f_code
    if frame.f_lineno is not None:
        return frame.f_lineno
    lines = [each[0] for each in itertools.islice(code.co_positions(), max(frame.f_lasti, 0) // 2)]
    return next((line for line in reversed(lines) if line is not None), code.co_firstlineno)


def came_through(error: BaseException) -> Iterator[tuple[CodeType, int]]:
    """The code and the line of each frame that an error came through, the outermost first."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code, trace.tb_lineno
        trace = trace.tb_next


def with_nested(code: CodeType) -> Iterator[CodeType]:
    """A code object, and all that are inside of it: of functions, classes and comprehensions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_nested(constant)


def position_text(file: str, position: Position) -> str:
    """The source text of a range; empty where there is no source, or the range is unknown or spans several lines."""
    line, end_line, column, end_column = position
    if line is None or line != end_line or column is None or end_column is None:
        return ""
    return _line(file, line).encode()[column:end_column].decode(errors="replace")


def first_line_text(file: str, position: Position) -> str:
    """The source text of a range, up to the end of its first line; empty where there is no source, or the range is unknown."""
    line, end_line, column, _ = position
    if line == end_line or line is None or column is None:
        return position_text(file, position)
    return _line(file, line).encode()[column:].decode(errors="replace")


def file_text(file: str) -> str:
    """The whole source of a file; empty where there is none."""
    return "".join(_lines(file))


def _line(file: str, line: int) -> str:
    lines = _lines(file)
    return lines[line - 1] if 1 <= line <= len(lines) else ""


def _lines(file: str) -> list[str]:
    known = linecache.cache.get(file, ())
    if len(known) > 1:  # otherwise the text is still to be read
        return known[2]  # type: ignore[no-any-return,misc,unused-ignore]
    with PutBack():
        return _getlines(file)


def syntax_tree(file: str) -> ast.Module | None:
    """The syntax tree of a file; None where its source is no valid Python. A file without a source is an empty module.

    It is parsed anew at each call: who asks often keeps what was found in it, which is less than the tree.
    """
    try:
        with PutBack(), no_warnings_of_the_compiler():
            return ast.parse(file_text(file))
    except (SyntaxError, ValueError):
        return None


@contextmanager
def no_warnings_of_the_compiler() -> Iterator[None]:
    """While the compiler warns of nothing.

    It warned of an invalid escape sequence when the file was imported. Here it would warn the user's test of what we do, and
    where warnings are errors the source would count as none of Python.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
