"""Low-rank adaptation: learn a small addition to weights that stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from panlearn.core.value import Value


@dataclass(frozen=True)
class LoRA(Value):
    r"""Low-rank additions to the matrices of any module, which alone are learned.

    .. math:: W' = W + \frac{\alpha}{r} B A, \qquad A \in \mathbb{R}^{r \times n}, \
              B \in \mathbb{R}^{m \times r}, \quad B = 0 \text{ at first}

    Parameters
    ----------
    rank : int, default=8
        r.
    alpha : float, default=16.0
        How much the addition counts.
    targets : tuple of str, default=("*",)
        Names of the matrices, with wildcards: ``("blocks.*.attention.*",)``. Those of embeddings
        and whatever else has no two dimensions are left out unless they are named in full.

    Notes
    -----
    A parametrisation of PyTorch works the weight out anew in each pass, so that whatever the module
    does with it sees the addition. Everything else is frozen. At the end of a run the additions are
    merged: the module has the names and shapes it had. An m by n matrix gets :math:`O(r (m + n))`
    numbers that learn, and working it out costs :math:`O(r m n)` a pass.

    References
    ----------
    Hu et al. (2022). LoRA: low-rank adaptation of large language models. ICLR. arXiv:2106.09685

    Examples
    --------
    >>> from torch import nn
    >>> from panlearn.neural import LoRA
    >>> module = nn.Sequential(nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 10))
    >>> LoRA(rank=2, targets=("0.weight",)).attach(module)
    ['0.weight']
    >>> sum(p.numel() for p in module.parameters() if p.requires_grad)
    400
    """

    rank: int = 8
    alpha: float = 16.0
    targets: tuple[str, ...] = ("*",)

    def __post_init__(self) -> None:
        if not isinstance(self.rank, int) or self.rank < 1:
            raise ValueError(f"rank must be an int above zero; got {self.rank!r}")
        if not self.alpha > 0:
            raise ValueError(f"alpha must be above zero; got {self.alpha!r}")
        if isinstance(self.targets, str) or not all(isinstance(t, str) for t in self.targets):
            raise ValueError(f"targets must be a tuple of names; got {self.targets!r}")

    def attach(self, module: nn.Module) -> list[str]:
        """Freeze a module and give its matrices additions; return the names of these matrices.

        Parameters
        ----------
        module : torch.nn.Module
            Is changed in place, until `merge`.

        Returns
        -------
        list of str
        """
        names = [name for name, p in module.named_parameters() if self._takes(module, name, p)]
        if not names:
            raise ValueError(f"LoRA(targets={self.targets!r}) names no matrix of the module")
        module.requires_grad_(False)
        for name in names:
            owner, attribute = _owner(module, name)
            weight = getattr(owner, attribute)
            addition = _Addition(weight, self.rank, self.alpha / self.rank)
            addition.order = list(owner._parameters)
            parametrize.register_parametrization(owner, attribute, addition)
        return names

    def _takes(self, module: nn.Module, name: str, parameter: nn.Parameter) -> bool:
        if parameter.ndim != 2:
            return False
        embeds = isinstance(_owner(module, name)[0], nn.Embedding)
        return name in self.targets or (
            not embeds and any(fnmatchcase(name, pattern) for pattern in self.targets)
        )


def merge(module: nn.Module) -> dict[str, torch.Tensor]:
    """Add the additions to their weights, and give them back as ``name.A`` and ``name.B``."""
    found: dict[str, torch.Tensor] = {}
    for prefix, owner in list(module.named_modules()):
        for attribute in list(getattr(owner, "parametrizations", {})):
            additions: Any = owner.parametrizations[attribute]
            if isinstance(additions[0], _Addition):
                name = f"{prefix}.{attribute}" if prefix else attribute
                found[f"{name}.A"] = additions[0].down.detach()
                found[f"{name}.B"] = additions[0].up.detach()
                parametrize.remove_parametrizations(owner, attribute, leave_parametrized=True)
                for known in additions[0].order:  # PyTorch puts the weight behind the others
                    if known in owner._parameters:
                        owner._parameters[known] = owner._parameters.pop(known)
    return found


class _Addition(nn.Module):
    """W + s B A."""

    order: list[str]

    def __init__(self, weight: torch.Tensor, rank: int, scale: float) -> None:
        super().__init__()
        n_out, n_in = weight.shape
        like: Any = {"device": weight.device, "dtype": torch.float32}
        if weight.dtype == torch.float64:
            like["dtype"] = torch.float64
        self.down = nn.Parameter(torch.empty(rank, n_in, **like))
        self.up = nn.Parameter(torch.zeros(n_out, rank, **like))
        self.scale = scale
        nn.init.kaiming_uniform_(self.down, a=5**0.5)  # as the paper's own code does

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight + (self.scale * (self.up @ self.down)).to(weight.dtype)


def _owner(module: nn.Module, name: str) -> tuple[nn.Module, str]:
    path, _, attribute = name.rpartition(".")
    return module.get_submodule(path), attribute
