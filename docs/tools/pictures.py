"""Make the pictures of README and the site from real runs: ``python docs/tools/pictures.py`` (needs Chromium for the second).

- ``docs/_static/race.svg``: the terminal of the test in README that finds a race;
- ``docs/_static/report.png``: the HTML report of three failing tests, and of one the threads in lanes.
"""

import html
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "docs" / "_static"
COLUMNS = 130
FONTS = "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace"
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd"}
FAILING = """
import json, threading
import pytest

ROWS = [{"id": i, "name": f"row {i}", "price": i * 0.99} for i in range(5_000)]

@pytest.mark.gil_scaling(threads=2, min_speedup=1.5)
def test_export_scales():
    json.dumps(ROWS)

@pytest.mark.gil_interrupt(within=0.2, repeats=2)
def test_ctrl_c_stops_the_sum():
    sum(range(10**9))
"""


def race():
    """The first test of README with gil_fuzz."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    return next(block for block in blocks if "gil_fuzz" in block)


def run(folder, *options):
    """Pytest's output in this folder, with the folder's name replaced."""
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": str(COLUMNS), "PYTHONPATH": str(ROOT)}
    plugins = ("-p", "no:cacheprovider", "-p", "pytest_gilcheck.plugin")
    command = [sys.executable, "-m", "pytest", *plugins, "--rootdir", folder, *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.stdout.replace(str(folder), "/home/me")


def svg(text):
    """A terminal with this text, whose escape sequences become colours."""
    lines, style = [], {}
    for line in text.splitlines():
        spans = []
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b"):
                for code in part[2:-1].split(";"):
                    if code in ("", "0"):
                        style = {}
                    elif code == "1":
                        style = style | {"font-weight": "bold"}
                    elif code in COLOURS:
                        style = style | {"fill": COLOURS[code]}
            elif part:
                attributes = "".join(f' {name}="{value}"' for name, value in style.items())
                spans.append(f"<tspan{attributes}>{html.escape(part)}</tspan>")
        lines.append("".join(spans))
    height = 19 * len(lines) + 28
    rows = "".join(f'<text x="16" y="{30 + 19 * row}" xml:space="preserve">{line}</text>\n' for row, line in enumerate(lines))
    width = round(8.43 * COLUMNS) + 32
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" '
        'aria-label="The output of pytest: a race found, with the steps of both threads">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#161b22"/>\n'
        f'<g font-family="{FONTS}" font-size="14" fill="#e6edf3">\n{rows}</g></svg>\n'
    )


def wrapped(text):
    """The lines, of which those that are wider than the picture are broken between words: a terminal would break in a word."""
    for line in text.splitlines():
        if len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= COLUMNS:
            yield line
        else:
            indent = " " * (len(line) - len(line.lstrip()))
            yield from textwrap.wrap(line, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def terminal(folder):
    (folder / "test_cache.py").write_text(race())
    text = run(folder, "--color=yes", "--gilcheck-seed=1", "test_cache.py")
    shown = text[text.index("=", text.index("[100%]")) :]
    (STATIC / "race.svg").write_text(svg("\n".join(wrapped(f"$ pytest test_cache.py\n{shown}"))))


def report(folder):
    sys.path.insert(0, str(ROOT))
    from tests.report.browser import browser, missing

    if why := missing():
        print(f"report.png is as it was: {why}")  # noqa: T201
        return
    (folder / "test_cache.py").write_text(race())
    (folder / "test_shop.py").write_text(FAILING)
    run(folder, "--gilcheck-html=report.html", "--gilcheck-seed=1", "test_shop.py", "test_cache.py")
    page = folder / "report.html"
    page.write_text(page.read_text().replace(folder.name, "shop").replace(str(Path(sys.base_prefix)), "/usr"))
    with browser(folder / "browser") as tab:
        tab.wide(1280, 1240)
        tab.open(page)
        tab.run("[...document.querySelectorAll('#matrix tbody tr th button')].find(b => b.textContent.includes('cache')).click()")
        tab.until("return document.querySelector('.lane') !== null")
        tab.run("document.querySelector('#matrix').scrollIntoView()")
        tab.driver.save_screenshot(str(STATIC / "report.png"))


if __name__ == "__main__":
    for picture in (terminal, report):
        with tempfile.TemporaryDirectory() as made:
            picture(Path(made))
