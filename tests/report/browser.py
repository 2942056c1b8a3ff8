"""A real browser without a window that opens the HTML report, and shows what the page logged and requested."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")


def missing() -> str | None:
    """Return what is missing on this machine; None if a browser can be started."""
    if CHROMIUM is None or DRIVER is None:
        return "no Chromium with its chromedriver here"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    return None


class Browser:
    """One tab.

    Attributes:
        driver: selenium's.
    """

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path, address: str = "") -> None:
        """Open a page, discard earlier log entries, and wait until its document is complete."""
        self.driver.get("about:blank")
        self.logged()
        self.requests()
        self.driver.get(path.as_uri() + address)
        self.until("return document.readyState === 'complete'")

    def run(self, script: str, *arguments: object) -> Any:
        """Run the body of a JavaScript function, and return its value."""
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str, seconds: float = 20.0) -> None:
        """Wait until the script returns something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, seconds, poll_frequency=0.02).until(lambda _: self.run(script), script)

    def logged(self) -> list[str]:
        """Return the console messages since the last call, the browser's own errors and warnings included."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that were requested since the last call, in order."""
        entries = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [each["params"]["request"]["url"] for each in entries if each["method"] == "Network.requestWillBeSent"]

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, on the element that has the focus."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def prefer(self, scheme: str) -> None:
        """Set the colour scheme that the system prefers: light or dark."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def wide(self, pixels: int, height: int = 900) -> None:
        """Set the width of the window, and its height in pixels."""
        size = {"width": pixels, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start a browser that keeps its data in this folder, and end it with all its processes."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of selenium's own connections
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
        driver.set_page_load_timeout(120)
        try:
            yield Browser(driver)
        finally:
            with suppress(Exception):
                driver.quit()
