"""Is the program of a report the smallest one that fails, and does a seed give the same report in each process?

Five classes, each with one campaign for each seed, in a fork of its own. Usage::

    python benchmarks/linear_seeds.py [seeds] [seeds that are run again]

A campaign that ends in any other way than with a failure is counted apart: an error such as hypothesis' Flaky, or a bug not found.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from pytest_gilcheck import gilcheck
from tests.linear import classes

SMALLEST: dict[str, tuple[str, dict[str, Any]]] = {
    "Counter": ("() | add() || add()", {}),
    "Stack": ("() push(1) | pop() || pop()", {}),
    "Ring": ("(1) | put(1) || put(1)", {"init": [[1]]}),
    "PriorityQueue": ("() push(1) | pop() || pop()", {}),
    "Registry": ("() | get('a') || get('a')", {}),
}


def in_fork(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a function returns in a process of its own."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            answer = work()
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        os.write(writes, json.dumps(answer).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as answers:
        told: dict[str, Any] = json.loads(answers.read())
    os.waitpid(child, 0)
    return told


def campaign(name: str, seed: int) -> dict[str, Any]:
    """One campaign: its program, its whole report, and its CPU seconds."""
    begun = process_time()
    given = SMALLEST[name][1]
    found = gilcheck.linearizable(getattr(classes, name), judge=False, seed=seed, budget=1000, **given)
    report = [found.outcome, found.story, found.token, found.programs, found.schedules, str(found.verdict)]
    return {"program": found.program, "report": report, "seconds": process_time() - begun}


def operations(program: str) -> int:
    """How many operations a program has."""
    return program.count("(") - 1


def main(seeds: int, again: int) -> None:
    """Print a row for each class."""
    for module in ("linear.entry", "linear.check", "fuzz.explaining"):  # once, and not in each fork
        __import__(f"pytest_gilcheck.{module}")
    print(f"{'class':<14} {'smallest':>9} {'as small':>9} {'same again':>11} {'errors':>7} {'CPU s':>6}  others")
    for name, (smallest, _) in SMALLEST.items():
        found = [in_fork(lambda name=name, seed=seed: campaign(name, seed)) for seed in range(seeds)]  # type: ignore[misc]
        repeated = [in_fork(lambda name=name, seed=seed: campaign(name, seed)) for seed in range(again)]  # type: ignore[misc]
        same = sum("report" in one and one["report"] == other.get("report") for one, other in zip(found, repeated, strict=False))
        told = [each for each in found if each.get("program")]
        exact = sum(each["program"] == smallest for each in told)
        as_small = sum(operations(each["program"]) == operations(smallest) for each in told)
        others = Counter(each["program"] for each in told if each["program"] != smallest)
        errors = [each["error"] for each in (*found, *repeated) if "error" in each]
        times = sorted(each["seconds"] for each in told)
        middle = times[len(times) // 2] if times else 0.0
        row = f"{name:<14} {exact:>5}/{seeds:<3} {as_small:>5}/{seeds:<3} {same:>7}/{again:<3} {len(errors):>7} {middle:>6.2f}"
        print(row, "", "; ".join(f"{count} x {text}" for text, count in others.most_common(3)), *errors[:1], flush=True)


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:3]]
    main(*numbers, *(100, 40)[len(numbers) :])
