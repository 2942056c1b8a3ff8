"""Our side, run by an interpreter that has pytest-gilcheck. Prints one line of JSON."""

from __future__ import annotations

import json
import sys
import threading
import time
from random import Random
from typing import Any

from programs import ROOT, Given, load

sys.path.insert(0, str(ROOT))

from pytest_gilcheck import gilcheck
from pytest_gilcheck.core.clocks import monotonic as _now  # the clocks that programs ask stand still between the explorer's runs
from pytest_gilcheck.engine.program import Program
from pytest_gilcheck.engine.running.handoff import HandoffSemaphore
from pytest_gilcheck.engine.schedule import Choice, Schedule
from pytest_gilcheck.search.harness import explorer_for
from pytest_gilcheck.search.plan import FuzzPlan
from pytest_gilcheck.search.sampling import RandomWalk


def throughput(program: Given, mode: str, seconds: float) -> dict[str, Any]:
    """How many schedules are run in that time.

    ``mode`` is random-walk; or sequential, one-preemption, two-preemptions: at all places in turn, as a search does; or bare
    hand-over: two threads that do nothing else.
    """
    if mode == "bare hand-over":
        return _hand_overs(seconds)
    start, used = time.perf_counter(), time.process_time()
    rate = _schedules_per_second(Program(program.threads, program.setup, program.invariant), mode, seconds)
    spent = time.perf_counter() - start
    return {"schedules": rate * spent, "seconds": spent, "cpu": time.process_time() - used}


def _hand_overs(seconds: float) -> dict[str, Any]:
    mine, others = HandoffSemaphore(), HandoffSemaphore()
    ended = False

    def answer() -> None:
        while True:
            others.wait()
            mine.post()
            if ended:
                return

    thread = threading.Thread(target=answer)
    thread.start()
    made, start, used = 0, time.perf_counter(), time.process_time()
    while (spent := time.perf_counter() - start) < seconds:
        for _ in range(100):
            others.post()
            mine.wait()
        made += 200
    cpu, ended = time.process_time() - used, True
    others.post()
    thread.join()
    return {"schedules": made, "seconds": spent, "cpu": cpu}


def _schedules_per_second(program: Program, mode: str, seconds: float) -> float:
    with explorer_for(program, FuzzPlan(), lambda label: None) as explorer:
        points = max(run.points for run in explorer.sequential())
        places = [Choice(point, 1) for point in range(2, points)]
        begun, before, turn = _now(), explorer.runs, 0
        walk = RandomWalk(Random(1))
        while _now() - begun < seconds:
            for _ in range(20):
                turn += 1
                if mode == "random-walk":
                    explorer.once(walk)
                    continue
                one = places[turn % len(places)]
                two = Choice(one.point + 1 + turn % points, 0)
                chosen = {"sequential": (), "one-preemption": (one,), "two-preemptions": (one, two)}[mode]
                explorer.follow(Schedule(chosen), recording=mode != "sequential")
        return (explorer.runs - before) / (_now() - begun)


def find(program: Given, seconds: float, seed: int, schedules: int | None = None) -> dict[str, Any]:
    """One check, as a test would make it; with a number of schedules, the seconds are a limit alone."""
    start = time.perf_counter()
    try:
        result = gilcheck.fuzz(**_arguments(program), budget=seconds, seed=seed, **({"schedules": schedules} if schedules else {}))
    except Exception as error:  # every sequential order raises it
        why = f"raised {type(error).__name__}: {error}"
        answer = {"said": "found", "seconds": time.perf_counter() - start, "schedules": 0, "why": why[:300], "kind": None}
        return answer | {"symptom": None, "preemptions": 0, "token": "", "report": why}
    spent = time.perf_counter() - start
    verdict = str(result.verdict)
    return {
        "said": "found" if verdict == "violated" else verdict,
        "seconds": spent,
        "schedules": result.schedules,
        "why": str(result.reason)[:300],
        "kind": result.kind and str(result.kind),
        "symptom": result.symptom and str(result.symptom),
        "preemptions": result.preemptions,
        "token": result.token,
        "replayed": 0,
        "report": str(result),
    }


def replayed(program: Given, answer: dict[str, Any], times: int) -> int:
    """How often the token gives the same symptom again."""
    again = [gilcheck.fuzz(**_arguments(program), replay=answer["token"]) for _ in range(times if answer["token"] else 0)]
    return sum((str(one.verdict), one.symptom) == ("violated", answer["symptom"]) for one in again)


def _arguments(program: Given) -> dict[str, Any]:
    given: dict[str, Any] = {"setup": program.setup, "threads": list(program.threads), "invariant": program.invariant}
    return given | ({"include": program.include} if program.include else {})


def main() -> None:
    given = json.loads(sys.argv[1])
    program = load(given["program"], given.get("target"))
    if given["do"] == "throughput":
        print("\n" + json.dumps(throughput(program, given["mode"], given["seconds"])), flush=True)
        return
    if given.get("warm"):
        find(load("counter"), 0.2, 0)
    answer = find(program, given["seconds"], given["seed"], given.get("schedules"))
    print("\n" + json.dumps(answer), flush=True)  # an answer even if a replay hangs
    answer["replayed"] = replayed(program, answer, given["replays"])
    print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
