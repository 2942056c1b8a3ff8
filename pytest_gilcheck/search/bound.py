"""What a search without a failure may say: how far it went. It is a field of the result, and never "every interleaving".

A search knows what the steps of its runs have touched, as far as its tables tell. What a table tells wrongly, or what no run has
shown, is beyond each of these bounds.
"""

from __future__ import annotations

from enum import StrEnum


class Bound(StrEnum):
    """Where a search without a failure ended."""

    INDEPENDENT = "independent"  # no two threads touched the same, unless nothing changes it
    CONFLICTS = "conflicts"  # each conflict that was seen, was tried in both orders
    PREEMPTIONS = "preemptions"  # every schedule with at most so many preemptions was run
    SAMPLES = "samples"  # what was enumerated is less than was wanted, and the rest was sampled
