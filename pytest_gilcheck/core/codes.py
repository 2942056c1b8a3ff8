"""The codes of findings: one stable code for every kind of finding that a check can report.

Codes are never reused and never change their meaning: people write them into issues, baselines and commit messages. The page of a
code says what it means and how to mend it (`pytest_gilcheck.findings`). Codes of the audit begin with ``GA`` and have a catalogue
of their own.
"""

from __future__ import annotations

from typing import NamedTuple

SITE = "https://pytest-gilcheck.readthedocs.io/en/latest"  # the documentation; pyproject.toml has the same address


class FindingCode(NamedTuple):
    """One kind of finding.

    Attributes:
        code: ``"GC"`` and three digits, of which the first is the group.
        check: the group: the check that reports it, or ``"any"``.
        name: the cause as the check names it, such as ``"gil"`` or ``"stuck in cleanup"``.
        title: what is wrong, in a few words.
    """

    code: str
    check: str
    name: str
    title: str


_ROWS = (
    FindingCode("GC101", "scaling", "gil", "the threads take turns at the GIL"),
    FindingCode("GC102", "scaling", "lock", "the threads take turns at a lock of the program"),
    FindingCode("GC103", "scaling", "contention", "the threads run at once, and slow each other down"),
    FindingCode("GC104", "scaling", "waiting", "the threads wait for each other or for I/O"),
    FindingCode("GC105", "scaling", "machine", "the machine is too busy to tell"),
    FindingCode("GC106", "scaling", "scales", "it scales, but the claim asks for more"),
    FindingCode("GC107", "scaling", "unknown", "it does not scale, and no single cause was found"),
    FindingCode("GC108", "scaling", "hangs", "a lap did not end"),
    FindingCode("GC201", "interrupt", "deaf", "a C call did not check for signals"),
    FindingCode("GC202", "interrupt", "late", "the signal was handled too late"),
    FindingCode("GC203", "interrupt", "lost", "the signal was handled only after a second one"),
    FindingCode("GC204", "interrupt", "blocked", "the thread blocks the signal"),
    FindingCode("GC205", "interrupt", "ignored", "the process ignores the signal"),
    FindingCode("GC206", "interrupt", "replaced", "the handler is no longer Python's"),
    FindingCode("GC207", "interrupt", "swallowed", "code caught the interrupt, and went on"),
    FindingCode("GC208", "interrupt", "stuck in cleanup", "a with or finally block does not end"),
    FindingCode("GC209", "interrupt", "lingers", "the work ended, and the process did not"),
    FindingCode("GC210", "interrupt", "left behind", "child processes outlive the process"),
    FindingCode("GC211", "interrupt", "crashed", "the process crashed"),
    FindingCode("GC221", "interrupt", "ended", "the process ended by itself before any signal"),
    FindingCode("GC222", "interrupt", "missed", "the body was over before the signal came"),
    FindingCode("GC223", "interrupt", "busy", "the machine gave the process no core"),
    FindingCode("GC224", "interrupt", "unreported", "the process ended without a report"),
    FindingCode("GC301", "injection", "unsafe", "an exception at this line leaves something broken"),
    FindingCode("GC302", "injection", "library", "an exception inside a library leaves something broken"),
    FindingCode("GC401", "latency", "C call", "a C call holds the GIL for too long"),
    FindingCode("GC402", "latency", "bytecode", "busy threads make others wait for the GIL"),
    FindingCode("GC403", "latency", "other", "others are late, and no holder of the GIL was seen"),
    FindingCode("GC404", "latency", "bytecode or C call", "busy threads or a C call make others wait for the GIL"),
    FindingCode("GC501", "fuzz", "invariant", "a schedule breaks the invariant, on today's builds too"),
    FindingCode("GC502", "fuzz", "exception", "a schedule raises an exception that no sequential order raises"),
    FindingCode("GC503", "fuzz", "deadlock", "threads wait for each other for ever"),
    FindingCode("GC504", "fuzz", "never ends", "a thread waits for something that nobody will do"),
    FindingCode("GC505", "fuzz", "livelock", "threads run for ever and make no progress"),
    FindingCode("GC506", "fuzz", "hangs", "a thread computes or is blocked until the time limit"),
    FindingCode("GC507", "fuzz", "GIL-MASKED", "a race that the GIL hides today"),
    FindingCode("GC508", "fuzz", "sequential", "it fails without any concurrency"),
    FindingCode("GC509", "fuzz", "not repeatable", "it fails when it runs again, without any concurrency"),
    FindingCode("GC510", "fuzz", "insensitive", "the test does not notice that a lock is missing"),
    FindingCode("GC511", "fuzz", "diverged", "a replay went another way than its token"),
    FindingCode("GC512", "fuzz", "crashed", "a schedule ends the interpreter"),
    FindingCode("GC601", "stress", "C-LEVEL", "it breaks only when threads really run at once"),
    FindingCode("GC602", "stress", "crashed", "the process died while threads ran at once"),
    FindingCode("GC701", "linearizable", "not atomic", "operations give results that no sequential order gives"),
    FindingCode("GC702", "linearizable", "exception", "an operation raises what it raises in no sequential order"),
    FindingCode("GC703", "linearizable", "stuck", "an operation waits for ever where it does in no sequential order"),
    FindingCode("GC704", "linearizable", "real-time order", "an operation does not see one that had returned"),
    FindingCode("GC705", "linearizable", "model", "a class differs from its model without any concurrency"),
    FindingCode("GC706", "linearizable", "GIL-MASKED", "a class is wrong under threads, and the GIL hides it today"),
    FindingCode("GC707", "linearizable", "hidden state", "a class keeps state outside of its objects"),
    FindingCode("GC901", "any", "undecided", "the check could not decide"),
    FindingCode("GC902", "any", "not judged", "the test called a check, and nobody judged its result"),
    FindingCode("GC903", "any", "ended early", "the test ended before its check did"),
    FindingCode("GC904", "any", "usage", "an argument or a setting cannot be used"),
)
CODES = {row.code: row for row in _ROWS}
GROUPS = {
    "1": "scaling",
    "2": "interrupt",
    "3": "injection",
    "4": "latency",
    "5": "fuzz",
    "6": "stress",
    "7": "linearizable",
    "9": "any",
}
_BY_NAME = {(row.check, row.name): row.code for row in _ROWS}
UNDECIDED, NOT_JUDGED, ENDED_EARLY, USAGE = "GC901", "GC902", "GC903", "GC904"


def code_of(check: str, name: str) -> str:
    """The code of a cause, by the check that reports it and the name that the check gives it.

    Raises:
        KeyError: this cause has no code.
    """
    return _BY_NAME[check, name]


def page_address(code: str) -> str:
    """The address of a code's page in the documentation."""
    return f"{SITE}/how-to/findings/{code.lower()}.html"


def help_line(code: str) -> str:
    """Where a code is explained, in one line of a message; empty without a code."""
    return f"help: gilcheck explain {code}, or {page_address(code)}" if code else ""
