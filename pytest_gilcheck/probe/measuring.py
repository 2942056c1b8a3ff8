"""The experiments, driven from outside: each gets a fresh interpreter, and hands back a figure for each of its rows.

An experiment that fails raises `session.Failed`; a part of one that fails is a figure which says why.

Speedups are medians of ratios: a lap in sequence and a lap in threads right after each other, in changing order. Two virtual
cores may run at different speeds for seconds at a time, which a comparison of one long run with another takes for a result.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median, quantiles

from ..core.cores import CAN_PIN, affinity
from .result import BYTES, RATE, RATIO, SECONDS, Figure, Figures
from .rows import COROUTINES, PLACES, THREADS
from .session import Failed, Gone, Guest, NoAnswer, Program, resident

_PING = b"x" * 64
_THINK = (0.001, 0.002)  # seconds between pings: without any, the echo thread never lets go of the GIL for long
_SETTLED = (0.15, 0.25)  # seconds that a thread gets to be where it is to be interrupted
_DISTURBED = 0.15  # cores that others take, from which on a lap says little
_SHOT = 3.0  # seconds for the handler to answer
_FIRST = 20  # of each, before memory is measured: the first ones pay for what all share
_OUTPUT = "import sys; sys.stdout.write('x'); sys.stdout.flush(); sys.stdin.read()"


@dataclass(frozen=True)
class Effort:
    """How much of everything.

    Attributes:
        unit: seconds that one count in one thread takes.
        pairs: of laps.
        rounds: of the echo, alone and beside one and two busy threads.
        window: seconds of pings.
        shots: signals for each place.
        turns: of the second thread.
        starts: of processes.
        warm: seconds that a compiler gets to see a workload.
    """

    unit: float = 0.15
    pairs: int = 7
    rounds: int = 3
    window: float = 0.8
    shots: int = 5
    turns: int = 150
    starts: int = 5
    warm: float = 3.0


THOROUGH = Effort()
QUICK = Effort(0.1, 4, 2, 0.5, 3, 80, 3, 1.5)


@dataclass(frozen=True)
class Bench:
    """What an experiment needs.

    Attributes:
        command: the interpreter's command line.
        effort: how much of everything.
        patience: seconds that an answer may take.
        warm: seconds that its compiler gets, if it has one.
    """

    command: list[str]
    effort: Effort
    patience: float
    warm: float = 0.0

    def guest(self, cores: int | None = None) -> Guest:
        return Guest(self.command, cores=cores, patience=self.patience)


def count(bench: Bench) -> Figures:
    """Two threads that count down, on all cores and on one, in turn."""
    with ExitStack() as stack:
        free = stack.enter_context(bench.guest())
        n = _prepared(free, "count", bench)
        pinned = stack.enter_context(bench.guest(1)) if CAN_PIN and affinity() > 1 else None
        if pinned is not None:
            _prepared(pinned, "count", bench)  # to warm it up; both count as far
        laps = _until_clean(bench, lambda at: [_pair(guest, "count", n, at) for guest in (free, pinned) if guest is not None])
    figures = {"count": _speedup([lap[0] for lap in laps]), "count_unit": _unit([lap[0] for lap in laps], n)}
    if pinned is None:
        why = "there is only one core" if CAN_PIN else "this platform cannot keep a process on one core"
        return figures | dict.fromkeys(("count_one_core", "count_cores"), Figure.missing(why))
    figures["count_one_core"] = _speedup([one for _, one in laps])
    figures["count_cores"] = Figure.middle(
        [one.threads / free.threads for free, one in laps], RATIO, _doubt([lap[0] for lap in laps])
    )
    return figures


def json(bench: Bench) -> Figures:
    """Two threads in ``json.dumps``, which holds the GIL."""
    n, laps = _laps(bench, "json")
    return {"json": _speedup(laps), "json_unit": _unit(laps, n)}


def sha256(bench: Bench) -> Figures:
    """Two threads in ``hashlib``, which releases the GIL where there is one."""
    return {"sha256": _speedup(_laps(bench, "sha256")[1])}


def sleep(bench: Bench) -> Figures:
    """Two threads that wait."""
    with bench.guest() as guest:
        n = _prepared(guest, "sleep", bench)
        pairs = [_pair(guest, "sleep", n, at) for at in range(bench.effort.pairs)]
    return {"sleep": Figure.middle([pair.sequence / pair.threads for pair in pairs], RATIO)}  # whoever has the cores


def convoy(bench: Bench) -> Figures:
    """Pings from outside to an echo thread, alone and beside busy threads; rounds of all three, so that drift hits all alike."""
    answers: dict[int, list[float]] = {0: [], 1: [], 2: []}
    rates: dict[int, list[float]] = {0: [], 1: [], 2: []}
    why = ""
    with bench.guest() as guest:
        port, key = guest.connection()
        guest.tell("echo", port=port, key=key)
        line = guest.accept(key)
        guest.hear()
        line.settimeout(bench.patience)
        _pings(line, bench.effort.window / 4 + bench.warm)
        try:
            for _ in range(bench.effort.rounds):
                for number in answers:
                    guest.ask("burners", number=number)
                    times, rate = _pings(line, bench.effort.window)
                    answers[number] += times
                    rates[number].append(rate)
                guest.ask("burners", number=0)
        except Failed as error:
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
        figures[f"{name}_rate"] = Figure.middle(rates[number], RATE)
        figures[name] = Figure.middle([alone / beside for alone, beside in zip(rates[0], rates[number], strict=False)], RATIO)
    del figures["convoy_0"]
    return figures


def interrupt(bench: Bench) -> Figures:
    """SIGINT from outside, with the main thread in one place after the other."""
    return {f"interrupt_{place}": _shots(bench, place) for place in PLACES}


def turns(bench: Bench) -> Figures:
    """A second thread that sleeps and wants to go on, alone and beside a busy one."""
    late: dict[int, list[float]] = {0: [], 1: []}
    with bench.guest() as guest:
        if bench.warm:
            guest.ask("turns", times=int(bench.warm / 0.003), burners=1)
        for _ in range(2):
            for number, values in late.items():
                answer = guest.ask("turns", times=bench.effort.turns // 2, burners=number)
                values += [guest.number(value) for value in answer.get("late", ())]
    if min(map(len, late.values())) < 2:
        raise Failed("its answer has no times")
    p99 = quantiles(late[1], n=100, method="inclusive")[98]
    return {
        "turns_alone": Figure(median(late[0]), SECONDS, count=len(late[0])),
        "turns_beside_p50": Figure(median(late[1]), SECONDS, count=len(late[1])),
        "turns_beside_p99": Figure(p99, SECONDS, count=len(late[1])),
    }


def cost(bench: Bench) -> Figures:
    """What a process, a thread and a coroutine cost that do nothing but wait."""
    figures: dict[str, Figure] = {}
    for names, measure in (
        (("cost_process", "cost_process_memory"), _processes),
        (("cost_thread", "cost_thread_memory"), _threads),
        (("cost_coroutine", "cost_coroutine_memory"), _coroutines),
    ):
        try:
            figures |= zip(names, measure(bench), strict=True)
        except Failed as error:
            figures |= dict.fromkeys(names, Figure.missing(str(error)))
    return figures


def _prepared(guest: Guest, work: str, bench: Bench) -> int:
    answer = guest.ask("prepare", work=work, seconds=bench.effort.unit, warm=bench.effort.warm)
    return max(1, int(guest.number(answer.get("n"))))


@dataclass(frozen=True)
class _Pair:
    """A lap in sequence and a lap in threads.

    Attributes:
        sequence, threads: seconds.
        others: cores that other programs, and the hypervisor, took meanwhile.
    """

    sequence: float
    threads: float
    others: float


def _pair(guest: Guest, work: str, n: int, at: int) -> _Pair:
    """One pair; which lap comes first changes: ABBA."""
    before, start = _used(guest), time.perf_counter()
    answer = guest.ask("pair", work=work, n=n, sequence_first=at % 2 == 0)
    others = (_used(guest) - before) / (time.perf_counter() - start)
    sequence, threads = guest.number(answer.get("sequence")), guest.number(answer.get("threads"))
    if min(sequence, threads) <= 0:
        raise Gone("its clock stands still")
    return _Pair(sequence, threads, max(0.0, others))


def _used(guest: Guest) -> float:
    """CPU seconds that all have used so far but the guest and we."""
    import psutil  # slow to import

    machine = psutil.cpu_times()
    idle = sum(getattr(machine, name, 0.0) for name in ("idle", "iowait", "guest", "guest_nice"))  # guests count as users too
    return float(sum(machine) - idle - time.process_time() - guest.cpu())


def _until_clean(bench: Bench, measure: Callable[[int], list[_Pair]]) -> list[list[_Pair]]:
    """Measure until enough was measured undisturbed, or twice as often as that.

    Speedup on cores that others use is luck: threads get a core where one thread alone does not, or the other way round. Two
    busy neighbours on two cores made 1.5x of a loop that a GIL keeps at 1.0x. So disturbed laps are left out, if enough remain.
    """
    laps: list[list[_Pair]] = []
    clean: list[list[_Pair]] = []
    while len(clean) < bench.effort.pairs and len(laps) < 2 * bench.effort.pairs:
        laps.append(measure(len(laps)))
        if all(pair.others < _DISTURBED for pair in laps[-1]):
            clean.append(laps[-1])
    return clean if len(clean) > bench.effort.pairs / 2 else laps


def _doubt(pairs: list[_Pair]) -> str:
    if (others := median(pair.others for pair in pairs)) < _DISTURBED:
        return ""
    return f"doubtful: others took {others:.1f} of {affinity()} cores"


def _laps(bench: Bench, work: str) -> tuple[int, list[_Pair]]:
    with bench.guest() as guest:
        n = _prepared(guest, work, bench)
        return n, [pair for [pair] in _until_clean(bench, lambda at: [_pair(guest, work, n, at)])]


def _speedup(pairs: list[_Pair]) -> Figure:
    return Figure.middle([pair.sequence / pair.threads for pair in pairs], RATIO, _doubt(pairs))


def _unit(pairs: list[_Pair], n: int) -> Figure:
    return Figure.middle([pair.sequence / 2 / n for pair in pairs], SECONDS, _doubt(pairs))


def _pings(line: socket.socket, seconds: float) -> tuple[list[float], float]:
    """Seconds that each answer took, and answers in a second, pauses included.

    They count from when a ping was sent, not from when it was due: a pause that was too long is this process's doing.

    Raises:
        Failed: there was no answer.
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
                    raise Gone("its echo closed the connection")
                missing -= len(part)
        except TimeoutError:
            raise NoAnswer(f"a ping was not answered in {line.gettimeout():g} s") from None
        except OSError:
            raise Gone("its echo closed the connection") from None
        times.append(time.perf_counter() - sent)
    return times, len(times) / passed


def _shots(bench: Bench, place: str) -> Figure:
    """Signals one after the other; a place where two got no answer gets no third."""
    delivered: list[float] = []
    whole: list[float] = []
    elsewhere = stayed = lost = early = 0
    why = ""
    guest: Guest | None = None
    try:
        for _ in range(bench.effort.shots):
            if guest is None:
                guest = bench.guest()
            shot = _shot(guest, place)
            if shot.delivery is not None:
                delivered.append(shot.delivery)
            if shot.whole is not None:
                whole.append(shot.whole)
            elsewhere += shot.elsewhere
            lost += shot.delivery is None and not shot.early
            early += shot.early
            stayed += shot.stuck and shot.delivery is not None
            if shot.stuck:
                guest.close()
                guest = None
                if lost >= 2 or stayed >= 2:
                    break
    except Failed as error:
        why = str(error)
    finally:
        if guest is not None:
            guest.close()
    tried = len(delivered) + lost
    notes = [f"{lost} of {tried} not within {_SHOT:g} s"] if lost and delivered else []
    if elsewhere:
        notes.append("in a thread of its own: the main thread goes on")
    elif stayed:
        notes.append(f"the main thread stayed there {stayed} of {tried} times")
    if place == "c" and whole:
        notes.append(f"the operation took {median(whole):.2g} s")
    if early and not why:
        why = f"{early} times, the main thread was gone from there before the handler ran"
    if why:
        notes.append(why)
    if delivered:
        return Figure.middle(delivered, SECONDS, "; ".join(notes))
    if lost:
        return Figure.missing("; ".join([f"not within {_SHOT:g} s ({lost} of {tried})", *notes]))
    return Figure.missing(why)


@dataclass(frozen=True)
class _Shot:
    """One signal.

    Attributes:
        delivery: seconds until the handler answered; None if it did not in time.
        whole: seconds that the operation took that was to be interrupted, if it ran to its end.
        elsewhere: the handler ran in another thread, and the main thread did not leave its place for it.
        stuck: the main thread is still there; this interpreter is of no more use.
        early: the main thread left by itself before the handler ran; where its speed was measured on a busy core, for instance. It
            says nothing, and a new interpreter measures anew.
    """

    delivery: float | None
    whole: float | None = None
    elsewhere: bool = False
    stuck: bool = False
    early: bool = False


def _shot(guest: Guest, place: str) -> _Shot:
    guest.tell("interrupt", place=place)
    guest.expect("ready")
    time.sleep(random.uniform(*_SETTLED))
    sent = guest.interrupt()
    try:
        caught = guest.hear(_SHOT)
    except NoAnswer:
        return _Shot(None, stuck=True)
    if "caught" not in caught:
        return _Shot(None, stuck=True, early=True)
    delivery = time.perf_counter() - sent
    try:
        left = guest.expect("left", _SHOT)
    except NoAnswer:
        return _Shot(delivery, elsewhere=not caught.get("main"), stuck=True)
    whole = guest.number(left.get("seconds")) if place == "c" else None
    return _Shot(delivery, whole, elsewhere=not caught.get("main"))


def _processes(bench: Bench) -> tuple[Figure, Figure]:
    times: list[float] = []
    sizes: list[float] = []
    for _ in range(bench.effort.starts):
        with Program([*bench.command, "-c", _OUTPUT], talks=True) as program:
            times.append(program.first_output(bench.patience))
            sizes.append(resident(program.process.pid))
    return Figure.middle(times, SECONDS), Figure.middle(sizes, BYTES)


def _threads(bench: Bench) -> tuple[Figure, Figure]:
    return _held(bench, "threads", THREADS)


def _coroutines(bench: Bench) -> tuple[Figure, Figure]:
    return _held(bench, "coroutines", COROUTINES)


def _held(bench: Bench, what: str, number: int) -> tuple[Figure, Figure]:
    """Seconds and bytes for each of so many that wait at once."""
    with bench.guest() as guest:
        guest.ask(what, number=_FIRST)
        guest.ask("release")
        before = guest.memory()
        begun = guest.ask(what, number=number)
        grown = guest.memory() - before
        ended = guest.ask("release")
    seconds = guest.number(begun.get("seconds")) + guest.number(ended.get("seconds"))
    kind = begun.get("kind")
    note = "" if kind in (None, "asyncio") else f"a {kind}: no asyncio"
    return Figure(seconds / number, SECONDS, note=note), Figure(max(0, grown) / number, BYTES, note=note)


EXPERIMENTS: Mapping[str, Callable[[Bench], Figures]] = {
    "count": count,
    "json": json,
    "sha256": sha256,
    "sleep": sleep,
    "convoy": convoy,
    "interrupt": interrupt,
    "turns": turns,
    "cost": cost,
}
