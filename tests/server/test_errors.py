"""Everything that a client can get wrong has a sentence, and never a stack trace."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rankhash.server import Settings

from .serving import serving

RAW, NPY = "application/octet-stream", "application/x-npy"
V = [0.0] * 64

SEARCHES = {
    "no query": ({}, "422 invalid"),
    "two queries": ({"id": 1, "vector": V}, "422 invalid"),
    "empty vectors": ({"vectors": []}, "422 invalid"),
    "empty ids": ({"ids": []}, "422 invalid"),
    "empty vector": ({"vector": []}, "422 invalid"),
    "short vector": ({"vector": [1.0]}, "422 invalid"),
    "ragged vectors": ({"vectors": [V, V[:-1]]}, "422 invalid"),
    "nested vector": ({"vector": [V]}, "422 invalid"),
    "text in a vector": ({"vector": ["1", *V[1:]]}, "422 invalid"),
    "null in a vector": ({"vector": [None, *V[1:]]}, "422 invalid"),
    "true in a vector": ({"vector": [True, *V[1:]]}, "422 invalid"),
    "beyond float32": ({"vector": [1e39, *V[1:]]}, "422 invalid"),
    "huge integer": ({"vector": [10**400, *V[1:]]}, "422 invalid"),
    "unknown id": ({"id": 600}, "404 unknown_id"),
    "unknown text id": ({"ids": [1, "a"]}, "404 unknown_id"),
    "true as id": ({"id": True}, "422 invalid"),
    "float as id": ({"id": 1.5}, "422 invalid"),
    "huge id": ({"id": 2**63}, "422 invalid"),
    "NUL in an id": ({"id": "a\0"}, "422 invalid"),
    "long id": ({"id": "a" * 5000}, "422 invalid"),
    "id of many bytes": ({"id": "ä" * 4000}, "422 invalid"),
    "k of 0": ({"id": 1, "k": 0}, "422 invalid"),
    "k as text": ({"id": 1, "k": "3"}, "422 invalid"),
    "k of true": ({"id": 1, "k": True}, "422 invalid"),
    "large k": ({"id": 1, "k": 1001}, "422 limit"),
    "huge k": ({"id": 1, "k": 10**30}, "422 limit"),
    "many matches": ({"vectors": [V] * 300, "k": 1000}, "422 limit"),
    "many queries": ({"ids": [0] * 1025}, "422 limit"),
    "much re-ranking": ({"id": 1, "rerank": 10**9}, "422 limit"),
    "re-ranking of -1": ({"id": 1, "rerank": -1}, "422 invalid"),
    "negative radius": ({"id": 1, "radius": -1}, "422 invalid"),
    "unknown scoring": ({"id": 1, "scoring": "cosine"}, "422 invalid"),
    "unknown option": ({"id": 1, "kk": 3}, "422 invalid"),
    "bad filter": ({"id": 1, "where": "digit <"}, "422 bad_filter"),
    "empty filter": ({"id": 1, "where": ""}, "422 bad_filter"),
    "long filter": ({"id": 1, "where": "a=1 or " * 5000}, "422 invalid"),
    "deep filter": ({"id": 1, "where": "(" * 1000}, "422 bad_filter"),
    "list as body": ([1], "422 invalid"),
    "null as body": (None, "422 invalid"),
}
BODIES = {
    "nothing": b"",
    "half an object": b'{"id": 1',
    "not JSON": b"k=1&id=2",
    "NaN": b'{"vector": [NaN]}',
    "infinity": b'{"vector": [Infinity]}',
    "exponent": b'{"vector": [1e999]}',
    "not UTF-8": b'{"id": "\xff\xfe"}',
    "half a surrogate": b'{"id": "\\ud800"}',
    "two halves the wrong way": b'{"where": "\\udc00\\ud800", "id": 1}',
    "deep": b"[" * 100_000,
    "deep and whole": b'{"id":' * 50_000 + b"1" + b"}" * 50_000,
    "many digits": b'{"id": ' + b"9" * 10_000 + b"}",
    "a byte order mark": b'\xef\xbb\xbf{"id": 1}',
    "UTF-16": '{"id": 1}'.encode("utf-16"),
    "NUL": b"\0" * 100,
}


@pytest.mark.parametrize(("body", "code"), SEARCHES.values(), ids=SEARCHES)
def test_a_wrong_search_gets_a_sentence(client, body, code):
    assert client.call("POST", f"{client.path}/search", json.dumps(body), content_type="application/json").code == code
    assert client.search(id=1).status == 200


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_that_is_no_json_gets_a_sentence(client, body):
    answer = client.call("POST", f"{client.path}/search", body, content_type="application/json; charset=utf-8")
    assert answer.code in ("400 bad_json", "422 invalid")
    assert client.search(id=1).status == 200


def test_a_mistake_in_a_filter_has_its_position(client):
    where = "digit = 3 and digit ~ 4"
    for answer in (
        client.search(id=1, where=where),
        client.get(f"{client.path}/items?where=digit+%3D+3+and+digit+~+4"),
    ):
        assert answer.code == "422 bad_filter"
        assert answer.json["error"]["position"] == where.index("~")


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"", RAW, "422 invalid"),
        (b"123", RAW, "422 invalid"),
        (np.full(64, np.nan, "<f4").tobytes(), RAW, "422 invalid"),
        (np.full(64, -np.inf, "<f4").tobytes(), RAW, "422 invalid"),
        (b"", NPY, "422 invalid"),
        (b"\x93NUMPY\x01\0", NPY, "422 invalid"),
        (b"\x93NUMPY\x03\0\x10\0\0\0", NPY, "422 invalid"),
        (b"\x93NUMPY\x01\0\xff\xff" + b"(" * 65535, NPY, "422 invalid"),
        (b"a=1", "application/x-www-form-urlencoded", "415 unsupported_type"),
        (b"<x/>", "text/xml", "415 unsupported_type"),
        (b"\xff", "\xff", "415 unsupported_type"),
    ],
    ids=str,
)
def test_a_wrong_binary_body_gets_a_sentence(client, body, kind, code):
    assert client.call("POST", f"{client.path}/search", body, content_type=kind).code == code


def npy(shape, descr="<f4", data=b""):
    head = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head.encode() + data


@pytest.mark.parametrize(
    "body",
    [
        npy((10**9, 64)),
        npy((2**62, 2**62)),
        npy((-1, 64), data=b"\0" * 256),
        npy((64,), data=b"\0" * 256),
        npy((1, 64), "|O", b"\0" * 512),
        npy((1, 64), "<c8", b"\0" * 512),
        npy((1, 64), "<U1", b"\0" * 256),
        npy((0, 64)),
        npy((1, 63), data=b"\0" * 252),
        npy((1, "x")),
    ],
    ids=range(10),
)
def test_a_wrong_npy_header_is_refused(client, body):
    assert client.call("POST", f"{client.path}/search", body, content_type=NPY).code == "422 invalid"


@pytest.mark.parametrize(
    "query", ["k=0", "k=x", "k=1e9", "k=1001", "radius=nan", "radius=inf", "scoring=x", "kk=1", "where=%ff", "k=%00"]
)
def test_wrong_parameters_of_a_binary_body_get_a_sentence(client, query):
    body = np.zeros(64, "<f4").tobytes()
    answer = client.call("POST", f"{client.path}/search?{query}", body, content_type=RAW)
    assert answer.code in ("422 invalid", "422 limit", "422 bad_filter")


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/nothing", "404 not_found"),
        ("GET", "/v1/collections/other", "404 not_found"),
        ("GET", "/v1/collections/other/items", "404 not_found"),
        ("POST", "/v1/collections/other/search", "404 not_found"),
        ("POST", "/v1/collections/..%2F..%2Fetc%2Fpasswd/search", "404 not_found"),
        ("GET", "/v1/collections/%00", "404 not_found"),
        ("GET", "/v1/collections/digits/items/600", "404 unknown_id"),
        ("GET", "/v1/collections/digits/items/%00", "422 invalid"),
        ("GET", "/v1/collections/digits/items/%ff", "404 unknown_id"),
        ("GET", "/v1/collections/digits/items/" + "9" * 5000, "422 invalid"),
        ("GET", "/v1/collections/digits/items?limit=1001", "422 limit"),
        ("GET", "/v1/collections/digits/items?limit=-1", "422 invalid"),
        ("GET", "/v1/collections/digits/items?offset=x", "422 invalid"),
        ("GET", f"/v1/collections/digits/items?offset={10**30}", "422 invalid"),
        ("GET", "/v1/collections/digits/items/1?vector=maybe", "422 invalid"),
        ("GET", "/v1/collections/digits/search", "405 method_not_allowed"),
        ("PUT", "/healthz", "405 method_not_allowed"),
        ("PATCH", "/v1/collections/digits/items", "405 method_not_allowed"),
        ("POST", "/v1/collections/digits/items", "403 read_only"),
        ("DELETE", "/v1/collections/digits/items", "403 read_only"),
    ],
)
def test_a_wrong_path_or_method_gets_a_sentence(client, method, path, code):
    body = "{}" if method == "POST" else None
    assert client.call(method, path, body).code == code


def test_a_search_that_the_collection_cannot_do_gets_a_sentence(make, tmp_path, digits):
    with make(tmp_path / "c.rankhash") as made, serving({"digits": made}, Settings()) as client:
        assert client.search(text="3").code == "422 invalid"
        assert client.search(id=1, truth=True).code == "422 invalid"
        assert client.search(id=1, rerank=5).code == "422 invalid"
        assert client.search(id=1, scoring="asymmetric").code == "422 invalid"
        made.add(digits[0][:1], ids=["text"])
        body = digits[0][:1].astype("<f4").tobytes()
        answer = client.call("POST", f"{client.path}/search?k=600", body, content_type=RAW, accept=RAW)
        assert answer.code == "406 not_acceptable"


def test_an_encoder_that_fails_is_no_stack_trace(make, tmp_path):
    def fails(texts):
        raise RuntimeError("a secret of the operator")

    def wrong(texts):
        return [[1.0, 2.0]]

    for encoder, code in ((fails, "500 internal"), (wrong, "422 invalid")):
        with make(":memory:") as made, serving({"digits": made}, Settings(text_encoder=encoder)) as client:
            answer = client.search(text="3")
            assert answer.code == code
            assert b"secret" not in answer.data
