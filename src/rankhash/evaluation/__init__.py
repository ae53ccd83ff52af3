"""Quality of codes: retrieval metrics, ground truth, the paper's protocol, and its experiments with a report.

::

    datasets ─▶ protocol ─▶ run (methods) ─▶ store ─▶ report
                              └─ counts ─▶ metrics
"""

from .comparison import Compared, compare, recommend
from .counts import Counts, count_codes
from .cross_modal import Direction, evaluate_views, partner_directions
from .held_out import evaluate, evaluate_index
from .metrics import (
    average_precision,
    ball_precision,
    mean,
    mean_average_precision,
    ndcg,
    neighbor_recall,
    neighbor_recall_by_distance,
    pooled_ball_precision,
    precision_at,
    precision_recall,
    query_average_precision,
    query_precision_recall,
    recall_at,
)
from .protocol import Protocol, Split, split
from .truth import ClassTruth, IdTruth, RadiusTruth, Truth, average_radius, exact_neighbors, neighbor_radius

__all__ = [
    "ClassTruth",
    "Compared",
    "Counts",
    "Direction",
    "IdTruth",
    "Protocol",
    "RadiusTruth",
    "Split",
    "Truth",
    "average_precision",
    "average_radius",
    "ball_precision",
    "compare",
    "count_codes",
    "evaluate",
    "evaluate_index",
    "evaluate_views",
    "exact_neighbors",
    "mean",
    "mean_average_precision",
    "ndcg",
    "neighbor_radius",
    "neighbor_recall",
    "neighbor_recall_by_distance",
    "partner_directions",
    "pooled_ball_precision",
    "precision_at",
    "precision_recall",
    "query_average_precision",
    "query_precision_recall",
    "recall_at",
    "recommend",
    "split",
]
