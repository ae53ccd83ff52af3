"""How good codes are: metrics, ground truth, the paper's protocol, and its experiments with a report.

::

    datasets ─▶ protocol ─▶ run (methods) ─▶ store ─▶ report, verdict
                              └─ counts ─▶ metrics
"""

from .counts import Counts, count_codes
from .metrics import (
    average_precision,
    ball_precision,
    mean,
    mean_average_precision,
    ndcg,
    neighbor_recall,
    neighbor_recall_by_distance,
    precision_at,
    precision_recall,
    query_average_precision,
    query_precision_recall,
    recall_at,
)
from .own import evaluate
from .protocol import Protocol, Split, split
from .truth import ClassTruth, IdTruth, RadiusTruth, Truth, average_radius, exact_neighbors, neighbor_radius

__all__ = [
    "ClassTruth",
    "Counts",
    "IdTruth",
    "Protocol",
    "RadiusTruth",
    "Split",
    "Truth",
    "average_precision",
    "average_radius",
    "ball_precision",
    "count_codes",
    "evaluate",
    "exact_neighbors",
    "mean",
    "mean_average_precision",
    "ndcg",
    "neighbor_radius",
    "neighbor_recall",
    "neighbor_recall_by_distance",
    "precision_at",
    "precision_recall",
    "query_average_precision",
    "query_precision_recall",
    "recall_at",
    "split",
]
