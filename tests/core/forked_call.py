"""Runs a function in a guarded child process and returns how that ended, and what the function returned."""

import pickle

from pytest_gilcheck.core.child import ChildSide, Ending, fork


def call(function, limit):
    """The outcome, and what the function returned, or None unless it answered; raises what the function raised."""
    side = fork(limit)
    if isinstance(side, ChildSide):
        try:
            answer = (True, function())
        except BaseException as error:
            answer = (False, error)
        side.answer(pickle.dumps(answer))
    outcome = side.wait()
    if outcome.ending is not Ending.ANSWERED:
        return outcome, None
    returned, value = pickle.loads(outcome.payload)
    if not returned:
        raise value
    return outcome, value
