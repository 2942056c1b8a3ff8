"""The watch alone, in interpreters of its own: the module is the one that did it, and the import system is left as it was."""

import subprocess
import sys
import textwrap
from importlib.machinery import BuiltinImporter, ExtensionFileLoader

import pytest

from pytest_gilcheck.core.gil_watch import GilReenabled, Watch, can_reenable_gil
from tests.core.extensions import FREE_THREADED_BUILD, built, needs_free_threading

START = """
import os, sys, threading, warnings
from pytest_gilcheck.core.gil_watch import Watch, can_reenable_gil
warnings.simplefilter("ignore")
def words(frame):
    return "test", "place"
watch = Watch(words)
watch.start()
"""


@pytest.fixture
def program(monkeypatch):
    """Run a program in a new interpreter, with the watch started; what it prints."""
    folder = built()
    monkeypatch.delenv("PYTHON_GIL", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(folder))

    def program(source, *options, start=START):
        code = start + textwrap.dedent(source)
        done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return program


def test_an_event_travels_as_plain_values():
    event = GilReenabled(("a", "b"), importer="x.py:1 (f)", thread="t", test="x.py::f", place="in it", forked=True)
    assert GilReenabled.from_dict(event.as_dict()) == event
    assert "\n" not in str(event)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (GilReenabled(("a",), certain=True), "extension module 'a' does not declare that it runs without the GIL"),
        (GilReenabled(("a",)), "probably by extension module 'a'"),
        (GilReenabled(("a", "b")), "by one of the extension modules 'a', 'b' (the import was not observed)"),
        (GilReenabled(tuple("abcdefghij")), "and 2 more (the import was not observed)"),
        (GilReenabled(()), "by an unknown module"),
    ],
)
def test_what_is_not_certain_is_not_claimed(event, words):
    assert words in str(event)


@pytest.mark.skipif(FREE_THREADED_BUILD, reason="for builds whose GIL is always on")
def test_on_a_gil_build_it_cannot_come_back():
    assert not can_reenable_gil()


@needs_free_threading
@pytest.mark.parametrize(
    ("imported", "who"), [("ext_needs", "ext_needs"), ("ext_single", "ext_single"), ("ext_outer", "ext_needs"), ("ext_free", None)]
)
def test_the_innermost_module_is_the_one(program, imported, who):
    told = program(f"import {imported}\nprint([(e.modules, e.certain, e.importer) for e in watch.look()], sys._is_gil_enabled())")
    if who is None:
        assert told == "[] False"
    else:
        assert told.startswith(f"[(('{who}',), True, '<string>:")
        assert told.endswith("True")


@needs_free_threading
def test_an_outer_module_is_not_cleared_by_the_one_that_it_imports(program):
    assert (
        program("import ext_outer_needs\nprint([(e.modules, e.certain) for e in watch.look()])") == "[(('ext_outer_needs',), True)]"
    )


@needs_free_threading
def test_it_is_told_once(program):
    assert program("import ext_needs\nwatch.look()\nimport ext_single\nprint(watch.look())") == "[]"


@needs_free_threading
@pytest.mark.parametrize("filters", ["ignore", "error", "always", "default", "once"])
def test_filters_decide_what_they_decided_before_and_hide_nothing(program, filters):
    source = f"""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("{filters}")
            before = list(warnings.filters)
            try:
                import ext_needs
                outcome = "imported"
            except RuntimeWarning:
                outcome = "raised"
            assert warnings.filters == before
        print(outcome, len(caught), watch.look()[0].modules)
    """
    outcome = {"error": "raised 0", "ignore": "imported 0"}.get(filters, "imported 1")
    assert program(source) == f"{outcome} ('ext_needs',)"


@needs_free_threading
def test_where_the_words_are_not_heard_the_state_before_and_after_tells(program):
    source = """
        from pytest_gilcheck.core import gil_watch
        import re
        gil_watch._WARNING = re.compile("other words")  # as another version of the interpreter may have
        import ext_free, ext_needs
        print([(e.modules, e.certain) for e in watch.look()])
    """
    assert program(source) == "[(('ext_needs',), True)]"
    assert program(source.replace("ext_free, ext_needs", "ext_outer")) == "[(('ext_needs', 'ext_outer'), False)]"


@needs_free_threading
def test_threads_that_import_at_once_are_told_apart(program):
    source = """
        names = ["ext_free", "ext_needs", "ext_outer_needs"]
        import importlib, random
        ready = threading.Barrier(3)
        def load(name):
            ready.wait()
            importlib.import_module(name)
        threads = [threading.Thread(target=load, args=(name,), name=name) for name in names]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        (event,) = watch.look()
        assert event.certain and event.modules in (("ext_needs",), ("ext_outer_needs",)), event
        assert event.thread == event.modules[0], event
        assert event.importer.endswith("(load)"), event
    """
    for _ in range(10):
        program(source)


@needs_free_threading
def test_a_harmless_import_beside_another_thread_s_is_not_accused(program):
    """Every creation has the GIL on for its own time: that is no return."""
    source = """
        import glob, importlib.util
        path, = (p for p in sys.path if "gilcheck-extensions" in p)
        file, = glob.glob(path + "/ext_free.*.so")
        def load(number):
            for n in range(150):
                spec = importlib.util.spec_from_file_location("ext_free", file)
                importlib.util.module_from_spec(spec)
                assert watch.look() == []
        threads = [threading.Thread(target=load, args=(number,)) for number in range(3)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(watch.look(), sys._is_gil_enabled())
    """
    assert program(source) == "[] False"


@needs_free_threading
@pytest.mark.parametrize("end", ["os._exit(0)", "os.abort()"])
def test_a_forked_child_is_heard_though_it_says_nothing(program, end):
    source = f"""
        pid = os.fork()
        if not pid:
            import ext_needs
            {end}
        os.waitpid(pid, 0)
        print([(e.modules, e.forked) for e in watch.look()], sys._is_gil_enabled(), watch.look())
    """
    assert program(source) == "[(('ext_needs',), True)] False []"


@needs_free_threading
def test_what_a_child_tells_itself_is_not_told_again(program):
    source = """
        pid = os.fork()
        if not pid:
            import ext_needs
            os._exit(len(watch.look()))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), watch.look())
    """
    assert program(source) == "1 []"


@needs_free_threading
@pytest.mark.parametrize("action", ["default", "always"])
def test_what_came_before_the_watch_is_named_by_the_words_or_among_candidates(program, action):
    early = (
        f"import warnings, ext_free\nwith warnings.catch_warnings():\n    warnings.simplefilter('{action}')\n    import ext_needs\n"
    )
    told = program("print([(e.modules, e.certain, e.importer) for e in watch.look()])", start=early + START)
    known = {"default": "[(('ext_needs',), True, '')]", "always": "[(('ext_free', 'ext_needs'), False, '')]"}
    assert told == known[action]


@needs_free_threading
def test_a_description_that_fails_does_not_fail_the_import(program):
    start = START.replace('return "test", "place"', "1 / 0")
    assert program("import ext_needs\nprint(watch.look()[0].modules)", start=start) == "('ext_needs',)"


@needs_free_threading
@pytest.mark.parametrize("option", [(), ("-Xgil=0",), ("-Xgil=1",)])
def test_who_decided_himself_is_not_watched(program, option):
    assert program("print(can_reenable_gil())", *option) == str(not option)


@needs_free_threading
@pytest.mark.parametrize("value", ["0", "1", ""])
def test_the_environment_decides_unless_it_is_ignored(program, monkeypatch, value):
    monkeypatch.setenv("PYTHON_GIL", value)
    assert program("print(can_reenable_gil())") == str(not value)


def test_the_import_system_is_as_it_was_once_the_last_watch_stops():
    if not hasattr(sys, "_is_gil_enabled"):
        pytest.skip("no build of this version runs without a GIL")
    before = [owner.__dict__["create_module"] for owner in (ExtensionFileLoader, BuiltinImporter)]
    one, two = Watch(lambda frame: ("", "")), Watch(lambda frame: ("", ""))
    one.start()
    two.start()
    assert (
        ExtensionFileLoader.__dict__["create_module"] is not before[0] or before[0].__module__ == "pytest_gilcheck.core.gil_watch"
    )
    one.stop()
    one.stop()
    two.stop()
    assert [owner.__dict__["create_module"] for owner in (ExtensionFileLoader, BuiltinImporter)] == before


@needs_free_threading
def test_what_somebody_put_on_top_of_ours_stays(program):
    source = """
        from importlib.machinery import ExtensionFileLoader
        ours = ExtensionFileLoader.create_module
        seen = []
        def theirs(self, spec):
            seen.append(spec.name)
            return ours(self, spec)
        ExtensionFileLoader.create_module = theirs
        watch.stop()
        import ext_needs
        print(seen, ExtensionFileLoader.create_module is theirs, watch.look()[0].importer == "")
    """
    assert program(source) == "['ext_needs'] True True"
