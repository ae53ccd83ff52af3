"""Nearest neighbours with the interface of `sklearn.neighbors`: true ones, or by the codes of a hasher.

::

    X ──fit──▶ VectorIndex                    ─▶ neighbours by true distance, or their graph
          └──▶ hasher ──encode──▶ index       ─▶ neighbours by code, re-ranked on request ─▶ classes, numbers
"""

from .estimators import RankNeighbors, RankNeighborsTransformer
from .supervised import RankNeighborsClassifier, RankNeighborsRegressor

__all__ = ["RankNeighbors", "RankNeighborsClassifier", "RankNeighborsRegressor", "RankNeighborsTransformer"]
