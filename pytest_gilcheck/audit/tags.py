"""Which interpreters a wheel serves: compatibility tags as `packaging` reads them, never by a pattern.

``abi3t`` is the stable ABI of free-threaded builds (PEP 803, from Python 3.15 on). ``abi3`` serves builds with a GIL alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from packaging.tags import Tag, cpython_tags

FIRST_FREE_THREADED = (3, 13)
NEWEST = (3, 16)  # the newest Python whose wheels are told apart
ABI3T_SINCE = (3, 15)
STABLE_ABIS = ("abi3", "abi3t")

_FAMILIES = (("manylinux", "linux-glibc"), ("musllinux", "linux-musl"), ("linux", "linux"), ("macosx", "macos"), ("win", "windows"),
             ("ios", "ios"), ("android", "android"), ("pyodide", "emscripten"), ("emscripten", "emscripten"))  # fmt: skip
_ARCHITECTURES = ("x86_64", "aarch64", "arm64", "amd64", "i686", "armv7l", "armv6l", "ppc64le", "ppc64", "s390x", "riscv64",
                  "loongarch64", "universal2", "intel", "wasm32", "wasm64", "arm64_v8a")  # fmt: skip


@dataclass(frozen=True, order=True)
class Build:
    """A CPython build: its version, and whether it is free-threaded."""

    version: tuple[int, int]
    free_threaded: bool

    def __str__(self) -> str:
        return f"cp{self.version[0]}{self.version[1]}{'t' if self.free_threaded else ''}"


def builds(versions: Iterable[tuple[int, int]]) -> Iterator[Build]:
    """Both builds of each version; free-threaded ones exist from 3.13 on."""
    for version in versions:
        yield Build(version, False)
        if version >= FIRST_FREE_THREADED:
            yield Build(version, True)


@lru_cache(maxsize=4096)
def _accepted(build: Build, platform: str) -> frozenset[Tag]:
    accepted = set(cpython_tags(build.version, [str(build)], [platform]))
    if build.free_threaded:  # a `packaging` of before abi3t does not say so, and gives free-threaded builds no stable ABI
        minors = range(ABI3T_SINCE[1], build.version[1] + 1)
        accepted |= {Tag(f"cp3{minor}", "abi3t", platform) for minor in minors}
        accepted = {tag for tag in accepted if tag.abi != "abi3"}
    return frozenset(accepted)


def serves(tags: Iterable[Tag], build: Build, family: str | None = None) -> bool:
    """Whether an installer would give a wheel with these tags to that build (on that family of platforms, if one is given).

    A wheel of pure Python (``py3-none-any``) serves every build.
    """
    for tag in tags:
        if family is not None and tag.platform != "any" and family not in families([tag]):
            continue
        if tag in _accepted(build, tag.platform) or _is_generic(tag, build):
            return True
    return False


def _is_generic(tag: Tag, build: Build) -> bool:
    """``py3-none-PLATFORM``, and ``py310-none-any`` for 3.10 and later."""
    if tag.abi != "none":
        return False
    minor = tag.interpreter.removeprefix("py3")
    return minor != tag.interpreter and (minor == "" or (minor.isdecimal() and int(minor) <= build.version[1]))


def is_pure(tags: Iterable[Tag]) -> bool:
    """Whether every tag is for any platform and any ABI."""
    return all(tag.abi == "none" and tag.platform == "any" for tag in tags)


def free_threaded_only(tags: Iterable[Tag]) -> bool:
    """Whether the wheel serves free-threaded builds and no build with a GIL."""
    tags = list(tags)
    return serves_free_threading(tags) and not serves_gil(tags)


def serves_free_threading(tags: Iterable[Tag]) -> bool:
    """Whether the wheel serves any free-threaded build."""
    tags = list(tags)
    return any(serves(tags, build) for build in builds(_versions()) if build.free_threaded)


def serves_gil(tags: Iterable[Tag]) -> bool:
    """Whether the wheel serves any build with a GIL, from Python 3.8 on."""
    tags = list(tags)
    return any(serves(tags, build) for build in builds(_versions()) if not build.free_threaded)


def served(tags: Iterable[Tag]) -> list[Build]:
    """The builds that the wheel serves, oldest first."""
    tags = list(tags)
    return [build for build in builds(_versions()) if serves(tags, build)]


def families(tags: Iterable[Tag]) -> frozenset[str]:
    """Families of platforms, for instance ``linux-glibc-x86_64``, ``macos-arm64``: what needs a wheel of its own."""
    found = set()
    for tag in tags:
        if tag.platform == "any":
            continue
        system = next((name for prefix, name in _FAMILIES if tag.platform.startswith(prefix)), tag.platform)
        machine = next((name for name in _ARCHITECTURES if tag.platform.endswith(name)), "")
        if system == "macos" and machine == "universal2":
            found |= {"macos-arm64", "macos-x86_64"}
        elif tag.platform == "win32":
            found.add("windows-x86")
        else:
            found.add(f"{system}-{machine}" if machine else system)
    return frozenset(found)


@dataclass(frozen=True)
class Suffix:
    """What the name of an extension module's file says: ``.cpython-314t-x86_64-linux-gnu.so``, ``.abi3.so``.

    Attributes:
        stem: the module's name.
        build: the build of a version-specific suffix; None otherwise.
        stable: the stable ABIs that it names: ``abi3``, ``abi3t``.
        plain: ``.so`` or ``.pyd`` alone, which every build tries.
    """

    stem: str
    build: Build | None = None
    stable: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        return self.build is None and not self.stable

    def loads_on(self, build: Build) -> bool:
        """Whether that build's import system looks for a file of this name; free-threaded ones pass over ``.abi3.so`` (PEP 803)."""
        if self.build is not None:
            return self.build == build
        if self.stable:
            if "abi3t" in self.stable and build.version >= ABI3T_SINCE:  # which builds with a GIL load too
                return True
            return "abi3" in self.stable and not build.free_threaded
        return True


def suffix(filename: str) -> Suffix | None:
    """What the name of this file says; None if it is no extension module's."""
    base = filename.rpartition("/")[2]
    parts = base.split(".")
    if len(parts) < 2 or parts[-1] not in ("so", "pyd") or not parts[0]:
        return None
    middle = parts[1:-1]
    if not middle:
        return Suffix(parts[0])
    stable = tuple(abi for part in middle if (abi := part.partition("-")[0]) in STABLE_ABIS)  # .abi3t-x86_64-linux-gnu.so
    if len(stable) == len(middle):
        return Suffix(parts[0], None, stable)
    if len(middle) != 1:
        return None  # libfoo.1.so, a shared library
    if (build := _build_of(middle[0])) is not None:
        return Suffix(parts[0], build)
    return None if not middle[0].startswith(("cpython", "cp3", "pypy", "graalpy")) else Suffix(parts[0], None, ("other",))


def _build_of(middle: str) -> Build | None:
    words = middle.split("-")
    text = (
        words[1] if words[0] == "cpython" and len(words) > 1 else words[0].removeprefix("cp") if words[0].startswith("cp3") else ""
    )
    free_threaded = text.rstrip("d").endswith("t")
    digits = text.rstrip("dtmu")
    if not digits.isdecimal() or not digits.startswith("3") or len(digits) < 2:
        return None
    return Build((3, int(digits[1:])), free_threaded)


def _versions() -> list[tuple[int, int]]:
    return [(3, minor) for minor in range(8, NEWEST[1] + 1)]
