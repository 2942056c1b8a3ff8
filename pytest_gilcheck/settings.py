"""The settings of a run and where each came from.

A marker's or a call's own argument comes first, then the command line, the environment and the ini file. A claim in the source
is never rewritten from outside: no setting is a claim.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .checks import CHECKS
from .core.errors import BadValue
from .core.system import FACILITIES, HIDE, UNKNOWN_FACILITIES
from .core.values import PERCENT, SCALE, SECONDS, SEEDS, THREADS, TOKEN, Accepted, integer, number, one_of, whole

if TYPE_CHECKING:
    from .core.values import Values

SPAWNED_TEST = "GILCHECK_SPAWNED_TEST"  # environment variable of a pytest that another one has started for one test
_NO_SETTINGS = (SPAWNED_TEST, "GILCHECK_LOCK", HIDE)  # environment variables that are no settings
ISOLATION = ("auto", "fork", "none")
GIL_REENABLED = ("warn", "error", "ignore")
STRESS = "stress"  # in place of a search of schedules
FILES = ("json", "html", "markdown")  # settings that name a file to write
SELECTIONS = ("skip", "only", "disable")  # settings of which a run takes one at most
_WORDS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class _Unlike(ValueError):
    """Refuses a text; its message says what was expected."""


class Setting(NamedTuple):
    """One setting of a run.

    Attributes:
        name: without the prefix.
        parse: turns its text into a value; a ValueError or KeyError refuses the text.
        values: the values that it takes.
        help: what it does, with its default.
        metavar: what ``--help`` calls its value; None for a flag, which takes none on the command line.
        words: what a flag takes all the same, after ``=``, with what it does then.
    """

    name: str
    parse: Callable[[str], Any]
    values: Values
    help: str
    metavar: str | None = None
    words: Mapping[str, str] = MappingProxyType({})

    def read(self, text: str, source: str) -> Any:
        """The value of a text.

        Raises:
            BadValue: the setting takes no such value.
        """
        try:
            value = self.parse(text)
        except _Unlike as error:
            raise BadValue(self.name, text, str(error), source) from None
        except (ValueError, KeyError):
            raise BadValue(self.name, text, self.values.expected, source) from None
        try:
            return self.values.read(self.name, value, source)
        except BadValue as error:
            raise BadValue(self.name, text, error.expected, source) from None


_PATH = Accepted("a file's path", lambda value: bool(value))
_FLAG = Accepted("true or false", lambda value: isinstance(value, bool))


def _flag(name: str, help: str) -> Setting:
    return Setting(name, lambda text: _WORDS[text.lower()], _FLAG, help)


def _token(text: str) -> str:
    """The token, unchanged; a damaged one would otherwise fail each fuzz check of the run, and not the run."""
    from .engine.schedule import BadToken, Token  # only where one is given

    try:
        Token.read(text)
    except BadToken as error:
        raise _Unlike(f"{TOKEN.expected}, but {error}") from None
    return text


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("budget", number, SECONDS, "seconds to spend on a check (default: its own, from 1)", "SECONDS"),
        Setting("timeout", number, SECONDS, "seconds after which what hangs is ended (default: its own, from 20)", "SECONDS"),
        Setting(
            "budget_scale",
            number,
            SCALE,
            "stretch all budgets and timeouts, those of markers and calls too, for a slow or busy machine (default: 1)",
            "FACTOR",
        ),
        Setting(
            "threads", integer, whole(2, THREADS), "threads that run at once (default: the cores, 2 to 4; 2 for fuzz checks)", "N"
        ),
        Setting(
            "schedules", integer, whole(1), "schedules that each fuzz check explores, on any machine (default: the budget)", "N"
        ),
        Setting(
            "seed", integer, whole(0, SEEDS), "seed of what is drawn at random (default: drawn itself, and in the report)", "N"
        ),
        Setting(
            "replay",
            _token,
            TOKEN,
            "replay this failure of a fuzz check instead of searching",
            "TOKEN",
        ),
        Setting(
            "sweep",
            lambda text: text.lower() if text.lower() == STRESS else _WORDS[text.lower()],
            Accepted(f"true, false or {STRESS}", lambda value: isinstance(value, bool) or value == STRESS),
            "after each test, search its schedules: with its own threads, or as two clients (see how-to/sweep); "
            "=stress: run them with real threads instead, on a free-threaded build",
            words=MappingProxyType({STRESS: "after each test, run two clients of it with real threads, on a free-threaded build"}),
        ),
        Setting(
            "sweep_budget",
            number,
            SECONDS,
            "seconds for a sweep in all (default: as long as the tests take, at least 60)",
            "SECONDS",
        ),
        Setting("sweep_baseline", str, _PATH, "causes that a sweep is known to find: a TOML file, with a reason for each", "FILE"),
        Setting("sweep_min", number, PERCENT, "fail a run whose sweep has taken less than this share of its tests", "PERCENT"),
        _flag("skip", "skip every test that uses a check"),
        _flag("only", "run only the tests that use a check"),
        _flag("disable", "run each checked test once, plainly; its check is on record as not run"),
        Setting("json", str, _PATH, "write the evidence of every check to this JSON file", "FILE"),
        Setting("html", str, _PATH, "write a report to this HTML file (needs pytest-gilcheck[html])", "FILE"),
        Setting("markdown", str, _PATH, "write the table to this Markdown file", "FILE"),
        _flag("github", "annotations and a step summary for GitHub Actions (default: where GITHUB_ACTIONS is true)"),
        _flag("strict", "fail a test whose check is inconclusive, instead of skipping it"),
        Setting(
            "isolate",
            str,
            one_of(*ISOLATION),
            "run each checked test where it may crash or hang: auto (default: in a fork, or in a new pytest), fork, or none",
            "HOW",
        ),
        Setting(
            "gil_reenabled",
            str,
            one_of(*GIL_REENABLED),
            "where an import switches the GIL of a free-threaded build on: warn (default), error, or ignore",
            "HOW",
        ),
    )
}
assert {each.name for check in CHECKS.values() for each in check.arguments if each.setting} <= set(SETTINGS)


class Settings:
    """The settings of one run, unread: each layer maps a setting's name to its text.

    Args:
        command_line, environment, ini: the layers, the strongest first; a name that is missing or None was not given.
    """

    def __init__(
        self,
        command_line: Mapping[str, str | None] = MappingProxyType({}),
        environment: Mapping[str, str | None] = MappingProxyType({}),
        ini: Mapping[str, str | None] = MappingProxyType({}),
    ) -> None:
        self.command_line, self.environment, self.ini = command_line, environment, ini

    @classmethod
    def from_environment(cls) -> Settings:
        """The settings of the environment alone.

        Raises:
            BadValue: it hides something of the system that is not known, see `core.system`.
        """
        if UNKNOWN_FACILITIES:
            raise BadValue("hide", ",".join(UNKNOWN_FACILITIES), f"some of {', '.join(FACILITIES)}", f"environment {HIDE}")
        return cls(environment={name: os.environ.get(variable(name)) or None for name in SETTINGS})

    def check(self) -> None:
        """Read every layer, so that a bad value is an error even where a stronger layer hides it.

        Raises:
            BadValue: the first that cannot be read, or a second selection beside the first.
        """
        for layer, source in self._layers():
            for name in SETTINGS:
                if (text := layer.get(name)) is not None:
                    SETTINGS[name].read(text, source(name))
        chosen = [name for name in SELECTIONS if self.value(name)[0]]
        if len(chosen) > 1:
            value, source_of_second = self.value(chosen[1])
            raise BadValue(chosen[1], value, f"no {option(chosen[0])} beside it", source_of_second)

    def value(self, name: str) -> tuple[Any, str]:
        """The setting's value and its source, from the strongest layer that has it; ``(None, "default")`` where none has."""
        for layer, source in self._layers():
            if (text := layer.get(name)) is not None:
                return SETTINGS[name].read(text, source(name)), source(name)
        return None, "default"

    def is_of_ini_file(self, name: str) -> bool:
        """Whether the ini file is the strongest layer that has the setting."""
        return next((layer is self.ini for layer, _ in self._layers() if layer.get(name) is not None), False)

    @property
    def scale(self) -> float:
        """The factor for all budgets and timeouts."""
        return self.value("budget_scale")[0] or 1.0

    def _layers(self) -> list[tuple[Mapping[str, str | None], Callable[[str], str]]]:
        return [
            (self.command_line, lambda name: f"command line {option(name)}"),
            (self.environment, lambda name: f"environment {variable(name)}"),
            (self.ini, lambda name: f"ini {ini_name(name)}"),
        ]


def replay_key(token: str) -> str:
    """The key under which pytest's cache keeps the test that a replay token belongs to."""
    import zlib  # only where a failure is replayed

    return f"gilcheck/replay-{zlib.crc32(token.encode()):08x}"


def option(name: str) -> str:
    return f"--gilcheck-{name.replace('_', '-')}"


def variable(name: str) -> str:
    return f"GILCHECK_{name.upper()}"


def unknown_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that look like settings, are not empty, and that nobody reads, each with a hint at what was meant."""
    prefix = variable("")
    known = [*map(variable, SETTINGS), *_NO_SETTINGS]
    unknown = [name for name, text in environment.items() if name.startswith(prefix) and text and name not in known]
    if not unknown:
        return {}
    from .core.arguments import nearest

    ends = [name.removeprefix(prefix) for name in known if name != SPAWNED_TEST]  # the prefix alone would make all of them alike
    near = {name: nearest(name.removeprefix(prefix), ends) for name in unknown}
    every = ", ".join(prefix + end for end in ends)
    return {name: f"did you mean {prefix}{end}?" if end else f"expected one of {every}" for name, end in near.items()}


def ini_name(name: str) -> str:
    return f"gilcheck_{name}"
