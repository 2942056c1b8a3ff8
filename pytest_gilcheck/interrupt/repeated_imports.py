"""The imports of an earlier run of a workload (`imports`), before a target begins."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable

__gilcheck_repeats_imports__ = True  # for the GIL watch: the dry run has reported them, with the line of the workload


def import_before(names: Iterable[str]) -> None:
    """Import modules that an earlier run of the workload imported; what cannot be imported is left to the workload."""
    for name in names:
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except Exception:  # whatever a module raises: the workload may expect that
                continue
