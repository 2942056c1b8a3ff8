"""PublishedFigure figures, to compare with measured ones. They are ratios of two figures of one machine, because machines differ.

Every ratio is computed here from the published figures, so that a reader can check it against its source.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedFigure:
    """A published figure.

    Attributes:
        text: the ratio first, then what it is a ratio of.
        source: a key of `SOURCES`.
    """

    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.text} [{self.source}]"


BEAZLEY = "Beazley 2009"
PYCON = "PyCon India 2011"
RELEASING = "C extension 2012"
BLOCKING = "blocking I/O 2012"
HABR = "Habr"
NO_GIL = "no-GIL 2025"

SOURCES = {
    BEAZLEY: "David Beazley, Inside the Python GIL (2009): CPython 2.x, two cores",
    PYCON: "Vishal Kanaujia and Chetan Giridhar, Python threads: Dive into GIL! (PyCon India 2011)",
    RELEASING: "Releasing the GIL from a C extension (2012): CPython 2.x, four cores",
    BLOCKING: "Blocking I/O (2012): four selects of sleep(2) on MySQL in four threads",
    HABR: "A practical guide to processes and threads in Python (Habr): four cores",
    NO_GIL: "Concurrency up by 200%: the no-GIL build measured (2025): ten cores",
}


def _ratio(above: float, below: float) -> str:
    return f"{above / below:.2f}x"


COUNT_ALL = (
    PublishedFigure(f"{_ratio(24.6, 45.5)} (24.6 s / 45.5 s) CPython 2.x", BEAZLEY),
    PublishedFigure(f"{_ratio(9768, 2493)} (is_prime, 8 threads, requests/s) 3.13t against 3.13", NO_GIL),
)
COUNT_ONE = (PublishedFigure(f"{_ratio(24.6, 38.0)} (24.6 s / 38.0 s) CPython 2.x", BEAZLEY),)
COUNT_ALL_ONE = (
    PublishedFigure(f"{_ratio(38.0, 45.5)} (38.0 s / 45.5 s) CPython 2.x", BEAZLEY),
    PublishedFigure(f"{_ratio(74, 116)} 2.7, {_ratio(55, 65)} 3.2, {_ratio(44, 25)} Jython 2.5", PYCON),
)
JSON = (PublishedFigure("about 1x: threads take as long as the sequence", HABR),)
JSON_UNIT = (PublishedFigure(f"{_ratio(10.05, 7.96)} as long on 3.13t as on 3.13 (10.05 ms / 7.96 ms)", NO_GIL),)
SHA256 = (
    PublishedFigure(f"{_ratio(4 * 2.70, 3.41)} with four threads, GIL released (4 x 2.70 s / 3.41 s)", RELEASING),
    PublishedFigure(f"{_ratio(4 * 2.70, 10.91)} with four threads, GIL held", RELEASING),
)
SLEEP = (PublishedFigure(f"{_ratio(4 * 2.0, 2.03)} with four threads (4 x 2 s / 2.03 s)", BLOCKING),)
CONVOY = (PublishedFigure(f"{_ratio(97, 23)} as long (97 s / 23 s) 3.2, two cores", PYCON),)
UNSTOPPABLE = (PublishedFigure("not at all; CPython 2.x", BEAZLEY),)
LONG_OPERATION = (PublishedFigure("not before its end: -1 in xrange(100000000), 6.6 s; CPython 2.x", BEAZLEY),)
INTERVAL = (PublishedFigure("5 ms, 3.2", PYCON),)
TICK = (PublishedFigure("ticks; one long C operation is one tick; 2.x", BEAZLEY),)
COST_PROCESS = (PublishedFigure("thousands of sleeping tasks: unusable", HABR),)
COST_THREAD = (PublishedFigure("thousands of sleeping tasks: they fit; memory is the limit", HABR),)
COST_COROUTINE = (PublishedFigure("thousands of sleeping tasks: fastest, and the least memory", HABR),)
