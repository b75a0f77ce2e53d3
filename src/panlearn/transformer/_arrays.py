"""Arrays and tensors of each other; bfloat16, which NumPy has not, as its bits in uint16."""

from __future__ import annotations

import numpy as np
import torch


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """Give the array that shares a tensor's memory; of bfloat16 its bits."""
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.uint16)
    return tensor.numpy()


def to_tensor(array: np.ndarray) -> torch.Tensor:
    """Give the tensor of an array, which shares its memory if it may be written to."""
    tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
    return tensor.view(torch.bfloat16) if tensor.dtype == torch.uint16 else tensor
