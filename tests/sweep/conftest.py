"""The fixture ``run`` of the plugin's tests."""

from tests.plugin.conftest import run as run
