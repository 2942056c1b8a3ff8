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

_TAKEN = (
    "rows",
    "loud",
    "registry",
    "counted",
    "latest",
    "uneven",
    "tags",
    "bag",
    "grouped",
    "table",
    "view",
    "point",
    "reckoned",
    "spread",
    "noted",
    "walked",
    "measured",
    "letters",
    "lazy",
    "heap",
    "recent",
    "stream",
    "draws",
    "digest",
    "failure",
    "by_class",
    "tally",
    "partly",
    "items",
    "others",
    "keys",
    "found",
    "line",
    "waiting",
    "named",
    "odd",
    "slotted",
    "frozen",
    "words",
    "counts",
    "groups",
    "ordered",
    "leaf",
    "listed",
    "broken",
)  # references to these are taken first; fmt: skip

_MARKS = (
    "s.n = 1",
    "s.n += 1",
    "s.n += 1",
    "s.m = 2",
    "x = s.n",
    "x = s.n",
    "x = (s.n, s.m)",
    "if s.n:\n    s.m += 5",
    "if not s.m:\n    s.n = 6",
    "if not s.n:\n    s.m = 6",
    "s.bump()",
    "y = s.total()",
)
TOPICS: dict[str, tuple[str, ...]] = {
    "decisions": (
        "if s.n == 0:\n    s.m = 5", "if s.m == 0:\n    s.n = 5", "if len(items) < 3:\n    others.append(3)",
        "if len(others) < 2:\n    items.append(3)", "if s.n == s.m:\n    items.clear()", "if items:\n    s.n = 5",
        "x = s.n\nif x == s.m:\n    s.m = x + 1", "x = s.m\nif x == s.n:\n    s.n = x + 1", "y = s.n if s.m else s.limit",
        "if others and not s.n:\n    items.append(8)", "if 'b' not in keys:\n    s.m = 4", "if not s.m:\n    keys['b'] = 1",
        "while s.n < 1 and s.m < 1:\n    s.m = 1", "with s.lock:\n    if s.n == 0:\n        s.m = 5", "y = items == others",
        "if sum(items) == 3:\n    s.n = 8", "if s.n:\n    items.append(1)", "if s.m:\n    others.clear()",
    ),
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
    "waiting": (
        "s.event.set()", "s.event.clear()", "y = s.event.is_set()", "s.event.wait()", "if s.event.is_set():\n    s.m += 1",
        "with s.few:\n    s.n += 1", "y = s.few.acquire(False)", "s.few.release()", "s.queue.put(1)", "s.queue.put(s.n)",
        "y = s.queue.get()", "y = s.queue.qsize()", "y = s.queue.empty()", "s.simple.put(s.n)", "y = s.simple.get()",
        "y = s.simple.empty()", "try:\n    y = s.queue.get_nowait()\nexcept queue.Empty:\n    y = 'empty'",
        "with s.ready:\n    s.m += 1\n    s.ready.notify_all()", "with s.ready:\n    s.ready.wait_for(lambda: s.m)",
    ),
    "re-entrant": (
        "with s.again:\n    s.n += 1", "with s.again:\n    with s.again:\n        s.bump()",
        "with s.again:\n    y = items + others",
        "with s.again:\n    items.append(9)", "if s.again.acquire(False):\n    s.m += 1\n    s.again.release()", "items.append(9)",
        "with s.lock:\n    with s.again:\n        items.pop()", "with s.again:\n    with s.lock:\n        y = len(items)",
        "s.again.acquire()\ntry:\n    items.append(8)\nfinally:\n    s.again.release()", "y = s.lock.locked()", "y = f'{items}'",
    ),
    "time": (
        "if s.lock.acquire(timeout=0.5):\n    s.m += 1\n    s.lock.release()", "with s.lock:\n    time.sleep(0.01)\n    s.n += 1",
        "y = s.event.wait(0.1)", "s.event.set()", "time.sleep(0.01)", "y = time.monotonic() > s.until",
        "y = s.queue.get(timeout=0.1)",
        "s.queue.put(1)", "with s.ready:\n    y = s.ready.wait(0.1)", "with s.ready:\n    s.ready.notify()", "s.until = 0",
        "if time.monotonic() > s.until:\n    s.m += 1", "y = s.m", "with s.lock:\n    s.m += 1",
    ),
    "threads": (
        "started = threading.Thread(target=s.bump)\nstarted.start()\nstarted.join()", "items.append(9)", "y = list(items)",
        "started = threading.Thread(target=items.append, args=(5,), daemon=True)\nstarted.start()", "s.own.value = s.n",
        "started = threading.Thread(target=s.bump)\nstarted.start()\nz = s.n\nstarted.join()", "s.own.value = 1\nz = s.own.value",
        "y = getattr(s.own, 'value', None)", "y = s.n", "y = threading.current_thread() is threading.main_thread()",
    ),
    "started": (
        "one = threading.Thread(target=s.bump)\none.start()\none.join()\ny = s.n", "s.one.start()", "s.one.start()\ny = s.n",
        "one = threading.Thread(target=s.bump)\none.start()\nz = s.n\none.join()", "s.one.join()", "s.one.join()\nz = s.m",
        "one = threading.Thread(target=marks, args=(s,))\none.start()\nif s.m:\n    s.n = 7\none.join()",
        "one, two = (threading.Thread(target=each) for each in (s.bump, s.bump))\none.start()\ntwo.start()\none.join()\ny = s.n",
        "one, two = (threading.Thread(target=each, args=(s,)) for each in (marks, looks))\none.start()\ntwo.start()\ntwo.join()",
        "one = threading.Thread(target=looks, args=(s,))\none.start()", "one = Working(s)\none.start()\nz = s.m\none.join()",
        "one = threading.Thread(target=s.bump, daemon=True)\none.start()\ns.m = 3\none.join()", "y = s.n", "s.m = 4",
        "one = threading.Thread(target=starts_another, args=(s,))\none.start()\none.join()\ny = s.n", "items.append(9)",
        "one = threading.Thread(target=puts, args=(s,))\none.start()\ny = s.queue.get()", "with s.lock:\n    s.n += 1",
        "one = threading.Thread(target=locked, args=(s,))\nwith s.lock:\n    one.start()\n    s.m = 1\none.join()\nz = s.m",
        "one = threading.Thread(target=locked, args=(s,))\none.start()\nwith s.lock:\n    y = s.n\none.join()", "s.ready_now.set()",
        "one = threading.Thread(target=waits, args=(s,))\none.start()\ns.n = 2\ns.ready_now.set()\none.join()\nz = s.m",
        "if s.n:\n    s.one.join()", "if not s.m:\n    s.one.start()", "y = list(items)",
    ),
    "exceptions": (
        "try:\n    y = items[2]\nexcept IndexError:\n    y = len(items)\nfinally:\n    s.m += 1", "items.append(9)",
        "items.clear()",
        "try:\n    fails(items)\nexcept ValueError as error:\n    y = error.args[0][:]", "y = s.error.args", "y = s.error.note",
        "s.error.args = (items[:],)", "s.error.note = s.n",
        "try:\n    raise s.error\nexcept KeyError as error:\n    z = str(error)",
        "try:\n    raise KeyError(s.n) from s.error\nexcept KeyError as error:\n    z = error.__cause__ is s.error, error.args",
        "try:\n    try:\n        fails(items)\n    finally:\n        s.n += 1\nexcept ValueError:\n    pass", "y = str(s.error)",
        "y = s.error.__traceback__ is None", "assert not items, items", "raise Broken(s)", "y = s.error.__context__ is None",
        "try:\n    raise Broken(s)\nexcept Broken as error:\n    z = str(error)", "with suppressed(s):\n    fails(items)",
        "y = f'{s.error!r}'", "s.error.add_note('more')", "y = len(getattr(s.error, '__notes__', ()))",
    ),
    "generators": (
        "y = s.counting.send(2)", "y = next(s.counting, None)", "s.counting.close()", "y = s.counting.gi_frame is None",
        "try:\n    s.counting.throw(KeyError)\nexcept KeyError:\n    s.m += 1", "y = list(both(items, others))",
        "for y in both(items, others):\n    s.m += 1", "y = sum(each for each in both(items, others))", "items.append(9)",
        "it = both(items, items)\ny = next(it, None)\nz = next(it, None)", "with managed(items) as y:\n    s.n += 1",
        "others.clear()", "y = [*map(str, both(items, others))]", "y = s.counting.gi_running",
        "y = dict(enumerate(both(items, others)))",
    ),
    "attributes": (
        "y = odd.missing", "odd.missing = 3", "odd.size = 4", "y = odd.size", "odd.size += 1", "Odd.unit += 1", "y = odd.unit",
        "odd.unit = 5", "y = odd.typed", "odd.typed = 6", "y = odd[0]", "odd[0] = 5", "y = 9 in odd", "y = len(odd)",
        "y = [*odd]", "for each in odd:\n    s.m += 1", "y = odd()", "y = odd < 3", "slotted.value = 2", "y = slotted.value",
        "del slotted.value", "y = hasattr(slotted, 'value')", "items.append(9)", "y = bool(odd)", "y = odd + 1", "del odd[0]",
        "slotted.value += 1", "y = 1 if odd else 2", "y = Odd.shared[:]", "Odd.shared.append(1)", "y = odd.named(1)",
        "y = frozen.rows", "frozen.rows.append(2)", "y = frozen == Frozen([1, 2])", "y = f'{frozen}'", "y = hash(odd)",
    ),
    "text": (
        "s.text += 'b'", "y = s.text", "y = s.text.upper()", "s.text = s.text + str(len(items))", "y = ''.join(words)",
        "words.append('c')", "words[0] = 'z'", "y = f'{s.text:>4}'", "y = s.text[0]", "for each in s.text:\n    z = each",
        "y = 'a' in s.text", "y = s.text.split('a')", "y = s.text == 'ab'", "y = ','.join(sorted(words))", "items.append(9)",
        "y = re.sub('a', 'x', s.text)", "y = s.text.encode()", "y = '%s-%s' % (s.text, words)", "y = s.text.replace('a', s.text)",
        "y = '{0} {1}'.format(s.text, words)", "y = s.text.join(words)", "y = s.text * len(words)",
        "y = ' '.join(str(n) for n in items)",
        "s.text = '|'.join(words)", "y = s.text.startswith(tuple(words))", "y = s.text < words[0]",
    ),
    "collections": (
        "counts[1] += 1", "y = counts[1]", "y = counts.most_common(1)", "counts.update(items)", "groups['a'].append(1)",
        "y = groups['b']", "y = groups.get('b')", "y = list(groups)", "ordered.move_to_end('a')", "ordered['z'] = 1",
        "y = list(ordered)", "y = ordered.popitem()", "found.update(items)", "y = found.pop()", "y = frozenset(found)",
        "y = list(keys.values())", "view = keys.items()\ny = len(view)", "view = keys.keys()\ny = 'b' in view", "keys['b'] = 2",
        "y = heapq.heappop(items)", "heapq.heappush(items, 0)", "bisect.insort(items, 1)", "y = bisect.bisect(items, 1)",
        "waiting.appendleft(0)", "y = waiting.pop()", "y = 3 in waiting", "y = waiting[0]", "waiting[0] = 8", "items.append(9)",
        "for each in found:\n    s.m += 1", "for each in keys:\n    s.m += 1", "for each in waiting:\n    s.m += 1",
        "items.insert(0, 3)",
        "y = counts == {1: 1}", "y = {**groups}", "items.reverse()", "items.remove(1)", "y = items.index(2)", "y = items.count(9)",
        "y = found.isdisjoint(items)", "found.add(3)", "found.remove(1)", "keys.popitem()", "keys.clear()", "y = len(counts)",
        "found.intersection_update(items)", "y = 'a' in groups", "y = max(keys, default=None)", "groups.pop('a', None)",
    ),
    "looked up": (
        "y = getattr(s, 'n')", "y = getattr(s, 'm', 7)", "y = getattr(leaf, 'size', None)", "y = getattr(leaf, 'rank', 0)",
        "y = hasattr(leaf, 'mark')", "leaf.mark = s.n", "del leaf.mark", "leaf.rank = 4", "Leaf.rank = 5",
        "y = leaf.__class__.rank",
        "Leaf.size += 1", "y = leaf.__class__ is Leaf", "leaf.__class__ = Sprig", "y = [each.__name__ for each in Leaf.__mro__]",
        "y = getattr(leaf, 'grown')", "y = hasattr(leaf, 'grown')", "y = getattr(leaf, 'wilted', 'no')", "leaf.rows = [7]",
        "y = getattr(Leaf, 'size', 0)", "y = Trunk.size", "Trunk.size += 1", "y = getattr(Trunk, 'size')", "y = first(*items)",
        "y = first(*(s.n, s.m))", "y = second(**keys)", "y = second(*items, **keys)", "y = {**keys, 'z': s.n}",
        "y = {**keys, **{'y': s.m}}", "keys['b'] = 2", "keys.clear()", "items.append(9)", "items.clear()", "y = max(*items, 0)",
        "s.bump(*())", "y = leaf.grow(*items)", "y = getattr(leaf, 'grow')(*items)", "y = listed.tag", "listed.tag = 4",
        "y = getattr(listed, 'tag', None)", "listed.append(s.n)", "y = broken.reason", "broken.reason = s.n",
        "y = hasattr(items, 'tag')", "y = getattr(3, 'real')", "y = type(leaf).rank",
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
_OF_TOPIC |= {
    "exceptions": """
import contextlib

class Broken(Exception):
    def __str__(self):
        return f"{self.args[0].n}"

def fails(items):
    raise ValueError(items)

@contextlib.contextmanager
def suppressed(s):
    try:
        yield
    except ValueError:
        s.n += 1
""",
    "generators": """
import contextlib

def counting(s):
    total = 0
    while True:
        total += (yield total) or s.n

def both(one, other):
    yield from one
    yield from other

@contextlib.contextmanager
def managed(items):
    items.append(0)
    try:
        yield items[0]
    finally:
        items.pop()
""",
    "attributes": """
import dataclasses

@dataclasses.dataclass(frozen=True)
class Frozen:
    rows: list

class Slotted:
    __slots__ = ("value",)

class Typed:
    def __get__(self, holder, kind):
        return holder.stored if holder else self
    def __set__(self, holder, value):
        holder.stored = value

class Odd:
    unit = 1
    shared = []
    typed = Typed()
    def __init__(self, rows):
        self.rows, self._size, self.stored = rows, 0, 0
    @property
    def size(self):
        return self._size
    @size.setter
    def size(self, value):
        self._size = value
    @classmethod
    def named(cls, value):
        return cls.unit + value
    def __getattr__(self, name):
        if name == "missing":
            return len(self.rows)
        raise AttributeError(name)
    def __getitem__(self, index):
        return self.rows[index]
    def __setitem__(self, index, value):
        self.rows[index] = value
    def __delitem__(self, index):
        del self.rows[index]
    def __contains__(self, value):
        return value in self.rows
    def __len__(self):
        return len(self.rows)
    def __iter__(self):
        return iter(self.rows)
    def __call__(self):
        return self._size
    def __lt__(self, value):
        return len(self.rows) < value
    def __add__(self, value):
        return sum(self.rows) + value
    def __hash__(self):
        return len(self.rows)
""",
}
_OF_TOPIC |= {
    "looked up": """
class Tree:
    size = 1

class Leaf(Tree):
    rank = 2
    def __init__(self, rows):
        self.rows, self.mark = rows, 0
    @property
    def grown(self):
        return len(self.rows)
    def grow(self, *more):
        return [*self.rows, *more]
    def __getattr__(self, name):
        if name == "wilted" and self.rows:
            return self.rows[-1]
        raise AttributeError(name)

class Sprig(Leaf):
    rank = 3

class Trunk(metaclass=abc.ABCMeta):
    size = 1

class Tagged(list):
    tag = 0

class Worn(Exception):
    reason = 0

def second(*rows, **more):
    return rows[1:2], sorted(more)
"""
}

TOPICS["known in C"] = (
    "heapq.heappush(heap, 0)", "heapq.heappop(heap)", "y = heapq.heappushpop(heap, 6)", "y = bisect.bisect_left(heap, 6)",
    "bisect.insort(heap, 6)", "heap.append(1)", "y = heap[0]", "recent.move_to_end('a')", "recent['d'] = 1",
    "y = next(reversed(recent))", "y = list(recent)", "recent.pop('b', None)", "stream.write('ab')", "y = stream.getvalue()",
    "stream.seek(0)", "y = draws.random()", "y = draws.getrandbits(8)", "digest.update(b'a')", "y = digest.hexdigest()",
    "y = str(failure)", "y = failure.args", "failure.args[0].append(2)", "failure.args = (3,)", "y = by_class.get(int)",
    "by_class[int] = 1", "by_class[State] = 2", "tally.update('ab')", "y = tally['a']", "tally['a'] = 7",
    "y = sum(each for each in heap)", "y = list(each for each in heap)", "y = any(each > 5 for each in heap)",
    "y = any(each for each in (heap, others))", "y = list(map(str, (heap, others)))",
    "y = ','.join(str(each) for each in heap)", "y = next(each for each in heap)", "y = list(map(str, heap))",
    "y = list(filter(None, heap))", "y = list(map(min, heap, others))", "heap[0] = 3", "y = list(itertools.islice(heap, 1))",
    "with raised_by_two(s):\n    s.m += 1", "with raised_by_two(s) as rows:\n    rows.append(4)", "y = s.m",
    "y = json.dumps(heap)", "y = json.dumps({'a': [heap]})", "y = typing.cast(list, heap)", "s.day += datetime.timedelta(1)",
    "y = s.day.day", "y = s.day > datetime.date(2020, 1, 1)", "s.part = s.part + decimal.Decimal('0.5')", "y = f'{s.part}'",
    "y = Color[s.color.name]", "s.color = Color.BLUE", "y = Color(s.color.value)", "y = s.color == Color.RED",
    "y = [each.name for each in Color]", "y = {Color.RED: 1}.get(s.color)", "s.kept.value = s.m\ny = s.kept.value",
    "y = isinstance(heap, collections.abc.Sequence)", "import math\ny = math.floor(s.part)",
    "from collections import abc\ns.m = abc.Sized", "y = partly()", "partly = functools.partial(heap.append, 8)\npartly()",
    "y = s.pair.a", "s.pair = Pair(s.m, s.n)", "NAME.set(s.m)\ny = NAME.get()", "s.day = s.day", "y = both(*heap[:1], **{})",
    "setattr(s, 'm', 6)", "y = copy.deepcopy(heap)",
)  # fmt: skip
_OF_TOPIC["started"] = """
class Working(threading.Thread):
    def __init__(self, state):
        super().__init__()
        self.state = state

    def run(self):
        self.state.m = self.state.n + 1

def marks(s):
    s.m = 2

def looks(s):
    if s.m:
        s.n += 4

def locked(s):
    with s.lock:
        s.n += s.m

def puts(s):
    s.m = 3
    s.queue.put(s.n)

def waits(s):
    s.ready_now.wait()
    s.m = s.n

def starts_another(s):
    another = threading.Thread(target=s.bump)
    another.start()
    s.m = 5
    another.join()
"""
_OF_TOPIC["known in C"] = """
import bisect, contextlib, contextvars, copy, datetime, decimal, enum, functools, hashlib, heapq, io, itertools, json, random
import typing

NAME = contextvars.ContextVar("NAME", default=0)
Pair = collections.namedtuple("Pair", "a b")

class Color(enum.Enum):
    RED = 1
    BLUE = 2

@contextlib.contextmanager
def raised_by_two(s):
    s.m += 2
    try:
        yield s.heap
    finally:
        s.m -= 2

def both(*arguments, **keywords):
    return arguments, keywords
"""
TOPICS["derived containers"] = (
    "rows.append(1)", "y = rows[-1]", "rows[0] += 1", "y = rows.add(4)", "y = len(rows)", "y = sum(rows)", "y = 1 in rows",
    "y = [*rows]", "y = rows == [1, 2]", "rows += [5]", "y = rows + [6]", "del rows[0]", "rows.sort()", "y = list(rows)",
    "for y in rows:\n    s.n += y", "y = bool(rows)", "rows[:] = [7]", "y = f'{rows}'", "y = Rows(items)", "y = rows.copy()",
    "y = len(loud)", "y = 9 in loud", "y = [each for each in loud]", "y = loud[0]", "y = sum(loud)", "y = bool(loud)",
    "loud.append(1)", "y = list.__len__(loud)", "y = f'{loud}'", "y = loud == loud", "loud.insert(0, 3)", "y = loud.index(2)",
    "y = list(loud)", "registry['b'] = 2", "y = registry.get('a')", "y = 'b' in registry", "y = registry.register('c', 3)",
    "y = f'{registry}'", "y = registry.pop('a', 0)", "y = [*registry.items()]", "registry.update({'d': 4})", "y = {**registry}",
    "y = dict(registry)", "y = Registry(registry)", "registry |= {'e': 5}", "y = registry.setdefault('f', items)",
    "y = registry == {'a': 1}", "y = counted['a']", "y = counted.get('a')", "counted['b'] = 1", "y = counted['b']",
    "y = len(counted)", "del counted['b']", "y = latest['a']", "latest['b'] = 2", "latest['c'] = 3", "y = next(iter(latest))",
    "y = list(latest)", "y = latest.pop('a', 0)", "latest.move_to_end('a', False)", "y = latest.get('b')", "latest.update(d=4)",
    "latest.popitem()", "y = latest == latest", "y = uneven['a']", "y = list(uneven)", "y = dict(uneven)", "uneven['c'] = 3",
    "y = [*uneven]", "y = {**uneven}", "y = len(uneven)", "y = uneven.get('a')", "y = 1 in tags", "tags.add(4)", "y = tags | {5}",
    "tags.discard(1)", "y = tags == {1}", "y = sorted(tags)", "y = tags.tag(6)", "y = bag[0]", "bag[0] = 3", "y = len(bag)",
    "y = 1 in bag", "y = [*bag]", "y = iter(bag)", "y = bool(bag)", "del bag[0]", "y = Failure(items).args",
    "y = Fixed(s.n).value", "y = Once()", "y = grouped['a']", "grouped['a'].append(1)", "y = len(grouped)",
)  # fmt: skip
_OF_TOPIC["derived containers"] = """
import abc

class Rows(list):
    def add(self, row):
        self.append(row)
        return self[-1]

class Loud(list):
    def __len__(self):
        STATE.m += 1
        return 10 + super().__len__()

    def __contains__(self, row):
        STATE.items.append(row)
        return row in STATE.items

    def __iter__(self):
        yield from STATE.items

    def __eq__(self, other):
        return STATE.n == 0

    def __repr__(self):
        return f"loud {STATE.n}"

    __hash__ = None

class Registry(dict):
    def register(self, name, value):
        self[name] = value
        return len(self)

    def __repr__(self):
        return f"{STATE.n} {len(self)}"

class Counted(dict):
    def __missing__(self, key):
        self[key] = value = len(self)
        return value

class Latest(collections.OrderedDict):
    def __getitem__(self, key):
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if len(self) > 2:
            del self[next(iter(self))]

class Uneven(dict):
    def __iter__(self):
        return iter(STATE.keys)

    def keys(self):
        return STATE.keys

    def __getitem__(self, key):
        STATE.n += 1
        return STATE.n

class Tags(set):
    def tag(self, name):
        self.add(name)
        return name in self

class Grouped(collections.defaultdict):
    pass

class Bag(abc.ABC):
    def __init__(self):
        self.rows = [1, 2]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]

    def __setitem__(self, place, row):
        self.rows[place] = row

    def __delitem__(self, place):
        del self.rows[place]

    def __contains__(self, row):
        return row in self.rows

    def __iter__(self):
        return iter(self.rows)

class Failure(Exception):
    def __init__(self, rows):
        super().__init__(len(rows))

class Fixed:
    def __init__(self, value):
        object.__setattr__(self, "value", value)

class Once:
    made = None

    def __new__(cls):
        if cls.made is None:
            cls.made = super().__new__(cls)
            STATE.n += 1
        return 0
"""
TOPICS["features"] = (
    "y = [*relay(s)]", "y = sum(relay(s))", "for y in relay(s):\n    s.m += y", "y, *z = relay(s)", "y = next(spare, 0)",
    "s.m += next(spare, 0)", "match table:\n    case {'a': y}: y += 1\n    case _: y = 0",
    "match table:\n    case {'a': y, **z}: table['b'] = y\n    case _: y = 0", "table['a'] += 1", "table['b'] = 2",
    "y = table.pop('a', 0)", "y = view['a'] if 'a' in view else 0", "y = 'b' in view", "y = view.get('b')",
    "match point:\n    case Point(x, y=z): y = x, z", "match point:\n    case Point(x=0): y = 1\n    case _: y = 2",
    "point.x += 1", "point.y = 3", "match reckoned:\n    case Reckoned(first, second): y = first, second",
    "match s.n:\n    case int(y): s.m = y", "s.couple = Couple(s.couple.x + 1, 0)", "y = s.couple.x", "y, z = s.couple",
    "s.couple = s.couple._replace(y=4)", "y = s.couple == (1, 0)", "table[Key('a')] = 5", "y = table.get(Key('a'))",
    "y = Key('a') in table", "s.m = Number(s.m + 1)", "y = Number(2) + s.m", "y = Pair(s.n, s.m)[0]", "y = Made(s).value",
    "y = bool(Odd(s))", "y = sorted(spread, key=lambda row: -row)", "y = sorted(spread, key=lambda row: s.n)",
    "spread.sort(key=abs)", "y = max(table, key=table.get, default=0)", "y = min(spread, key=str)", "spread.append(-3)",
    "y = spread[-1]", "spread.sort(key=lambda row: len(spread))", "y = list(chain(spread, (1,), spread))",
    "for y in chain(spread, spread):\n    s.m += y", "y = [*product(spread, [1])]", "y = next(turns)", "s.m = next(turns)",
    "y = [*joined]", "y = next(joined, 0)", "y = ','.join(map(str, spread))", "y = dict(zip('ab', spread))",
    "y = dict.fromkeys(spread, s.n)", "setattr(point, 'x', 7)", "y = getattr(point, 'x', 0)", "noted.value = 1",
    "noted.value += 1", "y = noted.value", "with suppress(KeyError):\n    s.m = table['b']",
    "with nullcontext(spread) as y:\n    y.append(5)", "y = attributes(point)", "y = second(spread)",
    "y = operator.add(s.n, s.m)", "print(s.n, file=printed)", "y = printed.getvalue()", "y = list(walked)",
    "y = tuple(measured)", "y = sum(walked)", "spread.insert(0, 6)", "y = s.m + Step.ONE", "y = len(tally + tally)",
    "tally += tally", "tally['b'] = 1", "y = by_name(right=s.n)", "y = bool(re.match('a', 'ab'))", "y = 'ab'.translate(letters)",
    "letters[97] = 'c'", "y = lazy.size", "y = os.environ.get('HOME') is None",
)  # fmt: skip
_OF_TOPIC["features"] = """
import enum
import operator
import os
import re
import types
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, cycle, product
from typing import NamedTuple

@dataclass
class Point:
    x: int
    y: int = 0

class Reckoned:
    __match_args__ = ("first", "second")

    @property
    def first(self):
        STATE.m += 1
        return STATE.n

    @property
    def second(self):
        return STATE.m

class Couple(NamedTuple):
    x: int
    y: int = 0

class Key(str):
    pass

class Number(int):
    pass

class Pair(tuple):
    def __new__(cls, *elements):
        return super().__new__(cls, elements)

class Making(type):
    def __call__(cls, *arguments):
        STATE.m += 1
        return super().__call__(*arguments)

class Made(metaclass=Making):
    def __init__(self, s):
        self.value = s.n

class Odd:
    def __init__(self, s):
        self.s = s

    def __bool__(self):
        return self.s.n == 1

class Noted:
    def __init__(self):
        self.value = 0

    def __setattr__(self, name, value):
        STATE.items.append(value)
        object.__setattr__(self, name, value)

class Step(enum.IntEnum):
    ONE = 1

class Walked:
    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        for row in self.rows:
            yield row + STATE.n

class Measured(Walked):
    def __len__(self):
        STATE.m += 1
        return 1

class Lazy:
    @cached_property
    def size(self):
        STATE.n += 1
        return STATE.n

def halves(s):
    yield s.n
    yield s.m
    return 1

def relay(s):
    last = yield from halves(s)
    yield last
    yield from s.spread

def adds(left, right):
    return left + right
"""
_MADE = {  # by topic: what its setup makes, and what is looked at after the threads have ended
    "known in C": (
        ("s.heap, s.recent, s.stream = [5, 7], collections.OrderedDict(a=1, b=1, c=1), io.StringIO()",
        "s.draws, s.digest, s.failure = random.Random(3), hashlib.sha256(), ValueError([1])",
        "s.by_class, s.tally, s.day, s.part = {}, collections.Counter(), datetime.date(2020, 1, 1), decimal.Decimal(1)",
        "s.color, s.kept, s.pair, s.partly = Color.RED, threading.local(), Pair(1, 2), functools.partial(list, s.heap)"),
        "s.heap, s.recent, s.stream.getvalue(), s.draws.random(), s.digest.hexdigest(), s.failure.args, len(s.by_class), s.tally, "
        "s.day, s.part, s.color, s.pair",
    ),
    "derived containers": (
        ("global STATE", "STATE = s", "Once.made = None", "s.rows, s.loud, s.registry = Rows([1, 2]), Loud([2]), Registry(a=1)",
        "s.counted, s.latest, s.uneven, s.tags = Counted(), Latest(a=1), Uneven(b=2), Tags([1])",
        "s.bag, s.grouped = Bag(), Grouped(list)"),
        "s.rows, list.copy(s.loud), dict.copy(s.registry), s.counted, [*s.latest.items()], dict.copy(s.uneven), s.tags, "
        "s.bag.rows, s.grouped",
    ),
    "features": (
        ("global STATE, spare, turns, joined, by_name, second, attributes, printed", "STATE, second = s, operator.itemgetter(0)",
        "s.table, s.point, s.reckoned, s.couple, s.spread = dict(a=1), Point(0), Reckoned(), Couple(1), [2, -1]",
        "s.view, s.noted, s.walked, s.measured = types.MappingProxyType(s.table), Noted(), Walked(s.spread), Measured(s.spread)",
        "s.tally, s.letters, s.lazy, spare, turns = collections.Counter('a'), {97: 'b'}, Lazy(), relay(s), cycle(s.spread)",
        "joined, by_name, attributes = chain(s.spread, (0,)), partial(adds, left=1), operator.attrgetter('x')",
        "printed = io.StringIO()"),
        "s.table, s.point, s.couple, s.spread, s.noted.value, s.tally, s.letters, printed.getvalue()",
    ),
    "waiting": (
        ("s.event, s.few = threading.Event(), threading.Semaphore(1)", "s.queue, s.simple = queue.Queue(), queue.SimpleQueue()"),
        "s.event.is_set(), s.queue.qsize(), s.simple.qsize(), s.few._value",
    ),
    "re-entrant": (("s.again = threading.RLock()",), ""),
    "time": (
        ("s.event, s.queue, s.until = threading.Event(), queue.Queue(), time.monotonic() + 0.2",),
        "s.event.is_set(), s.queue.qsize()",
    ),
    "threads": (("s.own = threading.local()",), ""),
    "started": (
        ("s.one, s.queue, s.ready_now = threading.Thread(target=marks, args=(s,)), queue.Queue(), threading.Event()",),
        "s.queue.qsize()",
    ),
    "exceptions": (("s.error = KeyError('first')", "s.error.note = 0"), "s.error.args, s.error.note"),
    "generators": (("s.counting = counting(s)", "next(s.counting)"), ""),
    "attributes": (
        ("s.odd, s.slotted, s.frozen = Odd(s.items), Slotted(), Frozen(s.items)", "s.slotted.value = 0",
        "Odd.unit, Odd.shared = 1, []"),
        "s.odd.missing, s.odd._size, s.odd.unit, Odd.unit, Odd.shared, s.odd.stored, getattr(s.slotted, 'value', None)",
    ),
    "looked up": (
        ("s.leaf, s.listed, s.broken = Leaf(s.items), Tagged([1]), Worn(1)", "Tree.size, Leaf.rank, Trunk.size = 1, 2, 1",
        "if 'size' in vars(Leaf):", "    del Leaf.size"),
        "s.leaf.rows, s.leaf.rank, type(s.leaf).__name__, getattr(s.leaf, 'mark', None), Leaf.size, Leaf.rank, Trunk.size, "
        "s.listed, s.listed.tag, s.broken.reason",
    ),
    "text": (("s.text, s.words = 'a', ['a', 'b']",), "s.text, s.words"),
    "collections": (
        ("s.counts, s.groups = collections.Counter([1]), collections.defaultdict(list)",
        "s.ordered = collections.OrderedDict(a=1, b=2)"), "s.counts, s.groups, s.ordered",
    ),
}  # fmt: skip
_IMPORTS = (
    "abc", "bisect", "collections", "copy", "functools", "heapq", "io", "itertools", "json", "operator", "pickle", "queue", "re",
    "threading", "time", "mock", "weakref",
)  # fmt: skip
_READS = re.compile(
    r"[yz](, \*z)? = |for y |if .*:\n    y = |match |with named|a, b = "
)  # what a statement begins with that changes nothing
_OBJECT = re.compile(
    r"items|others|keys|found|line|waiting|named|numbers|limit|level|action|answer|kind|lock|ref|cache|held|ended|cell|module"
    r"|event|few|queue|simple|ready|again|until|own|error|counting|odd|Odd|slotted|frozen|text|words|counts|groups|ordered|leaf|Leaf|Trunk|listed|broken"
    r"|rows|loud|registry|counted|latest|uneven|tags|bag|grouped|heap|recent|stream|draws|digest|failure|by_class|tally|day|part|color|pair|raised_by_two"
    r"|table|view|point|couple|spread|noted|walked|measured|letters|lazy|turns|joined|spare|printed"
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
        body += "".join(line for topic in self.topics for line in _MADE.get(topic, ((), ""))[0])
        imports = [f"import {name}" for name in _IMPORTS if name != "mock" and re.search(rf"\b{name}\b", body + text)]
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
        for topic in self.topics:
            lines, looked_at = _MADE.get(topic, ((), ""))
            made += lines
            seen += f", {looked_at}" if looked_at else ""
        observed = (
            "(s.n, s.m, s.items, s.others, s.keys, sorted(s.found), bytes(s.line), list(s.waiting), s.named.rows, level, "
            f"getattr(s, 'limit', None), s.kind, State.kind, s.lock.locked(){seen})"
        )
        made.sort(key=lambda line: not line.startswith("global "))  # before any topic stores one of these names
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
        threads += [[]] * (draw(st.integers(0, 7)) == 0)
    else:
        threads += [[]] * (draw(st.integers(0, 3)) == 0)
    for index, thread in enumerate(threads):
        for _ in range(draw(st.integers(not thread, 1 if index else 2))):
            mark = draw(st.sampled_from((*_MARKS, "")))
            added = [mark] * bool(mark) + [draw(st.sampled_from(pool))]
            threads[index] = [*added, *threads[index]] if draw(st.booleans()) else [*threads[index], *added]
    return Drawn(chosen, tuple(tuple(thread) for thread in threads))
