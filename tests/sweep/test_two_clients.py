"""``gil_fuzz(fixtures="own")``: two clients of one process, each with what belongs to a test alone."""

import pytest

from ..slow import only

HEAD = """
import codecs, contextvars, decimal, importlib, json, logging, mimetypes, os, random
import signal, socket, sys, threading, unittest, warnings
from os import chdir
from random import seed
from unittest import mock
import pytest

own = pytest.mark.gil_fuzz(fixtures="own", schedules=12)
shared = pytest.mark.gil_fuzz(schedules=12)
variable = contextvars.ContextVar("variable")

class Box:
    full = False
"""
OWN = {
    "fixtures": """
@pytest.fixture
def rows():
    return []

@MARK
def test_it(rows):
    rows.append(1)
    assert rows == [1]
""",
    "fixtures that only getfixturevalue asks for": """
@pytest.fixture
def rows():
    return []

@pytest.fixture
def made(request):
    return request.getfixturevalue("rows")

@MARK
def test_it(made, request):
    assert made is request.getfixturevalue("rows")
    made.append(1)
    assert made == [1]
""",
    "instances": """
class TestIt:
    rows = None

    def setup_method(self):
        self.rows = []

    @MARK
    def test_it(self):
        self.rows.append(1)
        assert self.rows == [1]
""",
    "parameters": """
@MARK
@pytest.mark.parametrize("rows", [[]])
def test_it(rows):
    rows.append(1)
    assert rows == [1]
""",
    "temporary folders": """
@MARK
def test_it(tmp_path):
    file = tmp_path / "file"
    assert not file.exists()
    file.write_text("a")
    assert file.read_text() == "a"
""",
    "what they patch of their own": """
@pytest.fixture
def box():
    return Box()

@MARK
def test_it(box, monkeypatch):
    monkeypatch.setattr(box, "full", not box.full)
    assert box.full
""",
}
ALONE = {  # what the body's thread must have of the set-up's
    "context variables": """
@pytest.fixture
def in_context():
    token = variable.set("mine")
    yield
    variable.reset(token)

@own
def test_it(in_context):
    assert variable.get() == "mine"
    variable.set("other")
    assert variable.get() == "other"
""",
    "the context of decimal": """
@own
def test_it():
    before = decimal.getcontext().prec
    decimal.getcontext().prec += 1
    assert decimal.getcontext().prec == before + 1
""",
    "unittest": """
class Test(unittest.TestCase):
    def setUp(self):
        self.rows = []

    def tearDown(self):
        assert self.rows

    @own
    def test_it(self):
        self.rows.append(1)
        self.assertEqual(self.rows, [1])
""",
    "fixtures of the process, for one client": """
@pytest.mark.gil_fuzz(threads=1, fixtures="own", schedules=12)
def test_it(capsys):
    thread = threading.Thread(target=lambda: print("x"))
    thread.start()
    thread.join()
    assert capsys.readouterr().out == "x\\n"
""",
}


@pytest.mark.parametrize("name", only(["fixtures"], OWN))
def test_what_belongs_to_a_test_alone_is_each_client_s_own_and_shared_otherwise(run, name):
    one, other = (OWN[name].replace("MARK", mark).replace("test_it", f"test_{mark}") for mark in ("own", "shared"))
    result = run(HEAD + one + other.replace("TestIt", "TestOther"), "-q")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_shared*"])


@pytest.mark.parametrize("name", only(["context variables", "unittest"], ALONE))
def test_a_client_has_a_context_of_its_own_and_may_be_a_test_case(run, name):
    run(HEAD + ALONE[name]).assert_outcomes(passed=1)


SHARED = """
CACHE = {"a": 0}

@pytest.fixture(scope="module")
def counts():
    return {"a": 0}

def adds(counts):
    before = counts["a"]
    counts["a"] = before + 1
    assert counts["a"] == before + 1

@own
def test_module():
    adds(CACHE)

@own
def test_wider_fixture(counts):
    adds(counts)

class Test(unittest.TestCase):
    @own
    def test_case(self):
        adds(CACHE)

    @own
    def test_wrong(self):
        self.assertEqual(1, 2)
"""


@pytest.mark.slow
def test_what_is_wider_than_a_client_is_shared_and_its_race_is_found(run):
    result = run(HEAD + SHARED, name="test_wider")
    result.assert_outcomes(failed=4)
    for name in ("test_module", "test_wider_fixture", "test_case"):
        result.stdout.fnmatch_lines([f"FAILED *{name} - violated *"])
    result.stdout.fnmatch_lines(["*fails without any concurrency, in every sequential order"])


REFUSED = [
    ("capsys", "pass", "its fixture 'capsys' captures sys.stdout and sys.stderr"),
    ("caplog", "pass", "its fixture 'caplog' collects the log records"),
    ("request", "request.getfixturevalue('recwarn')", "its fixture 'recwarn' collects the warnings"),
    ("tmp_path", "os.chdir(tmp_path)", "changes the working directory at *test_refused.py:"),
    ("tmp_path", "chdir(tmp_path)", "changes the working directory at *test_refused.py:"),
    ("tmp_path, monkeypatch", "monkeypatch.chdir(tmp_path)", "changes the working directory at *test_refused.py:"),
    ("monkeypatch", "monkeypatch.setenv('A', '1')", "patches os.environ at *test_refused.py:"),
    ("", "os.environ['A'] = '1'", "changes the environment at *test_refused.py:"),
    ("monkeypatch", "monkeypatch.setattr(json, 'dumps', len)", "patches json at *test_refused.py:"),
    ("monkeypatch", "monkeypatch.setattr('json.dumps', len)", "patches json.dumps at *test_refused.py:"),
    ("", "mock.patch('json.dumps').start()", "patches json at *test_refused.py:"),
    ("", "mock.patch.dict(os.environ).start()", "patches os.environ at *test_refused.py:"),
    ("", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "changes the handling of signals at *test_refused.py:"),
    ("", "warnings.catch_warnings().__enter__()", "changes the filters of warnings at *test_refused.py:"),
    ("", "pytest.deprecated_call(warnings.warn, 'x', DeprecationWarning)", "changes the filters of warnings at *test_refused.py:"),
    ("", "importlib.reload(json)", "reloads a module at *test_refused.py:"),
    ("", "sys.setswitchinterval(sys.getswitchinterval())", "changes a limit of the interpreter at *test_refused.py:"),
    ("", "random.seed(1)", "sets the state of the random numbers at *test_refused.py:"),
    ("", "seed(1)", "sets the state of the random numbers at *test_refused.py:"),
    ("", "socket.setdefaulttimeout(None)", "changes a table of the process by socket.setdefaulttimeout() at *test_refused.py:"),
    ("", "mimetypes.add_type('a/a', '.zz')", "changes a table of the process by mimetypes.add_type() at *test_refused.py:"),
    ("", "codecs.register_error('zz', print)", "changes a table of the process by codecs.register_error() at *test_refused.py:"),
    ("", "logging.addLevelName(33, 'A')", "changes a table of the process by logging.addLevelName() at *test_refused.py:"),
    ("", "unittest.TestCase().assertLogs().__enter__()", "changes the handlers of a logger at *test_refused.py:"),
    ("", "sys.argv = []", "sets sys.argv at *test_refused.py:"),
    ("", "Box.full = True", "sets Box.full at *test_refused.py:"),
]  # fmt: skip
ALLOWED = [
    ("", "box = Box(); box.full = True"),
    ("", "box = Box(); mock.patch.object(box, 'full', True).start(); assert box.full"),
    ("monkeypatch", "rows = {}; monkeypatch.setitem(rows, 'a', 1); assert rows"),
    ("", "random.Random(1).seed(2); random.random(); sys.getrecursionlimit()"),
    ("", "assert mimetypes.guess_type('a.py')[0]; logging.getLogger('a').info('b'); 'a'.encode('ascii')"),
    ("", "threading.Lock().acquire(); os.environ.get('A'); sys.argv[:1]"),
]


@pytest.mark.slow
def test_what_belongs_to_the_process_is_refused_by_fixture_and_by_what_the_body_does(run):
    bodies = [(arguments, body) for arguments, body, _ in REFUSED]
    tests = [f"@own\ndef test_{index}({each[0]}):\n    {each[1]}\n" for index, each in enumerate([*bodies, *ALLOWED])]
    patched = "@own\n@mock.patch('json.dumps')\ndef test_decorated(dumps):\n    json.dumps(1)\n"
    result = run(HEAD + "\n".join([*tests, patched]), name="test_refused")
    result.assert_outcomes(skipped=len(REFUSED) + 1, passed=len(ALLOWED))
    lines = [f"SKIPPED*not explorable: *{words}*it cannot be two clients*" for _, _, words in REFUSED]
    result.stdout.fnmatch_lines_random(
        [*lines, "SKIPPED*not explorable: a decorator of it (unittest.mock) patches json, which both clients share*"]
    )


@pytest.mark.slow
def test_a_parameter_that_cannot_be_copied_is_shared_and_named(run):
    source = """
@own
@pytest.mark.parametrize("box", [Box()])
def test_it(box):
    before = box.full = box.full + 1
    assert box.full == before
"""
    result = run(HEAD + source)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*violated*; the clients share the parameter 'box' (a Box), of which there can be no copy*"])


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("fixtures='mine'", "fixtures='mine' (from marker gil_fuzz): expected 'shared' or 'own'"),
        ("fixtures='own', invariant=lambda rows: rows", "a function of wider fixtures: each client has its own 'rows'"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused(run, marked, words):
    fixture = "@pytest.fixture\ndef rows():\n    return []\n"
    result = run(f"{HEAD}{fixture}@pytest.mark.gil_fuzz({marked})\ndef test_it(rows):\n    pass\n")
    result.assert_outcomes(failed=1)
    assert words in result.stdout.str()
