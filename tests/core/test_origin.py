import sysconfig
import threading

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


def test_a_file_of_a_library_has_the_name_of_its_module():
    import asyncio
    import threading

    from pytest_gilcheck.core.origin import module_of

    assert module_of(threading.__file__) == "threading"
    assert module_of(asyncio.__file__) == "asyncio"
    assert module_of(asyncio.locks.__file__) == "asyncio.locks"
    assert module_of("<frozen posixpath>") == "posixpath"
    assert module_of("/no/library/at/all.py") == "/no/library/at/all.py"
