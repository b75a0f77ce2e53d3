"""Neural networks on PyTorch: modules, objectives, one training loop, and the estimators on it.

`train` is the loop that all deep models share: any module, any objective, from arrays or streams,
on one process or under torchrun; players, games and teachers too. `batches` has the sources of
batches, `Hook` what may watch a run, `LoRA` additions that are learned in the place of weights.

Reading order: `train`, `settings`, `_run`, `_moves`, `_player`, `_step`, `batches`, `_estimator`.
"""

from panlearn.core.extras import require

require("torch")

from panlearn.neural import batches, layers  # noqa: E402
from panlearn.neural._hooks import CSVWriter, Hook, TensorBoardWriter  # noqa: E402
from panlearn.neural._player import Player  # noqa: E402
from panlearn.neural.augmentation import Augmentation  # noqa: E402
from panlearn.neural.convnet import ConvNetClassifier  # noqa: E402
from panlearn.neural.lora import LoRA  # noqa: E402
from panlearn.neural.mlp_classifier import MLPClassifier  # noqa: E402
from panlearn.neural.mlp_regressor import MLPRegressor  # noqa: E402
from panlearn.neural.recurrent_classifier import RecurrentClassifier  # noqa: E402
from panlearn.neural.recurrent_forecaster import RecurrentForecaster  # noqa: E402
from panlearn.neural.recurrent_tagger import RecurrentTagger  # noqa: E402
from panlearn.neural.seq2seq import RecurrentSeq2Seq  # noqa: E402
from panlearn.neural.train import train  # noqa: E402
from panlearn.neural.window_language_model import WindowLanguageModel  # noqa: E402

__all__ = [
    "Augmentation",
    "CSVWriter",
    "ConvNetClassifier",
    "Hook",
    "LoRA",
    "MLPClassifier",
    "MLPRegressor",
    "Player",
    "RecurrentClassifier",
    "RecurrentForecaster",
    "RecurrentSeq2Seq",
    "RecurrentTagger",
    "TensorBoardWriter",
    "WindowLanguageModel",
    "batches",
    "layers",
    "train",
]
