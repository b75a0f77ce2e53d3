"""Neural networks on PyTorch: modules, objectives, one training loop, and the estimators on it.

`train` is the loop that all deep models share: any module, any objective, from arrays or streams,
on one process or under torchrun. `batches` has the sources of batches, `Hook` what may watch a run.

Reading order: `train`, `_run`, `batches`, `_estimator`.
"""

from panlearn.core.extras import require

require("torch")

from panlearn.neural import batches, layers  # noqa: E402
from panlearn.neural._hooks import Hook  # noqa: E402
from panlearn.neural.augmentation import Augmentation  # noqa: E402
from panlearn.neural.convnet import ConvNetClassifier  # noqa: E402
from panlearn.neural.mlp_classifier import MLPClassifier  # noqa: E402
from panlearn.neural.mlp_regressor import MLPRegressor  # noqa: E402
from panlearn.neural.recurrent import RecurrentNetwork  # noqa: E402
from panlearn.neural.seq2seq import RecurrentSeq2Seq  # noqa: E402
from panlearn.neural.train import train  # noqa: E402
from panlearn.neural.window_language_model import WindowLanguageModel  # noqa: E402

__all__ = [
    "Augmentation",
    "ConvNetClassifier",
    "Hook",
    "MLPClassifier",
    "MLPRegressor",
    "RecurrentNetwork",
    "RecurrentSeq2Seq",
    "WindowLanguageModel",
    "batches",
    "layers",
    "train",
]
