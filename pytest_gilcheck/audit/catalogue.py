"""Every kind of finding: its code, its severity, why it matters and how to mend it; the texts are in ``catalogue.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Rule:
    """One kind of finding.

    Attributes:
        code: for instance ``"GA201"``.
        name: a short name, the same in every format.
        severity: error, warning, note or inconclusive; a check may give another where the claim decides.
        title: what is wrong, in one line.
        why: what it means for users.
        mend: what to do.
    """

    code: str
    name: str
    severity: str
    title: str
    why: str
    mend: str

    @property
    def group(self) -> str:
        """The group of checks that it belongs to, in words."""
        return GROUPS[self.code[2]]


GROUPS = {
    "1": "claims against artifacts",
    "2": "binaries and imports",
    "3": "source",
    "4": "evidence",
    "5": "documentation",
    "9": "configuration",
}

CATALOGUE = {
    code: Rule(code, **texts)
    for code, texts in tomllib.loads(resources.files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8")).items()
}


def explain(code: str) -> str | None:
    """The page about a code, as text; None for a code that does not exist."""
    rule = CATALOGUE.get(code.strip().upper())
    if rule is None:
        return None
    return f"{rule.code} {rule.name} ({rule.severity}; {rule.group})\n{rule.title}\n\nwhy: {rule.why}\nmend: {rule.mend}"
