"""Machines of hypothesis' rules, called by several threads."""

from functools import partial

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, initialize, invariant, precondition, rule

from pytest_gilcheck import ConcurrentMachine, gilcheck, role

from .classes import BoundedQueue, Counter, FixedBoundedQueue, Registry, locked

judged = partial(gilcheck.linearizable, judge=False, budget=1000)  # numbers of programs decide, however busy the machine


class QueueMachine(ConcurrentMachine):
    of = BoundedQueue

    def __init__(self):
        super().__init__()
        self.queue = self.of()

    @role("producer")
    @rule(item=st.integers(0, 2))
    def put(self, item):
        return self.queue.put(item)

    @role("consumer")
    @rule()
    def get(self):
        return self.queue.get()


class ManyConsumers(ConcurrentMachine):
    of = BoundedQueue

    def __init__(self):
        super().__init__()
        self.queue = self.of()

    @rule(item=st.integers(0, 1))
    def put(self, item):
        return self.queue.put(item)

    @rule()
    def get(self):
        return self.queue.get()


class FixedManyConsumers(ManyConsumers):
    of = FixedBoundedQueue


@pytest.mark.slow
def test_the_rules_of_a_machine_are_called_by_threads_and_what_is_wrong_is_found():
    assert judged(ManyConsumers, seed=1, examples=400).verdict == "violated"
    assert judged(FixedManyConsumers, seed=1, examples=20).verdict == "holds"


@pytest.mark.slow
def test_a_role_is_one_thread_so_one_consumer_does_not_race_with_another():
    assert judged(QueueMachine, seed=1, examples=100).verdict == "holds"


class RegistryMachine(ConcurrentMachine):
    names = Bundle("names")
    of = Registry

    def __init__(self):
        super().__init__()
        self.registry = self.of()

    @initialize(target=names, name=st.sampled_from("ab"))
    def first(self, name):
        return name

    @rule(target=names, name=st.sampled_from("ab"))
    def register(self, name):
        self.registry.get(name)
        return name

    @rule(name=names)
    def get(self, name):
        return self.registry.get(name)


class LockedRegistryMachine(RegistryMachine):
    of = locked(Registry)


@pytest.mark.slow
def test_a_result_is_an_argument_of_a_later_rule_and_initialize_comes_first():
    found = judged(RegistryMachine, seed=1, examples=300)
    assert found.verdict == "violated"
    assert found.program.startswith("() first(name='a')")
    assert judged(LockedRegistryMachine, seed=1, examples=60).verdict == "holds"


class Account:
    begins_with = 1

    def __init__(self):
        self.balance = self.begins_with

    def withdraw(self):
        if self.balance > 0:
            self.balance -= 1


class AccountMachine(ConcurrentMachine):
    of = Account

    def __init__(self):
        super().__init__()
        self.account = self.of()

    @precondition(lambda self: self.account.balance > 0)
    @rule()
    def withdraw(self):
        self.account.withdraw()

    @rule()
    def enough(self):
        return self.account.balance >= 0

    @rule()
    def take(self):
        self.account.withdraw()

    @invariant()
    def never_below_zero(self):
        assert self.account.balance >= 0


class RichAccount(locked(Account)):
    begins_with = 9  # so that the precondition holds in every order


class LockedAccountMachine(AccountMachine):
    of = RichAccount


@pytest.mark.slow
def test_an_invariant_is_asked_when_the_threads_have_ended():
    assert judged(AccountMachine, seed=1, examples=200).verdict == "violated"
    assert judged(LockedAccountMachine, seed=1, examples=60).verdict == "holds"


class WithAModel(ConcurrentMachine):
    def __init__(self):
        super().__init__()
        self.counter, self.model = locked(Counter)(), 0

    @rule()
    def add(self):
        self.model += 1
        return self.counter.add()

    @rule()
    def value(self):
        return self.counter.value()


def test_a_machine_that_keeps_a_model_in_its_attributes_is_refused_and_not_condemned():
    found = judged(WithAModel, seed=1)
    assert found.verdict == "inconclusive"
    assert "add, which writes self.model of the machine" in found.reason


def test_what_a_test_of_a_machine_is_called():
    assert [name for name in vars(QueueMachine.TestCase) if name.startswith("test")] == ["test_concurrently"]
    with pytest.raises(ValueError, match="3 roles and 2 threads"):
        judged(ThreeRoles)


class ThreeRoles(ConcurrentMachine):
    @role("a")
    @rule()
    def one(self):
        pass

    @role("b")
    @rule()
    def two(self):
        pass

    @role("c")
    @rule()
    def three(self):
        pass
