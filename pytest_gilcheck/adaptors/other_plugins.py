"""What other plugins are told, so that they leave our modules and the tests that use a check alone."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module

import pytest

_PACKAGE = __name__.partition(".")[0]
_MEASURING = ("core", "scaling", "interrupt", "injection", "latency", "fuzz")  # the wings that run beside a test's body


def tell(config: pytest.Config) -> None:
    """Tell every plugin that is loaded; called before the first checked test is set up."""
    if "pyfakefs" in sys.modules:
        _keep_the_real_file_system()


def _keep_the_real_file_system() -> None:
    """Have pyfakefs leave the names ``os``, ``io`` and so on of our modules as they are.

    It replaces them in every loaded module, and its ``os`` knows none of our pipes (``OSError: [Errno 9]``). A module that is
    imported while a test has a fake file system would get the fake one for good, so all are imported now.
    """
    from pyfakefs.fake_filesystem_unittest import Patcher

    skipped = getattr(Patcher, "RUNTIME_SKIPMODULES", None)  # prefixes of modules, by the module that asks for it
    if isinstance(skipped, dict):
        skipped[_PACKAGE] = [_PACKAGE]
    package = import_module(_PACKAGE)
    for found in pkgutil.walk_packages(package.__path__, f"{_PACKAGE}."):
        if found.name.split(".")[1] in _MEASURING:
            import_module(found.name)
