"""Encodings and error handlers that are known: those of a program may be code that reads anything."""

from __future__ import annotations

import codecs
from typing import Any


def are_known_codecs(names: list[Any]) -> bool:
    """Whether all of these name encodings and error handlers that no program registers, which may be code that reads anything."""
    return all(
        type(each) is str and each.lower().replace("_", "-") in _CODECS
        and (each not in _HANDLERS or codecs.lookup_error(each) is _HANDLERS[each])
        for each in names
    )  # fmt: skip


_HANDLERS = {
    name: codecs.lookup_error(name)
    for name in (
        "strict",
        "ignore",
        "replace",
        "backslashreplace",
        "surrogateescape",
        "surrogatepass",
        "xmlcharrefreplace",
        "namereplace",
    )
}  # of errors, which a program may register otherwise
_CODECS = frozenset(  # and their error handlers
    {
        "utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1", "iso8859-1", "cp1252", "utf-16",
        "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "strict", "ignore", "replace", "backslashreplace",
        "surrogateescape", "surrogatepass", "xmlcharrefreplace", "namereplace",
    }
)  # fmt: skip
