"""Representations that are learned without labels, or from pairs.

`SimCLR`, `BYOL` and `VICReg` learn from views of images or rows; `SentenceEncoder` gives vectors of
texts, reads folders of sentence-transformers, and learns from pairs by one of four losses.
"""

from panlearn.core.extras import require

require("torch")

from panlearn.representation.byol import BYOL  # noqa: E402
from panlearn.representation.pair_losses import (  # noqa: E402
    CosineSimilarity,
    MultipleNegativesRanking,
    PairSoftmax,
    TripletMargin,
)
from panlearn.representation.sentence_encoder import SentenceEncoder  # noqa: E402
from panlearn.representation.simclr import SimCLR  # noqa: E402
from panlearn.representation.vicreg import VICReg  # noqa: E402

__all__ = [
    "BYOL",
    "CosineSimilarity",
    "MultipleNegativesRanking",
    "PairSoftmax",
    "SentenceEncoder",
    "SimCLR",
    "TripletMargin",
    "VICReg",
]
