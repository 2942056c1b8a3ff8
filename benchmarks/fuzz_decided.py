"""How many reports of `gilcheck.fuzz` name the pair of accesses that the fix of the bug changes?

Of each buggy program of ``tests/quality/corpus`` and ``tests/quality/pairs`` the fixed twin is known, and so are the lines that the
fix changes:

- lines of a function that its twin replaces, leaves out, or indents otherwise: all that the fix puts under a ``with self.lock:``;
- the block of such a line, if it is a ``with``, an ``if`` or a ``while``;
- all lines of a method that the fixed one calls by ``super()``, in most of them under a lock;
- the two lines around a statement that the fix inserts, except into an ``__init__``.

A program of which the fix changes no such line (a class attribute, a time) does not count.

A report *names* the fix if one of the two accesses of its "decided by" is in such a line. It *lists* the fix if it says that no
pair alone decides, and one of those that it lists is. Else it names *another pair*, lists others, or names *none*: it is a
deadlock, or what decides is not known.

    python benchmarks/fuzz_decided.py --python python3.13 --python python3.13t --schedules 400
    python benchmarks/fuzz_decided.py --source OTHER_CHECKOUT --out before.json   # the programs of here, the package of there

``--out`` keeps what each report said. Exits with 1 if a report is worse than that of ``--before``, an earlier ``--out``.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import difflib
import functools
import inspect
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

SAID = ("named", "listed", "none", "listed others", "another pair", "not found")  # best first
MOST_SECONDS = 60.0  # for a program
PLACE = re.compile(r" at (?P<file>/\S+):(?P<line>\d+) \(")
Line = tuple[str, int]


def twins() -> dict[str, tuple[Any, Any]]:
    """The buggy and the fixed program, by name."""
    from tests.quality.corpus import CASES
    from tests.quality.pairs.declare import load

    found: dict[str, tuple[Any, Any]] = {f"corpus:{case.name}": (case.buggy, case.fixed) for case in CASES}
    return found | {f"pairs:{pair.name}": (pair.buggy, pair.fixed) for pair in load() if pair.requires is None}


def changed(buggy: Any, fixed: Any) -> set[Line]:
    """The lines of a buggy program that its fix changes."""
    found: set[Line] = set()
    for one, other in _counterparts(buggy.setup, fixed.setup):
        found |= _changed_in(one, other)
    for one, other in zip(buggy.threads, fixed.threads, strict=False):
        if one is not other:
            found |= _changed_in(one, other)
    return found


def _counterparts(buggy: Any, fixed: Any) -> Iterator[tuple[Any, Any]]:
    """The functions of two classes that have the same name and are not the same, also of what their descriptors are made of."""
    if not (isinstance(buggy, type) and isinstance(fixed, type)):
        yield buggy, fixed
        return
    for name in {name: None for kind in buggy.__mro__[:-1] for name in vars(kind)}:
        one, other = (_function(inspect.getattr_static(kind, name, None)) for kind in (buggy, fixed))
        if inspect.isfunction(one) and one is not other:
            yield one, other
        elif type(one) is not type(other) and type(one).__module__.startswith("tests.") and isinstance(other, type(one)):
            yield from _counterparts(type(one), type(other))


def _function(thing: Any) -> Any:
    for name in ("__wrapped__", "__func__", "func", "fget"):
        if not inspect.isfunction(thing) and inspect.isfunction(inner := getattr(thing, name, None)):
            return inner
    return thing


def _changed_in(one: Any, other: Any) -> set[Line]:
    one = inspect.unwrap(one)
    file, (old, first) = inspect.getsourcefile(one) or "", _lines(one)
    new = _lines(other)[0] if inspect.isfunction(other) or isinstance(other, type) else []
    if not new or any(f"super().{one.__name__}(" in line for line in new):
        return {(file, first + index) for index in range(len(old))}
    return {(file, first + index) for index in _differing(old, new)}


def _lines(thing: Any) -> tuple[list[str], int]:
    lines, first = inspect.getsourcelines(thing)
    return textwrap.dedent("".join(lines)).splitlines(), first


def _differing(old: list[str], new: list[str]) -> Iterator[int]:
    for kind, start, end, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind in ("replace", "delete"):
            yield from range(start, end)
            for head in range(max(start, 1), end):
                yield from _inside(old, head)
        elif kind == "insert" and "def __init__" not in old[0]:
            yield from (index for index in (start - 1, start) if 0 < index < len(old))


def _inside(lines: list[str], head: int) -> Iterator[int]:
    """The block of a line, such as ``with`` or ``while``; none of another line."""

    def indent(line: str) -> int:
        return len(line) - len(line.lstrip())

    if lines[head].rstrip().endswith(":"):
        for index in range(head + 1, len(lines)):
            if lines[index].strip() and indent(lines[index]) <= indent(lines[head]):
                return
            yield index


def said(story: str, lines: set[Line]) -> str:
    """What a report says of these lines, as one of `SAID`."""
    if "decided by  " not in story:
        return "none"
    told = story[story.index("decided by  ") :].splitlines()
    if told[0].startswith("decided by  no pair"):
        return "listed" if _places(told) & lines else "listed others"
    return "named" if _places(told[:2]) & lines else "another pair"


def _places(lines: list[str]) -> set[Line]:
    return {(found["file"], int(found["line"])) for line in lines for found in PLACE.finditer(line)}


def ask(name: str, schedules: int) -> dict[str, Any]:
    """Of one program, in this process."""
    from pytest_gilcheck import gilcheck

    buggy, fixed = twins()[name]
    result = gilcheck.fuzz(
        setup=buggy.setup, threads=buggy.threads, invariant=buggy.invariant, schedules=schedules, budget=60, seed=1, preemptions=3
    )
    lines = changed(buggy, fixed)
    if str(result.verdict) != "violated":
        return {"said": "not found", "story": result.reason, "seconds": 0, "lines": sorted(lines)}
    return {
        "said": said(result.story, lines),
        "symptom": result.symptom,
        "story": result.story,
        "seconds": result.seconds,
        "runs": result.schedules,
        "lines": sorted(line for _, line in lines),
    }


def answers_of(names: Sequence[str], python: str, source: Path, schedules: int) -> dict[str, dict[str, Any]]:
    """Of these programs, one after the other in a process; in a new one after a program at which it ended."""
    left, answers = list(names), dict[str, dict[str, Any]]()
    while left:
        command = [python, __file__, "--one", ",".join(left), "--schedules", str(schedules)]
        environment = {**os.environ, "PYTHONPATH": str(source)}
        try:
            output = subprocess.run(command, capture_output=True, env=environment, timeout=MOST_SECONDS * len(left)).stdout
        except subprocess.TimeoutExpired as error:
            output = error.stdout or b""
        found = [json.loads(line) for line in output.decode().splitlines() if line.startswith("{") and line.endswith("}")]
        answers |= zip(left, found, strict=False)
        del left[: len(found)]
        if left:
            answers[left.pop(0)] = {"said": "not found", "story": "no answer", "seconds": 0}
    return answers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter with pytest-gilcheck (default: this one)")
    parser.add_argument("--schedules", type=int, default=400)
    parser.add_argument("--source", type=Path, default=ROOT, help="the checkout of the package (default: this one)")
    parser.add_argument("--only", default="", help="programs with this in their name")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        sys.path.insert(0, os.environ["PYTHONPATH"])
        for name in given.one.split(","):
            print(json.dumps(ask(name, given.schedules)), flush=True)
        return 0
    names = [name for name, (buggy, fixed) in twins().items() if given.only in name and changed(buggy, fixed)]
    answers: dict[str, dict[str, Any]] = {}
    print(f"| interpreter | programs | {' | '.join(SAID)} |\n| --- |{' --- |' * (len(SAID) + 1)}")
    for python in given.python or [sys.executable]:
        version = Path(python).parent.parent.name if os.sep in python else python
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            run = functools.partial(answers_of, python=python, source=given.source.resolve(), schedules=given.schedules)
            parts = pool.map(run, [names[start :: given.jobs] for start in range(given.jobs)])
            found = {name: answer for part in parts for name, answer in part.items()}
        answers[version] = {name: found[name] for name in names}
        for group in ("corpus", "pairs"):
            counts = collections.Counter(each["said"] for name, each in answers[version].items() if name.startswith(group))
            if counts:
                print(
                    f"| {version} | {group} {sum(counts.values())} | {' | '.join(str(counts[each]) for each in SAID)} |", flush=True
                )
    if given.out:
        given.out.write_text(json.dumps(answers, indent=1))
    worse = _worse(json.loads(given.before.read_text()), answers) if given.before else []
    print("\n".join(worse))
    return 1 if worse else 0


def _worse(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    found = []
    for version, answers in after.items():
        for name, answer in answers.items():
            old = before.get(version, {}).get(name, {}).get("said", answer["said"])
            if SAID.index(answer["said"]) > SAID.index(old):
                found.append(f"{version}, {name}: {old}, now {answer['said']}")
    return found


if __name__ == "__main__":
    sys.exit(main())
