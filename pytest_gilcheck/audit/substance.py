"""GA903: was there anything to check? That nothing is found in nothing is no result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import source
from .artifact import Artifact
from .claims import Release
from .finding import AuditFinding, Known, found


def without_code(release: Release) -> Iterator[AuditFinding]:
    """What is built has to hold code, each for itself; of a release that is not built, its source."""
    both = [*release.artifacts, *((release.project,) if release.project is not None else ())]
    groups = [[one] for one in both if one.built] or [both]
    for group in groups:
        opened = [one for one in group if one.files is not None]
        subject = release.name if len(group) > 1 else group[0].base
        if why := next((one.unlisted for one in opened if one.unlisted), ""):
            yield found("GA903", subject, why, Known.ARCHIVE)
        elif opened and not any(_has_code(one) for one in opened):
            why = "no Python source and no extension module in it; tests, documentation and tools are left out"
            yield found("GA903", subject, why, Known.ARCHIVE)


def without_checks(releases: Sequence[Release]) -> AuditFinding:
    """What an audit says that has neither a finding nor a check that found nothing."""
    return found("GA903", ", ".join(one.name for one in releases), "no check was made", Known.CONFIGURATION)


def _has_code(artifact: Artifact) -> bool:
    return any(True for _ in source.sources(artifact)) or any(True for _ in artifact.extension_modules())
