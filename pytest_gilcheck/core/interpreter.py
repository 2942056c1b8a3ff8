"""The running interpreter: version, build, GIL state, switch interval, cores, and active tracers."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .build_flags import FREE_THREADED_BUILD
from .builds import BUILDS, FREE_THREADED, GIL
from .cores import usable_cores

__all__ = ["BUILDS", "FREE_THREADED", "GIL", "Interpreter", "build"]


_WATCHERS = {0: "a debugger", 1: "coverage", 2: "a profiler", 5: "an optimizer"}  # sys.monitoring's reserved tool ids


@dataclass(frozen=True)
class Interpreter:
    """A snapshot of the running interpreter. An import can make it outdated, because it can switch the GIL on.

    Attributes:
        implementation: for instance ``"CPython"``.
        version: for instance ``"3.13.0"``.
        build: ``"gil"`` or ``"free-threaded"``, the current state: a ``t`` build whose GIL is on is ``"gil"``.
        free_threaded_build: whether the interpreter was configured with ``--disable-gil`` (PEP 703).
        switch_interval: seconds after which a waiting thread requests the GIL; without effect on a free-threaded build.
        cores: cores that this process may use (affinity and container quota).
        platform: for instance ``"linux-x86_64"``.
    """

    implementation: str
    version: str
    build: str
    free_threaded_build: bool
    switch_interval: float
    cores: int
    platform: str

    @classmethod
    def current(cls) -> Interpreter:
        return cls(
            implementation=platform.python_implementation(),
            version=platform.python_version(),
            build=build(),
            free_threaded_build=FREE_THREADED_BUILD,
            switch_interval=sys.getswitchinterval(),
            cores=usable_cores(),
            platform=f"{sys.platform}-{platform.machine()}",
        )

    def __str__(self) -> str:
        name = f"{self.implementation} {self.version}"
        if self.build == FREE_THREADED:
            return f"{name} free-threaded, {self.cores} cores"
        state = "free-threaded build with its GIL on" if self.free_threaded_build else "GIL"
        return f"{name} {state}, switch interval {self.switch_interval * 1e3:g} ms, {self.cores} cores"


def build() -> str:
    """``"gil"`` or ``"free-threaded"``: whether the GIL is on now."""
    enabled = getattr(sys, "_is_gil_enabled", None)
    return GIL if enabled is None or enabled() else FREE_THREADED


def watcher() -> str | None:
    """The debugger, tracer or profiler that is active in this thread, described for a message; None if there is none.

    Traced code runs several times slower and takes the locks of the tracer, so its timings say nothing about the code.
    """
    if (trace := sys.gettrace()) is not None:
        return f"a trace function ({_origin(trace)})"
    if (profile := sys.getprofile()) is not None:
        return f"a profile function ({_origin(profile)})"
    if sys.version_info >= (3, 12):
        for tool in range(6):
            name = sys.monitoring.get_tool(tool)
            if name is not None:
                return f"{_WATCHERS.get(tool, 'a tool')} on sys.monitoring ({name})"
    return None


@contextmanager
def switch_interval(seconds: float | None) -> Iterator[None]:
    """Set ``sys.setswitchinterval`` for the block; None leaves it alone."""
    before = sys.getswitchinterval()
    try:
        if seconds is not None:
            sys.setswitchinterval(seconds)
        yield
    finally:
        sys.setswitchinterval(before)


def _origin(function: object) -> str:
    return str(getattr(function, "__module__", None) or type(function).__module__)


def gil_came_back(before: Interpreter) -> str:
    """The reason for an inconclusive check during which the build changed from what it was ``before``."""
    return (
        f"the GIL was switched on during the check, probably by an import of a module that does not support {before.build} Python"
    )
