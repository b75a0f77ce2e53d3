"""Transformers on PyTorch: attention, positions, and a decoder that reads real weights."""

from panlearn.core.extras import require

require("torch")

__all__: list[str] = []
