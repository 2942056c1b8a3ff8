"""From what is to be audited to the report: opens the artifacts, runs the groups of checks, applies the baseline."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name

from ..core.clocks import today
from ..core.errors import BadValue
from . import baseline, claims, closure, documents, evidence, interpreters, modules, prove, substance, workflows
from . import source as source_rules
from .artifact import Artifact, ArtifactKind, is_artifact, open_installed, open_path
from .binary.declaration import Gil
from .claims import Release, ReleaseClaim
from .finding import WORST_FIRST, AuditFinding, Severity, ordered, reaches
from .interpreters import Python
from .modules import Modules
from .project_files import is_project
from .settings import AcceptedFinding, AuditSettings

OK, FOUND, USAGE, UNDECIDED, INTERNAL = range(5)  # exit statuses


@dataclass(frozen=True)
class Request:
    """What to audit, and how.

    Attributes:
        targets: wheels, source distributions, folders of them, project folders, names of installed distributions.
        pythons: interpreters to import with; found on this machine where none is given.
        imports: whether modules are imported.
        seconds: that one import may take.
        evidence: files of evidence, or folders of them.
        previous: artifacts of the release before.
        locks: lock files whose packages are looked at as dependencies.
        source: whether source is looked through.
        prove: whether the fuzz engine is run on what source rules find.
        newest: whether the newest release of a dependency that switches the GIL on is downloaded and read.
        today: the date that decides about expiry.
    """

    targets: tuple[str, ...]
    settings: AuditSettings = field(default_factory=AuditSettings)
    pythons: tuple[str, ...] = ()
    imports: bool = True
    seconds: float = 60.0
    evidence: tuple[str, ...] = ()
    previous: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    source: bool = True
    prove: bool = False
    newest: bool = False
    today: date = field(default_factory=today)


@dataclass(frozen=True)
class ArtifactRow:
    """A line of the table: an artifact, and what is known of it."""

    artifact: str
    kind: str
    builds: str
    declared: str
    imported: str
    worst: str


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit.

    Attributes:
        releases: what was audited, each with its claim, in words.
        findings: the worst first; checks that found nothing are among them, as ``ok``.
        accepted: findings that the baseline accepts.
        table: a line for each artifact.
        settings: that decided.
    """

    releases: tuple[str, ...]
    findings: tuple[AuditFinding, ...]
    accepted: tuple[tuple[AuditFinding, AcceptedFinding], ...]
    table: tuple[ArtifactRow, ...]
    settings: AuditSettings

    def counts(self) -> dict[Severity, int]:
        """Findings by severity, the worst first; severities without findings are left out."""
        counted = Counter(one.severity for one in self.findings)
        return {severity: counted[severity] for severity in WORST_FIRST if counted[severity]}

    @property
    def undecided(self) -> list[AuditFinding]:
        """What could not be told, and is not allowed to stay so."""
        return [
            one for one in self.findings
            if one.severity is Severity.INCONCLUSIVE and one.code not in self.settings.allowed
        ]  # fmt: skip

    @property
    def exit_status(self) -> int:
        """0, 1 or 3: see `command`."""
        if any(reaches(one.severity, self.settings.fail_on) for one in self.findings):
            return FOUND
        return UNDECIDED if self.undecided else OK


def audit(request: Request, progress: Callable[[str], None] = lambda label: None) -> AuditReport:
    """Run every check.

    Raises:
        BadValue: a target, an interpreter or a file that cannot be used.
    """
    pythons = interpreters.given(request.pythons)
    artifacts = [one for target in request.targets for one in _opened(target, pythons, "audit")]
    before = claims.releases([one for target in request.previous for one in _opened(target, pythons, "--previous")])
    releases = claims.releases(artifacts)
    imported = request.imports and any(one.built for one in artifacts)
    if not pythons and (imported or any(closure.are_named(one, request.locks) for one in releases)):
        pythons = interpreters.find()
    records = evidence.read(request.evidence)
    findings: list[AuditFinding] = []
    table: list[ArtifactRow] = []
    described: list[str] = []
    for release in releases:
        claim = claims.claim_of(release, request.settings)
        described.append(_described(release, claim))
        previous = next((one for one in before if one.name.split(" ")[0] == release.name.split(" ")[0]), None)
        found = [one for each in _all(release) for one in each.findings]
        found += substance.without_code(release)
        found += claims.check(release, claim, previous)
        if before and previous is None:
            found.append(claims.incomparable(release, before))
        known = []
        for artifact in release.artifacts:
            progress(artifact.label)
            known.append(modules.read(artifact))
            if request.imports:
                findings += modules.try_imports(known[-1], pythons, request.seconds)
            found += modules.judge(known[-1], claim)
        found += _against_claim(_sources(release, request), release, claim)
        found += closure.check(release, known, pythons, request.locks, request.imports, request.seconds, request.newest)
        grounds = [*evidence.check(release, claim, records, request.settings, request.today), *documents.check(release, claim)]
        found += [*grounds, *workflows.check(release, claim), *documents.ground(release, claim, grounds)]
        findings += found
        table += [_row(artifact, each, found) for artifact, each in zip(release.artifacts, known, strict=True)]
    shown = [one for one in findings if request.settings.shows(one.code)]
    kept, accepted = baseline.apply(ordered(shown), request.settings.baseline, request.today)
    if not shown:
        kept.append(substance.without_checks(releases))
    for artifact in artifacts:
        if artifact.files is not None:
            artifact.files.close()
    return AuditReport(tuple(described), tuple(ordered(kept)), tuple(accepted), tuple(table), request.settings)


def _opened(target: str, pythons: Sequence[Python], source: str) -> Iterator[Artifact]:
    path = Path(target)
    if not target.strip():  # Path would take it for the current folder
        raise BadValue(source, target, "a file, a folder, or the name of an installed distribution", "command line")
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file() and is_artifact(one))
        project = is_project(path)
        if not files and not project:
            raise BadValue(
                source, target, "a folder with wheels, source distributions, a pyproject.toml or a setup.py", "command line"
            )
        yield from map(open_path, files)
        if project:
            yield open_path(path)
    elif path.is_file():
        if not is_artifact(path):
            raise BadValue(source, target, "a wheel (.whl) or a source distribution (.tar.gz, .zip)", "command line")
        yield open_path(path)
    else:
        try:
            name = canonicalize_name(target, validate=True)
        except InvalidName:
            name = None
        where = [one for python in pythons for one in python.path] or sys.path
        installed = None if name is None else open_installed(name, where)
        if installed is None:
            raise BadValue(source, target, "a file, a folder, or the name of an installed distribution", "command line")
        yield installed


def _all(release: Release) -> list[Artifact]:
    return [*release.artifacts, *((release.project,) if release.project is not None else ())]


def _described(release: Release, claim: ReleaseClaim) -> str:
    kinds = Counter(str(one.kind) for one in _all(release))
    parts = ", ".join(f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items())
    return f"{release.name} ({parts}): claims {claim}"


def _sources(release: Release, request: Request) -> Iterator[AuditFinding]:
    """Source is looked through once: of the project, or else of a source distribution, or else of a wheel."""
    if not request.source:
        return
    candidates = [one for one in _all(release) if one.files is not None]
    order = (ArtifactKind.PROJECT, ArtifactKind.SDIST, ArtifactKind.WHEEL, ArtifactKind.INSTALLED)
    chosen = min(candidates, key=lambda one: order.index(one.kind), default=None)
    if chosen is not None:
        findings = list(source_rules.check(chosen, request.settings.exclude))
        yield from prove.prove(chosen, findings) if request.prove else (one for one, _ in findings)


def _against_claim(findings: Iterable[AuditFinding], release: Release, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    """The findings in source; a module that does not declare what the release claims cannot be told where no binary was read.

    The source alone does not refute the claim: a macro of another file, or an option of the build, may declare it.
    """
    built = any(one.built for one in release.artifacts)
    for one in findings:
        untold = one.code == "GA322" and claim.level and not built
        yield one.at(Severity.INCONCLUSIVE) if untold else one


def _row(artifact: Artifact, known: Modules, findings: Sequence[AuditFinding]) -> ArtifactRow:
    from . import tags

    builds = [str(build) for build in tags.served(artifact.tags)]
    said = Counter(str(one.gil) for one in known.declared.values())
    declared = ", ".join(f"{said[gil]} {gil}" for gil in map(str, Gil) if said[gil])
    endings = Counter(
        "GIL on" if one.gil else "GIL off" if one.ending == "imported" else one.ending for one in known.imported.values()
    )
    mine = [one.severity for one in findings if one.subject == artifact.base or one.subject.startswith(f"{artifact.base}:")]
    worst = min(mine, key=WORST_FIRST.index, default=Severity.OK)
    span = builds[0] if len(builds) == 1 else f"{builds[0]} to {builds[-1]}" if builds else ""
    nothing = "no extension modules"
    if artifact.tags and not modules.concerns_free_threading(artifact):
        nothing = "not for free-threaded builds"
    return ArtifactRow(
        artifact.label,
        str(artifact.kind),
        span,
        declared or nothing,
        ", ".join(f"{count} {ending}" for ending, count in endings.items()) or "not tried",
        str(worst),
    )
