"""The arguments of a check: what each one means, and the values that a user gave, with where each came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import BadValue
from .values import LONGEST

if TYPE_CHECKING:
    from .values import Values


class Argument(NamedTuple):
    """One argument of a check.

    Attributes:
        name: as the user writes it.
        values: the values that it takes.
        help: what it does, with its default, in one sentence.
        unit: of a number: ``"s"``, ``"threads"``, ``"times"``; empty for what has none.
        setting: whether the run-wide setting of the same name gives the default.
        scaled: whether ``--gilcheck-budget-scale`` stretches it: a time that the check may take, and never a claim.
        marker_only: whether only the marker takes it, because a call says it in another way.
        uses_fixtures: whether it is a function whose own arguments may be fixtures of the marked test.
    """

    name: str
    values: Values
    help: str
    unit: str = ""
    setting: bool = False
    scaled: bool = False
    marker_only: bool = False
    uses_fixtures: bool = False


class Arguments(dict[str, Any]):
    """The checked values that were given for one check; an argument that nobody gave is absent.

    Args:
        values: checked, by name.
        sources: where each came from, for errors: ``"marker gil_scaling"``, ``"environment GILCHECK_BUDGET"``.
        source: where a value came from that ``sources`` does not name.
        scale: the factor for times that the check itself chooses (``--gilcheck-budget-scale``); given times are scaled already.
    """

    def __init__(
        self, values: Mapping[str, Any], sources: Mapping[str, str] | None = None, source: str = "argument", scale: float = 1.0
    ) -> None:
        super().__init__(values)
        self._sources = dict(sources or {})
        self.source, self.scale = source, scale

    def source_of(self, name: str) -> str:
        """Where a value came from, in words."""
        return self._sources.get(name, self.source)

    def time(self, name: str, default: float) -> float:
        """The given time in seconds, or the default times the scale."""
        return float(self.get(name, min(default * self.scale, LONGEST)))

    def refused(self, name: str, expected: str, value: object = None) -> BadValue:
        """The error for an argument whose value cannot be used beside the others, or here."""
        return BadValue(name, self.get(name) if value is None else value, expected, self.source_of(name))


def refuse_unknown(given: Mapping[str, Any], known: Iterable[Argument], source: str) -> None:
    """Check that every given name is an argument.

    Raises:
        BadValue: the first that is none, with the name that is most like it.
    """
    names = [argument.name for argument in known]
    for name in given:
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean {near!r}?" if near else f"expected one of {', '.join(names)}"
            raise UnknownArgument(name, given[name], hint, source)


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The one of these names that was probably meant; None if none is like it."""
    import difflib  # only where a user made a mistake

    return next(iter(difflib.get_close_matches(name, names, 1)), None)


class UnknownArgument(BadValue):
    """An argument that the check does not have; the message names the one that was probably meant."""

    def __str__(self) -> str:
        where = "" if self.source == "argument" else f"{self.source}: "
        return f"{where}unknown argument {self.name!r}, {self.expected}"


def read(
    known: Iterable[Argument],
    given: Mapping[str, Any],
    source: str,
    setting: Callable[[str], tuple[Any, str]] = lambda name: (None, "default"),
    scale: float = 1.0,
) -> Arguments:
    """Read what was given for a check; what was not given comes from the settings of the run.

    Args:
        known: the arguments of the check.
        given: unchecked values by name; None counts as not given.
        source: where they came from, in words.
        setting: called with the name of an argument that a setting may give; returns its value, or None, and its source.
        scale: stretches the arguments that are times.

    Raises:
        BadValue: an argument that the check does not have, or a value that it does not take.
    """
    known = list(known)
    refuse_unknown(given, known, source)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for argument in known:
        value, where = given.get(argument.name), source
        if value is None and argument.setting:
            value, where = setting(argument.name)
        if value is not None:
            checked = argument.values.read(argument.name, value, where)
            values[argument.name] = min(checked * scale, LONGEST) if argument.scaled else checked
            sources[argument.name] = where
    return Arguments(values, sources, source, scale)
