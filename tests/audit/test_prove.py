"""``--prove``: what the engine breaks is promoted, what holds is demoted, and what cannot be tried stays."""

import pytest

from pytest_gilcheck.audit import prove, source
from pytest_gilcheck.audit.artifact import open_path
from pytest_gilcheck.core.fork_safety import can_fork

pytestmark = pytest.mark.skipif(can_fork() is not None, reason=f"{can_fork()}")


def proved(tmp_path, text):
    (tmp_path / "src/shop").mkdir(parents=True)
    (tmp_path / "src/shop/__init__.py").write_text(text)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'shop'\nversion = '1'\n")
    artifact = open_path(tmp_path)
    findings = [pair for pair in source.check(artifact) if pair[1] is not None]
    (one,) = prove.prove(artifact, findings)
    return one


def test_a_race_that_is_there_is_promoted(tmp_path):
    one = proved(tmp_path, "_n = 0\ndef inc():\n    global _n\n    _n += 1\n")
    assert (one.code, str(one.severity), str(one.known)) == ("GA307", "warning", "proof")
    assert "proved: " in one.message
    assert "(schedule gil1_" in one.message


def test_one_that_makes_two_objects(tmp_path):
    text = "class A: pass\n_a = None\ndef get():\n    global _a\n    if _a is None:\n        _a = A()\n    return _a\n"
    assert str(proved(tmp_path, text).severity) == "warning"


@pytest.mark.slow
def test_one_that_holds_is_demoted_and_says_how_far_it_was_explored(tmp_path):
    one = proved(tmp_path, "_a = None\ndef get():\n    global _a\n    if _a is None:\n        _a = int('7')\n    return _a\n")
    assert (str(one.severity), str(one.known)) == ("ok", "proof")
    assert "explored, and it held: " in one.message


@pytest.mark.slow
def test_a_side_effect_that_nobody_looks_at_demotes_nothing(tmp_path):
    """Both threads may register; what the function returns says nothing about that."""
    text = "_done = None\ndef ensure():\n    global _done\n    if _done is None:\n        register()\n"
    text += "        _done = 1\n    return 0.5\n"
    one = proved(tmp_path, f"{text}def register():\n    pass\n")
    assert str(one.severity) == "note"
    one = proved(tmp_path / "x", "_c = []\ndef take():\n    if _c:\n        _c.pop()\n")
    assert str(one.severity) == "note"


@pytest.mark.parametrize(
    "text",
    [
        "_c = {}\ndef get(k):\n    if k not in _c:\n        _c[k] = 1\n",
        "import not_there\n_n = 0\ndef inc():\n    global _n\n    _n += 1\n",
        "import os\n_n = 0\ndef inc():\n    global _n\n    _n += 1\n    os._exit(3)\n",
    ],
    ids=["arguments", "import", "exit"],
)
def test_what_cannot_be_tried_stays_a_note(tmp_path, text):
    one = proved(tmp_path, text)
    assert (str(one.severity), str(one.known)) == ("note", "source")


@pytest.mark.slow
def test_a_function_that_waits_for_ever_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(prove, "SECONDS", 1.0)
    monkeypatch.setattr(prove, "_GRACE", 3.0)
    one = proved(tmp_path, "import time\n_n = 0\ndef inc():\n    global _n\n    _n += 1\n    time.sleep(600)\n")
    assert str(one.severity) == "note"
    assert "no end within 4 s" in one.message
