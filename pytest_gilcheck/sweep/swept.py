"""What a sweep has found out about one test, as data: it travels from the child to pytest, and from a worker to its controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

Place = tuple[str, int]  # a file and a line


class SweepOutcome(StrEnum):
    """What became of one test in a sweep."""

    NOTHING = "shares nothing that was seen"
    HOLDS = "no schedule breaks it"
    BROKEN = "broken by a schedule"
    UNBROKEN = "nothing seen with real threads"
    BROKEN_FOR_REAL = "broken by real threads"
    MET = "meets only what another test met"
    CUT_SHORT = "cut short"
    NOT_REPEATABLE = "not repeatable"
    REFUSED = "refused"
    LEFT_OUT = "left out"
    NOT_PASSED = "not passed plainly"


FAILURES = (SweepOutcome.BROKEN, SweepOutcome.BROKEN_FOR_REAL)
CLAIMS = (SweepOutcome.NOTHING, SweepOutcome.HOLDS, SweepOutcome.UNBROKEN, *FAILURES)


@dataclass(frozen=True, kw_only=True)
class Failed:
    """How a schedule, or real threads, break a test.

    Attributes:
        cause: the lines that decide, or where threads wait for each other; empty if not known.
        symptom: of the failure, such as ``"deadlock"``.
        kind: under which conditions it occurs; empty if that was not decided.
        code: of the finding.
        preemptions: of the smallest schedule.
        token: replays it; empty without one.
        story: the failing run, as text.
        through: the files that the run goes through, if the cause is no more than where a thread was preempted first.
    """

    cause: tuple[Place, ...]
    symptom: str
    kind: str
    code: str
    preemptions: int | None
    token: str
    story: str
    through: tuple[str, ...] = ()

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> Failed:
        cause = tuple((file, line) for file, line in packed["cause"])
        return cls(**{**packed, "cause": cause, "through": tuple(packed.get("through", ()))})


@dataclass(frozen=True, kw_only=True)
class Swept:
    """One test in a sweep.

    Attributes:
        test: its node id.
        outcome: what became of it.
        reason: why, in words; of one that shares nothing, the modules of C code that it calls.
        threads: whether it ran as it is, because it starts threads.
        failed: how a schedule breaks it.
        opt_out: what keeps it from running in threads; empty if nothing.
        needless: whether it shares nothing that was seen, although it is kept from running in threads.
        like: the test that was searched, and meets all that this one meets; empty without one.
        put_off: whether its schedules are still to be searched.
    """

    test: str
    outcome: SweepOutcome
    reason: str = ""
    threads: bool = False
    failed: Failed | None = None
    opt_out: str = ""
    needless: bool = False
    like: str = ""
    put_off: bool = False

    @property
    def decided(self) -> bool:
        """Whether something is claimed of it. Where another test meets the same, nothing is: each has asserts of its own."""
        return self.outcome in CLAIMS

    @property
    def settled(self) -> bool:
        """Whether what broke it before is gone if it no longer breaks: what real threads have not shown may still be there."""
        return self.decided and self.outcome is not SweepOutcome.UNBROKEN

    def packed(self) -> dict[str, Any]:
        """As what a report of pytest can carry to another process."""
        return asdict(self) | {"outcome": str(self.outcome)}

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> Swept:
        failed = packed["failed"] and Failed.unpacked(packed["failed"])
        return cls(**{**packed, "outcome": SweepOutcome(packed["outcome"]), "failed": failed})
