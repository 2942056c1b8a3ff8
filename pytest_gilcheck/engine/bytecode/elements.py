"""What is touched by going through an object: reading which elements it has, and asking these in C.

What an operator asks code under test for makes steps of its own, and touches nothing by itself. But C may read what that answers,
or go on with a container after it: where it may, the answer is `UNKNOWN`.
"""

from __future__ import annotations

import collections
import gc
import itertools
from collections.abc import Collection, Iterable
from inspect import CO_GENERATOR
from types import FunctionType, GeneratorType
from typing import Any

from ...core.classes import in_class
from . import in_c, values
from .calls import makes_steps
from .operators import all_methods_make_steps, asks_nobody, calls_code, kind_of
from .touch import ALL, CONTAINERS, DICTS, LISTS, SCALARS, UNKNOWN, Touch, Touches, UnderTest, both

CHANGING = LISTS | DICTS | {set}
VIEWS = frozenset({type({}.keys()), type({}.values()), type({}.items())})
_ITERABLE: tuple[Any, ...] = (
    [], (), {}, {}.values(), {}.items(), set(), "", b"", bytearray(), range(0), collections.deque(), reversed([]),
)  # fmt: skip
OF_POOLS = frozenset({itertools.product, itertools.permutations, itertools.combinations, itertools.combinations_with_replacement})
_ITERATORS = frozenset(type(iter(each)) for each in _ITERABLE) | {
    type(iter("\u0100")),
    type(reversed({})),
    type(iter(collections.OrderedDict())),
    enumerate,
    zip,
    reversed,
    itertools.count,
    itertools.islice,
    map,
    filter,
    itertools.chain,
    itertools.cycle,
    itertools.zip_longest,
    *OF_POOLS,
}
PURE_OF_SCALARS = frozenset(
    {int, float, complex, str, bool, bytes, abs, repr, hash, ord, chr, round, divmod, pow, bin, hex, oct, ascii, format, min, max}
)  # of scalars
_MOST_ELEMENTS = 2000
_OF_TUPLES = type(iter(()))
_YIELDING_TUPLES = frozenset({enumerate, zip, itertools.zip_longest, *OF_POOLS})


def whole(thing: Any) -> Touches:
    """What is touched by reading which elements an object has, but not into them."""
    kind = kind_of(thing)
    if kind in SCALARS or kind is tuple or kind is frozenset:
        return []
    if kind in CONTAINERS:
        return [Touch(thing, ALL, False)]
    if kind in VIEWS:
        return [Touch(each, ALL, False) for each in gc.get_referents(thing)]
    if kind in _ITERATORS:
        return _iterated(thing)
    return UNKNOWN


def into(thing: Any, under_test: UnderTest, deep: int = 2) -> Touches:
    """What is touched by hashing or showing an object, or by passing on what it answers: its elements too."""
    kind = kind_of(thing, compared=True, shown=True)
    if kind in SCALARS or (kind is slice and plain_slice(thing)) or values.is_value(thing):
        return []
    if kind in CONTAINERS or kind in VIEWS:
        return UNKNOWN if kind in VIEWS else into_elements(kind, thing, under_test, deep)
    if deep and (of_error := in_c.shown_error(thing)) is not None:
        return both([Touch(thing, "args", False)], *(asked(each, under_test, deep - 1) for each in of_error))
    return [] if all_methods_make_steps(kind, under_test) else UNKNOWN


def into_elements(kind: type, container: Any, under_test: UnderTest, deep: int = 2) -> Touches:
    """Likewise of a container, which its class is or is derived from."""
    if deep == 0 or len(container) > _MOST_ELEMENTS:
        return UNKNOWN
    elements = list(itertools.chain(dict.keys(container), dict.values(container))) if kind in DICTS else list(container)
    which = [Touch(container, ALL, False)] if kind in CHANGING else []
    return both(which, *(asked(each, under_test, deep - 1) for each in elements))


def is_exact(thing: Any, deep: int = 3) -> bool:
    """Whether this is a built-in container or value, as is all in it: no attribute of an instance stands for a method."""
    if type(thing) in SCALARS or values.is_constant(thing):
        return True
    if deep == 0 or type(thing) not in CONTAINERS or type(thing) is collections.OrderedDict or len(thing) > _MOST_ELEMENTS:
        return False
    elements = itertools.chain(thing, thing.values()) if type(thing) in DICTS else thing
    return all(is_exact(each, deep - 1) for each in list(elements))


def interrupted(operands: Iterable[Any], under_test: UnderTest) -> bool:
    """Whether C may call code in the middle of its work on a container, after which it works on: that is more than one step."""
    things = list(operands)
    return any(kind_of(each) in CHANGING for each in things) and any(calls_back(each, under_test) for each in things)


def calls_back(thing: Any, under_test: UnderTest) -> bool:
    """Whether C that is given this object may call code in it, or it itself."""
    if of_a_known_kind(thing):
        return False
    return not asks_nobody(type(thing), under_test) or in_class(type(thing), "__call__") is not None


def of_a_known_kind(thing: Any) -> bool:
    """Whether this is a built-in container, iterator or value, of which C calls no code but that of its elements."""
    kind = kind_of(thing, compared=True)
    return kind in SCALARS or kind in CONTAINERS or kind in VIEWS or kind in _ITERATORS or values.is_value(thing)


def asked(thing: Any, under_test: UnderTest, deep: int = 2) -> Touches:
    """What is touched by asking an object in C and going on with the answer: going through it, or deciding by how it compares.

    What a method under test answers is not known before, and C may read that: the list of an iterator, whether it is empty.
    """
    kind = kind_of(thing, compared=True, shown=True)
    if kind in SCALARS or kind in CONTAINERS or kind in VIEWS or kind is slice:
        return into(thing, under_test, deep)
    if kind in _ITERATORS:
        return _iterated(thing) if _yields_values(thing) else UNKNOWN
    return [] if asks_nobody(type(thing), under_test) or values.is_value(thing) else UNKNOWN


def plain_slice(key: slice) -> bool:
    """Whether C asks no code for the bounds of this slice."""
    return all(each is None or type(each) is int for each in (key.start, key.stop, key.step))


def holds_constants(elements: Collection[Any]) -> bool:
    """Whether all of these are constants (`values.is_constant`), and not too many to look at."""
    return len(elements) <= _MOST_ELEMENTS and all(map(values.is_constant, elements))


def holds_scalars(thing: Any) -> bool:
    """Whether C that asks each element for its number (`__index__`) calls no code."""
    if type(thing) in SCALARS or type(thing) is bytearray:
        return True
    return type(thing) in (list, tuple) and len(thing) <= _MOST_ELEMENTS and all(type(each) in SCALARS for each in thing)


def begun(thing: Any, under_test: UnderTest) -> Touches:
    """What is touched by making an iterator: of a dict, a set or a deque it remembers the size, or the number of changes."""
    kind = kind_of(thing, asks="__iter__")
    if kind is list or kind is GeneratorType or kind in _ITERATORS or calls_code(kind, "__iter__", under_test):
        return []
    return [Touch(thing, ALL, False)] if kind in CHANGING else whole(thing)


def _iterated(iterator: Any) -> Touches:
    """What one more element of an iterator touches."""
    if type(iterator) in (map, filter):
        return _mapped(iterator)
    if type(iterator) in OF_POOLS:  # it has gone through its sources when it was made
        return [Touch(iterator, ALL, True)]
    if type(iterator) is itertools.chain:
        return _chained(iterator)
    parts: list[Touches] = [[Touch(iterator, ALL, True)]]
    for each in gc.get_referents(iterator):
        kind = kind_of(each, asks="__iter__")
        if kind in CONTAINERS:
            parts.append([Touch(each, ALL, False)] if kind in CHANGING else [])
        elif kind in _ITERATORS:
            parts.append(_iterated(each))
        elif kind not in SCALARS and kind is not type:
            return UNKNOWN
    if type(iterator) is zip or type(iterator) is itertools.zip_longest:  # its iterators are in a tuple
        for pack in gc.get_referents(iterator):
            if type(pack) is tuple:
                parts += [
                    _iterated(each) if type(each) in _ITERATORS else [] if type(each) in SCALARS else UNKNOWN for each in pack
                ]
    return both(*parts)


def _chained(iterator: Any) -> Touches:
    """Likewise of `itertools.chain`, which makes the iterator of its next source only when it needs one."""
    parts: list[Touches] = [[Touch(iterator, ALL, True)]]
    inside = [each for each in gc.get_referents(iterator) if each is not itertools.chain]  # from 3.12 on, its class too
    if not inside:  # it has come to its end
        return both(*parts)
    sources = inside.pop(_PLACE_OF_SOURCES if len(inside) > 1 else 0)
    if type(sources) is not _OF_TUPLES:  # `from_iterable`
        return UNKNOWN
    parts += [[Touch(sources, ALL, True)], *(_iterated(each) if type(each) in _ITERATORS else UNKNOWN for each in inside)]
    for pack in gc.get_referents(sources):
        parts += [whole(each) if kind_of(each) in CONTAINERS | SCALARS else UNKNOWN for each in pack if type(pack) is tuple]
    return both(*parts)


def _place_of_sources() -> int:
    begun_ = itertools.chain([0, 0])
    next(begun_)
    return [type(each) for each in gc.get_referents(begun_) if each is not itertools.chain].index(_OF_TUPLES)


_PLACE_OF_SOURCES = _place_of_sources()  # among what it refers to, beside the source at which it is


def _mapped(iterator: Any) -> Touches:
    """Likewise, if the function of `map` or `filter` looks at values alone, and all elements are such values."""
    inside, *function = [each for each in gc.get_referents(iterator) if each is not type(iterator)]
    sources = list(inside) if type(inside) is tuple else [inside]  # the iterators of a `map`, or the one of a `filter`
    known = all(each is None or any(each is pure_ for pure_ in PURE_OF_SCALARS) for each in function)
    if len(function) != 1 or not known or not all(map(_yields_scalars, sources)):
        return UNKNOWN
    return both([Touch(iterator, ALL, True)], *map(_iterated, sources))


def _yields_scalars(iterator: Any) -> bool:
    """Whether all that an iterator can yield now are plain values; of a `map`, if it is known (`_mapped`)."""
    if type(iterator) in _YIELDING_TUPLES or type(iterator) not in _ITERATORS or type(iterator) is itertools.chain:
        return False
    sources = gc.get_referents(iterator)
    if type(iterator) is map:  # its iterators are in a tuple
        sources = [each for pack in sources if type(pack) is tuple for each in pack]
    sources = [each for each in sources if kind_of(each) in CONTAINERS or type(each) in _ITERATORS]
    return all(_yields_scalars(each) if type(each) in _ITERATORS else holds_scalars(each) for each in sources)


def _yields_values(iterator: Any) -> bool:
    """Whether all that an iterator can yield now are plain values, or tuples of such."""
    if type(iterator) is not zip and type(iterator) is not enumerate:
        return _yields_scalars(iterator)
    inside = gc.get_referents(iterator)
    sources = [each for pack in inside if type(pack) is tuple for each in pack] if type(iterator) is zip else inside
    return all(_yields_scalars(each) for each in sources if type(each) not in SCALARS and type(each) is not tuple)


def advanced(iterator: Any, under_test: UnderTest) -> Touches:
    """What is touched by asking an iterator for its next element."""
    if type(iterator) in _ITERATORS:
        return _iterated(iterator)
    if type(iterator) is GeneratorType:
        if in_c.goes_through_an_enumeration(iterator):
            return both(
                [Touch(iterator, ALL, True)], *(_iterated(each) for each in gc.get_referents(iterator) if type(each) in _ITERATORS)
            )
        return [Touch(iterator, ALL, True)] if makes_steps(iterator.gi_code, {}, under_test) else UNKNOWN
    return [] if all_methods_make_steps(type(iterator), under_test) else UNKNOWN


def makes_a_generator(thing: Any, under_test: UnderTest) -> bool:
    """Whether C that goes through an object does so by a generator of code under test, and asks it nothing before."""
    kind = type(thing)
    maker = in_class(kind, "__iter__")
    return (
        type(kind) is type
        and type(maker) is FunctionType
        and bool(maker.__code__.co_flags & CO_GENERATOR)
        and calls_code(kind, "__iter__", under_test)
        and in_class(kind, "__len__") is None
        and in_class(kind, "__length_hint__") is None
    )
