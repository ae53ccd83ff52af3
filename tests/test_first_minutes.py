"""The first ten minutes, smaller: vectors and a CSV file become a filtered search with a promised recall, over HTTP."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash import Collection
from rankhash.cli import main
from rankhash.client import Client
from rankhash.server import Settings
from rankhash.vector_index import _options
from server.serving import serving

N, D = 6000, 24
QUESTION = "price < 50 and colour in ('red', 'blue') and sold >= 2024-06-01"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """``vectors.npy`` in clusters, ``queries.npy`` that were held out, ``items.csv`` with a name for every vector."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_options, "EXACT_NUMBERS", 1000 * D)  # so that few vectors are many
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(60, D))[rng.integers(0, 60, N + 100)] + 0.4 * rng.normal(size=(N + 100, D))
    np.save("vectors.npy", drawn[:N].astype(np.float32))
    np.save("queries.npy", drawn[N:].astype(np.float32))
    with open("items.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["name", "colour", "price", "sold"])
        for i in range(N):
            colour = ("red", "green", "blue")[i % 3]
            table.writerow([f"item-{i}", colour, i % 100, f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}"])
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(main, [*arguments])
    assert result.exit_code == 0, result.output
    return result.output


def passes(name):
    i = int(name.removeprefix("item-"))
    return i % 100 < 50 and i % 3 != 1 and 1 + i % 12 >= 6


def share(found, truth):
    return np.mean([len({*a} & {*b}) / len(b) for a, b in zip(found, truth, strict=True)])


def true_names():
    """The ten nearest of every query by cosine, without and with the filter."""
    vectors, queries = np.load("vectors.npy"), np.load("queries.npy")
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    order = np.argsort(-(queries @ unit.T), axis=1)
    names = np.array([f"item-{i}" for i in range(N)])
    kept = np.array([passes(name) for name in names])
    return {None: [names[row[:10]] for row in order], QUESTION: [names[row[kept[row]][:10]] for row in order]}


def test_a_filtered_search_is_saved_served_and_finds_its_recall(files):
    run("create", "items.rankhash", "--metric", "cosine")
    run("add", "items.rankhash", "vectors.npy", "--metadata-file", "items.csv", "--id-column", "name")
    facts = json.loads(run("info", "items.rankhash", "--json"))
    assert (facts["n_items"], facts["n_learned"], facts["hasher"]) == (N, N, None)
    queries, truth = np.load("queries.npy"), true_names()
    for where, nearest in truth.items():
        asked = ("--where", where) if where else ()
        lines = run("search", "items.rankhash", "queries.npy", "-k", "10", "--json", *asked).splitlines()
        assert share([json.loads(line)["ids"] for line in lines], nearest) >= 0.95
    with (
        Collection.open("items.rankhash") as items,
        serving({"items": items}, Settings()) as server,
        Client(f"http://127.0.0.1:{server.port}") as client,
    ):
        found = client.collection("items").search(queries, 10, where=QUESTION, metadata=True)
        assert share([[match.id for match in row] for row in found], truth[QUESTION]) >= 0.95
        assert all(passes(match.id) and match.metadata["price"] < 50 for row in found for match in row)


@pytest.mark.parametrize("source", ["DataFrame", "Parquet"])
def test_the_same_in_python(files, source):
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv("items.csv", parse_dates=["sold"])
    with Collection.create("items.rankhash", metric="cosine") as items:
        if source == "DataFrame":
            items.add(np.load("vectors.npy"), ids=table["name"], metadata=table.drop(columns="name"))
        else:
            table.to_parquet("items.parquet")
            items.import_file("vectors.npy", metadata_file="items.parquet", id_column="name")
        items.learn()
    with Collection.open("items.rankhash") as items:
        assert items.stats().n_learned == N
        for where, nearest in true_names().items():
            found = items.search(np.load("queries.npy"), k=10, where=where).ids
            assert share(found, nearest) >= 0.95
            assert where is None or all(map(passes, found.ravel()))
