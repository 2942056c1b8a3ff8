"""Made-up records, for tests of the code that reads records."""

from pytest_gilcheck.core.evidence import record
from pytest_gilcheck.core.verdict import Judged, Verdict

NO_GIL = {"build": "free-threaded", "free_threaded_build": True}
GIL_ON = {"build": "gil", "free_threaded_build": True}


def entry(subject="test_it.py::test_it", verdict="holds", *, check="scaling", version="3.13.0", one_thread=None, number=1, **more):
    """Return one record.

    Args:
        more: figures by name; also ``python`` (fields of the interpreter), ``file``, ``recorded`` and ``reason``.
    """
    python = {
        "implementation": "CPython",
        "version": version,
        "build": "gil",
        "free_threaded_build": False,
        "switch_interval": 0.005,
    }
    python |= {"cores": 2, "platform": "linux-x86_64"} | more.pop("python", {})
    top = {name: more.pop(name) for name in ("file", "recorded") if name in more}
    judged = None if verdict is None else Judged(conclusion=Verdict(verdict), reason=more.pop("reason", "because"))
    details = {} if one_thread is None else {"one_thread": one_thread}
    made = record(check, subject, judged, {"text": "claim"}, more, details=details)
    return made | {"interpreter": python, "number": number, "recorded": "2026-11-21T10:00:00Z"} | top
