"""What a visible step touches: objects, what of them, and whether it changes them, told from the operands of its instruction.

The answer is complete or it is `UNKNOWN`: two steps of which neither changes what the other touches commute, so the order of the
two makes no difference. What happens in C is known for the types and functions that are listed here, exactly those and no
subclasses. An instruction that calls code under test touches nothing by itself, because that code makes steps of its own. All the
rest is unknown: other functions in C, code of the standard library, instructions that are not listed.

Nothing here runs code of the program, nor asks its objects anything.
"""

from __future__ import annotations

import builtins
import codecs
import collections
import gc
import io
import itertools
import opcode
import sys
from collections.abc import Callable, Iterable
from functools import partial
from inspect import CO_GENERATOR
from operator import itemgetter
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.classes import computes_its_class, in_class, is_a, name_of_class, names_of
from ...core.lookup import looked_up
from ...core.origin import ours
from . import contexts, in_c, in_python, ordering, pure, torn, values, waiting
from .attributes import attribute_read, attribute_stored, by_classes, is_kept, of_super
from .calls import _PLAIN_ERRORS, _PLAIN_NEWS, _made_by_steps, _makes_steps, hands_over, makes_steps
from .elements import (
    CHANGING,
    OF_POOLS,
    PURE_OF_SCALARS,
    VIEWS,
    advanced,
    asked,
    begun,
    calls_back,
    holds_constants,
    holds_scalars,
    interrupted,
    into,
    into_elements,
    is_exact,
    makes_a_generator,
    of_a_known_kind,
    plain_slice,
    whole,
)
from .instructions import instructions_of
from .operands import immutable
from .operators import (
    all_methods_make_steps,
    asks_nobody,
    calls_code,
    container_of,
    kind_for_method,
    kind_of,
    made_as,
    plain_value,
    value_made_by,
)
from .quiet_keys import keys_compare_quietly
from .setters import stored_by_initialiser
from .stack import NOTHING, local_of, operands_of, topmost
from .touch import ALL, CONTAINERS, DICTS, LISTS, SCALARS, SETS, SIZE, UNKNOWN, Touch, Touches, UnderTest, both

_LAZY = frozenset({map, filter, itertools.islice})
_SIZED = frozenset({bool, len, list, tuple, iter, enumerate, zip, reversed, bytes, bytearray, collections.deque})
_DEEP = frozenset(
    {set, frozenset, dict, str, repr, sorted, min, max, sum, any, all, collections.OrderedDict, collections.defaultdict}
)
_GATHERING = frozenset({list, tuple, set, frozenset, sum, any, all, min, max, sorted})
_LOOKING = frozenset({isinstance, issubclass, callable, object, range, slice, super})
_READING_METHODS = frozenset({"copy", "count", "index", "keys", "values", "items", "__len__", "__contains__", "__iter__"})
_SET_READING = frozenset({"union", "difference", "intersection", "symmetric_difference", "issubset", "issuperset", "isdisjoint"})
_OF_ELEMENTS = frozenset({"count", "index", "remove", "sort", *_SET_READING, "update", "difference_update", "intersection_update"})
_OF_ONE_KEY = frozenset({"get", "setdefault", "pop", "__contains__"})
_OF_ITEMS = frozenset({"__getitem__", "__setitem__", "__delitem__"})
_CHANGING_ONE_KEY = frozenset({"setdefault", "pop", "__setitem__", "__delitem__"})
_SETTING = frozenset({"add", "discard", "remove"})
_STORING_METHODS = frozenset({"append", "appendleft", "insert"})  # they ask nothing of what they store
_BY_INDEX = frozenset({"insert", "pop", "rotate"})


def touches(frame: FrameType, name: str, argument: int, value: Any, under_test: UnderTest) -> Touches:
    """What the instruction at which a frame is touches.

    Args:
        name, argument, value: ``opname``, ``arg`` and ``argval`` of the instruction.
        under_test: the predicate for files whose code makes steps of its own.
    """
    rule = looked_up(_RULES, name)
    if rule is None:
        return UNKNOWN
    at = _At(frame, name, argument, value, under_test)
    found = rule(at)
    if not found or not FREE_THREADED_BUILD:
        return found
    operands = (at.top(2) if name in ("BINARY_OP", "COMPARE_OP") else None) or ()
    found = _torn(found, torn.of_instruction(name, at.sign))
    return _in_parts(_in_bulk(found, at.sign, operands[1:]) if operands else found, operands)


class _At(NamedTuple):
    frame: FrameType
    name: str
    argument: int
    value: Any
    under_test: UnderTest

    @property
    def sign(self) -> str:
        """That of an operator: ``"+="``."""
        if self.name == "BINARY_OP":
            return str(_OPERATORS[self.argument])
        return str(self.value).removeprefix("bool(").removesuffix(")") if self.name == "COMPARE_OP" else ""

    def top(self, count: int) -> tuple[Any, ...] | None:
        return operands_of(self.frame, count)


_MISSING = names_of(collections.defaultdict)["__missing__"]
_OPERATORS = [sign for _, sign in vars(opcode)["_nb_ops"]]


def _torn(found: list[Touch], doer: torn.Doer) -> list[Touch]:
    """What an instruction, or a call, touches where there is no GIL."""
    changed = {id(each.holder) for each in found if each.changes}

    def is_torn(each: Touch) -> bool:
        if each.torn or each.inner:
            return each.torn
        if each.changes:
            return torn.changes_in_parts(doer, each.holder)
        return each.part is ALL and id(each.holder) not in changed and torn.reads_in_parts(doer, each.holder)

    return [each._replace(torn=is_torn(each)) for each in found]


def _in_parts(found: list[Touch], operands: Iterable[Any] = ()) -> list[Touch]:
    """Likewise: what reads several things, and does not change them, reads one after the other. Classes hardly change.

    Args:
        operands: of an operator in C, which are read together, as far as each is read in one step.
    """
    together = set(map(id, operands))
    changed = {id(each.holder) for each in found if each.changes}
    reads = [each for each in found if not (id(each.holder) in changed or each.inner or is_a(each.holder, type))]
    parts = {(0 if id(each.holder) in together else id(each.holder), _identity(each.part)) for each in reads}
    if len(parts) < 2:
        return found
    return [each._replace(torn=True) if any(each is read for read in reads) else each for each in found]


def _in_bulk(found: list[Touch], doer: str, sources: Iterable[Any]) -> list[Touch]:
    """Likewise: what changes several elements changes one after the other for whoever reads the size or an element."""
    given = tuple(sources)
    return [
        each._replace(torn=True) if each.changes and each.part is ALL and torn.changes_many(doer, each.holder, given) else each
        for each in found
    ]


def _identity(part: Any) -> str | int:
    return part if type(part) is str else id(part)


# Attributes, globals and cells.


def _load_attr(at: _At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else attribute_read(found[0], at.value, at.under_test)


def _store_attr(at: _At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else attribute_stored(found[0], at.value, at.under_test, deletes=at.name == "DELETE_ATTR")


def _load_super_attr(at: _At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else of_super(found[0], at.value, at.under_test)


def _load_global(at: _At) -> Touches:
    found = [Touch(at.frame.f_globals, at.value, False)]
    return found if at.value in at.frame.f_globals else [*found, Touch(at.frame.f_builtins, at.value, False)]


def _store_global(at: _At) -> Touches:
    return [Touch(at.frame.f_globals, at.value, True)]


def _cell(changes: bool) -> Callable[[_At], Touches]:
    def rule(at: _At) -> Touches:
        cell = local_of(at.frame, at.argument)
        return UNKNOWN if cell is NOTHING else [Touch(cell, "", changes)]

    return rule


# Containers.


def _key_part(key: Any, under_test: UnderTest) -> Any:
    """What names the element with this key; `ALL` if the key is not immutable, None if it is hashed or compared by unknown code."""
    if immutable(key) or values.is_value(key, ordered=False):
        return (key,)
    if is_a(key, type) and _is_equal_to_itself_alone(type(key)):
        return (key,)
    if (plain := plain_value(key)) is not None:
        return (plain,)
    return ALL if asks_nobody(type(key), under_test) else None


def _behind_a_proxy(thing: Any) -> Any:
    """The dict that a read-only view of it shows (`types.MappingProxyType`); any other object itself, and so is that of a class:
    what changes it are stores of attributes."""
    shown = gc.get_referents(thing)[0] if type(thing) is MappingProxyType else thing
    return thing if type(shown) is not dict or "__doc__" in shown else shown


def _is_equal_to_itself_alone(kind: type) -> bool:
    own = in_class(kind, "__hash__")
    hashes = own is in_class(type, "__hash__") or (type(own) is FunctionType and ours(own.__code__.co_filename))
    return hashes and in_class(kind, "__eq__") is in_class(type, "__eq__")


def _element(container: Any, key: Any, changes: bool, under_test: UnderTest, *, removes: bool = False) -> Touches:
    """What is touched by reading or changing the element of a key or index."""
    container = _behind_a_proxy(container)
    operator = "__delitem__" if removes else "__setitem__" if changes else "__getitem__"
    kind = kind_of(container, asks=operator)
    if kind in CONTAINERS or kind is collections.Counter or kind in SCALARS:
        return _element_of(kind, container, key, changes, under_test, removes=removes, asks=not changes)
    if calls_code(kind, operator, under_test):
        return []
    if not changes and (known := in_c.member_named(container, key)) is not None:
        return _of_library(known)
    if (known := in_python.variable(container, key, changes=changes)) is not None:
        return _of_library(known)
    return [] if all_methods_make_steps(kind, under_test) else UNKNOWN


def _element_of(
    kind: type, container: Any, key: Any, changes: bool, under_test: UnderTest, *, removes: bool, asks: bool
) -> Touches:
    """Likewise of a container, which its class is or is derived from: what its own methods in C do.

    Args:
        asks: whether ``__missing__`` is asked for the value of a key that a dict does not have.
    """
    if type(key) is slice and not plain_slice(key):  # C asks its bounds for `__index__`, and then looks at the container
        return UNKNOWN
    if kind in SCALARS:
        return [] if kind in (str, bytes, range) and (type(key) in SCALARS or type(key) is slice) else UNKNOWN
    if kind is tuple:
        return [] if type(key) in (int, slice) else UNKNOWN
    if kind in LISTS:
        if type(key) is int and 0 <= key < len(container) and not removes:
            return [Touch(container, (key,), changes)]
        return [Touch(container, ALL, changes)] if type(key) in (int, slice) else UNKNOWN
    if kind in DICTS or (kind is collections.Counter and not removes):  # which has the methods of dict here
        part = _key_part(key, under_test)
        if part is None or not keys_compare_quietly(container):
            return UNKNOWN
        if part is ALL:
            return [Touch(container, ALL, changes)]
        there = dict.__contains__(container, key)
        missing = in_class(type(container), "__missing__") if asks and not there else None
        if missing is not None and missing is not _MISSING:
            steps = type(missing) is FunctionType and (kind is collections.Counter or _makes_steps(missing, under_test))
            return [Touch(container, part, False)] if steps else UNKNOWN
        if asks and not there and kind is collections.defaultdict:
            made_in_c = any(container.default_factory is each for each in (*CONTAINERS, int, float, str, None))
            return [Touch(container, ALL, True, torn=FREE_THREADED_BUILD)] if made_in_c else UNKNOWN
        grows = changes and (removes or not there)
        return [Touch(container, part, changes), *([Touch(container, SIZE, True)] if grows else [])]
    return UNKNOWN


def _subscript(at: _At) -> Touches:
    found = at.top(2)
    return UNKNOWN if found is None else _element(found[0], found[1], False, at.under_test)


def _store_subscript(at: _At) -> Touches:
    removes = at.name == "DELETE_SUBSCR"
    found = at.top(2 if removes else 3)
    if found is None:
        return UNKNOWN
    stored = _element(found[-2], found[-1], True, at.under_test, removes=removes)
    return stored if removes else both(stored, _copied(kind_of(found[-2], asks="__setitem__"), found[-1], found[0]))


def _copied(kind: type, key: Any, value: Any) -> Touches:
    """What is touched of a value that is stored in a container of this kind, before the container changes."""
    if kind not in LISTS:
        return []
    if type(key) is slice:
        return UNKNOWN if kind is bytearray and type(value) not in (bytes, bytearray) else whole(value)
    return UNKNOWN if kind is bytearray and type(value) not in SCALARS else []  # C asks the value for `__index__` first


def _slice(at: _At) -> Touches:
    found = at.top(3)
    return UNKNOWN if found is None else _element(found[0], slice(found[1], found[2]), False, at.under_test)


def _store_slice(at: _At) -> Touches:
    found = at.top(4)
    if found is None:
        return UNKNOWN
    value, container, *bounds = found
    stored = _element(container, slice(*bounds), True, at.under_test)
    return both(stored, _copied(kind_of(container, asks="__setitem__"), slice(*bounds), value))


def _binary(at: _At) -> Touches:
    if at.argument == 26:  # a subscript, from 3.14 on
        return _subscript(at)
    found = at.top(2)
    if found is None:
        return UNKNOWN
    one, other = found
    if interrupted(found, at.under_test):
        return UNKNOWN
    if type(one) is collections.Counter and type(other) is collections.Counter and at.sign in _OF_COUNTERS:
        changes = at.sign.endswith("=")
        added = [Touch(one, ALL, changes, torn=FREE_THREADED_BUILD), Touch(other, ALL, False, torn=FREE_THREADED_BUILD)]
        return added if all(holds_constants(each.keys()) and holds_constants(each.values()) for each in (one, other)) else UNKNOWN
    kinds = [kind_of(each) for each in found]
    if any(kind in _COPIED_BY_CLASS and type(each) is not kind for each, kind in zip(found, kinds, strict=True)):
        return UNKNOWN  # code of the class may make the result, in the middle
    if kinds[0] is collections.OrderedDict and _asked_for_keys([other]):
        return UNKNOWN
    for each, kind in zip(found, kinds, strict=True):
        if (
            kind not in SCALARS
            and kind not in CONTAINERS
            and not all_methods_make_steps(kind, at.under_test)
            and not values.is_value(each)
        ):
            return UNKNOWN
    parts = []
    by_elements = any(kind in SETS or kind in DICTS for kind in kinds)
    for each, kind in zip(found, kinds, strict=True):
        if kind in CONTAINERS:
            parts.append(into(each, at.under_test) if by_elements else whole(each))
    if at.argument >= 13 and kinds[0] in CONTAINERS and kinds[0] not in (tuple, frozenset):
        parts.append([Touch(one, ALL, True)])
    if kinds[0] in (str, bytes, bytearray) and at.argument % 13 == 6:  # % formats
        parts.append(_formatted_by(one, other, at.under_test))
    return both(*parts)


_COPIED_BY_CLASS = frozenset({collections.deque, collections.OrderedDict, collections.defaultdict})
_OF_COUNTERS = frozenset({"+", "-", "&", "|", "+=", "-=", "&=", "|="})  # in Python, which makes no steps


def _formatted_by(text: Any, other: Any, under_test: UnderTest) -> Touches:
    if ("(" if isinstance(text, str) else b"(") not in text:
        return into(other, under_test)
    return asked(other, under_test) if in_class(type(other), "__missing__") is None else UNKNOWN  # before further keys


def _compare(at: _At) -> Touches:
    found = at.top(2)
    if found is None or interrupted(found, at.under_test):
        return UNKNOWN
    decides = at.name == "COMPARE_OP" and ((_COMPARES_TO_BOOL and at.argument & 16) or "!=" in str(at.value))
    if not decides:
        return both(*(into(each, at.under_test) for each in found))
    names = next(names for sign, names in _COMPARISONS.items() if sign in str(at.value))
    if "__eq__" in names and all(type(each) in SCALARS or values.is_value(each, ordered=False) for each in found):
        return []
    return both(*(into(each, at.under_test) if _answers(type(each), names) else asked(each, at.under_test) for each in found))


_COMPARES_TO_BOOL = sys.version_info >= (3, 13)  # then a comparison may test the truth of its result as well
_COMPARISONS = {
    "==": ("__eq__",),
    "!=": ("__ne__", "__eq__"),  # that of `object` negates the other one
    "<": ("__lt__", "__gt__", "__le__", "__ge__"),
    ">": ("__lt__", "__gt__", "__le__", "__ge__"),
}
_TRUTHS = frozenset({"CONTAINS_OP", "IS_OP", "UNARY_NOT", "TO_BOOL"})


def _answers(kind: type, names: Iterable[str]) -> bool:
    """Whether these methods of a class, if it has them, surely return a truth value, of which nobody reads more."""
    return all(
        type(found) is not FunctionType or ("NotImplemented" not in found.__globals__ and _returns_truths(found.__code__))
        for found in (in_class(kind, name) for name in names)
    )


def _returns_truths(code: CodeType) -> bool:
    key = id(code)
    known = looked_up(_of_truths, key)
    if known is None:
        instructions = [each for each in instructions_of(code) if each.opname not in ("EXTENDED_ARG", "CACHE")]
        plain = True
        for before, each in itertools.pairwise(instructions):
            if each.opname == "RETURN_VALUE":
                constant = before.opname.startswith("LOAD_CONST") and immutable(before.argval)
                nothing = before.opname == "LOAD_GLOBAL" and before.argval == "NotImplemented"
                plain = plain and not each.is_jump_target and (constant or nothing or before.opname in _TRUTHS)
        known = _of_truths[id(code)] = code, plain and not code.co_flags & CO_GENERATOR
    return known[1]


_of_truths: dict[int, tuple[CodeType, bool]] = {}  # with a reference to the code, so that its id stays in use


def _contains(at: _At) -> Touches:
    found = at.top(2)
    return UNKNOWN if found is None else _sought(found[1], found[0], at.under_test)


def _sought(container: Any, key: Any, under_test: UnderTest) -> Touches:
    container = _behind_a_proxy(container)
    kind = kind_of(container, asks="__contains__")
    if kind in DICTS or kind in SETS or kind is collections.Counter:
        part = _key_part(key, under_test)
        return UNKNOWN if part is None or not keys_compare_quietly(container) else [Touch(container, part, False)]
    if interrupted((container, key), under_test):
        return UNKNOWN
    if calls_code(kind, "__contains__", under_test) and _answers(kind, ["__contains__"]):
        return []
    if in_class(kind, "__contains__") is not None and _answers(kind, ["__contains__"]):
        return both(into(container, under_test), asked(key, under_test))
    return both(asked(container, under_test), asked(key, under_test))


def _truth(at: _At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else _truth_of(found[0], at.under_test)


def _truth_of(thing: Any, under_test: UnderTest) -> Touches:
    kind = kind_of(thing, asks="__bool__")
    if kind in (list, dict, set, collections.deque):
        return [Touch(thing, SIZE, False)]
    method = next((name for name in ("__bool__", "__len__") if in_class(kind, name) is not None), None)
    if method is None:
        return by_classes(kind, "__bool__")
    if calls_code(kind, method, under_test):
        return []
    return into(thing, under_test, 0) if kind not in CONTAINERS else whole(thing)


def _unary(at: _At) -> Touches:
    found = at.top(1)
    return UNKNOWN if found is None else into(found[0], at.under_test)


def _merged(at: _At) -> Touches:
    """A mapping is added to a dict that only this stack refers to."""
    found = at.top(1 + at.argument)
    if found is None:
        return UNKNOWN
    target, *_, added = found
    if type(target) is not dict or kind_of(added) not in DICTS:
        return UNKNOWN
    return whole(added) if keys_compare_quietly(target) and keys_compare_quietly(added) else UNKNOWN


def _formatted(at: _At) -> Touches:
    found = at.top(2 if at.name == "FORMAT_WITH_SPEC" or (at.name == "FORMAT_VALUE" and at.argument & 4) else 1)
    return UNKNOWN if found is None else both(*(into(each, at.under_test) for each in found))


def _iterate(at: _At) -> Touches:
    """The making of an iterator, or unpacking."""
    found = at.top(1)
    if found is None:
        return UNKNOWN
    thing = found[0]
    if at.name in ("GET_ITER", "GET_YIELD_FROM_ITER"):
        if type(thing) in SCALARS:  # a text, bytes or a range, and never changes
            return []
        if in_c.is_enumeration(thing) or all_methods_make_steps(type(thing), at.under_test):
            return []
        return begun(thing, at.under_test)
    if at.name != "GET_LEN" and (type(thing) is GeneratorType or makes_a_generator(thing, at.under_test)):
        return advanced(thing, at.under_test) if type(thing) is GeneratorType else []
    if at.name in ("LIST_EXTEND", "SET_UPDATE"):  # into what only this stack refers to
        return whole(thing) if at.name == "LIST_EXTEND" else both(whole(thing), asked(thing, at.under_test))
    return whole(thing)


def _sent(at: _At) -> Touches:
    """A generator goes on with what it delegates to (``yield from``)."""
    found = at.top(2)
    if found is None or found[0] is NOTHING:
        return UNKNOWN
    if type(found[0]) is not GeneratorType and found[1] is not None:  # it asks for a method `send`
        return UNKNOWN
    return advanced(found[0], at.under_test)


def _nothing(at: _At) -> Touches:
    return []


def _matched(at: _At) -> Touches:
    """Whether something is a mapping or a sequence: a flag of its class, which registration in an abstract class changes."""
    found = at.top(1)
    return [] if found is not None and of_a_known_kind(found[0]) else UNKNOWN


def _match_keys(at: _At) -> Touches:
    """The keys of a mapping pattern are looked up by the method `get` of what is matched."""
    found = at.top(2)
    if found is None or type(found[1]) is not tuple or type(found[0]) not in DICTS:  # another may have a `get` of its own
        return UNKNOWN
    keys = (_element_of(type(found[0]), found[0], key, False, at.under_test, removes=False, asks=False) for key in found[1])
    return both(*keys)


def _match_class(at: _At) -> Touches:
    """A class pattern: whether it is an instance, and its attributes, which are read in the middle of this."""
    found = at.top(3)
    if found is None or type(found[2]) is not tuple or not is_a(found[1], type):
        return UNKNOWN
    thing, kind, named = found
    parts = [called(isinstance, [thing, kind], at.under_test)]
    if not is_a(thing, kind) or parts[0] is UNKNOWN:
        return parts[0]
    by_place: tuple[Any, ...] = ()
    if at.argument:
        names = in_class(kind, "__match_args__")
        if names is not None and type(names) is not tuple:
            return UNKNOWN
        by_place = (names or ())[: at.argument]
        parts.append(by_classes(kind, "__match_args__"))
    for name in (*by_place, *named):
        parts.append(attribute_read(thing, name, at.under_test) if type(name) is str and is_kept(thing, name) else UNKNOWN)
    return both(*parts)


def _next(at: _At) -> Touches:
    found = at.top(1)
    if found is not None and found[0] is NOTHING:  # from 3.15 on, an index or a null is above what is iterated
        found = at.top(2)
        if found is not None and (type(found[0]) is list or type(found[0]) is tuple):
            return whole(found[0])
    if found is None or found[0] is NOTHING:
        return UNKNOWN
    return advanced(found[0], at.under_test)


def _enter(at: _At) -> Touches:
    found = at.top(1)
    if found is None:
        return UNKNOWN
    kind = type(found[0])
    if waiting.entered(kind) or in_python.entered(kind):
        return []
    if (generator := contexts.generator_of(found[0])) is not None:
        steps = makes_steps(generator.gi_code, {}, at.under_test)
        return [Touch(found[0], ALL, True), Touch(generator, ALL, True)] if steps else UNKNOWN
    for name in ("__enter__", "__exit__"):
        method = in_class(kind, name)
        if type(method) is not FunctionType or not _makes_steps(method, at.under_test):
            return UNKNOWN
    return by_classes(kind, "__enter__") if not ours(kind.__enter__.__code__.co_filename) else []


# Calls.


def _call(at: _At) -> Touches:
    found = _callee_of(at)
    return UNKNOWN if found is None else called(*found, at.under_test)


def _callee_of(at: _At) -> tuple[Any, list[Any]] | None:
    """What a call instruction calls, and with which arguments, those by name included; None if it cannot be told."""
    if at.name == "CALL":
        found = at.top(at.argument + 2)
        if found is None:
            return None
        first, second, *arguments = found
        if first is NOTHING:  # up to 3.12
            return second, arguments
        return first, arguments if second is NOTHING else [second, *arguments]  # from 3.13 on; a method and its object
    if at.name == "CALL_KW":
        found = at.top(at.argument + 3)
        if found is None:
            return None
        callee, self, *arguments = found[:-1]
        return callee, arguments if self is NOTHING else [self, *arguments]
    if at.name != "CALL_FUNCTION_EX":
        return None
    named = sys.version_info >= (3, 14) or bool(at.argument & 1)
    found = at.top(3 + named)
    if found is None:
        return None
    first, second, packed, *keywords = found
    if type(packed) not in (tuple, list):
        return None
    arguments = [*packed, *(value for each in keywords if type(each) is dict for value in each.values())]
    if first is NOTHING:
        first, second = second, NOTHING
    return first, arguments if second is NOTHING else [second, *arguments]


def _call_with_packed(at: _At) -> Touches:
    """A call with ``*`` or ``**``: what it unpacks, and what the call touches. The keywords are in a dict of its own."""
    found, packed = _callee_of(at), at.top(2 if sys.version_info >= (3, 14) or at.argument & 1 else 1)
    return UNKNOWN if found is None or packed is None else both(whole(packed[0]), called(*found, at.under_test))


def called(callee: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """What a call touches by itself."""
    if type(callee) is MethodType:
        if (manager := contexts.left(callee)) is not None:
            return [Touch(manager, ALL, True)]
        return called(callee.__func__, [callee.__self__, *arguments], under_test)
    if type(callee) is partial:
        if callee.keywords and not hands_over(callee.func, under_test):
            return UNKNOWN
        return both([Touch(callee.keywords, ALL, False)], called(callee.func, [*callee.args, *arguments], under_test))
    found = _called(callee, arguments, under_test)
    if not found or not FREE_THREADED_BUILD:
        return found
    if type(callee) in torn.IN_C or pure.reads_its_arguments(callee):
        doer = torn.of_call(callee, arguments)
        found = _in_bulk(_torn(found, doer), callee.__name__, doer.arguments)
    return _in_parts(found)


def _called(callee: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    kind = type(callee)
    if kind is FunctionType:
        if ours(callee.__code__.co_filename):
            return [] if callee.__qualname__ in _REPORTED else UNKNOWN
        if _makes_steps(callee, under_test) or _of_values(callee, arguments, under_test):
            return []
        if (function := contexts.made_by(callee)) is not None:
            return [] if _makes_steps(function, under_test) else UNKNOWN
        if pure.keeps_its_arguments(callee):
            return []
        if (known := in_python.function(callee, arguments)) is not None:
            return _of_library(known)
        if pure.reads_its_arguments(callee):
            return both(*(into(each, under_test) if is_exact(each) else UNKNOWN for each in arguments))
        predicate = waiting.predicate_of(callee, arguments)
        if predicate is not None and not (type(predicate) is FunctionType and _returns_truths(predicate.__code__)):
            return UNKNOWN
        return _of_state(waiting.touched_by_call(callee, arguments))
    if id(callee) in _PLAIN_NEWS:
        return []
    if (value := value_made_by(callee)) is not None:  # ``super().__new__(cls, value)``
        return _made(value, arguments[1:], under_test) if len(arguments) <= 2 else UNKNOWN  # no codecs
    if kind is BuiltinFunctionType and callee.__self__ is not None and type(callee.__self__) is not ModuleType:
        return _method(callee.__name__, callee.__self__, arguments, under_test)
    if kind is MethodDescriptorType:
        return _method(callee.__name__, arguments[0], arguments[1:], under_test) if arguments else UNKNOWN
    if kind is MethodWrapperType:
        return _special_method(callee.__objclass__, callee.__name__, callee.__self__, arguments, under_test)
    if kind is WrapperDescriptorType and arguments:
        return _special_method(callee.__objclass__, callee.__name__, arguments[0], arguments[1:], under_test)
    if issubclass(kind, type):
        if (
            name_of_class(callee) in _LOCKS
            and type(acquire := names_of(callee).get("acquire", in_class(callee, "acquire"))) is FunctionType
        ):
            return [] if ours(acquire.__code__.co_filename) else UNKNOWN
        if any(callee is each for each in _PLAIN_ERRORS) or _made_by_steps(callee, under_test):
            return []
        if kind is not type and calls_code(kind, "__call__", under_test):  # of its metaclass
            return []
        if in_python.keeps_its_arguments(callee):
            return []
        if kind is type and (container := made_as(callee)) is not None:
            return _made(container, arguments, under_test)
    elif kind is itemgetter and len(arguments) == 1:
        return _got(callee, arguments[0], under_test)
    elif kind is not BuiltinFunctionType:
        return [] if all_methods_make_steps(kind, under_test) else UNKNOWN
    if callee is type and len(arguments) == 1:
        return []
    if callee is setattr and len(arguments) == 3 and type(arguments[1]) is str:
        return attribute_stored(arguments[0], arguments[1], under_test)
    if callee is print and not FREE_THREADED_BUILD:  # where it writes its parts one by one, and others may come between
        return _printed(arguments, under_test)
    if (known := in_c.function(callee, arguments)) is not None:
        return _of_library(known)
    if values.makes_value(callee, "", arguments):
        return []
    if (callee is getattr or callee is hasattr) and len(arguments) > 1 and type(arguments[1]) is str:
        return attribute_read(arguments[0], arguments[1], under_test)
    if not any(callee is each for each in _KNOWN):
        return [] if _of_values(callee, arguments, under_test) else UNKNOWN
    if callee in (isinstance, issubclass):
        kinds = arguments[-1] if arguments and type(arguments[-1]) is tuple else arguments[-1:]
        decided = (type(each) is type or in_c.is_decided_by_the_type(arguments[0], each) for each in kinds)
        says = callee is isinstance and computes_its_class(type(arguments[0]))  # which is asked, too
        return [] if all(decided) and not says else UNKNOWN
    if callee is range:
        plain = (type(each) in SCALARS or all_methods_make_steps(type(each), under_test) for each in arguments)
        return [] if all(plain) else UNKNOWN
    if callee in _LOOKING:
        return []
    if callee in _GATHERING and len(arguments) == 1:
        if type(arguments[0]) is GeneratorType:
            return advanced(arguments[0], under_test)  # into what nobody else has yet
        if makes_a_generator(arguments[0], under_test):
            return []
    if callee is map or callee is filter:
        return both(*(begun(each, under_test) for each in arguments[1:]))  # it calls its function later
    if callee is len and len(arguments) == 1:
        kind = kind_of(arguments[0], asks="__len__")
        if kind in LISTS or kind in SETS or kind in DICTS:
            return [Touch(arguments[0], SIZE, False)]
        return [] if kind is tuple or kind in SCALARS or calls_code(kind, "__len__", under_test) else whole(arguments[0])
    if callee in _ORDERING and len(arguments) > 1 and (key := ordering.key_among(arguments[1:])) is not None:
        return _by_key(arguments[0], key, under_test, at_once=callee is sorted) if len(arguments) == 2 else UNKNOWN
    if interrupted(arguments, under_test):
        return UNKNOWN
    if callee in PURE_OF_SCALARS and all(type(each) in SCALARS or values.is_value(each) for each in arguments):
        return [] if len(arguments) == 1 or callee not in (str, bytes) or _of_known_codec(arguments[1:]) else UNKNOWN
    if callee is next and arguments:
        return advanced(arguments[0], under_test)
    if callee in OF_POOLS:
        return both(*map(whole, arguments))
    if callee is itertools.chain:
        return []  # it keeps them
    if callee is itertools.islice and all(map(immutable, arguments[1:])):
        return begun(arguments[0], under_test) if arguments else UNKNOWN
    if callee in (iter, enumerate, zip, reversed, itertools.cycle, itertools.zip_longest):
        return both(*(whole(each) if callee is reversed else begun(each, under_test) for each in arguments))
    if callee is bool and len(arguments) == 1:
        return _truth_of(arguments[0], under_test)
    if callee in _SIZED:
        return _made(callee, arguments, under_test)
    if callee is str or callee is repr:
        return both(*(into(each, under_test) for each in arguments))
    return _made(callee, arguments, under_test) if callee in _DEEP else UNKNOWN


def _printed(arguments: list[Any], under_test: UnderTest) -> Touches:
    """What `print` touches: a stream in C that is given to it, or else what stands for the standard output."""
    streams: list[Any] = [each for each in arguments if type(each) is io.StringIO]
    if not all(of_a_known_kind(each) for each in arguments if type(each) is not io.StringIO):  # another may be the stream
        return UNKNOWN
    if not streams:
        if not in_c.is_stream_in_c(sys.stdout):
            return UNKNOWN
        streams = [sys.stdout]
    buffers = [in_c.buffer_of(each) for each in streams]
    streams += [each for each in buffers if type(each) is io.BytesIO]  # others may have it; what they do with a file is unknown
    parts = [[Touch(vars(sys), "stdout", False)], *([Touch(each, ALL, True)] for each in streams)]
    return both(*parts, *(into(each, under_test) for each in arguments if type(each) is not io.StringIO))


def _got(getter: Any, thing: Any, under_test: UnderTest) -> Touches:
    """What `operator.itemgetter` touches."""
    items, kind = ordering.items_of(getter), kind_of(thing, asks="__getitem__")
    if len(items) > 1 and (kind not in CONTAINERS or in_class(type(thing), "__missing__") is not None):
        return UNKNOWN  # code may be called between
    return both(*(_element(thing, each, False, under_test) for each in items))


_ORDERING = frozenset({sorted, min, max})


def _by_key(source: Any, key: Any, under_test: UnderTest, *, at_once: bool) -> Touches:
    """What is touched by ordering constants by what a function answers for them (``key=``).

    Args:
        at_once: whether all elements are read before the function is called, so that it may make steps.
    """
    if kind_of(source, compared=True, shown=True) not in CONTAINERS or not holds_constants(source):
        return UNKNOWN
    if ordering.is_quiet(key):
        return whole(source)
    if type(key) is FunctionType:
        plain = at_once and _makes_steps(key, under_test) and ordering.answers_of_its_argument(key)
        return whole(source) if plain and all(map(immutable, source)) else UNKNOWN  # attributes of others may change
    table = ordering.table_of(key)
    if table is None or not keys_compare_quietly(table) or not holds_constants(table.values()):
        return UNKNOWN
    return both(whole(source), [Touch(table, ALL, False, torn=FREE_THREADED_BUILD)])  # between the elements


def _made(callee: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """What is touched by making a container, or another value, of what is asked for its elements."""
    if interrupted(arguments, under_test) or (callee is collections.OrderedDict and _asked_for_keys(arguments)):
        return UNKNOWN
    if callee in _SIZED:
        asks_elements = callee is bytes or callee is bytearray
        return both(*(UNKNOWN if asks_elements and not holds_scalars(each) else whole(each) for each in arguments))
    if callee is collections.defaultdict:
        arguments = arguments[1:]  # behind its factory
    return both(*(asked(each, under_test) for each in arguments))


def _asked_for_keys(arguments: Iterable[Any]) -> bool:
    """Whether an `OrderedDict` asks one of these for its method ``keys``, which an instance may have otherwise."""
    return any(container_of(type(each)) in DICTS and type(each) is not dict for each in arguments)


def assumed(frame: FrameType, name: str, argument: int, value: Any, under_test: UnderTest) -> list[Touch]:
    """What a step of which it is not known what it touches does at least, on a free-threaded build.

    It goes through the containers that are given to it, uses up the iterators, and changes the object whose method it is. A step
    that calls code under test is not among these.
    """
    at = _At(frame, name, argument, value, under_test)
    if name.startswith("CALL"):
        call = _callee_of(at)
        return [] if call is None else _assumed_of_call(*call, under_test)
    found = [each for each in topmost(frame, 2 if name in _OF_TWO else 1) if each is not NOTHING]
    if name == "FOR_ITER":
        return [Touch(each, ALL, True, torn=True) for each in found if torn.is_iterator(each)]
    containers = [each for each in found if container_of(type(each)) in CHANGING]
    if name == "BINARY_SUBSCR" or at.sign == "[]":  # the factory of a defaultdict comes before the change
        return [Touch(each, ALL, True, torn=True) for each in containers if container_of(type(each)) is collections.defaultdict]
    changes = name in ("STORE_SUBSCR", "DELETE_SUBSCR")
    return _torn([Touch(each, ALL, changes) for each in containers], torn.of_instruction(name, at.sign))


_OF_TWO = frozenset(
    {"BINARY_OP", "COMPARE_OP", "CONTAINS_OP", "BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "LIST_EXTEND", "SET_UPDATE"}
)


def _assumed_of_call(callee: Any, arguments: list[Any], under_test: UnderTest) -> list[Touch]:
    if type(callee) is MethodType:
        return _assumed_of_call(callee.__func__, [callee.__self__, *arguments], under_test)
    if type(callee) is partial:
        return _assumed_of_call(callee.func, [*callee.args, *callee.keywords.values(), *arguments], under_test)
    if calls_code(type(callee), "__call__", under_test):
        return []
    doer = torn.of_call(callee, arguments)
    found: list[Touch] = []
    waiting = [doer.owner, *arguments]
    for each in itertools.islice(waiting, _MOST_ASSUMED):
        kind = type(each)
        if kind in VIEWS or kind is tuple:
            waiting += gc.get_referents(each)
        elif torn.is_iterator(each):
            waiting += gc.get_referents(each) if kind is not GeneratorType else []
            found.append(Touch(each, ALL, True))
        elif kind is BuiltinFunctionType or kind is MethodType:  # ``key=table.get``
            waiting.append(each.__self__)
        elif container_of(kind) in CHANGING:
            own = each is doer.owner and callee.__name__ not in _READING_METHODS | _SET_READING | {"get"}
            found.append(Touch(each, ALL, own or doer.changes))
    return _torn(found, doer)


_MOST_ASSUMED = 100


def behind_a_lock(frame: FrameType | None, under_test: UnderTest) -> Touches:
    """What code of the standard library may touch after it has acquired a lock, until it returns to code under test.

    Args:
        frame: that of the innermost function which is not ours.
    """
    return _of_state(waiting.state_behind(frame, under_test))


def _of_state(state: waiting.State | None) -> Touches:
    return (
        UNKNOWN
        if state is None
        else [Touch(holder, ALL if part is None else part, changes, True) for holder, part, changes in state]
    )


def _of_library(state: in_c.State) -> Touches:
    return [Touch(holder, ALL if part is None else part, changes) for holder, part, changes in state]


def _of_values(callee: Any, arguments: list[Any], under_test: UnderTest) -> bool:
    if pure.calls_an_argument(callee):
        arguments = [each for each in arguments if not (type(each) is FunctionType and _makes_steps(each, under_test))]
    return pure.looks_at_its_arguments_alone(callee, arguments)


_LOCKS = ("Lock", "RLock")
_REPORTED = frozenset(  # functions of `primitives` that report what they do to whoever records a run
    f"{kind}.{name}" for kind in _LOCKS for name in ("acquire", "release", "locked", "__enter__", "__exit__")
)
_OF_ITERTOOLS = (*OF_POOLS, itertools.chain, itertools.cycle, itertools.zip_longest)
_KNOWN = (*_LOOKING, *PURE_OF_SCALARS, *_SIZED, *_DEEP, *_LAZY, *_OF_ITERTOOLS, len, next)


def _method(name: str, owner: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """What a method in C of a built-in object touches."""
    if owner is dict and name == "fromkeys" and arguments:
        return asked(arguments[0], under_test)
    kind = kind_for_method(owner, name)
    if kind in SCALARS:
        if name == "translate" and len(arguments) == 1 and type(arguments[0]) is dict and keys_compare_quietly(arguments[0]):
            return [Touch(arguments[0], ALL, False)]  # its keys are numbers, and the values are asked nothing
        if all(immutable(each) for each in arguments):
            return [] if name not in ("encode", "decode") or _of_known_codec(arguments) else UNKNOWN
        if name == "join" and len(arguments) == 1 and type(arguments[0]) is GeneratorType:
            return advanced(arguments[0], under_test)
        return both(*(asked(each, under_test) for each in arguments)) if name == "join" else UNKNOWN
    if kind is tuple or kind is frozenset:
        return both(into(owner, under_test), *(asked(each, under_test) for each in arguments))
    if kind is GeneratorType and name in ("send", "__next__"):
        return advanced(owner, under_test)
    if values.makes_value(owner, name, arguments):
        return []
    if values.has_constant_attributes(owner):
        return [] if all(map(values.is_constant, arguments)) else UNKNOWN
    if kind not in CONTAINERS:
        known = [] if pure.method_looks_at_its_arguments_alone(name, owner, arguments) else in_c.method(name, owner, arguments)
        return UNKNOWN if known is None else _of_library(known)
    if (name in _OF_ONE_KEY and kind in DICTS and arguments) or (name in _OF_ITEMS and arguments):
        changes, removes, asks = name in _CHANGING_ONE_KEY, name in ("pop", "__delitem__"), name == "__getitem__"
        found = _element_of(kind, owner, arguments[0], changes, under_test, removes=removes, asks=asks)
        return both(found, _copied(kind, *arguments)) if name == "__setitem__" and len(arguments) == 2 else found
    if name == "__init__" and kind in CHANGING:
        return both([Touch(owner, ALL, True)], _made(kind, arguments, under_test))
    if kind is set and name in _SETTING and arguments:
        part = _key_part(arguments[0], under_test)
        if part is None or not keys_compare_quietly(owner):
            return UNKNOWN
        return [Touch(owner, part, True), Touch(owner, SIZE, True)]
    if kind is list and name == "append":
        return [Touch(owner, (len(owner),), True), Touch(owner, SIZE, True)]
    if name in ("keys", "values", "items") and kind in DICTS:
        return []
    if name == "move_to_end" and arguments and immutable(arguments[0]) and keys_compare_quietly(owner):
        return [Touch(owner, ALL, True)]
    parts: list[Touches] = [[Touch(owner, ALL, name not in _READING_METHODS and name not in _SET_READING)]]
    if name == "sort" and (key := ordering.key_among(arguments)) is not None:
        return both(parts[0], _by_key(owner, key, under_test, at_once=False))
    if name in _STORING_METHODS:
        if kind is bytearray and any(type(each) not in SCALARS for each in arguments):  # `__index__` of what is stored
            return UNKNOWN
    elif any(calls_back(each, under_test) for each in arguments):
        return UNKNOWN
    if name in _BY_INDEX and arguments and type(arguments[0]) is not int:  # `__index__` comes before the change
        return UNKNOWN
    if ("update" in name or name in _SET_READING) and not all(map(of_a_known_kind, arguments)):
        return UNKNOWN
    if kind is collections.OrderedDict and name == "update" and _asked_for_keys(arguments):
        return UNKNOWN
    if name in _OF_ELEMENTS:
        parts += [into_elements(kind, owner, under_test), *(asked(each, under_test) for each in arguments)]
    elif name in ("extend", "extendleft"):
        parts += [whole(each) if kind is not bytearray or holds_scalars(each) else UNKNOWN for each in arguments]
    elif name not in (
        "append",
        "appendleft",
        "insert",
        "pop",
        "popleft",
        "popitem",
        "clear",
        "copy",
        "reverse",
        "rotate",
        "__len__",
    ):
        return UNKNOWN
    return both(*parts)


def _special_method(of: type, name: str, owner: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    """What a special method in C touches that is called by its name: ``super().__setitem__(key, value)``.

    Args:
        of: the class that defines it.
    """
    if of is object:
        if name in ("__setattr__", "__delattr__") and arguments and type(arguments[0]) is str:
            return attribute_stored(owner, arguments[0], under_test, deletes=name == "__delattr__", by_object=True)
        if name == "__ne__" and in_class(type(owner), "__eq__") is not in_class(object, "__eq__"):  # which it calls, and negates
            answers = _answers(type(owner), ["__eq__"])
            return both(*((into if answers else asked)(each, under_test) for each in (owner, *arguments)))
        return [] if name in ("__init__", "__eq__", "__ne__") else UNKNOWN
    if name == "__init__" and any(of is each for each in _PLAIN_ERRORS):
        return [Touch(owner, each, True) for each in stored_by_initialiser(of)]  # ``args``, and ``name`` of an AttributeError
    if of is type and name == "__call__":  # the rest of what the metaclass of a class does
        return [] if _made_by_steps(owner, under_test, by_type=True) else UNKNOWN
    return _method(name, owner, arguments, under_test) if kind_for_method(owner, name) in CONTAINERS else UNKNOWN


def _of_known_codec(names: list[Any]) -> bool:
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


def _raised(at: _At) -> Touches:
    found = at.top(at.argument if at.name == "RAISE_VARARGS" else 1)
    if not found:
        return []
    parts: list[Touches] = []
    for each in found:
        if is_a(each, BaseException):
            parts.append([Touch(each, ALL, True)])
        elif is_a(each, type):
            parts.append(called(each, [], at.under_test))
        elif each is not None:
            return UNKNOWN
    return both(*parts)


def _keys(at: _At) -> Touches:
    count = {"BUILD_MAP": 2 * at.argument, "BUILD_SET": at.argument, "MAP_ADD": 2, "SET_ADD": 1}[at.name]
    found = at.top(count)
    return UNKNOWN if found is None else both(*(asked(each, at.under_test) for each in found[:: 2 if "MAP" in at.name else 1]))


def _imported(at: _At) -> Touches:
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


def _yielded(at: _At) -> Touches:
    """A generator gives something to C, or ends there: a call that goes on with another thing than this value is unknown itself."""
    if not at.frame.f_code.co_flags & CO_GENERATOR:
        return UNKNOWN
    if not at.name.startswith("YIELD"):
        return []
    found = at.top(1)
    by_with = at.frame.f_back is not None and contexts.is_of_a_context(at.frame.f_back.f_code)
    return [] if by_with or (found is not None and values.is_constant(found[0])) else UNKNOWN


def _leave(at: _At) -> Touches:
    """The end of a with statement by an exception: it calls the function that was looked up when it began."""
    found = at.top(5) or at.top(4)
    if found is None:
        return UNKNOWN
    for each in found[:2]:
        function = each.__func__ if type(each) is MethodType else each
        if type(function) is FunctionType and _makes_steps(function, at.under_test):
            return []
        if type(each) is MethodType and (manager := contexts.left(each)) is not None:
            return [Touch(manager, ALL, True)]
        if type(each) is MethodType and type(function) is FunctionType:
            known = in_python.function(function, [each.__self__, type(found[-1])])
            return UNKNOWN if known is None else _of_library(known)
    return UNKNOWN


_RULES: dict[str, Callable[[_At], Touches]] = {}
for _names, _rule in {
    "LOAD_ATTR LOAD_METHOD": _load_attr,
    "STORE_ATTR DELETE_ATTR": _store_attr,
    "LOAD_SUPER_ATTR": _load_super_attr,
    "LOAD_GLOBAL LOAD_NAME": _load_global,
    "STORE_GLOBAL DELETE_GLOBAL": _store_global,
    "LOAD_DEREF": _cell(False),
    "STORE_DEREF DELETE_DEREF": _cell(True),
    "BINARY_SUBSCR": _subscript,
    "STORE_SUBSCR DELETE_SUBSCR": _store_subscript,
    "BINARY_SLICE": _slice,
    "STORE_SLICE": _store_slice,
    "BINARY_OP": _binary,
    "COMPARE_OP": _compare,
    "CONTAINS_OP": _contains,
    "TO_BOOL UNARY_NOT POP_JUMP_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE "
    "POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP": _truth,
    "UNARY_NEGATIVE UNARY_INVERT UNARY_POSITIVE": _unary,
    "FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE": _formatted,
    "DICT_UPDATE DICT_MERGE": _merged,
    "GET_ITER GET_LEN LIST_EXTEND SET_UPDATE UNPACK_SEQUENCE UNPACK_EX": _iterate,
    "FOR_ITER": _next,
    "MATCH_MAPPING MATCH_SEQUENCE": _matched,
    "MATCH_KEYS": _match_keys,
    "MATCH_CLASS": _match_class,
    "GET_YIELD_FROM_ITER": _iterate,
    "SEND": _sent,
    "END_SEND": _nothing,
    "BEFORE_WITH LOAD_SPECIAL": _enter,
    "CALL CALL_KW": _call,
    "CALL_FUNCTION_EX": _call_with_packed,
    "RAISE_VARARGS RERAISE": _raised,
    "BUILD_MAP BUILD_SET MAP_ADD SET_ADD": _keys,
    "WITH_EXCEPT_START": _leave,
    "IMPORT_NAME": _imported,
    "IMPORT_FROM": _load_attr,
    "YIELD_VALUE RETURN_VALUE RETURN_CONST": _yielded,
}.items():
    _RULES |= dict.fromkeys(_names.split(), _rule)
