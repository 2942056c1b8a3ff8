"""pytest's explanation of a failing ``assert a == b``, in the runs of a fuzz check.

It calls hooks, looks into the environment, compares, and depends on the verbosity. Some of that code makes visible steps, so a
replay with another verbosity would make other steps than its token says. The first run of a check gives an explanation, for a test
that fails without any concurrency; the others give the line alone, which is what a report shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from _pytest.assertion import util

_EXPLAINING = ("_reprcompare", "_config")  # what a rewritten assertion calls, and asks for the verbosity, if they are not None


@contextmanager
def given_back() -> Iterator[None]:
    """Undo `none_from_here_on` at the end."""
    before = [getattr(util, name, None) for name in _EXPLAINING]
    try:
        yield
    finally:
        for name, value in zip(_EXPLAINING, before, strict=True):
            setattr(util, name, value)


def none_from_here_on() -> None:
    """No failing assertion explains a comparison any more."""
    for name in _EXPLAINING:
        setattr(util, name, None)
