"""A replay follows its token exactly, or says that it has diverged: it never passes because it ran something else."""

import threading
from dataclasses import replace

import pytest

from pytest_gilcheck import ReplayDiverged
from pytest_gilcheck.engine.schedule import Choice, Schedule, Token
from pytest_gilcheck.fuzz import failing
from pytest_gilcheck.search import ledger

from ..slow import one_in
from .learning import Late, same_twice
from .programs import Counter, add, counted, is_two


def fuzz(**arguments):
    return counted(add, add, **{"setup": Counter, "invariant": is_two, "schedules": 60} | arguments)


@pytest.fixture(scope="module")
def token():
    found = fuzz()
    found.assert_violated()
    return Token.read(found.token)


@pytest.mark.parametrize(
    "choice",
    one_in(3, map(pytest.param, [Choice(2, 7), Choice(2, 0), Choice(2, 1, True)])),
    ids=["no thread", "itself", "not forced"],
)
def test_a_replay_that_cannot_switch_as_its_token_does_has_diverged(token, choice):
    other = replace(token, schedule=Schedule((choice,)), anchors=(0,))
    with pytest.raises(ReplayDiverged, match="cannot switch at point 2"):
        fuzz(replay=str(other))


def test_a_replay_that_switches_at_another_place_than_its_token_has_diverged(token):
    fuzz(replay=str(token)).assert_violated()
    other = replace(token, anchors=tuple(anchor ^ 1 for anchor in token.anchors))
    with pytest.raises(ReplayDiverged, match="the token's run was elsewhere"):
        fuzz(replay=str(other))


@pytest.mark.slow
def test_a_replay_that_ends_sooner_than_its_token_has_diverged(token):
    other = Token(token.program, token.threads, Schedule(), (), token.points + 1)
    with pytest.raises(ReplayDiverged, match="points, and the token's run had"):
        fuzz(replay=str(other))


def test_only_the_replays_that_fail_are_counted_as_failed(monkeypatch):
    replays, real = iter(range(ledger.REPLAYS)), failing.Explorer.once
    counting = threading.Event()

    def once(explorer, policy, **arguments):
        run, failure = real(explorer, policy, **arguments)
        return run, None if counting.is_set() and next(replays, 0) % 2 else failure

    def progress(label):
        (counting.set if label == "replaying" else counting.clear)()

    monkeypatch.setattr(failing.Explorer, "once", once)
    result = counted(add, add, setup=Counter, invariant=is_two, schedules=60, progress=progress)
    result.assert_violated()
    assert result.replays == (5, 10)
    assert "only 5 of 10 replays failed" in result.reason


@pytest.mark.slow
def test_what_a_search_has_learnt_about_names_goes_with_the_token_to_a_replay():
    program = {"setup": Late, "invariant": same_twice}
    result = counted(Late.use, Late.raise_limit, **program)
    assert result.verdict == "violated", str(result)
    assert Token.read(result.token).learnt, "nothing had to be learnt, so nothing is tried here"
    again = counted(Late.use, Late.raise_limit, **program, replay=result.token)
    assert again.verdict == "violated", str(again)
