"""The HTML report in a real browser: what it shows, what it never does, and how it is used."""

import importlib.util
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata

import pytest

from pytest_gilcheck.core.errors import BadValue
from pytest_gilcheck.core.evidence_files import read
from pytest_gilcheck.report import html
from pytest_gilcheck.report.html import page

from . import browser as browsers
from .records import entry
from .sample import CHECKS, HOSTILE, INTERPRETERS, every_check, hostile, many

pytestmark = pytest.mark.skipif(html.unavailable() is not None, reason="Jinja2 is not installed")
CHARTS = {
    "scaling": ["Rounds: speedup, interval and ceiling"],
    "curve": ["Speedup over workers"],
    "latency": ["Lateness of the heartbeat", "Lateness of the echo"],
    "interrupt": ["Signals: delivery, unwinding and exit"],
    "injection": [],
    "fuzz": ["Interleaving of the minimal failing run"],
    "linearizable": ["Interleaving of the minimal failing run"],
}
OPEN_ALL = "document.querySelectorAll('#matrix tbody button').forEach((each) => each.click())"
SHOWN = "return [...document.querySelectorAll('#matrix > tbody > tr[data-check]')].filter((each) => !each.hidden).map((each) => %s)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if reason := browsers.missing():
        pytest.skip(reason)
    with browsers.browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


@pytest.fixture
def opened(browser, tmp_path):
    """Write a page and open it; afterwards check that it logged nothing and requested nothing but itself."""
    pages = []

    def open_one(records, address="", **given):
        path = tmp_path / "page.html"
        path.write_text(page(records, title="Test results", **given), encoding="utf-8")
        browser.wide(1280)
        browser.prefer("light")
        browser.open(path, address)
        browser.until("return document.documentElement.dataset.ready === '1'")
        pages.append(path)
        return browser

    yield open_one
    if pages:
        assert browser.logged() == []
        assert {address.partition("#")[0] for address in browser.requests()} == {path.as_uri() for path in pages}


@pytest.fixture
def address():
    """The address of a local server that a page could request."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/picture.png"
        server.shutdown()
        thread.join()


# -- what it shows ---------------------------------------------------------------------------------------------------------------


def test_every_check_has_its_charts_for_every_interpreter(opened):
    browser = opened(every_check())
    browser.run(OPEN_ALL)
    drawn = browser.run("""
        return [...document.querySelectorAll("#matrix tr.panel")].map((panel) => [
            panel.previousElementSibling.dataset.check,
            [...panel.querySelectorAll(".card")].map((card) => [...card.querySelectorAll("figure.chart")].map((figure) => [
                figure.querySelector("figcaption").textContent,
                figure.querySelectorAll(".plot > svg > *").length,
                figure.querySelector(".plot > svg").getAttribute("aria-label"),
                figure.querySelector(".plot > svg").getBoundingClientRect().height,
            ])),
        ])
    """)
    assert {check for check, _ in drawn} == set(CHECKS)
    for check, cards in drawn:
        assert len(cards) == 2, check
        for figures in cards:
            assert [title for title, *_ in figures] == CHARTS[check]
            for title, marks, told, height in figures:
                assert marks > 10, title
                assert height > 100, title
                assert told.startswith(title), title
                assert len(told) > len(title) + 20, title  # the same in words


def test_without_details_there_are_no_charts_and_no_errors(opened):
    browser = opened([entry | {"details": {}} for entry in every_check()])
    browser.run(OPEN_ALL)
    assert browser.run("return document.querySelectorAll('#matrix .card').length") == 2 * len(CHECKS)
    assert browser.run("return document.querySelectorAll('figure').length") == 0


@pytest.mark.slow
def test_a_run_of_real_checks_gives_a_page_with_their_charts(browser, opened, pytester):
    pytester.makepyfile("""
        import threading, time
        import pytest

        @pytest.mark.gil_scaling(threads=2, max_slowdown=5, timeout=60, budget=1)
        def test_scaling():
            sum(range(20_000))

        @pytest.mark.gil_interrupt(repeats=2, over=0.1)
        def test_interrupt():
            time.sleep(30)

        @pytest.mark.gil_latency(p99=5.0, budget=0.6)
        def test_latency():
            sum(range(1000))

        def test_curve(gilcheck):
            gilcheck.curve(lambda: sum(range(20_000)), threads=(1, 2), modes=("threads",), budget=0.5)

        class Counter:
            value = 0

        def add(counter):
            seen = counter.value
            counter.value = seen + 1

        def test_fuzz(gilcheck):
            gilcheck.fuzz(threads=[add, add], setup=Counter, invariant=lambda counter: counter.value == 2)
    """)
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-p", "no:asyncio", "--gilcheck-html=r.html", "--gilcheck-json=r.json"
    )
    records = read(pytester.path / "r.json")
    assert {entry["check"] for entry in records} >= {"scaling", "interrupt", "latency", "curve", "fuzz"}, result.outlines
    browser.wide(1280)
    browser.open(pytester.path / "r.html")
    browser.run(OPEN_ALL)
    drawn = browser.run("""
        return [...document.querySelectorAll("figure.chart")]
            .filter((each) => each.querySelector("svg[role=img]"))
            .map((each) => each.querySelector("figcaption").textContent)
    """)
    undecided = {entry["check"] for entry in records if entry["verdict"] == "inconclusive"}  # may have nothing to draw
    for check in {"scaling", "interrupt", "latency", "curve", "fuzz"} - undecided:
        assert set(CHARTS[check]) <= set(drawn), (check, drawn)
    assert browser.logged() == []


def test_the_table_is_complete_without_a_script():
    text = page(every_check(), title="Test results")
    bare = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    for check in CHECKS:
        assert f"test_{check}_of_the_store" in bare
    body = bare[bare.index('<table id="matrix">') :]
    assert len(re.findall(r'<td class="(?:holds|violated|inconclusive|measured)" data-on', body)) == 2 * len(CHECKS)
    assert bare.count(">3.13.5t<") == 2, "in both tables"


@pytest.mark.slow
def test_a_thousand_tests_on_six_interpreters_are_all_there(opened):
    browser = opened(many(1000, 6))
    assert browser.run("return document.querySelectorAll('#matrix > tbody > tr').length") == 1000
    assert browser.run("return document.querySelectorAll('#matrix > tbody td').length") == 6000
    browser.run("document.querySelectorAll('#matrix tbody button')[999].click()")
    assert browser.run("return document.querySelectorAll('#matrix .card').length") == 6


# -- filters and keys ------------------------------------------------------------------------------------------------------------


def test_each_filter_leaves_what_it_names_and_the_address_keeps_it(opened):
    browser = opened(many(60, 2))
    checks = SHOWN % "each.dataset.check"
    everything = browser.run(checks)
    assert len(everything) == 60

    browser.run("document.querySelector('[name=check][value=curve]').click()")
    assert set(browser.run(checks)) == {"curve"}
    assert browser.run("return document.getElementById('shown').textContent") == "8 of 60 shown"
    assert "check=curve" in browser.run("return location.hash")

    browser.run("document.querySelector('[name=check][value=curve]').click()")
    browser.run("document.querySelector('[name=verdict][value=inconclusive]').click()")
    verdicts = browser.run(SHOWN % "each.dataset.verdicts")
    assert 0 < len(verdicts) < 60
    assert all("inconclusive" in each for each in verdicts)

    browser.run("document.querySelector('button[type=reset]').click()")
    browser.until("return document.getElementById('shown').textContent === '60 of 60 shown'")
    browser.run("document.querySelector('[name=differs]').click()")
    differing = browser.run(SHOWN % "each.dataset.differs")
    assert 0 < len(differing) < 60
    assert set(differing) == {"1"}

    browser.run("document.querySelector('button[type=reset]').click()")
    browser.until("return document.getElementById('shown').textContent === '60 of 60 shown'")
    browser.run("document.getElementById('search').focus()")
    browser.press("TEST_CASE_0042")
    assert len(browser.run(checks)) == 1
    browser.press("x")
    assert browser.run(checks) == []
    assert browser.run("return !document.getElementById('nothing').hidden")


def test_a_link_with_filters_opens_filtered(opened):
    browser = opened(many(60, 2), "#check=fuzz&text=case_00")
    assert set(browser.run(SHOWN % "each.dataset.check")) == {"fuzz"}
    assert browser.run("return document.querySelector('[name=check][value=fuzz]').checked")


def test_rows_are_opened_walked_and_closed_by_keyboard_alone(opened):
    browser = opened(every_check())
    down, up, right, left, enter, tab, end = "\ue015", "\ue013", "\ue014", "\ue012", "\ue007", "\ue004", "\ue010"
    focused = "return document.activeElement.closest('#matrix tr')?.rowIndex ?? 0"
    for _ in range(40):
        browser.press(tab)
        if browser.run(focused):
            break
    assert browser.run(focused) == 1
    state = "return document.activeElement.getAttribute('aria-expanded')"
    assert browser.run(state) == "false"
    browser.press(enter)
    assert browser.run(state) == "true"
    assert browser.run("return document.querySelectorAll('.panel .card').length") == 2
    browser.press(left)
    assert browser.run(state) == "false"
    assert browser.run("return document.querySelector('.panel').hidden")
    browser.press(right, down)
    assert browser.run("return document.activeElement.closest('tr').dataset.check") != browser.run(
        "return document.querySelector('#matrix tbody tr').dataset.check"
    )
    browser.press(end)
    assert browser.run("return !document.activeElement.closest('tr').nextElementSibling")
    browser.press(up)
    assert browser.run("return !!document.activeElement.closest('tr').nextElementSibling")


# -- light, dark, narrow ---------------------------------------------------------------------------------------------------------

CONTRASTS = """
    const bright = (colour) => {
        const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        const [r, g, b] = colour.match(/[\\d.]+/g).map((c) => linear(Number(c) / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const colour = getComputedStyle(each).backgroundColor;
            if (!/, 0\\)$/.test(colour)) return colour;
        }
        return "rgb(255, 255, 255)";
    };
    const texts = [...document.querySelectorAll("main *, header *")].filter((each) =>
        each.closest("svg") === null && !each.closest("[hidden]")
        && [...each.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()) && each.getClientRects().length);
    return texts.map((each) => {
        const [one, other] = [bright(getComputedStyle(each).color), bright(behind(each))];
        return [(Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), each.textContent.slice(0, 40), bright(behind(each))];
    });
"""


def test_light_and_dark_follow_the_system_until_the_reader_chooses_and_all_text_can_be_read(opened):
    browser = opened(every_check())
    browser.run("localStorage.removeItem('gilcheck-colours')")
    browser.run(OPEN_ALL)
    page_colour = "return getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        seen[scheme] = browser.run(page_colour)
        texts = browser.run(CONTRASTS)
        assert len(texts) > 100
        assert [text for contrast, *text in texts if contrast < 4.5] == []  # WCAG 2.1, 1.4.3
    assert seen["light"] != seen["dark"]

    browser.prefer("light")
    button = "document.getElementById('theme').click()"
    browser.run(button)
    browser.run(button)
    assert browser.run(page_colour) == seen["dark"]
    browser.run(button)
    assert browser.run(page_colour) == seen["light"]


def test_a_narrow_window_scrolls_the_table_and_not_the_page(opened):
    browser = opened(every_check(INTERPRETERS))
    browser.wide(390)
    browser.run(OPEN_ALL)
    assert browser.run("return document.documentElement.scrollWidth") <= 390


# -- what it never does ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_text_of_a_record_becomes_markup(opened):
    browser = opened(hostile(), notes=list(HOSTILE))
    browser.run(OPEN_ALL)
    assert browser.run("return window.hit") is None
    assert browser.run("return document.querySelectorAll('img, iframe, object, embed, link, base, script[src]').length") == 0
    assert browser.run("return document.querySelectorAll('script').length") == 3
    assert HOSTILE[0] in browser.run("return document.querySelector('#matrix').textContent")
    rows = browser.run("return document.querySelectorAll('#matrix > tbody > tr[data-check]').length")
    assert browser.run("return document.querySelectorAll('#matrix > tbody > tr.panel').length") == rows
    text = page(hostile(), title="x")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_these_tests_would_see_a_script_an_error_and_a_request(browser, tmp_path, address):
    """A broken copy: the same page with what ours must not have."""
    sound = page(every_check(), title="Test results")
    path = tmp_path / "broken.html"
    path.write_text(sound.replace("</main>", f"<script>window.hit = 1</script><img src='{address}'></main>"), encoding="utf-8")
    browser.open(path)
    assert browser.run("return window.hit") is None  # the page's own policy
    assert len([line for line in browser.logged() if "Content Security Policy" in line]) == 2

    unguarded = re.sub(r"<meta http-equiv=.*?>", "", path.read_text(encoding="utf-8"))
    path.write_text(unguarded.replace("</main>", "<script>neverDefined()</script></main>"), encoding="utf-8")
    browser.open(path)
    assert browser.run("return window.hit") == 1
    assert address in browser.requests()
    assert any("neverDefined is not defined" in line for line in browser.logged())


def test_the_same_records_give_the_same_page():
    assert page(every_check(), title="x") == page(every_check(), title="x")


def test_data_can_be_taken_out_of_the_page_again():
    text = page(every_check(), title="x")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert len(data) == len(CHECKS)
    assert {entry["check"] for row in data for entry in row} == set(CHECKS)


def test_without_jinja2_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadValue, match=r"pytest-gilcheck\[html\]"):
        page([], title="x")


def test_no_records_are_said_to_be_none():
    assert "There are no records" in page([], title="x")


def test_the_installed_package_has_all_files_of_the_page():
    files = [str(file) for file in metadata.files("pytest-gilcheck") or []]
    if any(file.endswith(".pth") or "__editable__" in file for file in files):
        pytest.skip("an editable install lists none of its files")
    for name in (*html.scripts(), "page.css", "page.html"):
        assert f"pytest_gilcheck/report/page/{name}" in files


@pytest.mark.parametrize("damaged", ["hold", "HOLDS", 1, True, ["holds"], {}, ""])
def test_a_damaged_verdict_is_shown_as_undecided(damaged):
    text = page([entry("sound", "violated"), entry("damaged", "violated") | {"verdict": damaged}], title="x")
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert [cell["verdict"] for row in data for cell in row] == ["violated", "inconclusive"]


def test_text_of_a_record_is_escaped_in_the_table_and_in_the_data():
    given = "</script><img src=x>"
    text = page([entry(f"test[{given}]", "violated", reason=given)], title=given, notes=[given])
    assert "<img" not in text
    assert text.count("</script>") == page([], title="x").count("</script>")
