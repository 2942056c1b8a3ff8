"""Scaling laws fitted to throughput: Gunther's Universal Scalability Law (USL) and Amdahl's law.

With X(N) calls per second by N workers,

    X(N) = g N / (1 + a (N - 1) + b N (N - 1))

g is the throughput of one worker, a the contention (the serial share), and b the coherence cost (of each pair of workers). With b
> 0 the throughput has a peak. N / X is linear in 1, N - 1 and N (N - 1), so a least-squares fit of three terms is enough. A
negative term means that the effect is below the noise; then the fit is repeated without it. Amdahl's law is the case b = 0.

Sources: N. J. Gunther, Guerrilla Capacity Planning (2007); G. M. Amdahl, AFIPS 30 (1967).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

FEWEST_POINTS = 3


@dataclass(frozen=True)
class Fit:
    """A fitted law.

    Attributes:
        single: throughput of one worker, calls/s.
        contention: a, from 0 on; at most 1 for Amdahl's law.
        coherence: b; 0 for Amdahl's law.
        residual: root mean square of the relative error over the points.
        points: the number of points of the fit.
    """

    single: float
    contention: float
    coherence: float
    residual: float
    points: int

    @property
    def peak(self) -> float | None:
        """The number of workers with the highest throughput; None if throughput never falls."""
        if self.coherence <= 0:
            return None
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherence)

    def throughput(self, workers: float) -> float:
        """Calls per second of this number of workers."""
        return self.single * workers / (1 + self.contention * (workers - 1) + self.coherence * workers * (workers - 1))


def universal_scalability(throughput: Mapping[int, float]) -> Fit | None:
    """Fit the USL to a mapping of workers to calls/s; None with fewer than three numbers of workers."""
    if len(throughput) < FEWEST_POINTS:
        return None
    return _fit(throughput, (0, 1, 2))


def amdahl(throughput: Mapping[int, float]) -> Fit | None:
    """Fit Amdahl's law to a mapping of workers to calls/s; None with fewer than two numbers of workers.

    A serial share is 1 at most: then more workers do no more, and what gets slower with them needs another law.
    """
    fit = _fit(throughput, (0, 1)) if len(throughput) >= 2 else None
    if fit is None or fit.contention <= 1:
        return fit
    single = sum(1 / x for x in throughput.values()) / sum(1 / x**2 for x in throughput.values())
    return _with_residual(Fit(single, 1.0, 0.0, 0.0, len(throughput)), throughput)


def _fit(throughput: Mapping[int, float], terms: tuple[int, ...]) -> Fit | None:
    rows = [(1.0, n - 1.0, n * (n - 1.0)) for n in throughput]
    times = [n / x for n, x in throughput.items()]
    while True:
        # minimise relative errors: each equation is divided by its right side
        left = [[row[term] / time for term in terms] for row, time in zip(rows, times, strict=True)]
        solution = _least_squares(left, [1.0] * len(times))
        if solution is None:
            return None
        values = dict(zip(terms, solution, strict=True))
        negative = [term for term in terms if term and values[term] < 0]
        if not negative:
            break
        terms = tuple(term for term in terms if term != min(negative, key=values.__getitem__))
    base = values[0]
    if base <= 0:
        return None
    fit = Fit(1 / base, values.get(1, 0.0) / base, values.get(2, 0.0) / base, 0.0, len(times))
    return _with_residual(fit, throughput)


def _with_residual(fit: Fit, throughput: Mapping[int, float]) -> Fit:
    errors = [(fit.throughput(n) / x - 1) ** 2 for n, x in throughput.items()]
    return replace(fit, residual=math.sqrt(sum(errors) / len(errors)))


def _least_squares(left: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """Solve the normal equations by Gaussian elimination; None if they are singular."""
    size = len(left[0])
    matrix = [
        [sum(row[i] * row[j] for row in left) for j in range(size)] + [sum(row[i] * y for row, y in zip(left, right, strict=True))]
        for i in range(size)
    ]
    for column in range(size):
        pivot = max(range(column, size), key=lambda r: abs(matrix[r][column]))
        if abs(matrix[pivot][column]) < 1e-12 * max(1.0, abs(matrix[0][0])):
            return None
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        for r in range(size):
            if r != column:
                factor = matrix[r][column] / matrix[column][column]
                matrix[r] = [value - factor * top for value, top in zip(matrix[r], matrix[column], strict=True)]
    return [matrix[i][size] / matrix[i][i] for i in range(size)]
