"""The examples of the guides run: curl, JavaScript and Python against a server as the guides start it."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import numpy as np
import pytest

from rankhash import Collection
from rankhash.client import Client
from rankhash.server import Settings

from .serving import TOKEN, serving

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
STARTS = ("rankhash ", "pip ", "mkdir ", "head ")
"""Beginnings of lines of the shell that start a server: here one runs already"""
QUERIES = [[0.5, 1.25, -3.0], [1.0, 0.0, 2.0]]


def examples(page, language):
    """The blocks of a language on a page."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", (GUIDE / f"{page}.md").read_text(), re.M | re.S)
    assert found
    return [textwrap.dedent(block) for _, block in found]


def run(language, code, port, folder):
    """Run one block; an answer that is an error, or an exception, is a failure."""
    code = re.sub(r"(localhost|127\.0\.0\.1):8000", rf"\1:{port}", code)
    if language == "py":
        rows = np.array(QUERIES * 2)
        names = {"Client": Client, "token": TOKEN, "vectors": rows, "query": rows[0], "queries": rows}
        names |= {"ids": [1, 2, 3, 4], "metadata": [{"price": 5 * i} for i in range(4)]}
        exec(compile(code.replace('token="…"', f'token="{TOKEN}"'), "guide", "exec"), names)
        return
    if language == "js":
        given = f"const token = '{TOKEN}', queries = {QUERIES};\n"
        command = ["node", "--input-type=module", "-e", given + code]
    else:
        lines = [line for line in code.replace("curl -s", "curl -sf").splitlines() if not line.startswith(STARTS)]
        command = ["bash", "-ec", "\n".join(lines)]
    if shutil.which(command[0]) is None or (language == "sh" and shutil.which("curl") is None):
        pytest.skip(f"{command[0]} or curl is not installed")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{code}\n{done.stdout}{done.stderr}"
    assert '"error"' not in done.stdout


@pytest.mark.parametrize("language", ["sh", "js", "py"])
@pytest.mark.parametrize("page", ["calling", "server"])
def test_examples_of_the_guide_run(page, language, tmp_path):
    (tmp_path / "token.txt").write_text(TOKEN)
    np.save(tmp_path / "queries.npy", np.array(QUERIES, np.float32))
    blocks = examples(page, language)
    items = {}
    if page == "calling":
        blocks.reverse()  # what makes the collection comes first
    else:
        items["items"] = Collection.create(None, metric="euclidean")
        items["items"].add(np.eye(3), [17, 4, 8], [{"price": price} for price in (12, 9, 200)])
    with serving(items, Settings(writable=True, token=TOKEN, folder=str(tmp_path))) as server:
        for block in blocks:
            run(language, block, server.port, tmp_path)
    if page == "server" and language == "sh":
        assert items["items"].ids() == [17, 4, "chair"]  # one was added, the dear one deleted
    for collection in items.values():
        collection.close()
