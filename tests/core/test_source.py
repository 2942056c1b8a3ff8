"""From frames to places and source text, also where there is no source and where columns and characters differ."""

import os
import sys
import types

import pytest

from pytest_gilcheck.core import source
from pytest_gilcheck.core.source import Position


def here():
    return sys._getframe(1)


def test_the_place_of_a_frame_is_its_file_line_and_qualified_name():
    frame = here()
    name = "test_the_place_of_a_frame_is_its_file_line_and_qualified_name"
    assert source.frame_place(frame) == f"{__file__}:{frame.f_lineno} ({name})"
    assert source.frame_place(None) == "an unknown place"


def test_the_innermost_accepted_frame_is_found_from_the_inside():
    def inner():
        return sys._getframe()

    frame = inner()
    assert source.innermost(frame, lambda file: True) is frame
    found = source.innermost(frame, lambda file: file != __file__)
    assert found is not None
    assert found.f_code.co_filename != __file__
    assert source.innermost(frame, lambda file: False) is None


def test_the_position_of_an_instruction_names_its_text():
    def fail():
        return int("no number")

    with pytest.raises(ValueError, match="no number") as caught:
        fail()
    trace = caught.traceback[-1]._rawentry
    assert source.position_text(__file__, source.code_position(trace.tb_frame.f_code, trace.tb_lasti)) == 'int("no number")'


@pytest.mark.parametrize("offset", [-1, 10_000])
def test_an_offset_outside_of_the_code_has_no_position_and_no_text(offset):
    position = source.code_position(here.__code__, offset)
    assert position == Position()
    assert source.position_text(__file__, position) == ""


def test_columns_count_bytes(tmp_path):
    file = tmp_path / "umlaut.py"
    file.write_text('x = "äö", sum([1])\n', encoding="utf-8")
    assert source.position_text(str(file), Position(1, 1, 12, 20)) == "sum([1])"


def test_a_range_over_several_lines_has_no_text(tmp_path):
    file = tmp_path / "lines.py"
    file.write_text("f(\n1)\n")
    assert source.position_text(str(file), Position(1, 2, 0, 2)) == ""
    assert source.line_text(str(file), 1) == "f("


def test_a_file_without_a_source_has_no_text_and_an_empty_tree():
    assert source.line_text("<nowhere>", 1) == ""
    assert source.file_text("<nowhere>") == ""
    tree = source.syntax_tree("<nowhere>")
    assert tree is not None
    assert tree.body == []


def test_a_file_that_is_no_python_has_no_tree(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("def (:\n")
    assert source.syntax_tree(str(file)) is None


def branches_meet(given, each):
    given.append(each) if given else given.insert(0, each)
    return each


def test_an_instruction_without_a_line_has_that_of_the_one_before_it():
    first, lines = branches_meet.__code__.co_firstlineno, set()

    def at_each(frame, event, _argument):
        frame.f_trace_opcodes = True
        lines.add(source.line_at(frame) - first)
        return at_each

    before = sys.gettrace()
    for given in ([], [1]):
        sys.settrace(lambda frame, *_: at_each(frame, *_) if frame.f_code is branches_meet.__code__ else None)
        try:
            branches_meet(given, 2)
        finally:
            sys.settrace(before)
    assert lines == {0, 1, 2}


def test_an_instruction_without_a_line_does_not_have_that_of_the_function():
    code = branches_meet.__code__
    without = [index * 2 for index, (line, *_) in enumerate(code.co_positions()) if line is None]
    for offset in without:
        frame = types.SimpleNamespace(f_code=code, f_lineno=None, f_lasti=offset)
        assert source.line_at(frame) == code.co_firstlineno + 1, offset


@pytest.mark.parametrize(
    ("file", "found"),
    [("<frozen os>", os.__file__), ("<frozen importlib.nowhere>", "<frozen importlib.nowhere>"), ("<string>", "<string>")],
)
def test_code_that_is_frozen_into_the_interpreter_has_the_file_of_its_source_if_there_is_one(file, found):
    assert source.file_of(compile("", file, "exec")) == found
