"""Sentence encoders on one thread, from the files of registry packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from vector_sets.sources import only_file

BATCH = 64
MAX_TOKENS = 128


class MiniLM:
    """Unit vectors of texts: the mean over the tokens of a text."""

    def __init__(self, packages: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(only_file(packages, "model.onnx")), options)
        self.tokenizer = Tokenizer.from_file(str(only_file(packages, "tokenizer.json")))
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.tokenizer.no_padding()

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """One unit vector per text."""
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        out = np.empty((len(texts), 384), dtype=np.float32)
        for rows in _batches(tokens):
            out[rows] = self._mean([tokens[row] for row in rows])
        unit: NDArray[np.float32] = out / np.linalg.norm(out, axis=1, keepdims=True)
        return unit

    def _mean(self, tokens: list[list[int]]) -> NDArray[Any]:
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        for row, own in zip(ids, tokens, strict=True):
            row[: len(own)] = own
        mask = np.arange(ids.shape[1]) < np.array([[len(own)] for own in tokens])
        feeds = {"input_ids": ids, "attention_mask": mask.astype(np.int64), "token_type_ids": np.zeros_like(ids)}
        hidden = self.session.run(None, feeds)[0]
        mean: NDArray[Any] = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return mean


def _batches(tokens: list[list[int]]) -> Iterator[NDArray[np.intp]]:
    """Rows of texts of similar length."""
    order = np.argsort([len(own) for own in tokens], kind="stable")
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]


class Static:
    """Unit vectors of texts: the mean of the static token vectors of the package wordllama."""

    def __init__(self, packages: Path) -> None:
        self.vectors = load_file(only_file(packages, "l2_supercat_256.safetensors"))["embedding.weight"]
        self.tokenizer = Tokenizer.from_file(str(only_file(packages, "l2_supercat_tokenizer_config.json")))
        self.tokenizer.no_padding()

    def encode(self, texts: list[str]) -> NDArray[np.float32]:
        """One unit vector per text."""
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        out = np.stack([self.vectors[encoding.ids].astype(np.float32).mean(axis=0) for encoding in encodings])
        unit: NDArray[np.float32] = out / np.linalg.norm(out, axis=1, keepdims=True)
        return unit


ENCODERS = {"minilm": MiniLM, "static": Static}
