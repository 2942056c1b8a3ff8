"""GA2xx: what extension modules declare in their binaries, and what becomes of the GIL when they are imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from packaging.utils import canonicalize_name

from . import tags as compatibility
from .archive import Unreadable
from .artifact import Artifact, ArtifactKind, ExtensionModule
from .binary.declaration import Damaged, Declaration, Gil, combined, declarations
from .claims import ReleaseClaim
from .finding import AuditFinding, Known, Severity, found, passed
from .imports import ImportResult, Scratch, import_all
from .interpreters import Python

_MACHINES = {"x86_64": "x86-64", "amd64": "x86-64", "arm64": "aarch64", "aarch64": "aarch64"}
_FORMATS = {"linux": "ELF", "macos": "Mach-O", "windows": "PE", "android": "ELF", "ios": "Mach-O"}


@dataclass
class Modules:
    """What is known of an artifact's extension modules.

    Attributes:
        declared: by file.
        imported: by module name.
    """

    artifact: Artifact
    declared: dict[str, Declaration] = field(default_factory=dict)
    imported: dict[str, ImportResult] = field(default_factory=dict)
    findings: list[AuditFinding] = field(default_factory=list)


def concerns_free_threading(artifact: Artifact) -> bool:
    """Whether an artifact's modules can be loaded by a free-threaded build at all."""
    return artifact.built and (not artifact.tags or compatibility.serves_free_threading(artifact.tags))


def read(artifact: Artifact) -> Modules:
    """Read every declaration of an artifact, one file at a time."""
    known = Modules(artifact)
    if artifact.files is None or not concerns_free_threading(artifact):
        return known
    for one in artifact.extension_modules():
        try:
            data = artifact.files.read(one.file)
        except Unreadable as error:
            known.findings.append(found("GA210", artifact.subject(one.file), str(error), Known.ARCHIVE))
            continue
        try:
            several = declarations(data, one.suffix.stem if one.suffix.stem != "__init__" else one.module.rpartition(".")[2])
        except Damaged as error:
            known.findings.append(found("GA210", artifact.subject(one.file), str(error), Known.BINARY))
            continue
        if several:
            known.declared[one.file] = combined(several)
        known.findings += _fits(artifact, one, data)
    return known


def judge(known: Modules, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    """Findings about the declarations, and about the imports where those were made."""
    artifact = known.artifact
    yield from known.findings
    modules = {one.file: one for one in artifact.extension_modules()}
    for file, declaration in known.declared.items():
        yield from _declared(known, modules[file], declaration, claim)
    said = {declaration.gil for declaration in known.declared.values()}
    if {Gil.USED, Gil.NOT_USED} <= said:
        used = [file for file, one in known.declared.items() if one.gil is Gil.USED]
        free = len(known.declared) - len(used)
        yield found("GA202", artifact.base, f"{used[0]} does not, {free} of {len(known.declared)} do", Known.BINARY)
    yield from _subinterpreters(known)
    own = {one.module for one in artifact.extension_modules()}
    for one in known.imported.values():
        yield from _imported(known, one, own, claim)


def names_to_import(artifact: Artifact, known: Modules) -> list[str]:
    """Its top-level packages and modules, and every extension module."""
    assert artifact.files is not None, "it was opened"
    names: dict[str, None] = {}
    for file in artifact.files.names:
        parts = file.split("/")
        if parts[0].endswith(".data") and len(parts) > 2:
            parts = parts[2:] if parts[1] in ("platlib", "purelib") else []
        if len(parts) == 2 and parts[1] == "__init__.py" and parts[0].isidentifier():
            names[parts[0]] = None
        elif len(parts) == 1 and parts[0].endswith(".py") and parts[0][:-3].isidentifier():
            names[parts[0][:-3]] = None
    modules = {one.module: None for one in artifact.extension_modules() if one.file in known.declared}
    return list(names | modules)


def try_imports(known: Modules, pythons: Sequence[Python], seconds: float, folders: Sequence[str] = ()) -> Iterator[AuditFinding]:
    """Import everything of an artifact on the first interpreter that takes it; findings where that could not be tried."""
    artifact = known.artifact
    if artifact.files is None or not concerns_free_threading(artifact) or not known.declared:
        return
    takers = [one for one in pythons if one.build.free_threaded and (not artifact.tags or one.takes(artifact.tags))]
    if not takers:
        yield from _not_tried(artifact, pythons)
        return
    python = takers[0]
    installed = artifact.kind is ArtifactKind.INSTALLED
    with Scratch(None if installed else artifact.files) as scratch:
        for problem in scratch.unreadable[:3]:
            yield found("GA209", artifact.base, f"not unpacked: {problem}", Known.IMPORT, key=problem)
        where = [str(artifact.path), *folders] if installed else list(folders)
        for one in import_all(names_to_import(artifact, known), python, scratch, where, seconds):
            known.imported[one.module] = one


def _not_tried(artifact: Artifact, pythons: Sequence[Python]) -> Iterator[AuditFinding]:
    """No interpreter takes it: a note where none on this machine can, for its wheel is another platform's."""
    from packaging.tags import Tag, platform_tags

    here = compatibility.families([Tag("py3", "none", platform) for platform in platform_tags()])
    foreign = bool(artifact.tags) and not (compatibility.families(artifact.tags) & here)
    there = ", ".join(map(str, pythons)) or "none was found"
    builds = [str(build) for build in compatibility.served(artifact.tags) if build.free_threaded]
    needed = ", ".join(builds) or "a free-threaded build"
    text = "its platform is another than this machine's" if foreign else f"it needs {needed}; interpreters: {there}"
    yield found("GA209", artifact.base, text, Known.IMPORT, severity=Severity.NOTE if foreign else None)


def _declared(known: Modules, module: ExtensionModule, declaration: Declaration, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    subject = known.artifact.subject(module.file)
    tried = known.imported.get(module.module)
    if declaration.gil is Gil.NOT_USED:
        yield passed("GA201", subject, f"{declaration.form}: {declaration.why}", Known.BINARY)
    elif declaration.gil is Gil.USED:
        text = f"{declaration.form}: {declaration.why}; importing it switches the GIL on"
        severity = Severity.NOTE if not known.artifact.tags and not claim.level else claim.severity
        yield found("GA201", subject, text, Known.BINARY, severity=severity)
    elif tried is not None and module.module in tried.created:  # the import has told
        if module.module in tried.offenders:
            text = f"{declaration.why}; its import switched the GIL on"
            yield found("GA201", subject, text, Known.IMPORT, severity=claim.severity)
        else:
            yield passed("GA201", subject, f"{declaration.why}; its import left the GIL off", Known.IMPORT)
    else:
        yield found("GA203", subject, declaration.why, Known.BINARY)


def _subinterpreters(known: Modules) -> Iterator[AuditFinding]:
    said = {one.interpreters for one in known.declared.values() if one.form}
    if len(said) > 1:
        count = sum(one.interpreters in ("supported", "with a GIL of their own") for one in known.declared.values())
        text = f"{count} of {len(known.declared)} modules declare that they can be imported in subinterpreters"
        yield found("GA207", known.artifact.base, text, Known.BINARY)


def _imported(known: Modules, one: ImportResult, own: set[str], claim: ReleaseClaim) -> Iterator[AuditFinding]:
    artifact = known.artifact
    subject = f"{artifact.base}:import {one.module}"
    if one.damaged:
        text = f"its import changed or deleted files of the installation: {one.damaged}"
        yield found("GA205", subject, text, Known.IMPORT, severity=Severity.WARNING, key="files")
    if one.ending in ("crashed", "hung", "exited"):
        yield found("GA205", subject, one.detail, Known.IMPORT)
        return
    if one.ending == "not started":
        yield found("GA209", subject, one.detail, Known.IMPORT)
        return
    if one.gil:
        yield from _came_back(known, one, own, claim, subject)
    elif one.ending == "imported":
        yield passed("GA204", subject, f"the GIL stayed off ({len(one.created)} extension modules)", Known.IMPORT)
    if one.ending == "failed":
        text = f"it needs {one.missing}, which is not there" if one.missing else one.detail
        yield found("GA209", subject, text, Known.IMPORT)
    for file, declaration in known.declared.items():
        module = next((each.module for each in artifact.extension_modules() if each.file == file), "")
        if module != one.module or module not in one.created:
            continue
        brought = module in one.offenders
        if (declaration.gil is Gil.NOT_USED and brought) or (declaration.gil is Gil.USED and not brought and one.gil is False):
            text = f"the binary says: {declaration.why}; its import {'switched the GIL on' if brought else 'left the GIL off'}"
            yield found("GA208", subject, text, Known.IMPORT)


def _came_back(known: Modules, one: ImportResult, own: set[str], claim: ReleaseClaim, subject: str) -> Iterator[AuditFinding]:
    ours = [name for name in one.offenders if name in own]
    others = [name for name in one.offenders if name not in own]
    chain = " > ".join((*one.chain, one.offenders[0])) if one.offenders else one.module
    if ours or not others:
        names = ", ".join(ours[:4]) or "a module that was not seen"
        free = any(
            known.declared[each.file].gil is Gil.NOT_USED
            for each in known.artifact.extension_modules()
            if each.module in ours and each.file in known.declared
        )
        severity = Severity.ERROR if free else claim.severity
        yield found("GA204", subject, f"by {names}; imported by {chain}", Known.IMPORT, severity=severity)
    if others:
        owner = canonicalize_name(others[0].partition(".")[0])
        text = f"{', '.join(others[:4])} (of {owner}) switched the GIL on; imported by {chain}"
        yield found("GA206", subject, text, Known.IMPORT, key=owner)


def _fits(artifact: Artifact, one: ExtensionModule, data: bytes | bytearray) -> Iterator[AuditFinding]:
    """The format and the architectures of a binary against the platform of the wheel's tag."""
    from .binary.reading import images

    families = compatibility.families(artifact.tags)
    if not families:
        return
    wanted = {_FORMATS.get(family.partition("-")[0], "") for family in families}
    machines = {_MACHINES.get(family.rpartition("-")[2], "") for family in families}
    there = list(images(data))
    kinds, has = {image.kind for image in there}, {image.machine for image in there}
    if "" not in wanted and not kinds <= wanted:
        text = f"{', '.join(sorted(kinds))}, and the tag is for {', '.join(sorted(families))}"
        yield found("GA105", artifact.subject(one.file), text, Known.BINARY, key="format")
    elif "" not in machines and not machines <= has:
        text = f"code of {', '.join(sorted(has))}, and the tag is for {', '.join(sorted(families))}"
        yield found("GA105", artifact.subject(one.file), text, Known.BINARY, key="machine")
