"""Products of a few rows with the matrices of a model, in compiled loops.

A row of a matrix is read once and multiplied with all rows while it is at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from panlearn.core.machine_code import address_of
from panlearn.transformer import _jobs
from panlearn.transformer._arrays import to_array


class Matrix:
    """A matrix and a constant as arrays; they share their memory with the module that they are of.

    A matrix in bfloat16 stands as its bits, the upper halves of single precision.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        # products read them by their addresses: of single precision or halves, without gaps
        weight = weight.detach().contiguous()
        constant = torch.zeros(len(weight)) if bias is None else bias.detach()
        self.constant = constant.float().contiguous().numpy()
        self.numbers = to_array(weight if weight.dtype == torch.bfloat16 else weight.float())

    @classmethod
    def of(cls, module: Any) -> Matrix:
        """Those of a linear layer."""
        return cls(module.weight, getattr(module, "bias", None))


class Products:
    """x W' + b for a few rows x, on the threads that PyTorch was given.

    Parameters
    ----------
    dtype : torch.dtype, default=torch.float32
        Of the matrices, single precision or bfloat16.
    """

    def __init__(self, dtype: torch.dtype = torch.float32) -> None:
        self._crew = _jobs.Crew(dtype)
        self._listed: dict[tuple[Matrix, int], list[Any]] = {}  # by matrix and number of rows

    def __call__(self, x: np.ndarray, matrix: Matrix) -> np.ndarray:
        """Give the product, (n_rows, n_outputs)."""
        x = np.ascontiguousarray(x, dtype=np.float32)
        made = np.empty((len(x), len(matrix.numbers)), dtype=np.float32)
        key = matrix, len(x)
        if key not in self._listed:
            job = _jobs.product(x, matrix, made)
            self._listed[key] = [job, job["x"], job["made"], bool(job["shared"])]
        job, from_, to, shared = self._listed[key]
        from_[0], to[0] = address_of(x), address_of(made)
        self._crew(job, shared)
        return made
