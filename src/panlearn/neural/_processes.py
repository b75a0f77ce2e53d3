"""The processes of a run: one, or those that torchrun started, whose sums are one sum."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel


class WorkerLostError(RuntimeError):
    """A process of the run is gone, so the others cannot go on."""


def is_loss_of_worker(error: RuntimeError) -> bool:
    """Whether an error comes from the connection between processes, and not from the model."""
    signs = ("Connection", "gloo", "NCCL", "Socket", "Timed out", "peer")
    return isinstance(error, distributed.DistError) or any(s in str(error) for s in signs)


class Processes:
    """Who takes part, and what they do together; with one process all of it is nothing.

    Parameters
    ----------
    strategy : {"ddp", "fsdp"}
        Under torchrun: every process holds the weights, or each holds a shard of them.
    device : torch.device
        Where the module lives; decides between gloo and nccl.
    """

    def __init__(self, strategy: str, device: torch.device) -> None:
        if strategy not in ("ddp", "fsdp"):
            raise ValueError(f"strategy={strategy!r} must be 'ddp' or 'fsdp'")
        self.world = int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1
        self._strategy, self._device = strategy, device
        if distributed.is_available() and distributed.is_initialized():
            self.world = distributed.get_world_size()
        elif self.world > 1:
            distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        self.rank = distributed.get_rank() if self.world > 1 else 0

    def share(self, module: nn.Module) -> nn.Module:
        """Return the module that the objective is to call: wrapped, sharded, or as it is."""
        if self.world == 1:
            return module
        for tensor in (*module.parameters(), *module.buffers()):
            distributed.broadcast(tensor.detach(), 0)
        if self._strategy == "ddp":
            return DistributedDataParallel(module)
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        sharded = copy.deepcopy(module)
        mesh = init_device_mesh(self._device.type, (self.world,))
        for part in sharded.children():
            if any(p.requires_grad for p in part.parameters()):
                fully_shard(part, mesh=mesh)
        fully_shard(sharded, mesh=mesh)
        return sharded

    @property
    def sharded(self) -> bool:
        """Whether no process holds the whole state."""
        return self.world > 1 and self._strategy == "fsdp"

    def add(self, *numbers: float) -> list[float]:
        """Sum numbers over the processes."""
        if self.world == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self._device)
        distributed.all_reduce(total)
        return total.tolist()

    def from_first(self, number: int) -> int:
        """Take the number of process 0."""
        if self.world == 1:
            return number
        shared = [number]
        distributed.broadcast_object_list(shared, 0)
        return shared[0]

    @contextmanager
    def holding_back(self, module: nn.Module, wait: bool) -> Iterator[None]:
        """Keep gradients local while a batch is still to be added to them."""
        if self.world == 1 or not wait:
            yield
        elif self._strategy == "ddp":
            with module.no_sync():  # type: ignore[operator]
                yield
        else:
            module.set_requires_gradient_sync(False)  # type: ignore[operator]
            try:
                yield
            finally:
                module.set_requires_gradient_sync(True)  # type: ignore[operator]

    def state(self, module: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[Any, Any]:
        """The whole state of module and optimiser, on every process."""
        if not self.sharded:
            inner = module.module if isinstance(module, DistributedDataParallel) else module
            return inner.state_dict(), optimizer.state_dict()
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict

        # without cpu_offload every process receives the full tensors
        return get_state_dict(module, optimizer, options=StateDictOptions(full_state_dict=True))

    def load(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, weights: Any, memory: Any
    ) -> None:
        """Load what `state` gave."""
        if not self.sharded:
            inner = module.module if isinstance(module, DistributedDataParallel) else module
            inner.load_state_dict(weights)
            optimizer.load_state_dict(memory)
            return
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_state_dict

        set_state_dict(
            module,
            optimizer,
            model_state_dict=weights,
            optim_state_dict=memory,
            options=StateDictOptions(full_state_dict=True),
        )
