"""``rankhash dedup``: every kind of input, lists before changes, and what cannot be read."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash import LSH, Collection, FlatIndex, VectorIndex
from rankhash.cli import _dedup_images, _dedup_sources, main

TEXTS = ["The quick brown fox jumps over the lazy dog.", "Something else entirely, and long enough to matter."]


def run(*args):
    return CliRunner().invoke(main, ["dedup", *(str(arg) for arg in args)])


def facts_of(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def grouped(path):
    """The names of each group, that which is kept first."""
    groups = {}
    for row in sorted(lines(path), key=lambda row: not row["keep"]):
        groups.setdefault(row["group"], []).append(row["name"])
    return {tuple(names) for names in groups.values()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def photos(folder):
    """Four pictures, the first two of them twice, and two files that are no pictures."""
    images = pytest.importorskip("PIL.Image", reason="images need Pillow")
    rng = np.random.default_rng(0)
    (folder / "photos" / "more").mkdir(parents=True)
    for number in range(4):
        points = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
        image = images.fromarray(points).resize((120, 90), images.Resampling.BICUBIC)
        image.save(folder / "photos" / f"{number}.png")
        if number < 2:
            image.resize((60, 45)).save(folder / "photos" / "more" / f"{number}.png")
    (folder / "photos" / "broken.jpg").write_bytes(b"no picture")
    (folder / "photos" / "notes.txt").write_text("not looked at")
    (folder / "photos" / "link.png").symlink_to(folder / "photos" / "0.png")
    return folder / "photos"


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.png") if not path.is_symlink())


def test_codes_of_an_array_and_of_an_index(folder):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (300, 8), dtype=np.uint8)
    codes[200:210] = codes[:10]
    codes[200:210, 0] ^= 1
    np.save("codes.npy", codes)
    facts = facts_of("codes.npy", "--radius", 1, "--list", "groups.csv")
    assert facts["kind"] == "codes"
    assert (facts["n_items"], facts["n_groups"], facts["n_dropped"]) == (300, 10, 10)
    rows = table("groups.csv")
    assert [(row["group"], row["keep"], row["name"], row["distance"]) for row in rows[:2]] == [
        ("0", "yes", "0", "0.0"),
        ("0", "no", "200", "1.0"),
    ]
    layout = LSH(64, random_state=0).fit(rng.normal(size=(10, 4))).layout_
    index = FlatIndex(layout)
    index.add(codes, np.arange(300) + 1000)
    index.save("codes.rankhash")
    facts_of("codes.rankhash", "--radius", 1, "--list", "groups.jsonl")
    rows = lines("groups.jsonl")
    assert rows[1] == {"group": 0, "keep": False, "name": 1200, "distance": 1.0}


def test_vectors(folder):
    X = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    X[150:160] = 2 * X[:10]
    np.save("vectors.npy", X)
    assert facts_of("vectors.npy", "--threshold", 0.9999)["n_groups"] == 10
    assert facts_of("vectors.npy", "--metric", "euclidean", "--threshold", 1e-6)["n_groups"] == 0
    assert "needs --threshold" in run("vectors.npy", "--metric", "euclidean").output


def test_an_index_of_vectors_and_a_collection_without_a_hasher(folder):
    X = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    X[50:] = X[:10] * 1.5
    ids = np.arange(60) * 7 + 3
    index = VectorIndex("cosine", verbose=False)
    index.add(X, ids)
    index.save("x.rankhash")
    facts_of("x.rankhash", "--kind", "codes", "--threshold", 0.999, "--list", "index.jsonl")
    assert grouped("index.jsonl") == {(3 + 7 * i, 3 + 7 * (50 + i)) for i in range(10)}
    with Collection.create("c.rankhash", metric="cosine") as items:
        items.add(X, [f"item {i}" for i in range(60)])
    facts_of("c.rankhash", "--threshold", 0.999, "--list", "items.jsonl")
    assert grouped("items.jsonl") == {(f"item {i}", f"item {50 + i}") for i in range(10)}


def test_texts_with_broken_lines(folder):
    good = [json.dumps({"body": text}) for text in (*TEXTS, TEXTS[0].upper())]
    broken = [b'{"body": ', b'{"title": "x"}', b'{"body": 3}', b"\xff\xfe", b""]
    (folder / "texts.jsonl").write_bytes(b"\n".join([*(line.encode() for line in good), *broken]))
    facts = facts_of("texts.jsonl", "--field", "body", "--list", "groups.jsonl", "--report", "groups.html")
    assert (facts["n_items"], facts["n_unreadable"], facts["n_groups"]) == (3, 4, 1)
    rows = lines("groups.jsonl")
    assert [row["name"] for row in rows[:2]] == [1, 3]  # numbers of lines
    assert [row["unreadable"] for row in rows[2:]] == ["line 4", "line 5", "line 6", "line 7"]
    page = (folder / "groups.html").read_text(encoding="utf-8")
    assert "The quick brown fox" in page
    assert "no field &#x27;body&#x27;" in page
    (folder / "texts.txt").write_text("\n".join([*TEXTS, "", TEXTS[1] + "!"]))
    assert facts_of("texts.txt", "--keep", "largest", "--list", "groups.csv")["n_groups"] == 1
    rows = table("groups.csv")
    assert [(row["name"], row["keep"]) for row in rows] == [("2", "no"), ("4", "yes")]


def test_endless_lines_are_passed_over(folder, monkeypatch):
    for module in (_dedup_images, _dedup_sources):
        monkeypatch.setattr(module, "MAX_LINE", 100)
    (folder / "texts.txt").write_text("\n".join([TEXTS[0], "x" * 950, TEXTS[0]]))
    facts = facts_of("texts.txt", "--list", "groups.jsonl")
    assert (facts["n_items"], facts["n_unreadable"], facts["n_groups"]) == (2, 1, 1)
    assert [row.get("name") for row in lines("groups.jsonl")] == [1, 3, None]


def test_collections_lose_duplicates_only_after_a_list_and_yes(folder):
    X = np.random.default_rng(0).normal(size=(100, 16)).astype(np.float32)
    hasher = LSH(64, random_state=0).fit(X)
    with Collection.create("items.rankhash", hasher) as items:
        items.add(X, ids=[f"item-{i}" for i in range(100)])
        items.add(X[:5], metadata=[{"copy": i} for i in range(5)])
    asked = ("items.rankhash", "--radius", 0, "--delete")
    assert "need --list FILE" in run(*asked).output
    facts = facts_of(*asked, "--list", "groups.csv")
    assert facts["n_dropped"] == 5
    assert "--yes" in facts["next"]
    with Collection.open("items.rankhash") as items:
        assert len(items) == 105
    assert facts_of(*asked, "--list", "groups.csv", "--report", "page.html", "--yes")["deleted"] == 5
    assert "&quot;copy&quot;: 4" in (folder / "page.html").read_text(encoding="utf-8")
    with Collection.open("items.rankhash") as items:
        assert items.ids() == [f"item-{i}" for i in range(100)]
    assert facts_of(*asked, "--list", "groups.csv", "--yes")["deleted"] == 0


def test_images_are_moved_or_deleted_and_broken_ones_listed(photos, folder):
    facts = facts_of(photos, "--list", "groups.csv", "--report", "groups.html")
    assert (facts["n_items"], facts["n_unreadable"], facts["n_groups"]) == (6, 1, 2)
    assert len(names_in(photos)) == 6
    page = (folder / "groups.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == 4
    assert "broken.jpg" in page
    facts = facts_of(photos, "--list", "groups.csv", "--keep", "largest", "--move", "moved", "--yes")
    assert facts["moved"] == 2
    assert names_in(photos) == ["0.png", "1.png", "2.png", "3.png"]
    assert names_in(folder / "moved") == ["more/0.png", "more/1.png"]
    (folder / "moved" / "more" / "0.png").rename(photos / "copy.png")
    assert facts_of(photos, "--list", "groups.csv", "--delete", "--yes")["deleted"] == 1
    assert names_in(photos) == ["0.png", "1.png", "2.png", "3.png"]


def test_nothing_is_moved_to_where_it_would_be_found_again(photos):
    for target in (photos, photos / "more", "photos/../photos/new"):
        result = run(photos, "--list", "groups.csv", "--move", target, "--yes")
        assert result.exit_code == 2
        assert "lies inside of" in result.output
    assert len(names_in(photos)) == 6


def test_nothing_is_moved_over_a_file(photos, folder):
    target = folder / "moved" / "more" / "0.png"
    target.parent.mkdir(parents=True)
    target.write_text("precious")
    result = run(photos, "--list", "groups.csv", "--move", "moved", "--yes")
    assert result.exit_code == 2
    assert "is there already" in result.output
    assert target.read_text() == "precious"


def test_hashing_is_resumed(photos, monkeypatch):
    first = facts_of(photos, "--resume", "hashes.jsonl")
    with open("hashes.jsonl", "a", encoding="utf-8") as file:
        file.write('{"path": "2.png", "si')  # of a run that was killed
    made = []
    real = _dedup_images.hash_images
    monkeypatch.setattr(_dedup_images, "hash_images", lambda paths, size: made.extend(paths) or real(paths, size=size))
    (photos / "3.png").touch()
    assert facts_of(photos, "--resume", "hashes.jsonl") == first
    assert sorted(path.name for path in made) == ["3.png", "broken.jpg"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["codes.npy", "--radius", 64], r"about 4.5e+04 pairs are near, more than --limit 1000"),
        (["codes.npy", "--delete", "--list", "x.csv"], "--delete does not work on codes"),
        (["codes.npy", "--move", "a", "--delete", "--list", "x.csv"], "give either --delete or --move"),
        (["codes.npy", "--keep", "largest"], "--keep largest is for images and texts, not for codes"),
        (["codes.npy", "--list", "x.txt"], "must end with .csv or .jsonl"),
        (["codes.npy", "--kind", "images"], "images are in a folder"),
        ([".", "--kind", "texts"], "everything else is in a file"),
        (["missing.npy"], "does not exist"),
    ],
)
def test_mistakes_are_one_line_and_change_nothing(folder, args, message):
    codes = np.random.default_rng(0).integers(0, 256, (300, 8), dtype=np.uint8)
    np.save("codes.npy", codes)
    result = run(*args, "--limit", 1000)
    assert result.exit_code == 2
    assert message in result.output
    assert [path.name for path in folder.iterdir()] == ["codes.npy"]


def test_yes_takes_more_pairs_than_the_limit(folder):
    codes = np.random.default_rng(0).integers(0, 256, (300, 8), dtype=np.uint8)
    np.save("codes.npy", codes)
    assert facts_of("codes.npy", "--radius", 64, "--limit", 1000, "--yes")["n_pairs"] == 300 * 299 // 2


def test_equal_codes_are_one_group_however_many(folder):
    np.save("codes.npy", np.zeros((5000, 8), np.uint8))
    facts = facts_of("codes.npy", "--limit", 10, "--list", "groups.csv", "--keep", "last")
    assert (facts["n_equal"], facts["n_pairs"], facts["n_groups"], facts["n_dropped"]) == (4999, 0, 1, 4999)
    rows = table("groups.csv")
    assert {row["distance"] for row in rows} == {"0.0"}
    assert [row["name"] for row in rows if row["keep"] == "yes"] == ["4999"]
