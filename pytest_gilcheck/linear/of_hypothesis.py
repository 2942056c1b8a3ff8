"""What hypothesis' settings and its command line say of a campaign, where its own arguments do not.

Taken: ``max_examples``, ``database``, ``derandomize`` and ``verbosity`` of the settings, and ``--hypothesis-seed``. Not taken:
``deadline``, because a program is searched by numbers and not by time; ``phases``, ``stateful_step_count``, ``backend`` and health
checks, because programs are drawn and made smaller in another way; ``print_blob``, because a report has a token.
"""

from __future__ import annotations

from typing import Any

from hypothesis import core, settings

from ..core.arguments import Arguments
from ..core.errors import BadValue
from ..engine.schedule import checksum

_USED_SEED, _USED_BLOB = "_hypothesis_internal_use_seed", "_hypothesis_internal_use_reproduce_failure"
_OF_HYPOTHESIS = 100  # examples by its default, which is not what anybody has asked for here


def settings_of(given: Arguments) -> Any:
    """The settings that were given, or those of the profile that is loaded."""
    return given.get("settings") or settings()


def examples_of(chosen: Any, default: int) -> int:
    """How many programs these settings ask for."""
    return default if chosen.max_examples == _OF_HYPOTHESIS else int(chosen.max_examples)


def seed_of(chosen: Any) -> int | None:
    """The seed that ``--hypothesis-seed`` or ``derandomize`` asks for; None if neither does."""
    seed = core.global_force_seed
    if seed is not None:
        return seed if isinstance(seed, int) else checksum(str(seed))
    return 0 if chosen.derandomize else None


def of_test_case(case: type) -> dict[str, Any]:
    """Arguments out of what hypothesis' decorators have set on a class of tests.

    Raises:
        BadValue: ``@reproduce_failure``.
    """
    if (blob := getattr(case, _USED_BLOB, None)) is not None:
        expected = "no decorator of a machine: options = {'replay': '<token of the report>'} replays a program with its schedule"
        raise BadValue("reproduce_failure", blob, expected, f"{case.__name__}")
    found = {"settings": getattr(case, "settings", None), "seed": getattr(case, _USED_SEED, None)}
    return {name: value for name, value in found.items() if value is not None}
