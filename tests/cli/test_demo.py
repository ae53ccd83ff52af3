"""``rankhash demo``."""

from __future__ import annotations

import json
import os
import signal
import sys
import webbrowser
from urllib.request import urlopen

import numpy as np
from click.testing import CliRunner

from rankhash import LSH, Collection
from rankhash.cli import _demo_collections, demo, main


def test_demo_says_how_good_the_answers_are_and_where_its_report_is(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "LENGTHS", (8, 16))
    monkeypatch.setattr(demo, "METHODS", ("LSH", "ITQ", "of tomorrow"))
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "same digit" in result.output
    assert "One query and what was found" in result.output
    assert f"The report is in {tmp_path.resolve() / 'report.html'}" in result.output
    assert "plotly" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_demo_serves_a_page_and_opens_it(monkeypatch):
    seen = []

    def look(address):
        try:
            for path in ("/", "/static/app.js", "/v1/collections"):
                with urlopen(address + path, timeout=20) as answer:
                    seen.append(answer.read().decode())
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    def small():
        vectors = np.eye(5)
        collection = Collection.create(":memory:", LSH(n_symbols=8, random_state=0).fit(vectors))
        collection.add(vectors)
        return {"small": collection}

    monkeypatch.setattr(webbrowser, "open", look)
    monkeypatch.setattr(_demo_collections, "make", small)
    result = CliRunner().invoke(main, ["demo", "--serve", "--open", "--port", "0"])
    assert result.exit_code == 0, result.output
    assert "The page is at http://127.0.0.1:" in result.output
    assert "<title>rankhash</title>" in seen[0]
    assert "import" in seen[1]
    assert [collection["name"] for collection in json.loads(seen[2])["collections"]] == ["small"]


def test_demo_says_what_is_missing_to_serve(monkeypatch):
    monkeypatch.setitem(sys.modules, "rankhash.server.app", None)
    result = CliRunner().invoke(main, ["demo", "--serve"])
    assert result.exit_code == 1
    assert "rankhash[server]" in result.output
