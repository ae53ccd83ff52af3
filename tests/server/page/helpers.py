"""What tests of the page share: a hostile collection, and waiting for answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankhash.evaluation.images import data_url

playwright = pytest.importorskip("playwright.sync_api", reason="looks at the page in a browser through Playwright")
expect = playwright.expect
expect.set_options(timeout=15_000)

LARGE = 2**62 + 1
EVIL = "<img src=x onerror=\"document.title='taken over'\"><script>document.title='taken over'</script>"
PICTURE = data_url(np.eye(8))
HOSTILE = {
    EVIL: {"name": EVIL, EVIL: EVIL, "image": EVIL},
    "7": {"name": "seven as text", "image": "javascript:alert(1)"},
    7: {"name": "seven", "image": "https://example.org/picture.png"},
    LARGE: {"name": "large", "n": LARGE, "image": "data:image/svg+xml,<svg onload='alert(1)'/>"},
    "__proto__": json.loads('{"__proto__": {"polluted": true}, "constructor": "x", "toString": null}'),
    "bare": None,
    "long" * 60: {"title": "w" * 3000, "nested": {"a": [1, {"b": None}]}, "\u202eright to left": "\u202eabc"},
    "a/b?c#d%e": {"name": "signs of addresses", "image": PICTURE},
}
NO_PICTURE = ("404",)
"""What Chromium says of items that name a picture which the server does not have"""


def ready(page):
    """Wait until the page has its answers; the histogram is the last of them."""
    expect(page.locator("#neighbours")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#histogram svg")).to_be_visible()


def found(page):
    return [int(name) for name in page.locator(".found .id").all_inner_texts()]


def expect_answer(page, collection, name, k=10, **options):
    """The rows of the page are what the collection finds."""
    answer = collection.search_ids([name], k, **options)
    expect(page.locator(".found .id")).to_have_text([str(other) for other in answer.ids[0]])
    shown = [float(text.replace(",", "")) for text in page.locator(".rows .distance b").all_inner_texts()]
    np.testing.assert_allclose(shown, answer.distances[0], rtol=6e-4)
