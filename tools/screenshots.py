"""Draw the picture of the page for the docs from ``rankhash demo --serve``: ``python tools/screenshots.py``."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

OUT = Path(__file__).parents[1] / "docs" / "images" / "page.png"
QUERY = "/?collection=digits&id=24"
LARGEST = 250_000


@contextlib.contextmanager
def demo() -> Iterator[str]:
    """The address of the demo's server, which runs meanwhile."""
    command = [str(Path(sys.executable).with_name("rankhash")), "demo", "--serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(found[0] for line in process.stdout if (found := re.search(r"http://[\w.:]+", line)))
        finally:
            process.terminate()


def main() -> None:
    """Write the picture; one that has grown too large is an error."""
    OUT.parent.mkdir(exist_ok=True)
    with demo() as address, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1360, "height": 860})
        for _ in range(3):  # the first searches of a process are slower, and the picture tells the time
            page.goto(address + QUERY)
            page.locator("#summary", has_text="recall").wait_for()
        page.wait_for_function("[...document.images].every(image => image.complete)")
        page.screenshot(path=OUT)
        chromium.close()
    size = OUT.stat().st_size
    print(f"{OUT}: {size} bytes")
    if size > LARGEST:
        sys.exit(f"that is more than {LARGEST}")


if __name__ == "__main__":
    main()
