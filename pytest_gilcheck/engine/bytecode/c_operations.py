"""What C operations that read a whole container do when there is no GIL: those that were tried, and the effects that were seen.

With a GIL each operation is one step. Without one, some hold the container's own lock from beginning to end, and some read it
element by element while other threads change it. Only a trial tells which: ``list(d.values())`` holds the lock and
``tuple(d.values())`` does not; ``sorted(x)`` does and ``set(x)`` does not; ``deque.copy`` releases it at every element.

This table has three readers: `shared` simulates the entries that are torn or raise, and no others; its tests run every statement
under a recorder; and on a free-threaded build, a test runs every statement beside a thread that changes the container.

Tried on CPython 3.13.5, free-threaded, two cores, x86-64, mostly 10,000 times and more. Effects that are rarer, or that only other
processors show, are not in the table. The same trials with a GIL (3.13.0) showed only what is expected there: effects in loops of
Python code, in calls that call Python code (``key=``), and in iterators whose container a thread changes before they are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Effect(StrEnum):
    """What other threads can do to the outcome of an operation."""

    ATOMIC = "atomic"  # no effect was seen
    TORN = "torn"  # a result that fits no state which the container ever had
    RAISES = "raises"  # "changed size during iteration", "mutated during iteration", or an existing element is not found
    DUPLICATES = "duplicates"  # elements or calls are duplicated or lost
    CRASHES = "crashes"
    HANGS = "hangs"


@dataclass(frozen=True)
class Container:
    """A container, and how a thread changes it: by one C call at a time, each of which leaves it in a legal state.

    Attributes:
        made: an expression; ``KEYS``, ``BEFORE`` and ``AFTER`` are lists of the same length, ``NEW`` is a key that it lacks.
        read: an expression for what is read of the container ``made``.
        writes: the statements that change it, in turn.
    """

    made: str
    read: str
    writes: tuple[str, str]


@dataclass(frozen=True)
class Reading:
    """An operation that reads a whole container.

    Attributes:
        container: a key of `CONTAINERS`.
        consumer: what iterates: a callable's full name, ``"x.NAME"`` for the container's own method, or a piece of syntax.
        statement: the statement that was tried; it reads ``x`` and makes ``y``.
        simulated: whether `shared` simulates the effect.
    """

    effect: Effect
    container: str
    consumer: str
    statement: str
    simulated: bool

    @property
    def name(self) -> str:
        return f"{self.statement}  # x: {self.container}"


_ONE_KEY = ("x[NEW] = 0", "del x[NEW]")
_ALL_VALUES = ("x.update(zip(KEYS, BEFORE))", "x.update(zip(KEYS, AFTER))")
_ORDER = ("x.move_to_end(KEYS[0])", "x.move_to_end(KEYS[0], False)")

CONTAINERS = {
    "list": Container("list(BEFORE)", "x", ("x[:] = BEFORE", "x[:] = AFTER")),
    "dict": Container("dict(zip(KEYS, BEFORE))", "x", _ONE_KEY),
    "dict.keys": Container("dict(zip(KEYS, BEFORE))", "x.keys()", _ONE_KEY),
    "dict.values": Container("dict(zip(KEYS, BEFORE))", "x.values()", _ALL_VALUES),
    "dict.items": Container("dict(zip(KEYS, BEFORE))", "x.items()", _ALL_VALUES),
    "set": Container("set(KEYS)", "x", ("x.add(NEW)", "x.discard(NEW)")),
    "deque": Container("collections.deque(AFTER)", "x", ("x.rotate()", "x.rotate(-1)")),
    "OrderedDict": Container("collections.OrderedDict(zip(KEYS, BEFORE))", "x", _ORDER),
    "dict subclass": Container("collections.defaultdict(int, zip(KEYS, BEFORE))", "x", _ONE_KEY),
    "list being sorted": Container("list(KEYS)", "x", ("x.sort()", "x.reverse()")),
    "dict with two values swapped": Container(
        "dict.fromkeys(KEYS, 0)",
        "x",
        ("x[KEYS[0]], x[KEYS[1]] = 1, 0", "x[KEYS[0]], x[KEYS[1]] = x[KEYS[1]], x[KEYS[0]]"),
    ),
}

# One letter for each container up to "dict subclass":
# . atomic, t torn, r raises, ! crashes, - not possible or not visible; a capital letter: `shared` does not simulate it.
_LETTERS = {".": Effect.ATOMIC, "t": Effect.TORN, "r": Effect.RAISES, "!": Effect.CRASHES}
_READ = (
    # consumer, statement                                                                 list, dict, keys, values, items,
    #                                                                                     set, deque, OrderedDict, subclass
    ("list", "y = list(x)", "......rrr"),
    ("tuple", "y = tuple(x)", ".rrttrrrr"),
    ("sorted", "y = sorted(x)", "......rrr"),
    ("set", "y = set(x)", "t.rtt.rrr"),
    ("frozenset", "y = frozenset(x)", "t.rtt.rrr"),
    ("dict", "y = dict(x)", "-.--t--r."),
    ("dict.fromkeys", "y = dict.fromkeys(x)", "t.rtt.rrr"),
    ("x.copy", "y = x.copy()", "..---.rT."),
    ("copy.copy", "y = copy.copy(x)", "..---.--."),
    ("collections.deque.__copy__", "y = copy.copy(x)", "------r--"),
    ("object.__reduce_ex__", "y = copy.copy(x)", "-------r-"),
    ("x[:]", "y = x[:]", ".--------"),
    ("x + []", "y = x + []", ".--------"),
    ("x * 1", "y = x * 1", ".-----r--"),
    ("x | {}", "y = x | {}", "-.-----r."),
    ("x | base", "y = x | base", "-----.---"),
    ("x & base", "y = x & base", "-----.---"),
    ("x - base", "y = x - base", "-----.---"),
    ("len", "y = len(x)", "........."),
    ("repr", "y = repr(x)", "......Rr."),
    ("==", "y = x == same", "..R...RR."),
    ("in", "y = 9 in x", "t..t....."),
    ("x.index", "y = x.index(9)", "r-----.--"),
    ("x.count", "y = x.count(1)", "t-----.--"),
    ("sum", "y = sum(x)", "trrt-rrrr"),
    ("max", "y = max(x, key=last)", "trrttrrrr"),
    ("min", "y = min(x, key=last)", "trrttrrrr"),
    ("any", "y = any(x)", "trrt-rrrr"),
    ("all", "y = all(x)", "trrt-rrrr"),
    ("iter", "y = list(iter(x))", "trrttrrrr"),
    ("reversed", "y = list(reversed(x))", "trrtt-rrr"),
    ("enumerate", "y = list(enumerate(x))", "trrttrrrr"),
    ("zip", "y = list(zip(x))", "trrttrrrr"),
    ("map", "y = list(map(str, x))", "trrttrrrr"),
    ("filter", "y = list(filter(None, x))", "trrttrrrr"),
    ("functools.reduce", "y = functools.reduce(operator.add, x)", "trrttrrrr"),
    ("itertools.accumulate", "y = list(itertools.accumulate(x))", "trrttrrrr"),
    ("itertools.batched", "y = list(itertools.batched(x, 7))", "trrttrrrr"),
    ("itertools.chain", "y = list(itertools.chain(x))", "trrttrrrr"),
    ("itertools.chain.from_iterable", "y = list(itertools.chain.from_iterable((x,)))", "trrttrrrr"),
    ("itertools.combinations", "y = list(itertools.combinations(x, 1))", ".rrttrrrr"),
    ("itertools.compress", "y = list(itertools.compress(x, x))", "trrttrrrr"),
    ("itertools.cycle", "y = list(itertools.islice(itertools.cycle(x), 99))", "trrttrrrr"),
    ("itertools.dropwhile", "y = list(itertools.dropwhile(callable, x))", "trrttrrrr"),
    ("itertools.filterfalse", "y = list(itertools.filterfalse(callable, x))", "trrttrrrr"),
    ("itertools.groupby", "y = [key for key, _ in itertools.groupby(x)]", "trrttrrrr"),
    ("itertools.islice", "y = list(itertools.islice(x, None))", "trrttrrrr"),
    ("itertools.pairwise", "y = list(itertools.pairwise(x))", "trrttrrrr"),
    ("itertools.permutations", "y = list(itertools.permutations(x, 1))", ".rrttrrrr"),
    ("itertools.product", "y = list(itertools.product(x))", ".rrttrrrr"),
    ("itertools.starmap", "y = list(itertools.starmap(min, x))", "----t----"),
    ("itertools.takewhile", "y = list(itertools.takewhile(is_any, x))", "trrttrrrr"),
    ("itertools.tee", "y = list(itertools.tee(x)[0])", "trrttrrrr"),
    ("itertools.zip_longest", "y = list(itertools.zip_longest(x))", "trrttrrrr"),
    ("collections.deque", "y = collections.deque(x)", "trrttrrrr"),
    ("collections._count_elements", "y = collections.Counter(x)", "t.rttrrr."),
    ("list.extend", "y = []; y.extend(x)", "......rrr"),
    ("collections.deque.extend", "y = collections.deque(); y.extend(x)", "trrttrrrr"),
    ("set.union", "y = set().union(x)", "t.rtt.rrr"),
    ("set.update", "y = set(); y.update(x)", "t.rtt.rrr"),
    ("set.intersection", "y = base.intersection(x)", "..rtt.rr."),
    ("set.difference", "y = base.difference(x)", "..rtt.rr."),
    ("set.issubset", "y = base.issubset(x)", "..rtt.rr."),
    ("set.issuperset", "y = base.issuperset(x)", "..rtt.rr."),
    ("set.isdisjoint", "y = nine.isdisjoint(x)", "..rtt.rr."),
    ("dict.update", "y = {}; y.update(x)", "-.--t--r."),
    ("+=", "y = []; y += x", "......rrr"),
    ("y[:] = x", "y = []; y[:] = x", ".rrttrrrr"),
    ("[*x]", "y = [0, *x]", "......rrr"),
    ("{*x}", "y = {*x}", "t.rtt.rrr"),
    ("{**x}", "y = {**x}", "-.-----r."),
    ("f(*x)", "y = f(*x)", ".rrttrrrr"),
    ("f(1, *x)", "y = f(1, *x)", "......rrr"),
    ("f(**x)", "y = f(**x)", "-.-----r."),
    ("a, *b = x", "a, *b = x; y = (a, b)", "trrttrrrr"),
    ("for", "y = [v for v in x]", "trrttrrrr"),
    ("str.join", "y = ','.join(x)", ".rrt-rrrr"),
    ("bytes.join", "y = b','.join(x)", "trrt-rrrr"),
    ("bytes", "y = bytes(x)", "trrt-r-rr"),
    ("bytearray", "y = bytearray(x)", "trrt-r-rr"),
    ("array.array", "y = array.array('q', x)", "Trrt-rrrr"),
    ("math.fsum", "y = math.fsum(x)", "trrt-rrrr"),
    ("math.prod", "y = math.prod(x)", "trrt-rrrr"),
    ("math.sumprod", "y = math.sumprod(x, x)", "trrt-rrrr"),
    ("operator.countOf", "y = operator.countOf(x, 1)", "trrt-rrrr"),
    ("operator.indexOf", "y = operator.indexOf(x, 9)", "rrrr--rrr"),
    ("json.Encoder", "y = json.dumps(x)", "t!-----rr"),
    ("pickle.dumps", "y = pickle.dumps(x)", "t!---rrrr"),
    ("marshal.dumps", "y = marshal.dumps(x)", "TT---!---"),
    ("object.__reduce_ex__", "y = copy.deepcopy(x)", "tr---.rrr"),
    ("heapq.nlargest", "y = heapq.nlargest(3, x)", "trrttrrrr"),
    ("statistics.fmean", "y = statistics.fmean(x)", "trrt-rrrr"),
    ("statistics.mean", "y = statistics.mean(x)", "trrt-rrrr"),
)

READINGS = (
    *(
        Reading(_LETTERS[letter.lower()], container, consumer, statement, letter in "tr")
        for consumer, statement, letters in _READ
        for container, letter in zip(CONTAINERS, letters, strict=False)
        if letter != "-"
    ),
    Reading(Effect.TORN, "list being sorted", "len", "y = len(x)", False),  # it reads 0
    Reading(Effect.TORN, "dict with two values swapped", "x.copy", "y = list(x.copy().values())", False),  # the swap has own steps
)

UNLOCKED = frozenset((reading.container, reading.consumer) for reading in READINGS if reading.simulated)

# These return an iterator, which reads when it is asked for an element, whatever its consumer is and whichever lock that holds.
LAZY = frozenset({
    "iter", "reversed", "enumerate", "zip", "map", "filter", "object.__reduce_ex__", "itertools.accumulate", "itertools.batched",
    "itertools.chain", "itertools.chain.from_iterable", "itertools.compress", "itertools.cycle", "itertools.dropwhile",
    "itertools.filterfalse", "itertools.groupby", "itertools.islice", "itertools.pairwise", "itertools.starmap",
    "itertools.takewhile", "itertools.tee", "itertools.zip_longest",
})  # fmt: skip
