"""Turned conflicts of a program that runs in this process, without the rest of a search."""

import math

from pytest_gilcheck.search.conflicts import TurnedConflicts, reduction_of
from pytest_gilcheck.search.ledger import Account
from pytest_gilcheck.search.strategy import Driver, InThisProcess


class Conflicts:
    """A reduction, with the failure that it has led to."""

    def __init__(self, explorer, **of):
        self.explorer, self.reduction, self.failure = explorer, reduction_of(explorer, **of), None

    def __getattr__(self, name):
        return getattr(self.reduction, name)

    def search(self, ended=lambda: False):
        """Run schedules until none is left, one fails, or ``ended``, which is asked after each."""
        turned = TurnedConflicts(self.reduction, ended)
        Driver(InThisProcess(self.explorer), Account(math.inf)).run(turned)
        self.failure = turned.failure
