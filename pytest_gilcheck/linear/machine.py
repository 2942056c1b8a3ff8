"""`ConcurrentMachine`: the rules of hypothesis' stateful tests, called by several threads at once.

A rule is one call on the system, and returns its result. A machine must keep no model of its own: two rules that write its
attributes would race with each other, and a correct class would be condemned. So that is looked for, and refused.

Preconditions are asked before each call of a sequential order. A program of which one fails there is none: a class has not promised
that what was true is still true when its operation begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine

from .bundles import Earlier
from .copies import copied, state_of
from .of_hypothesis import of_test_case
from .operations import OperationKind

F = TypeVar("F", bound=Callable[..., Any])
_ROLE = "gilcheck_role"
_MOST_EARLIER = 3


def role(name: str) -> Callable[[F], F]:
    """Of a rule: it is called by the thread of this role alone. Each role is one thread; put it above ``@rule``."""

    def mark(function: F) -> F:
        setattr(function, _ROLE, name)
        return function

    return mark


class _AsTest:
    """A descriptor that gives a class of tests for each class of machines, always the same: decorators may set something on it."""

    def __init__(self) -> None:
        self._made: dict[type, type] = {}

    def __get__(self, machine: object, cls: type[ConcurrentMachine]) -> type:
        def test_concurrently(case: object, gilcheck: Any) -> None:
            __tracebackhide__ = True
            gilcheck.linearizable(cls, **{**of_test_case(type(case)), **cls.options}).assert_holds()

        if cls not in self._made:
            namespace = {"test_concurrently": test_concurrently, "settings": None, "__module__": cls.__module__}
            self._made[cls] = type(f"{cls.__name__}.TestCase", (), namespace)
        return self._made[cls]


class ConcurrentMachine(RuleBasedStateMachine):
    """A machine whose rules are called by several threads.

    Attributes:
        options: arguments of `calls.Gilcheck.linearizable`, such as ``{"threads": 3, "waiting": "visible"}``.
        TestCase: the tests of a machine: ``TestQueue = QueueMachine.TestCase``.
    """

    options: ClassVar[Mapping[str, Any]] = {}
    TestCase: Any = _AsTest()


class NotForThreads(Exception):
    """A machine that cannot be run by threads; the message says why, and what to write."""


def kinds_of(cls: type[ConcurrentMachine], threads: int) -> tuple[OperationKind, ...]:
    """The rules of a machine as operations.

    Raises:
        NotForThreads: more roles than threads, or a bundle in another strategy.
    """
    rules = cls.setup_state().rules
    roles = list(dict.fromkeys(_role_of(cls, rule) for rule in rules if _role_of(cls, rule)))
    if len(roles) > threads:
        raise NotForThreads(f"it has {len(roles)} roles and {threads} threads, and each role is one: options = {{'threads': 3}}")
    free = frozenset(range(len(roles) + 1, threads + 1))
    return tuple(_kind(cls, rule, roles, free if roles else None) for rule in rules)


def _role_of(cls: type, rule: Any) -> str:
    return str(getattr(getattr(cls, rule.function.__name__, None), _ROLE, ""))


def _kind(cls: type, rule: Any, roles: Sequence[str], free: frozenset[int] | None, *, first: bool = False) -> OperationKind:
    own = _role_of(cls, rule)
    lanes = frozenset({roles.index(own) + 1}) if own else free
    return OperationKind(
        rule.function.__name__,
        named={name: _argument(strategy, rule) for name, strategy in rule.arguments.items()},
        call=rule.function,
        implemented=(rule.function,),
        alone=first,
        always_first=first,
        lanes=lanes,
        targets=tuple(rule.targets),
        preconditions=tuple(rule.preconditions),
    )


def _argument(strategy: Any, rule: Any) -> Any:
    if not isinstance(strategy, Bundle):
        return strategy
    if getattr(strategy, "_transformations", ()):
        raise NotForThreads(f"rule {rule.function.__name__} filters or maps a bundle: do that in the rule")
    name, consumes = strategy.name, bool(strategy.consume)
    return st.integers(0, _MOST_EARLIER).map(lambda number: Earlier(number, name, consumes))


def first_kinds(cls: type[ConcurrentMachine]) -> tuple[OperationKind, ...]:
    """The ``@initialize`` rules, each of which is called once, before everything else."""
    return tuple(_kind(cls, rule, (), None, first=True) for rule in cls.setup_state().initializers)


def look_at(machine: Any) -> None:
    """Ask the invariants, when all threads have ended."""
    for invariant in machine.invariants:
        if all(precondition(machine) for precondition in invariant.preconditions):
            invariant.function(machine)


_OWN = frozenset({"rules", "invariants", "bundles", "names_counters", "names_list", "names_to_values"})


def attributes(machine: Any) -> dict[str, Any]:
    """What a machine keeps in attributes of its own, by which a rule that writes them is known."""
    return {
        name: (id(value), copied(value) if type(value) in (list, dict, set) else None)
        for name, value in state_of(machine).items()
        if name not in _OWN and not name.startswith(("_RuleBasedStateMachine", "_initialize", "_observability"))
    }


def refusal(written: Mapping[OperationKind, set[str]], threads: int) -> str:
    """Why rules that write attributes of the machine race with each other; empty if they do not.

    Args:
        written: the attributes that each rule writes.
    """
    for attribute in sorted(set().union(*written.values())):
        writers = [kind for kind, names in written.items() if attribute in names]
        lanes = [lane for kind in writers for lane in range(1, threads + 1) if kind.may_be_in(lane, threads)]
        if len(set(lanes)) > 1:
            names = " and ".join(kind.name for kind in writers)
            what = f"two threads call {names}, which write{'s' * (len(writers) == 1)} self.{attribute} of the machine"
            advice = (
                "keep no model there; return the result of the call, and compare with a simpler class by linearizable(model=...)"
            )
            return f"{what}: that would race, and not the class: {advice}"
    return ""
