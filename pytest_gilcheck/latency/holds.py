"""How long each place keeps the GIL once another thread has asked for it: what tells a C call from bytecode.

Bytecode releases the GIL as soon as it is asked, which is a switch interval after another thread began to wait. A C call releases
it when it returns. A wait beside a call that is about as long as the switch interval is like a wait beside bytecode. So for one
window the interval is short, and one thread, with no other probe beside it, takes samples: it sleeps, waits for the GIL, and reads
the CPU time that the holder has used meanwhile. That is the short interval beside bytecode, and beside a C call the rest of it.

CPU time, because on a busy machine the wait itself is as long as the machine likes. A sample counts only if the sampler had a core
as soon as its sleep was over: until then it has not asked for the GIL. It sleeps in a read of a timer, which counts its ticks until
the thread really runs again, before it waits for the GIL. A holder that used next to no CPU time, such as C code that sleeps with
the GIL, kept it for the wait without the time for which a thread had no core.

Random moments are not needed: the workload gets the GIL back when the sampler begins to sleep. So a sleep that is short against the
call sees nearly the whole of it.

What does not work, at a load of 16 on two cores:

- To subtract the time without a core from each wait: half of the waits beside a call of 3 ms are 0 then.
- To count the samples in which the sampler never lacked a core: it lacks one after it got the GIL too, so that a window has no
  sample of a call of 5 ms, and hundreds of bytecode.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import closing

from ..core.clocks import time
from ..core.descriptors import DescriptorLost
from ..core.gil_holders import HolderPlace, Holders
from ..core.interpreter import switch_interval
from .lateness import Wait
from .load import Load
from .run_queue_clock import RunQueueClock
from .ticks import TICK, NoTicks, Ticks
from .window import Probe, Window

SHORT = 0.0002  # seconds of the switch interval during the samples
_CHANCE = random.Random()  # the workload may have seeded the one of the module
_SLEEP = (1, 5)  # ticks, at least and at most
_PROMPT = 8  # ticks that a sleep may take for its sample to count
_RAN = 0.5  # of the time: if all threads together ran less, the holder waited for something
_LEAD = 0.005  # seconds between the start of the sampler and the begin of its window


class HoldSampler(Probe):
    """Samples how long the GIL is kept, in one window, in which this thread sets the switch interval again before each sample.

    Args:
        workers: kernel thread ids of the workload's threads.
        interval: seconds of the switch interval. The workload may set its own at each call.
        ticks: the timer to sleep by.
    """

    name = "holds"

    def __init__(self, workers: Iterable[int], interval: float, ticks: Ticks) -> None:
        super().__init__()
        self._workers, self._interval, self._ticks = set(workers), interval, ticks
        self.holders = Holders()

    def _probe(self, window: Window) -> list[Wait]:
        me = threading.get_native_id()
        alive = {t.native_id for t in threading.enumerate() if t.native_id is not None}
        with closing(RunQueueClock((self._workers | alive) - {me}, 0.0)) as clock:
            time.sleep(max(0.0, window.begin - time.perf_counter()))
            while time.perf_counter() < window.end:
                try:
                    self._ticks.start(_CHANCE.randint(*_SLEEP))
                except DescriptorLost:
                    break
                clock.unattributed(0.0)  # it releases the GIL, so before the sample
                if self._cancelled:
                    break
                sys.setswitchinterval(self._interval)
                self._sample(clock, sys.getswitchinterval())
        return []

    def _sample(self, clock: RunQueueClock, interval: float) -> None:
        self.holders.before()
        start = time.perf_counter()
        slept = self._ticks.sleep()
        waited = time.perf_counter() - start - slept * TICK
        spot = self.holders.spot()  # before anything releases the GIL
        if spot is None or slept > _PROMPT or waited < interval / 2:  # nobody had the GIL
            return
        if sys.getswitchinterval() != interval:  # the workload has set its own during the sample
            return
        held = self.holders.ran - slept * TICK
        if self.holders.all_ran < _RAN * (waited + slept * TICK):
            held = max(held, waited - (clock.unattributed(0.0) or 0.0))
        self.holders.charge(spot, max(0.0, held))


def held_for(
    load: Load, workers: Iterable[int], interval: float, seconds: float, limit: float
) -> Mapping[HolderPlace, tuple[float, ...]] | None:
    """Sample for about so many seconds beside one thread of the workload; the seconds for which places kept the GIL, one a sample.

    None where a sleep cannot be told from a wait (no Linux). The switch interval is as before when this returns or raises.

    Args:
        load: the workload. One thread calls it: of several the sampler waits for more than one turn, and cannot count them.
        workers: kernel thread ids of the workload's threads.
        interval: seconds of the switch interval beside which the claim is judged; the samples use at most a fifth of it.
        limit: seconds that a call of the workload may take.

    Raises:
        ProbeHung, BaseExceptionGroup, TeamHung: as `Probe.waits` and `Team.lap`.
    """
    try:
        ticks = Ticks()
    except NoTicks:
        return None
    short = min(SHORT, interval / 5)
    sampler = HoldSampler(workers, short, ticks)
    with switch_interval(short), closing(ticks), closing(sampler):  # the sampler first, so that it sets no interval afterwards
        begin = time.perf_counter() + _LEAD
        window = Window(begin, begin + seconds, judged=False)
        sampler.start(window)
        load.until(window.end, "how long the GIL is kept", threads=1)
        sampler.waits(limit)
    return {holding.place: holding.waits for holding in sampler.holders.holdings(most=1000)}
