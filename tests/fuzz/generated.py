"""Small concurrent programs, drawn by hypothesis: what the soundness of the step rule is tried with.

A program is a state, and two or three threads of a few statements each. The statements come from topics (containers, formatting,
operators, names that are rebound, locks, calls into C, the ends of objects, ...); a program takes few topics, so that its threads
touch the same things. Each thread first takes references to the shared objects into its locals, so that a statement may read an
object by one instruction alone.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass
from itertools import count
from textwrap import indent
from types import CodeType
from typing import Any

from hypothesis import strategies as st

_PRELUDE = '''
class Named:
    """An object whose text is made of shared state, by code under test."""

    def __init__(self, rows):
        self.rows = rows

    def __str__(self):
        return "+".join(map(str, self.rows))

    def __format__(self, spec):
        return f"<{len(self.rows)}{spec}>"

    def __add__(self, other):
        return self.rows + other.rows

    def __eq__(self, other):
        return self.rows == other.rows

    def __bool__(self):
        return bool(self.rows)

    def __enter__(self):
        return self.rows

    def __exit__(self, *error):
        return None

    __hash__ = None


class State:
    kind = 0

    def __init__(self):
        self.n = 0
        self.m = 0
        self.items = [1, 2]
        self.others = [3]
        self.keys = {"a": 1}
        self.found = {1}
        self.line = bytearray(b"ab")
        self.waiting = collections.deque([1, 2])
        self.named = Named(self.items)
        self.lock = threading.Lock()
        self.ready = threading.Condition()
        self.numbers = numbers(self.items)
        self.limit = 3

    def bump(self):
        self.n += 1

    def total(self):
        return self.n + self.m

    def action(self):
        return 1

    @property
    def size(self):
        return len(self.items)


def numbers(items):
    for item in items:
        yield item


def helper(items):
    return items[-1] if items else None


def first(*arguments):
    return arguments[:1]


level = 0
'''

_TAKEN = ("items", "others", "keys", "found", "line", "waiting", "named")  # references to these are taken first

_MARKS = (
    "s.n = 1",
    "s.n += 1",
    "s.n += 1",
    "s.m = 2",
    "x = s.n",
    "x = s.n",
    "x = (s.n, s.m)",
    "if s.n:\n    s.m += 5",
    "s.bump()",
    "y = s.total()",
)
TOPICS: dict[str, tuple[str, ...]] = {
    "lists": (
        "items.append(9)", "items.pop()", "items[0] = 7", "items += [5]", "items.clear()", "items[:] = [4, 4]", "del items[0]",
        "y = items + others", "y = items * 2", "y = items[0]", "y = items[:]", "y = len(items)", "y = items == [1, 2]",
        "y = items < others", "y = 9 in items", "y = list(items)", "y, *z = items", "y = [*items]",
        "y = [each + 1 for each in items]", "y = not items", "y = 1 if items else 2", "y = items and 1", "y = sorted(items)",
        "y = sum(items)", "y = tuple(items)", "y = first(*items)",
        "for each in range(1):\n    y = each\nfor each in items:\n    z = each", "others.extend(items)", "y = items.copy()",
        "y = str(items)", "y = max(items)", "y = {*items}", "others += items", "y = helper(items)", "a, b = items\ny = a",
        "y = items is others",
    ),
    "dictionaries": (
        "keys['b'] = 2", "keys.pop('a', None)", "keys['a'] += 1", "del keys['a']", "keys.update(c=3)", "keys |= {'d': 4}",
        "y = keys['a']", "y = keys.get('a')", "y = 'b' in keys", "y = {**keys}", "y = keys | {'z': 0}", "y = dict(keys)",
        "y = list(keys)", "y = sorted(keys)", "y = [k for k in keys]", "y = list(keys.items())", "y = keys == {'a': 1}",
        "y = bool(keys)", "keys.setdefault('e', []).append(1)", "if 'a' in keys:\n    y = keys['a']",
        "y = {k: v for k, v in keys.items()}", "y = first(**{}) or keys.copy()", "y = len(keys)",
        "match keys:\n    case {'a': y}:\n        pass\n    case {'b': y}:\n        pass", "y = json.dumps(keys)",
        "y = f'{keys}'",
    ),
    "formatting": (
        "items.append(9)", "items.clear()", "keys['b'] = 2", "named.rows = [8]", "y = f'{items}'", "y = f'{items!r:>12}'",
        "y = f'{named}'", "y = f'{named:>3}'", "y = f'{named!s}'", "y = '%s' % items", "y = '%s' % (items,)",
        "y = '{}'.format(items)", "y = str(named)", "y = repr(items)", "y = f'{len(items)} {s.n}'", "y = format(named)",
        "y = ','.join(map(str, items))", "y = f'{s.size}'", "print('text', items, file=out)\ny = out.getvalue()",
        "y = f'{keys}' + f'{items}'", "y = json.dumps(items)", "y = str(keys)",
    ),
    "operators": (
        "items.append(9)", "items.clear()", "found.add(2)", "found.discard(1)", "line.extend(b'c')", "line[0] = 65",
        "named.rows = [8]", "y = items + [0]", "y = others * len(items)", "y = found | {5}", "y = found & {1}",
        "y = found - {1}", "y = line + b'!'", "y = line * 2", "y = line[0]", "y = line == b'ab'", "y = line % ()",
        "y = bytes(line)", "y = named + named", "y = named == named", "y = not named", "y = (3 if named else 4)",
        "y = [0] < items", "y = items != others", "y = 1 in found", "y = found <= {1, 2}", "y = -s.n", "y = ~s.n",
        "y = s.n + s.m", "y = s.n < s.m", "found |= {7}", "y = line[:1]", "y = line.startswith(b'ab')",
        "y = (items, others) == ([1, 2], [3])", "y = {tuple(items): 1}", "y = [items] == [[1, 2]]", "y = len(items) + 1",
        "y = (1, items)[s.n % 2]", "del line[:1]", "y = +s.n",
    ),
    "names": (
        "s.kind = 1", "State.kind = 2", "s.limit = 4", "s.__init__()", "rebound()", "raised()", "y = level", "y = s.kind",
        "y = State.kind", "y = s.limit", "y = s.items", "y = s.action()", "y = s.total()", "y = answer(s)", "y = s.n < s.limit",
        "y = level + 1", "for each in range(s.limit):\n    z = each", "if s.limit > 3:\n    y = 0", "y = s.others",
        "y = [s.limit, level]", "y = f'{level}'",
    ),
    "dynamic": (
        "setattr(s, 'limit', 5)", "vars(s)['limit'] = 6", "s.__dict__.update(limit=7)", "globals()['level'] = 8",
        "s.action = other_action", "State.action = other_action", "exec('global level; level = 9')", "delattr(s, 'limit')",
        "object.__setattr__(s, 'limit', 9)", "y = level", "y = s.limit", "y = s.action()", "y = getattr(s, 'limit', None)",
        "y = answer(s)", "globals()['answer'] = other_answer",
        "with mock.patch.object(State, 'action', other_action):\n    x = s.n", "y = eval('level')", "del s.limit",
        "y = hasattr(s, 'limit')",
    ),
    "cells": (
        "cell_set(4)", "cell_set(5)", "y = cell_get()", "y = cell_get() + 1", "y = cell_twice()", "z = cell_get()",
        "y = f'{cell_get()}'", "step = 1\ny = [each + step for each in items]",
        "step = 2\ny = sorted(items, key=lambda each: each * step)",
    ),
    "locks": (
        "with s.lock:\n    s.n += 1", "with s.lock:\n    y = items + others", "with s.lock:\n    items.append(9)",
        "s.lock.acquire()\ns.lock.release()", "y = s.lock.locked()", "with s.ready:\n    s.m += 1\n    s.ready.notify()",
        "with s.ready:\n    while not s.m:\n        s.ready.wait()",
        "if s.lock.acquire(False):\n    s.m += 1\n    s.lock.release()", "with named as y:\n    z = len(y)", "items.append(9)",
        "y = f'{items}'",
    ),
    "into C": (
        "items.append(9)", "items.sort(reverse=True)", "keys['b'] = 2", "waiting.append(3)", "waiting.rotate()",
        "y = waiting.popleft()", "y = list(waiting)", "y = json.dumps([items, keys])", "y = copy.copy(items)",
        "y = copy.deepcopy(keys)", "y = pickle.dumps(items)", "y = list(map(str, items))", "y = list(zip(items, others))",
        "y = list(enumerate(items))", "y = functools.reduce(operator.add, items)", "y = operator.itemgetter(0)(items)",
        "y = operator.attrgetter('n')(s)", "y = functools.partial(sum, items)()", "y = ','.join(map(str, items))",
        "y = pow(2, len(items))", "y = int(len(items))", "y = isinstance(s, State)", "y = Tuple(items)", "y = Listed(items)",
        "y = min(items, default=0)", "y = any(items)", "y = list(reversed(items))", "y = list(itertools.chain(items, others))",
        "y = divmod(7, len(items) or 1)", "y = bytes(items)", "y = set(items)", "y = dict.fromkeys(items)",
        "y = type(s).__name__", "y = str(b'ab', 'ascii') + str(items)",
    ),
    "iterators": (
        "y = next(s.numbers, None)", "z = next(s.numbers, None)", "for y in s.numbers:\n    break", "y = list(s.numbers)",
        "items.append(9)", "y = [a for a in items for _ in range(2)]", "for index in range(len(items)):\n    y = items[index]",
        "y = next(iter(items), None)", "it = iter(items)\ny = next(it, None)\nz = next(it, None)", "y = [*zip(items, items)]",
        "s.numbers.close()", "y = sum(n for n in items)", "for a, b in [(items, others)]:\n    y = a + b",
        "for each in (items, others):\n    y = len(each)", "y = dict(zip('ab', items))",
    ),
    "classes": (
        "match items:\n    case [y, *_]:\n        pass\n    case _:\n        y = 0",
        "match named:\n    case Named(rows=y):\n        pass", "items.append(9)", "items.clear()", "named.rows = others",
        "y = Sub().chain(items)", "y = named.rows", "y = s.size", "y = described(named)", "raise_it(items)",
        "try:\n    raise_it(items)\nexcept ValueError as error:\n    y = str(error)",
        "y = isinstance(items, collections.abc.Sized)", "class Local:\n    rows = items[:]\ny = Local.rows",
        "import generated_module as module\ny = module.value", "change_module()", "from generated_module import value as y",
        "y = (lambda rows=items: len(rows))()", "y = Sub.made(items)",
    ),
    "ends": (
        "y = ref() is None", "y = ref() is None\nz = s.n", "s.held = None", "kept = ref()\ns.n += 1\nkept = None",
        "kept = ref()\ns.m = 3", "y = len(cache)", "y = cache.get('a') is None", "y = list(s.ended)", "del s.held",
        "s.held = Ending(s)", "kept = cache.get('a')\nx = s.n", "s.ended.append(0)", "temporary = Ending(s)\ns.n = 4",
        "y = [ref() is None, s.n, ref() is None]", "kept = plain()\ns.n += 1\nkept = None", "y = plain() is None",
        "s.plain = None", "y = [plain() is None, s.n]",
    ),
}  # fmt: skip

_OF_TOPIC = {
    "names": """
def rebound():
    global level
    level = 1

def raised():
    global level
    level += 2

def answer(s):
    return s.limit
""",
    "dynamic": """
def other_action(self=None):
    return 2

def answer(s):
    return s.limit

def other_answer(s):
    return -1
""",
    "cells": """
def cells():
    cell = 1
    def cell_set(value):
        nonlocal cell
        cell = value
    def cell_get():
        return cell
    def cell_twice():
        return cell, cell
    return cell_set, cell_get, cell_twice
""",
    "into C": """
class Tuple(tuple):
    pass

class Listed(list):
    def total(self):
        return sum(self)
""",
    "classes": """
class Base:
    def chain(self, items):
        return items[-1:]
    @classmethod
    def made(cls, items):
        return [cls.__name__, *items]

class Sub(Base):
    def chain(self, items):
        return super().chain(items) + super().chain(items)

def raise_it(items):
    raise ValueError(items)

def described(named):
    return f"{named!s:>6}"

def change_module():
    import generated_module
    generated_module.value += 1
""",
    "ends": """
class Plain:
    pass

class Ending:
    def __init__(self, s):
        self.ended = s.ended
    def __del__(self):
        self.ended.append(len(self.ended))
""",
}
_IMPORTS = (
    "abc", "collections", "copy", "functools", "io", "itertools", "json", "operator", "pickle", "threading", "mock", "weakref",
)  # fmt: skip
_READS = re.compile(
    r"[yz](, \*z)? = |for y |if .*:\n    y = |match |with named|a, b = "
)  # what a statement begins with that changes nothing
_OBJECT = re.compile(
    r"items|others|keys|found|line|waiting|named|numbers|limit|level|action|answer|kind|lock|ref|cache|held|ended|cell|module"
)
_names = count()


@dataclass(frozen=True)
class Drawn:
    """A drawn program: its topics, and the statements of each thread."""

    topics: tuple[str, ...]
    threads: tuple[tuple[str, ...], ...]

    @property
    def source(self) -> str:
        """The source of the program: ``setup()``, ``observe(state)`` and the functions ``t0``, ``t1``, ..."""
        text = "\n".join(_OF_TOPIC.get(topic, "") for topic in self.topics)
        body = "\n".join(statement for thread in self.threads for statement in thread)
        imports = [f"import {name}" for name in _IMPORTS if name != "mock" and name in body]
        imports += ["import collections", "import threading", "import collections.abc", "import io\nout = io.StringIO()"]
        imports += ["from unittest import mock"] if "mock" in body else []
        made, seen = ["s = State()", "global level, out", "level = 0", "out = io.StringIO()"], ""
        if "dynamic" in self.topics:
            made += ["global answer", "answer = first_answer", "State.action = first_action", "State.kind = 0"]
            text += "\nfirst_answer, first_action = answer, State.action\n"
        if "names" in self.topics:
            made.append("State.kind = 0")
        if "cells" in self.topics:
            made += ["global cell_set, cell_get, cell_twice", "cell_set, cell_get, cell_twice = cells()"]
            seen = ", cell_get()"
        if "classes" in self.topics:
            made += ["import generated_module", "generated_module.value = 0"]
        if "ends" in self.topics:
            imports.append("import weakref")
            made += ["global ref, cache", "s.ended = []", "s.held = Ending(s)", "ref = weakref.ref(s.held)"]
            made += [
                "cache = weakref.WeakValueDictionary(a=s.held)",
                "global plain",
                "s.plain = Plain()",
                "plain = weakref.ref(s.plain)",
            ]
            seen += ", list(s.ended)"
        observed = (
            "(s.n, s.m, s.items, s.others, s.keys, sorted(s.found), bytes(s.line), list(s.waiting), s.named.rows, level, "
            f"getattr(s, 'limit', None), s.kind, State.kind, s.lock.locked(){seen})"
        )
        parts = [*dict.fromkeys(imports), _PRELUDE, text, f"def setup():\n{indent(chr(10).join([*made, 'return s']), '    ')}"]
        for index, statements in enumerate(self.threads):
            words = set(re.findall(r"\w+", " ".join(statements)))
            taken = [f"{name} = s.{name}" for name in _TAKEN if name in words]
            returned = [name for name in "xyz" if name in words]
            taken += [f"{' = '.join(returned)} = None"] if returned else []
            lines = "\n".join([*taken, *statements, f"return {', '.join(returned)}"])
            parts.append(f"def t{index}(s):\n{indent(lines, '    ')}")
        parts.append(f"def observe(s):\n    return repr({observed})")
        return "\n\n".join(parts) + "\n"

    def load(self) -> dict[str, Any]:
        """The names of the program, as a module that is code under test."""
        file = f"/generated/program{next(_names)}.py"
        source = self.source
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        names: dict[str, Any] = {"__name__": "generated"}
        code: CodeType = compile(source, file, "exec", dont_inherit=True)
        exec(code, names)
        return names


@st.composite
def programs(draw: st.DrawFn, topics: tuple[str, ...] = tuple(TOPICS)) -> Drawn:
    """Programs of two or three threads with one to five statements each.

    Most have a pair of threads made to meet: one marks the moment and then reads an object, the other looks for the mark and then
    changes the same object. So an outcome tells whether a switch came right before the reading. The other statements are any.
    """
    chosen = tuple(draw(st.lists(st.sampled_from(topics), min_size=1, max_size=2, unique=True)))
    pool = [statement for topic in chosen for statement in TOPICS[topic]]
    threads: list[list[str]] = [[], []]
    if draw(st.integers(0, 3)):
        reading = draw(st.sampled_from([statement for statement in pool if _READS.match(statement)]))
        changing = [statement for statement in pool if not _READS.match(statement)]
        same = [statement for statement in changing if set(_OBJECT.findall(statement)) & set(_OBJECT.findall(reading))]
        threads[0] += [draw(st.sampled_from(("s.n += 1", "s.n = 1", "s.m = 2\ns.n = 1"))), reading]
        threads[1] += ["x = s.n", draw(st.sampled_from(same or changing))]
    else:
        threads += [[]] * (draw(st.integers(0, 3)) == 0)
    for index, thread in enumerate(threads):
        for _ in range(draw(st.integers(not thread, 1 if index else 2))):
            mark = draw(st.sampled_from((*_MARKS, "")))
            added = [mark] * bool(mark) + [draw(st.sampled_from(pool))]
            threads[index] = [*added, *threads[index]] if draw(st.booleans()) else [*threads[index], *added]
    return Drawn(chosen, tuple(tuple(thread) for thread in threads))
