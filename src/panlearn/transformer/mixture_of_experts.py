"""A mixture of experts: feed-forward layers among which each token chooses a few."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from panlearn.transformer._config import ExpertsConfig
from panlearn.transformer._feed_forward import FeedForward


class MixtureOfExperts(nn.Module):
    r"""Feed-forward layers among which each token chooses a few, beside some that see all tokens.

    .. math::
        y = \sum_{i=1}^{n_s} \operatorname{FFN}^s_i(u) + \sum_{i} g_i \operatorname{FFN}_i(u),
        \qquad s_i = \sigma(u^\top e_i), \quad
        g_i = \frac{s_i [i \in T]}{\sum_{j \in T} s_j}, \quad
        T = \operatorname{top}_K(s_i + b_i)

    Parameters
    ----------
    width : int
        Coordinates of a token u.
    config : ExpertsConfig
        How many experts there are, how many are chosen, and how.

    Attributes
    ----------
    balance : tensor of shape (n_experts,)
        The numbers b. They have a part in the choice and none in the weights, and no gradient.
    loads : tensor of shape (n_experts,)
        How many tokens each expert had in the last call.

    Notes
    -----
    Tokens are sorted by expert, and each expert that has any makes one product with all of its
    own: the cost is that of the chosen experts. With groups, a token first chooses those whose two
    best experts have the highest sum, then experts among theirs.

    The numbers b even the loads out without a further loss: `rebalance` lowers that of each expert
    with more tokens than the mean by ``balance_rate`` and raises the others'. The loss of language
    models calls it after each step with the loads of the whole batch. A token costs
    :math:`O(d (k f + E))` for k chosen of E experts with f units each.

    References
    ----------
    Shazeer, N. et al. (2017). Outrageously large neural networks: the sparsely-gated
    mixture-of-experts layer. ICLR. https://arxiv.org/abs/1701.06538

    Wang, L. et al. (2024). Auxiliary-loss-free load balancing strategy for mixture-of-experts.
    https://arxiv.org/abs/2408.15664

    DeepSeek-AI (2024). DeepSeek-V3 technical report. https://arxiv.org/abs/2412.19437

    Examples
    --------
    >>> import torch
    >>> from panlearn.transformer import ExpertsConfig, MixtureOfExperts
    >>> layer = MixtureOfExperts(16, ExpertsConfig(n_experts=4, n_chosen=2, hidden=8))
    >>> layer(torch.zeros(3, 5, 16)).shape
    torch.Size([3, 5, 16])
    >>> int(layer.loads.sum())
    30
    """

    balance: Tensor

    def __init__(self, width: int, config: ExpertsConfig) -> None:
        super().__init__()
        self.config = config
        n, hidden = config.n_experts, config.hidden
        self.router = nn.Linear(width, n, bias=False)
        self.experts_up = nn.Parameter(torch.empty(n, 2 * hidden, width))  # gates, then values
        self.experts_down = nn.Parameter(torch.empty(n, width, hidden))
        for weight in (self.experts_up, self.experts_down):
            nn.init.normal_(weight, std=0.02)
        if config.gate == "sigmoid":
            self.register_buffer("balance", torch.zeros(n))
        self.shared = None
        if config.n_shared:
            self.shared = FeedForward(width, config.n_shared * hidden, "swiglu", bias=False)
        self.loads = torch.zeros(n, dtype=torch.long)

    def forward(self, x: Tensor) -> Tensor:
        """Give the sum of what the experts say of each token, of the shape of x."""
        rows = x.flatten(0, -2)
        chosen, weights = self.choose(rows)
        order = chosen.flatten().argsort(stable=True)
        self.loads = torch.bincount(chosen.flatten(), minlength=self.config.n_experts)
        n_chosen = chosen.shape[1]
        said = []
        # all at once, for the gradient of one of them would be as large as that of all
        ups, downs = self.experts_up.unbind(), self.experts_down.unbind()
        for up, down, part in zip(ups, downs, order.split(self.loads.tolist()), strict=True):
            if len(part):
                gate, value = F.linear(rows[part // n_chosen], up).chunk(2, dim=-1)
                said.append(F.linear(F.silu(gate) * value, down))
        back = torch.empty_like(order)  # where each choice of each token stands among the answers
        back[order] = torch.arange(len(order), device=order.device)
        answers = torch.cat(said)[back].unflatten(0, chosen.shape)
        made = torch.einsum("tkd,tk->td", answers, weights.to(answers.dtype)).view(x.shape)
        return made if self.shared is None else made + self.shared(x)

    def choose(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Give the experts that each token chooses and their weights, each (n_tokens, n_chosen)."""
        config, precise = self.config, torch.promote_types(rows.dtype, torch.float32)
        scores = F.linear(rows.to(precise), self.router.weight.to(precise))
        if config.gate == "softmax":
            scores = ranked = scores.softmax(dim=-1)
        else:
            scores = scores.sigmoid()
            ranked = scores.detach() + self.balance
        if config.n_groups > 1:
            groups = ranked.unflatten(-1, (config.n_groups, -1))
            best = groups.topk(min(2, groups.shape[-1]), dim=-1).values.sum(dim=-1)
            kept = torch.zeros_like(best, dtype=torch.bool)
            kept.scatter_(-1, best.topk(config.n_chosen_groups, dim=-1).indices, True)
            ranked = groups.masked_fill(~kept[..., None], -torch.inf).flatten(-2)
        chosen = ranked.topk(config.n_chosen, dim=-1).indices
        weights = scores.gather(-1, chosen)
        if config.normalise:
            weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-20)
        return chosen, weights * config.scale

    @torch.no_grad()
    def rebalance(self, loads: Tensor) -> None:
        """Let experts that had more tokens than the mean be chosen less, and others more."""
        loads = loads.to(self.balance)
        self.balance += self.config.balance_rate * torch.sign(loads.mean() - loads)
