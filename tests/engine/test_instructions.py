"""The table of instructions says of each instruction of this interpreter what `dis` says: a new interpreter needs its rows here."""

import dis
import sys

import pytest

from pytest_gilcheck.engine.bytecode.instructions import CALLS, INSTRUCTIONS, ITERATOR_DEPTH, JUMPS, effect, taken
from pytest_gilcheck.engine.bytecode.step_rule import Operation, touched
from pytest_gilcheck.engine.bytecode.visible import Visibility

OWN = {name: number for name, number in dis.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED_")}
ARGUMENTS = (*range(16), 256, 259)  # of UNPACK_EX, the high byte counts as well
DIVIDED = {"PRECALL", "CALL"} if sys.version_info < (3, 12) else set()  # there, `dis` gives to each a part of the effect of a call
RESUMED = {"RETURN_GENERATOR"} if sys.version_info < (3, 13) else set()  # there, `dis` leaves out what is sent to the generator


def shown(number, argument, jump):
    """What `dis` says; None if the instruction has no such argument."""
    try:
        return dis.stack_effect(number, argument if number >= dis.HAVE_ARGUMENT or sys.version_info >= (3, 13) else None, jump=jump)
    except ValueError:
        return None


def wrong(name):
    return [
        f"{name} {argument}{' where it jumps' * jump}: {effect(name, argument, jump=jump)}, and not {said}"
        for argument in ARGUMENTS
        for jump in (False, True)
        if (said := shown(OWN[name], argument, jump)) is not None and said != effect(name, argument, jump=jump)
    ]


def test_every_instruction_of_this_interpreter_has_a_row():
    missing = sorted(set(OWN) - set(INSTRUCTIONS))
    assert not missing, f"rows of these are missing in engine/bytecode/instructions.py: {', '.join(missing)}"


def test_each_row_changes_the_depth_of_the_stack_as_the_interpreter_says():
    differing = [words for name in sorted(set(OWN) & set(INSTRUCTIONS) - DIVIDED - RESUMED) for words in wrong(name)]
    assert not differing, "\n".join(differing)


@pytest.mark.skipif(not DIVIDED, reason="a call is one instruction from 3.12 on")
@pytest.mark.parametrize("count", range(5))
def test_the_two_instructions_of_a_call_have_its_effect_together(count):
    said = dis.stack_effect(dis.opmap["PRECALL"], count) + dis.stack_effect(dis.opmap["CALL"], count)
    assert said == effect("PRECALL", count, jump=False) + effect("CALL", count, jump=False)


def test_a_wrong_row_is_told(monkeypatch):
    monkeypatch.setitem(INSTRUCTIONS, "STORE_ATTR", INSTRUCTIONS["STORE_ATTR"]._replace(takes=1))
    assert wrong("STORE_ATTR")


def test_no_row_takes_or_leaves_less_than_nothing():
    for name, row in INSTRUCTIONS.items():
        for argument in ARGUMENTS:
            assert taken(name, argument) >= 0, name
            assert taken(name, argument) + effect(name, argument, jump=False) >= 0, name
        assert row.takes != 0 or row.leaves_at_target is None, name


def test_the_rows_of_jumps_and_of_locals_are_those_of_this_interpreter():
    jumps = {dis.opname[number] for number in {*dis.hasjrel, *dis.hasjabs} if dis.opname[number] in OWN}
    assert jumps - {"END_ASYNC_FOR"} == JUMPS & set(OWN)  # its target only says where the loop begins
    locals_ = {dis.opname[number] for number in dis.haslocal} & set(OWN)
    assert {name for name in OWN if INSTRUCTIONS[name].locals} - {"MAKE_CELL"} == locals_ - {"LOAD_DEREF"}
    assert {name for name in OWN if name.startswith("CALL") and "INTRINSIC" not in name} == CALLS & set(OWN)
    assert taken("FOR_ITER", 0) == ITERATOR_DEPTH


def test_what_stores_a_name_has_one():
    named = {dis.opname[number] for number in (*dis.hasname, *dis.hasfree)}
    stores = {name for name in OWN if INSTRUCTIONS[name].stores}
    assert stores == {name for name in named & set(OWN) if name.startswith(("STORE_", "DELETE_"))}


def test_an_instruction_without_a_row_is_a_step():
    operation = Operation("INSTRUCTION_OF_A_LATER_VERSION", 0, None, (), wrong.__code__, Visibility().names)
    assert touched(operation, ends_matter=False) == "read []"
    assert taken("INSTRUCTION_OF_A_LATER_VERSION", 0) is None
