"""What coverage measures in the child that runs a test comes home with the test.

coverage keeps its data in a file, and a fork that uses it starts that file anew, under the parent's name. So the child gets
data of its own in memory, and sends them to the parent, which adds them to its own. A process of its own measures with the
configuration of the parent's instance. This uses attributes of coverage that are not documented; if they change, the test passes,
and a warning says that its coverage is missing.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

_NOT_FOR_A_CHILD = ("patch", "debug", "debug_file", "data_file")  # what its processes write is theirs; ours stays in memory
_MISSING = "coverage of a test's child process is missing"


class ChildCoverage:
    """The measurement of one child, if coverage measures this process."""

    def __init__(self, collector: Any, data: Any, problem: str | None = None) -> None:
        self._collector, self._data, self._problem = collector, data, problem

    @classmethod
    def begin(cls) -> ChildCoverage:
        """Have coverage keep what it measures from now on in memory."""
        collector, data = None, None
        try:
            if (current := _current()) is not None and (collector := current._collector) is not None:
                data = sys.modules["coverage"].CoverageData(no_disk=True)
                context = _context(collector)
                current._data = collector.covdata = data
                data.set_context(context)
        except Exception:
            data = None
        return cls(collector, data)

    @classmethod
    def begin_anew(cls, settings: str | None) -> ChildCoverage:
        """Measure a process of its own, with what `settings_for_a_process` says.

        Nothing if something has started coverage here already (``patch = subprocess``), which keeps its own data.
        """
        if settings is None or _current() is not None:
            return cls(None, None)
        try:
            import coverage

            instance: Any = coverage.Coverage(data_file=None, config_file=False, auto_data=False)
            known = json.loads(settings)
            for name, value in known["config"].items():
                setattr(instance.config, name, value)
            instance.start()
            if known["context"]:
                instance.switch_context(known["context"])
            return cls(instance._collector, instance._data)
        except Exception as error:
            return cls(None, None, f"{_MISSING}: {error!r}")

    def end(self) -> bytes | str | None:
        """The data for `add_to_parent`; None if there are none."""
        if self._collector is None:
            return self._problem
        try:
            self._collector.flush_data()
            dumped: bytes = self._data.dumps()
            return dumped
        except Exception as error:
            return f"{_MISSING}: {error!r}"


def settings_for_a_process() -> str | None:
    """What another process needs in order to measure as this one does; None if coverage does not measure here."""
    if (current := _current()) is None:
        return None
    known = {name: _as_json(value) for name, value in vars(current.config).items() if not name.startswith("_")}
    config = {name: value for name, value in known.items() if value is not _UNKNOWN and name not in _NOT_FOR_A_CHILD}
    return json.dumps({"config": config, "context": _context(getattr(current, "_collector", None))})


def add_to_parent(sent: bytes | str | None) -> None:
    """Add what a child measured to the data of this process."""
    if sent is None or (current := _current()) is None:
        return
    if isinstance(sent, bytes):
        try:
            data = sys.modules["coverage"].CoverageData(no_disk=True)
            try:
                data.loads(sent)
                current._collector.covdata.update(data)
            finally:
                data.close(force=True)  # or sqlite3 warns
            return
        except Exception as error:
            sent = f"{_MISSING}: {error!r}"
    warnings.warn(sent, stacklevel=1)


_UNKNOWN = object()


def _as_json(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return _UNKNOWN


def _context(collector: Any) -> str | None:
    """What is measured now is for this, such as a test's name; None if coverage was not told."""
    context: str | None = getattr(getattr(collector, "covdata", None), "_current_context", None)
    return context


def _current() -> Any:
    """The instance of coverage that measures this process; None if there is none."""
    module: Any = sys.modules.get("coverage")
    return None if module is None or not hasattr(module, "Coverage") else module.Coverage.current()
