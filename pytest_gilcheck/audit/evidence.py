"""GA4xx: what the checks of this project have shown: files of evidence, held against what the release claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from ..checks import CHECKS
from ..core.errors import BadValue
from ..core.evidence import Record, asserted_violated
from ..core.evidence_files import BadEvidence, EvidenceFile, load
from ..core.machine import commit
from .claims import Release, ReleaseClaim
from .finding import AuditFinding, Known, Severity, found, passed
from .settings import AuditSettings

_WORDS = {"GA401": "scaling", "GA402": "signals and latency", "GA403": "interleavings"}
_KINDS = {code: tuple(check.name for check in CHECKS.values() if check.evidence_for == code) for code in _WORDS}
_SEVERITIES = {  # of evidence that is missing, by claimed level
    "GA401": {1: Severity.NOTE, 2: Severity.WARNING, 3: Severity.ERROR, 4: Severity.ERROR},
    "GA402": {1: Severity.NOTE, 2: Severity.NOTE, 3: Severity.WARNING, 4: Severity.WARNING},
    "GA403": {1: Severity.NOTE, 2: Severity.NOTE, 3: Severity.WARNING, 4: Severity.ERROR},
}


@dataclass(frozen=True)
class EvidenceFiles:
    """What was read of the files that were given.

    Attributes:
        records: of runs that came to their end, with no failed test.
        damaged: a line for each file that cannot be used.
        incomplete: a line for each file of another run. What such a run has not come to may be what it would have refuted.
        refuted: violated records of incomplete runs; a violation stands, whatever became of the run.
    """

    given: bool
    records: tuple[Record, ...] = ()
    damaged: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    refuted: tuple[Record, ...] = ()


def read(paths: Sequence[str]) -> EvidenceFiles:
    """Read files of evidence, or all of a folder.

    Raises:
        BadValue: a path that does not exist, or a folder without files of evidence.
    """
    records: list[Record] = []
    damaged: list[str] = []
    incomplete: list[str] = []
    refuted: list[Record] = []
    for text in paths:
        path = Path(text)
        files = (
            sorted(one for one in path.rglob("*") if one.suffix.lower() == ".json" and one.is_file()) if path.is_dir() else [path]
        )
        if not text or not files or not all(one.exists() for one in files):
            raise BadValue("evidence", text, "a file of evidence, or a folder with .json files", "command line --evidence")
        for one in files:
            try:
                file = load(one)
            except BadEvidence as error:
                damaged.append(str(error))
            except (OSError, ValueError) as error:
                damaged.append(f"{one}: {getattr(error, 'strerror', None) or error}")
            else:
                if (why := _incomplete(file)) is None:
                    records += file.records
                else:
                    incomplete.append(f"{one} does not count: {why}")
                    refuted += [each for each in file.records if each["verdict"] == "violated"]
    return EvidenceFiles(bool(paths), tuple(records), tuple(damaged), tuple(incomplete), tuple(refuted))


def _incomplete(file: EvidenceFile) -> str | None:
    """Why the run of a file shows nothing; None if it came to its end and no test failed: one that did may have left no record."""
    if (why := file.unfinished) is not None:
        return why
    return "tests of its run failed (pytest ended with exit status 1)" if file.run.get("exit_status") == 1 else None


def check(
    release: Release, claim: ReleaseClaim, files: EvidenceFiles, settings: AuditSettings, today: date
) -> Iterator[AuditFinding]:
    """Every check of this group; nothing is demanded of a release that claims nothing."""
    subject = release.name
    for line in files.damaged:
        yield found("GA406", subject, line, Known.EVIDENCE, key=line)
    for line in files.incomplete:
        yield found("GA405", subject, line, Known.EVIDENCE, key=line)
    if not claim.level and not files.given:
        return
    records = [one for one in files.records if one["verdict"] is not None]
    if files.given and not (records or files.damaged or files.incomplete):
        yield found("GA405", subject, "there is no result of a check in the files that were given", Known.EVIDENCE, key="empty")
    yield from _of_this_version(release, records)
    fresh = [one for one in records if not _too_old(one, settings.evidence_days, today)]
    for code, kinds in _KINDS.items():
        yield from _kind(subject, claim, code, [one for one in fresh if one["check"] in kinds], len(records) - len(fresh))
    violated = [one for one in (*fresh, *files.refuted) if one["verdict"] == "violated"]
    for one in violated:
        if not asserted_violated(one):
            text = f"{one['check']} check of {one['subject']} on {_label(one)}: {one['reason']}"
            yield found("GA404", subject, text, Known.EVIDENCE, key=f"{one['check']} {one['subject']}")
    if fresh and not violated:
        yield passed("GA404", subject, f"{len(fresh)} checks, none violated", Known.EVIDENCE)


def _kind(subject: str, claim: ReleaseClaim, code: str, records: Sequence[Record], left_out: int) -> Iterator[AuditFinding]:
    """Evidence of one kind: on every claimed build, some check that holds."""
    words = _WORDS[code]
    if not records:
        if claim.level:
            old = f" ({left_out} records are too old)" if left_out else ""
            severity = _SEVERITIES[code][claim.level]
            yield found(code, subject, f"{claim}, and no evidence about {words}{old}", Known.EVIDENCE, severity=severity)
        return
    wanted = [str(build) for build in claim.builds] or ["free-threaded"]
    missing = [name for name in wanted if not any(_is_on(one, name) for one in records)]
    if missing:
        text = f"no check about {words} was made on {', '.join(missing)}"
        yield found("GA405", subject, text, Known.EVIDENCE, key=words)
        return
    for name in wanted:
        there = [one for one in records if _is_on(one, name)]
        changed = [one for one in there if one.get("gil", {}).get("before") != one.get("gil", {}).get("after")]
        if changed:
            text = f"the GIL was re-enabled during the check of {changed[0]['subject']} on {_label(changed[0])}"
            yield found("GA405", subject, text, Known.EVIDENCE, key=f"{words} gil {name}")
        elif all(one["verdict"] == "inconclusive" for one in there):
            text = f"all {len(there)} checks about {words} on {name} were inconclusive"
            yield found("GA405", subject, text, Known.EVIDENCE, key=f"{words} {name}")
        elif any(one["verdict"] == "holds" for one in there):
            held = sum(one["verdict"] == "holds" for one in there)
            yield passed(code, subject, f"{held} of {len(there)} checks about {words} hold on {name}", Known.EVIDENCE, key=name)


def _of_this_version(release: Release, records: Sequence[Record]) -> Iterator[AuditFinding]:
    """The commit of the runs against that of the project's folder, where both are known."""
    if not records:
        return
    commits = {_run(one).get("commit") for one in records}
    dirty = any(_run(one).get("dirty") is True for one in records)
    if release.project is None:
        text = "there is no project folder to compare the commit of the evidence with: name it as well"
        yield found("GA405", release.name, text, Known.EVIDENCE, key="commit")
        return
    head, _ = commit(release.project.path)
    if head is None or None in commits:
        text = "the commit of the project, or of the evidence, is not known"
        yield found("GA405", release.name, text, Known.EVIDENCE, key="commit")
    elif commits != {head}:
        other = sorted(str(one) for one in commits if one != head)[0]
        yield found(
            "GA406", release.name, f"it is of commit {other[:12]}, the project is at {head[:12]}", Known.EVIDENCE, key="commit"
        )
    elif dirty:
        text = "it was made in a folder with changes that were not committed"
        yield found("GA405", release.name, text, Known.EVIDENCE, key="commit")
    else:
        yield passed("GA406", release.name, f"{len(records)} records of commit {head[:12]}", Known.EVIDENCE)


def _run(record: Record) -> Mapping[str, Any]:
    run = record.get("run")
    return run if isinstance(run, Mapping) else {}


def _too_old(record: Record, days: int | None, today: date) -> bool:
    if days is None:
        return False
    try:
        made = datetime.strptime(record["recorded"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).date()
    except ValueError:
        return True
    return (today - made).days > days


def _is_on(record: Record, name: str) -> bool:
    """Whether a record is of a build: ``free-threaded``, or one such as ``cp314t``."""
    python = record["interpreter"]
    if name == "free-threaded":
        return bool(python["build"] == "free-threaded")
    minor = "".join(str(python["version"]).split(".")[:2])
    return name == f"cp{minor}{'t' if python['build'] == 'free-threaded' else ''}"


def _label(record: Record) -> str:
    python = record["interpreter"]
    return f"{python['implementation']} {python['version']} {python['build']}"
