"""What other systems lack, hidden one by one: a check tells right from wrong there, or says that it cannot tell.

No macOS or Windows is tried: only the paths that they would take, on Linux (`core.system`).
"""

import sys

import pytest

from pytest_gilcheck.core.system import FACILITIES
from tests.company.rows import ROWS
from tests.company.test_matrix import FAILED_AND_VIOLATED, PASSED_AND_HOLDS, TIMED, UNDECIDED, cells

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="what is hidden is what Linux has")]
SEARCHES = ("fuzz", "call")


@pytest.mark.parametrize("hidden", [*FACILITIES, ",".join(FACILITIES)])
def test_without_this_no_check_is_wrong(hidden, tmp_path):
    found, said = cells(tmp_path, ROWS["alone"], {"GILCHECK_HIDE": hidden})
    for cell, ends in found.items():
        right = PASSED_AND_HOLDS if cell.endswith("_holds") else FAILED_AND_VIOLATED
        assert ends <= right | (set() if cell.split("_")[1] in SEARCHES else UNDECIDED), f"{cell}: {ends}\n{said}"
    without_processes = ("interrupt", "injection") if "fork" in hidden else ()
    undecided_ones = {cell for cell, ends in found.items() if ends & UNDECIDED and cell.split("_")[1] not in TIMED}
    assert undecided_ones == {cell for cell in found if cell.split("_")[1] in without_processes}, said
