"""Built-in names that no workload can replace.

A workload runs in one process with our code, which goes on after it: in a signal handler, in a trace function, at its end. If it
sets ``builtins.isinstance`` to None, ours fails with a TypeError there: that would end the workload in place of the signal that is
to end it, and look like a good reaction to it.

CPython looks names up in the dictionary that was ``__builtins__`` of a module when a function of it was made. So each module with
code that runs beside a workload sets that to `OWN`, after its imports and before its first function.

What does not work: to bind the few names that a function needs (every change of it would need another one); to put the real ones
back at each call of ours (other threads of the workload would see them).
"""

from __future__ import annotations

import builtins
from typing import Any

OWN: Any = dict(vars(builtins))
