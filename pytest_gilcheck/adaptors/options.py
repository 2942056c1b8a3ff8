"""The settings of a pytest run, and bad ones as usage errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..core.errors import BadValue
from ..core.evidence import check_target
from ..settings import SETTINGS, Settings, ini_name

_KEY = pytest.StashKey[Settings]()


def settings_of(config: pytest.Config) -> Settings:
    """The run's settings, read once.

    Raises:
        pytest.UsageError: a value that cannot be used; one line with its name, value and source.
    """
    if (known := config.stash.get(_KEY, None)) is not None:
        return known
    settings = Settings(
        command_line={name: config.getoption(ini_name(name), None) for name in SETTINGS},
        environment=Settings.from_environment().environment,
        ini={name: _ini_text(config, name) for name in SETTINGS},
    )
    try:
        settings.check()
        path, source = settings.value("json")
        if path is not None:
            check_target(Path(path), source)
    except BadValue as error:
        raise pytest.UsageError(f"gilcheck: {error}") from error
    config.stash[_KEY] = settings
    return settings


def _ini_text(config: pytest.Config, name: str) -> str | None:
    value = config.getini(ini_name(name))
    return None if value is None or value == "" else str(value)
