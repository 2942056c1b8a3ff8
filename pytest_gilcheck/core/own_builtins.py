"""Built-in names that no workload can replace.

A workload runs in one process with our code, which goes on after it: in a signal handler, in a trace function, at its end. If it
sets ``builtins.isinstance`` to None, ours fails with a TypeError there: that would end the workload in place of the signal that is
to end it, and look like a good reaction to it.

CPython looks names up in the dictionary that was ``__builtins__`` of a module when a function of it was made. So each module with
code that runs beside a workload sets that to `OWN`, after its imports and before its first function.

What does not work: to bind the few names that a function needs (every change of it would need another one); to put the real ones
back at each call of ours (other threads of the workload would see them). `PutBack` does so, only where ours needs the standard
library.
"""

from __future__ import annotations

import builtins
from typing import Any

OWN: Any = dict(vars(builtins))
__builtins__ = OWN  # of the functions below
_SHARED = vars(builtins)
_MISSING = object()


class PutBack:
    """In the block, the built-in names of all modules are the real ones; a context manager that may be used again and again."""

    def __enter__(self) -> None:
        self._replaced = {name: _SHARED.get(name, _MISSING) for name in OWN if _SHARED.get(name, _MISSING) is not OWN[name]}
        _SHARED.update({name: OWN[name] for name in self._replaced})

    def __exit__(self, *error: object) -> None:
        for name, value in self._replaced.items():
            if value is _MISSING:
                del _SHARED[name]
            else:
                _SHARED[name] = value
