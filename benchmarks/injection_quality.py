"""Is every verdict of the injection check right? The truth comes from real signals.

For each program of ``tests/injection/twins.py`` a plain Python process, without this package, runs it over and over while a timer
(``setitimer``) interrupts it at random moments. It counts hits (the signal came inside the program) and breaks (the program's
invariant is false afterwards, or descriptors or threads are left). A program is unsafe if anything broke. Then the check
judges the same program. Prints a markdown table, and exits with 1 if anything was wrong.

    python benchmarks/injection_quality.py --hits 3000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_TWINS = _ROOT / "tests" / "injection" / "twins.py"

_SIGNALLED = """
import asyncio, gc, inspect, json, os, random, runpy, signal, sys, threading, time
make, wanted, seconds = runpy.run_path(sys.argv[1])["PROGRAMS"][sys.argv[2]], int(sys.argv[3]), float(sys.argv[4])
inside, hits = False, 0

def interrupted(number, frame):  # does what Ctrl-C would do at this moment
    global hits
    if inside:
        hits += 1
        signal.getsignal(signal.SIGINT)(signal.SIGINT, frame)

def left():
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count()

def call(work):
    if inspect.iscoroutinefunction(work):
        asyncio.run(work())
    else:
        work()

def repeat(work, counted):  # a function of its own: an exception at the jump back of a loop passes the `try` around that loop by
    while hits == counted:
        call(work)

signal.signal(signal.SIGALRM, interrupted)
sys.unraisablehook = lambda unraisable: None
work, intact = make()
took = []
for _ in range(30):
    began = time.perf_counter()
    call(work)
    took.append(time.perf_counter() - began)
assert intact(), "it breaks without a signal"
longest = max(2 * sorted(took)[15], 5e-5)
breaks, asynchronous, before, end = 0, inspect.iscoroutinefunction(work), left(), time.monotonic() + seconds
while hits < wanted and time.monotonic() < end:
    work, intact = make()
    counted = hits
    try:
        inside = True
        signal.setitimer(signal.ITIMER_REAL, 1e-6 + random.random() * longest)
        repeat(work, counted)
        inside = False
    except BaseException:
        inside = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    if hits == counted:
        continue
    broken = not intact()
    work = intact = None
    if not broken and not asynchronous and hits % 10 == 0 and (now := left()) != before:
        broken, before = True, now
    breaks += broken
print(json.dumps([hits, breaks]))
"""


def truth(name: str, hits: int, seconds: float) -> tuple[int, int]:
    """Hits and breaks of one program under real signals, in a process of its own."""
    command = [sys.executable, "-c", _SIGNALLED, str(_TWINS), name, str(hits), str(seconds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 40, check=False)
    except subprocess.TimeoutExpired:  # an interrupt can leave the event loop of asyncio in a state in which it waits forever
        return 0, 0
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr}")
    counted, broken = json.loads(done.stdout.splitlines()[-1])
    return counted, broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hits", type=int, default=3000, help="real signals to each program (default: 3000)")
    parser.add_argument("--seconds", type=float, default=20.0, help="at most, for the signals to one program (default: 20)")
    parser.add_argument("--only", default="", help="programs with this in their name")
    given = parser.parse_args()
    sys.path.insert(0, str(_ROOT))
    from pytest_gilcheck import gilcheck
    from tests.injection.twins import PROGRAMS, UNSAFE

    print(f"{gilcheck.interpreter}\n")
    print("| program | hits | breaks | truth | verdict | steps tried | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    wrong = undecided = 0
    for name, make in PROGRAMS.items():
        if given.only not in name:
            continue
        hits, breaks = truth(name, given.hits, given.seconds)
        if hits == 0:
            print(f"| {name} | not measured: the process hung | | | | | |", flush=True)
            continue
        expected = "violated" if breaks else "holds"
        work, intact = make()
        began = time.monotonic()
        result = gilcheck.interrupt(work, inject="every-step", invariant=intact)
        verdict, seconds = str(result.verdict), time.monotonic() - began
        right = verdict == expected == ("violated" if name in UNSAFE else "holds")
        undecided += verdict == "inconclusive"
        wrong += not right and verdict != "inconclusive"
        mark = "" if right else " (!)"
        print(
            f"| {name} | {hits} | {breaks} | {expected} | {verdict}{mark} | {result.tried + result.library_tried} | {seconds:.1f} |"
        )
        if not right:
            print(f"{name}: {result.reason}", file=sys.stderr, flush=True)
        sys.stdout.flush()
    print(f"\n{wrong} wrong, {undecided} inconclusive")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
