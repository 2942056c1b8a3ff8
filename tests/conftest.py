import pytest

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch):
    """A developer's own GILCHECK_* must not decide what our tests see."""
    for name in ("BUDGET", "TIMEOUT", "THREADS", "JSON", "STRICT", "ISOLATE", "SEED"):
        monkeypatch.delenv(f"GILCHECK_{name}", raising=False)
