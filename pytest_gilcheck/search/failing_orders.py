"""The sequential orders that failed when they ran as the baseline, once more, and as they are replayed."""

from __future__ import annotations

from collections.abc import Sequence

from ..engine.outcome import Failure, Symptom
from .orders import Order
from .strategy import Steps, Strategy, following, in_order


class FailingOrders(Strategy):
    """Runs them until one fails as a schedule.

    Attributes:
        failure: of that; no schedule has fewer preemptions.
        failed: how many have failed once more.
    """

    def __init__(self, orders: Sequence[Order]) -> None:
        super().__init__()
        self._orders = orders
        self.failure: Failure | None = None
        self.failed = 0

    def _search(self) -> Steps[None]:
        for order in self._orders:
            _, failure = yield in_order(order, counts=False)
            if failure is None or failure.symptom is Symptom.HANGS:  # it is what all of them do, or does not come again
                continue
            self.failed += 1
            _, self.failure = yield following(failure.schedule)
            if self.failure is not None:
                return
