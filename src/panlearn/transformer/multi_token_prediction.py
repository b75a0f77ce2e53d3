"""Prediction of several tokens ahead: a further block for each, on the decoder's own states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from panlearn.transformer._block import block_of, norm_of
from panlearn.transformer._config import GPTConfig


class MultiTokenPrediction(nn.Module):
    r"""One depth of prediction ahead: from states of depth k - 1 and the tokens k places later.

    .. math::
        h_i'^{\,k} = M_k [\operatorname{norm}(h_i^{k-1});\, \operatorname{norm}(E t_{i+k})], \qquad
        h^k = \operatorname{block}_k(h'^{\,k}), \qquad
        p(t_{i+k+1}) = \operatorname{softmax}(\operatorname{norm}(h_i^k) W)

    The loss of training is that of the next token and :math:`\frac{\lambda}{D} \sum_{k=1}^D L_k`.

    Parameters
    ----------
    config : GPTConfig
        The shape of the decoder whose states these are; its last kind of block is used.

    Notes
    -----
    The embedding E and the head W are the decoder's own. States of depth zero are those that the
    decoder's head sees. A decoder with ``n_ahead`` has one of these for each depth, and each
    predicts one token further: of :math:`t_1 \dots t_4` and the embeddings of
    :math:`t_2 \dots t_5` the first predicts :math:`t_6` at its last place.

    In generation the first of them proposes a token, and the next pass of the decoder reads the
    newest token and the proposed one at once. If its own choice is the proposed one, it has chosen
    two tokens in one pass; if not, what it read is dropped. Of several prompts two are chosen where
    all proposals are right, which is the rarer the more there are. The tokens are those of plain
    decoding, with draws as well: the choice is the decoder's. A depth costs one block and one head
    more, :math:`O(d^2 + n d + d V)` for a token with n before it and V in the vocabulary.

    References
    ----------
    Gloeckle, F. et al. (2024). Better and faster large language models via multi-token prediction.
    ICML. https://arxiv.org/abs/2404.19737

    DeepSeek-AI (2024). DeepSeek-V3 technical report. https://arxiv.org/abs/2412.19437

    Leviathan, Y., Kalman, M. and Matias, Y. (2023). Fast inference from transformers via
    speculative decoding. ICML. https://arxiv.org/abs/2211.17192

    Examples
    --------
    >>> import torch
    >>> from panlearn.transformer import GPTConfig, MultiTokenPrediction
    >>> depth = MultiTokenPrediction(GPTConfig(width=16))
    >>> states, tokens = torch.zeros(1, 5, 16), torch.zeros(1, 5, 16)
    >>> depth(states, tokens).shape
    torch.Size([1, 5, 16])
    >>> depth.project.weight.shape
    torch.Size([16, 32])
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.state_norm, self.token_norm = norm_of(config), norm_of(config)
        self.project = nn.Linear(2 * config.width, config.width, bias=False)
        self.block = block_of(config, config.n_layers - 1)
        self.norm = norm_of(config)

    @property
    def mixers(self) -> list[Any]:
        """What keeps memory."""
        return [self.block.attention]

    def forward(self, states: Tensor, tokens: Tensor, **look: Any) -> Tensor:
        """Give the states of this depth, (batch, n, width); the head sees them through `norm`.

        `states` are those of the depth before, `tokens` the embeddings of the tokens that many
        places after each.
        """
        joined = torch.cat([self.state_norm(states), self.token_norm(tokens)], dim=-1)
        return self.block(self.project(joined), **look)
