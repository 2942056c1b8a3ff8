"""The experiments of a probe. Each starts a fresh interpreter, controls it from outside, and returns a figure for each of its rows.

An experiment that fails raises `session.ExperimentFailed`. If a part of it fails, the figure of that part is missing, with the
reason.

A speedup is a median of ratios: of a sequential and a threaded lap right after each other, in alternating order. Two virtual cores
may run at different speeds for seconds at a time; a comparison of two long runs would report that difference as a speedup.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median, quantiles

from ..core.clocks import time
from ..core.cores import CAN_PIN, affinity
from .result import BYTES, RATE, RATIO, SECONDS, Figure, Figures
from .rows import COROUTINES, PLACES, THREADS
from .session import ExperimentFailed, InterpreterGone, InterpreterProcess, InterpreterSession, NoAnswer, resident

_PING = b"x" * 64
_THINK = (0.001, 0.002)  # seconds between pings; without pauses the echo thread never waits for the GIL again
_SETTLED = (0.15, 0.25)  # seconds for the main thread to reach the place at which it is interrupted
_DISTURBED = 0.15  # cores used by other processes, from which a lap counts as disturbed
_HANDLER_TIME = 3.0  # seconds for the signal handler to answer
_FIRST = 20  # started before memory is measured: the first ones allocate what all share
_OUTPUT = "import sys; sys.stdout.write('x'); sys.stdout.flush(); sys.stdin.read()"


@dataclass(frozen=True)
class Effort:
    """How much each experiment measures.

    Attributes:
        unit: seconds of a workload in one thread.
        pairs: number of pairs of laps.
        rounds: rounds of the echo, each alone and beside one and two busy threads.
        window: seconds of pings in a round.
        signals: signals for each place.
        wakeups: wake-ups of the second thread.
        starts: number of processes started.
        warm: seconds of warm-up for an interpreter with a JIT compiler.
    """

    unit: float = 0.15
    pairs: int = 7
    rounds: int = 3
    window: float = 0.8
    signals: int = 5
    wakeups: int = 150
    starts: int = 5
    warm: float = 3.0


THOROUGH = Effort()
QUICK = Effort(0.1, 4, 2, 0.5, 3, 80, 3, 1.5)


@dataclass(frozen=True)
class ExperimentContext:
    """What an experiment needs.

    Attributes:
        command: the interpreter's command line.
        effort: how much each experiment measures.
        answer_timeout: seconds that an answer may take.
        warm: seconds of warm-up; 0 for an interpreter without a JIT compiler.
    """

    command: list[str]
    effort: Effort
    answer_timeout: float
    warm: float = 0.0

    def start(self, cores: int | None = None) -> InterpreterSession:
        """Start an interpreter; ``cores`` pins it to this many cores."""
        return InterpreterSession(self.command, cores=cores, answer_timeout=self.answer_timeout)


def count(context: ExperimentContext) -> Figures:
    """Two threads count down, on all cores and on one core in alternation."""
    with ExitStack() as stack:
        free = stack.enter_context(context.start())
        n = _prepared(free, "count", context)
        pinned = stack.enter_context(context.start(1)) if CAN_PIN and affinity() > 1 else None
        if pinned is not None:
            _prepared(pinned, "count", context)  # as a warm-up; both interpreters use the same count
        laps = _mostly_undisturbed(
            context, lambda at: [_pair(interpreter, "count", n, at) for interpreter in (free, pinned) if interpreter is not None]
        )
    figures = {"count": _speedup([lap[0] for lap in laps]), "count_unit": _unit([lap[0] for lap in laps], n)}
    if pinned is None:
        why = "there is only one core" if CAN_PIN else "this platform cannot keep a process on one core"
        return figures | dict.fromkeys(("count_one_core", "count_cores"), Figure.missing(why))
    figures["count_one_core"] = _speedup([one for _, one in laps])
    figures["count_cores"] = Figure.median_of(
        [one.threads / free.threads for free, one in laps], RATIO, _disturbance_note([lap[0] for lap in laps])
    )
    return figures


def json(context: ExperimentContext) -> Figures:
    """Two threads call ``json.dumps``, which holds the GIL."""
    n, laps = _laps(context, "json")
    return {"json": _speedup(laps), "json_unit": _unit(laps, n)}


def sha256(context: ExperimentContext) -> Figures:
    """Two threads call ``hashlib``, which releases the GIL."""
    return {"sha256": _speedup(_laps(context, "sha256")[1])}


def sleep(context: ExperimentContext) -> Figures:
    """Two threads sleep."""
    with context.start() as interpreter:
        n = _prepared(interpreter, "sleep", context)
        pairs = [_pair(interpreter, "sleep", n, at) for at in range(context.effort.pairs)]
    ratios = [pair.sequence / pair.threads for pair in pairs]  # of all laps: sleeping needs no core, so no lap is disturbed
    return {"sleep": Figure.median_of(ratios, RATIO)}


def convoy(context: ExperimentContext) -> Figures:
    """Send pings to an echo thread, alone and beside busy threads. Each round has all three, so that drift affects all alike."""
    answers: dict[int, list[float]] = {0: [], 1: [], 2: []}
    rates: dict[int, list[float]] = {0: [], 1: [], 2: []}
    why = ""
    with context.start() as interpreter:
        port, key = interpreter.connection()
        interpreter.send("echo", port=port, key=key)
        line = interpreter.accept(key)
        interpreter.receive()
        line.settimeout(context.answer_timeout)
        _pings(line, context.effort.window / 4 + context.warm)
        try:
            for _ in range(context.effort.rounds):
                for number in answers:
                    interpreter.request("busy_threads", number=number)
                    times, rate = _pings(line, context.effort.window)
                    answers[number] += times
                    rates[number].append(rate)
                interpreter.request("busy_threads", number=0)
        except ExperimentFailed as error:
            why = str(error)
    figures: dict[str, Figure] = {}
    for number, times in answers.items():
        name = f"convoy_{number}"
        if len(times) < 2:
            figures |= {f"{name}{part}": Figure.missing(why or "too few answers") for part in ("_p50", "_p99", "_rate", "")}
            continue
        cuts = quantiles(times, n=100, method="inclusive")
        figures[f"{name}_p50"] = Figure(cuts[49], SECONDS, count=len(times))
        figures[f"{name}_p99"] = Figure(cuts[98], SECONDS, count=len(times))
        figures[f"{name}_rate"] = Figure.median_of(rates[number], RATE)
        figures[name] = Figure.median_of([alone / beside for alone, beside in zip(rates[0], rates[number], strict=False)], RATIO)
    del figures["convoy_0"]
    return figures


def interrupt(context: ExperimentContext) -> Figures:
    """Send SIGINT, with the main thread in each of `PLACES`."""
    return {f"interrupt_{place}": _signal_trials(context, place) for place in PLACES}


def wakeups(context: ExperimentContext) -> Figures:
    """Measure how late a second thread runs after a sleep, alone and beside a busy thread."""
    late: dict[int, list[float]] = {0: [], 1: []}
    with context.start() as interpreter:
        if context.warm:
            interpreter.request("wakeups", times=int(context.warm / 0.003), busy_threads=1)
        for _ in range(2):
            for number, values in late.items():
                answer = interpreter.request("wakeups", times=context.effort.wakeups // 2, busy_threads=number)
                values += [interpreter.number(value) for value in answer.get("late", ())]
    if min(map(len, late.values())) < 2:
        raise ExperimentFailed("its answer contains no times")
    p99 = quantiles(late[1], n=100, method="inclusive")[98]
    return {
        "wakeups_alone": Figure(median(late[0]), SECONDS, count=len(late[0])),
        "wakeups_beside_p50": Figure(median(late[1]), SECONDS, count=len(late[1])),
        "wakeups_beside_p99": Figure(p99, SECONDS, count=len(late[1])),
    }


def cost(context: ExperimentContext) -> Figures:
    """Measure the time and memory of a process, a thread and a coroutine that only wait."""
    figures: dict[str, Figure] = {}
    for names, measure in (
        (("cost_process", "cost_process_memory"), _processes),
        (("cost_thread", "cost_thread_memory"), _threads),
        (("cost_coroutine", "cost_coroutine_memory"), _coroutines),
    ):
        try:
            figures |= zip(names, measure(context), strict=True)
        except ExperimentFailed as error:
            figures |= dict.fromkeys(names, Figure.missing(str(error)))
    return figures


def _prepared(interpreter: InterpreterSession, work: str, context: ExperimentContext) -> int:
    answer = interpreter.request("prepare", work=work, seconds=context.effort.unit, warm=context.effort.warm)
    return max(1, int(interpreter.number(answer.get("n"))))


@dataclass(frozen=True)
class _LapPair:
    """A sequential and a threaded lap.

    Attributes:
        sequence, threads: seconds of each.
        others: cores that other processes and the hypervisor used meanwhile.
    """

    sequence: float
    threads: float
    others: float


def _pair(interpreter: InterpreterSession, work: str, n: int, at: int) -> _LapPair:
    """Measure one pair of laps; the sequential lap comes first if ``at`` is even."""
    before, start = _used(interpreter), time.perf_counter()
    answer = interpreter.request("pair", work=work, n=n, sequence_first=at % 2 == 0)
    others = (_used(interpreter) - before) / (time.perf_counter() - start)
    sequence, threads = interpreter.number(answer.get("sequence")), interpreter.number(answer.get("threads"))
    if min(sequence, threads) <= 0:
        raise InterpreterGone("its clock does not advance")
    return _LapPair(sequence, threads, max(0.0, others))


def _used(interpreter: InterpreterSession) -> float:
    """Return the CPU seconds used so far by every process other than the probed interpreter and this one."""
    import psutil  # slow to import

    machine = psutil.cpu_times()
    idle = sum(
        getattr(machine, name, 0.0) for name in ("idle", "iowait", "interpreter", "guest_nice")
    )  # the time of virtual guests is part of the user time as well
    return float(sum(machine) - idle - time.process_time() - interpreter.cpu())


def _mostly_undisturbed(context: ExperimentContext, measure: Callable[[int], list[_LapPair]]) -> list[list[_LapPair]]:
    """Measure until there are enough undisturbed laps, at most twice as many laps in all.

    The speedup on cores that other processes use is random: two busy neighbours on two cores gave 1.5x for a loop that a GIL keeps
    at 1.0x. So disturbed laps are left out if enough others remain.
    """
    laps: list[list[_LapPair]] = []
    undisturbed: list[list[_LapPair]] = []
    while len(undisturbed) < context.effort.pairs and len(laps) < 2 * context.effort.pairs:
        laps.append(measure(len(laps)))
        if all(pair.others < _DISTURBED for pair in laps[-1]):
            undisturbed.append(laps[-1])
    return undisturbed if len(undisturbed) > context.effort.pairs / 2 else laps


def _disturbance_note(pairs: list[_LapPair]) -> str:
    if (others := median(pair.others for pair in pairs)) < _DISTURBED:
        return ""
    return f"doubtful: other processes used {others:.1f} of {affinity()} cores"


def _laps(context: ExperimentContext, work: str) -> tuple[int, list[_LapPair]]:
    with context.start() as interpreter:
        n = _prepared(interpreter, work, context)
        return n, [pair for [pair] in _mostly_undisturbed(context, lambda at: [_pair(interpreter, work, n, at)])]


def _speedup(pairs: list[_LapPair]) -> Figure:
    return Figure.median_of([pair.sequence / pair.threads for pair in pairs], RATIO, _disturbance_note(pairs))


def _unit(pairs: list[_LapPair], n: int) -> Figure:
    return Figure.median_of([pair.sequence / 2 / n for pair in pairs], SECONDS, _disturbance_note(pairs))


def _pings(line: socket.socket, seconds: float) -> tuple[list[float], float]:
    """Return the seconds that each answer took, and the answers in a second, pauses included.

    The seconds count from the moment a ping was sent, not from its intended time: this process causes a pause that is too long.

    Raises:
        ExperimentFailed: there was no answer.
    """
    times: list[float] = []
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds or len(times) < 2:
        time.sleep(random.uniform(*_THINK))
        sent = time.perf_counter()
        try:
            line.sendall(_PING)
            missing = len(_PING)
            while missing:
                if not (part := line.recv(missing)):
                    raise InterpreterGone("its echo thread closed the connection")
                missing -= len(part)
        except TimeoutError:
            raise NoAnswer(f"a ping was not answered in {line.gettimeout():g} s") from None
        except OSError:
            raise InterpreterGone("its echo thread closed the connection") from None
        times.append(time.perf_counter() - sent)
    return times, len(times) / passed


def _signal_trials(context: ExperimentContext, place: str) -> Figure:
    """Send signals one after the other; after two without an answer, stop."""
    delivered: list[float] = []
    whole: list[float] = []
    elsewhere = stayed = lost = early = 0
    why = ""
    interpreter: InterpreterSession | None = None
    try:
        for _ in range(context.effort.signals):
            if interpreter is None:
                interpreter = context.start()
            trial = _signal_trial(interpreter, place)
            if trial.delivery is not None:
                delivered.append(trial.delivery)
            if trial.whole is not None:
                whole.append(trial.whole)
            elsewhere += trial.elsewhere
            lost += trial.delivery is None and not trial.early
            early += trial.early
            stayed += trial.stuck and trial.delivery is not None
            if trial.stuck:
                interpreter.close()
                interpreter = None
                if lost >= 2 or stayed >= 2:
                    break
    except ExperimentFailed as error:
        why = str(error)
    finally:
        if interpreter is not None:
            interpreter.close()
    tried = len(delivered) + lost
    notes = [f"{lost} of {tried} not within {_HANDLER_TIME:g} s"] if lost and delivered else []
    if elsewhere:
        notes.append("the handler ran in another thread; the main thread continued")
    elif stayed:
        notes.append(f"the main thread stayed there {stayed} of {tried} times")
    if place == "c" and whole:
        notes.append(f"the operation took {median(whole):.2g} s")
    if early and not why:
        why = f"{early} times, the main thread had left that place before the handler ran"
    if why:
        notes.append(why)
    if delivered:
        return Figure.median_of(delivered, SECONDS, "; ".join(notes))
    if lost:
        return Figure.missing("; ".join([f"not within {_HANDLER_TIME:g} s ({lost} of {tried})", *notes]))
    return Figure.missing(why)


@dataclass(frozen=True)
class _SignalTrial:
    """The result of one signal.

    Attributes:
        delivery: seconds until the handler answered; None if it did not answer in time.
        whole: seconds of the operation that was to be interrupted, if it ran to its end.
        elsewhere: the handler ran in another thread, and did not interrupt the main thread.
        stuck: the main thread has not left the place, so this interpreter cannot be used again.
        early: the main thread left the place before the handler ran, for instance because the operation was calibrated on a busy
            core. Such a trial is discarded, and a new interpreter is started.
    """

    delivery: float | None
    whole: float | None = None
    elsewhere: bool = False
    stuck: bool = False
    early: bool = False


def _signal_trial(interpreter: InterpreterSession, place: str) -> _SignalTrial:
    interpreter.send("interrupt", place=place)
    interpreter.expect("ready")
    time.sleep(random.uniform(*_SETTLED))
    sent = interpreter.interrupt()
    try:
        caught = interpreter.receive(_HANDLER_TIME)
    except NoAnswer:
        return _SignalTrial(None, stuck=True)
    if "caught" not in caught:
        return _SignalTrial(None, stuck=True, early=True)
    delivery = time.perf_counter() - sent
    try:
        left = interpreter.expect("left", _HANDLER_TIME)
    except NoAnswer:
        return _SignalTrial(delivery, elsewhere=not caught.get("main"), stuck=True)
    whole = interpreter.number(left.get("seconds")) if place == "c" else None
    return _SignalTrial(delivery, whole, elsewhere=not caught.get("main"))


def _processes(context: ExperimentContext) -> tuple[Figure, Figure]:
    times: list[float] = []
    sizes: list[float] = []
    for _ in range(context.effort.starts):
        with InterpreterProcess([*context.command, "-c", _OUTPUT], pipes=True) as program:
            times.append(program.first_output(context.answer_timeout))
            sizes.append(resident(program.process.pid))
    return Figure.median_of(times, SECONDS), Figure.median_of(sizes, BYTES)


def _threads(context: ExperimentContext) -> tuple[Figure, Figure]:
    return _held(context, "threads", THREADS)


def _coroutines(context: ExperimentContext) -> tuple[Figure, Figure]:
    return _held(context, "coroutines", COROUTINES)


def _held(context: ExperimentContext, what: str, number: int) -> tuple[Figure, Figure]:
    """Return the seconds and bytes of one thread or coroutine, where ``number`` of them wait at once."""
    with context.start() as interpreter:
        interpreter.request(what, number=_FIRST)
        interpreter.request("release")
        before = interpreter.memory()
        begun = interpreter.request(what, number=number)
        grown = interpreter.memory() - before
        ended = interpreter.request("release")
    seconds = interpreter.number(begun.get("seconds")) + interpreter.number(ended.get("seconds"))
    kind = begun.get("kind")
    note = "" if kind in (None, "asyncio") else f"a {kind}: no asyncio"
    return Figure(seconds / number, SECONDS, note=note), Figure(max(0, grown) / number, BYTES, note=note)


EXPERIMENTS: Mapping[str, Callable[[ExperimentContext], Figures]] = {
    "count": count,
    "json": json,
    "sha256": sha256,
    "sleep": sleep,
    "convoy": convoy,
    "interrupt": interrupt,
    "wakeups": wakeups,
    "cost": cost,
}
