"""Settings and where they came from: command line > environment > argument > ini > default, and errors that name the source."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .core.errors import BadValue

ISOLATION = ("auto", "fork", "none")
GIL_REENABLED = ("warn", "error", "ignore")
FILES = ("json", "html", "markdown")  # settings that name a file to write


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def _threads(text: str) -> int:
    value = int(text)
    if value < 2:
        raise ValueError
    return value


def _seed(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError
    return value


def _flag(text: str) -> bool:
    return {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}[text.lower()]


def _isolation(text: str) -> str:
    if text not in ISOLATION:
        raise ValueError
    return text


def _gil_reenabled(text: str) -> str:
    if text not in GIL_REENABLED:
        raise ValueError
    return text


@dataclass(frozen=True)
class Setting:
    """One setting: its name without the prefix, how its text is read, what is expected of it, and what it does."""

    name: str
    read: Callable[[str], Any]
    expected: str
    help: str
    metavar: str | None = None  # None: a flag


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "budget", _seconds, "seconds above 0", "seconds to spend on one check (default: 1, more for slow workloads)", "SECONDS"
        ),
        Setting(
            "timeout", _seconds, "seconds above 0", "seconds after which a lap that does not end is ended (default: 60)", "SECONDS"
        ),
        Setting("threads", _threads, "a whole number, at least 2", "threads that run at once (default: the cores, 2 to 4)", "N"),
        Setting("seed", _seed, "a whole number, at least 0", "seed of what is drawn at random, to draw it again", "N"),
        Setting("replay", str, "a token from a report", "replay this failure of a fuzz check instead of searching", "TOKEN"),
        Setting("json", str, "a file's path", "write the evidence of every check to this JSON file", "FILE"),
        Setting("html", str, "a file's path", "write a report to this HTML file (needs pytest-gilcheck[html])", "FILE"),
        Setting("markdown", str, "a file's path", "write the table to this Markdown file", "FILE"),
        Setting(
            "github",
            _flag,
            "true or false",
            "annotations and a step summary for GitHub Actions (default: where GITHUB_ACTIONS is true)",
        ),
        Setting("strict", _flag, "true or false", "fail a test whose check is inconclusive, instead of skipping it"),
        Setting(
            "isolate",
            _isolation,
            "auto, fork or none",
            "run checks in a forked child that may crash or hang: auto (default, where a fork is safe), fork, or none",
            "HOW",
        ),
        Setting(
            "gil_reenabled",
            _gil_reenabled,
            "warn, error or ignore",
            "where an import switches the GIL of a free-threaded build on: warn (default), error, or ignore",
            "HOW",
        ),
    )
}


@dataclass(frozen=True)
class Settings:
    """The settings of one run, unread: each layer maps a setting's name to its text.

    Args:
        command_line, environment, ini: the layers; a name that is missing or None was not given.
    """

    command_line: Mapping[str, str | None] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    ini: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def from_environment(cls) -> Settings:
        return cls(environment={name: os.environ.get(variable(name)) or None for name in SETTINGS})

    def check(self) -> None:
        """Read every layer, so that a bad value is an error even where a better layer hides it.

        Raises:
            BadValue: the first that cannot be read.
        """
        for layer, source in self._layers():
            for name in SETTINGS:
                if (text := layer.get(name)) is not None:
                    _read(name, text, source(name))

    def value(self, name: str, argument: Any = None, argument_source: str = "argument") -> tuple[Any, str]:
        """The setting's value and its source; ``(None, "default")`` where nobody gave one.

        Args:
            argument: the marker's or the call's own value; it is returned as it is, unchecked.
        """
        command_line, environment, ini = self._layers()
        for layer, source in (command_line, environment):
            if (text := layer.get(name)) is not None:
                return _read(name, text, source(name)), source(name)
        if argument is not None:
            return argument, argument_source
        layer, source = ini
        if (text := layer.get(name)) is not None:
            return _read(name, text, source(name)), source(name)
        return None, "default"

    def _layers(self) -> list[tuple[Mapping[str, str | None], Callable[[str], str]]]:
        return [
            (self.command_line, lambda name: f"command line {option(name)}"),
            (self.environment, lambda name: f"environment {variable(name)}"),
            (self.ini, lambda name: f"ini {ini_name(name)}"),
        ]


def replay_key(token: str) -> str:
    """Where pytest's cache keeps the test that a replay token is of."""
    return f"gilcheck/replay-{zlib.crc32(token.encode()):08x}"


def option(name: str) -> str:
    return f"--gilcheck-{name.replace('_', '-')}"


def variable(name: str) -> str:
    return f"GILCHECK_{name.upper()}"


def ini_name(name: str) -> str:
    return f"gilcheck_{name}"


def _read(name: str, text: str, source: str) -> Any:
    setting = SETTINGS[name]
    try:
        return setting.read(text)
    except (ValueError, KeyError):
        raise BadValue(name, text, setting.expected, source) from None
