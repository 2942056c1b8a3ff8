"""Seeded defects of `gilcheck probe` over interpreters."""

from __future__ import annotations

from . import Mutant

MUTANTS = (
    Mutant(
        "probe-disturbed-laps",
        "probe/measuring.py",
        "        if all(pair.others < _DISTURBED for pair in laps[-1]):\n",
        "        if any(pair.others < _DISTURBED for pair in laps[-1]):\n",
        "laps that other programs disturbed count, and two threads read 1.5x with a GIL",
        ("tests/probe/test_probe.py",),
    ),
    Mutant(
        "probe-environment",
        "probe/session.py",
        '    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name in _KEPT}\n',
        "    return dict(os.environ)\n",
        "an interpreter that is probed imports the libraries of ours, by PYTHONPATH, and fails",
        ("tests/probe/test_session.py",),
    ),
    Mutant(
        "probe-group-left",
        "probe/session.py",
        "        self._life.end()\n",
        "        self.process.kill()\n        self.process.wait()\n",
        "what a launcher has started goes on after the probe",
        ("tests/probe/test_session.py", "tests/probe/test_probe.py"),
    ),
    Mutant(
        "probe-status",
        "probe/command.py",
        "    return 2 if not probed else 1 if refused else 0\n",
        "    return 2 if not probed else 0\n",
        "gilcheck probe exits with 0 although one of the interpreters could not be probed",
        ("tests/probe/test_probe.py",),
    ),
    Mutant(
        "probe-digits",
        "probe/table.py",
        'return f"{value:.0f}" if abs(value) >= 99.95 else',
        'return f"{value:.0f}" if abs(value) >= 9.95 else',
        "figures between 10 and 100 lose their last digit",
        ("tests/probe/test_table.py",),
    ),
)
