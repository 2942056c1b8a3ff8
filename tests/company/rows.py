"""The plugins of the matrix: how each is loaded, with which options, and what it makes of every test."""

from typing import NamedTuple

AUTOUSE = """
import pytest

@pytest.fixture(autouse=True)
def company({fixtures}):
    {body}
    yield
"""


class Row(NamedTuple):
    """One plugin, or one way to use it.

    Attributes:
        modules: what must be installed; ``-p`` loads the first of them, or ``load``.
        load: names of ``-p``.
        options: of the command line.
        fixtures, body: of a fixture that every test uses: what a suite with this plugin does.
        conftest: more lines of the conftest.
        times: how often each test runs.
        together: whether it can run beside all others of which this is true.
    """

    modules: tuple[str, ...]
    load: tuple[str, ...]
    options: tuple[str, ...] = ()
    fixtures: str = ""
    body: str = ""
    conftest: str = ""
    times: int = 1
    together: bool = True


DJANGO = """
from django.conf import settings
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"], USE_TZ=True,
)
"""
USE_DATABASE = "from django.contrib.auth.models import User; User.objects.create(username='a'); assert User.objects.count() == 1"
PROFILE = """
import hypothesis
slow = [hypothesis.HealthCheck.too_slow]  # this machine may be
hypothesis.settings.register_profile("company", max_examples=3, deadline=None, suppress_health_check=slow)
"""
FROZEN = "freezer.move_to('2099-01-01')"
MOVED = "import datetime; time_machine.move_to(datetime.datetime(1960, 1, 1, tzinfo=datetime.UTC), tick=False)"
FAKED = "fs.create_file('/made/up.txt')"
MEASURED = "benchmark.pedantic(len, ((),))"
PATCHED = "mocker.patch('time.sleep'); mocker.patch('time.monotonic', return_value=5.0)"

ROWS = {
    "alone": Row((), ()),
    "timeout, signal": Row(("pytest_timeout",), ("timeout",), ("--timeout=150", "--timeout-method=signal")),
    "timeout, thread": Row(("pytest_timeout",), ("timeout",), ("--timeout=150", "--timeout-method=thread"), together=False),
    "rerunfailures": Row(("pytest_rerunfailures",), ("rerunfailures",), ("--reruns=1",), together=False),
    "randomly": Row(("pytest_randomly",), ("randomly",)),
    "cov, not used": Row(("pytest_cov",), ("pytest_cov",)),
    "mock": Row(("pytest_mock",), ("pytest_mock",), fixtures="mocker", body=PATCHED),
    "freezegun": Row(("pytest_freezer",), ("freezer",), fixtures="freezer", body=FROZEN, together=False),
    "time-machine": Row(("time_machine",), ("time_machine",), fixtures="time_machine", body=MOVED, together=False),
    "pyfakefs": Row(("pyfakefs",), ("fakefs",), fixtures="fs", body=FAKED, together=False),
    "benchmark": Row(("pytest_benchmark",), ("benchmark",), fixtures="benchmark", body=MEASURED, together=False),
    "forked": Row(("pytest_forked",), ("pytest_forked",), ("--forked",), together=False),
    "asyncio, auto": Row(("pytest_asyncio",), ("asyncio",), ("--asyncio-mode=auto",)),
    "asyncio, strict": Row(("pytest_asyncio",), ("asyncio",), ("--asyncio-mode=strict",), together=False),
    "anyio": Row(("anyio",), ("anyio",)),
    "trio": Row(("pytest_trio",), ("trio",), ("-o", "trio_mode=true"), together=False),
    "run-parallel": Row(("pytest_run_parallel",), ("run-parallel",), ("--parallel-threads=2",), together=False),
    "repeat": Row(("pytest_repeat",), ("repeat",), ("--count=2",), times=2, together=False),
    "sugar": Row(("pytest_sugar",), ("sugar",)),
    "html": Row(("pytest_html",), ("html", "html_fixtures", "metadata"), ("--html=report.html",)),
    "subtests": Row(("pytest_subtests",), ("subtests",), together=False),
    "syrupy": Row(("syrupy",), ("syrupy",), fixtures="snapshot", body="assert snapshot is not None"),
    "inline-snapshot": Row(("inline_snapshot",), ("inline_snapshot",)),
    "allure": Row(("allure_pytest",), ("allure_pytest",), ("--alluredir=allure",)),
    "django": Row(("pytest_django", "django"), ("django",), fixtures="db", body=USE_DATABASE, conftest=DJANGO),
    "hypothesis": Row(("hypothesis",), ("hypothesispytest",), ("--hypothesis-profile=company",), conftest=PROFILE),
}  # fmt: skip
