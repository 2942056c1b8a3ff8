import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_gilcheck.engine.schedule import BadToken, Choice, Schedule, Token, checksum
from tests.untimed import UNTIMED

CHOICES = st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 40), st.booleans()), unique_by=lambda each: each[0]).map(
    lambda drawn: tuple(Choice(*each) for each in sorted(drawn))
)


@settings(UNTIMED, max_examples=50)
@given(choices=CHOICES, points=st.integers(0, 10**6), data=st.data())
def test_a_token_says_the_same_again(choices, points, data):
    anchors = tuple(data.draw(st.integers(0, 0xFFFF)) for _ in choices)
    token = Token(checksum("f|g"), 2, Schedule(choices), anchors, points)
    assert Token.read(str(token)) == token
    assert str(token).isascii()


def test_a_damaged_token_is_refused_with_the_reason():
    text = str(Token(1, 2, Schedule((Choice(3, 1),)), (7,), 9))
    with pytest.raises(BadToken, match="does not begin"):
        Token.read("x" + text)
    with pytest.raises(BadToken, match="checksum"):
        Token.read(text[:-2])
    with pytest.raises(BadToken, match=r"checksum|characters"):
        Token.read(text[:8] + ("A" if text[8] != "A" else "B") + text[9:])
    with pytest.raises(BadToken, match="characters"):
        Token.read(text + "!")


def test_only_choices_that_nothing_forced_count_as_preemptions():
    assert Schedule((Choice(1, 1, True), Choice(4, 0), Choice(9, 1))).preemptions == 2
    assert str(Schedule()) == "no preemption"
