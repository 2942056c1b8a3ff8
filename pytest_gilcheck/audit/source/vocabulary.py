"""Names that the rules for Python know."""

from __future__ import annotations

MUTABLE_CALLS = frozenset(
    [
        "dict",
        "list",
        "set",
        "defaultdict",
        "OrderedDict",
        "Counter",
        "deque",
        "WeakValueDictionary",
        "WeakKeyDictionary",
        "WeakSet",
        "bytearray",
    ]
)
LOCK_CALLS = frozenset(["Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "allocate_lock"])
LOCK_MODULES = frozenset(["threading", "_thread", "multiprocessing", "asyncio", "anyio", "trio"])
LOCK_WORDS = ("lock", "mutex", "semaphore", "condition", "critical")
ITERATOR_CALLS = frozenset(
    [
        "iter",
        "map",
        "filter",
        "zip",
        "enumerate",
        "reversed",
        "cycle",
        "chain",
        "islice",
        "reader",
        "finditer",
        "permutations",
        "product",
        "combinations",
    ]
)
CHANGES = frozenset(
    [
        "append",
        "add",
        "update",
        "pop",
        "remove",
        "setdefault",
        "clear",
        "extend",
        "insert",
        "discard",
        "popitem",
        "appendleft",
        "extendleft",
        "move_to_end",
        "difference_update",
        "intersection_update",
        "symmetric_difference_update",
        "popleft",
        "sort",
        "reverse",
    ]
)
REMOVALS = frozenset(["pop", "remove", "clear", "popitem", "popleft", "discard"])
PROCESS_WIDE = frozenset(
    [
        "os.chdir",
        "os.umask",
        "os.putenv",
        "os.unsetenv",
        "locale.setlocale",
        "sys.setrecursionlimit",
        "socket.setdefaulttimeout",
        "warnings.filterwarnings",
        "warnings.simplefilter",
        "sys.setswitchinterval",
        "gc.disable",
        "gc.enable",
        "gc.set_threshold",
        "time.tzset",
        "contextlib.chdir",
        "contextlib.redirect_stdout",
        "contextlib.redirect_stderr",
        "signal.signal",
        "signal.setitimer",
        "signal.alarm",
        "random.seed",
        "logging.disable",
        "os.setuid",
        "os.setgid",
        "os.nice",
        "os.environ.update",
        "os.environ.setdefault",
        "os.environ.pop",
        "os.environ.clear",
    ]
)
STREAMS = frozenset(["sys.stdin", "sys.stdout", "sys.stderr"])
RESOURCES = frozenset(
    [
        "open",
        "connect",
        "Thread",
        "Lock",
        "RLock",
        "Session",
        "Client",
        "Pool",
        "socket",
        "Popen",
        "ThreadPoolExecutor",
        "ProcessPoolExecutor",
        "Connection",
        "Queue",
        "Event",
        "TemporaryDirectory",
        "NamedTemporaryFile",
    ]
)
ONCE = ("main", "setup", "configure", "init", "install", "teardown", "shutdown", "_main", "cli", "run_command")
DECLARATIVE = frozenset(["Enum", "TypedDict", "NamedTuple", "Protocol", "dataclass", "Structure", "Model", "BaseModel"])
