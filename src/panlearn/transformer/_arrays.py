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


class Room:
    """Memory for the weights of a model in a few large pieces.

    NumPy asks the system for large pages where an array has four megabytes or more, and many a
    matrix has less. What stands on large pages is read from memory more quickly.
    """

    _PIECE = 1 << 23  # bytes

    def __init__(self) -> None:
        self._free = np.empty(0, dtype=np.uint8)

    def keep(self, tensor: torch.Tensor) -> np.ndarray:
        """Give the array of a tensor, moved here."""
        array = to_array(tensor)
        size = -(-array.nbytes // 64) * 64  # the next one begins in a line of cache of its own
        if size > len(self._free):
            self._free = np.empty(max(size, self._PIECE), dtype=np.uint8)
        place, self._free = self._free[: array.nbytes], self._free[size:]
        made = place.view(array.dtype).reshape(array.shape)
        made[...] = array
        return made
