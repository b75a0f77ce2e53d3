"""Representations that are learned without labels, or from pairs.

`SimCLR`, `BYOL` and `VICReg` learn from views of images or rows, `CLIP` from images with texts;
`SentenceEncoder` gives vectors of texts and learns from pairs of them by one of four losses.
"""

from panlearn.core.extras import require

require("torch")

from panlearn.representation._clip import Tower  # noqa: E402
from panlearn.representation.byol import BYOL  # noqa: E402
from panlearn.representation.clip import CLIP  # noqa: E402
from panlearn.representation.clip_tokenizer import CLIPTokenizer  # noqa: E402
from panlearn.representation.pair_losses import (  # noqa: E402
    CosineSimilarity,
    MultipleNegativesRanking,
    PairSoftmax,
    TripletMargin,
)
from panlearn.representation.sentence_encoder import SentenceEncoder  # noqa: E402
from panlearn.representation.simclr import SimCLR  # noqa: E402
from panlearn.representation.vicreg import VICReg  # noqa: E402
from panlearn.representation.zero_shot import FewShotClassifier, ZeroShotClassifier  # noqa: E402

__all__ = [
    "BYOL",
    "CLIP",
    "CLIPTokenizer",
    "CosineSimilarity",
    "FewShotClassifier",
    "MultipleNegativesRanking",
    "PairSoftmax",
    "SentenceEncoder",
    "SimCLR",
    "Tower",
    "TripletMargin",
    "VICReg",
    "ZeroShotClassifier",
]
