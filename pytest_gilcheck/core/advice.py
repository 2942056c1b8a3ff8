"""What a message tells the user to do about an undecided check; the same words in every check."""

from __future__ import annotations

import math

RETRY = "retry on an idle machine or pass --gilcheck-budget-scale=3"  # where other processes disturbed the measurement
LONGER = "pass --gilcheck-budget-scale=3 or a longer budget="  # where more of the same would decide


def longer(needed: float, budget: float) -> str:
    """Advice to raise a budget to about what is needed, both in seconds."""
    return f"pass --gilcheck-budget-scale={max(2, math.ceil(needed / budget))} or budget={max(1, math.ceil(needed))}"
