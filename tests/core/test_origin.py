import os
import subprocess
import sys
import sysconfig
import threading
import venv
from pathlib import Path

import psutil
import pytest

from pytest_gilcheck.core import child
from pytest_gilcheck.core.origin import foreign, ours, standard, under_test


@pytest.mark.parametrize(
    ("file", "answers"),
    [
        (__file__, [under_test]),
        (threading.__file__, [standard, foreign]),
        (pytest.__file__, [foreign]),
        (psutil.__file__, [foreign, under_test]),
        (f"{sysconfig.get_path('purelib')}/freezegun/api.py", [foreign]),
        (f"{sysconfig.get_path('purelib')}/freezing/api.py", [foreign, under_test]),
        (child.__file__, [ours]),
        ("<string>", [foreign]),
        ("<frozen importlib._bootstrap>", [standard, foreign]),
    ],
)
def test_each_file_is_somebodys(file, answers):
    if file == child.__file__ and foreign(file):
        pytest.skip("we are installed")
    assert [question for question in (standard, foreign, ours, under_test) if question(file)] == answers


def asked(python, folder, **environment):
    """What an interpreter says of a package in this folder: standard, foreign, under test, and the name of its module."""
    code = (
        "import sys; sys.path.append(sys.argv[2]); from pytest_gilcheck.core.origin import *; file = sys.argv[1] + '/shop/till.py';"
        "print(standard(file), foreign(file), under_test(file), module_of(file))"
    )
    root = str(Path(child.__file__).parents[2])
    command = [python, "-c", code, folder, root]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment}).stdout.split()


INSTALLED = ["False", "True", "True", "shop.till"]


def test_packages_of_the_system_of_the_user_and_of_a_folder_on_the_path_are_installed_ones_and_not_standard(tmp_path):
    venv.create(tmp_path / "env", system_site_packages=True, with_pip=False)
    python = tmp_path / "env/bin/python"
    of_system = sysconfig.get_path("purelib", vars={"base": sys.base_prefix})
    assert asked(python, of_system) == INSTALLED
    of_user = sysconfig.get_path("purelib", "posix_user", {"userbase": str(tmp_path)})
    assert asked(sys.executable, of_user, PYTHONUSERBASE=str(tmp_path)) == INSTALLED
    assert asked(sys.executable, str(tmp_path / "a/site-packages"), PYTHONPATH=str(tmp_path / "a/site-packages")) == INSTALLED
    assert asked(sys.executable, str(tmp_path / "a/packages"), PYTHONPATH=str(tmp_path / "a/packages"))[1] == "False"


def test_a_file_of_a_library_has_the_name_of_its_module():
    import asyncio
    import threading

    from pytest_gilcheck.core.origin import module_of

    assert module_of(threading.__file__) == "threading"
    assert module_of(asyncio.__file__) == "asyncio"
    assert module_of(asyncio.locks.__file__) == "asyncio.locks"
    assert module_of("<frozen posixpath>") == "posixpath"
    assert module_of("/no/library/at/all.py") == "/no/library/at/all.py"
