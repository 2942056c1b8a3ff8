"""Built-in names that no workload can replace.

A workload runs in one process with our code, which goes on after it: in a signal handler, in a trace function, at its end. If it
sets ``builtins.isinstance`` to None, ours fails with a TypeError there: that would end the workload in place of the signal that is
to end it, and look like a good reaction to it.

CPython looks names up in the dictionary that was ``__builtins__`` of a module when a function of it was made. So an import finder
(`give_own_names`) sets that to `OWN` in each module of this package, before its code runs.

What does not work: to bind the few names that a function needs (every change of it would need another one); to put the real ones
back at each call of ours (other threads of the workload would see them). `PutBack` does so, only where ours needs the standard
library, and `Replaced` between the runs of a program that is run again and again. To set ``exec_module`` of the loader that another
finder gives: some finders give the same loader for all modules (zipimport, pytest's rewriting of assertions).
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

OWN: Any = dict(vars(builtins))
__builtins__ = OWN  # of the functions below: the finder is not there yet
TAKE_BACK = "have it taken back before the end of the run, or replace it in its own module alone"  # what to do, in a message
_SHARED = vars(builtins)
_MISSING = object()


def give_own_names(package: str) -> None:
    """From now on, each module of the package that is imported has built-in names of its own.

    To be called again where another finder may have come before ours: pytest's, which rewrites assertions, does so in each session.
    """
    sys.meta_path[:] = [_OwnNamesFinder(f"{package}."), *(each for each in sys.meta_path if type(each) is not _OwnNamesFinder)]


class _OwnNamesFinder:
    """Finds what the finders behind it find, and gives modules whose names begin so a loader of ours.

    Not what all others find: another finder that asks all others in the same way would ask this one again, without an end.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith(self._prefix):
            return None
        finders = list(sys.meta_path)
        while finders and finders.pop(0) is not self:
            pass
        for finder in finders:
            if (spec := finder.find_spec(name, path, target)) is not None:
                if spec.loader is not None:  # else a namespace package
                    ours: Any = _OwnNamesLoader(spec.loader)
                    spec.loader = ours
                return spec
        return None


class _OwnNamesLoader:
    """Does what another loader does, in a module that has its built-in names already."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = OWN
        self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:  # its source, its resources
        return getattr(self._loader, name)


class PutBack:
    """In the block, the built-in names of all modules are the real ones; a context manager that may be used again and again."""

    def __enter__(self) -> None:
        self._replaced = _others_than(OWN)
        _SHARED.update({name: OWN[name] for name in self._replaced})

    def __exit__(self, *error: object) -> None:
        _set(self._replaced)


class Replaced:
    """The built-in names that a program replaces in its runs; between these, all are what they were when this was made.

    Not the real ones: what a fixture has replaced for the time of a test is meant for all that the test does.

    Attributes:
        names: all that a run has left replaced.
    """

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self._before = dict(_SHARED)
        self._left: dict[str, Any] = {}

    def explain(self, error: str) -> str:
        """In one line, why an error that is described so may come from names that were left replaced."""
        names = ", ".join(f"builtins.{name}" for name in list(self.names)[:3]) + " and others" * (len(self.names) > 3)
        what = f"the program has replaced {names}, which code beside it needs, and that raised {error}"
        return f"{what}: {TAKE_BACK}"

    def begin(self) -> None:
        """The program goes on: it finds what it has left."""
        _set(self._left)

    def end(self, *, closely: bool = True) -> bool:
        """It has stopped; returns whether it has left any name replaced.

        Args:
            closely: whether to see also what says of itself that it is equal to the name from before.
        """
        if not closely and not self._left and _same(self._before):
            return False
        self._left = _others_than(self._before)
        self.names.update(dict.fromkeys(self._left))
        _set({name: self._before[name] for name in self._left})
        return bool(self._left)


def _same(wanted: Mapping[str, Any]) -> bool:
    """Whether all built-in names stand for these objects. It takes a fifth of the time of `_others_than`."""
    try:
        return wanted == _SHARED  # the same objects are not compared
    except Exception:  # of an object of the program
        return False


def _others_than(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Which built-in names stand for other objects than these, and for which. It takes 10 us."""
    return {name: now for name, value in wanted.items() if (now := _SHARED.get(name, _MISSING)) is not value}


def _set(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if value is _MISSING:
            _SHARED.pop(name, None)
        else:
            _SHARED[name] = value
