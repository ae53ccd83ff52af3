"""A real browser for tests of the report: Chromium without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
ARTEFACTS = Path(os.environ.get("RANKHASH_ARTEFACTS", Path(__file__).parents[1] / "build" / "artefacts"))
"""Where screenshots are kept for people to look at."""

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="looks at the page in a real browser, and there is no Chromium: apt-get install chromium"
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
)


def visit(page: Path, profile: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page without any network and wait until it is quiet."""
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What the page wrote to the browser's console: errors of scripts, things that it was refused."""
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def screenshot(page: Path, profile: Path, name: str, width: int, height: int) -> Path:
    """A picture of the page among the artefacts."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    path = ARTEFACTS / name
    visit(page, profile, f"--window-size={width},{height}", f"--screenshot={path}")
    return path
