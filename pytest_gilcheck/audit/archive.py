"""Archives that others made, read with mistrust: nothing is unpacked, sizes are bounded, and what is strange in one is a finding.

A wheel is a zip file, a source distribution a compressed tar file or a zip file. What does not work: trusting the sizes that an
archive declares; a member is read through a limit, and a stream is counted while it is decompressed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import struct
import tarfile
import tokenize
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

LARGEST_MEMBER = 1 << 30  # bytes
LARGEST_TOTAL = 8 << 30
LARGEST_SOURCES = 256 << 20  # bytes of text kept of a compressed tar file
LARGEST_TEXT = 4 << 20  # bytes of one source file or metadata file
MOST_MEMBERS = 100_000
_PART = 1 << 20  # bytes
_RATIO, _RATIO_FROM = 250, 16 << 20  # decompressed by compressed size, of members of at least so many bytes
_KEPT = (
    ".py",
    ".pyi",
    ".pyx",
    ".pxd",
    ".pxi",
    ".c",
    ".cc",
    ".cpp",
    ".cxx",
    ".h",
    ".hh",
    ".hpp",
    ".rs",
    ".toml",
    "Cargo.lock",
    ".cfg",
    ".ini",
    ".md",
    ".rst",
    ".txt",
    ".yml",
    ".yaml",
    "meson.build",
    "PKG-INFO",
    "METADATA",
)
_LEFT_OUT = {"node_modules", "__pycache__", "build", "dist", "venv", "env", "site-packages"}


Content = bytes | bytearray


class Unreadable(Exception):
    """The archive, or a member of it, cannot be read; the message is one line and names neither."""


@dataclass(frozen=True)
class Problem:
    """What is strange in an archive: ``kind`` is ``unsafe`` (path, link, bomb, duplicate) or ``damaged``."""

    kind: str
    message: str


class Files(ABC):
    """Named members, read one at a time.

    Attributes:
        names: of regular files, with forward slashes, in the archive's order and each once.
        problems: found while the list of members was read.
    """

    names: Sequence[str]
    problems: list[Problem]

    @abstractmethod
    def size(self, name: str) -> int:
        """Declared size in bytes."""

    @abstractmethod
    def read(self, name: str, limit: int = LARGEST_MEMBER) -> Content:
        """The member's content.

        Raises:
            Unreadable: it is damaged, or larger than ``limit`` bytes.
        """

    def text(self, name: str) -> str:
        """The member as text, whatever its encoding; bytes that are not UTF-8 are replaced."""
        return self.read(name, LARGEST_TEXT).decode("utf-8", "replace")

    def python(self, name: str) -> str:
        """The member as Python reads it: by its coding cookie, or UTF-8 (PEP 263).

        Raises:
            Unreadable: the member is too large, or damaged.
            SyntaxError, UnicodeDecodeError: Python could not read it.
        """
        data = self.read(name, LARGEST_TEXT)
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of the file."""


class Zip(Files):
    """A zip file.

    Raises:
        Unreadable: it is no zip file, or its list of members is damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
            members = self._zip.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError, struct.error) as error:
            raise Unreadable(f"not a zip file, or cut off ({_said(error)})") from None
        self.problems = []
        self._members: dict[str, zipfile.ZipInfo] = {}
        if len(members) > MOST_MEMBERS:
            self.problems.append(Problem("unsafe", f"{len(members):,} members, more than {MOST_MEMBERS:,}; only those are read"))
        for name, count in Counter(one.filename for one in members).items():
            if count > 1:
                self.problems.append(
                    Problem("unsafe", f"{count} members are called {_short(name)}: which one counts is not defined")
                )
        total = 0
        for member in members[:MOST_MEMBERS]:
            mode = member.external_attr >> 16
            if stat.S_ISLNK(mode):
                self.problems.append(Problem("unsafe", f"{_short(member.filename)} is a symbolic link, which wheels cannot have"))
            elif (why := _escapes(member.orig_filename)) is not None:
                self.problems.append(Problem("unsafe", f"{_short(member.orig_filename)} {why}"))
            elif not member.is_dir():
                total += member.file_size
                if member.file_size >= _RATIO_FROM and member.file_size > _RATIO * max(member.compress_size, 1):
                    ratio = member.file_size / max(member.compress_size, 1)
                    sizes = f"{member.file_size:,} bytes from {member.compress_size:,} ({ratio:.0f} times)"
                    self.problems.append(Problem("unsafe", f"{_short(member.filename)} declares {sizes}: not decompressed"))
                else:
                    self._members[member.filename] = member
        if total > LARGEST_TOTAL:
            self.problems.append(Problem("unsafe", f"declares {total:,} bytes of content, more than {LARGEST_TOTAL:,}"))
        self.names = list(self._members)

    def size(self, name: str) -> int:
        return self._members[name].file_size

    def read(self, name: str, limit: int = LARGEST_MEMBER) -> Content:
        if self._members[name].file_size > limit:
            raise Unreadable(f"{self._members[name].file_size:,} bytes, more than {limit:,}")
        try:
            with self._zip.open(self._members[name]) as file:
                data = bytearray()
                while len(data) <= limit and (part := file.read(_PART)):  # at once, it would be in memory twice
                    data += part
        except (
            zipfile.BadZipFile,
            zlib.error,
            lzma.LZMAError,
            OSError,
            EOFError,
            RuntimeError,
            NotImplementedError,
            ValueError,
        ) as error:
            raise Unreadable(_said(error)) from None
        if len(data) > limit:
            raise Unreadable(f"more than {limit:,} bytes, and declared fewer")
        return data

    def close(self) -> None:
        self._zip.close()


class Tar(Files):
    """A compressed tar file: text is kept, everything else only named.

    Raises:
        Unreadable: it is none, or it is cut off.
    """

    def __init__(self, path: Path) -> None:
        self.problems = []
        self._sizes: dict[str, int] = {}
        self._texts: dict[str, bytes] = {}
        try:
            with path.open("rb") as raw:
                opened = _decompressed(raw)
                with tarfile.open(fileobj=_Counted(opened, path.stat().st_size), mode="r|") as archive:
                    self._take(archive)
        except (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError, ValueError, UnicodeError, OverflowError) as error:
            raise Unreadable(f"not a compressed tar file, or cut off ({_said(error)})") from None
        self.names = list(self._sizes)

    def _take(self, archive: tarfile.TarFile) -> None:
        kept = 0
        for number, member in enumerate(archive):
            if number >= MOST_MEMBERS:
                self.problems.append(Problem("unsafe", f"more than {MOST_MEMBERS:,} members; only those are read"))
                return
            if (why := _escapes(member.name)) is not None:
                self.problems.append(Problem("unsafe", f"{_short(member.name)} {why}"))
                continue
            if member.issym() or member.islnk():
                if (why := _link_escapes(member)) is not None:
                    self.problems.append(Problem("unsafe", f"{_short(member.name)} is a link to {_short(member.linkname)}, {why}"))
                continue
            if not member.isfile():
                if not member.isdir():
                    self.problems.append(Problem("unsafe", f"{_short(member.name)} is a device or a pipe"))
                continue
            if member.name in self._sizes:
                self.problems.append(Problem("unsafe", f"two members are called {_short(member.name)}"))
            self._sizes[member.name] = member.size
            if member.name.endswith(_KEPT) and member.size <= LARGEST_TEXT and kept + member.size <= LARGEST_SOURCES:
                file = archive.extractfile(member)
                data = file.read(LARGEST_TEXT) if file is not None else b""
                kept += len(data)
                self._texts[member.name] = data

    def size(self, name: str) -> int:
        return self._sizes[name]

    def read(self, name: str, limit: int = LARGEST_MEMBER) -> Content:
        if name not in self._texts:
            raise Unreadable("not kept: it is no text, or too large")
        if len(self._texts[name]) > limit:
            raise Unreadable(f"{len(self._texts[name]):,} bytes, more than {limit:,}")
        return self._texts[name]


class Folder(Files):
    """A folder, or some files in one; links that lead out of it are left out, and so are hidden folders and those of builds.

    Args:
        path: the folder.
        names: relative names of its files; all of them by default.
    """

    def __init__(self, path: Path, names: Sequence[str] | None = None) -> None:
        self.problems = []
        self.path = path.resolve()
        self.names = sorted(self._walked()) if names is None else [name for name in names if self._is_inside(name)]

    def _walked(self) -> list[str]:
        found: list[str] = []
        for folder, folders, files in os.walk(self.path):
            folders[:] = [
                name for name in folders
                if (not name.startswith(".") or name == ".github")
                and (name not in _LEFT_OUT or os.path.exists(os.path.join(folder, name, "__init__.py")))  # a package of that name
                and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
            ]  # fmt: skip
            for name in files:
                relative = os.path.relpath(os.path.join(folder, name), self.path).replace(os.sep, "/")
                if self._is_inside(relative):
                    found.append(relative)
            if len(found) > MOST_MEMBERS:
                self.problems.append(Problem("unsafe", f"more than {MOST_MEMBERS:,} files; only those are read"))
                break
        return found

    def _is_inside(self, name: str) -> bool:
        try:
            whole = (self.path / name).resolve()
            return whole.is_relative_to(self.path) and whole.is_file()
        except (OSError, RuntimeError, ValueError):  # a link to itself
            return False

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

    def read(self, name: str, limit: int = LARGEST_MEMBER) -> Content:
        try:
            with (self.path / name).open("rb") as file:
                data = file.read(limit + 1)
        except (OSError, ValueError) as error:
            raise Unreadable(_said(error)) from None
        if len(data) > limit:
            raise Unreadable(f"more than {limit:,} bytes")
        return data


class _Counted(io.RawIOBase):
    """A stream that ends with an error once it gave more than a bound."""

    def __init__(self, stream: IO[bytes] | io.BufferedIOBase, compressed: int) -> None:
        self._stream = stream
        self._left = min(LARGEST_TOTAL, max(_RATIO_FROM, compressed * _RATIO))
        self._bound = self._left

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size if size >= 0 else 1 << 20)
        self._left -= len(data)
        if self._left < 0:
            raise tarfile.ReadError(f"decompresses to more than {self._bound:,} bytes")
        return data


def _decompressed(raw: IO[bytes]) -> IO[bytes] | io.BufferedIOBase:
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(raw)
    if magic.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if magic.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(raw)
    return raw


def _escapes(name: str) -> str | None:
    """Why a member of this name would not stay in the folder that it is unpacked to; None if it would."""
    if "\0" in name:
        return "has a NUL in its name"
    path = name.replace("\\", "/")
    if path.startswith("/") or (len(path) > 1 and path[1] == ":"):
        return "has an absolute path"
    if ".." in PurePosixPath(path).parts:
        return "escapes the folder that it is unpacked to"
    return None


def _link_escapes(member: tarfile.TarInfo) -> str | None:
    if member.linkname.startswith("/"):
        return "which is outside the archive"
    base = "" if member.islnk() else os.path.dirname(member.name)
    target = os.path.normpath(os.path.join(base, member.linkname)).replace(os.sep, "/")
    return "which is outside the archive" if target == ".." or target.startswith("../") else None


def _short(name: str) -> str:
    text = ascii(name)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _said(error: BaseException) -> str:
    return " ".join((getattr(error, "strerror", None) or str(error) or type(error).__name__).split())[:160]
