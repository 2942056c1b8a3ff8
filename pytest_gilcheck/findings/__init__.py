"""The pages of the codes: what each kind of finding means, and how to mend it. `gilcheck explain` prints them without a network.

The folder ``pages`` has one file for each code of `core.codes`, without its heading. The documentation's pages are generated from
these files (``python -m tests.docs.generated``).
"""

from __future__ import annotations

import re
from importlib import resources

from ..core.codes import CODES, GROUPS

_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")  # nothing to click on in a terminal


def page(code: str) -> str:
    """The page about a code, as Markdown.

    Raises:
        KeyError: there is no such code.
    """
    row = CODES[code]
    text = resources.files(__package__).joinpath("pages", f"{code}.md").read_text(encoding="utf-8")
    group = GROUPS[code[2]]
    origin = "any check" if group == "any" else f"check: {group}"
    return f"# {code} `{row.name}`: {row.title}\n\n({origin})\n\n{text}"


def explain(code: str) -> str | None:
    """The page about a code, for a terminal; None for a code that does not exist."""
    known = code.strip().upper()
    return _RELATIVE_LINK.sub(r"\1", page(known)).rstrip() if known in CODES else None


def listed() -> list[str]:
    """One line for each code."""
    return [f"{row.code} {row.check:12} {row.name}: {row.title}" for row in CODES.values()]
