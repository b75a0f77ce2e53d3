"""Representations that are learned without labels, or from pairs: SimCLR, BYOL, VICReg, CLIP."""

from panlearn.core.extras import require

require("torch")

from panlearn.representation._clip import Tower  # noqa: E402
from panlearn.representation.byol import BYOL  # noqa: E402
from panlearn.representation.clip import CLIP  # noqa: E402
from panlearn.representation.clip_tokenizer import CLIPTokenizer  # noqa: E402
from panlearn.representation.simclr import SimCLR  # noqa: E402
from panlearn.representation.vicreg import VICReg  # noqa: E402
from panlearn.representation.zero_shot import FewShotClassifier, ZeroShotClassifier  # noqa: E402

__all__ = [
    "BYOL",
    "CLIP",
    "CLIPTokenizer",
    "FewShotClassifier",
    "SimCLR",
    "Tower",
    "VICReg",
    "ZeroShotClassifier",
]
