"""Functions of the standard library that look at nothing but the values of their arguments, and change nothing that a program sees.

Some keep caches (compiled patterns, struct formats). What they return does not depend on what is in these, so the order of two
calls makes no difference. The answer holds for exactly these functions, and for arguments that no thread can change.
"""

from __future__ import annotations

import re
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ...core.origin import standard
from .operands import immutable
from .values import is_constant

_NAMES = {  # by module; `math` has no others
    "re": "compile search match fullmatch split findall sub subn escape",
    "base64": "b64encode b64decode standard_b64encode standard_b64decode urlsafe_b64encode urlsafe_b64decode",
    "binascii": "a2b_base64 b2a_base64 a2b_hex b2a_hex hexlify unhexlify crc32",
    "html": "escape",
    "json": "loads dumps",
    "posixpath": "join split splitext basename dirname normpath isabs normcase",
    "ntpath": "join split splitext basename dirname isabs",
    "string": "capwords",
    "_operator": (
        "add sub mul truediv floordiv mod pow neg pos abs inv invert and_ or_ xor lshift rshift not_ truth eq ne lt le gt ge "
        "is_ is_not index concat contains countOf indexOf getitem"
    ),
    "_struct": "pack unpack calcsize",
    "textwrap": "dedent",
    "unicodedata": "normalize category name lookup combining east_asian_width decimal digit numeric bidirectional mirrored",
    "urllib.parse": "quote unquote quote_plus unquote_plus quote_from_bytes urlparse urlsplit urljoin urldefrag",
    "zlib": "compress decompress crc32 adler32",
}
_FUNCTIONS = frozenset((module, name) for module, names in _NAMES.items() for name in names.split())
_GOING_THROUGH = frozenset({("json", "dumps"), *(("statistics", name) for name in ("mean", "median", "mode", "stdev", "variance"))})
_CALLING = frozenset({("re", "sub"), ("re", "subn")})  # they call a function that is given to them, and do no more with it
_OF_PATTERNS = frozenset({"search", "match", "fullmatch", "split", "findall", "sub", "subn"})
_OF_MATCHES = frozenset({"group", "groups", "groupdict", "start", "end", "span", "__getitem__"})


def looks_at_its_arguments_alone(function: Any, arguments: list[Any]) -> bool:
    """Whether a call of a function is known to touch nothing that can change.

    Args:
        arguments: all of them, but no function under test that it calls (`calls_an_argument`): that makes steps of its own.
    """
    name = _name(function)
    return (name in _FUNCTIONS or name[0] == "math") and all(_value(each) for each in arguments)


def keeps_its_arguments(function: Any) -> bool:
    """Whether a function does no more than to return one of its arguments, or to keep them, and looks into nothing."""
    return _name(function) == ("typing", "cast")


def reads_its_arguments(function: Any) -> bool:
    """Whether a function goes through what it is given, all the way down, and touches nothing else."""
    return _name(function) in _GOING_THROUGH


def calls_an_argument(function: Any) -> bool:
    """Whether a function calls what is given to it in the place of a text."""
    return _name(function) in _CALLING


def method_looks_at_its_arguments_alone(name: str, owner: Any, arguments: list[Any]) -> bool:
    """Whether a call of a method in C is known to touch nothing that can change."""
    if type(owner) is re.Pattern:
        return name in _OF_PATTERNS and all(_value(each) for each in arguments)
    if type(owner) is re.Match:
        return name in _OF_MATCHES and immutable(owner.string) and all(_value(each) for each in arguments)
    return False


def _name(function: Any) -> tuple[str, str]:
    """The module of the standard library in which a function was made, and its name there; empty if it was not."""
    if type(function) is FunctionType and standard(function.__code__.co_filename):
        return str(function.__globals__.get("__name__")), function.__code__.co_qualname
    if type(function) is BuiltinFunctionType and type(function.__self__) is ModuleType:
        return str(vars(function.__self__).get("__name__")), function.__name__
    return "", ""


def _value(thing: Any) -> bool:
    return is_constant(thing) or type(thing) is re.Pattern
