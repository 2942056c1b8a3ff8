"""Imports of modules in guarded processes of a free-threaded interpreter: does the GIL stay off, and who switched it on?

Each module is imported in a process of its own, in a scratch folder, with limits on time, memory and files, in a process group
that is killed afterwards. The interpreter itself names every module that needs the GIL when it runs with ``-v``; a hook in the
process tells the chain of imports that led to the first.

What does not work: the interpreter's warning, which names the first module alone; and one process for several modules, in which the
first decides for all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ..core.cores import usable_cores
from . import guarded
from .archive import Files, Unreadable
from .interpreters import Python, environment

SECONDS = 60.0  # that one import may take
_SCRIPT = Path(__file__).with_name("import_child.py")
_REQUIRES = re.compile(r"^# loading module ['\"]?([\w.]+)['\"]?, which requires the GIL", re.MULTILINE)
_WARNED = re.compile(r"The global interpreter lock \(GIL\) has been enabled to load module '([\w.]+)'")
_LAST_WORDS = 4000  # bytes of standard error that are looked at for a crash


@dataclass(frozen=True)
class ImportResult:
    """What became of one import.

    Attributes:
        module: the module's name.
        ending: ``imported``, ``failed`` (an exception), ``crashed``, ``exited``, ``hung``, or ``not started``.
        detail: the exception, the signal or the exit status, in words.
        gil: whether the GIL was on at the end; None where that is not known.
        offenders: every extension module that needs the GIL, in the order of their loading.
        chain: the modules that were being imported when the GIL came on, outermost first.
        created: extension modules that were loaded.
        missing: the module that was not found, where that is why it failed.
        damaged: files that the import changed or deleted.
        seconds: how long it took.
    """

    module: str
    ending: str
    detail: str = ""
    gil: bool | None = None
    offenders: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    missing: str = ""
    damaged: str = ""
    seconds: float = 0.0


class Scratch:
    """A folder with the files of an artifact, to import them from; removed afterwards.

    Args:
        files: of a wheel; None for an installed distribution, which is imported from where it is.
    """

    def __init__(self, files: Files | None) -> None:
        self._files = files
        self.root = Path(tempfile.mkdtemp(prefix="gilcheck-audit-"))
        self.content = self.root / "content"
        self.unreadable: list[str] = []
        self._fill()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def _fill(self) -> None:
        shutil.rmtree(self.content, ignore_errors=True)
        self.content.mkdir(parents=True, exist_ok=True)
        self.unreadable = []
        for name in self._files.names if self._files is not None else ():
            target = self.content / _installed_at(name)
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self._files.read(name))  # type: ignore[union-attr]
            except (Unreadable, OSError, ValueError) as error:
                self.unreadable.append(f"{name}: {error}")
        self._before = self._state()

    def mend(self) -> str:
        """Put back what an import changed; returns what that was, in words, empty where nothing was."""
        if self._files is None:
            return ""
        after = self._state()
        changed = sorted({name for name, _ in self._before ^ after if not name.endswith((".pyc", "__pycache__"))})
        if not changed:
            return ""
        self._fill()
        return ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")

    def _state(self) -> set[tuple[str, int]]:
        found = set()
        for folder, _, names in os.walk(self.content):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    found.add((os.path.relpath(path, self.content), os.stat(path).st_size))
                except OSError:
                    continue
        return found


def import_all(
    modules: Sequence[str], python: Python, scratch: Scratch, folders: Sequence[str] = (), seconds: float = SECONDS
) -> list[ImportResult]:
    """Import each module in a process of its own, some at once; results in the order of the modules."""
    with ThreadPoolExecutor(max(1, min(4, usable_cores()))) as pool:
        found = list(pool.map(lambda name: import_one(name, python, scratch, folders, seconds), modules))
    damage = scratch.mend()
    if damage:  # which of them did it: once more, one after the other
        found = []
        for name in modules:
            one = import_one(name, python, scratch, folders, seconds)
            found.append(one if not (damaged := scratch.mend()) else _with_damage(one, damaged))
    return found


def import_one(name: str, python: Python, scratch: Scratch, folders: Sequence[str] = (), seconds: float = SECONDS) -> ImportResult:
    """Import one module in a guarded process."""
    place = Path(tempfile.mkdtemp(prefix="import-", dir=scratch.root))
    result, words, work = place / "result", place / "stderr", place / "work"
    work.mkdir()
    command = [python.command, "-P", "-B", "-v", "-X", "faulthandler", str(_SCRIPT), name, str(result), str(seconds),
               str(scratch.content), *folders]  # fmt: skip
    own = environment(HOME=str(work), TMPDIR=str(work), PYTHONNOUSERSITE="1", OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    try:
        status = guarded.run(command, work, own, words, seconds)
    except OSError as why:
        return ImportResult(name, "not started", why.strerror or str(why))
    return _told(name, result, words, status, seconds)


def _told(name: str, result: Path, words: Path, status: int | None, seconds: float) -> ImportResult:
    events = _events(result)
    try:
        spoken = words.read_bytes()
    except OSError:
        spoken = b""
    text = spoken.decode("utf-8", "replace")
    offenders = tuple(dict.fromkeys([*_REQUIRES.findall(text), *_WARNED.findall(text)]))
    by_kind = {str(one.get("event")): one for one in events}
    gil_event = by_kind.get("gil", {})
    if not offenders and gil_event:
        offenders = (str(gil_event.get("module")),)
    chain = tuple(str(one) for one in gil_event.get("chain", ()))  # type: ignore[attr-defined]
    created = tuple(dict.fromkeys(str(one.get("module")) for one in events if one.get("event") == "created"))
    common = {"offenders": offenders, "chain": chain, "created": created}
    if (done := by_kind.get("imported")) is not None and status == 0:
        return ImportResult(name, "imported", gil=bool(done.get("gil")), seconds=float(str(done.get("seconds") or 0)), **common)  # type: ignore[arg-type]
    if (failed := by_kind.get("failed")) is not None and status == 0:
        said = " ".join(f"{failed.get('kind')}: {failed.get('text')}".split())[:300]
        missing = str(failed.get("missing") or "") if failed.get("kind") == "ModuleNotFoundError" else ""
        return ImportResult(name, "failed", said, bool(failed.get("gil")), missing=missing, **common)  # type: ignore[arg-type]
    if status is None:
        return ImportResult(name, "hung", f"no end within {seconds:g} s", **common)  # type: ignore[arg-type]
    if not events:
        return ImportResult(name, "not started", f"exit status {status}: {_last_line(text)}")
    if status < 0:
        return ImportResult(name, "crashed", f"killed by {_signal(-status)}{_fault(text)}", **common)  # type: ignore[arg-type]
    return ImportResult(name, "exited", f"the process ended with exit status {status} in mid-import", **common)  # type: ignore[arg-type]


def _events(result: Path) -> list[dict[str, object]]:
    found = []
    try:
        lines = result.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # cut off by a crash
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def _fault(text: str) -> str:
    """The line of Python that a crash was at, of faulthandler's words."""
    part = text[-_LAST_WORDS:]
    found = re.search(r'File "([^"]+)", line (\d+) in (\S+)', part)
    return f" at {os.path.basename(found[1])}:{found[2]} ({found[3]})" if found and "Fatal Python error" in text else ""


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _with_damage(one: ImportResult, damaged: str) -> ImportResult:
    return ImportResult(
        one.module, one.ending, one.detail, one.gil, one.offenders, one.chain, one.created, one.missing, damaged, one.seconds
    )


def _installed_at(name: str) -> str:
    """Where an installer puts a member of a wheel."""
    parts = name.split("/")
    if len(parts) > 2 and parts[0].endswith(".data") and parts[1] in ("platlib", "purelib"):
        return "/".join(parts[2:])
    return name
