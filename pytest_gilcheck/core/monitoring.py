"""`sys.monitoring` (PEP 669) for one tool of ours alone."""

from __future__ import annotations

import sys
from typing import Any


def take_over(tool: int, name: str) -> Any:
    """End all tools of this process, and begin one; returns `sys.monitoring`. For Python 3.12 and later.

    Only for a process that exits after its run: nothing is given back.

    Args:
        tool: identifier of the tool, 0 to 5.
        name: of the tool.
    """
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    for other in range(6):
        if monitoring.get_tool(other) is not None:
            monitoring.set_events(other, 0)
            monitoring.free_tool_id(other)
    monitoring.use_tool_id(tool, name)
    return monitoring
