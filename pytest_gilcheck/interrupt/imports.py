"""What a workload imports while it runs, so that its targets can import it before they begin (`repeated_imports`).

A signal that arrives during an import is another question than one that arrives while the workload works: imports of large
libraries take seconds of C code, and an exception in the middle of one says nothing about the workload.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..core.system import get_ident
from .target import Instrument


class Imports(Instrument):
    """Sends the note ``("imports", name)`` before the main thread imports a module for the first time."""

    portable = True

    def begin(self, send_note: Callable[..., None]) -> None:
        sys.meta_path.insert(0, _Finder(send_note))


class _Finder:
    def __init__(self, send_note: Callable[..., None]) -> None:
        self._send_note, self._thread = send_note, get_ident()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if get_ident() == self._thread:
            self._send_note("imports", name)
