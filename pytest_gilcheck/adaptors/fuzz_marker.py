"""The marker ``gil_fuzz``: a test's body in several threads, with function-scoped fixtures set up anew for every schedule.

Each schedule finishes the function-scoped fixtures of the schedule before and has pytest set them up again, so that teardowns run
and may assert; wider fixtures are shared, and so is what the body itself refers to. A method gets a new instance each time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ..checks import FUZZ
from ..core.errors import BadValue
from ..fuzz.program import Program
from ..fuzz.result import FuzzResult
from ..runner import Runner

DEFAULT_THREADS = 2
_OURS = frozenset({"gilcheck", "request"})
_OF_MARKER = tuple(argument for argument in FUZZ.arguments if argument.marker_only)


def fuzz(item: pytest.Function, runner: Runner, given: Mapping[str, Any], source: str) -> FuzzResult:
    """Search the schedules of this test.

    Raises:
        BadValue: an argument that cannot be used.
        BaseException: what the test raises in every sequential order.
    """
    names = [argument.name for argument in _OF_MARKER]
    own = runner.read(_OF_MARKER, {name: given.get(name) for name in names}, source)
    threads, invariant = own.get("threads", DEFAULT_THREADS), own.get("invariant")
    rest = {name: value for name, value in given.items() if name not in names}
    if (test := getattr(item.obj, "hypothesis", None)) is not None:
        return _given(item, test, runner, rest, threads, invariant, source)
    fixtures = _Fixtures(item)
    body = _named(lambda fresh: fresh(), item)
    program = Program(
        (body,) * threads,
        setup=fixtures.renew,
        invariant=None if invariant is None else lambda fresh: invariant(),
        name=item.name,
        teardown=fixtures.finish,
        may_raise=False,
    )
    fixtures.discard()
    result: FuzzResult = runner.run(FUZZ, program, rest, source, judged="marker", share=_share(item.config))
    return result


def _share(config: pytest.Config) -> tuple[int, int]:
    """Which share of the schedules this worker of xdist runs: with ``--dist each`` every one of them runs every test."""
    worker = getattr(config, "workerinput", {})
    if not worker.get("gilcheck_share"):
        return 0, 1
    return int(worker["workerid"].removeprefix("gw")), worker["workercount"]


def _given(
    item: pytest.Function, test: Any, runner: Runner, given: Mapping[str, Any], threads: int, invariant: Any, source: str
) -> FuzzResult:
    """With hypothesis: everything is drawn by the main thread, and each example is a program of its own."""
    import hypothesis

    results: list[FuzzResult] = []
    inner = test.inner_test

    @functools.wraps(inner)  # it is named in hypothesis' report
    def explored(*values: Any, **named: Any) -> None:
        __tracebackhide__ = True
        body = _named(lambda: inner(*values, **named), item)
        program = Program((body,) * threads, name=item.name, may_raise=False, invariant=invariant)
        result = runner.run(FUZZ, program, given, source, judged="marker")
        results.append(result)
        if result.verdict == "inconclusive":
            return
        result.assert_holds()

    test.inner_test = explored
    known = getattr(item.obj, "_hypothesis_internal_use_settings", None)
    item.obj._hypothesis_internal_use_settings = hypothesis.settings(known, deadline=None)
    try:
        item.obj(**{name: item.funcargs[name] for name in item._fixtureinfo.argnames})
    finally:
        test.inner_test = inner
        item.obj._hypothesis_internal_use_settings = known
    undecided = [result for result in results if result.verdict == "inconclusive"]
    if undecided:
        return undecided[0]
    if not results:
        raise BadValue("test", item.name, "a test that hypothesis has an example for", source)
    return results[-1]


class _Fixtures:
    """The function-scoped fixtures of one test, as often as they are wanted."""

    def __init__(self, item: pytest.Function) -> None:
        self._item = item
        self._definitions = [
            definitions[-1]
            for name in item.fixturenames
            if name not in _OURS and (definitions := item._fixtureinfo.name2fixturedefs.get(name))
            if definitions[-1].scope == "function"
        ]

    def renew(self) -> Callable[[], object]:
        """Set all of them up, and return the test's body with them."""
        item = self._item
        self.finish()
        finalizers = item.session._setupstate.stack[item][0]
        known = len(finalizers)
        if self._definitions or item.cls is not None:
            for name in ("_instance", "_obj"):
                if item.cls is not None and name in vars(item):
                    delattr(item, name)
            kept = {name: value for name, value in item.funcargs.items() if name in _OURS}
            item._initrequest()
            item.funcargs.update(kept)
            item._request._fillfixtures()
        del finalizers[known:]  # one for each fixture is there from the first time; more would pile up with every schedule
        values = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
        function = item.obj
        return lambda: function(**values)

    def finish(self) -> None:
        """Tear all of them down."""
        storage = self._item.stash._storage
        kept = dict(storage)  # tmp_path takes out what its next teardown would look for
        for definition in reversed(self._definitions):
            definition.finish(self._item._request)  # it is only told to plugins
        storage.update({key: value for key, value in kept.items() if key not in storage})

    def discard(self) -> None:
        """Tear down what pytest has set up and no thread has used: what a teardown would assert of it says nothing."""
        try:
            self.finish()
        except AssertionError:
            self.finish()


def _named(function: Callable[..., object], item: pytest.Function) -> Callable[..., object]:
    function.__qualname__ = getattr(item.obj, "__qualname__", item.name)
    return function
