"""Writes the codes that every hasher gives for some handwritten digits, to be compared over changes of the code.

Run by ``tests/test_golden.py`` in a process of its own: some fits depend on the kernels of BLAS, so that these are
fixed by environment variables that must be set before NumPy is imported. They do not depend on its threads: the files
were written with one. ``python codes.py OUT.npz`` writes a new file, ``python codes.py OUT.npz RSH SRSH`` some cases.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib.metadata import version

import numpy as np
from sklearn.datasets import load_digits

from rankhash import hashers

ENVIRONMENT = {
    "OPENBLAS_CORETYPE": "Haswell",
    "OPENBLAS_NUM_THREADS": "2",
    "OMP_NUM_THREADS": "1",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "RANKHASH_ISA": "avx2",
}
LIBRARIES = ("numpy", "scipy", "scikit-learn")

CASES = {
    **{name: (name, {}, "y") for name in ("KSH", "SDH", "SPLH", "BSSC", "CGHash", "JSDBoosting")},
    **{
        name: (name, {}, "")
        for name in ("LSH", "WTA", "RSH", "SRSH", "MLH", "ITQ", "SpectralHashing", "KLSH", "AGH", "BRE", "DGH", "CRO")
    },
    "DGH eigenvectors": ("DGH", {"start": "eigenvectors"}, ""),
    "CRO fast": ("CRO", {"fast": True}, ""),
    "PermutationCodes": ("PermutationCodes", {}, ""),
    "HDML": ("HDML", {"n_iterations": 200}, ""),
    "HDML classes": ("HDML", {"n_iterations": 200, "n_negatives": 3}, "y"),
    "SemanticHashing": ("SemanticHashing", {"n_hidden": 20, "n_pretraining": 50, "n_steps": 50}, ""),
    "SemanticHashing classes": ("SemanticHashing", {"n_hidden": 20, "n_pretraining": 50, "n_steps": 50}, "y"),
    "RSH batch": ("RSH", {"mode": "batch"}, ""),
    "SRSH bound": ("SRSH", {"update": "bound"}, ""),
    "SRSH classes": ("SRSH", {}, "y"),
    "RSH paper": ("RSH", {"update": "paper"}, ""),
    "SRSH paper": ("SRSH", {"update": "paper"}, ""),
    "SRSH paper sampling": ("SRSH", {"update": "paper-sampling"}, ""),
    "MinHash": ("MinHash", {}, "sets"),
    "JRSH": ("JRSH", {"n_steps": 30}, ""),
    "JRSH many": ("JRSH", {"n_steps": 10, "batch_size": 256}, "many"),
    "JRSH classes": ("JRSH", {"n_steps": 30}, "y"),
    "JRSH rbf": ("JRSH", {"n_steps": 30, "features": "rbf", "n_anchors": 60}, "y"),
    "JRSH radius": ("JRSH", {"n_steps": 30, "target": "radius"}, ""),
    "RankQuantizer": ("RankQuantizer", {}, ""),
    "RankQuantizer refined": ("RankQuantizer", {"refine": 2}, ""),
    "PStableLSH": ("PStableLSH", {}, ""),
    "ForgivingHash": ("ForgivingHash", {"n_rounds": 2, "n_steps": 10}, ""),
    "ForgivingHash classes": ("ForgivingHash", {"n_rounds": 2, "n_steps": 10}, "y"),
}
VIEW_CASES = {"LSRH": {}, "CrossJRSH": {"n_steps": 30}, "SCM": {}, "CMFH": {}, "CCAITQ": {}}


def make(name: str, parameters: dict) -> hashers.Hasher:
    return hashers.HASHERS[name](16, random_state=0, **parameters)


def all_codes() -> dict[str, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return some_codes(CASES) | view_codes(X[:400], y[:400])


def some_codes(cases: Iterable[str]) -> dict[str, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    codes = {}
    for case in cases:
        name, parameters, given = CASES[case]
        rows = slice(None) if given == "many" else slice(400)
        points = (X[rows] > 8).astype(float) if given == "sets" else X[rows]
        hasher = make(name, parameters).fit(points, y[rows] if given == "y" else None)
        codes[case] = hasher.encode(points[:200])
    return codes


def view_codes(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Codes of the upper and of the lower half of each digit, for hashers of several views."""
    halves, codes = (X[:, :32], X[:, 32:]), {}
    for name, parameters in VIEW_CASES.items():
        hasher = getattr(hashers, name)(16, random_state=0, **parameters).fit(halves, y)
        for view, half in enumerate(halves):
            codes[f"{name} view {view}"] = hasher.encode(half[:200], view=view)
    return codes


if __name__ == "__main__":
    facts = {name: version(name) for name in LIBRARIES}
    made = some_codes(sys.argv[2:]) if sys.argv[2:] else all_codes()
    np.savez_compressed(sys.argv[1], facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **made)
