"""Which exceptions are no failure: those that every sequential order raises, and no more of them."""

from .programs import Counter, add, counted


def test_an_exception_that_more_threads_raise_than_in_any_sequential_order_is_a_failure():
    def take_the_only_one(counter):
        counter.value += 1
        if counter.value > 1:
            raise LookupError("taken")

    result = counted(take_the_only_one, take_the_only_one, setup=Counter, schedules=60)
    result.assert_violated()
    assert "LookupError: taken, more often than in any sequential order" in result.reason


def test_an_exception_that_only_one_sequential_order_raises_is_a_failure():
    def fill(kept):
        kept["key"] = 1

    def read(kept):
        return kept["key"]

    result = counted(fill, read, setup=dict, schedules=20)
    result.assert_violated()
    assert (result.symptom, result.expected) == ("exception", "")


class Unspeakable(Exception):
    def __str__(self):
        return self.no_such_attribute


def test_a_failure_whose_text_fails_is_reported_all_the_same():
    def thread(counter):
        add(counter)
        add(counter)
        if counter.value % 2:
            raise Unspeakable

    found = counted(thread, thread, setup=Counter, schedules=100)
    found.assert_violated()
    assert "Unspeakable: its own text raised AttributeError" in found.reason
    assert found.replays == (10, 10)
