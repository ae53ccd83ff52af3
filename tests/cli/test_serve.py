"""``rankhash serve``: what it refuses to start with. That it serves is tested in tests/server."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from click.testing import CliRunner

from rankhash import LSH, Collection
from rankhash.cli import main, serve


@pytest.fixture
def path(tmp_path):
    X = np.random.default_rng(0).normal(size=(10, 4))
    with Collection.create(tmp_path / "items.rankhash", LSH(8, random_state=0).fit(X)) as items:
        items.add(X)
    return tmp_path / "items.rankhash"


@pytest.fixture
def started(monkeypatch):
    """What the server would have been started with."""
    from rankhash.server import run

    calls = []
    monkeypatch.setattr(run, "run", lambda app, settings, **_: calls.append((app, settings)))
    monkeypatch.delenv("RANKHASH_TOKEN", raising=False)
    return calls


def invoke(*arguments):
    return CliRunner().invoke(main, ["serve", *map(str, arguments)])


def test_it_serves_this_machine_only_and_for_reading_by_default(path, started):
    assert invoke(path).exit_code == 0
    ((app, settings),) = started
    assert (settings.host, settings.port, settings.writable, settings.token) == ("127.0.0.1", 8000, False, None)
    (served,) = app.state.rankhash.collections.values()
    assert (served.name, served.collection.mode, served.writable) == ("items", "r", False)


def test_a_folder_is_served_whole(path, started, tmp_path):
    (tmp_path / "notes.txt").write_text("no collection")
    assert invoke("--folder", tmp_path).exit_code == 0
    token = tmp_path / "token"
    token.write_text("0123456789abcdef")
    assert invoke("--folder", tmp_path, "--writable", "--token-file", token).exit_code == 0
    assert [settings.folder for _, settings in started] == [None, str(tmp_path)]
    assert [[*app.state.rankhash.collections] for app, _ in started] == [["items"], ["items"]]
    assert "a --folder of them" in invoke().output


def test_other_addresses_and_changes_need_a_token(path, started, tmp_path, monkeypatch):
    for wrong in (["--host", "0.0.0.0"], ["--writable"], ["--host", "::"]):
        result = invoke(path, *wrong)
        assert result.exit_code == 2
        assert "needs a token" in result.output
    token = tmp_path / "token.txt"
    for text in ("short", "with spaces in the middle", "ä" * 20, "", "x" * 5000):
        token.write_text(text)
        assert invoke(path, "--writable", "--token-file", token).exit_code == 2
    assert not started
    token.write_text("0123456789abcdef\n")
    assert invoke(path, "--writable", "--token-file", token).exit_code == 0
    monkeypatch.setenv("RANKHASH_TOKEN", "fedcba9876543210")
    assert invoke(path, "--host", "0.0.0.0").exit_code == 0
    assert [settings.token for _, settings in started] == ["0123456789abcdef", "fedcba9876543210"]
    monkeypatch.setenv("RANKHASH_TOKEN", "short")
    assert invoke(path, "--writable").exit_code == 2


def test_a_text_encoder_is_imported_from_the_working_directory(path, started, tmp_path, monkeypatch):
    (tmp_path / "my_encoder.py").write_text("def encode(texts):\n    return [[1.0] * 4 for _ in texts]\n")
    monkeypatch.chdir(tmp_path)
    assert invoke(path, "--text-encoder", "my_encoder:encode").exit_code == 0
    assert started[0][1].text_encoder(["a"]) == [[1.0] * 4]
    assert str(tmp_path) not in sys.path
    for wrong in ("my_encoder:other", "no_such_module:encode", "my_encoder", ":", "my_encoder:__name__"):
        result = invoke(path, "--text-encoder", wrong)
        assert result.exit_code == 2
        assert "--text-encoder" in result.output


def test_a_port_that_is_taken_is_one_line(path, monkeypatch):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = invoke(path, "--port", taken.getsockname()[1])
    assert result.exit_code == 2
    assert "cannot listen on 127.0.0.1" in result.output


def test_without_the_extra_it_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for name in [name for name in sys.modules if name.startswith("rankhash.server")]:
        monkeypatch.delitem(sys.modules, name)
    result = invoke(path)
    assert result.exit_code == 1
    assert "pip install 'rankhash[server]'" in result.output


def test_the_command_is_listed(path):
    assert serve.command.name
    assert "serve" in CliRunner().invoke(main, ["--help"]).output
