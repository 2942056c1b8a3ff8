"""The search with our visible steps finds the outcomes that the search with every instruction as a step finds, and no others.

A seeded sample of generated programs runs here; `benchmarks/fuzz_soundness.py` runs as many as are wanted. Then each exception of
the rule is tried with a program of its own; and with a mistake planted into the exception, the same program shows the difference.
"""

import sys
import threading

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import booleans

from pytest_gilcheck.core.build_flags import FREE_THREADED_BUILD
from pytest_gilcheck.engine.bytecode import (
    call_effects,
    calls,
    changing,
    effects,
    instructions,
    operands,
    part_effects,
    sources,
    waiting,
)
from pytest_gilcheck.search import races
from pytest_gilcheck.search.reduction import Reduction

from ..slow import one_in, only
from .generated import Drawn, programs
from .outcomes import BruteForceNotEnded, lost_by_conflicts, missed


@seed(4)
@settings(max_examples=2, database=None, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_generated_programs_have_the_outcomes_of_brute_force(drawn):
    differing, brute, _ = missed(drawn, preemptions=1)
    assert not differing, f"{differing}\n{drawn.source}"
    assert brute.found


@pytest.mark.slow
def test_many_generated_programs_have_the_outcomes_of_brute_force():
    compared, too_large = [], []

    @seed(5)
    @settings(max_examples=16, database=None, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def compare(drawn):
        try:
            differing, _, _ = missed(drawn, longest=15.0)
        except BruteForceNotEnded:  # of threads that start threads, one preemption leads to 100,000 schedules
            too_large.append(drawn)
        else:
            assert not differing, f"{differing}\n{drawn.source}"
            compared.append(drawn)

    compare()
    assert len(compared) >= 10, f"{len(compared)} compared, too large: {too_large}"


def excepted(*names):
    """Plants the mistake that these instructions never are steps."""

    def plant(monkeypatch):
        for name in names:
            planted = instructions.INSTRUCTIONS[name]._replace(unless="always", drops=False)
            monkeypatch.setitem(instructions.INSTRUCTIONS, name, planted)

    return plant


def replaced(owner, name, value):
    return lambda monkeypatch: monkeypatch.setattr(owner, name, value)


def pure(*callees):
    return lambda monkeypatch: monkeypatch.setattr(calls, "_PURE", calls._PURE | {id(each): each for each in callees})


def together(*plants):
    return lambda monkeypatch: [plant(monkeypatch) for plant in plants]


def reader(topic, reading, changed, *, before="s.n += 1"):
    """One thread marks the moment and reads; the other looks for the mark and changes what is read."""
    return Drawn((topic,), ((before, reading), ("x = s.n", changed)))


never = replaced(changing.Changing, "attribute_changes", lambda self, name, method: False)
no_setattr = together(
    replaced(changing, "CALLS_A_SETTER", ""),
    replaced(changing, "STORING", changing.STORING - {"setattr"}),
    replaced(changing.Changing, "called", lambda self, callee: None),
)
no_dictionaries = replaced(changing, "STORING", frozenset())
unended = replaced(changing, "_ENDING", frozenset())
immutable_results = replaced(operands, "_IMMUTABLE_RESULTS", operands._IMMUTABLE_RESULTS | {sum, sorted})
TRIALS = {
    "an operator reads its operands": (reader("lists", "y = items + others", "items.append(9)"), excepted("BINARY_OP")),
    "so does one with a constant": (reader("lists", "y = items * 2", "items.append(9)"), excepted("BINARY_OP")),
    "a comparison reads its operands": (reader("lists", "y = items == [1, 2]", "items.append(9)"), excepted("COMPARE_OP")),
    "a search reads a container": (reader("lists", "y = 9 in items", "items.append(9)"), excepted("CONTAINS_OP")),
    "a subscript reads a container": (
        reader("lists", "y = items[0]", "items[0] = 7"),
        excepted("BINARY_SUBSCR", "BINARY_OP"),
    ),
    "a slice reads a container": (
        reader("lists", "y = items[:]", "items.append(9)"),
        excepted("BINARY_SLICE", "BINARY_SUBSCR", "BINARY_OP"),
    ),
    "a truth reads a container": (
        reader("lists", "y = 1 if items else 2", "items.clear()"),
        excepted("TO_BOOL", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE"),
    ),
    "a negation reads a container": (reader("lists", "y = not items", "items.clear()"), excepted("UNARY_NOT", "TO_BOOL")),
    "unpacking reads a container": (reader("lists", "y, *z = items", "items.append(9)"), excepted("UNPACK_EX")),
    "a display reads what it is made of": (
        reader("lists", "y = [*items]", "items.append(9)"),
        excepted("LIST_EXTEND"),
    ),
    "a loop reads at each element": (
        Drawn(("lists",), (("for each in items:\n    s.m += 1",), ("x = s.m", "items.append(9)"))),
        excepted("FOR_ITER"),
    ),
    "formatting reads its value": (reader("lists", "y = f'{items}'", "items.append(9)"), excepted("FORMAT_SIMPLE", "FORMAT_VALUE")),
    "conversion reads its value": (
        reader("lists", "y = f'{items!r:>12}'", "items.append(9)"),
        excepted("CONVERT_VALUE", "FORMAT_VALUE"),
    ),
    "an argument list reads what it is made of": (
        reader("lists", "y = first(*items)", "items[0] = 7"),
        excepted("CALL_FUNCTION_EX"),
    ),
    "a pattern reads its subject": (
        reader("lists", "match keys:\n    case {'a': y}:\n        pass", "keys['a'] = 5"),
        excepted("MATCH_MAPPING", "MATCH_KEYS", "GET_LEN", "COMPARE_OP", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE"),
    ),
    "a function in C reads its arguments": (reader("lists", "y = sorted(items)", "items.append(9)"), pure(sorted)),
    "and all of them": (reader("lists", "y = divmod(7, sum(items))", "items.append(9)"), pure(sum)),
    "a local variable may be any object": (
        reader("lists", "y = items + others", "items.append(9)"),
        replaced(operands._Flow, "_local", lambda self, name: operands.Operand.IMMUTABLE),
    ),
    "a type in C reads its argument": (
        reader("into C", "y = Tuple(items)", "items.append(9)"),
        replaced(calls, "made_by_steps", lambda kind, under_test: True),
    ),
    "an attribute is rebound": (reader("names", "y = s.limit", "s.limit = 4"), never),
    "and by a constructor that runs again": (
        reader("names", "y = s.limit", "s.__init__()", before="s.limit = 9\ns.n += 1"),
        never,
    ),
    "and on the class": (reader("names", "y = s.kind", "State.kind = 2"), never),
    "and by setattr": (reader("dynamic", "y = s.limit", "setattr(s, 'limit', 5)"), no_setattr),
    "and by setattr under a name that is computed": (
        reader("dynamic", "y = s.limit", "setattr(s, 'LIMIT'.lower(), 5)"),
        no_setattr,
    ),
    "and by a setattr of another name": (
        reader("dynamic", "y = s.limit", "put = setattr\nput(s, 'limit', 5)"),
        no_setattr,
    ),
    "and through its dictionary": (
        reader("dynamic", "y = s.limit", "vars(s)['limit'] = 6"),
        no_dictionaries,
    ),
    "and through its dictionary under a key that is computed": (
        reader("dynamic", "y = s.limit", "vars(s)['LIMIT'.lower()] = 6"),
        no_dictionaries,
    ),
    "and through a local that is its dictionary": (
        reader("dynamic", "y = s.limit", "names = s.__dict__\nnames['LIMIT'.lower()] = 6"),
        no_dictionaries,
    ),
    "a global is rebound": (
        reader("names", "y = level", "rebound()"),
        replaced(changing.Changing, "global_changes", lambda self, name: False),
    ),
    "and through globals()": (
        reader("dynamic", "y = level", "globals()['level'] = 8"),
        together(
            no_dictionaries,
            replaced(changing.Changing, "check_values", lambda self: None),
        ),
    ),
    "a method is rebound": (reader("dynamic", "y = s.action()", "s.action = other_action"), never),
    "and by mock.patch": (
        reader("dynamic", "y = s.action()", "mock.patch.object(State, 'action', other_action).start()"),
        together(no_setattr, no_dictionaries, replaced(sources, "_stored_outside_of_self", lambda node: set())),
    ),
    "a cell is rebound": (
        reader("cells", "y = cell_twice()", "cell_set(4)"),
        replaced(changing.Changing, "cell_changes", lambda self, name: False),
    ),
    "the end of an object can be seen": (
        Drawn(("ends",), (("kept = plain()\ns.plain = None\ns.n += 1\nkept = None\ns.n += 1",), ("x = s.n\ny = plain() is None",))),
        unended,
    ),
    "what a local referred to ends with the next store": (
        Drawn(("ends",), (("kept = plain()\ns.plain = None\ns.n += 1\nkept = None\ns.n += 1",), ("x = s.n\ny = plain() is None",))),
        unended,
    ),
    "what only the stack refers to ends with its use": (
        Drawn(("ends",), (("y = vars(s).pop('plain') is None",), ("y = [hasattr(s, 'plain'), plain() is None]",))),
        unended,
    ),
}  # fmt: skip
if sys.version_info >= (3, 12):
    TRIALS["an argument that only the stack refers to ends with the call"] = (
        Drawn(("ends",), (("y = type(vars(s).pop('plain')) is int",), ("y = [hasattr(s, 'plain'), plain() is None]",))),
        unended,
    )


@pytest.mark.slow
@seed(6)
@settings(max_examples=3, database=None, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(("lists", "dictionaries", "names", "locks", "cells")), booleans())
def test_conflicts_lead_to_every_outcome_that_brute_force_finds(drawn, without_record):
    lost, _, _ = lost_by_conflicts(drawn, without_record=without_record)
    assert not lost, f"{lost}\n{drawn.source}"


@pytest.mark.slow
@seed(7)
@settings(max_examples=12, database=None, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), booleans())
def test_conflicts_lead_to_every_outcome_that_brute_force_finds_in_many_programs(drawn, without_record):
    lost, _, _ = lost_by_conflicts(drawn, preemptions=2, without_record=without_record)
    assert not lost, f"{lost}\n{drawn.source}"


@pytest.mark.slow
@seed(8)
@settings(max_examples=10, database=None, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(("locks", "lists", "names", "cells")))
def test_conflicts_lead_to_every_outcome_that_a_build_with_a_gil_can_have(drawn):
    lost, _, _ = lost_by_conflicts(drawn, preemptions=3, gil=True)
    assert not lost, f"{lost}\n{drawn.source}"


@pytest.mark.slow
def test_a_thread_that_waits_in_vain_for_a_lock_is_switched_where_a_gil_is_not_and_no_outcome_of_that_is_lost(monkeypatch):
    holds = "with s.lock:\n    items.append(9)", "s.n += 1", "items.append(9)"
    waits = "x = s.n", "with s.lock:\n    y = items + others"
    drawn = Drawn(("locks",), (holds, waits))
    lost, why, brute = lost_by_conflicts(drawn, preemptions=2, gil=True)
    assert (lost, why) == ({}, "")
    monkeypatch.setattr(Reduction, "_start_in_vain", lambda self, *arguments: None)
    lost, _, _ = lost_by_conflicts(drawn, preemptions=2, brute=brute, gil=True)
    assert lost, f"{sys.version_info[:2]}: nothing is lost"


def untouched(*instructions):
    """Plants the mistake that these instructions touch nothing."""

    def plant(monkeypatch):
        for name in instructions:
            monkeypatch.setitem(effects._RULES, name, lambda at: [])

    return plant


def _begin_of_turn(point, touched):
    while touched.owners.get(point - 1) == touched.owners[point]:
        point -= 1
    return point


REDUCTIONS = {
    "a store touches the attribute": (reader("names", "y = s.limit", "s.limit = 4"), untouched("STORE_ATTR")),
    "a load touches the attribute": (reader("names", "y = s.limit", "s.limit = 4"), untouched("LOAD_ATTR")),
    "a load touches the class": (
        reader("names", "y = s.kind", "State.kind = 2"),
        replaced(part_effects, "touches_of_classes", lambda kind, name: []),
    ),
    "a store touches the global": (reader("names", "y = level", "rebound()"), untouched("STORE_GLOBAL")),
    "a store touches the cell": (reader("cells", "y = cell_twice()", "cell_set(4)"), untouched("STORE_DEREF")),
    "a store touches the element": (reader("lists", "y = items[0]", "items[0] = 7"), untouched("STORE_SUBSCR")),
    "a deletion touches every element": (reader("lists", "y = items[0]", "del items[0]"), untouched("DELETE_SUBSCR")),
    "an operator touches its operands": (reader("lists", "y = items + others", "items.append(9)"), untouched("BINARY_OP")),
    "a comparison touches what it compares": (reader("lists", "y = items == [1, 2]", "items[0] = 7"), untouched("COMPARE_OP")),
    "a search touches the container": (reader("lists", "y = 9 in items", "items.append(9)"), untouched("CONTAINS_OP")),
    "a loop touches the container": (
        Drawn(("lists",), (("for each in items:\n    s.m += 1",), ("x = s.m", "items.append(9)"))),
        untouched("FOR_ITER"),
    ),
    "a call touches its arguments": (
        reader("lists", "y = sorted(items)", "items.append(9)"),
        replaced(call_effects, "_of_module_function", lambda *arguments: []),
    ),
    "a method touches its object": (
        reader("lists", "y = items[0]", "items.clear()"),
        replaced(call_effects, "_of_c", lambda *arguments: []),
    ),
    "who acquires a lock first decides": (
        Drawn(("locks",), (("with s.lock:\n    s.n += 1",), ("with s.lock:\n    y = s.n",))),
        replaced(races._LockUses, "acquired", property(lambda self: 0, lambda self, value: None)),
    ),
    "a slice touches the container": (
        reader("lists", "y = items[:]", "items.append(9)"),
        untouched("BINARY_SLICE", "BINARY_SUBSCR", "BINARY_OP"),
    ),
    "a store of a slice touches every element": (
        reader("lists", "y = items[0]", "items[:] = [4, 4]"),
        untouched("STORE_SLICE", "STORE_SUBSCR"),
    ),
    "a truth touches the size": (
        reader("lists", "y = 1 if items else 2", "items.clear()"),
        untouched("TO_BOOL", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE"),
    ),
    "a negation touches the size": (reader("lists", "y = not items", "items.clear()"), untouched("UNARY_NOT", "TO_BOOL")),
    "formatting touches its value": (
        reader("lists", "y = f'{items}'", "items.append(9)"),
        untouched("FORMAT_SIMPLE", "FORMAT_VALUE"),
    ),
    "unpacking touches the container": (reader("lists", "y, *z = items", "items.append(9)"), untouched("UNPACK_EX")),
    "a display touches what it is made of": (reader("lists", "y = [*items]", "items.append(9)"), untouched("LIST_EXTEND")),
    "so does one of a dict": (reader("dictionaries", "y = {**keys}", "keys['b'] = 2"), untouched("DICT_UPDATE")),
    "a deletion touches the attribute": (reader("attributes", "y = slotted.value", "del slotted.value"), untouched("DELETE_ATTR")),
    "a key that is missed is added": (
        Drawn(("collections",), (("y = groups['b']",), ("y = len(groups)",))),
        replaced(effects, "touches_of_element", lambda *arguments, **how: []),
    ),
    "who looks at an event takes no lock": (
        reader("waiting", "y = s.event.is_set()", "s.event.set()"),
        replaced(waiting, "touched_by_call", lambda *arguments: []),
    ),
    "an event is set behind its lock": (
        reader("waiting", "y = s.event.is_set()", "s.event.set()"),
        replaced(waiting, "_STATE", waiting._STATE | {threading.Event: (("other",), ("_cond",))}),
    ),
    "two accesses that nothing keeps in order are a race": (
        reader("lists", "y = items[0]", "items[0] = 7"),
        replaced(races.Races, "_comes_before", lambda self, first: True),
    ),
    "what is read has been touched": (
        Drawn(("names",), (("if s.n == 0:\n    s.m = 5",), ("if s.m == 0:\n    s.n = 5",))),
        replaced(Reduction, "_before", lambda self, point, run, touched: _begin_of_turn(point, touched)),
    ),
    "who holds a lock and asks meets who releases it": (
        Drawn(("locks",), (("s.lock.acquire()\ny = s.lock.locked()",), ("if s.lock.locked():\n    s.lock.release()",))),
        replaced(races._LockUses, "held_tries", property(lambda self: {}, lambda self, value: None)),
    ),
    "a lock can be found free or not": (
        Drawn(("locks",), (("with s.lock:\n    s.n += 1",), ("y = s.lock.locked()",))),
        replaced(races.Races, "_of_lock", lambda self, part, point, thread: []),
    ),
}  # fmt: skip
QUICK_REDUCTIONS = ("a store touches the attribute",)


@pytest.mark.parametrize("name", only(QUICK_REDUCTIONS, REDUCTIONS))
@pytest.mark.slow
def test_no_outcome_is_lost_by_conflicts_and_a_planted_mistake_loses_one(name, monkeypatch):
    drawn, plant = REDUCTIONS[name]
    lost, why, brute = lost_by_conflicts(drawn)
    assert not lost
    assert not why or (FREE_THREADED_BUILD and "takes several steps in C" in why), why
    assert len(brute.found) > 1
    plant(monkeypatch)
    monkeypatch.setattr(Reduction, "_in_reverse", lambda self: None)  # which shows some outcomes without a conflict
    lost, _, _ = lost_by_conflicts(drawn, brute=brute)
    assert lost, f"{sys.version_info[:2]}: nothing is lost"


QUICK = ("an operator reads its operands",)


@pytest.mark.slow
@pytest.mark.parametrize("name", only(QUICK, TRIALS))
def test_no_exception_of_the_rule_loses_an_outcome_and_a_planted_mistake_does(name, monkeypatch):
    drawn, plant = TRIALS[name]
    differing, brute, _ = missed(drawn, preemptions=1)
    assert not differing
    assert len(brute.found) > 1
    for known in (operands._known, sources.of_code):
        monkeypatch.setattr(known, "_by_id", {})  # what was worked out without the mistake, and what will be with it
        monkeypatch.setattr(known, "_by_value", {})
    monkeypatch.setattr(sources, "_files", {})
    monkeypatch.setattr(sources, "_of_text", sources._of_text.__wrapped__)
    plant(monkeypatch)
    _, brute, ours = missed(drawn, preemptions=1, brute=brute)
    assert brute.found.keys() - ours.found.keys(), f"{sys.version_info[:2]}: nothing is missed: {sorted(ours.found)}"


QUEUES = {
    "what is put": Drawn(("waiting",), (("s.n = 1\ns.simple.put(1)",), ("x = s.n\ny = s.simple.empty()",))),
    "whether it is empty": Drawn(("waiting",), (("y = (s.simple.empty(), s.simple.empty())",), ("s.simple.put_nowait(1)",))),
    "how much is in it": Drawn(("waiting",), (("y = (s.simple.qsize(), s.simple.qsize())",), ("s.simple.put(1)",))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, QUEUES))
def test_each_use_of_a_simple_queue_is_a_step_and_none_is_left_out_of_a_proof(name):
    differing, brute, _ = missed(QUEUES[name], preemptions=1)
    assert not differing
    assert len(brute.found) > 2
    lost, why, _ = lost_by_conflicts(QUEUES[name])
    assert not lost
    assert why, "a queue is known to touch nothing"
