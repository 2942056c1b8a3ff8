"""Imports one module and says what became of the GIL: a program for a free-threaded interpreter that has nothing of ours.

    python -X faulthandler -v import_child.py MODULE RESULT SECONDS FOLDER...

A line of JSON for each thing that happens goes to the file RESULT at once: a module may crash, hang or exit at any moment.
"""

import json
import os
import sys
import time
import warnings
from importlib.machinery import ExtensionFileLoader

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_FILE_BYTES = 64 << 20  # of one file that the module may write
_DATA_BYTES = 8 << 30


def main() -> None:
    """Import the module of the command line."""
    name, target, seconds, *folders = sys.argv[1:]
    result = open(target, "w", encoding="utf-8")  # noqa: SIM115 - kept open: the module may hang or crash

    def say(**event: object) -> None:
        print(json.dumps(event), file=result, flush=True)

    if resource is not None:
        for limit, value in (
            ("RLIMIT_CORE", 0),
            ("RLIMIT_FSIZE", _FILE_BYTES),
            ("RLIMIT_DATA", _DATA_BYTES),
            ("RLIMIT_CPU", int(float(seconds)) + 5),
        ):
            try:
                resource.setrlimit(getattr(resource, limit), (value, value))
            except (OSError, ValueError):  # a lower limit is set already
                pass
    enabled = getattr(sys, "_is_gil_enabled", lambda: True)
    say(event="begun", gil=enabled())
    sys.path[:0] = folders
    original = ExtensionFileLoader.create_module
    seen = [enabled()]

    def create_module(self: ExtensionFileLoader, spec: object) -> object:
        try:
            return original(self, spec)  # type: ignore[arg-type]
        finally:
            say(event="created", module=getattr(spec, "name", "?"), file=getattr(spec, "origin", None))
            if enabled() and not seen[0]:
                seen[0] = True
                say(event="gil", module=getattr(spec, "name", "?"), chain=_chain())

    ExtensionFileLoader.create_module = create_module  # type: ignore[method-assign,assignment]
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    try:
        __import__(name)
    except BaseException as error:
        missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
        say(event="failed", kind=type(error).__name__, text=str(error)[:500], missing=missing, gil=enabled())
    else:
        say(event="imported", gil=enabled(), seconds=time.perf_counter() - began)
    result.flush()
    os._exit(0)  # threads that the module has started, and exit handlers, are not asked


def _chain() -> list[str]:
    """The modules that are being imported, outermost first."""
    names: list[str] = []
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and (name := frame.f_globals.get("__name__")) not in (None, "__main__"):
            names.append(str(name))
        frame = frame.f_back  # type: ignore[assignment]
    return names[::-1]


if __name__ == "__main__":
    main()
