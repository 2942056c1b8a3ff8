"""What is said of a value whose own code raises, ends the process, or gives anything for every name."""

import xmlrpc.client

import pytest

from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.core.evidence import plain
from pytest_gilcheck.core.texts import name_in, text_of
from pytest_gilcheck.core.workloads import called_by, calling, is_async, name_of


class Unspeakable:
    def __repr__(self):
        raise SystemExit(0)

    def __getattr__(self, name):
        raise RuntimeError(f"no {name} here")

    def __call__(self):
        pass


class Many:
    def __repr__(self):
        return "[[1 2]\n [3 4]]\x1b[31m"


class Anything:
    """As a proxy of another process: each name is there."""

    def __getattr__(self, name):
        return self

    def __call__(self):
        pass


class Remote(xmlrpc.client._Method):  # what `ServerProxy(address).name` is
    """Each name gives a new object, without an end."""

    def __call__(self):
        pass


def work():
    pass


async def awaited():
    pass


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Unspeakable(), "<Unspeakable, whose repr raises SystemExit>"),
        (Many(), r"[[1 2] [3 4]]\x1b[31m"),
        (10**5000, "<int of 16,610 bits>"),
        ("a  b\n", r"'a  b\n'"),
        ([1, 2], "[1, 2]"),
    ],
    ids=["raises", "many lines", "too long", "text", "list"],
)
def test_the_text_of_any_value_is_one_line_that_can_be_printed(value, text):
    assert text_of(value) == text
    assert str(BadValue("threads", value, "a number")) == f"threads={text} (from argument): expected a number"


def test_an_interrupt_of_the_user_is_not_taken_for_a_repr_that_raises():
    class Interrupted:
        def __repr__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        text_of(Interrupted())


@pytest.mark.parametrize("value", [Unspeakable(), Anything(), Remote(None, "ping")], ids=lambda value: type(value).__name__)
def test_an_object_that_has_every_name_or_lets_nobody_look_has_no_name_and_calls_nothing_else(value):
    assert name_in(value) == ""
    assert isinstance(name_of(value), str)
    assert called_by(value) is value
    assert not is_async(value)
    assert plain(value) == type(value).__qualname__


def test_a_function_has_its_name_and_what_calls_it_for_the_user_leads_to_it():
    assert name_in(work) == name_of(work) == plain(work) == "work"
    assert called_by(calling(lambda: work(), work)) is work
    assert not is_async(work)
    assert is_async(awaited)
