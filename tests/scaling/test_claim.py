import pytest

from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.scaling import claim as claims
from pytest_gilcheck.scaling.plan import plan

from ..given import given as given_for


def claim(*, threads, build, source="argument", **values):
    return claims.claim(given_for("scaling", source, **values), threads=threads, build=build)


def test_the_default_depends_on_the_build():
    assert claim(threads=2, build="free-threaded").efficiency == 0.7
    assert claim(threads=2, build="gil").min_speedup == pytest.approx(0.8)


def test_one_number_for_each_build_and_the_default_where_a_build_is_missing():
    given = {"gil": 0.9, "free-threaded": 1.8}
    assert claim(min_speedup=given, threads=2, build="gil").min_speedup == 0.9
    assert claim(min_speedup=given, threads=2, build="free-threaded").min_speedup == 1.8
    assert claim(min_speedup={"gil": 0.9}, threads=2, build="free-threaded").efficiency == 0.7


def test_claims_for_different_builds_do_not_contradict():
    both = {"min_speedup": {"free-threaded": 1.5}, "max_slowdown": {"gil": 1.1}}
    assert claim(**both, threads=2, build="gil").min_speedup == pytest.approx(1 / 1.1)
    assert claim(**both, threads=2, build="free-threaded").min_speedup == 1.5


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"min_speedup": "fast"}, "min_speedup='fast' (from marker)"),
        ({"min_speedup": True}, "min_speedup=True"),
        ({"min_speedup": 0}, "min_speedup=0"),
        ({"min_speedup": float("nan")}, "min_speedup=nan"),
        ({"min_speedup": 2.5}, "at most 2, the number of threads"),
        ({"min_speedup": {"nogil": 1.5}}, "not 'nogil'"),
        ({"min_speedup": {"gil": "x", "free-threaded": 1.5}}, "min_speedup['gil']='x'"),
        ({"max_slowdown": 0.5}, "at least 1"),
        ({"efficiency": 80}, "at most 1"),
        ({"min_speedup": 1.5, "max_slowdown": 1.1}, "no min_speedup beside it"),
        ({"efficiency": 0.5, "min_speedup": 1.1}, "no min_speedup beside it"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused_with_its_name_value_and_source(given, names):
    with pytest.raises(BadValue) as caught:
        claim(**given, threads=2, build="free-threaded", source="marker")
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"threads": 0}, {"threads": 1}, {"threads": 2.0}, {"threads": "two"}, {"threads": True}, {"budget": -1}, {"budget": "1"},
        {"budget": float("inf")}, {"timeout": 0}, {"cores": 0}, {"switchinterval": -0.1}, {"warmup": -1}, {"setup": 3},
    ],
)  # fmt: skip
def test_a_plan_that_makes_no_sense_is_refused_with_its_name_and_source(given):
    [(name, value)] = given.items()
    with pytest.raises(BadValue, match="from the test") as caught:
        plan(given_for("scaling", "the test", **given))
    assert (caught.value.name, caught.value.value) == (name, value)
