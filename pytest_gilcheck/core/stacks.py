"""Every thread's stack as text, also of threads that never let go of the GIL or are stuck in C.

``faulthandler`` writes it: ``sys._current_frames`` hands out live frames of other threads, which a free-threaded build may be
running and freeing meanwhile.
"""

from __future__ import annotations

import faulthandler
import re
import tempfile
import threading


def dump() -> str:
    """The stacks of all Python threads of this process, innermost call first, each under its thread's name."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return named(file.read().decode(errors="replace"))


def named(text: str) -> str:
    """Replace the thread ids in ``faulthandler``'s output by the names that ``threading`` knows."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}

    def name(match: re.Match[str]) -> str:
        known = names.get(int(match[2], 16))
        return match[0] if known is None else f"{match[1]} {known!r}"

    return re.sub(r"(Current thread|Thread) (0x[0-9a-f]+)", name, text).strip()
