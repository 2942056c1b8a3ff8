"""What coverage measures in the child that runs a test comes home with the test.

coverage keeps its data in a file, and a fork that uses it starts that file anew, under the parent's name. So the child gets
data of its own in memory, and sends them to the parent, which adds them to its own. This uses attributes of coverage that are not
documented; if they change, the test passes, and a warning says that its coverage is missing.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any


class ChildCoverage:
    """The measurement of one child, if coverage measures this process."""

    def __init__(self, collector: Any, data: Any) -> None:
        self._collector, self._data = collector, data

    @classmethod
    def begin(cls) -> ChildCoverage:
        """Have coverage keep what it measures from now on in memory."""
        collector, data = None, None
        try:
            if (current := _current()) is not None and (collector := current._collector) is not None:
                data = sys.modules["coverage"].CoverageData(no_disk=True)
                context = getattr(collector.covdata, "_current_context", None)
                current._data = collector.covdata = data
                data.set_context(context)
        except Exception:
            data = None
        return cls(collector, data)

    def end(self) -> bytes | str | None:
        """The data for `add_to_parent`; None if there are none."""
        if self._collector is None:
            return None
        try:
            self._collector.flush_data()
            dumped: bytes = self._data.dumps()
            return dumped
        except Exception as error:
            return f"coverage of a test's child process is missing: {error!r}"


def add_to_parent(sent: bytes | str | None) -> None:
    """Add what a child measured to the data of this process."""
    if sent is None or (current := _current()) is None:
        return
    if isinstance(sent, bytes):
        try:
            data = sys.modules["coverage"].CoverageData(no_disk=True)
            data.loads(sent)
            current._collector.covdata.update(data)
            return
        except Exception as error:
            sent = f"coverage of a test's child process is missing: {error!r}"
    warnings.warn(sent, stacklevel=1)


def _current() -> Any:
    """The instance of coverage that measures this process; None if there is none."""
    module: Any = sys.modules.get("coverage")
    return None if module is None or not hasattr(module, "Coverage") else module.Coverage.current()
