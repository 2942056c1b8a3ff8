"""What the files of a project's folder say of its release: pyproject.toml, setup.cfg and setup.py, read and never run.

Which of them counts depends on the build backend. A field that none of them tells, because only a build would compute it, is named
as untold: to take it for a field that is not there would hide a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .archive import LARGEST_TEXT
from .finding import SourcePlace
from .release import BARE, BadMetadata, Metadata, specifiers, toml, version
from .setup_files import FIELDS, LISTS, Statements, is_texts, of_setup_cfg, of_setup_py

_FILE = "pyproject.toml"
_TABLES = ("project", "tool.poetry")
_SETUPTOOLS = (None, "setuptools.build_meta", "setuptools.build_meta:__legacy__")  # the backends that read setup.py and setup.cfg
_Value = TypeVar("_Value")


def is_project(path: Path) -> bool:
    """Whether a folder is one of a project's source."""
    return any((path / name).is_file() for name in (_FILE, "setup.py", "setup.cfg"))


def from_project(folder: Path) -> Metadata:
    """What the files of a folder say.

    Raises:
        BadMetadata: one of them cannot be read, or a field is not of its type; the message names the file.
    """
    text = _text(folder / _FILE)
    try:
        document = toml(text or "")
        project = _of_project_table(document) if "project" in document else None
        backend = _backend(document)
        poetry = _of_poetry_table(document) if _is_poetry(backend) or (backend is None and _poetry(document)) else None
    except BadMetadata as error:
        raise BadMetadata(f"{_FILE}: {error}") from None
    others = [poetry] if poetry is not None else []
    if poetry is None and backend in _SETUPTOOLS:
        for name, reader in (("setup.py", of_setup_py), ("setup.cfg", of_setup_cfg)):
            if (content := _text(folder / name)) is not None:
                others.append(reader(content))
    untold = _untold(project, others, backend)
    every = others if project is None else [project, *others]
    counting = {
        name: every if project is None or name in project.untold or name == "classifiers" else [project] for name in FIELDS
    }  # old setuptools takes classifiers that [project] leaves out from elsewhere: no claim may be missed
    texts = {name: tuple(dict.fromkeys(text for one in counting[name] for text in one.values.get(name, ()))) for name in LISTS}
    return Metadata(
        name=_one(counting["name"], "name", str) or "",
        version=_one(counting["version"], "version", version),
        classifiers=texts["classifiers"],
        requires_python=_one(counting["requires-python"], "requires-python", specifiers),
        requires=texts["dependencies"],
        places=_places(text, others),
        untold=untold,
    )


def _one(said: Sequence[Statements], name: str, read: Callable[[str], _Value]) -> _Value | None:
    """The field of the first file that has it."""
    for one in said:
        if name in one.values:
            try:
                return read(one.values[name])
            except BadMetadata as error:
                raise BadMetadata(f"{one.file}: {error}") from None
    return None


def _untold(project: Statements | None, others: Sequence[Statements], backend: str | None) -> dict[str, str]:
    """Fields that the [project] table leaves to the build backend, and that nothing tells which the backend reads."""
    untold: dict[str, str] = {}
    words = f"the build backend {backend} decides" if backend else "a build decides"
    for name in FIELDS:
        if project is not None and name not in project.untold:
            continue  # it is the table's, whatever a setup.py says
        if why := next((one.untold[name] for one in others if name in one.untold), None):
            untold[name] = why
        elif project is not None and not any(name in one.values for one in others):
            untold[name] = f"{_FILE}: [project] has {name} in dynamic: {words}"
        elif project is None and not others and backend not in _SETUPTOOLS:
            untold[name] = f"{_FILE}: no [project] table: {words}"
    return untold


def _of_project_table(document: Mapping[str, Any]) -> Statements:
    table = document["project"]
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise BadMetadata("[project] has no name")
    dynamic = table.get("dynamic", [])
    if not is_texts(dynamic):
        raise BadMetadata("project.dynamic is no list of texts")
    said = Statements(_FILE, untold=dict.fromkeys(dynamic, "dynamic"))
    for name in FIELDS:
        if name in table:
            _take(said, name, table[name], f"project.{name}")
    return said


def _of_poetry_table(document: Mapping[str, Any]) -> Statements:
    said = Statements(_FILE)
    table = _poetry(document)
    for name in ("name", "version", "classifiers"):
        if name in table:
            _take(said, name, table[name], f"tool.poetry.{name}")
    dependencies = table.get("dependencies", {})
    if not isinstance(dependencies, dict):
        raise BadMetadata("tool.poetry.dependencies is no table")
    if isinstance(python := dependencies.get("python"), str):
        try:
            specifiers(python)
            said.values["requires-python"] = python
        except BadMetadata:  # Poetry has operators of its own, such as ^3.11
            said.untold["requires-python"] = f"{_FILE}: [tool.poetry] python = {python[:40]!a}"
    if "dependencies" in table:
        required = [_requirement(name, value) for name, value in dependencies.items() if name != "python"]
        said.values["dependencies"] = [one for one in required if one]
    return said


def _requirement(name: str, value: object) -> str:
    """One of Poetry's dependencies as a requirement, without its version; empty for one that an extra alone brings."""
    if not isinstance(value, dict):
        return name
    extras = value.get("extras", [])
    words = f"{name}[{','.join(extras)}]" if is_texts(extras) and extras else name
    marker = value.get("markers")
    return "" if value.get("optional") is True else f"{words}; {marker}" if isinstance(marker, str) else words


def _take(said: Statements, name: str, value: object, called: str) -> None:
    if name in LISTS and not is_texts(value):
        raise BadMetadata(f"{called} is no list of texts")
    if name not in LISTS and not isinstance(value, str):
        raise BadMetadata(f"{called} is no text")
    said.values[name] = value


def _poetry(document: Mapping[str, Any]) -> Mapping[str, Any]:
    tool = document.get("tool")
    table = tool.get("poetry") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else {}


def _backend(document: Mapping[str, Any]) -> str | None:
    """The build backend; None where none is named, which means setuptools."""
    system = document.get("build-system")
    if not isinstance(system, dict):
        return None
    backend = system.get("build-backend")
    if "backend-path" in system:
        return f"{backend} of the project itself"
    return backend if isinstance(backend, str) else None


def _is_poetry(backend: str | None) -> bool:
    return backend is not None and backend.startswith("poetry")


def _places(text: str | None, others: list[Statements]) -> dict[str, SourcePlace]:
    """Where the fields are; the first line of the table, or of the file, for those that are not there."""
    found: dict[str, SourcePlace] = {} if text is None else _lines(text)
    for one in others:
        for name, line in one.lines.items():
            found.setdefault(name, SourcePlace(one.file, line))
    if not found and (first := next((one.file for one in others), None)) is not None:
        found["[project]"] = SourcePlace(first)
    return found


def _lines(text: str) -> dict[str, SourcePlace]:
    found: dict[str, SourcePlace] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped, place = line.strip(), SourcePlace(_FILE, number)
        if stripped.startswith("["):
            table = stripped.strip("[]").strip()
            found.setdefault(f"[{table}]", place)
        elif table in _TABLES:
            key, equals, _ = stripped.partition("=")
            if equals and key.strip() in FIELDS:
                found.setdefault(key.strip(), place)
        if BARE in line:
            found.setdefault(BARE, place)
    return found


def _text(path: Path) -> str | None:
    """The file's text; None where there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_TEXT + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadMetadata(f"{path.name}: {error.strerror or error}") from None
    if len(data) > LARGEST_TEXT:
        raise BadMetadata(f"{path.name}: more than {LARGEST_TEXT:,} bytes")
    return data.decode("utf-8", "replace")
