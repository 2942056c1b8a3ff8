"""Does a bug that is called GIL-MASKED happen on a build with the GIL after all?

    python benchmarks/fuzz_masked.py --seconds 5 [--pairs ANSWERS]

Runs each program of the corpus that is marked GIL-MASKED in real threads again and again, as hostile as a GIL build can be: the
switch interval is a microsecond, another thread always wants the GIL, the threads start at a barrier and at different distances,
and each attempt has new code objects, because a call that is not specialised yet looks for the GIL where later ones do not. A
failure is a wrong classification. ``--pairs`` adds those of ``tests/quality/pairs`` that the answers of
``fuzz_pairs.py --out`` call GIL-MASKED. ``--controls`` runs those called BREAKS-TODAY instead, which shows what these
runs can show.
Exits with 1 if one failed, other than a control.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.quality.corpus import CASES, containers, lazy, sctbench, started, updates, waiting
from tests.quality.pairs import declare

JOIN = 2.0  # seconds, after which a thread counts as stuck
WANTERS = 1


def corpus(kind: str) -> list[tuple[str, Any]]:
    """(name, function that makes the program from new code) of the cases of a kind."""
    out = []
    for module in (sctbench, updates, containers, lazy, waiting, started):
        for index, case in enumerate(module.CASES):
            if case.kind == kind:
                out.append((case.name, lambda module=module, index=index: importlib.reload(module).CASES[index].buggy))
    assert CASES
    return out


def pairs(answers: str, kind: str) -> list[tuple[str, Any]]:
    called = set()
    for line in Path(answers).read_text().splitlines():
        answer = json.loads(line)
        if answer["twin"] == "buggy" and answer["answer"].get("kind") == kind:
            called.add(answer["pair"])
    out = []
    for pair in declare.load():
        if pair.name in called and pair.kind != "time":
            module = f"tests.quality.pairs.{Path(pair.file).stem}"
            out.append((pair.name, lambda name=pair.name, module=module: renewed(name, module)))
    return out


def renewed(name: str, module: str) -> Any:
    declare.PAIRS.clear()
    importlib.reload(sys.modules[module])
    return next(pair for pair in declare.PAIRS if pair.name == name).buggy


def attempt(program: Any, draw: random.Random) -> str:
    """What broke, or nothing."""
    state = program.setup() if program.setup is not None else None
    barrier, errors = threading.Barrier(len(program.threads)), []
    distances = [draw.randrange(draw.choice((1, 10, 100, 1000))) for _ in program.threads]

    def body(thread: Any, distance: int) -> None:
        barrier.wait()
        for _ in range(distance):
            pass
        try:
            thread(state) if program.setup is not None else thread()
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    running = [threading.Thread(target=body, args=pair, daemon=True) for pair in zip(program.threads, distances, strict=True)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(JOIN)
    if any(thread.is_alive() for thread in running):
        return "stuck"
    if errors:
        return errors[0]
    if program.invariant is None:
        return ""
    return "the invariant" if (program.invariant(state) if program.setup is not None else program.invariant()) is False else ""


def alone(program: Any) -> set[str]:
    """What the threads raise one after the other, which is no failure."""
    state = program.setup() if program.setup is not None else None
    raised: set[str] = set()

    def body(thread: Any) -> None:
        try:
            thread(state) if program.setup is not None else thread()
        except Exception as error:
            raised.add(f"{type(error).__name__}: {error}")

    for thread in program.threads:
        one = threading.Thread(target=body, args=(thread,), daemon=True)
        one.start()
        one.join(0.2)
    return raised


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each program (default: 3)")
    parser.add_argument("--pairs", help="a file of answers")
    parser.add_argument("--only", default="")
    parser.add_argument("--controls", action="store_true")
    given = parser.parse_args()
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        print("this interpreter has no GIL")
        return 2
    kind = "BREAKS-TODAY" if given.controls else "GIL-MASKED"
    programs = [each for each in corpus(kind) + (pairs(given.pairs, kind) if given.pairs else []) if given.only in each[0]]
    sys.setswitchinterval(1e-6)
    over = False

    def want() -> None:
        while not over:
            for _ in range(50):
                pass

    for _ in range(WANTERS):
        threading.Thread(target=want, daemon=True).start()
    draw, failed, total = random.Random(1), [], 0
    threading.excepthook = lambda info: None
    for name, make in programs:
        expected = alone(make())
        attempts, broken, end = 0, "", time.monotonic() + given.seconds
        while time.monotonic() < end and not broken:
            broken = attempt(make(), draw)
            broken = "" if broken in expected else broken
            attempts += 1
        total += attempts
        if broken:
            failed.append(name)
            print(f"{name}: {broken}, in attempt {attempts:,}", flush=True)
    over = True
    print(f"{len(programs)} programs called {kind}, {total:,} attempts of {given.seconds:g} s each: {len(failed)} failed")
    return 1 if failed and not given.controls else 0


if __name__ == "__main__":
    sys.exit(main())
