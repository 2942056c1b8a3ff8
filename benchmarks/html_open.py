"""How long does a big HTML report take to be made, and to be opened?

Makes a page of made-up records (tests by interpreters, every record with all its details), opens it in headless Chromium again and
again, and times each from the call to the second frame after the page's script is done; then opens its last row. Prints a markdown
table with least, median and greatest, and exits with 1 if a median is above the limit. Needs Chromium with its driver, selenium and
the extra [html].

    python benchmarks/html_open.py --tests 1000 --interpreters 6
    python benchmarks/html_open.py --tests 12 --pictures shots    (light, dark, opened and narrow, to look at)
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pytest_gilcheck import gilcheck
from pytest_gilcheck.report.html import page, unavailable
from tests.report import browser as browsers
from tests.report.sample import INTERPRETERS, many

OPEN_ALL = "document.querySelectorAll('#matrix tbody button').forEach((each) => each.click())"
TWO_FRAMES = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=1000, help="tests (default: 1000)")
    parser.add_argument("--interpreters", type=int, default=6, help=f"interpreters, at most {len(INTERPRETERS)} (default: 6)")
    parser.add_argument("--times", type=int, default=7, help="how often it is opened (default: 7)")
    parser.add_argument("--limit", type=float, default=3.0, help="seconds that opening may take (default: 3)")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="leave screenshots there instead of timing")
    given = parser.parse_args()
    if not 1 <= given.interpreters <= len(INTERPRETERS) or given.tests < 1 or given.times < 1:
        parser.error(f"--interpreters={given.interpreters}, --tests={given.tests}, --times={given.times}: out of range")
    if reason := unavailable() or browsers.missing():
        parser.error(reason)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        records = many(given.tests, given.interpreters)
        began = time.perf_counter()
        text = page(records, title=f"{given.tests} tests on {given.interpreters} interpreters")
        made = time.perf_counter() - began
        path = Path(folder, "page.html")
        path.write_text(text, encoding="utf-8")
        with browsers.browser(Path(folder, "profile")) as browser:
            if given.pictures:
                return pictures(browser, path, given.pictures)
            version = browser.driver.capabilities["browserVersion"]
            print(f"{gilcheck.interpreter}; Chromium {version}; {given.tests} tests on {given.interpreters} interpreters, ", end="")
            print(f"{path.stat().st_size / 1e6:.1f} MB; made in {made:.2f} s\n")
            opened, row = [], []
            for _ in range(given.times):
                browser.driver.get("about:blank")
                began = time.perf_counter()
                browser.driver.get(path.as_uri())
                browser.until("return document.documentElement.dataset.ready === '1'")
                browser.driver.execute_async_script(TWO_FRAMES)
                opened.append(time.perf_counter() - began)
                began = time.perf_counter()
                browser.run("[...document.querySelectorAll('#matrix tbody button')].at(-1).click()")
                browser.driver.execute_async_script(TWO_FRAMES)
                row.append(time.perf_counter() - began)
                assert browser.run("return document.querySelectorAll('#matrix .card').length") == given.interpreters
    print("| what | least, s | median, s | greatest, s |\n| --- | --- | --- | --- |")
    for name, times in (("opening the file", opened), ("opening a row", row)):
        print(f"| {name} | {min(times):.2f} | {statistics.median(times):.2f} | {max(times):.2f} |")
    slow = statistics.median(opened) > given.limit
    print(f"\n{'more' if slow else 'no more'} than {given.limit:g} s")
    return int(slow)


def pictures(browser: browsers.Browser, path: Path, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, scheme, width, rows in (
        ("light", "light", 1280, False),
        ("dark", "dark", 1280, False),
        ("light-opened", "light", 1280, True),
        ("dark-opened", "dark", 1280, True),
        ("narrow", "light", 390, True),
    ):
        browser.prefer(scheme)
        browser.wide(width)
        browser.open(path)
        browser.until("return document.documentElement.dataset.ready === '1'")
        if rows:
            browser.run(OPEN_ALL)
        height = min(12_000, browser.run("return document.documentElement.scrollHeight"))
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.driver.save_screenshot(str(folder / f"{name}.png"))
        print(folder / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
