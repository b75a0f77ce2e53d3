"""Products of a few rows with the matrices of a model, in compiled loops.

A row of a matrix is read once and multiplied with all rows while it is at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from panlearn.transformer import _jobs


class Matrix:
    """A matrix and a constant as arrays; they share their memory with the module that they are of.

    A matrix in bfloat16 stands as its bits, the upper halves of single precision.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        # products read them by their addresses: of single precision or halves, without gaps
        weight = weight.detach().contiguous()
        constant = torch.zeros(len(weight)) if bias is None else bias.detach()
        self.constant = constant.float().contiguous().numpy()
        self.halves = weight.dtype == torch.bfloat16
        self.numbers = (weight.view(torch.uint16) if self.halves else weight.float()).numpy()

    @classmethod
    def of(cls, module: Any) -> Matrix:
        """Those of a linear layer."""
        return cls(module.weight, getattr(module, "bias", None))


class Products:
    """x W' + b for a few rows x, on the threads that PyTorch was given."""

    def __init__(self) -> None:
        self._crew = _jobs.Crew()
        self._listed: dict[tuple[Matrix, int], np.ndarray] = {}  # by matrix and number of rows

    def __call__(self, x: np.ndarray, matrix: Matrix) -> np.ndarray:
        """Give the product, (n_rows, n_outputs)."""
        x = np.ascontiguousarray(x, dtype=np.float32)
        made = np.empty((len(x), len(matrix.numbers)), dtype=np.float32)
        key = matrix, len(x)
        if key not in self._listed:
            self._listed[key] = _jobs.product(x, matrix, made)
        self._crew.multiply(self._listed[key], x, made)
        return made
