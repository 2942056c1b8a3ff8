"""Our own modules stay the ones that were imported first, although a test takes them out of ``sys.modules``; pytest's do as well.

Tests that import things anew empty ``sys.modules``. A second copy of a module has classes of its own: its verdicts are not those
that the plugin compares, its `core.verdict.Inconclusive` is not the one that ``--gilcheck-strict`` fails, and what is of a class of
the first copy cannot be pickled. A second copy of pytest does not find the fixtures of a test, which are set up for each schedule.
"""

from __future__ import annotations

import sys
from types import ModuleType

_PACKAGES = frozenset({__name__.partition(".")[0], "pytest", "_pytest", "pluggy"})
_kept: dict[str, ModuleType] = {}


def keep() -> None:
    """Put back what was taken out, and remember what is there."""
    put_back()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _PACKAGES:
            _kept[name] = module


def put_back() -> bool:
    """Put back what was taken out, without looking for what is new; returns whether anything was taken out."""
    modules = sys.modules
    taken = [name for name, module in _kept.items() if modules.get(name) is not module]
    for name in taken:
        modules[name] = _kept[name]
    return bool(taken)
