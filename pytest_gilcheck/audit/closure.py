"""GA206: which dependency switches the GIL on, through which requirements and imports, and what its newest release does.

Dependencies are those of the metadata, followed through the installed distributions of the interpreter that imports, or those of a
lock file. Every one is read statically; one that does not declare itself ready, or cannot be told, is imported.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ..core.programs import answer
from . import locks, modules
from .artifact import Artifact, open_installed, open_path
from .binary.declaration import Gil
from .claims import Release
from .finding import AuditFinding, Known, Severity, found, passed
from .imports import Scratch, import_one
from .interpreters import Python, environment
from .modules import Modules

_DOWNLOAD = 300.0  # seconds
_MOST = 2000  # dependencies


def check(
    release: Release,
    known: Sequence[Modules],
    pythons: Sequence[Python],
    lock_files: Sequence[str],
    imports: bool,
    seconds: float,
    newest: bool,
) -> Iterator[AuditFinding]:
    """Findings about every dependency that is installed where the imports are made; one for each that brings the GIL."""
    python = next((one for one in pythons if one.build.free_threaded), None)
    wanted, problems = _wanted(release, lock_files)
    yield from problems
    if not wanted:
        return
    if python is None:
        if lock_files:
            text = f"{len(wanted)} dependencies, and no free-threaded interpreter that has them"
            yield found("GA211", release.name, text, Known.METADATA, key="interpreter")
        return
    told = missing = 0
    for chain in _closure(wanted, python):
        dependency = open_installed(chain[-1], python.path)
        if dependency is None:
            missing += 1
            if lock_files:
                text = f"{' > '.join(chain)} is not installed in {python}"
                yield found("GA211", release.name, text, Known.METADATA, key=chain[-1])
            continue
        told += 1
        yield from _dependency(release, dependency, chain, python, imports, seconds, newest)
    if told:
        text = f"{told} dependencies were looked at in {python}" + (f"; {missing} are not installed there" if missing else "")
        yield passed("GA206", release.name, text, Known.BINARY, key="closure")


def _wanted(release: Release, lock_files: Sequence[str]) -> tuple[list[str], list[AuditFinding]]:
    """The direct dependencies, or the locked ones."""
    names: dict[str, None] = {}
    problems = []
    for text in lock_files:
        try:
            names |= dict.fromkeys(locks.read(Path(text)))
        except locks.BadLock as error:
            problems.append(found("GA211", release.name, str(error), Known.METADATA, key=Path(text).name))
    if not lock_files:
        for _, said in release.metadata:
            names |= dict.fromkeys(_required(said.requires))
    names.pop(canonicalize_name(release.name.split(" ")[0]), None)
    return list(names)[:_MOST], problems


def _required(requirements: Sequence[str]) -> list[str]:
    found_names = []
    for text in requirements:
        try:
            one = Requirement(text)
        except InvalidRequirement:
            continue
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            found_names.append(str(canonicalize_name(one.name)))
    return found_names


def _closure(direct: Sequence[str], python: Python) -> Iterator[tuple[str, ...]]:
    """Chains of requirements to each dependency, the shortest, breadth first."""
    waiting: list[tuple[str, ...]] = [(name,) for name in direct]
    seen = set(direct)
    for chain in waiting:  # grows while it is walked
        yield chain
        installed = open_installed(chain[-1], python.path)
        if installed is None or installed.metadata is None or len(seen) > _MOST:
            continue
        for name in _required(installed.metadata.requires):
            if name not in seen:
                seen.add(name)
                waiting.append((*chain, name))


def _dependency(
    release: Release,
    dependency: Artifact,
    chain: Sequence[str],
    python: Python,
    imports: bool,
    seconds: float,
    newest: bool,
) -> Iterator[AuditFinding]:
    dependency.tags = frozenset()  # whatever it is tagged for, it is what this interpreter has
    known = modules.read(dependency)
    loadable = {one.file: one for one in dependency.extension_modules() if one.suffix.loads_on(python.build)}
    used = [loadable[file].module for file, one in known.declared.items() if one.gil is Gil.USED and file in loadable]
    untold = [loadable[file].module for file, one in known.declared.items() if one.gil is Gil.UNKNOWN and file in loadable]
    if not used and not untold:
        return
    through = " > ".join((*chain[:-1], dependency.label))
    brought, path, importable = _tried(modules.names_to_import(dependency, known), python, seconds) if imports else ((), (), False)
    if brought:
        text = f"{through}: {', '.join(brought[:3])} switched the GIL on; imported by {' > '.join((*path, brought[0]))}"
    elif importable and not used:
        yield passed("GA206", release.name, f"{through}: its import left the GIL off", Known.IMPORT, key=chain[-1])
        return
    elif used:
        lazily = "; importing the package alone does not load it" if importable else ""
        text = f"{through}: {', '.join(used[:3])} does not declare that it runs without the GIL{lazily}"
    else:
        text = f"{through}: {', '.join(untold[:3])}: what it declares cannot be told"
        yield found("GA211", release.name, text, Known.BINARY, key=chain[-1])
        return
    if newest:
        text += f"; {_newest(chain[-1], python)}"
    severity = Severity.NOTE if used and importable and not brought else None
    yield found("GA206", release.name, text, Known.IMPORT if brought else Known.BINARY, severity=severity, key=chain[-1])


def _tried(names: Sequence[str], python: Python, seconds: float) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Who switched the GIL on when the top-level packages were imported, by which chain, and whether they could be."""
    importable = False
    with Scratch(None) as scratch:
        for name in names:
            if "." in name:
                continue
            one = import_one(name, python, scratch, (), seconds)
            importable = importable or one.ending == "imported"
            if one.gil:
                return one.offenders, one.chain, True
    return (), (), importable


def _newest(name: str, python: Python) -> str:
    """What the newest release that this interpreter can install declares, in words."""
    version = f"{python.build.version[0]}.{python.build.version[1]}"
    with tempfile.TemporaryDirectory(prefix="gilcheck-audit-") as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, name]
        command += ["--python-version", version, "--abi", str(python.build), "--abi", "abi3t", "--abi", "none"]
        try:
            done = answer(command, _DOWNLOAD, environment())
        except (OSError, subprocess.SubprocessError):
            return "its newest release could not be downloaded"
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            return "no release of it has a wheel for this build"
        wheel = open_path(wheels[0])
        said = {one.gil for one in modules.read(wheel).declared.values()}
        if wheel.files is not None:
            wheel.files.close()
    if not said:
        return f"{wheel.version}, its newest release for this build, has no extension modules"
    if said == {Gil.NOT_USED}:
        return f"{wheel.version}, its newest release for this build, declares that it runs without the GIL"
    words = "does not declare it either" if Gil.USED in said else "cannot be told"
    return f"{wheel.version}, its newest release for this build, {words}"
