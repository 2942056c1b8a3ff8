"""The stacks of all threads as text, also of threads that hold the GIL or are blocked in C.

``faulthandler`` writes them. ``sys._current_frames`` is not used, because it returns the live frames of other threads, and a
free-threaded build may run and free them meanwhile.
"""

from __future__ import annotations

import faulthandler
import re
import threading

from .system import scratch_file


def dump() -> str:
    """The stacks of all Python threads of this process, each with the name of the thread, innermost call first."""
    with scratch_file() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return named(file.read().decode(errors="replace"))


def named(text: str) -> str:
    """Replace the thread ids in the output of ``faulthandler`` with the names of the threads."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}

    def name(match: re.Match[str]) -> str:
        known = names.get(int(match[2], 16))
        return match[0] if known is None else f"{match[1]} {known!r}"

    return re.sub(r"(Current thread|Thread) (0x[0-9a-f]+)", name, text).strip()
