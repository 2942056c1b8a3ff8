"""Tries operations of the table for real, in threads that really run at once: a process of its own, because some of them crash.

    python -m tests.quality.c_trials SECONDS INDEX...

It tries these of `ALL`, each for so long, and prints a line of JSON before and after each.

A reading is tried against a thread that changes the container; whatever the container is after a change gives a legal outcome, and
no other outcome is legal. An operation that is known to be broken is left at the first that is not.
"""

import gc
import json
import sys
import threading
from collections import Counter
from time import monotonic

from pytest_gilcheck.engine.bytecode.c_operations import CONTAINERS, READINGS, Effect

from .updatings import UPDATINGS, Updating

ALL = (*READINGS, *UPDATINGS)
NAMESPACE = """
import array, bisect, collections, copy, functools, heapq, io, itertools, json, marshal, math, operator, pickle, random, statistics

class Nothing(int):
    __bool__ = lambda self: False

class Cached:
    made = staticmethod(lambda i: object())
    value = functools.cached_property(made)

f = lambda *positional, **named: positional or named
is_any = lambda value: True
last = lambda value: value[-1] if isinstance(value, tuple) else value
whole = lambda x, size: all(len({*x[i:i + size]}) == 1 for i in range(0, len(x), size))
"""
HALF = 50
BEFORE = [9, *[1] * HALF, *[2] * HALF, 0]
AFTER = BEFORE[::-1]  # whoever reads the beginning of the one and the end of the other gets other sums, extremes and sets
KEYS = [*range(10, 9 + len(BEFORE)), 9]
NEW = 250
ROUND = 3000  # times that each thread does an updating


def material(reading):
    """The elements that a reading can be tried with, and those that its statement names."""
    before, after, keys, new = BEFORE, AFTER, KEYS, NEW
    consumer, container = reading.consumer, reading.container
    if consumer == "any":
        before, after = [1, *[0] * (len(KEYS) - 1)], [*[0] * (len(KEYS) - 1), 1]
        if container not in ("list", "dict.values"):
            keys = before = [NAMES["Nothing"](key) for key in KEYS]
            new = NAMES["Nothing"](NEW)
    kind = {"str.join": str, "{**x}": str, "f(**x)": str, "json.Encoder": str, "bytes.join": b"%d".__mod__}.get(consumer)
    if kind is not None:
        keys, new = [kind(key) for key in keys], kind(new)
    if consumer.endswith(".join"):
        before, after = [kind(value) for value in before], [kind(value) for value in after]
    base, nine = set(keys), {9}
    if container in ("list", "deque", "dict.values"):
        base = set(before) - ({9} if consumer == "set.issuperset" else set())
    elif container == "dict.items":  # with one of two items always, and never both
        base = set(zip(keys, before, strict=True))
        nine = {(keys[0], 9), (keys[-1], 9)}
        if consumer == "set.issubset":
            base = nine
        elif consumer == "set.issuperset":
            base = {*base, *zip(keys, after, strict=True)} - {(keys[0], 0), (keys[-1], 0)}
    return {"BEFORE": before, "AFTER": after, "KEYS": keys, "NEW": new, "base": base, "nine": nine}


NAMES = {}
exec(NAMESPACE, NAMES)


def function(statements, names, arguments="x", result="None"):
    exec(f"def tried({arguments}):\n    {statements}\n    return {result}", names)
    return names["tried"]


def outcome(call, *arguments):
    try:
        made = call(*arguments)
    except Exception as error:
        return type(error).__name__
    return [*made.items()] if isinstance(made, dict) else made


class Trial:
    """One reading: what it reads, who changes it, and what may come of it."""

    def __init__(self, reading, wrapped=lambda container: container):
        place = CONTAINERS[reading.container]
        names = {**NAMES, **material(reading)}
        self.subject = wrapped(eval(place.made, names))
        names["same"] = eval(place.read, {"x": eval(place.made, names)})
        self.read = function(f"x = {place.read}; {reading.statement}", names, result="y")
        self.writes = [function(write, names) for write in place.writes]
        self.legal = [outcome(self.read, self.subject)]
        for write in self.writes * 2:
            write(self.subject)
            if (now := outcome(self.read, self.subject)) not in self.legal:
                self.legal.append(now)

    def run(self, seconds, until_wrong):
        """(tries, wrong outcomes, kinds of them)"""
        over, begun = [], threading.Event()

        def change():
            while not over:
                for write in self.writes:
                    write(self.subject)
                begun.set()

        thread = threading.Thread(target=change, daemon=True)
        thread.start()
        begun.wait()
        end, tries, wrong = monotonic() + seconds, 0, Counter()
        while monotonic() < end and not (wrong and until_wrong):
            tries += 1
            if (seen := outcome(self.read, self.subject)) not in self.legal:
                wrong[seen if isinstance(seen, str) and seen.endswith("Error") else "value"] += 1
        over.append(True)
        thread.join()
        return tries, wrong.total(), dict(wrong)


def update(updating, seconds, until_wrong):
    end, tries, wrong = monotonic() + seconds, 0, Counter()
    while monotonic() < end and not (wrong and until_wrong):
        names = {**NAMES, "n": ROUND, "one": [], "other": [], "kept": None}
        names["kept"] = names["one"]  # for setups that name it
        exec(updating.made, names)
        each = function(f"for i in range(n): {updating.statement}", names, "x, kept, n")
        barrier, errors = threading.Barrier(2), []

        def one_of(kept, each=each, names=names, barrier=barrier, errors=errors):
            barrier.wait()
            try:
                each(names["x"], kept, ROUND)
            except Exception as error:
                errors.append(type(error).__name__)

        threads = [threading.Thread(target=one_of, args=(names[kept],), daemon=True) for kept in ("one", "other")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tries += 1
        if errors:
            wrong[errors[0]] += 1
        elif not eval(updating.right, names):
            wrong["value"] += 1
    return tries, wrong.total(), dict(wrong)


def say(*words):
    sys.stdout.write(f"{json.dumps(words)}\n")
    sys.stdout.flush()


def main(seconds, indexes):
    sys.setswitchinterval(1e-6)
    gc.disable()  # which stops all threads
    for index in indexes:
        say("begins", index)
        operation = ALL[index]
        until_wrong = operation.effect is not Effect.ATOMIC
        if isinstance(operation, Updating):
            told = update(operation, seconds, until_wrong)
        else:
            told = Trial(operation).run(seconds, until_wrong)
        say("ends", index, *told)


if __name__ == "__main__":
    main(float(sys.argv[1]), map(int, sys.argv[2:]))
