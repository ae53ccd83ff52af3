"""Changes over HTTP, and what is left of them when the server is killed."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time

import numpy as np
import pytest

from rankhash import Collection, InvalidInputError
from rankhash.server import Limits, Settings, create_app

from .serving import TOKEN, Client, process, serving


def items_of(X, ids=None, **metadata):
    return [
        {"vector": x.tolist()} | ({} if ids is None else {"id": ids[i]}) | ({"metadata": metadata} if metadata else {})
        for i, x in enumerate(X)
    ]


def test_items_are_added_replaced_and_deleted(writer, digits):
    X, path = digits[0], f"{writer.path}/items"
    added = writer.call("POST", path, {"items": items_of(X[:2], colour="red")}).json
    assert added["ids"] == [600, 601]
    named = writer.call("POST", path, {"items": items_of(X[:2], ["a", 700])}).json
    assert named["ids"] == ["a", 700]
    assert named["generation"] == added["generation"] + 1
    assert writer.collection.get([600])[0].metadata == {"colour": "red"}
    assert writer.call("POST", path, {"items": items_of(X[:2], ["b", "a"])}).code == "409 id_taken"
    assert writer.get(f"{path}/b").code == "404 unknown_id"
    replaced = writer.call("POST", f"{path}?upsert=1", {"items": items_of(X[5:7], ["b", "a"], colour="blue")})
    assert replaced.json["n"] == 2
    assert (writer.collection.get(["a"])[0].code == writer.collection.get([6])[0].code).all()
    assert writer.search(id="a", k=1).json["generation"] == replaced.json["generation"]
    assert writer.call("DELETE", path, {"ids": ["a", 600]}).json["deleted"] == 2
    assert writer.call("DELETE", path, {"ids": ["b", "a"]}).code == "404 unknown_id"
    threes = int((digits[1] == 3).sum())
    assert writer.call("DELETE", path, {"where": "colour = 'blue' or digit = 3"}).json["deleted"] == 1 + threes
    assert writer.get(writer.path).json["n_items"] == 600 + 4 + 1 - 2 - 1 - threes


def test_a_collection_is_created_filled_and_served_again(tmp_path):
    X = np.eye(4, dtype=np.float32)
    options = Settings(writable=True, token=TOKEN, folder=str(tmp_path))
    with serving({}, options) as client:
        made = client.call("POST", "/v1/collections", {"name": "words", "metric": "euclidean"})
        assert (made.status, made.json["metric"], made.json["n_items"]) == (200, "euclidean", 0)
        added = client.call("POST", "/v1/collections/words/items", {"items": items_of(X, ["a", "b", "c", "d"])})
        assert added.json["n"] == 4
        found = client.call("POST", "/v1/collections/words/search", {"vector": X[2].tolist(), "k": 1}).json
        assert found["results"][0]["matches"] == [{"id": "c", "distance": 0.0}]
        assert [one["name"] for one in client.get("/v1/collections").json["collections"]] == ["words"]
        assert client.call("POST", "/v1/collections", {"name": "words"}).code == "409 name_taken"
    with Collection.open(tmp_path / "words.rankhash") as kept:
        assert len(kept) == 4


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a.b", "a" * 101, "ä", "a\n", 7, None])
def test_a_name_leads_to_no_other_folder(tmp_path, name):
    inside = tmp_path / "inside"
    inside.mkdir()
    with serving({}, Settings(writable=True, token=TOKEN, folder=str(inside))) as client:
        assert client.call("POST", "/v1/collections", {"name": name}).code == "422 invalid"
    assert [*tmp_path.rglob("*")] == [inside]


def test_creating_needs_a_folder_the_token_and_room(writer, tmp_path):
    assert writer.call("POST", "/v1/collections", {"name": "new"}).code == "403 read_only"
    settings = Settings(writable=True, token=TOKEN, folder=str(tmp_path), limits=Limits(collections=1))
    with serving({}, settings) as client:
        with contextlib.closing(Client(client.port)) as stranger:
            assert stranger.call("POST", "/v1/collections", {"name": "new"}).code == "401 no_token"
        assert client.call("POST", "/v1/collections", {"name": "new", "metric": "hamming"}).code == "422 invalid"
        assert client.call("POST", "/v1/collections", {"name": "new"}).status == 200
        assert client.call("POST", "/v1/collections", {"name": "newer"}).code == "422 limit"
    with pytest.raises(InvalidInputError, match="must be writable"):
        create_app({}, Settings(folder=str(tmp_path)))


def test_wrong_changes_change_nothing(writer, digits):
    X, path = digits[0], f"{writer.path}/items"
    vector = X[0].tolist()
    wrong = [
        {},
        {"items": []},
        {"items": [{}]},
        {"items": [{"vector": vector[:-1]}]},
        {"items": [{"vector": vector}, {"vector": vector[:-1]}]},
        {"items": [{"vector": [1e39, *vector[1:]]}]},
        {"items": [{"vector": vector, "id": 1.5}]},
        {"items": [{"vector": vector, "id": "a"}, {"vector": vector}]},
        {"items": [{"vector": vector, "id": "a"}, {"vector": vector, "id": "a"}]},
        {"items": [{"vector": vector, "metadata": [1]}]},
        {"items": [{"vector": vector}] * 1025},
        {"items": [{"vector": vector, "more": 1}]},
    ]
    for body in wrong:
        assert writer.call("POST", path, body).status == 422, body
    assert writer.call("POST", f"{path}?upsert=1", {"items": [{"vector": vector}]}).code == "422 invalid"
    for body in ({}, {"ids": [1], "where": "digit = 1"}, {"ids": []}, {"ids": [1, 1]}, {"where": "digit ="}):
        assert writer.call("DELETE", path, body).status == 422, body
    raw = b'{"items": [{"vector": %b, "metadata": {"x": NaN}}]}' % str(vector).encode()
    assert writer.call("POST", path, raw, content_type="application/json").status in (400, 422)
    assert len(writer.collection) == 600
    assert writer.collection.stats().generation == 1


def test_a_collection_that_was_opened_for_reading_is_not_changed(make, tmp_path, digits):
    make(tmp_path / "c.rankhash").close()
    with (
        Collection.open(tmp_path / "c.rankhash") as opened,
        serving({"digits": opened}, Settings(writable=True, token=TOKEN)) as client,
    ):
        assert client.call("POST", f"{client.path}/items", {"items": items_of(digits[0][:1])}).code == "403 read_only"


def test_somebody_else_who_writes_is_503(make, tmp_path, digits):
    make(tmp_path / "c.rankhash").close()
    with (
        Collection.open(tmp_path / "c.rankhash", "rw", timeout=0.1) as opened,
        Collection.open(tmp_path / "c.rankhash", "rw") as other,
        serving({"digits": opened}, Settings(writable=True, token=TOKEN)) as client,
    ):
        with other._database.transaction():
            answer = client.call("POST", f"{client.path}/items", {"items": items_of(digits[0][:1])})
            assert answer.code == "503 busy"
            assert client.search(id=1).status == 200
        assert client.call("POST", f"{client.path}/items", {"items": items_of(digits[0][:1])}).status == 200


def test_searches_while_others_write_see_whole_commits(writer, digits):
    """Ten items are added and deleted together; every answer has all of them or none."""
    X, path = digits[0], f"{writer.path}/items"
    names = [f"new-{i}" for i in range(10)]
    done = threading.Event()
    wrong: list[object] = []

    def read():
        client = Client(writer.port)
        while not done.is_set():
            found = client.search(vector=X[0].tolist(), k=700, metadata=True, where="new = true").json["results"][0]
            if len(found["matches"]) not in (0, 10):
                wrong.append(found)
        client.close()

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(10):
            assert writer.call("POST", path, {"items": items_of(X[:10], names, new=True)}).status == 200
            assert writer.call("DELETE", path, {"ids": names}).status == 200
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert not wrong


def test_a_kill_loses_nothing_that_was_acknowledged(make, tmp_path, digits):
    path = tmp_path / "digits.rankhash"
    make(path).close()
    X = digits[0]
    kept: dict[int, list[str]] = {}

    def write(client, number):
        connection = Client(client.port, TOKEN)
        with contextlib.suppress(OSError, http.client.HTTPException):
            for i in range(10_000):
                names = [f"{number}-{i}-{j}" for j in range(1 + i % 5)]
                answer = connection.call("POST", f"{client.path}/items", {"items": items_of(X[: len(names)], names)})
                if answer.status == 200:
                    kept.setdefault(number, []).extend(names)
        connection.close()

    for attempt in range(2):
        with process(path, "--writable", "--threads", 1) as client:
            writers = [threading.Thread(target=write, args=(client, 3 * attempt + i)) for i in range(3)]
            for thread in writers:
                thread.start()
            time.sleep(0.7)
            client.process.kill()
            for thread in writers:
                thread.join()
    names = [name for some in kept.values() for name in some]
    assert len(kept) >= 3
    with Collection.open(path) as opened:
        assert opened.check().problems == ()
        assert len(opened.get(names)) == len(names)
        there = {name for name in opened.ids() if isinstance(name, str)}
        whole = {tuple(name.split("-")[:2]) for name in there}
        for number, i in whole:
            assert {f"{number}-{i}-{j}" for j in range(1 + int(i) % 5)} <= there
        assert len(np.unique([*there])) == len(opened) - 600
