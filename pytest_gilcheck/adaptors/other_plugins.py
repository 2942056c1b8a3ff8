"""What other plugins are told, so that they leave our modules and the tests that use a check alone."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType

import pytest

from ..checks import CHECKS
from ..core.classes import file_of_module
from ..core.origin import declare_of_the_runner, foreign

_PACKAGE = __name__.partition(".")[0]
_MEASURING = {"core", *(check.wing for check in CHECKS.values())}  # what runs beside a test's body


def tell(config: pytest.Config) -> None:
    """Tell every plugin that is loaded, and the checks of these; called before the first checked test is set up."""
    declare_of_the_runner(_installed_files(config.pluginmanager.get_plugins()))
    if "pyfakefs" in sys.modules:
        _keep_the_real_file_system()


def _installed_files(plugins: Iterable[object]) -> Iterator[str]:
    """The files of those plugins that are of installed packages: a conftest is the user's own."""
    for plugin in plugins:
        module = plugin if isinstance(plugin, ModuleType) else sys.modules.get(type(plugin).__module__)
        file = file_of_module(module)
        if file is not None and foreign(file):
            yield file


def keep_out_of_other_threads(items: Iterable[pytest.Item]) -> None:
    """Opt out of pytest-run-parallel, which would run a test's body, and so its check, in several threads at once."""
    for item in items:
        item.add_marker(pytest.mark.thread_unsafe(reason="gilcheck runs it in threads of its own"))
        item.add_marker(pytest.mark.iterations(1))  # of which each would be a thread, too


def _keep_the_real_file_system() -> None:
    """Have pyfakefs leave the names ``os``, ``io`` and so on of our modules as they are.

    It replaces them in every loaded module, and its ``os`` knows none of our pipes (``OSError: [Errno 9]``). A module that is
    imported while a test has a fake file system would get the fake one for good, so all are imported now.
    """
    from pyfakefs.fake_filesystem_unittest import Patcher

    skipped = getattr(Patcher, "RUNTIME_SKIPMODULES", None)  # prefixes of modules, by the module that asks for it
    if isinstance(skipped, dict):
        skipped[_PACKAGE] = [_PACKAGE, "psutil"]
    package = import_module(_PACKAGE)
    for found in pkgutil.walk_packages(package.__path__, f"{_PACKAGE}."):
        if found.name.split(".")[1] in _MEASURING:
            import_module(found.name)
