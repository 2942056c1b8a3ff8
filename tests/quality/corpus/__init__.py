"""Small programs with a known bug, each beside its correct twin: what the search must find, and where it must say nothing.

`sctbench` has the shapes of the SCTBench programs (Thomson, Donaldson and Betts, "Concurrency Testing Using Controlled Schedulers",
TOPC 2016), as Python programs that pass in every sequential order; the other modules have the ways in which Python code goes wrong.
"""

from . import containers, lazy, sctbench, started, updates, waiting
from .case import Case, Twin

__all__ = ["CASES", "Case", "Twin"]

CASES = (*sctbench.CASES, *updates.CASES, *containers.CASES, *lazy.CASES, *waiting.CASES, *started.CASES)
