"""A result is judged by its assertions, or by whoever reads its verdict; what shows, copies or compares it judges nothing."""

import ast
import copy
import pickle
import pprint
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

import pytest_gilcheck
from pytest_gilcheck.core.verdict import ClaimViolated, Inconclusive, Judged, Verdict

PACKAGE = Path(pytest_gilcheck.__file__).parent
WAYS_TO_SHOW = {
    "repr": repr,
    "pprint": pprint.pformat,
    "headline": Judged.headline,
    "message": Judged.message,
    "code": lambda result: result.code,
    "conclusion": lambda result: result.conclusion,
    "asdict": asdict,
    "comparison": lambda result: result == replace(result, reason="another"),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "pickle": pickle.dumps,
    "a debugger that shows fields": lambda result: dict(vars(result)),
}


@dataclass(frozen=True, kw_only=True)
class Found(Judged):
    """As each wing derives its result."""

    figure: int = 0


def found(conclusion=Verdict.VIOLATED):
    return Found(conclusion=conclusion, reason="because")


@pytest.mark.parametrize("show", WAYS_TO_SHOW.values(), ids=WAYS_TO_SHOW)
def test_what_shows_or_copies_a_result_judges_nothing(show):
    result = found()
    show(result)
    assert result.judged_by is None


def test_whoever_reads_the_verdict_judges_the_result_whatever_its_module_is_called():
    for module in ("test_it", "pytest_gilcheck.core.evidence", "pprint", "pdb"):
        result = found()
        assert eval("result.verdict", {"__name__": module, "result": result}) is Verdict.VIOLATED
        assert result.judged_by == "verdict"


def test_a_copy_of_a_judged_result_is_not_judged():
    result = found()
    assert result.verdict
    assert replace(result, reason="another").judged_by is None


@pytest.mark.parametrize("conclusion", Verdict)
@pytest.mark.parametrize(
    ("assertion", "accepts"), [("assert_holds", Verdict.HOLDS), ("assert_violated", Verdict.VIOLATED)], ids=["holds", "violated"]
)
def test_an_assertion_that_returns_judges_and_one_that_raises_does_not(conclusion, assertion, accepts):
    result = found(conclusion)
    if conclusion is accepts:
        getattr(result, assertion)()
        assert (result.judged_by, result.raised_by) == (assertion, None)
        return
    with pytest.raises(Inconclusive if conclusion is Verdict.INCONCLUSIVE else ClaimViolated):
        getattr(result, assertion)()
    assert (result.judged_by, result.raised_by) == (None, assertion)
    assert result.verdict is conclusion  # to read it after all is a judgement
    assert (result.judged_by, result.raised_by) == ("verdict", None)


def readers_of_verdicts(tree):
    """The lines that read the verdict of a result: of ``self``, ``result``, or what an attribute of that name holds."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="verdict", value=ast.Name(id="self" | "result") | ast.Attribute(attr="result")):
                yield node.lineno


def test_our_code_that_has_a_result_after_the_user_does_not_read_its_verdict():
    rooms = [*PACKAGE.glob("*/result.py"), *PACKAGE.glob("adaptors/*.py"), *PACKAGE.glob("*.py"), *PACKAGE.glob("core/*.py")]
    assert len(rooms) > 40
    found = {str(path.relative_to(PACKAGE)): list(readers_of_verdicts(ast.parse(path.read_text()))) for path in rooms}
    assert not {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize("code", ["self.verdict", "result.verdict", "call.result.verdict"])
def test_such_code_would_be_noticed(code):
    assert list(readers_of_verdicts(ast.parse(code))) == [1]
