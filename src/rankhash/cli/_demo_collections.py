"""The collections of ``rankhash demo --serve``: two collections in memory, one with images and one without."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_wine

from ..collection import Collection
from ..datasets import load_dataset
from ..evaluation.images import data_url
from ..hashers import JRSH


def make() -> dict[str, Collection]:
    """The collections by name."""
    return {"digits": digits(), "wines": wines()}


def digits() -> Collection:
    """1797 handwritten digits as codes of the default hasher, with images, labels and vectors."""
    data = load_dataset("digits")
    assert data.labels is not None
    collection = Collection.create(
        ":memory:", JRSH(random_state=0, verbose=False).fit(data.vectors), store_vectors="float16"
    )
    images = [data_url(vector.reshape(8, 8)) for vector in data.vectors]
    metadata = [{"label": int(label), "image": image} for label, image in zip(data.labels, images, strict=True)]
    collection.add(data.vectors, metadata=metadata)
    return collection


def wines() -> Collection:
    """178 wines without a hasher, compared by their vectors, with their cultivars and measurements."""
    data = load_wine()
    scaled = ((data.data - data.data.mean(0)) / data.data.std(0)).astype(np.float32)
    collection = Collection.create(":memory:", metric="euclidean")
    names = [name.replace("/", "_") for name in data.feature_names]
    metadata = [
        {"cultivar": f"cultivar {kind + 1}", **dict(zip(names, map(float, row), strict=True))}
        for row, kind in zip(data.data, data.target, strict=True)
    ]
    collection.add(scaled, ids=[f"wine-{place + 1}" for place in range(len(scaled))], metadata=metadata)
    return collection
