"""What one thread of a free-threaded build costs, beside a build with a GIL: name the other one in OTHER_PYTHON."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import single_thread

OTHER = os.environ.get("OTHER_PYTHON")
MOST = 5.0  # published for 3.13: 1.05 (regex) to 2.7 (nbody) times as long


def test_aes_is_aes():  # FIPS 197, appendix C.1
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert single_thread.encrypt(block, single_thread.round_keys(bytes(range(16)))).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"


@pytest.mark.skipif(not OTHER, reason="no other interpreter: set OTHER_PYTHON")
def test_the_cost_of_one_thread():
    """Both interpreters run in turn; the least time of each program counts, as CPU time."""
    least = {}
    for _ in range(2):
        for python in (sys.executable, OTHER):
            command = [python, Path(single_thread.__file__)]
            seconds = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=100).stdout)
            before = least.setdefault(python, seconds)
            least[python] = {name: min(seconds[name], before[name]) for name in seconds}
    ratios = {name: least[OTHER][name] / seconds for name, seconds in least[sys.executable].items()}
    for name, seconds in least[sys.executable].items():
        print(f"{name:12} {seconds * 1e3:6.2f} ms here, {least[OTHER][name] * 1e3:6.2f} ms there: {ratios[name]:.2f} times as long")
    assert all(1 / MOST < ratio < MOST for ratio in ratios.values()), ratios
