"""The house rules: who may import whom, and what an idle run may load."""

import ast
import functools
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_gilcheck
from pytest_gilcheck.checks import CHECKS
from pytest_gilcheck.core import version
from pytest_gilcheck.plugin import FREE_THREADED_BUILD

from .slow import only

HOUSE = Path(pytest_gilcheck.__file__).parent
WINGS = {*(check.wing for check in CHECKS.values()), "audit", "probe"}
FLOORS = ("core", "engine", "search")  # each on those before it; under them all wings that run programs under a schedule
SCHEDULED = {"fuzz", "linear"}
ROOMS = sorted(HOUSE.rglob("*.py"))


SOURCES = pytest.mark.xdist_group("sources of the house")  # one worker reads them all


@functools.cache
def parsed(path):
    return ast.parse(path.read_text())


@functools.cache
def nodes(path):
    return tuple(ast.walk(parsed(path)))


@functools.cache
def imports(path):
    """Absolute names of every module that this file imports, at any depth of it."""
    return tuple(imported_by(nodes(path), [HOUSE.name, *path.relative_to(HOUSE).parent.parts]))


def imported_by(tree, package):
    for node in tree:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            target = ".".join([*base, *([node.module] if node.module else [])])
            names = [alias.name for alias in node.names] if target == HOUSE.name else [None]
            yield from (f"{target}.{name}" if name and room_of(name) else target for name in names)


def room_of(name):
    """Whether the house has a module or package of this name at top level."""
    return (HOUSE / f"{name}.py").exists() or (HOUSE / name / "__init__.py").exists()


def wing_of(path):
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def forbidden(wing, name):
    """Whether a file of this wing must not import this module."""
    if name.split(".")[0] == "pytest" or name.startswith("_pytest"):
        return wing not in ("plugin", "hookspecs", "adaptors")
    if name == HOUSE.name:
        return True  # the public names are for users: `core.version`, say, has its own
    if not name.startswith("pytest_gilcheck."):
        return False
    target = name.split(".")[1]
    if wing in FLOORS:
        return target not in FLOORS[: FLOORS.index(wing) + 1]
    if wing in SCHEDULED:
        return target not in (*FLOORS, wing)
    if wing in ("audit", "report"):
        return target not in ("core", "checks", wing)  # they speak of checks, and so need their table
    if wing in WINGS:
        return target not in ("core", wing)
    if wing == "checks":
        return target != "core"
    return target == "adaptors" and wing not in ("plugin", "adaptors")


@SOURCES
def test_every_import_goes_the_way_the_house_allows():
    prove = HOUSE / "audit" / "prove_child.py"  # a program of its own, which uses us as a user does
    wrong = {path: [name for name in imports(path) if forbidden(wing_of(path), name)] for path in ROOMS if path != prove}
    assert not {str(path.relative_to(HOUSE)): names for path, names in wrong.items() if names}


@pytest.mark.parametrize(
    ("wing", "name"),
    [("core", "pytest"), ("scaling", "_pytest.outcomes"), ("core", "pytest_gilcheck.scaling"), ("scaling", "pytest_gilcheck.fuzz"),
     ("report", "pytest_gilcheck.scaling.result"),
     ("engine", "pytest_gilcheck.search"), ("search", "pytest_gilcheck.fuzz"), ("scaling", "pytest_gilcheck.engine"),
     ("audit", "pytest_gilcheck.fuzz"), ("fuzz", "pytest_gilcheck.checks"), ("cli", "pytest_gilcheck.adaptors.guard"),
     ("report", "pytest_gilcheck"), ("audit", "pytest_gilcheck"), ("cli", "pytest_gilcheck")],
)  # fmt: skip
def test_the_rule_itself_refuses_what_it_should(wing, name):
    assert forbidden(wing, name)


def parts_by_import(files):
    """The parts of the house that each part imports, also for its annotations alone."""
    found = {}
    for path in files:
        others = {name.split(".")[1] for name in imports(path) if name.startswith(f"{HOUSE.name}.")}
        found.setdefault(wing_of(path), set()).update(others - {wing_of(path)})
    return found


@SOURCES
def test_no_two_parts_of_the_house_need_each_other():
    parts = parts_by_import(ROOMS)
    assert parts["calls"] >= {"runner", "running_test"}
    graphlib.TopologicalSorter(parts).prepare()


@SOURCES
def test_a_circle_of_parts_is_noticed():
    parts = parts_by_import(ROOMS)
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(parts | {"running_test": {"calls"}}).prepare()


@functools.cache
def loaded_by(name):
    """The modules that a new interpreter has after importing this one."""
    code = f"import {name}, sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@SOURCES
def test_nothing_changes_the_umask_which_all_threads_of_the_process_share():
    calls = [
        f"{path.name}:{node.lineno}"
        for path in ROOMS
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr == "umask"
    ]
    assert not calls


@pytest.mark.parametrize("module", ["hypothesis", "xdist", "psutil", "rich", "filelock", "pytest_gilcheck.scaling", "asyncio"])
def test_the_plugin_loads_nothing_heavy(module):
    ours = {name for name in loaded_by("pytest_gilcheck.plugin") - loaded_by("pytest") if f"{name}.".startswith(f"{module}.")}
    assert not ours


TABLES = {
    "checks", "settings", "hookspecs", "plugin", "running_test", "adaptors", "adaptors.options",
    "core", "core.arguments", "core.builds", "core.clocks", "core.early_threads", "core.errors", "core.own_builtins", "core.texts",
    "core.system", "core.values",
}  # fmt: skip
WATCH = {"adaptors.gil_watch", "core.gil_watch", "core.classes", "core.interpreter", "core.cores", "core.origin", "core.source"}


@pytest.fixture
def imported(pytester, monkeypatch):
    """What a real run of pytest on one trivial test has imported at its end: ``imported(*options)``; all plugins are loaded."""

    def imported(*options, source="def test_it(): pass"):
        pytester.makeconftest(
            "import sys\ndef pytest_unconfigure(config):\n"
            "    if not hasattr(config, 'workerinput'): print('LOADED', *sorted(sys.modules))"
        )
        pytester.makepyfile(source)
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)
        [loaded] = [line.split()[1:] for line in result.outlines if line.startswith("LOADED")]
        return set(loaded), result

    return imported


def ours(loaded):
    return {name.partition(".")[2] for name in loaded if name.startswith("pytest_gilcheck.")}


def test_a_run_without_a_check_loads_only_the_tables_and_the_options(imported):
    loaded, _ = imported()
    assert ours(loaded) <= TABLES | (WATCH if FREE_THREADED_BUILD else set())


def test_a_run_that_used_no_hypothesis_does_not_import_it(imported):
    assert "hypothesis" not in imported()[0]


@pytest.mark.slow
def test_nothing_that_hypothesis_has_to_say_is_lost(imported):
    source = (
        "from hypothesis import given, settings, strategies as s\n@settings(deadline=None)\n@given(s.just(1))\ndef test_it(x): pass"
    )
    loaded, result = imported("--hypothesis-show-statistics", source=source)
    assert "hypothesis" in loaded
    result.stdout.fnmatch_lines(["*Hypothesis Statistics*", "*1 passing*0 failing*"])
    assert "hypothesis" in imported("--hypothesis-seed=1")[0]


@pytest.mark.parametrize("options", [("--gilcheck-json=e.json", "--gilcheck-markdown=t.md"), ("-n1",)], ids=["files", "xdist"])
def test_a_run_that_may_have_to_report_loads_no_report_and_no_wing_before_there_is_a_record(imported, options):
    loaded = ours(imported(*options)[0])
    assert {name.partition(".")[0] for name in loaded} - {name.partition(".")[0] for name in TABLES} <= (
        {"report"} if len(options) == 2 else set()  # the table is written, although it is empty
    )
    assert "report.html" not in loaded


PROGRAMS = {"probe/experiments.py", "audit/import_child.py", "latency/client.py"}  # each runs alone, without anything of ours
TOLD = {"time", "time_ns", "gmtime", "localtime", "strftime", "ctime", "asctime"}  # time-machine changes them in `clocks.time` too


def other_clocks(tree):
    """The lines at which a clock is read, or waited for, that a test could have replaced."""
    for node in tree:
        match node:
            case ast.Import(names=names):
                found = any(alias.name in ("time", "datetime") for alias in names)
            case ast.ImportFrom(module=module):
                found = module == "time"
            case ast.Attribute(value=ast.Name(id="date" | "datetime"), attr="today" | "now" | "utcnow"):
                found = True
            case ast.Attribute(value=ast.Name(id="time"), attr=attr):
                found = attr in TOLD
            case ast.Call(func=ast.Attribute(value=ast.Name(id="subprocess"))) | ast.Call(func=ast.Attribute(attr="communicate")):
                found = any(keyword.arg == "timeout" for keyword in node.keywords)
            case _:
                found = False
        if found:
            yield node.lineno


@SOURCES
def test_every_clock_is_one_that_no_test_can_replace():
    rooms = {str(path.relative_to(HOUSE)): path for path in ROOMS}
    lines = {name: list(other_clocks(nodes(rooms[name]))) for name in rooms.keys() - {*PROGRAMS, "core/clocks.py"}}
    assert not {name: found for name, found in lines.items() if found}


@pytest.mark.parametrize(
    "line",
    ["import time", "from time import sleep", "import datetime", "date.today", "datetime.now()", "time.time()",
     "time.strftime('%Y')", "subprocess.run(command, timeout=3)", "process.communicate(timeout=3)"],
)  # fmt: skip
def test_the_rule_about_clocks_refuses_what_it_should(line):
    assert list(other_clocks(ast.walk(ast.parse(line)))) == [1]


def tables_asked_by_get(tree):
    """The lines at which a table of a module, which the threads of a run share, is asked by ``get``: see `core.lookup`."""
    for node in tree:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="get")) if name.isupper():
                yield node.lineno


@SOURCES
def test_no_table_that_threads_of_a_run_share_is_asked_in_a_way_that_waits_for_itself():
    lines = {str(path): list(tables_asked_by_get(nodes(path))) for path in ROOMS if path.is_relative_to(HOUSE / "engine")}
    assert not {name: found for name, found in lines.items() if found}


@pytest.mark.parametrize(
    ("line", "found"),
    [("_ROWS.get(name)", [1]), ("torn.VIEWS.get(kind, 0)", [1]), ("looked_up(_ROWS, name)", []), ("rows.get(name)", [])],
)  # fmt: skip
def test_the_rule_about_tables_refuses_what_it_should(line, found):
    assert list(tables_asked_by_get(ast.walk(ast.parse(line)))) == found


PROSE = {"reason", "refusal", "headline"}  # what results say to a reader
READS = {"startswith", "endswith", "partition", "rpartition", "removeprefix", "removesuffix", "split", "splitlines"}


def prose_read(tree):
    """The lines at which a text for readers is taken apart, or compared, where a field should say it."""
    for node in tree:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name), attr=method)):
                found = name in PROSE and method in READS
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr=name)), attr=method)):
                found = name in PROSE and method in READS
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Attribute(attr=name)]):
                found = name in PROSE
            case ast.Compare(left=ast.Attribute(attr=name), comparators=[ast.Constant(value=str(value))]):
                found = name in PROSE and value != ""
            case _:
                found = False
        if found:
            yield node.lineno


NOT_YET = {"sweep/accounting.py"}  # a reason is cut before its place


@SOURCES
def test_nothing_is_decided_by_what_a_result_says_to_a_reader():
    lines = {name: list(prose_read(nodes(path))) for path in ROOMS if (name := str(path.relative_to(HOUSE))) not in NOT_YET}
    assert not {name: found for name, found in lines.items() if found}


@pytest.mark.parametrize(
    ("line", "found"),
    [("result.reason.startswith('cut')", [1]), ("'cut' in result.reason", [1]), ("result.headline().split()", [1]),
     ("result.reason == 'x'", [1]), ("result.why.startswith('cut')", []), ("result.reason == ''", []),
     ("print(result.reason)", [])],
)  # fmt: skip
def test_the_rule_about_prose_refuses_what_it_should(line, found):
    assert list(prose_read(ast.walk(ast.parse(line)))) == found


def test_every_public_name_exists():
    for name in pytest_gilcheck.__all__:
        assert getattr(pytest_gilcheck, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pytest_gilcheck.nothing  # noqa: B018


ENGINE_PARTS = ("schedule", "program", "bytecode", "running", "outcome", "execution", "session", "summary", "touched", "stress")
SEARCH_ROOMS = (
    "segments", "bound", "plan", "ledger", "orders", "frontier", "sampling", "races", "focus",
    "reordering", "explorer", "harness", "hang_watch", "here", "forks", "outcome", "reduction", "strategy", "failing_orders",
    "conflicts", "enumeration", "samples", "minimise", "replays", "today", "search", "first_runs",
)  # fmt: skip
FUZZ_PARTS = (
    "draws", "explaining", "result", "stressed", "sensitivity", "after_failure", "failing", "shared_values", "determinism",
    "reasons", "replay", "check", "crashing", "forked", "isolated", "entry",
)  # fmt: skip


RUNNING_ROOMS = (
    "probe", "children", "one_core", "short_slices", "covered", "journal", "generators", "repeatable", "virtual_time", "handoff",
    "task", "places", "registered", "record", "policy", "spinning", "pausing", "stuck", "deadlines", "fairness", "run_state",
    "turns",
    "controlled", "workers", "watchdog", "engine", "undermined", "files", "controlling", "clocks", "threads", "hooks",
    "primitives", "dates", "tables", "callbacks", "events",
    "contents", "undoing", "replaced", "existing_locks", "patches",
)  # fmt: skip


@SOURCES
@pytest.mark.parametrize(("folder", "order"), [("fuzz", FUZZ_PARTS), ("engine/running", RUNNING_ROOMS)], ids=["fuzz", "running"])
def test_the_parts_of_the_fuzz_wing_and_the_rooms_of_its_engine_import_one_way(folder, order):
    inside = [HOUSE.name, *folder.split("/")]
    rooms = HOUSE / folder
    for path in sorted(rooms.rglob("*.py")):
        if path == rooms / "__init__.py":
            continue
        own = path.relative_to(rooms).parts[0].removesuffix(".py")
        package = [HOUSE.name, *path.relative_to(HOUSE).parent.parts]
        for node in nodes(path):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
            for target in ([*filter(None, base), alias.name] for alias in node.names):
                if target[: len(inside)] == inside:
                    assert order.index(target[len(inside)]) <= order.index(own), f"{path.relative_to(HOUSE)} imports {target[-2:]}"


LOADS_ALL = """
import importlib, pathlib, sys
import pytest_gilcheck

EARLIER = {"pytest_gilcheck.core", "pytest_gilcheck.plugin"}  # of which no function runs beside a workload

def test_names():
    folder = pathlib.Path(pytest_gilcheck.__file__).parent
    for path in folder.rglob("*.py"):
        if not path.name.startswith("__") and "experiments" not in path.name:
            importlib.import_module(".".join(["pytest_gilcheck", *path.relative_to(folder).with_suffix("").parts]))
    own = sys.modules["pytest_gilcheck.core.own_builtins"].OWN
    ours = [name for name in sys.modules if name.startswith("pytest_gilcheck.") and name not in EARLIER]
    assert len(ours) > 100
    assert not [name for name in ours if vars(sys.modules[name])["__builtins__"] is not own]
"""
WAYS_IN = {
    "alone": "import test_names; test_names.test_names()",
    "in a second session": "import pytest_gilcheck.plugin, pytest; pytest.main(['nothing']); assert not pytest.main(['-s'])",
    "in a session after an import": "import pytest_gilcheck, pytest; assert not pytest.main(['-s'])",
}


@SOURCES
@pytest.mark.parametrize("way", only(("alone", "in a second session"), WAYS_IN))
def test_each_module_has_built_in_names_of_its_own(way, tmp_path):
    tmp_path.joinpath("test_names.py").write_text(LOADS_ALL)
    tmp_path.joinpath("pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    tmp_path.joinpath("conftest.py").write_text("import pytest; pytest.register_assert_rewrite('pytest_gilcheck')")
    result = subprocess.run([sys.executable, "-c", WAYS_IN[way]], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@SOURCES
def test_every_class_name_exists_once():
    places = {}
    for path in ROOMS:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(f"{path.relative_to(HOUSE)}:{node.lineno}")
    assert not {name: found for name, found in places.items() if len(found) > 1}


@pytest.mark.parametrize(
    ("line", "names"),
    [("from .. import scaling", ["pytest_gilcheck.scaling"]), ("from .. import __version__", ["pytest_gilcheck"]),
     ("from ..core.version import __version__", ["pytest_gilcheck.core.version"]), ("import pytest_gilcheck", ["pytest_gilcheck"])],
)  # fmt: skip
def test_an_import_from_the_root_is_one_of_its_rooms_or_of_the_root(line, names):
    assert list(imported_by(ast.walk(ast.parse(line)), [HOUSE.name, "report"])) == names


def test_the_version_stands_in_one_place():
    assert [path.name for path in ROOMS if "__version__ = " in path.read_text()] == ["version.py"]
    assert pytest_gilcheck.__version__ == version.__version__
