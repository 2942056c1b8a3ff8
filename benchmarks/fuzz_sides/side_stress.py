"""The oldest tool: real threads from one barrier, over and over, with the shortest switch interval. Prints one line of JSON."""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from programs import Given, broken, load

PATIENCE = 2.0  # seconds for one round, after which its threads are taken to wait for each other


def find(program: Given, seconds: float) -> dict[str, Any]:
    sys.setswitchinterval(1e-6)
    count = len(program.threads)
    barrier = threading.Barrier(count + 1)
    errors: list[str] = []
    state: Any = None

    def worker(thread: Any) -> None:
        while True:
            barrier.wait()
            try:
                thread(state)
            except BaseException as error:
                errors.append(f"{type(error).__name__}: {error}")
            barrier.wait()

    for thread in program.threads:
        threading.Thread(target=worker, args=(thread,), daemon=True).start()
    rounds, start = 0, time.perf_counter()
    said = why = ""
    while not said and time.perf_counter() - start < seconds:
        rounds += 1
        state = program.setup()
        barrier.wait()
        try:
            barrier.wait(PATIENCE)
        except threading.BrokenBarrierError:
            said, why = "found", f"{barrier.n_waiting} of {count} came back within {PATIENCE} s"
            break
        fault = errors[0] if errors else broken(program, state)
        if fault is not None:
            said, why = "found", fault
    return {"said": said or "sampled", "seconds": time.perf_counter() - start, "schedules": rounds, "why": why[:300]}


def in_turn(program: Given) -> dict[str, Any]:
    """One thread after the other, in every order: a program that is to show a race must pass them all."""
    faults: list[str] = []
    for order in itertools.permutations(program.threads):
        state = program.setup()
        for call in order:
            thread = threading.Thread(target=_listening, args=(call, state, faults), daemon=True)
            thread.start()
            thread.join(PATIENCE)
            if thread.is_alive():
                faults.append(f"{call.__name__} waits for another")
        faults += filter(None, [broken(program, state)])
    return {"said": "found" if faults else "holds", "seconds": 0.0, "schedules": 0, "why": "; ".join(faults)[:300]}


def _listening(call: Callable[[Any], object], state: Any, faults: list[str]) -> None:
    try:
        call(state)
    except BaseException as error:
        faults.append(f"{type(error).__name__}: {error}")


def main() -> None:
    given = json.loads(sys.argv[1])
    program = load(given["program"], given.get("target"))
    answer = in_turn(program) if given["do"] == "in turn" else find(program, given["seconds"])
    print("\n" + json.dumps(answer), flush=True)
    os._exit(0)  # threads that wait for each other never end


if __name__ == "__main__":
    main()
