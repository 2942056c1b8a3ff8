"""What a user sees of where an error came from."""

import pytest

from pytest_gilcheck import BadValue, gilcheck
from pytest_gilcheck.calls import Gilcheck
from pytest_gilcheck.core.origin import ours
from pytest_gilcheck.core.tracebacks import without_ours
from pytest_gilcheck.runner import Runner
from pytest_gilcheck.settings import Settings


def nothing():
    pass


def no_database():
    raise ValueError("no database")


def shown(found):
    """The names of the functions that pytest shows of an error."""
    return [entry.name for entry in found.traceback if not entry.ishidden(found)]


@pytest.mark.parametrize(
    "check",
    [
        lambda here: here.fuzz(threads=[id, id], setup=no_database, budget=0.3),
        lambda here: here.scaling(no_database, threads=2, budget=0.3),
    ],
)
def test_an_error_of_the_users_code_is_shown_without_frames_of_the_package(check):
    here = Gilcheck(Settings({"isolate": "none"}))  # a child's traceback comes as a note
    with pytest.raises(ValueError, match="no database") as found:
        check(here)
    assert shown(found)[-1] == "no_database"
    assert not [entry for entry in found.traceback if ours(str(entry.path)) and not entry.ishidden(found)]


def test_a_value_that_cannot_be_used_is_shown_where_it_was_given():
    with pytest.raises(BadValue) as found:
        gilcheck.fuzz(threads=[nothing, nothing], budget="long")
    assert not [entry for entry in found.traceback if ours(str(entry.path)) and not entry.ishidden(found)]


def test_a_defect_of_the_package_is_shown_with_its_frames(monkeypatch):
    monkeypatch.setattr(Runner, "read", lambda *arguments: arguments[99])
    monkeypatch.setattr("pytest_gilcheck.core.tracebacks.ours", lambda path: "pytest_gilcheck" in path or path == __file__)
    with pytest.raises(IndexError) as found:
        gilcheck.fuzz(threads=[nothing, nothing])
    assert [entry.name for entry in found.traceback][-2:] == ["_run", "<lambda>"]


def test_only_the_frames_between_are_left_out():
    try:
        no_database()
    except ValueError as error:
        kept = without_ours(error)
        assert kept.tb_frame.f_code.co_name == "test_only_the_frames_between_are_left_out"
        assert kept.tb_next.tb_frame.f_code.co_name == "no_database"
        assert kept.tb_next.tb_next is None
