"""What is active once some test uses a check: runs marked tests, keeps the evidence, and tells of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ..calls import Gilcheck
from ..core import evidence
from ..core.verdict import Inconclusive
from . import scaling
from .guard import Guard
from .options import settings_of
from .reporting import Summary, figures_as_properties

_KEY = pytest.StashKey["Session"]()
_RECORDS = pytest.StashKey[list[evidence.Record]]()


def start(config: pytest.Config) -> None:
    """Register everything, once for each process."""
    if _KEY in config.stash:
        return
    session = config.stash[_KEY] = Session(config)
    config.pluginmanager.register(session.guard, "gilcheck-guard")
    config.pluginmanager.register(session, "gilcheck-session")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Summary(config), "gilcheck-summary")


def namespace(item: pytest.Item) -> Gilcheck:
    """The calls for this item: their evidence becomes the item's."""
    start(item.config)
    return item.config.stash[_KEY].checks(item)


class Session:
    """Runs the tests that use a check."""

    def __init__(self, config: pytest.Config) -> None:
        self._settings = settings_of(config)
        self._strict = bool(self._settings.value("strict")[0])
        self._isolate = self._settings.value("isolate")[0] or "auto"
        self.guard = Guard(config)

    def checks(self, item: pytest.Item) -> Gilcheck:
        def record(entry: evidence.Record) -> None:
            entry["subject"] = item.nodeid
            records = item.stash.setdefault(_RECORDS, [])
            records.append(entry)
            item.user_properties += figures_as_properties(entry, len(records))

        def result(measured: object) -> None:
            unguarded = self.guard.unguarded
            note = f"\n  not isolated: {unguarded}" if unguarded and unguarded != "isolate=none" else ""
            item.add_report_section("call", "gilcheck", f"{measured}{note}")

        return Gilcheck(self._settings, on_record=record, on_result=result, clock=self.guard.clock)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if any(item.iter_markers(scaling.MARKER)) and (why := scaling.unsupported(item)) is not None:
            pytest.fail(f"gilcheck: {why}", pytrace=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object:
        marked = any(pyfuncitem.iter_markers(scaling.MARKER))
        if not marked and "gilcheck" not in pyfuncitem.fixturenames:
            return None
        if self.guard.enter(self._isolate):
            return True
        if not marked:
            return None
        scaling.run(pyfuncitem, self.checks(pyfuncitem))
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """An inconclusive check is a skip, with its reason; a failure if strict."""
        try:
            return (yield)
        except Inconclusive as error:
            if self._strict:
                pytest.fail(f"inconclusive, and strict: {error}", pytrace=False)
            raise pytest.skip.Exception(f"inconclusive: {error}", _use_item_location=True) from None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Attach the evidence, which xdist and the guard then carry."""
        report = yield
        if call.when == "call" and (records := item.stash.get(_RECORDS, None)):
            report.gilcheck = records
        return report
