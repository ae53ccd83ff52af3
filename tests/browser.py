"""A real browser for tests of pages: Chromium without a window, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
ARTEFACTS = Path(os.environ.get("RANKHASH_ARTEFACTS", Path(__file__).parents[1] / "build" / "artefacts"))
"""Where screenshots are kept for people to look at."""

FLAGS = ("--no-sandbox", "--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")


class Visit:
    """A page that is open, and what it did: what it complained of, and which hosts it asked."""

    def __init__(self, browser: Any, width: int, height: int, expected: set[str], options: dict[str, Any]) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.context.set_default_timeout(15_000)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.expected = expected
        """Parts of what the test expects it to complain of: Chromium reports answers such as 422 as errors"""
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def _hear(self, message: Any) -> None:
        expected = any(part in message.text for part in self.expected)
        if message.type in ("error", "warning") and not expected:
            self.complaints.append(message.text)

    def screenshot(self, name: str, **options: Any) -> Path:
        """A picture of the page among the artefacts."""
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        path = ARTEFACTS / name
        self.page.screenshot(path=path, **options)
        return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; of one module, since Playwright keeps an event loop running in this thread meanwhile."""
    playwright = pytest.importorskip("playwright.sync_api", reason="looks at the page in a browser through Playwright")
    if CHROMIUM is None:
        pytest.skip("looks at the page in a real browser, and there is no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens pages; afterwards none may have complained, or have asked a host other than its own."""
    visits: list[tuple[Visit, str]] = []

    def open_page(
        address: str, width: int = 1280, height: int = 800, expected: tuple[str, ...] = (), **options: Any
    ) -> Visit:
        made = Visit(browser, width, height, set(expected), options)
        visits.append((made, urlsplit(address).netloc))
        made.page.goto(address)
        return made

    yield open_page
    for made, host in visits:
        made.context.close()
        assert made.complaints == []
        assert made.hosts <= {host, ""}
