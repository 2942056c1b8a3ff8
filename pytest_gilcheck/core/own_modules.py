"""Our own modules stay the ones that were imported first, although a test takes them out of ``sys.modules``.

Tests that import things anew empty ``sys.modules``. A second copy of a module has classes of its own: its verdicts are not those
that the plugin compares, and its `core.verdict.Inconclusive` is not the one that ``--gilcheck-strict`` fails.
"""

from __future__ import annotations

import sys
from types import ModuleType

_PACKAGE = __name__.partition(".")[0]
_kept: dict[str, ModuleType] = {}


def keep() -> None:
    """Put back what was taken out, and remember what is there."""
    for name, module in _kept.items():
        sys.modules[name] = module
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE:
            _kept[name] = module
