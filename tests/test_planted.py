"""What tests put something else in the place of is there, so that a name that has moved fails today, and not in a slow test."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = "pytest_gilcheck"


def imported(tree):
    """The modules and classes of the package that a file imports, by their names in it."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level and node.module.split(".")[0] == PACKAGE:
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
                found[alias.asname or alias.name] = getattr(module, alias.name)
    return {name: thing for name, thing in found.items() if inspect.ismodule(thing) or inspect.isclass(thing)}


def replaced(tree):
    """What a file puts something else in the place of: an owner by its name in the file, the attribute, and the line.

    That is ``setattr(owner, "attribute", value)`` of any object, and the same three in a tuple, for a test with parameters.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            given = node.args
            if any(each.arg == "raising" for each in node.keywords):
                continue
        elif isinstance(node, ast.Tuple):
            given = node.elts
        else:
            continue
        match given:
            case [ast.Name(id=owner), ast.Constant(value=str(attribute)), _, *_] if attribute.isidentifier():
                yield owner, attribute, node.lineno


def looked_up(text):
    """Each replaced attribute of the package, as its line and its name, and whether it is there."""
    tree = ast.parse(text)
    known = imported(tree)
    return {f"{line}: {owner}.{name}": hasattr(known[owner], name) for owner, name, line in replaced(tree) if owner in known}


def test_all_that_a_test_replaces_is_there():
    texts = {path.relative_to(TESTS): path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")}
    found = {f"{path}:{at}": there for path in texts if "patch" in texts[path] for at, there in looked_up(texts[path]).items()}
    assert len(found) > 50
    assert not [at for at, there in found.items() if not there]


@pytest.mark.parametrize("line", ['m.setattr(focus, "gone", None)', 'P = [(focus, "gone", len)]', 'plant(focus, "gone", 1)'])
def test_a_name_that_has_moved_is_noticed(line):
    imports = "from pytest_gilcheck.search import focus"
    assert looked_up(f"{imports}\n{line}") == {"2: focus.gone": False}
    assert looked_up(f"{imports}\n{line.replace('gone', 'focus_of')}") == {"2: focus.focus_of": True}
