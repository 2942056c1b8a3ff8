"""Programs that start threads of their own: pools, timers, workers."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, Thread, Timer

from .case import BREAKS, MASKED, case


class Tally:
    """Two executors, whose jobs change what they share."""

    def __init__(self):
        self.lock = Lock()
        self.done = 0

    def job(self):
        self.done += 1

    def run(self):
        with ThreadPoolExecutor(1) as executor:
            executor.submit(self.job)


class FixedTally(Tally):
    def job(self):
        with self.lock:
            super().job()


def run(state):
    state.run()


def two_done(state):
    return state.done == 2


EXECUTOR_JOBS = case("executor_jobs", Tally, FixedTally, (run, run), two_done, kind=MASKED)


class Workshop:
    """A job is handed to an executor that has been shut down since that was looked at."""

    def __init__(self):
        self.lock = Lock()
        self.executor = ThreadPoolExecutor(1)
        self.closed = False

    def work(self):
        pass

    def order(self):
        if not self.closed:
            self.executor.submit(self.work)

    def close(self):
        self.closed = True
        self.executor.shutdown()


class FixedWorkshop(Workshop):
    def order(self):
        with self.lock:
            super().order()

    def close(self):
        with self.lock:
            super().close()


def order(workshop):
    workshop.order()


def close(workshop):
    workshop.close()


SUBMIT_AFTER_SHUTDOWN = case(
    "submit_after_shutdown", Workshop, FixedWorkshop, (order, close), kind=BREAKS, symptom="exception"
)  # fmt: skip


class Request:
    """It times out and is answered: cancelling a timer does not stop what it has begun."""

    def __init__(self):
        self.lock = Lock()
        self.timer = Timer(0.01, self.on_time_out)
        self.answered = self.timed_out = False

    def give_up(self):
        self.timed_out = True

    def on_time_out(self):
        if not self.answered:
            self.give_up()

    def answer(self):
        self.timer.cancel()
        if not self.timed_out:
            self.answered = True


class FixedRequest(Request):
    def on_time_out(self):
        with self.lock:
            super().on_time_out()

    def answer(self):
        with self.lock:
            super().answer()


def wait(request):
    request.timer.start()
    request.timer.join()


def answer(request):
    time.sleep(0.01)
    request.answer()


def one_or_the_other(request):
    return request.answered != request.timed_out


TIMER_CANCELLED = case("timer_cancelled", Request, FixedRequest, (wait, answer), one_or_the_other, kind=BREAKS)


class Poller(Thread):
    """A thread of our own kind, which notes that it has run."""

    def __init__(self, notes):
        super().__init__()
        self.notes = notes

    def run(self):
        self.notes.append("ran")


class Monitor:
    """The one poller that there is to be is started twice."""

    def __init__(self):
        self.lock = Lock()
        self.poller = None
        self.notes = []

    def start(self):
        if self.poller is None:
            self.poller = Poller(self.notes)
            self.poller.start()
            self.poller.join()


class FixedMonitor(Monitor):
    def start(self):
        with self.lock:
            super().start()


def start(monitor):
    monitor.start()


def started_once(monitor):
    return monitor.notes == ["ran"]


STARTED_TWICE = case("started_twice", Monitor, FixedMonitor, (start, start), started_once, kind=BREAKS)


class Download:
    """Each part is fetched in a thread of its own, which puts it to the others."""

    def __init__(self):
        self.lock = Lock()
        self.parts = ()

    def fetch(self, part):
        self.parts = (*self.parts, part)

    def start(self, part):
        thread = Thread(target=self.fetch, args=(part,))
        thread.start()
        thread.join()


class FixedDownload(Download):
    def fetch(self, part):
        with self.lock:
            super().fetch(part)


def fetch_one(download):
    download.start("one")


def fetch_two(download):
    download.start("two")


def both_parts(download):
    return set(download.parts) == {"one", "two"}


THREADS_OF_ITS_OWN = case("threads_of_its_own", Download, FixedDownload, (fetch_one, fetch_two), both_parts, kind=MASKED)


CASES = (EXECUTOR_JOBS, SUBMIT_AFTER_SHUTDOWN, TIMER_CANCELLED, STARTED_TWICE, THREADS_OF_ITS_OWN)
