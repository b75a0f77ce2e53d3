"""Language models of all families: made, and loaded with what belongs to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from panlearn.core.errors import DataError

if TYPE_CHECKING:
    from panlearn.text import ChatTemplate
    from panlearn.transformer._language_model import LanguageModel


def template_of(model: str, given: str | None) -> ChatTemplate:
    """The template of a conversation: a style, that of a file, or that of the model's folder."""
    from panlearn.text import ChatTemplate
    from panlearn.text.chat import STYLES

    if given is not None:
        return ChatTemplate(given if given in STYLES else read_text(given))
    try:
        return ChatTemplate.from_pretrained(model)
    except ValueError as error:
        raise DataError(f"{error}; give one, such as --template chatml") from None


def read_text(file: str) -> str:
    """Read a file of text, or say that it is none."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not text in UTF-8: {error}") from None


def make_model(like: str, layers: int, width: int, heads: int, context: int) -> Any:
    """A model of a family that has learned nothing yet."""
    from panlearn.statespace import Mamba, MambaConfig
    from panlearn.transformer import GPT, DeepSeek, GPTConfig

    if like == "mamba":
        return Mamba(MambaConfig(layers, width), window=context)
    shape = getattr(GPTConfig, like)
    config = shape(n_layers=layers, width=width, n_heads=heads, context=context)
    return (DeepSeek if like == "deepseek" else GPT)(config)


def load_model(path: str) -> LanguageModel:
    """Load a language model of any family, from a file of ours or a folder of Hugging Face."""
    import panlearn
    from panlearn.core.persistence import ModelFileError
    from panlearn.statespace import Mamba
    from panlearn.transformer import GPT
    from panlearn.transformer._folder import CheckpointError, read_json
    from panlearn.transformer._language_model import LanguageModel

    try:
        if not Path(path).is_dir():
            model = panlearn.load(path)
        elif read_json(Path(path) / "config.json").get("model_type") == "mamba":
            model = Mamba.from_pretrained(path)
        else:
            model = GPT.from_pretrained(path)
    except (ModelFileError, CheckpointError) as error:
        raise DataError(str(error)) from None
    if not isinstance(model, LanguageModel):
        raise DataError(f"{path} holds a {type(model).__name__}, not a language model")
    return model
