"""The table of checks: one entry for each, from which the marker, its help, settings, evidence and reports derive.

The table loads nothing of a wing: pytest reads it at every start. What a check does is in its wing's ``entry`` module, which
`Check.prepare` imports when the check is first used.

A new check is a package with an ``entry`` module, an entry here, a method of `calls.Gilcheck`, a public name for its result, and
codes of its findings (`core.codes`); a chart in ``report/page``, if a picture helps. ``tests/test_checks.py`` says what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .core.arguments import Argument, Arguments
from .core.values import (
    FLAG,
    FUNCTION,
    POSITIVE,
    SECONDS,
    SEEDS,
    SWITCH_INTERVAL,
    THREADS,
    TOKEN,
    Accepted,
    ModuleNames,
    OneOrMore,
    PerBuild,
    one_of,
    seconds_between,
    whole,
)

if TYPE_CHECKING:
    from .core.prepared import Prepared

FIXTURE = "gilcheck"
SELECTOR = "gilcheck"  # the marker that every test with a check carries, for `pytest -m gilcheck`


class MainFigure(NamedTuple):
    """The figure that a check is about.

    Attributes:
        names: of figures; the largest of those that were measured counts.
        unit: ``"times"``, ``"s"``, or ``"1"`` for a count.
        noun: what a count counts.
        instead: a figure whose text is shown in its place, where it has one.
        bounds: the figures that bound it, low and high; empty if nothing does.
        beyond: a figure that it is known to exceed, for what was given up.
        limit: the figure, or the part of the claim, that it is compared with.
        at_least: whether the claim holds above that limit.
        otherwise: what reports show first where a claim has not that limit, but the limit of this one.
    """

    names: tuple[str, ...]
    unit: str
    noun: str = ""
    instead: str = ""
    bounds: tuple[str, ...] = ()
    beyond: str = ""
    limit: str = ""
    at_least: bool = False
    otherwise: MainFigure | None = None


class Check(NamedTuple):
    """One check.

    Attributes:
        name: in evidence and reports.
        marker: the marker of tests.
        question: what it answers, in one sentence.
        marker_help: what the marker does with the test.
        arguments: in the order of the documentation.
        wing: the package whose ``entry`` module has ``prepare``.
        figure: what reports show first.
        units: of its figures that are neither counts nor words, by name.
        properties: figures that become user properties (JUnit XML), besides the main one.
        exclusive: whether it measures time, so that no other such check may run on this machine meanwhile.
        in_children: whether the check itself runs the workload in child processes, and in no other.
        searches: whether it sets the test's fixtures up itself, again for each run, and runs the body in threads of its own.
        selected_by: the argument that selects this check where two share a marker; empty for the one that needs none.
        evidence_for: the code of the audit that asks for evidence of this check; empty where none does.
        makes: whether the workload makes an object, with arguments that the check draws.
        borrows: what ``prepare`` is given of another wing, by argument: its module and name. Wings do not import each other.
    """

    name: str
    marker: str
    question: str
    marker_help: str
    arguments: tuple[Argument, ...]
    wing: str
    figure: MainFigure
    units: Mapping[str, str] = MappingProxyType({})
    properties: tuple[str, ...] = ()
    exclusive: bool = True
    in_children: bool = False
    searches: bool = False
    selected_by: str = ""
    evidence_for: str = ""
    makes: bool = False
    borrows: Mapping[str, str] = MappingProxyType({})

    def prepare(self, work: Any, name: str | None, arguments: Arguments, **context: Any) -> Prepared[Any]:
        """Turn checked arguments into a check that is ready to run; see ``entry.prepare`` of the wing.

        Raises:
            BadValue: arguments that contradict each other, or cannot be used here.
        """
        from .core import own_modules  # not before a test needs it

        own_modules.keep()
        for argument, place in self.borrows.items():
            module, _, what = place.partition(":")
            context[argument] = getattr(import_module(f".{module}", __package__), what)
        prepared: Prepared[Any] = import_module(f".{self.wing}.entry", __package__).prepare(work, name, arguments, **context)
        return prepared

    def of_calls(self) -> tuple[Argument, ...]:
        """The arguments of the call, which are those of the marker less what a call says in another way."""
        return tuple(argument for argument in self.arguments if not argument.marker_only)


def _budget(help: str) -> Argument:
    return Argument("budget", SECONDS, help, "s", setting=True, scaled=True)


def _timeout(help: str) -> Argument:
    return Argument("timeout", SECONDS, help, "s", setting=True, scaled=True)


_SEED = Argument(
    "seed", whole(0, SEEDS), "seed of what is drawn at random (drawn itself by default, and in the report)", setting=True
)
_SETUP = Argument("setup", FUNCTION, "a function that is called before the workload, untimed")
_SETUP_WITH_FIXTURES = Argument("setup", FUNCTION, "a function that is called first in each child process", uses_fixtures=True)
_CORES = Argument("cores", whole(1), "keep the check on this many cores", "cores")

_SECONDS = {"seconds": "s"}
_LATENESS = tuple(f"{p}_{c}_{q}" for p in ("heartbeat", "echo", "loop") for c in ("alone", "beside") for q in ("p50", "p99", "max"))
_DELAYS = tuple(f"{name}_{part}" for name in ("delivery", "unwinding", "exit", "idle") for part in ("min", "median", "max"))

SCALING = Check(
    name="scaling",
    marker="gil_scaling",
    question="Does the workload scale over threads?",
    marker_help="run the test one time after the other and in threads at once, and fail unless it scales as claimed; without a "
    "claim: to 70% of the machine's ceiling on a free-threaded build, no slower than 1.25x on a GIL build",
    arguments=(
        Argument(
            "min_speedup", PerBuild(POSITIVE), "claim: calls in threads take this many times less time than in sequence", "times"
        ),
        Argument(
            "max_slowdown",
            PerBuild(
                Accepted(
                    "a number, at least 1; to ask for a speedup, use min_speedup",
                    lambda value: POSITIVE.accepts(value) and value >= 1,
                    float,
                )
            ),
            "claim: calls in threads take at most this many times as long as in sequence",
            "times",
        ),
        Argument(
            "efficiency",
            PerBuild(
                Accepted(
                    "a share above 0, at most 1, which is all that the machine can give",
                    lambda value: POSITIVE.accepts(value) and value <= 1,
                    float,
                )
            ),
            "claim: the speedup is at least this share of the machine's ceiling",
            "share",
        ),
        Argument("threads", whole(2, THREADS), "threads that run at once (the cores, 2 to 4)", "threads", setting=True),
        _budget("seconds to spend at most (1, more for slow workloads)"),
        _timeout("seconds after which a lap that does not end is ended (60)"),
        _CORES,
        Argument("switchinterval", SWITCH_INTERVAL, "value for sys.setswitchinterval during the check", "s"),
        Argument("warmup", whole(0, 1_000_000), "untimed calls first (1)", "calls"),
        _SETUP,
    ),
    wing="scaling",
    figure=MainFigure(("speedup",), "times", bounds=("low", "high"), limit="threshold", at_least=True),
    units=_SECONDS
    | dict.fromkeys(("speedup", "low", "high", "ceiling", "threshold", "cpu_inflation"), "times")
    | dict.fromkeys(("efficiency", "held", "blocked", "denied"), "share")
    | dict.fromkeys(("call_seconds", "yardstick_before", "yardstick_after"), "s")
    | {"cores_used": "cores"},
    properties=("low", "high", "ceiling", "efficiency", "threshold", "threads", "cores_used", "cause", "rounds", "seconds", "held"),
    evidence_for="GA401",
)

INTERRUPT = Check(
    name="interrupt",
    marker="gil_interrupt",
    question="Does Ctrl-C work?",
    marker_help="run the test as the main thread of child processes, send them Ctrl-C at moments spread over its run, and fail "
    "unless its handler starts within 0.2 s and the process exits within 2 s after that",
    arguments=(
        Argument("within", SECONDS, "claim: the Python handler of a signal starts at most this long after it (0.2)", "s"),
        Argument("exits_within", SECONDS, "claim: the process exits at most this long after that (2)", "s"),
        Argument(
            "signals",
            Accepted("a signal's name or number, such as 'SIGINT' or 'SIGTERM', or a list of them", lambda value: True),
            "the signals to send ('SIGINT')",
        ),
        Argument("repeats", whole(1), "signals of each kind that must find the workload running (8)", "signals"),
        Argument("over", SECONDS, "seconds from the workload's start over which the moments are spread (1)", "s"),
        _SEED,
        _budget("seconds after which no more signals are sent (no bound)"),
        _timeout("seconds that the setup may take (60)"),
        _SETUP_WITH_FIXTURES,
    ),
    wing="interrupt",
    figure=MainFigure(("delivery_max",), "s", instead="signal_outcome", beyond="unhandled", limit="within"),
    units=_SECONDS | dict.fromkeys(("lasted", "over", "unhandled", *_DELAYS), "s"),
    properties=(
        "delivery_min", "delivery_median", "unwinding_max", "exit_max", "signals", "signal_outcome", "culprit", "seed", "seconds",
    ),
    in_children=True,
    evidence_for="GA402",
)  # fmt: skip

INJECTION = Check(
    name="injection",
    marker="gil_interrupt",
    question="Is it safe to interrupt?",
    marker_help="with inject='every-step': raise KeyboardInterrupt at each of the test's steps in turn, and fail if that breaks "
    "the invariant or leaves locks, threads or files",
    arguments=(
        Argument(
            "inject",
            one_of("every-step", "sample"),
            "'every-step': one run for each visible step, with an exception there; 'sample': for some of them",
        ),
        Argument(
            "invariant",
            FUNCTION,
            "a function that is called after each run; it is broken if it raises, or returns something false other than None",
            uses_fixtures=True,
        ),
        Argument(
            "exception",
            Accepted(
                "an exception, or a class of them",
                lambda value: isinstance(value, BaseException) or (isinstance(value, type) and issubclass(value, BaseException)),
            ),
            "what is raised (KeyboardInterrupt)",
        ),
        Argument(
            "include",
            ModuleNames(),
            "modules of libraries to step through (those that hold resources, such as contextlib and threading; () for none)",
        ),
        Argument(
            "first", whole(0), "how many steps to leave out, which an earlier check that ran out of time has tried (0)", "steps"
        ),
        Argument("sample", whole(1), "how many steps a sample has (100)", "steps"),
        _SEED,
        _budget("seconds for all runs (30)"),
        _timeout("seconds for one run (60)"),
        _SETUP_WITH_FIXTURES,
    ),
    wing="injection",
    figure=MainFigure(("steps",), "1", noun="steps", instead="unsafe"),
    units=_SECONDS | {"rate": "steps/s"},
    properties=("reachable", "tried", "broken", "seed", "seconds"),
    in_children=True,
    selected_by="inject",
    evidence_for="GA402",
)

LATENCY = Check(
    name="latency",
    marker="gil_latency",
    question="Does the rest of the process stay responsive?",
    marker_help="run the test in worker threads, over and over, and fail unless a heartbeat thread and an echo over a socket stay "
    "responsive beside it; without a claim: 99% at most 0.05 s late",
    arguments=(
        Argument("p99", PerBuild(seconds_between(0, 10)), "claim: 99% of other work is at most this late (0.05)", "s"),
        Argument("max", PerBuild(seconds_between(0, 10)), "claim: no other work is later than this", "s"),
        Argument("workers", whole(1, THREADS), "threads that run the workload (1)", "threads"),
        Argument(
            "think",
            seconds_between(0.0005, 1.0, ": an I/O thread that never idles always looks healthy"),
            "mean seconds that the echo's client idles between requests (0.002)",
            "s",
        ),
        Argument("loop", FLAG, "whether to measure an asyncio event loop too (False)"),
        Argument(
            "switchinterval",
            OneOrMore(SWITCH_INTERVAL),
            "value for sys.setswitchinterval; a list compares several, and the verdict is for the current one",
            "s",
        ),
        _CORES,
        _budget("seconds to spend at most (4, more for slow workloads)"),
        _timeout("seconds that one call of the workload may take (60)"),
        _SETUP,
    ),
    wing="latency",
    figure=MainFigure(
        ("heartbeat_beside_p99", "echo_beside_p99", "loop_beside_p99"),
        "s",
        limit="p99_limit",
        otherwise=MainFigure(("heartbeat_beside_max", "echo_beside_max", "loop_beside_max"), "s", limit="max_limit"),
    ),
    units=_SECONDS
    | dict.fromkeys(("requests_alone", "requests_beside"), "requests/s")
    | dict.fromkeys(("calls_alone", "calls_beside"), "calls/s")
    | dict.fromkeys(("switch_interval", "stall", "oversleep", "p99_limit", "max_limit", *_LATENESS), "s")
    | {"cores_used": "cores", "convoy": "times", "held": "share"},
    properties=(
        "workers", "heartbeat_alone_p99", "heartbeat_beside_p99", "echo_alone_p99", "echo_beside_p99", "loop_beside_p99", "convoy",
        "stall", "held", "cores_used", "rounds", "seconds",
    ),
    evidence_for="GA402",
)  # fmt: skip

FUZZ = Check(
    name="fuzz",
    marker="gil_fuzz",
    question="Does it survive every interleaving of its threads?",
    marker_help="run the test in that many threads under every schedule of at most 2 preemptions, then under sampled ones, and "
    "fail if one breaks it; function-scoped fixtures are set up anew for each schedule",
    arguments=(
        Argument(
            "threads",
            whole(1, THREADS),
            "threads that run the test's body (2); 1: the test as it is, with the threads that it starts itself",
            "threads",
            setting=True,
            marker_only=True,
        ),
        Argument(
            "fixtures",
            one_of("shared", "own"),
            "'shared': all threads use the same fixtures; 'own': each has its own instance, function-scoped fixtures, parameters "
            "and context, as two clients of one process have, and only what is wider is shared ('shared')",
            marker_only=True,
        ),
        Argument("preemptions", whole(0), "enumerate all schedules with at most this many preemptions (2)", "preemptions"),
        Argument("schedules", whole(1), "stop after exactly this many schedules, on any machine", "schedules", setting=True),
        _budget("seconds for the search (5; 60 with schedules=)"),
        _timeout("seconds of one run after which it hangs (20)"),
        _SEED,
        Argument(
            "mode",
            one_of("search", "exhaustive", "gil", "stress"),
            "'search': enumerate, then sample; 'exhaustive': enumerate or be inconclusive; 'gil': switch threads only where a GIL "
            "build can; 'stress': run for real, on a free-threaded build ('search')",
        ),
        Argument("replay", TOKEN, "the token of an earlier failure, to run that schedule instead of a search", setting=True),
        Argument("sensitivity", FLAG, "whether to search again without each lock in turn; the program must then fail (False)"),
        Argument("include", ModuleNames(), "modules that are under test although they belong to the standard library or a tool"),
        Argument(
            "invariant",
            FUNCTION,
            "a function that is called after each schedule; it is broken if it raises, or returns something false other than None",
            marker_only=True,
            uses_fixtures=True,
        ),
    ),
    wing="fuzz",
    figure=MainFigure(("schedules",), "1", noun="runs", instead="kind"),
    units=_SECONDS,
    properties=("symptom", "preemptions", "steps", "seed", "seconds"),
    exclusive=False,
    searches=True,
    evidence_for="GA403",
)

_MAPPING = Accepted("a mapping by name", lambda value: isinstance(value, Mapping))
_NAMES = Accepted(
    "a list of names",
    lambda value: isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(each, str) for each in value),
)
_SETTINGS = Accepted("settings(...) of hypothesis", lambda value: hasattr(value, "max_examples") and hasattr(value, "derandomize"))
_LIST = Accepted("a list", lambda value: isinstance(value, (list, tuple)), tuple)

LINEARIZABLE = Check(
    name="linearizable",
    marker="gil_linearizable",
    question="Is the class correct under threads?",
    marker_help="call the test for an object, draw programs of its operations, and fail if a schedule gives what no sequential "
    "order of the same operations does",
    arguments=(
        Argument("init", _LIST, "strategies of the constructor's arguments, or lists of values (inferred by names and types)"),
        Argument(
            "ops", _MAPPING, "operations by name, each with a list of strategies or values for its arguments (public methods)"
        ),
        Argument("values", _MAPPING, "values by the name of a parameter, for operations and the constructor, before inferred ones"),
        Argument("model", FUNCTION, "a simpler class with the same operations, which says what is right (the class itself)"),
        Argument("roles", _MAPPING, "the operations of each role by its name; each role is one thread (every thread does all)"),
        Argument("alone", _NAMES, "operations that never overlap others"),
        Argument("weak", _NAMES, "operations whose results are not compared; their exceptions are"),
        Argument(
            "final", FUNCTION, "what is looked at in the end, called with the object (public attributes that compare by value)"
        ),
        Argument(
            "order",
            one_of("linearizable", "sequential"),
            "'linearizable': an order keeps what came before in real time; 'sequential': it need not ('linearizable')",
        ),
        Argument(
            "waiting",
            one_of("strict", "visible"),
            "'strict': an operation that waits in an order ends it; 'visible': it goes on between two others ('strict')",
        ),
        Argument(
            "only",
            one_of("errors"),
            "'errors': fail for exceptions and for what waits for ever alone; results that no order gives are noted (all)",
        ),
        Argument("threads", whole(2, 3), "threads of each program (2)", "threads"),
        Argument("examples", whole(1), "programs that are drawn (max_examples of settings; 200)", "programs"),
        _budget("seconds for all programs (60)"),
        _timeout("seconds of one run after which it hangs (5)"),
        _SEED,
        Argument("include", ModuleNames(), "modules that are under test although they belong to the standard library or a tool"),
        Argument("settings", _SETTINGS, "hypothesis' settings: max_examples, database and derandomize count (the loaded profile)"),
        Argument(
            "stress",
            FLAG,
            "run programs with real threads instead of a search, also of a class in C; on a free-threaded build alone (False)",
        ),
        Argument("program", _LIST, "one program in place of drawn ones: rows of a lane, an operation and its arguments"),
        Argument("replay", TOKEN, "the token of an earlier failure, to run that schedule instead of a search", setting=True),
    ),
    wing="linear",
    figure=MainFigure(("programs",), "1", noun="programs", instead="kind"),
    units=_SECONDS,
    properties=("cause", "preemptions", "schedules", "runs", "hits", "pairs", "overlapped", "seed", "seconds"),
    exclusive=False,
    evidence_for="GA403",
    makes=True,
    borrows=MappingProxyType({"tell": "fuzz.explaining.explain:explain"}),
)

CHECKS = {check.name: check for check in (SCALING, INTERRUPT, INJECTION, LATENCY, FUZZ, LINEARIZABLE)}
MEASUREMENTS = ("curve", "probe")  # on record too, without a claim and so without a verdict
SWEEP = "sweep"  # on record for a cause that a sweep has found, and for a whole sweep
ENDED_EARLY = "test"  # on record for a test that ended before the check that it would have called
MARKERS: dict[str, tuple[Check, ...]] = {
    name: tuple(check for check in CHECKS.values() if check.marker == name)
    for name in dict.fromkeys(check.marker for check in CHECKS.values())
}
UNITS: dict[str, str] = {name: unit for check in CHECKS.values() for name, unit in check.units.items()}
"""The unit of each figure that is not a plain count or a word."""


def marker_line(name: str) -> str:
    """The line of ``pytest --markers`` for one of our markers."""
    variants = MARKERS[name]
    arguments = "; or ".join(", ".join(f"{argument.name}=" for argument in check.arguments) for check in variants)
    return f"{name}({arguments}): {'; '.join(check.marker_help for check in variants)}."


def selected(marker: str, given: Mapping[str, object]) -> Check:
    """The check that these arguments of a marker, or of a call, select."""
    variants = MARKERS[marker]
    for check in variants:
        if check.selected_by and given.get(check.selected_by) is not None:
            return check
    return next(check for check in variants if not check.selected_by)
