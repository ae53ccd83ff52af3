"""A hook of mkdocs: the raw results that pages link to are a part of the site.

Pages link to ``../benchmarks/results``, which is right in a checkout. The site has the files below ``results/``. The
runs of ``rankhash reproduce`` are many files; the site names their folder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

RESULTS = "benchmarks/results"
LINK = re.compile(rf"\[([^\]]+)\]\((?:\.\./)+{RESULTS}/([\w./-]+)\)")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the raw results to the files of the site."""
    folder = Path(config.config_file_path).parent / RESULTS
    for path in sorted(folder.glob("*/*.json")):
        place = f"results/{path.relative_to(folder).as_posix()}"
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001
    """Let links to raw results lead into the site."""
    top = "../" * page.file.src_uri.count("/")

    def inside(link: re.Match[str]) -> str:
        text, place = link.groups()
        return f"[{text}]({top}results/{place})" if place.endswith(".json") else f"{text}: `{RESULTS}/{place}`"

    return LINK.sub(inside, markdown)
