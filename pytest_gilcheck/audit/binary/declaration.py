"""What an extension module's binary declares about the GIL, in any of the three forms, without importing it.

- Multi-phase: ``PyInit_NAME`` returns ``PyModuleDef_Init(&def)``, and ``def.m_slots`` has ``{Py_mod_gil, Py_MOD_GIL_NOT_USED}``.
- Single-phase: ``PyInit_NAME`` creates the module and calls ``PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED)``.
- From Python 3.15 on, ``PyModExport_NAME`` (PEP 793) returns an array of ``PySlot`` (PEP 820), with another layout and numbers.

A module that declares nothing switches the GIL on. What cannot be told is `Gil.UNKNOWN`, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .image import Damaged, Image
from .processors import machine_of
from .reading import images
from .walk import CREATORS, MULTI_PHASE, SET_GIL, Result, Unknown, Value, Walk, WalkOutcome, WalkState

_GIL_SLOTS, _INTERPRETER_SLOTS = (4, 87), (3, 86)
_SUBSLOTS, _DEFINITION_SLOTS = 92, 94  # arrays inside arrays: of PySlot, of PyModuleDef_Slot
_MOST_SLOTS, _DEEPEST = 64, 5
_NOT_USED = 1
_BASES = (40, 56)  # bytes of PyModuleDef_Base: with a GIL, free-threaded
_INTERPRETERS = {0: "not supported", 1: "supported", 2: "with a GIL of their own"}


class Gil(StrEnum):
    """What is declared: that the module runs without the GIL, that it does not (or nothing), or it cannot be told."""

    NOT_USED = "not used"
    USED = "used"
    UNKNOWN = "cannot be told"


@dataclass(frozen=True)
class Declaration:
    """What one entry point of one image declares.

    Attributes:
        gil: see `Gil`.
        form: ``multi-phase``, ``single-phase`` or ``PySlot``; empty where that cannot be told.
        why: how that is known, or why it is not, in words.
        interpreters: what is said of subinterpreters; empty where nothing is.
        machine: of the image.
    """

    gil: Gil
    form: str
    why: str
    interpreters: str = ""
    machine: str = ""


def declarations(data: bytes | bytearray, module: str) -> list[Declaration]:
    """What a file declares for a module of that (last) name: one for each architecture in it. Empty if it is no extension module.

    Raises:
        Damaged: the file cannot be read.
    """
    found = []
    for image in images(data):
        declared = _declared(image, module)
        if declared is not None:
            found.append(declared)
    return found


def combined(found: list[Declaration]) -> Declaration:
    """One declaration for all architectures: NOT_USED only if every one says so."""
    for wanted in (Gil.USED, Gil.UNKNOWN):
        for one in found:
            if one.gil is wanted:
                return one
    return found[0]


def entry_points(image: Image, module: str) -> dict[str, int]:
    """The entry points of a module, by form."""
    try:
        module.encode("ascii")
        suffix = f"_{module}"
    except UnicodeEncodeError:  # PEP 489: PyInitU_ and Punycode
        suffix = "U_" + module.encode("punycode").decode("ascii").replace("-", "_")
    return {prefix: image.exports[prefix + suffix] for prefix in ("PyInit", "PyModExport") if prefix + suffix in image.exports}


def _declared(image: Image, module: str) -> Declaration | None:
    if not image.segments:  # of an architecture that is not read
        return Declaration(Gil.UNKNOWN, "", f"code of {image.machine} ({image.kind}) is not read", machine=image.machine)
    points = entry_points(image, module)
    if not points:
        others = [name for name in image.exports if name.startswith(("PyInit_", "PyInitU_", "PyModExport_"))]
        if others:
            return Declaration(Gil.UNKNOWN, "", f"it exports {others[0]} and not PyInit_{module}", machine=image.machine)
        return None
    found = []
    for prefix, address in points.items():
        one = _walked(image, prefix, address)
        found.append(Declaration(one.gil, one.form, one.why, one.interpreters, image.machine))
    return combined(found)


def _walked(image: Image, prefix: str, address: int) -> Declaration:
    try:
        machine = machine_of(image)
    except Unknown as error:
        return _without_walk(image, str(error))
    guards: frozenset[int] = frozenset()
    while True:
        walk = Walk(image, machine, guards)
        try:
            one = _exported(walk, address) if prefix == "PyModExport" else _initialised(image, walk, address)
        except Unknown as error:
            one = _without_walk(image, str(error))
        if one.gil is not Gil.UNKNOWN or walk.guards <= guards:
            return one
        guards = frozenset(walk.guards)


def _without_walk(image: Image, why: str) -> Declaration:
    """What the names of the imported functions decide alone."""
    if image.undefined & CREATORS and not image.undefined & {SET_GIL, MULTI_PHASE}:
        return Declaration(Gil.USED, "single-phase", f"it never calls {SET_GIL}")
    return Declaration(Gil.UNKNOWN, "", why)


def _initialised(image: Image, walk: Walk, address: int) -> Declaration:
    if image.undefined & CREATORS and not image.undefined & {SET_GIL, MULTI_PHASE}:
        return _without_walk(image, "")
    outcome = walk.run(address)
    definitions = {call.arguments[0]: call.state for call in outcome.calls if call.name == MULTI_PHASE}
    ways = [way for way in outcome.returns if way[0] != 0]
    multi = [way for way in ways if isinstance(way[0], Result) and way[0].name == MULTI_PHASE]
    if definitions and len(multi) == len(ways):
        if len(definitions) > 1:
            return Declaration(Gil.UNKNOWN, "multi-phase", "it has several module definitions")
        definition, state = definitions.popitem()
        return _definition(walk, state, definition)
    if definitions and (multi or any(way[0] is None for way in ways)):
        only = _only_multi_phase(walk, outcome)
        if only is not None:
            return only
        return Declaration(Gil.UNKNOWN, "", "it may initialise its module in one phase or in two")
    return _single_phase(image, ways)


def _only_multi_phase(walk: Walk, outcome: WalkOutcome) -> Declaration | None:
    """Where nothing else of the image creates a module, what is returned unseen is the definition as well."""
    if walk.image.undefined & CREATORS or any(call.name == SET_GIL for call in outcome.calls):
        return None
    definitions = {call.arguments[0]: call.state for call in outcome.calls if call.name == MULTI_PHASE}
    if len(definitions) != 1:
        return None
    definition, state = definitions.popitem()
    return _definition(walk, state, definition)


def _single_phase(image: Image, ways: list[tuple[Value, Value | str, WalkState]]) -> Declaration:
    declared = {way[1] for way in ways}
    if not ways:
        return Declaration(Gil.UNKNOWN, "", "no way through its initialisation returns a module")
    if declared == {_NOT_USED}:
        return Declaration(Gil.NOT_USED, "single-phase", f"every way calls {SET_GIL} with Py_MOD_GIL_NOT_USED")
    if declared == {0}:
        return Declaration(Gil.USED, "single-phase", f"it calls {SET_GIL} with Py_MOD_GIL_USED")
    if declared == {"unset"} and image.undefined & CREATORS:
        made = [way[0] for way in ways]
        if all(isinstance(one, Result) and one.name in CREATORS for one in made):
            return Declaration(Gil.USED, "single-phase", f"it returns the module without a call of {SET_GIL}")
    if not image.undefined & CREATORS:
        return Declaration(Gil.UNKNOWN, "single-phase", "another library creates its module")
    return Declaration(
        Gil.UNKNOWN, "single-phase", f"the argument of {SET_GIL}, or whether it is called, is not the same on every way"
    )


def _definition(walk: Walk, state: WalkState, definition: Value) -> Declaration:
    """Of a PyModuleDef: its slots, as the file and the walked instructions leave them."""
    if not isinstance(definition, int):
        return Declaration(Gil.UNKNOWN, "multi-phase", "its definition is made at run time")
    for base in _BASES:
        name = walk.load(state, definition + base, 8, initial=True)
        if not isinstance(name, int) or not name or walk.image.text(name) is None:
            continue
        slots = walk.load(state, definition + base + 32, 8, initial=True)
        if not isinstance(slots, int):
            return Declaration(Gil.UNKNOWN, "multi-phase", "its table of slots is made at run time")
        if slots == 0:
            return Declaration(Gil.USED, "multi-phase", "its definition has no slots")
        return _from_slots(_slots_of(walk, state, slots, 0, _DEFINITION_ID), "multi-phase")
    return Declaration(Gil.UNKNOWN, "multi-phase", "its definition is filled at run time")


def _exported(walk: Walk, address: int) -> Declaration:
    outcome = walk.run(address)
    arrays = {way[0]: way[2] for way in outcome.returns if way[0] != 0}
    if len(arrays) != 1:
        return Declaration(Gil.UNKNOWN, "PySlot", "it returns one of several tables of slots")
    array, state = arrays.popitem()
    if not isinstance(array, int):
        return Declaration(Gil.UNKNOWN, "PySlot", "its table of slots is made at run time")
    return _from_slots(_slots_of(walk, state, array, 0, _NEW_ID), "PySlot")


_Slots = dict[int, Value]
_DEFINITION_ID, _NEW_ID = 4, 2  # bytes of a slot's number in either kind of array


def _slots_of(walk: Walk, state: WalkState, address: int, depth: int, id_bytes: int) -> _Slots | None:
    """The slots of an array up to slot 0; None where it cannot be read.

    Args:
        id_bytes: width of a slot's number: `_DEFINITION_ID` of ``{int slot; void *value;}``, `_NEW_ID` of
            ``{uint16 id; uint16 flags; uint32 reserved; 8 bytes of value}``.
    """
    slots: _Slots = {}
    filled_later = state.lost and walk.image.is_zero_filled(address) and (False, address) not in state.memory
    for index in range(_MOST_SLOTS):
        place = address + 16 * index
        number = walk.load(state, place, id_bytes, initial=True)
        if not isinstance(number, int):
            return None
        if number == 0:
            return None if filled_later else slots
        value = walk.load(state, place + 8, 8, initial=True)
        if number in (_SUBSLOTS, _DEFINITION_SLOTS):
            if not _take_inner(walk, state, slots, number, value, depth):
                return None
        else:
            slots[number] = value
    return None


def _take_inner(walk: Walk, state: WalkState, slots: _Slots, number: int, value: Value, depth: int) -> bool:
    """Add the slots of an array inside an array; False where it cannot be read."""
    if value == 0:
        return True
    if not isinstance(value, int) or depth >= _DEEPEST:
        return False
    inner = _slots_of(walk, state, value, depth + 1, _NEW_ID if number == _SUBSLOTS else _DEFINITION_ID)
    if inner is None:
        return False
    slots.update(inner)
    return True


def _from_slots(slots: _Slots | None, form: str) -> Declaration:
    if slots is None:
        return Declaration(Gil.UNKNOWN, form, "its table of slots cannot be read")
    said = [slots[number] for number in _INTERPRETER_SLOTS if number in slots]
    value = said[0] if said else None
    interpreters = _INTERPRETERS.get(value, "") if isinstance(value, int) else ""
    values = {slots[number] for number in _GIL_SLOTS if number in slots}
    if not values:
        return Declaration(Gil.USED, form, "it has no slot Py_mod_gil", interpreters)
    if values == {_NOT_USED}:
        return Declaration(Gil.NOT_USED, form, "the slot Py_mod_gil is Py_MOD_GIL_NOT_USED", interpreters)
    if values == {0}:
        return Declaration(Gil.USED, form, "the slot Py_mod_gil is Py_MOD_GIL_USED", interpreters)
    return Declaration(Gil.UNKNOWN, form, "the value of its slot Py_mod_gil is made at run time", interpreters)


__all__ = ["Damaged", "Declaration", "Gil", "combined", "declarations"]
