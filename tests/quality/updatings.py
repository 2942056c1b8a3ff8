"""Operations that two threads make at the same time on one object: what was tried, and the effect without a GIL.

They were tried as those of `pytest_gilcheck.engine.bytecode.c_operations`, which has the operations that read a whole container.
"""

from dataclasses import dataclass

from pytest_gilcheck.engine.bytecode.c_operations import Effect


@dataclass(frozen=True)
class Updating:
    """An operation that two threads make at the same time, ``n`` times each, with ``i`` as the counter.

    Attributes:
        made: statements that make ``x``.
        statement: what both threads run; each has a list of its own, ``kept``.
        right: an expression of ``x``, ``n`` and the two lists ``one`` and ``other``, which is true afterwards if all went well.
    """

    effect: Effect
    name: str
    made: str
    statement: str
    right: str


_ALL = "sorted(one + other) == list(range(2 * n))"
_A, _D = Effect.ATOMIC, Effect.DUPLICATES

UPDATINGS = (
    Updating(_A, "list.append", "x = []", "x.append(i)", "sorted(x) == sorted([*range(n)] * 2)"),
    Updating(_A, "list.pop", "x = list(range(2 * n))", "kept.append(x.pop())", _ALL),
    Updating(_A, "list.pop(0)", "x = list(range(2 * n))", "kept.append(x.pop(0))", _ALL),
    Updating(_A, "list.insert", "x = []", "x.insert(0, i)", "sorted(x) == sorted([*range(n)] * 2)"),
    Updating(_A, "list.extend(tuple)", "x = []", "x.extend((id(kept),) * 8)", "whole(x, 8)"),
    Updating(_A, "list.extend(iterator)", "x = []", "x.extend(itertools.repeat(id(kept), 8))", "whole(x, 8)"),
    Updating(_A, "list += list", "x = []", "x += [id(kept)] * 8", "whole(x, 8)"),
    Updating(_A, "x[len:] = list", "x = []", "x[1 << 40:] = [id(kept)] * 8", "whole(x, 8)"),
    Updating(_A, "dict[k] = v", "x = {}", "x[i, id(kept)] = i", "len(x) == 2 * n"),
    Updating(_A, "dict.setdefault", "x = {}", "kept.append(x.setdefault(i, object()))", "one == other"),
    Updating(_A, "dict.pop", "x = dict.fromkeys(range(n))", "kept.append(x.pop(i, 0) is None)", "sum(one) + sum(other) == n"),
    Updating(_A, "dict.popitem", "x = dict.fromkeys(range(2 * n))", "kept.append(x.popitem()[0])", _ALL),
    Updating(
        _D, "defaultdict[k]", "x = collections.defaultdict(list)", "x[i].append(0)", "all(len(v) == 2 for v in x.values())"
    ),  # fixed in later versions
    Updating(_A, "set.add", "x = set()", "x.add((i, id(kept)))", "len(x) == 2 * n"),
    Updating(_A, "set.pop", "x = set(range(2 * n))", "kept.append(x.pop())", _ALL),
    Updating(_A, "deque.append", "x = collections.deque()", "x.append(i)", "sorted(x) == sorted([*range(n)] * 2)"),
    Updating(_A, "deque.popleft", "x = collections.deque(range(2 * n))", "kept.append(x.popleft())", _ALL),
    Updating(_A, "itertools.count", "x = itertools.count()", "kept.append(next(x))", _ALL),
    Updating(_A, "random.random", "x = random.Random(1)", "kept.append(x.random())", "len({*one, *other}) == 2 * n"),
    Updating(
        _A, "lru_cache", "x = functools.lru_cache(None)(Cached.made)", "kept.append(x(i))", "one == other"
    ),  # fails with a GIL
    Updating(_A, "StringIO.write", "x = io.StringIO()", "x.write('ab')", "len(x.getvalue()) == 4 * n"),
    Updating(_A, "TextIOWrapper.write", "x = io.TextIOWrapper(io.BytesIO())", "x.write('ab')", "x.seek(0, 2) == 4 * n"),
    Updating(
        _D, "cached_property", "x = [Cached() for _ in range(n)]", "kept.append(x[i].value)", "one == other"
    ),  # with a GIL too
    Updating(_D, "a list's iterator", "x = iter(list(range(2 * n)))", "kept.append(next(x))", _ALL),
    Updating(_D, "a range's iterator", "x = iter(range(2 * n))", "kept.append(next(x))", _ALL),
    Updating(_D, "itertools.islice", "x = itertools.islice(itertools.count(), 2 * n)", "kept.append(next(x))", _ALL),
    Updating(_D, "itertools.cycle", "x = itertools.cycle(range(2 * n))", "kept.append(next(x))", _ALL),
    Updating(Effect.TORN, "obj.s += 'x'", "x = Cached(); x.s = ''", "x.s += 'x'", "len(x.s) == 2 * n"),  # it has own steps
    Updating(Effect.CRASHES, "generator", "x = (i for i in range(2 * n))", "kept.append(next(x))", _ALL),
    Updating(Effect.CRASHES, "enumerate", "x = enumerate(range(2 * n))", "kept.append(next(x)[1])", _ALL),
    Updating(Effect.CRASHES, "zip", "x = zip(range(2 * n), range(2 * n))", "kept.append(next(x)[1])", _ALL),
    Updating(Effect.CRASHES, "itertools.tee", "x = itertools.tee(range(n))", "kept.append(next(x[kept is other]))", "one == other"),
    Updating(Effect.CRASHES, "Counter.update", "x = collections.Counter()", "x.update('aaaa')", "x['a'] == 8 * n"),
    Updating(
        _D, "OrderedDict[k] = v", "x = collections.OrderedDict()", "x[i, id(kept)] = i; x.pop((i, id(kept)))", "not x"
    ),  # in 1 of 100 of these trials, a key is not found
    Updating(_D, "heapq.heappop", "x = list(range(2 * n))", "kept.append(heapq.heappop(x))", _ALL),
    Updating(_D, "bisect.insort", "x = []", "bisect.insort(x, i)", "x == sorted([*range(n)] * 2)"),
    Updating(_D, "bytearray.append", "x = bytearray()", "x.append(1)", "len(x) == 2 * n"),  # in 1 of 40,000 first calls
    Updating(Effect.HANGS, "BytesIO.write", "x = io.BytesIO()", "x.write(b'ab')", "len(x.getvalue()) == 4 * n"),
)
