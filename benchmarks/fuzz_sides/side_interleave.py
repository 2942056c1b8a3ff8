"""interleave-test's side, run in an environment that has it. Prints one line of JSON.

It steps through the lines that make a model, as its README has it; in a search, and where ``lean`` is asked for, those of this file
are left out, which makes it faster.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import interleave_test as it
from programs import Given, bind_late, broken, load

PATIENCE = 5.0  # seconds for one schedule, as long as frontrun waits


def model_of(program: Given) -> Callable[[], None]:
    def model() -> None:
        with it.no_interleave():
            state = program.setup()
        for task in [it.spawn(thread, state) for thread in program.threads]:
            task.join()
        with it.no_interleave():
            fault = broken(program, state)
        assert fault is None, fault

    return model


def strategy_of(mode: str) -> Any:
    """One for all rounds: PCT learns how long the schedules are."""
    return {"pct": it.PCTStrategy, "random": it.RandomStrategy, "dfs": lambda: it.DFSStrategy(max_preemptions=1)}[mode]()


def throughput(program: Given, mode: str, seconds: float, lean: bool) -> dict[str, Any]:
    model = model_of(Given(program.setup, program.threads, None))
    exclude = [__file__] if lean else []
    strategy, schedules, start, used = strategy_of(mode), 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        if strategy.exhausted:
            strategy = strategy_of(mode)
        result = it.explore(model, strategy=strategy, iterations=100, exclude=exclude, raise_on_failure=False)
        if result.failure is not None:
            raise RuntimeError(result.failure.format())
        schedules += result.schedules_run
    return {"schedules": schedules, "seconds": time.perf_counter() - start, "cpu": time.process_time() - used}


def find(program: Given, mode: str, seconds: float, seed: int) -> dict[str, Any]:
    model, strategy = model_of(program), strategy_of(mode)
    schedules, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        seed += 1
        result = it.explore(
            model, strategy=strategy, iterations=20, seed=seed, timeout=PATIENCE, exclude=[__file__], raise_on_failure=False
        )
        schedules += result.schedules_run
        if result.failure is not None:
            said = "hang" if result.failure.kind == "hang" else "found"
            why = f"{result.failure.kind}: {result.failure.exception!r} {result.failure.details}"
            return {"said": said, "seconds": time.perf_counter() - start, "schedules": schedules, "why": why[:300]}
    return {"said": "sampled", "seconds": time.perf_counter() - start, "schedules": schedules, "why": ""}


def main() -> None:
    given = json.loads(sys.argv[1])
    program = load(given["program"], given.get("target"))
    if not given.get("as it is"):
        bind_late()
    if given["do"] == "throughput":
        throughput(program, given["mode"], 0.2, given["lean"])
        out = throughput(program, given["mode"], given["seconds"], given["lean"])
    else:
        if given.get("warm"):
            find(load("counter"), given["mode"], 0.2, 0)
        out = find(program, given["mode"], given["seconds"], given["seed"])
    print("\n" + json.dumps(out), flush=True)
    os._exit(0)  # threads that it left behind may never end


if __name__ == "__main__":
    main()
