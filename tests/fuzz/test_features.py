"""What features of the language and of the standard library touch is known, as far as no code of the program is called inside."""

import io
import sys

import pytest

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.engine.bytecode import in_c, operators, ordering

from ..slow import one_in
from . import features, untold, untold_names
from .features import NAMED_WHEN_CALLED, PROGRAMS, SEVERAL_STEPS_WITHOUT_A_GIL, Shared
from .programs import SETTLED, assert_no_more_than_holds, counted, under_the_lock
from .untold import Untold, change

SHARED = []
NOT_KNOWN = untold.NOT_KNOWN | untold_names.NOT_KNOWN


class Written(io.TextIOWrapper):
    def write(self, text):
        return len(text)


@pytest.mark.parametrize("name", one_in(18, PROGRAMS))
def test_a_program_that_meets_by_a_feature_is_found_and_its_twin_with_a_lock_is_settled(name):
    thread, invariant = PROGRAMS[name]
    result = counted(thread, thread, setup=Shared, invariant=invariant, schedules=600)
    assert result.verdict == "violated", result.reason
    twin = counted(*[under_the_lock(thread)] * 2, setup=Shared, invariant=invariant, schedules=600)
    unknown = SEVERAL_STEPS_WITHOUT_A_GIL if FREE_THREADED_BUILD else NAMED_WHEN_CALLED if sys.version_info < (3, 12) else ()
    if name in unknown:
        assert twin.verdict != "violated"
    else:
        assert twin.bound in SETTLED


@pytest.mark.parametrize("name", one_in(16, NOT_KNOWN))
def test_nothing_is_settled_where_c_calls_code_or_what_it_touches_is_not_told(name):
    assert_no_more_than_holds(counted(NOT_KNOWN[name], change, setup=Untold, schedules=60))


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (lambda row: row[0], True),
        (lambda row: (-row, row.lower()), True),
        (lambda row: len(SHARED), False),
        (lambda row, other=SHARED: other, False),
        (lambda row: row.__class__, False),
        (lambda row: [row], False),
        (lambda row, *, rows=SHARED: rows, False),
        (lambda row, *rows: rows, False),
    ],
)
def test_a_key_answers_with_what_its_argument_leads_to_only_if_it_names_nothing_else(key, told):
    assert ordering.answers_of_its_argument(key) is told


@pytest.mark.parametrize(
    ("thing", "value"), [(features.Key("a"), "a"), (features.Number(3), 3), (Untold().equal, None), ("a", None)]
)
def test_a_derived_text_or_number_is_the_plain_one_unless_it_compares_otherwise(thing, value):
    found = operators.plain_value(thing)
    assert found == value
    assert type(found) is type(value)


def test_a_stream_with_a_write_method_of_its_own_or_a_buffer_in_python_calls_code():
    class Buffer(io.BytesIO):
        pass

    assert in_c.is_stream_in_c(io.TextIOWrapper(io.BytesIO()))
    assert not in_c.is_stream_in_c(io.TextIOWrapper(Buffer()))
    assert not in_c.is_stream_in_c(Written(io.BytesIO()))
    assert not in_c.is_stream_in_c(None)


def test_the_buffer_of_a_stream_is_found_without_code_of_its_class():
    class Loud(io.TextIOWrapper):
        @property
        def buffer(self):
            raise AssertionError

    under = io.BytesIO()
    loud, detached = Loud(under), io.TextIOWrapper(io.BytesIO())
    assert in_c.buffer_of(loud) is under
    assert in_c.is_stream_in_c(loud)
    detached.detach()
    assert in_c.buffer_of(detached) is None
    assert not in_c.is_stream_in_c(detached)
    assert in_c.buffer_of(io.StringIO()) is None
