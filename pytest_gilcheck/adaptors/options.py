"""Read the settings of a pytest run; a bad value is a usage error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..core.errors import BadValue
from ..settings import FILES, SETTINGS, SPAWNED_TEST, Settings, ini_name, unknown_variables, variable

_KEY = pytest.StashKey[Settings]()


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings of the run; they are read and checked once.

    Raises:
        pytest.UsageError: a value cannot be used; the message is one line with its name, value and source.
    """
    if (known := config.stash.get(_KEY, None)) is not None:
        return known
    try:
        settings = Settings(
            command_line={name: config.getoption(ini_name(name), None) for name in SETTINGS},
            environment=Settings.from_environment().environment,
            ini={name: _ini_text(config, name) for name in SETTINGS},
        )
        settings.check()
        here = not hasattr(config, "workerinput")  # xdist's workers do not write files and may be on another host
        if here and any(settings.value(name)[0] is not None for name in FILES):
            _check_files(config, settings)
    except BadValue as error:
        raise pytest.UsageError(f"gilcheck: {error}") from error
    config.stash[_KEY] = settings
    return settings


def warn_of_unknown_variables(config: pytest.Config) -> None:
    """Warn of environment variables that look like settings and are none; once for a run with xdist or spawned tests.

    Raises:
        pytest.UsageError: warnings are errors.
    """
    if hasattr(config, "workerinput") or SPAWNED_TEST in os.environ:
        return
    for name, hint in unknown_variables(os.environ).items():
        message = f"gilcheck: the environment variable {name} is no setting, and has no effect: {hint}"
        try:
            config.issue_config_time_warning(pytest.PytestConfigWarning(message), stacklevel=2)
        except pytest.PytestConfigWarning:  # -W error
            raise pytest.UsageError(message) from None


def early_target(config: pytest.Config) -> Path | None:
    """Where evidence will go, as far as that is known before options are parsed; None for nowhere, or if it cannot be written."""
    known = getattr(config.known_args_namespace, ini_name("json"), None)
    settings = Settings({"json": known}, {"json": os.environ.get(variable("json")) or None}, {"json": _ini_text(config, "json")})
    try:
        found = target(config, settings, "json")
        if found is not None:
            from ..core.evidence_files import check_target

            check_target(*found)
    except BadValue:  # a usage error, later
        return None
    return None if found is None else found[0]


def target(config: pytest.Config, settings: Settings, name: str) -> tuple[Path, str] | None:
    """Return the path of the file that a setting names, and the source of the setting; None if it is not set.

    A path from an ini file is relative to the folder of that file; every other path to the folder in which pytest was started.
    """
    path, source = settings.value(name)
    if path is None:
        return None
    if settings.is_of_ini_file(name):
        return (config.inipath.parent if config.inipath else config.rootpath) / path, source
    return config.invocation_params.dir / path, source


def _check_files(config: pytest.Config, settings: Settings) -> None:
    from ..core.evidence_files import check_target  # only where a file is asked for

    taken: dict[Path, str] = {}
    for name in FILES:
        if (path_and_source := target(config, settings, name)) is None:
            continue
        path, source = path_and_source
        check_target(path, source, name)
        if (other := taken.setdefault(path.resolve(), name)) != name:
            raise BadValue(name, str(path), f"a file of its own: {other} is written to the same file", source)
        if name == "html":
            from ..report import html

            if (why := html.unavailable()) is not None:
                raise pytest.UsageError(f"gilcheck: {source} needs {why}")


def _ini_text(config: pytest.Config, name: str) -> str | None:
    value = config.getini(ini_name(name))
    return None if value is None or value == "" else str(value)
