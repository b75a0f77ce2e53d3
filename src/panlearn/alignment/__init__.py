"""Language models that do what they are asked: fine-tuning, preferences, rewards, distillation."""

from panlearn.core.extras import require

require("torch")

from panlearn.alignment import losses, rewards  # noqa: E402
from panlearn.alignment.adapters import load_adapter, save_adapter  # noqa: E402
from panlearn.alignment.carried_addition import CarriedAddition  # noqa: E402
from panlearn.alignment.distill import distill  # noqa: E402
from panlearn.alignment.dpo import DPO  # noqa: E402
from panlearn.alignment.grpo import GRPO  # noqa: E402
from panlearn.alignment.ppo import PPO  # noqa: E402
from panlearn.alignment.reasoning_pipeline import reasoning_pipeline  # noqa: E402
from panlearn.alignment.rejection_sampling import rejection_sampling  # noqa: E402
from panlearn.alignment.reward_model import RewardModel  # noqa: E402
from panlearn.alignment.supervised_finetune import supervised_finetune  # noqa: E402

__all__ = [
    "DPO",
    "GRPO",
    "PPO",
    "CarriedAddition",
    "RewardModel",
    "distill",
    "load_adapter",
    "losses",
    "reasoning_pipeline",
    "rejection_sampling",
    "rewards",
    "save_adapter",
    "supervised_finetune",
]
