"""Attributes that a descriptor in C computes, however it came into the class: they change although nothing stores them."""

import operator

import pytest

from pytest_gilcheck.core.verdict import Verdict

from ..slow import one_in
from .computed_elsewhere import Fields, Named, WithStatus, stored, with_status
from .programs import SETTLED, counted


class Job:
    def __init__(self):
        self._status, self.same, self.error = "new", True, ValueError()
        self.error.__traceback__ = None

    def run(self):
        self._status = "run"
        self._status = "new"


class Inherited(WithStatus, Job):
    pass


@with_status
class Decorated(Job):
    pass


class Made(Job, metaclass=Fields):
    FIELDS = ("status",)


class Called(Job):
    status = stored("_status")


class Unpacked(Job):
    status, kind = property(operator.attrgetter("_status")), None


class InLocals(Job):
    locals()["status"] = property(operator.attrgetter("_status"))


class SetByName(Job):
    named = Named()


OfType = type("OfType", (Job,), {"status": property(operator.attrgetter("_status"))})


class Constant(Job):
    status = "new"


def run(job):
    job.run()


def look(job):
    first = job.status
    second = job.status
    job.same = first is second


def same(job):
    return job.same


@pytest.mark.parametrize("kind", one_in(4, [Inherited, Decorated, Made, Called, Unpacked, InLocals, SetByName, OfType]))
def test_an_attribute_that_a_descriptor_computes_is_a_step_wherever_it_was_put_into_the_class(kind):
    found = counted(run, look, setup=kind, invariant=same, schedules=300)
    assert found.verdict is Verdict.VIOLATED, str(found)


def test_an_attribute_that_nothing_computes_is_none():
    held = counted(run, look, setup=Constant, invariant=same, schedules=300)
    assert held.bound in SETTLED, str(held)


def raise_error(job):
    try:
        raise job.error
    except ValueError:
        pass


def look_at_traceback(job):
    first = job.error.__traceback__
    second = job.error.__traceback__
    job.same = first is second


def test_the_traceback_of_a_shared_exception_changes_when_it_is_raised():
    found = counted(raise_error, look_at_traceback, setup=Job, invariant=same, schedules=300)
    assert found.verdict is Verdict.VIOLATED, str(found)
