"""Asks several times at once, and tells whether the answers came at once or one after the other."""

import threading
import time

AT_ONCE, IN_TURN, UNDECIDED = "at once", "in turn", "undecided"


def ask(times, question):
    """Call ``question`` in so many threads at once; return its answers, (begin, end) pairs, and the seconds for all of them."""
    answers, barrier = [], threading.Barrier(times)

    def one():
        barrier.wait()
        answers.append(question())

    threads = [threading.Thread(target=one) for _ in range(times)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers, time.monotonic() - began


def overlap(answers):
    """The largest number of (begin, end) pairs that have a moment in common."""
    return max(sum(begin <= moment < end for begin, end in answers) for moment, _ in answers)


def order(answers):
    """At once, in turn, or undecided: on a machine so busy that the questions did not even start together."""
    return {len(answers): AT_ONCE, 1: IN_TURN}.get(overlap(answers), UNDECIDED)
