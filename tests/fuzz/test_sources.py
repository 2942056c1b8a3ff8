"""What is known of a source file's names, from one look at it; and what a check in a fork has learnt is there for the next one."""

import dis
import glob
import json
import os
import sys
import textwrap

import pytest

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.source import with_nested
from pytest_gilcheck.engine.bytecode import sources
from pytest_gilcheck.engine.bytecode.code_facts import stores_of


def facts(text):
    return sources._of_text(textwrap.dedent(text))


@pytest.mark.parametrize("path", [*sorted(glob.glob(f"{os.path.dirname(json.__file__)}/*.py")), dis.__file__, textwrap.__file__])
def test_the_stores_of_code_are_those_that_its_disassembly_shows(path):
    with open(path, encoding="utf-8") as file:
        module = compile(file.read(), path, "exec")
    kinds = tuple(f"{verb}_{what}" for verb in ("STORE", "DELETE") for what in ("ATTR", "GLOBAL", "NAME", "DEREF"))
    for code in with_nested(module):
        shown = [(each.opname, each.argval) for each in dis.get_instructions(code) if each.opname in kinds]
        assert list(stores_of(code)) == shown


def test_a_store_whose_name_needs_an_extended_argument_is_read():
    names = "\n".join(f"x.a{number} = 1" for number in range(300))
    assert {f"a{number}" for number in range(300)} <= facts(names).attributes


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("def f():\n    try:\n        yield\n    finally:\n        close()", True),
        ("def f():\n    with lock:\n        yield", True),
        ("async def f():\n    with lock:\n        await g()", True),
        ("async def f():\n    with lock:\n        return [x async for x in g()]", True),
        ("class C:\n    def f(self):\n        def g():\n            with lock:\n                yield", True),
        ("def f():\n    yield\n    close()", False),
        ("def f():\n    with lock:\n        close()", False),
        ("def f():\n    with lock:\n        def g():\n            yield", False),
        ("def f():\n    with lock:\n        return lambda: (yield)", False),
        ("@contextmanager\ndef f():\n    with lock:\n        yield", False),
    ],
)
def test_the_end_of_a_generator_matters_if_it_has_a_block_that_something_ends(body, ends):
    assert ("__del__" in facts(body).words) is ends


@pytest.mark.parametrize(
    ("statement", "computed"),
    [
        ("Job.state = property(get)", {"state"}),
        ("def f(job):\n    job.state = made()", {"state"}),
        ("def f(self):\n    self.state = made()", set()),
        ("def f(job):\n    job.state = 5", set()),
        ("def f(cls):\n    cls.state = made()", {"state"}),
        ("def f(job):\n    type(job).state = made()", {"state"}),
        ("def f(job):\n    def g():\n        Job.state = made()", {"state"}),
        ("class Job: pass\ndef f():\n    Job.state = made()", {"state"}),
        ("Job.state = 5", set()),
    ],
)
def test_what_may_be_stored_in_a_class_may_be_a_descriptor(statement, computed):
    known = {"state"} & facts(f"class Job: pass\n{statement}").computed
    assert known == computed


def test_a_file_that_cannot_be_read_may_do_anything():
    assert facts("def f(:").words >= sources.STORING
    assert facts("x = " + "(" * 300 + ")" * 300).words >= sources.STORING
    assert not facts("x = 1").words & sources.STORING


HELPER = "class Box:\n    def __init__(self):\n        self.n = 0\n\ndef look(box):\n    box.n += 1\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
@pytest.mark.parametrize("imported", [True, False], ids=["a module of this process", "a module of the fork alone"])
def test_what_a_check_in_a_fork_has_read_is_kept_of_the_modules_that_this_process_has(pytester, monkeypatch, imported):
    name = f"read_in_a_fork_{imported}"
    path = str(pytester.makepyfile(**{name: HELPER}))
    monkeypatch.syspath_prepend(pytester.path)
    if imported:
        __import__(name)
    monkeypatch.setattr(sources, "_files", dict(sources._files))

    def work(state):
        __import__(name).look(state)

    result = gilcheck.fuzz(threads=[work, work], setup=lambda: __import__(name).Box(), schedules=5, judge=False)
    assert result.schedules
    assert result.unguarded == "", "it ran in a fork"
    assert (path in sources._files) is imported
    assert path not in sources.learnt(), "a fork to come need not send it home again"
    sys.modules.pop(name, None)
