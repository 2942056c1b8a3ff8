"""GA1xx: what a release claims (classifiers, requires-python, its own settings) against the wheels that it ships."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.tags import Tag

from . import tags as compatibility
from .artifact import Artifact, ArtifactKind
from .finding import AuditFinding, Known, Severity, SourcePlace, found, passed
from .release import BARE, LEVEL_NAMES, SUPPORTED, Metadata, admits, known_level
from .settings import AuditSettings
from .tags import Build


@dataclass(frozen=True)
class Release:
    """The artifacts of one version of one project.

    Attributes:
        project: the project's folder among the audited ones, or None.
    """

    name: str
    artifacts: tuple[Artifact, ...]
    project: Artifact | None = None

    @property
    def wheels(self) -> tuple[Artifact, ...]:
        return tuple(one for one in self.artifacts if one.kind is ArtifactKind.WHEEL and one.tags)

    @property
    def metadata(self) -> list[tuple[Artifact, Metadata]]:
        """Of its artifacts and of its project."""
        both = (*self.artifacts, *((self.project,) if self.project else ()))
        return [(one, one.metadata) for one in both if one.metadata is not None]

    def untold(self, field: str) -> str:
        """Why a field of the metadata cannot be told; empty where it can: a build has written it, or the project's files say it."""
        reasons = [("" if one.built else said.untold.get(field, "")) for one, said in self.metadata]
        return reasons[0] if reasons and all(reasons) else ""


@dataclass(frozen=True)
class ReleaseClaim:
    """What a release claims.

    Attributes:
        level: 0 to 4; 0 is no claim.
        source: where that is said, in words.
        builds: the builds that it names.
        place: the line of the claim in the project, where it has one.
        untold: why the release may claim more, in words; empty where its claim is known.
    """

    level: int
    source: str
    builds: tuple[Build, ...] = ()
    place: SourcePlace | None = None
    untold: str = ""

    @property
    def severity(self) -> Severity:
        """Of a contradiction between the claim and what a binary or an import shows: each level says that the GIL stays off."""
        return Severity.ERROR if self.level else Severity.WARNING

    def __str__(self) -> str:
        if self.level:
            return f'level "{LEVEL_NAMES[self.level]}" ({self.source})'
        return f"a level that cannot be told ({self.untold})" if self.untold else "no level of free-threading support"


def claim_of(release: Release, settings: AuditSettings) -> ReleaseClaim:
    """The claim: of the settings, or the highest of the release's metadata."""
    place = _line_of(release, BARE)
    if settings.level is not None:
        return ReleaseClaim(settings.level, "the setting `level`", settings.builds, place)
    levels = [(said.level, one.label) for one, said in release.metadata if said.level is not None]
    level, label = max(levels, default=(0, ""))
    source = f"classifier of {label}" if level else "no classifier"
    return ReleaseClaim(level or 0, source, settings.builds, place, release.untold("classifiers"))


def check(release: Release, claim: ReleaseClaim, previous: Release | None = None) -> Iterator[AuditFinding]:
    """Every check of this group on one release."""
    yield from _classifiers(release)
    yield from _agreement(release)
    if claim.untold:
        yield found("GA113", release.name, claim.untold, Known.METADATA, place=claim.place)
    if release.wheels:
        yield from _installable(release, claim)
        yield from _holes(release, claim)
        yield from _abi3t(release, claim)
        yield from _classifier_missing(release, claim)
    for wheel in release.wheels:
        yield from _suffixes(wheel)
        yield from _requires_python(wheel)
        if any(tag.abi == "cp313t" for tag in wheel.tags):
            yield found("GA109", wheel.base, "tagged cp313t: free-threaded Python is supported from 3.14 on", Known.TAG)
    if previous is not None:
        yield from _regressed(release, previous)


def _classifiers(release: Release) -> Iterator[AuditFinding]:
    for artifact, said in release.metadata:
        names = said.free_threading
        subject, place = artifact.base, _line_of(release, BARE)
        wrong = [name for name in names if not known_level([name])]
        levels = sorted({name for name in names if known_level([name]) and name != BARE})
        if wrong:
            yield found("GA110", subject, f"no such classifier: {wrong[0]!r}", Known.METADATA, place=place, key="unknown")
        if len(levels) > 1:
            short = ", ".join(name.rpartition(" :: ")[2] for name in levels)
            yield found("GA110", subject, f"several levels: {short}", Known.METADATA, place=place, key="several")
        if names and not wrong and len(levels) < 2:
            yield passed("GA110", subject, names[-1], Known.METADATA)


def _agreement(release: Release) -> Iterator[AuditFinding]:
    """The same claim in every artifact."""
    said = [(one, found_) for one, found_ in release.metadata if "classifiers" not in found_.untold]
    if len(said) < 2:
        return
    first, metadata = said[0]
    differing = False
    for other, theirs in said[1:]:
        for name, one, two in (
            ("free-threading classifiers", sorted(metadata.free_threading), sorted(theirs.free_threading)),
            ("requires-python", str(metadata.requires_python or ""), str(theirs.requires_python or "")),
        ):
            if one != two and not (name == "requires-python" and "requires-python" in {*metadata.untold, *theirs.untold}):
                differing = True
                text = f"{name}: {one or 'none'} in {first.label}, {two or 'none'} in {other.label}"
                yield found("GA112", other.base, text, Known.METADATA, key=name)
    if not differing:
        yield passed("GA112", release.name, f"{len(said)} artifacts carry the same claim", Known.METADATA)


def _installable(release: Release, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    serving = [wheel for wheel in release.wheels if compatibility.serves_free_threading(wheel.tags)]
    place = claim.place or _line_of(release, "[tool.cibuildwheel]")
    if serving:
        yield passed("GA101", release.name, f"{len(serving)} of {len(release.wheels)} wheels serve free-threaded builds", Known.TAG)
    else:
        text = f"{claim}; the {len(release.wheels)} wheels serve builds with a GIL alone"
        stable = [wheel for wheel in release.wheels if any(tag.abi == "abi3" for tag in wheel.tags)]
        if claim.level >= SUPPORTED:
            yield found("GA101", release.name, text, Known.TAG, place=place)
        if stable:
            severity = Severity.WARNING if claim.level else Severity.NOTE
            yield found("GA103", release.name, f"for instance {stable[0].label}", Known.TAG, severity=severity, place=place)
        elif claim.level < SUPPORTED:
            yield found("GA101", release.name, text, Known.TAG, severity=Severity.NOTE, place=place)
    for build in claim.builds:
        if any(compatibility.serves(wheel.tags, build) for wheel in release.wheels):
            yield passed("GA101", release.name, f"a wheel serves {build}, as claimed", Known.TAG, key=str(build))
        else:
            text = f"the setting `builds` names {build}, and no wheel serves it"
            yield found("GA101", release.name, text, Known.TAG, severity=Severity.ERROR, place=place, key=str(build))


def _holes(release: Release, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    serving = [wheel for wheel in release.wheels if compatibility.serves_free_threading(wheel.tags)]
    if not serving or any(compatibility.is_pure(wheel.tags) for wheel in serving):
        return
    with_gil = _families(wheel for wheel in release.wheels if compatibility.serves_gil(wheel.tags))
    without = _families(serving)
    for family in sorted(with_gil - without):
        text = f"{family} has a wheel for builds with a GIL and none for free-threaded builds"
        yield found("GA102", release.name, text, Known.TAG, place=_line_of(release, "[tool.cibuildwheel]"), key=family)
    if not with_gil - without:
        yield passed("GA102", release.name, f"free-threaded wheels for {', '.join(sorted(without))}", Known.TAG)


def _abi3t(release: Release, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    if not any(tag.abi == "abi3t" for wheel in release.wheels for tag in wheel.tags):
        return
    python = next((said.requires_python for _, said in release.metadata), None)
    for version in ((3, 14),):
        if admits(python, version) and not any(compatibility.serves(wheel.tags, Build(version, True)) for wheel in release.wheels):
            text = f"requires-python {str(python or '') or 'is not given, and'} admits 3.14, and no wheel serves cp314t"
            yield found("GA104", release.name, text, Known.TAG, place=_line_of(release, "requires-python"))
            return
    yield passed("GA104", release.name, "every free-threaded build that requires-python admits has a wheel", Known.TAG)


def _classifier_missing(release: Release, claim: ReleaseClaim) -> Iterator[AuditFinding]:
    native = [
        wheel for wheel in release.wheels
        if compatibility.serves_free_threading(wheel.tags) and not compatibility.is_pure(wheel.tags)
    ]  # fmt: skip
    if native and not any(said.free_threading for _, said in release.metadata):
        place = _line_of(release, "classifiers")
        yield found(
            "GA106", release.name, f"{native[0].label} ships, and no classifier says what it supports", Known.METADATA, place=place
        )


def _suffixes(wheel: Artifact) -> Iterator[AuditFinding]:
    """Every module loads on every build that the tag promises."""
    if all(tag.abi == "none" for tag in wheel.tags):
        return  # such a wheel may carry variants for many builds
    served = compatibility.served(wheel.tags)
    modules: dict[str, list[compatibility.Suffix]] = {}
    for one in wheel.extension_modules():
        modules.setdefault(one.module, []).append(one.suffix)
    wrong = False
    for module, suffixes in modules.items():
        missing = [build for build in served if not any(suffix.loads_on(build) for suffix in suffixes)]
        if missing:
            wrong = True
            names = ", ".join(str(build) for build in missing[:4])
            files = [one.file for one in wheel.extension_modules() if one.module == module]
            yield found("GA105", wheel.subject(files[0]), f"{names} would install the wheel and does not load this file", Known.TAG)
    if modules and not wrong:
        yield passed("GA105", wheel.base, f"{len(modules)} modules have names that the tag's builds load", Known.TAG)


def _requires_python(wheel: Artifact) -> Iterator[AuditFinding]:
    if wheel.metadata is None or wheel.metadata.requires_python is None:
        return
    served = compatibility.served(wheel.tags)
    if served and not any(admits(wheel.metadata.requires_python, build.version) for build in served):
        names = ", ".join(map(str, served[:4]))
        text = f"requires-python {wheel.metadata.requires_python} admits none of {names}, which the tag is for"
        yield found("GA111", wheel.base, text, Known.METADATA)
    elif served:
        yield passed("GA111", wheel.base, "requires-python admits what the tag is for", Known.METADATA)


def _regressed(release: Release, previous: Release) -> Iterator[AuditFinding]:
    untold = [one.untold("classifiers") for one in (release, previous)]
    now, before = (max((said.level or 0 for _, said in one.metadata), default=0) for one in (release, previous))
    lost = []
    if any(untold):
        text = f"whether it claims less cannot be told ({' and '.join(why for why in untold if why)})"
        yield found("GA108", release.name, text, Known.METADATA, severity=Severity.INCONCLUSIVE, key="untold")
    elif now < before:
        lost.append(f'the classifier was "{LEVEL_NAMES[before]}" and is "{LEVEL_NAMES[now]}"')
    lost += [f"no wheel for {part} any more" for part in sorted(_served_parts(previous) - _served_parts(release))]
    for text in lost:
        yield found("GA108", release.name, text, Known.METADATA, key=text)
    if not lost and not any(untold):
        yield passed("GA108", release.name, "nothing less than in the release before", Known.METADATA)


def incomparable(release: Release, others: Sequence[Release]) -> AuditFinding:
    """What is said of a release that none of the releases before is an earlier one of."""
    text = f"nothing to compare it with: the release before is {', '.join(one.name for one in others)}"
    return found("GA108", release.name, text, Known.METADATA, severity=Severity.INCONCLUSIVE, key="previous")


def _served_parts(release: Release) -> set[str]:
    """Free-threaded builds and families of platforms that have a wheel; old Pythons may go."""
    parts: set[str] = set()
    for wheel in release.wheels:
        if compatibility.serves_free_threading(wheel.tags):
            parts |= {f"free-threaded {family}" for family in compatibility.families(wheel.tags)} or {"free-threaded builds"}
    return parts


def _families(wheels: object) -> frozenset[str]:
    tags: set[Tag] = set()
    for wheel in wheels:  # type: ignore[attr-defined]
        tags |= wheel.tags
    return compatibility.families(tags)


def _line_of(release: Release, name: str) -> SourcePlace | None:
    """The line of a field in the project's files; of their first table where the field is not there."""
    if release.project is None or release.project.metadata is None:
        return None
    places = release.project.metadata.places
    known = (name, *(("classifiers",) if name == BARE else ()), "[project]", "[tool.poetry]")
    return next((places[one] for one in known if one in places), SourcePlace("pyproject.toml"))


def releases(artifacts: Sequence[Artifact]) -> list[Release]:
    """Artifacts by name and version; a project's folder belongs to the releases of its name, or is one of its own."""
    projects = {one.name: one for one in artifacts if one.kind is ArtifactKind.PROJECT and one.name}
    groups: dict[tuple[str, str], list[Artifact]] = {}
    for one in artifacts:
        if one.kind is not ArtifactKind.PROJECT:
            name = one.name or (one.metadata.name if one.metadata else one.label)
            groups.setdefault((str(name), str(one.version or "")), []).append(one)
    made = [Release(" ".join(key).strip(), tuple(group), projects.get(key[0])) for key, group in groups.items()]
    used = {name for name, _ in groups}
    alone = [one for one in artifacts if one.kind is ArtifactKind.PROJECT and one.name not in used]
    return made + [Release(one.name or one.label, (), one) for one in alone]
