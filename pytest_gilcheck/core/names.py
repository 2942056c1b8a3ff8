"""What to call things in a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def name_of(work: Callable[..., Any]) -> str:
    """A workload's name: its own, or how it shows itself."""
    return getattr(work, "__qualname__", None) or repr(work)
