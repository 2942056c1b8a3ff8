"""A descriptor of ours is never used after other code has closed it and its number refers to another file."""

import os
import sys

import pytest

from pytest_gilcheck.core.descriptors import DescriptorLost, OwnDescriptor

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors of POSIX")


def test_it_writes_and_reads_under_a_number_that_the_usual_loops_do_not_reach():
    reading, writing = map(OwnDescriptor, os.pipe())
    writing.write(b"all of it")
    assert reading.read(100) == b"all of it"
    assert min(reading.number, writing.number) >= 256
    writing.close()
    assert reading.read(100) == b""
    reading.close()


@pytest.mark.parametrize("reused", [True, False], ids=["reused", "closed"])
def test_a_number_that_was_closed_is_neither_written_nor_closed(tmp_path, reused):
    reading, writing = os.pipe()
    own = OwnDescriptor(writing)
    os.close(own.number)
    if reused:
        os.dup2(os.open(tmp_path / "of the test", os.O_CREAT | os.O_WRONLY), own.number)
    with pytest.raises(DescriptorLost):
        own.write(b"a message of ours")
    own.close()
    if reused:
        os.write(own.number, b"the test's")
        os.close(own.number)
        assert (tmp_path / "of the test").read_bytes() == b"the test's"
    os.close(reading)


def test_a_duplicate_leaves_the_original_open():
    reading, writing = os.pipe()
    OwnDescriptor.duplicate(writing).close()
    os.write(writing, b"still open")
    assert os.read(reading, 100) == b"still open"
    os.close(reading)
    os.close(writing)
