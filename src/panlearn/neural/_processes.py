"""The processes of a run: one, or those that torchrun started, whose sums are one sum."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any

import torch
from torch import distributed, nn

_BUCKET = 2**23  # numbers of gradients that are summed in one call


class WorkerLostError(RuntimeError):
    """A process of the run is gone, so the others cannot go on."""


def is_loss_of_worker(error: RuntimeError) -> bool:
    """Whether an error comes from the connection between processes, and not from the model."""
    signs = ("Connection", "gloo", "NCCL", "Socket", "Timed out", "peer")
    return isinstance(error, distributed.DistError) or any(s in str(error) for s in signs)


def local_device(device: str) -> torch.device:
    """The device of this process: under torchrun, each process of a machine has its own GPU."""
    found = torch.device(device)
    if found.type == "cuda" and found.index is None and "LOCAL_RANK" in os.environ:
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return found


class Processes:
    """Who takes part, and what they do together; with one process all of it is nothing.

    Nothing is wrapped: an objective may call whatever it likes of a module, and gradients are
    summed when they are there. With "fsdp" each process holds a shard of the blocks of a module,
    the members of its lists and sequences, and all of the rest.

    Parameters
    ----------
    strategy : {"ddp", "fsdp"}
        Under torchrun: every process holds the weights, or each holds a shard of the blocks.
    device : torch.device
        Where the modules live; decides between gloo and nccl.
    """

    def __init__(self, strategy: str, device: torch.device) -> None:
        self.world = int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1
        self._strategy, self._device = strategy, device
        if distributed.is_available() and distributed.is_initialized():
            self.world = distributed.get_world_size()
        elif self.world > 1:
            distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        self.rank = distributed.get_rank() if self.world > 1 else 0

    @property
    def sharded(self) -> bool:
        """Whether no process holds the whole state."""
        return self.world > 1 and self._strategy == "fsdp"

    def share(self, module: nn.Module) -> nn.Module:
        """Return the module that learns, with the weights of process 0: itself, or a shard."""
        if self.world == 1:
            return module
        for tensor in (*module.parameters(), *module.buffers()):
            distributed.broadcast(tensor.detach(), 0)
        if not self.sharded:
            return module
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        sharded = copy.deepcopy(module)
        mesh = init_device_mesh(self._device.type, (self.world,))
        for part in blocks(sharded):
            fully_shard(part, mesh=mesh)
        return sharded

    def add(self, *numbers: float) -> list[float]:
        """Sum numbers over the processes."""
        if self.world == 1:
            return list(numbers)
        total = torch.tensor(numbers, dtype=torch.float64, device=self._device)
        distributed.all_reduce(total)
        return total.tolist()

    def largest(self, number: int) -> int:
        """The largest of the numbers of all processes."""
        return max(self.counts(number))

    def counts(self, rows: int) -> list[int]:
        """How many rows each process has."""
        if self.world == 1:
            return [rows]
        mine = torch.zeros(self.world, dtype=torch.int64, device=self._device)
        mine[self.rank] = rows
        distributed.all_reduce(mine)
        return mine.tolist()

    def from_first(self, number: int) -> int:
        """Take the number of process 0."""
        if self.world == 1:
            return number
        shared = [number]
        distributed.broadcast_object_list(shared, 0)
        return shared[0]

    def gather(self, rows: torch.Tensor) -> torch.Tensor:
        """The rows of all processes, with gradient."""
        return rows if self.world == 1 else _Gather.apply(rows, self)

    def sum_gradients(self, parameters: Sequence[torch.Tensor], divisor: float) -> None:
        """Sum gradients over the processes and divide; what was not used has a gradient of zero."""
        for p in parameters:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        if self.world > 1 or divisor != 1.0:
            self._sum_and_divide(parameters, divisor)

    @torch.no_grad()
    def _sum_and_divide(self, parameters: Sequence[torch.Tensor], divisor: float) -> None:
        whole: list[torch.Tensor] = []
        for p in parameters:
            if hasattr(p, "device_mesh"):  # fully_shard has summed it, and divided by their number
                p.grad.mul_(self.world / divisor)  # type: ignore[union-attr]
            else:
                whole.append(p.grad)  # type: ignore[arg-type]
        if self.world == 1:
            for gradient in whole:
                gradient.div_(divisor)
            return
        for bucket in _buckets(whole):
            flat = torch.cat([gradient.flatten() for gradient in bucket])
            distributed.all_reduce(flat)
            parts = flat.div_(divisor).split([gradient.numel() for gradient in bucket])
            for gradient, part in zip(bucket, parts, strict=True):
                gradient.copy_(part.view_as(gradient))

    def state(self, module: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[Any, Any]:
        """The whole state of module and optimiser, on every process."""
        if not self.sharded:
            return module.state_dict(), optimizer.state_dict()
        from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict

        # without cpu_offload every process receives the full tensors
        return get_state_dict(module, optimizer, options=StateDictOptions(full_state_dict=True))

    def load(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, weights: Any, memory: Any
    ) -> None:
        """Load what `state` gave."""
        if not self.sharded:
            module.load_state_dict(weights)
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

    def weights(self, module: nn.Module) -> dict[str, Any]:
        """The whole weights of a module that has no optimiser, on every process."""
        state = module.state_dict()
        return {k: v.full_tensor() if hasattr(v, "full_tensor") else v for k, v in state.items()}

    def load_weights(self, module: nn.Module, weights: dict[str, Any]) -> None:
        """Load what `weights` gave."""
        if not self.sharded:
            module.load_state_dict(weights)
            return
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

        set_model_state_dict(module, weights, options=StateDictOptions(full_state_dict=True))


def blocks(module: nn.Module) -> list[nn.Module]:
    """The members of lists and sequences of a module that hold parameters, the outermost."""
    found = []
    for child in module.children():
        if not any(p.numel() for p in child.parameters()):
            continue
        if isinstance(module, nn.ModuleList | nn.Sequential):
            found.append(child)
        else:
            found += blocks(child)
    return found


def _buckets(gradients: list[torch.Tensor]) -> list[list[torch.Tensor]]:
    """Gradients of one type in groups that are not too large to be copied together."""
    found: list[list[torch.Tensor]] = []
    size = 0
    for gradient in gradients:
        if not found or size >= _BUCKET or found[-1][0].dtype != gradient.dtype:
            found.append([])
            size = 0
        found[-1].append(gradient)
        size += gradient.numel()
    return found


class _Gather(torch.autograd.Function):
    """Rows of all processes; the gradient of a row is the sum of what all made of it."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, processes: Processes) -> torch.Tensor:
        counts = processes.counts(len(rows))
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in counts]
        distributed.all_gather(parts, padded)
        ctx.low = sum(counts[: processes.rank])
        ctx.rows = len(rows)
        return torch.cat([part[:n] for part, n in zip(parts, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        total = gradient.contiguous()
        distributed.all_reduce(total)
        return total[ctx.low : ctx.low + ctx.rows], None
