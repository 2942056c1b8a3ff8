"""Claims that make sense are taken, others are refused in one line."""

import pytest

from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.core.interpreter import FREE_THREADED, GIL, build

from .made import claim, plan

OTHER = GIL if build() == FREE_THREADED else FREE_THREADED


def test_by_default_the_p99_may_be_50_ms():
    assert (claim().p99, claim().max, str(claim())) == (0.05, None, "p99 at most 50 ms")


def test_a_max_alone_is_a_claim_without_a_p99():
    assert (claim(max=0.2).p99, claim(max=0.2).max) == (None, 0.2)


def test_each_build_may_have_its_own_limit_and_one_not_named_has_the_default():
    assert claim(p99={build(): 0.01}).p99 == 0.01
    assert claim(p99={OTHER: 0.01}).p99 == 0.05
    assert claim(p99=0.01, max={OTHER: 0.02}).max is None


@pytest.mark.parametrize("value", [0, -1, True, "0.05", float("nan"), float("inf"), 50, [0.05], {}, {"nogil": 0.1}, {GIL: -1}])
@pytest.mark.parametrize("name", ["p99", "max"])
def test_nonsense_is_refused_with_its_name_and_source(name, value):
    with pytest.raises(BadValue, match=rf"^{name}.*from marker gil_latency"):
        claim("marker gil_latency", **{name: value})


def test_a_max_below_the_p99_is_refused():
    with pytest.raises(BadValue, match="at least the p99"):
        claim(p99=0.05, max=0.01)


@pytest.mark.parametrize(
    ("name", "value"),
    [("workers", 0), ("workers", 1.5), ("workers", True), ("budget", 0), ("budget", "2"), ("timeout", -1), ("think", 0),
     ("think", 2), ("loop", 1), ("switchinterval", 0), ("switchinterval", ()), ("switchinterval", (0.005, -1)),
     ("switchinterval", "fast"), ("cores", 0), ("setup", 3)],
)  # fmt: skip
def test_a_bad_plan_is_refused_with_its_source(name, value):
    with pytest.raises(BadValue, match=rf"^{name}.*from environment"):
        plan("environment", **{name: value})


def test_a_plan_has_defaults_for_everything():
    assert (plan().workers, plan().loop, plan().sweep, plan().switchinterval) == (1, False, (), None)


def test_one_interval_is_set_and_several_are_compared():
    assert (plan(switchinterval=0.001).switchinterval, plan(switchinterval=0.001).sweep) == (0.001, ())
    assert (plan(switchinterval=[0.005, 0.001]).switchinterval, plan(switchinterval=[0.005, 0.001]).sweep) == (None, (0.005, 0.001))
