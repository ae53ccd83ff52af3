"""Who may do what: tokens, addresses and the names of hosts."""

from __future__ import annotations

import pytest

from rankhash.errors import InvalidInputError
from rankhash.server import Settings, create_app

from .serving import TOKEN, Client, serving


def test_changes_need_the_token_and_nothing_else_does(writer, digits):
    stranger, wrong = Client(writer.port), Client(writer.port, TOKEN + "x")
    body = {"items": [{"vector": digits[0][0].tolist()}]}
    for client, code in ((stranger, "401 no_token"), (wrong, "401 no_token")):
        answer = client.call("POST", f"{client.path}/items", body)
        assert answer.code == code
        assert answer.headers["www-authenticate"] == "Bearer"
        assert client.call("DELETE", f"{client.path}/items", {"ids": [0]}).code == code
        assert client.search(id=0).status == 200
    for header in ("Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, "Bearer \xff", f"Bearer {TOKEN[:-1]}"):
        assert stranger.call("POST", f"{writer.path}/items", body, authorization=header).code == "401 no_token"
    assert len(writer.collection) == 600
    assert writer.call("POST", f"{writer.path}/items", body).status == 200
    stranger.close()
    wrong.close()


def test_another_address_needs_the_token_for_everything_that_is_data(make):
    settings = Settings(host="0.0.0.0", token=TOKEN)
    with make(":memory:") as made, serving({"digits": made}, settings) as client:
        stranger = Client(client.port)
        for path in ("/v1/collections", f"{client.path}/items/1", "/metrics", "/openapi.json"):
            assert stranger.get(path).code == "401 no_token"
            assert client.get(path).status == 200
        assert stranger.search(id=1).code == "401 no_token"
        assert client.search(id=1).status == 200
        assert stranger.get("/healthz").status == 200
        assert client.get("/v1/collections", host="search.example.org").status == 200
        stranger.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:80", 200),
        ("evil.example", 421),
        ("localhost.evil", 421),
        ("", 421),
    ],
)
def test_a_local_server_answers_for_this_machine_only(client, host, status):
    assert client.get("/v1/collections", host=host).status == status


@pytest.mark.parametrize("settings", [Settings(writable=True), Settings(host="0.0.0.0"), Settings(host="192.168.1.7")])
def test_an_open_server_is_not_made_without_a_token(settings):
    with pytest.raises(InvalidInputError, match="needs a token"):
        create_app({}, settings)
