"""Shows the truth of tests/quality/pairs without the engine: real threads, delayed at bytecodes.

    python benchmarks/fuzz_pairs_truth.py [--only NAME] [--jobs 10]

One thread sleeps before its k-th bytecode while the others run, for each thread and k; then random delays, two or three at a time.
A buggy program must break at least once, and its fixed twin never, in at least as many attempts. An exception counts unless every
order of the threads without any delay raises its type, and one of them the same message. It needs opcode events of `sys.settrace`
(not CPython 3.12).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

RANDOM_ATTEMPTS = 250
SECONDS = 60  # for one program
STUCK = 2.5


def plain(error):
    return f"{type(error).__name__}: {re.sub(r'0x[0-9a-f]+|[0-9]+', 'N', str(error))}"


class Attempt:
    """One run with delays: {(thread, bytecode): seconds}."""

    def __init__(self, program, files, delays):
        self.program, self.files, self.delays = program, files, delays
        self.errors, self.counts, self.places = [], {}, {}
        self.lock, self.next_index = threading.Lock(), itertools.count(len(program.threads))

    def tracer(self, index):
        def local(frame, event, argument):
            if event == "opcode":
                self.counts[index] = count = self.counts.get(index, 0) + 1
                self.places.setdefault((index, frame.f_code, frame.f_lasti), [count])[1:] = [count]
                if (seconds := self.delays.get((index, count))) is not None:
                    self.reached.set()
                    time.sleep(seconds)
            return local

        def enter(frame, event, argument):
            if frame.f_code.co_filename not in self.files:
                return None
            frame.f_trace_opcodes = True
            return local

        return enter

    def started(self, frame, event, argument):
        with self.lock:
            index = next(self.next_index)
        trace = self.tracer(index)
        sys.settrace(trace)
        return trace(frame, event, argument)

    def body(self, index):
        sys.settrace(self.tracer(index))
        try:
            self.program.threads[index](self.state)
        except BaseException as error:
            self.errors.append(plain(error))
        finally:
            sys.settrace(None)
            self.reached.set()

    def run(self, order, expected=frozenset(), apart=0.0):
        """What broke, or None."""
        self.reached = threading.Event()
        threading.excepthook = lambda info: self.errors.append(plain(info.exc_value))
        sys.unraisablehook = lambda info: self.errors.append(plain(info.exc_value))
        sys.settrace(self.tracer(-1))
        self.state = self.program.setup()
        sys.settrace(None)
        threading.settrace(self.started)
        before = set(threading.enumerate())
        running = []
        for position, index in enumerate(order):
            thread = threading.Thread(target=self.body, args=(index,), daemon=True)
            thread.run = type(thread).run.__get__(thread)
            running.append(thread)
            thread.start()
            if apart:
                thread.join(apart)
            elif not position and self.delays:
                self.reached.wait(0.5)
        end = time.monotonic() + STUCK + sum(self.delays.values())
        for thread in running:
            thread.join(max(0, end - time.monotonic()))
        threading.settrace(None)
        if any(thread.is_alive() for thread in running):
            return "stuck"
        for thread in set(threading.enumerate()) - before:
            thread.join(1)
        if errors := [error for error in self.errors if error not in expected]:
            return errors[0]
        if self.program.invariant is not None:
            sys.settrace(self.tracer(-1))  # 3.13 loses opcode events of code that has run without a trace function
            try:
                if self.program.invariant(self.state) is False:
                    return "invariant"
            except Exception as error:
                return f"invariant raised {error!r}"
            finally:
                sys.settrace(None)
        return None


def examine(pair, side, attempts_wanted):
    """(what broke first or None, with which delays, attempts)."""
    program = getattr(pair, side)
    files = {pair.file, *(importlib.import_module(name).__file__ for name in pair.also)}
    raised, counts, total, seen = [], {}, len(program.threads), {}
    for order in itertools.permutations(range(total)):
        attempt = Attempt(program, files, {})
        broken = attempt.run(order, apart=0.01 if pair.kind == "time" else 0.2)
        if broken == "invariant" or broken == "stuck" or (broken or "").startswith("invariant"):
            return broken, f"order {order}", 1
        raised.append(set(attempt.errors))
        seen |= attempt.places
        for index, count in attempt.counts.items():
            counts[index] = max(count, counts.get(index, 0))
    always = set.intersection(*({error.partition(":")[0] for error in errors} for errors in raised))
    expected = {error for errors in raised for error in errors if error.partition(":")[0] in always}
    delay = 0.08 if pair.kind == "time" else 0.04
    generator = random.Random(1)
    places = []
    counts.pop(-1, None)
    for index, count in counts.items():
        bytecodes = list(range(1, count + 4))
        if len(bytecodes) > 240:  # the first and the last time of each bytecode, and some others
            ends = {count for (where, *_), both in seen.items() if where == index for count in both}
            bytecodes = [*ends, *generator.sample(bytecodes, 40)]
        places += [(index, bytecode) for bytecode in bytecodes]
    generator.shuffle(places)
    begun, attempts = time.monotonic(), 0
    plans = [{place: delay} for place in places]
    for _ in range(RANDOM_ATTEMPTS if places else 0):
        chosen = generator.sample(places, min(len(places), generator.choice((2, 3))))
        if generator.random() < 0.6:
            chosen = [generator.choice([place for place in places if place[0] == index]) for index in counts]
        plans.append({place: generator.choice((delay, delay / 2)) for place in chosen})
    for plan in plans:
        if time.monotonic() - begun > SECONDS and attempts >= attempts_wanted:
            break
        attempts += 1
        index = min(plan)[0]
        first = [index] if index < total and generator.random() < 0.8 else []
        rest = [other for other in range(total) if other not in first]
        generator.shuffle(rest)
        broken = Attempt(program, files, plan).run(first + rest, expected)
        if broken:
            return broken, str(plan), attempts
    return None, "", attempts


def child(name, side, attempts):
    from tests.quality.pairs.declare import load

    pair = next(pair for pair in load() if pair.name == name)
    if pair.requires:
        importlib.import_module(pair.requires)
    print(json.dumps(examine(pair, side, attempts)), flush=True)
    import os

    os._exit(0)


def judged(pair):
    def ask(side, attempts):
        command = [sys.executable, __file__, "--child", pair.name, side, str(attempts)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=400)
        return json.loads(done.stdout.splitlines()[-1]) if done.stdout else ["no answer: " + done.stderr[-300:], "", 0]

    return pair, ask("buggy", 0), ask("fixed", 0)


def main():
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=10)
    options = parser.parse_args()
    from tests.quality.pairs.declare import load

    pairs = [pair for pair in load() if not options.only or any(one in pair.name for one in options.only.split(","))]
    bad = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for pair, buggy, fixed in pool.map(judged, pairs):
            good = buggy[0] and not buggy[0].startswith("no answer") and fixed[0] is None
            if not good:
                bad.append(pair.name)
            print(f"{'' if good else 'UNSHOWN '}{pair.kind:8} {pair.name:30} breaks: {buggy} fixed: {fixed}", flush=True)
    print(f"{len(pairs)} pairs, {len(pairs) - len(bad)} shown; not shown: {', '.join(bad) or 'none'}")


if __name__ == "__main__":
    main()
