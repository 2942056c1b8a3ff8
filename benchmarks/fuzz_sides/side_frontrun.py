"""frontrun's side, run by its own command in an environment that has it. Prints one line of JSON."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import frontrun
from frontrun._cooperative import patch_locks
from programs import Given, broken, load


def throughput(program: Given, mode: str, seconds: float) -> dict[str, Any]:
    """As many schedules as fit: whole explorations, one after the other, each of those that it does by default."""
    more = {"strategy": "random", "max_attempts": 200} if mode == "random" else {"strategy": "dpor"}
    schedules, start, used = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        result = frontrun.explore(program.setup, list(program.threads), lambda state: True, **more)
        schedules += result.num_explored
    return {"schedules": schedules, "seconds": time.perf_counter() - start, "cpu": time.process_time() - used}


def find(program: Given, mode: str, seconds: float, seed: int) -> dict[str, Any]:
    more: dict[str, Any] = {"strategy": "dpor"}
    if mode == "random":
        more = {"strategy": "random", "max_attempts": 10**9, "seed": seed}
    if program.include:
        more["trace_packages"] = list(program.include)
    start = time.perf_counter()
    try:
        result = frontrun.explore(
            program.setup, list(program.threads), lambda state: broken(program, state) is None, total_timeout=seconds, **more
        )
    except frontrun.InconclusiveExploration as error:
        return {"said": "inconclusive", "seconds": time.perf_counter() - start, "schedules": 0, "why": str(error)[:300]}
    except frontrun.FrontrunInternalError:
        raise
    except Exception as error:  # its DPOR lets what a worker raised through
        why = f"raised {type(error).__name__}: {error}"
        return {"said": "found", "seconds": time.perf_counter() - start, "schedules": 0, "why": why[:300]}
    spent = time.perf_counter() - start
    said = {True: "holds", False: "found", None: "inconclusive"}[result.property_holds]
    why = (result.explanation or result.inconclusive_reason or "").strip()
    return {"said": said, "seconds": spent, "schedules": result.num_explored, "why": why[:300]}


def main() -> None:
    given = json.loads(sys.argv[1])
    patch_locks()  # as its pytest plugin does, before anything of the program is imported
    program = load(given["program"], given.get("target"))
    if given["do"] == "throughput":
        throughput(program, given["mode"], 0.2)
        out = throughput(program, given["mode"], given["seconds"])
    else:
        if given.get("warm"):
            find(load("counter"), given["mode"], 0.2, 0)
        out = find(program, given["mode"], given["seconds"], given["seed"])
    print("\n" + json.dumps(out), flush=True)
    os._exit(0)  # threads that it left behind may never end


if __name__ == "__main__":
    main()
