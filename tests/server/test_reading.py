"""Collections and items, as they are read over HTTP."""

from __future__ import annotations

from rankhash.server import Settings
from rankhash.server.served_collection import names_of

from .serving import serving


def parse_lines(text):
    """Prometheus' text format: values by name and labels."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert text.endswith("\n")
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_collections_say_what_they_can_do(client, collection):
    answer = client.get("/v1/collections").json
    (entry,) = answer["collections"]
    assert entry == {
        "name": "digits",
        "n_items": 600,
        "hasher": "SRSH",
        "n_features": 64,
        "n_symbols": 16,
        "arity": 4,
        "bits": 32,
        "metric": "euclidean",
        "store_vectors": "float32",
        "writable": False,
        "scorings": ["auto", "hamming", "weighted", "asymmetric"],
        "rerank": True,
        "text": True,
        "views": [],
    }
    assert answer["limits"]["k"] == 1000
    assert answer["version"] == "0.1.0"
    more = client.get("/v1/collections/digits").json
    assert more.items() >= entry.items()
    assert more["generation"] == collection.stats().generation


def test_items_come_in_pages_in_their_order_and_under_a_filter(client, collection, digits):
    path = f"{client.path}/items"
    first = client.get(path).json
    assert [item["id"] for item in first["items"]] == list(range(48))
    assert (first["total"], first["offset"]) == (600, 0)
    page = client.get(f"{path}?offset=3&limit=2&where=digit%20%3D%207").json
    sevens = [i for i, label in enumerate(digits[1]) if label == 7]
    assert [item["id"] for item in page["items"]] == sevens[3:5]
    assert page["total"] == len(sevens)
    assert page["items"][0]["metadata"]["digit"] == 7
    expected = collection.layout.unpack(collection.get([sevens[3]])[0].code[None])[0]
    assert page["items"][0]["symbols"] == expected.tolist()
    assert client.get(f"{path}?offset=10000").json["items"] == []
    assert client.get(f"{path}?limit=0").json["items"] == []


def test_an_item_comes_with_its_vector_if_wanted(client, digits):
    assert "vector" not in client.get(f"{client.path}/items/5").json
    item = client.get(f"{client.path}/items/5?vector=1").json
    assert item["vector"] == digits[0][5].tolist()
    assert item["id"] == 5


def test_ids_in_paths_are_integers_first_and_text_otherwise(writer, digits):
    vector = digits[0][0].tolist()
    names = ["17", "a/b", "ä b", "-0", "007", "x?y"]
    items = [{"id": name, "vector": vector, "metadata": {"text": name}} for name in names]
    assert writer.call("POST", f"{writer.path}/items", {"items": items}).status == 200
    path = f"{writer.path}/items"
    assert writer.get(f"{path}/17").json["id"] == 17
    assert writer.get(f"{path}/17?type=integer").json["id"] == 17
    assert writer.get(f"{path}/17?type=string").json["id"] == "17"
    for name, quoted in {"a/b": "a%2Fb", "ä b": "%C3%A4%20b", "-0": "-0", "007": "007", "x?y": "x%3Fy"}.items():
        assert writer.get(f"{path}/{quoted}").json["id"] == name
    assert writer.get(f"{path}/007?type=integer").code == "422 invalid"
    assert writer.get(f"{path}/600").code == "404 unknown_id"


def test_pictures_are_files_of_the_folder_and_nothing_else(client):
    answer = client.get(f"{client.path}/images/0")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
    assert answer.data.startswith(b"\x89PNG")
    for wrong in ("1", "2", "3", "..%2Foutside.png", "..%2F..%2Fetc%2Fpasswd"):
        assert client.get(f"{client.path}/images/{wrong}").status == 404


def test_metadata_cannot_name_a_picture_outside_of_the_folder(make, pictures, digits, tmp_path):
    names = ["../outside.png", str(pictures.parent / "outside.png"), "0.png/../../outside.png", "2.png", "", 7, "."]
    with make(tmp_path / "c.rankhash") as made:
        ids = made.add(digits[0][: len(names)], metadata=[{"image": name} for name in names])
        with serving({"digits": made}, Settings(images=str(pictures))) as client:
            for name in ids:
                assert client.get(f"{client.path}/images/{name}").code == "404 not_found"


def test_health_and_counters(client):
    assert client.get("/healthz").json == {"status": "ok"}
    assert client.get("/readyz").json == {"status": "ready"}
    client.search(id=0)
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    before = parse_lines(answer.data.decode())
    for _ in range(3):
        client.search(id=0)
    client.get("/nothing")
    after = parse_lines(client.get("/metrics").data.decode())
    search = 'rankhash_requests_total{route="/v1/collections/{name}/search",status="200"}'
    assert after[search] == before[search] + 3
    assert after["rankhash_queries_total"] == before["rankhash_queries_total"] + 3
    assert after['rankhash_items{collection="digits"}'] == 600
    bucket = 'rankhash_request_seconds_bucket{route="/v1/collections/{name}/search",le="+Inf"}'
    assert after[bucket] == before[bucket] + 3
    assert any('route="other",status="404"' in name for name in after)


def test_answers_have_headers_that_keep_browsers_safe(client):
    for path in ("/v1/collections", "/healthz", "/nothing", f"{client.path}/images/0"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_names_are_stems_made_unique():
    assert names_of(["x/a.rankhash", "y/a.db", "a-2.db", "/.hidden"]) == ["a", "a-2", "a-2-2", ".hidden"]


def test_only_files_of_the_page_are_served_as_static(client):
    for name in ("..%2Fapp.py", "../app.py", "%2Fetc%2Fpasswd", "app.py", ""):
        assert client.get(f"/static/{name}").code == "404 not_found"
