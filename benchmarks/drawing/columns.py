"""The columns of the verdict: what stands for RSH and SRSH in them."""

from __future__ import annotations

from drawing.cases import Column

PRINTED = Column(
    "as printed",
    "RSH paper",
    "SRSH paper",
    'Algorithms 1 and 2 of the paper, RSH and SRSH with `update="paper"`: a Gaussian start, a constant learning rate, '
    "pairs at their natural rate, the last weights; α multiplies the step, as in the paper's formula; K = 4 at every "
    "length",
)
SAMPLING = Column(
    "sampling",
    "RSH paper",
    "SRSH paper sampling",
    'as printed, but SRSH with `update="paper-sampling"`: α is the probability of a pair, since the paper calls it a '
    "sampling weight",
)
TUNED = Column(
    "sampling, tuned",
    "RSH paper (tuned)",
    "SRSH paper sampling (tuned)",
    "the same, with K from 2, 4 and 8, and ρ and λ from three values each, chosen by cross-validation on the training "
    "vectors at every length, as the paper does: `rankhash reproduce --tune`",
    "MLH (tuned)",
)
COLUMNS = (
    PRINTED,
    SAMPLING,
    TUNED,
    Column("default", "RSH", "SRSH", "RSH and SRSH as this library has them without any setting, K = 4"),
)
"""What the verdict's columns run. A column needs two splits; the last needs the most."""
