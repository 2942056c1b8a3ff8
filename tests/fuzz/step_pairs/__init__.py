"""Programs that touch shared objects by instructions that are easily taken for private, each beside its correct twin.

Each module is a file of its own, because what one program does (``globals()``, weak references) changes which instructions are
steps for all that is in its file. `tests/fuzz/delays.py` shows without the engine that the buggy ones break.
"""

from . import classes, ends, plain, rebound

PAIRS = (*plain.PAIRS, *rebound.PAIRS, *classes.PAIRS, *ends.PAIRS)
