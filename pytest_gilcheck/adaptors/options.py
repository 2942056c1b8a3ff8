"""The settings of a pytest run, and bad ones as usage errors."""

from __future__ import annotations

import pytest

from ..core.errors import BadValue
from ..core.evidence_files import check_target
from ..report import html
from ..settings import FILES, SETTINGS, Settings, ini_name

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
        for name in FILES:
            path, source = settings.value(name)
            if path is not None:
                check_target(config.invocation_params.dir / path, source, name)
        path, source = settings.value("html")
        if path is not None and (why := html.unavailable()) is not None:
            raise BadValue("html", path, f"a file that can be written, but {why}", source)
    except BadValue as error:
        raise pytest.UsageError(f"gilcheck: {error}") from error
    config.stash[_KEY] = settings
    return settings


def _ini_text(config: pytest.Config, name: str) -> str | None:
    value = config.getini(ini_name(name))
    return None if value is None or value == "" else str(value)
