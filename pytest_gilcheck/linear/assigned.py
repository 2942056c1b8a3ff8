"""Tests of classes: what `linearizable` returns is assigned to a name that pytest collects.

The test asks for the fixture ``gilcheck`` and calls its method, so it is guarded, recorded and judged like every other check.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, Literal

Test = Callable[[Any], None]


def linearizable(make: Callable[..., Any], *, expect: Literal["holds", "violated"] = "holds", **arguments: Any) -> Test:
    """A test of a class: ``test_cache = linearizable(LRUCache, init=[[2]])``.

    Args:
        make: the class, or a function that makes an object of it.
        expect: ``"violated"`` for a class that is known to be unsafe: the test fails once it no longer is.
        arguments: those of `calls.Gilcheck.linearizable`.
    """
    if expect not in ("holds", "violated"):
        raise ValueError(f"expect={expect!r}: expected 'holds' or 'violated'")

    def test(gilcheck: Any) -> None:
        __tracebackhide__ = True
        result = gilcheck.linearizable(make, **arguments)
        if expect == "violated":
            result.assert_violated()
        else:
            result.assert_holds()

    return at_line_of_caller(test, sys._getframe(1).f_code.co_filename, sys._getframe(1).f_lineno)


def at_line_of_caller(test: Any, file: str, line: int) -> Test:
    """The test as if it were written there: pytest shows where a test is."""
    code = test.__code__.replace(co_filename=file, co_firstlineno=line)
    placed: Test = FunctionType(code, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
    return placed
