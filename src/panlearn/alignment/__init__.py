"""Language models that do what they are asked: fine-tuning, preferences, rewards, distillation."""

from panlearn.core.extras import require

require("torch")

from panlearn.alignment.chat_template import ChatTemplate  # noqa: E402

__all__ = ["ChatTemplate"]
