"""What a call touches by itself, told from what is called and its arguments."""

from __future__ import annotations

import io
import itertools
import sys
from functools import partial
from operator import itemgetter
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from ...core.build_flags import FREE_THREADED_BUILD
from ...core.classes import computes_its_class, in_class, name_of_class, names_of
from ...core.origin import ours
from . import contexts, in_c, in_python, ordering, pure, values, waiting, without_gil
from .answers import returns_truths, truth_of
from .attributes import attribute_read, attribute_stored
from .calls import PLAIN_ERRORS, PLAIN_NEWS, function_makes_steps, hands_over, made_by_steps
from .elements import (
    OF_POOLS,
    PURE_OF_SCALARS,
    advanced,
    begun,
    interrupted,
    into,
    is_exact,
    makes_a_generator,
    of_a_known_kind,
    whole,
)
from .keyed import element
from .known_codecs import are_known_codecs
from .making import OF_A_SIZE, OF_ELEMENTS, made, ordered_by_key
from .methods import method_called, special_method_called
from .operands import immutable
from .operators import all_methods_make_steps, calls_code, kind_of, made_as, value_made_by
from .touch import ALL, CONTAINERS, DICTS, LISTS, SCALARS, SETS, SIZE, UNKNOWN, Touch, Touches, UnderTest, both, of_state

_LAZY = frozenset({map, filter, itertools.islice})
_GATHERING = frozenset({list, tuple, set, frozenset, sum, any, all, min, max, sorted})
_LOOKING = frozenset({isinstance, issubclass, callable, object, range, slice, super})
_ORDERING = frozenset({sorted, min, max})
_OF_ITERTOOLS = (*OF_POOLS, itertools.chain, itertools.cycle, itertools.zip_longest)
_KNOWN = (*_LOOKING, *PURE_OF_SCALARS, *OF_A_SIZE, *OF_ELEMENTS, *_LAZY, *_OF_ITERTOOLS, len, next)
_LOCKS = ("Lock", "RLock")
_REPORTED = frozenset(  # functions of `primitives` that report what they do to whoever records a run
    f"{kind}.{name}" for kind in _LOCKS for name in ("acquire", "release", "locked", "__enter__", "__exit__")
)


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
    return without_gil.by_call(found, callee, arguments) if found else found


def _called(callee: Any, arguments: list[Any], under_test: UnderTest) -> Touches:
    kind = type(callee)
    if kind is FunctionType:
        if ours(callee.__code__.co_filename):
            return [] if callee.__qualname__ in _REPORTED else UNKNOWN
        if function_makes_steps(callee, under_test) or _of_values(callee, arguments, under_test):
            return []
        if (function := contexts.made_by(callee)) is not None:
            return [] if function_makes_steps(function, under_test) else UNKNOWN
        if pure.keeps_its_arguments(callee):
            return []
        if (known := in_python.function(callee, arguments)) is not None:
            return of_state(known)
        if pure.reads_its_arguments(callee):
            return both(*(into(each, under_test) if is_exact(each) else UNKNOWN for each in arguments))
        predicate = waiting.predicate_of(callee, arguments)
        if predicate is not None and not (type(predicate) is FunctionType and returns_truths(predicate.__code__)):
            return UNKNOWN
        return waiting.touched_by_call(callee, arguments)
    if id(callee) in PLAIN_NEWS:
        return []
    if (value := value_made_by(callee)) is not None:  # ``super().__new__(cls, value)``
        return made(value, arguments[1:], under_test) if len(arguments) <= 2 else UNKNOWN  # no codecs
    if kind is BuiltinFunctionType and callee.__self__ is not None and type(callee.__self__) is not ModuleType:
        return method_called(callee.__name__, callee.__self__, arguments, under_test)
    if kind is MethodDescriptorType:
        return method_called(callee.__name__, arguments[0], arguments[1:], under_test) if arguments else UNKNOWN
    if kind is MethodWrapperType:
        return special_method_called(callee.__objclass__, callee.__name__, callee.__self__, arguments, under_test)
    if kind is WrapperDescriptorType and arguments:
        return special_method_called(callee.__objclass__, callee.__name__, arguments[0], arguments[1:], under_test)
    if issubclass(kind, type):
        if (
            name_of_class(callee) in _LOCKS
            and type(acquire := names_of(callee).get("acquire", in_class(callee, "acquire"))) is FunctionType
        ):
            return [] if ours(acquire.__code__.co_filename) else UNKNOWN
        if any(callee is each for each in PLAIN_ERRORS) or made_by_steps(callee, under_test):
            return []
        if kind is not type and calls_code(kind, "__call__", under_test):  # of its metaclass
            return []
        if in_python.keeps_its_arguments(callee):
            return []
        if kind is type and (container := made_as(callee)) is not None:
            return made(container, arguments, under_test)
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
        return of_state(known)
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
        return ordered_by_key(arguments[0], key, under_test, at_once=callee is sorted) if len(arguments) == 2 else UNKNOWN
    if interrupted(arguments, under_test):
        return UNKNOWN
    if callee in PURE_OF_SCALARS and all(type(each) in SCALARS or values.is_value(each) for each in arguments):
        return [] if len(arguments) == 1 or callee not in (str, bytes) or are_known_codecs(arguments[1:]) else UNKNOWN
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
        return truth_of(arguments[0], under_test)
    if callee in OF_A_SIZE:
        return made(callee, arguments, under_test)
    if callee is str or callee is repr:
        return both(*(into(each, under_test) for each in arguments))
    return made(callee, arguments, under_test) if callee in OF_ELEMENTS else UNKNOWN


def _of_values(callee: Any, arguments: list[Any], under_test: UnderTest) -> bool:
    if pure.calls_an_argument(callee):
        arguments = [each for each in arguments if not (type(each) is FunctionType and function_makes_steps(each, under_test))]
    return pure.looks_at_its_arguments_alone(callee, arguments)


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
    return both(*(element(thing, each, False, under_test) for each in items))
