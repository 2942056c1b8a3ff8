"""Attributes, globals, cells and imports."""

from __future__ import annotations

import builtins
import sys
from types import FunctionType

from ....core.origin import ours
from .. import in_c
from ..attributes import attribute_read, attribute_stored, of_super
from ..stack import NOTHING, local_of
from ..touch import UNKNOWN, Touch, Touches
from .at import At, Rule


def load_attribute(at: At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else attribute_read(found[0], at.value, at.under_test)


def store_attribute(at: At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else attribute_stored(found[0], at.value, at.under_test, deletes=at.name == "DELETE_ATTR")


def load_super_attribute(at: At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else of_super(found[0], at.value, at.under_test)


def load_global(at: At) -> Touches:
    found = [Touch(at.frame.f_globals, at.value, False)]
    return found if at.value in at.frame.f_globals else [*found, Touch(at.frame.f_builtins, at.value, False)]


def store_global(at: At) -> Touches:
    return [Touch(at.frame.f_globals, at.value, True)]


def cell(changes: bool) -> Rule:
    def rule(at: At) -> Touches:
        cell = local_of(at.frame, at.argument)
        return UNKNOWN if cell is NOTHING else [Touch(cell, "", changes)]

    return rule


def imported(at: At) -> Touches:
    """An import statement: of a module that has been imported before, it looks it up, and what is wanted of it."""
    found = at.top(2)
    if found is None:
        return UNKNOWN
    level, names = found
    importer = at.frame.f_builtins.get("__import__")
    if importer is not _IMPORT and not (type(importer) is FunctionType and ours(importer.__code__.co_filename)):
        return UNKNOWN
    full = in_c.imported_name(at.frame.f_globals, level, at.value)
    if full is None or not in_c.is_imported(full, names):
        return UNKNOWN
    return [Touch(sys.modules, (full,), False)]


_IMPORT = builtins.__import__
