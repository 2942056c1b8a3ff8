"""An exception of a child process reaches its parent as what it was."""

import threading

import pytest

from pytest_gilcheck.core.packing import packed, unpacked

from .forked_call import call


class Coded(Exception):
    """Its ``__init__`` takes other arguments than it keeps, as pickle does not expect."""

    def __init__(self, code, *, held=None):
        super().__init__(f"code {code}")
        self.code, self.held = code, held


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    def __reduce__(self):
        raise RuntimeError("no state")


def sent(error):
    """The exception, as the parent of a process that raised it gets it."""

    def raising():
        try:
            raise error
        except BaseException as caught:
            return packed(caught)

    return unpacked(call(raising, 10.0)[1])


def test_a_class_keeps_its_message_and_attributes_whatever_its_constructor_takes():
    error = sent(Coded(3))
    assert type(error) is Coded
    assert (str(error), error.code) == ("code 3", 3)


def test_a_class_that_a_function_made_is_the_same_class():
    class Local(ValueError):
        pass

    error = sent(Local("text", 7))
    assert type(error) is Local
    assert error.args == ("text", 7)


def test_what_cannot_be_pickled_arrives_as_text():
    error = sent(Coded(4, held=threading.Lock()))
    assert error.code == 4
    assert "unlocked _thread.lock" in error.held


@pytest.mark.parametrize("kind", [KeyError, OSError, UnicodeDecodeError, SystemExit, KeyboardInterrupt, StopIteration])
def test_exceptions_of_the_interpreter_arrive_as_they_are(kind):
    arguments = {OSError: (2, "no such file", "name"), UnicodeDecodeError: ("utf-8", b"\xff", 0, 1, "invalid")}.get(kind, ("text",))
    error = sent(kind(*arguments))
    assert type(error) is type(kind(*arguments))
    assert str(error) == str(kind(*arguments))


def test_the_exceptions_of_a_group_keep_their_classes():
    class Local(Exception):
        pass

    error = sent(ExceptionGroup("several", [Local(threading.Lock()), KeyError("name")]))
    assert [type(part) for part in error.exceptions] == [Local, KeyError]


def test_an_exception_that_refuses_everything_is_told_by_its_class():
    error = sent(Unspeakable("text"))
    assert "Unspeakable" in f"{type(error).__name__}: {error.args}"


def test_a_note_says_where_it_was_raised():
    assert "in raising\n    raise error" in "".join(sent(Coded(1)).__notes__)
