"""A plugin that turns the expectations of a run round: what holds must be violated, and what is violated must hold."""

from pytest_gilcheck.core.verdict import Judged

Judged.assert_holds, Judged.assert_violated = Judged.assert_violated, Judged.assert_holds  # type: ignore[method-assign]
