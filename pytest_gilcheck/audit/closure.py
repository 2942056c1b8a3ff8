"""GA206: which dependency switches the GIL on, through which requirements and imports, and what its newest release does.

Dependencies are those of the metadata, followed through the installed distributions of the interpreter that imports, or those of a
lock file. Every one is read statically; one that does not declare itself ready, or cannot be told, is imported.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from .requirements import wanted

_DOWNLOAD = 300.0  # seconds
_MOST = 2000  # dependencies
_NAMED = 8  # of dependencies that no interpreter could have, in one message


def check(
    release: Release,
    known: Sequence[Modules],
    pythons: Sequence[Python],
    lock_files: Sequence[str],
    imports: bool,
    seconds: float,
    newest: bool,
) -> Iterator[AuditFinding]:
    """Findings about every dependency: one for each that brings the GIL, and one for each that cannot be told."""
    python = next((one for one in pythons if one.build.free_threaded), None)
    direct, problems = _wanted(release, lock_files, python)
    yield from problems
    if not direct:
        return
    if python is None:
        more = f" and {len(direct) - _NAMED} more" if len(direct) > _NAMED else ""
        text = f"no free-threaded interpreter that could have {', '.join(sorted(direct)[:_NAMED])}{more}"
        yield found("GA211", release.name, text, Known.METADATA, key="interpreter")
        return
    told = count = 0
    for reached in _closure(direct, python):
        count += 1
        problem, name = reached.problem(python), reached.chain[-1]
        if problem:
            yield found("GA211", release.name, f"{' > '.join(reached.chain)}{problem}", Known.METADATA, key=name)
        if reached.installed is not None:
            told += 1
            yield from _dependency(release, reached.installed, reached.chain, python, imports, seconds, newest)
    if count >= _MOST:
        text = f"more than {_MOST:,} dependencies: the others were not looked at"
        yield found("GA211", release.name, text, Known.METADATA, key="most")
    if told:
        text = f"{told} dependencies were looked at in {python}" + (f"; {count - told} are not installed there" * (count > told))
        yield passed("GA206", release.name, text, Known.BINARY, key="closure")


def are_named(release: Release, lock_files: Sequence[str]) -> bool:
    """Whether an interpreter is needed that has the dependencies."""
    return bool(lock_files) or any(said.requires for _, said in release.metadata)


def _wanted(
    release: Release, lock_files: Sequence[str], python: Python | None
) -> tuple[dict[str, frozenset[str]], list[AuditFinding]]:
    """The direct dependencies and the locked ones, each with the extras that are asked of it, and what cannot be read."""
    names: dict[str, frozenset[str]] = {}
    problems = []
    for text in lock_files:
        try:
            names |= dict.fromkeys(locks.read(Path(text)), frozenset())
        except locks.BadLock as error:
            problems.append(found("GA211", release.name, str(error), Known.METADATA, key=Path(text).name))
    if (why := release.untold("dependencies")) and not lock_files:
        problems.append(found("GA211", release.name, f"its dependencies: {why}", Known.METADATA, key="untold"))
    own = wanted([text for _, said in release.metadata for text in said.requires], python)
    for name, extras in own.extras.items():
        names[name] = names.get(name, frozenset()) | extras
    for text in own.unreadable:
        problems.append(found("GA211", release.name, f"{text[:80]!a} is no requirement", Known.METADATA, key=text))
    names.pop(canonicalize_name(release.name.split(" ")[0]), None)
    return names, problems


@dataclass(frozen=True)
class _Dependency:
    """A dependency.

    Attributes:
        chain: of requirements that lead to it, the shortest, its own name last.
        installed: None where it is not.
        unreadable: its requirements that are none.
    """

    chain: tuple[str, ...]
    installed: Artifact | None
    unreadable: tuple[str, ...]

    def problem(self, python: Python) -> str:
        """Why it cannot be told what comes with it, in words that follow its name; empty where it can."""
        if self.installed is None:
            return f" is not installed in {python}"
        if self.installed.unlisted:
            return f": {self.installed.unlisted}"
        if self.installed.metadata is None:
            return ": what it requires cannot be read"
        return f": its requirement {self.unreadable[0][:80]!a} cannot be read" if self.unreadable else ""


def _closure(direct: Mapping[str, frozenset[str]], python: Python) -> Iterator[_Dependency]:
    """Each dependency once, breadth first; it is followed again for extras that a later requirement asks of it."""
    waiting: list[tuple[tuple[str, ...], frozenset[str]]] = [((name,), extras) for name, extras in list(direct.items())[:_MOST]]
    seen = {chain[-1]: extras for chain, extras in waiting}
    opened: dict[str, Artifact | None] = {}
    for chain, extras in waiting:  # grows while it is walked
        name = chain[-1]
        again = name in opened
        installed = opened[name] if again else open_installed(name, python.path)
        opened[name] = installed
        said = installed.metadata if installed is not None else None
        required = wanted(said.requires if said is not None else (), python, sorted(extras))
        if not again:
            yield _Dependency(chain, installed, required.unreadable)
        for inner, more in required.extras.items():
            known = seen.get(inner)
            if (known is None and len(seen) < _MOST) or (known is not None and not more <= known):
                seen[inner] = (known or frozenset()) | more
                waiting.append(((*chain, inner), more))


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
    loadable = {each.file: each for each in dependency.extension_modules() if each.suffix.loads_on(python.build)}
    used = [loadable[file].module for file, one in known.declared.items() if one.gil is Gil.USED and file in loadable]
    untold = [loadable[file].module for file, one in known.declared.items() if one.gil is Gil.UNKNOWN and file in loadable]
    for one in known.findings:
        text = f"{' > '.join(chain)}: {one.subject}: {one.message}"
        yield found("GA211", release.name, text, Known.BINARY, key=one.subject)
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
