"""Text that artifacts hold, made safe for a terminal and for one line."""

from __future__ import annotations


def plain(value: object) -> str:
    """The text on one line, without control characters, directions of writing, invisible and half characters."""
    text = "".join(one if one.isprintable() else " " if one.isspace() or not one.isprintable() else "" for one in str(value))
    return " ".join(text.split())


def xml(value: object) -> str:
    """The text for XML and HTML: on one line, and escaped."""
    text = plain(value)
    for one, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(one, escaped)
    return text
