"""``rankhash demo``."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import webbrowser
from urllib.request import urlopen

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash import LSH, Collection
from rankhash.cli import _demo_collections, _demo_digits, _demo_words, main


def test_demo_says_how_good_the_answers_are_and_where_its_report_is(tmp_path, monkeypatch):
    monkeypatch.setattr(_demo_digits, "LENGTHS", (8, 16))
    monkeypatch.setattr(_demo_digits, "METHODS", ("LSH", "ITQ", "of tomorrow"))
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "same digit" in result.output
    assert "A query and its five nearest" in result.output
    assert f"The report is in {tmp_path.resolve() / 'report.html'}" in result.output
    assert "<svg class=plot" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_first_screen_finds_all_and_the_default_method_wins(capsys):
    _demo_digits.show_digits()
    shown = capsys.readouterr().out
    recall, micros, same = map(int, re.search(r"finds (\d+)% .* in (\d+) µs .*; (\d+)% show", shown).groups())
    assert recall == 100
    assert same > 94
    assert 0 < micros < 10_000
    lines = [line.split() for line in shown.partition("µs/query\n")[2].splitlines()]
    recalls = [float(line[-2].rstrip("%")) for line in lines[:-1]]
    assert lines[3][0] == "JRSH,"
    assert max(recalls) == recalls[3]
    assert lines[4][-5:-2] == ["labels", "2", lines[4][-3]]
    assert float(lines[4][-3].rstrip("%")) > 99


def test_the_pages_first_screen_finds_the_true_neighbours():
    with _demo_collections.digits() as digits, _demo_collections.wines() as wines:
        for collection in (digits, wines):
            first = collection.get(collection.ids(limit=20))
            vectors = np.array([item.vector for item in collection.get(collection.ids())])
            for item in first:
                away = np.linalg.norm(vectors - item.vector, axis=1)
                (found,) = collection.search_ids([item.id], 10).distances
                np.testing.assert_allclose(found, np.sort(away)[1:11], rtol=1e-3)


def test_words_are_shown_if_their_package_is_there(tmp_path, monkeypatch, capsys):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    folder = tmp_path / _demo_words.PACKAGE
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").touch()
    rng = np.random.default_rng(0)
    np.save(folder / "data/glove_6B_50d_emb.npy", rng.normal(size=(300, 50)).astype(np.float32))
    names = ["python", *(f"word{i}" for i in range(299))]
    parquet.write_table(pyarrow.table({"index": names}), folder / "data/glove_6B_index.parquet")
    assert _demo_words.find_words() is None
    monkeypatch.syspath_prepend(tmp_path)
    words = _demo_words.find_words()
    assert words is not None
    _demo_words.show_words(*words)
    told = capsys.readouterr().out
    assert "300 words" in told
    assert "python: word" in told
    assert "100% of the true ten nearest" in told


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
