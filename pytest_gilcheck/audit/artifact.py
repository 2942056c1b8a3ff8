"""What is audited: a wheel, a source distribution, an installed distribution or a project's folder, opened the same way."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import metadata as installed_metadata
from pathlib import Path

from packaging.tags import Tag, parse_tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from . import tags as compatibility
from .archive import LARGEST_TEXT, Files, Folder, Tar, Unreadable, Zip
from .finding import AuditFinding, Known, found, passed
from .project_files import from_project
from .release import BadMetadata, Metadata, from_email, from_pkg_info

_OLD_SUFFIXES = (".tar.bz2", ".tar.xz", ".tgz")  # of source distributions from before the specification
SDIST_SUFFIXES = (".tar.gz", ".zip", *_OLD_SUFFIXES)
_HASHED = 64 << 20  # bytes; of larger members only the size is compared with RECORD


class ArtifactKind(StrEnum):
    WHEEL = "wheel"
    SDIST = "source distribution"
    INSTALLED = "installed distribution"
    PROJECT = "project"


@dataclass(frozen=True)
class ExtensionModule:
    """A file that Python can import as an extension module.

    Attributes:
        file: its name in the artifact.
        module: its dotted name, as the artifact lays it out.
        suffix: what the file's name says.
    """

    file: str
    module: str
    suffix: compatibility.Suffix


@dataclass
class Artifact:
    """One thing to audit.

    Attributes:
        label: its file name, or ``NAME VERSION`` of an installed distribution.
        name, version: of the file name, or of the metadata where the file name has none.
        tags: of a wheel, or of an installed distribution's WHEEL file; empty otherwise.
        files: its members; None where it could not be opened.
        findings: made while it was opened.
        unlisted: why its files are not known, in words; empty where they are.
    """

    kind: ArtifactKind
    label: str
    path: Path
    name: str = ""
    version: Version | None = None
    metadata: Metadata | None = None
    tags: frozenset[Tag] = frozenset()
    files: Files | None = None
    findings: list[AuditFinding] = field(default_factory=list)
    unlisted: str = ""

    def extension_modules(self) -> Iterator[ExtensionModule]:
        """Its extension modules; shared libraries that are no modules are left out."""
        if self.files is None or self.kind is ArtifactKind.SDIST:
            return
        for name in self.files.names:
            module = extension_module(name)
            if module is not None:
                yield module

    @property
    def built(self) -> bool:
        """Whether it is what users run: a wheel or an installed distribution."""
        return self.kind in (ArtifactKind.WHEEL, ArtifactKind.INSTALLED)

    def subject(self, member: str) -> str:
        """How a member is called in findings: the same over versions and build numbers, so that a baseline keeps matching."""
        return f"{self.base}:{member}"

    @property
    def base(self) -> str:
        """The artifact's name without its version."""
        if self.kind is not ArtifactKind.WHEEL or self.version is None:
            return self.label if self.version is None else self.label.replace(str(self.version), "*", 1)
        name, _, rest = self.label.partition("-")
        return f"{name}-*-{rest.partition('-')[2]}"


def extension_module(name: str) -> ExtensionModule | None:
    """The extension module that a file of this name is; None for other files."""
    parts = name.split("/")
    if any(part.endswith((".libs", ".dylibs")) for part in parts[:-1]):
        return None
    suffix = compatibility.suffix(parts[-1])
    if suffix is None or not suffix.stem.isidentifier():
        return None
    folders = parts[:-1]
    if folders and folders[0].endswith(".data"):  # NAME.data/platlib/...
        folders = folders[2:] if len(folders) > 1 and folders[1] in ("platlib", "purelib") else []
    if not all(folder.isidentifier() for folder in folders):
        return None
    stem = [] if suffix.stem == "__init__" else [suffix.stem]
    return ExtensionModule(name, ".".join([*folders, *stem]), suffix)


def open_path(path: Path) -> Artifact:
    """Open a wheel, a source distribution or a project's folder; what is wrong with it is among its findings."""
    if path.is_dir():
        return _project(path)
    return _wheel(path) if path.suffix.lower() == ".whl" else _sdist(path)


def is_artifact(path: Path) -> bool:
    """Whether a file is a wheel or a source distribution, by its name; one with a suffix in capitals is meant as one."""
    if path.suffix.lower() == ".whl":
        return True
    suffix = next((one for one in SDIST_SUFFIXES if path.name.lower().endswith(one)), "")
    if not suffix:
        return False
    try:
        parse_sdist_filename(path.name[: -len(suffix)] + suffix)
    except InvalidSdistFilename:
        return suffix in _OLD_SUFFIXES
    return True


def open_installed(name: str, paths: Sequence[str]) -> Artifact | None:
    """The distribution of that name that is installed in one of these folders; None if there is none."""
    wanted = canonicalize_name(name)
    for one in installed_metadata.distributions(path=list(paths)):
        try:
            title = one.metadata["Name"]
        except Exception:  # metadata that cannot be read belongs to another distribution, as far as anybody can tell
            continue
        if title is None or canonicalize_name(title) != wanted:
            continue
        return _installed(one)
    return None


def _installed(one: installed_metadata.Distribution) -> Artifact:
    root = Path(str(one.locate_file("")))
    artifact = Artifact(
        ArtifactKind.INSTALLED, f"{one.metadata['Name']} {one.version}", root, name=canonicalize_name(one.metadata["Name"])
    )
    names = [str(name).replace("\\", "/") for name in one.files or () if ".." not in Path(str(name)).parts]
    artifact.files = Folder(root, names)
    if one.files is None:
        artifact.unlisted = "nothing lists its files"
    elif _is_editable(one):
        artifact.unlisted = "it is installed as editable, and its files are elsewhere"
    _take_metadata(artifact, (one.read_text("METADATA") or one.read_text("PKG-INFO") or "").encode())
    wheel = one.read_text("WHEEL") or ""
    artifact.tags = _wheel_tags(wheel)
    return artifact


def _is_editable(one: installed_metadata.Distribution) -> bool:
    try:
        return bool(json.loads(one.read_text("direct_url.json") or "{}")["dir_info"]["editable"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _wheel(path: Path) -> Artifact:
    artifact = Artifact(ArtifactKind.WHEEL, path.name, path)
    named = True
    try:
        name, version, _, tags = parse_wheel_filename(path.name)
        artifact.name, artifact.version, artifact.tags = name, version, tags
    except InvalidWheelFilename as error:
        named = False
        artifact.findings.append(found("GA125", path.name, _line(error), Known.TAG))
    if not _open(artifact, lambda: Zip(path)):
        return artifact
    files = artifact.files
    assert files is not None, "it was opened"
    infos = [one for one in files.names if one.count("/") == 1 and one.split("/")[0].endswith(".dist-info")]
    folders = {one.split("/")[0] for one in infos}
    if len(folders) != 1:
        message = f"{len(folders)} folders end with .dist-info" if folders else "no folder ends with .dist-info"
        artifact.findings.append(found("GA123", artifact.base, message, Known.METADATA))
        return artifact
    folder = folders.pop()
    _take_metadata(artifact, _read(artifact, f"{folder}/METADATA"))
    if named:
        _compare_names(artifact, _read(artifact, f"{folder}/WHEEL"))
    _compare_record(artifact, folder)
    return artifact


def _sdist(path: Path) -> Artifact:
    artifact = Artifact(ArtifactKind.SDIST, path.name, path)
    try:
        artifact.name, artifact.version = parse_sdist_filename(path.name)
    except InvalidSdistFilename as error:
        if not path.name.endswith(_OLD_SUFFIXES):
            artifact.findings.append(found("GA125", path.name, _line(error), Known.TAG))
    if not _open(artifact, lambda: Zip(path) if path.suffix.lower() == ".zip" else Tar(path)):
        return artifact
    assert artifact.files is not None, "it was opened"
    infos = [one for one in artifact.files.names if one.count("/") == 1 and one.endswith("/PKG-INFO")]
    if not infos:
        artifact.findings.append(found("GA123", artifact.base, "no PKG-INFO in the top folder", Known.METADATA))
        return artifact
    _take_metadata(artifact, _read(artifact, infos[0]), from_pkg_info)
    said = artifact.metadata
    if said is not None and artifact.name and (canonicalize_name(said.name), said.version) != (artifact.name, artifact.version):
        artifact.findings.append(found("GA121", artifact.base, f"PKG-INFO is of {said.name} {said.version}", Known.METADATA))
    return artifact


def _project(path: Path) -> Artifact:
    artifact = Artifact(ArtifactKind.PROJECT, path.resolve().name, path)
    _open(artifact, lambda: Folder(path))
    try:
        artifact.metadata = from_project(path)
    except BadMetadata as error:
        artifact.findings.append(found("GA123", artifact.label, _line(error), Known.METADATA))
    if artifact.metadata is not None:
        artifact.name, artifact.version = canonicalize_name(artifact.metadata.name), artifact.metadata.version
    return artifact


def _open(artifact: Artifact, opening: object) -> bool:
    try:
        files: Files = opening()  # type: ignore[operator]
    except Unreadable as error:
        artifact.findings.append(found("GA124", artifact.base, str(error), Known.ARCHIVE))
        return False
    artifact.files = files
    for problem in files.problems:
        artifact.findings.append(found("GA120", artifact.base, problem.message, Known.ARCHIVE, key=problem.message))
    if not files.problems and artifact.kind in (ArtifactKind.WHEEL, ArtifactKind.SDIST):
        artifact.findings.append(passed("GA120", artifact.base, f"{len(files.names):,} members, none unsafe", Known.ARCHIVE))
    return True


def _read(artifact: Artifact, name: str) -> bytes | None:
    """A metadata file; None and a finding if it cannot be read."""
    assert artifact.files is not None, "it was opened"
    if name not in artifact.files.names:
        artifact.findings.append(found("GA123", artifact.base, f"there is no {name}", Known.METADATA, key=name.rpartition("/")[2]))
        return None
    try:
        return bytes(artifact.files.read(name, LARGEST_TEXT))
    except Unreadable as error:
        artifact.findings.append(found("GA123", artifact.base, f"{name}: {error}", Known.METADATA, key=name.rpartition("/")[2]))
        return None


def _take_metadata(artifact: Artifact, data: bytes | None, reader: Callable[[bytes], Metadata] = from_email) -> None:
    if data is None:
        return
    try:
        artifact.metadata = reader(data)
    except BadMetadata as error:
        artifact.findings.append(found("GA123", artifact.base, _line(error), Known.METADATA))
        return
    artifact.version = artifact.version or artifact.metadata.version


def _compare_names(artifact: Artifact, wheel: bytes | None) -> None:
    """The file's name against METADATA and WHEEL."""
    lies = []
    said = artifact.metadata
    if said is not None and canonicalize_name(said.name) != artifact.name:
        lies.append(f"METADATA is of {said.name}")
    if said is not None and said.version != artifact.version:
        lies.append(f"METADATA is of version {said.version}")
    inside = _wheel_tags(wheel.decode("utf-8", "replace")) if wheel is not None else frozenset()
    if inside and inside != artifact.tags:
        lies.append(f"WHEEL has the tags {_tags(inside)}, the name {_tags(artifact.tags)}")
    for lie in lies:
        artifact.findings.append(found("GA121", artifact.base, lie, Known.METADATA, key=lie.split()[0]))
    if not lies and said is not None:
        artifact.findings.append(passed("GA121", artifact.base, "name, METADATA and WHEEL agree", Known.METADATA))


def _compare_record(artifact: Artifact, folder: str) -> None:
    """RECORD against the members: names, sizes, and hashes of what is not too large."""
    assert artifact.files is not None, "it was opened"
    data = _read(artifact, f"{folder}/RECORD")
    if data is None:
        return
    try:
        rows = {row[0]: row for row in csv.reader(io.StringIO(data.decode("utf-8", "strict"))) if row}
    except (csv.Error, UnicodeDecodeError) as error:
        artifact.findings.append(found("GA122", artifact.base, f"RECORD cannot be read ({_line(error)})", Known.ARCHIVE))
        return
    signatures = {f"{folder}/RECORD", f"{folder}/RECORD.jws", f"{folder}/RECORD.p7s"}
    names = set(artifact.files.names)
    wrong = [f"{one} is not in RECORD" for one in sorted(names - set(rows) - signatures)]
    wrong += [f"{one} is in RECORD and not in the wheel" for one in sorted(set(rows) - names) if not one.endswith("/")]
    for name in sorted(names & set(rows) - signatures):
        if (why := _differs(artifact.files, name, rows[name])) is not None:
            wrong.append(f"{name} {why}")
    if wrong:
        more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        artifact.findings.append(found("GA122", artifact.base, "; ".join(wrong[:3]) + more, Known.ARCHIVE))
    else:
        artifact.findings.append(passed("GA122", artifact.base, f"RECORD agrees with {len(names)} members", Known.ARCHIVE))


def _differs(files: Files, name: str, row: list[str]) -> str | None:
    if len(row) < 3 or not row[1]:
        return None
    size = files.size(name)
    if row[2] and row[2] != str(size):
        return f"has {size:,} bytes, RECORD says {row[2]}"
    algorithm, _, digest = row[1].partition("=")
    if size > _HASHED or algorithm not in ("sha256", "sha384", "sha512"):
        return None
    try:
        content = files.read(name)
    except Unreadable as error:
        return f"cannot be read ({error})"
    actual = base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=").decode()
    return None if actual == digest.rstrip("=") else f"has another {algorithm} than RECORD says"


def _wheel_tags(text: str) -> frozenset[Tag]:
    found_tags: set[Tag] = set()
    for line in text.splitlines():
        field_name, colon, value = line.partition(":")
        if colon and field_name.strip().lower() == "tag":
            try:
                found_tags |= parse_tag(value.strip())
            except ValueError:  # a tag of fewer than three parts; the name decides
                continue
    return frozenset(found_tags)


def _tags(tags: frozenset[Tag]) -> str:
    return ", ".join(sorted(map(str, tags))[:4])


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
