"""DeepSeek: latent attention, experts and prediction ahead, as settings of the one decoder."""

from __future__ import annotations

from dataclasses import dataclass

from panlearn.transformer._config import GPTConfig
from panlearn.transformer._decoder_model import DecoderModel


@dataclass(eq=False, repr=False)
class DeepSeek(DecoderModel):
    r"""A decoder with latent attention, a mixture of experts and prediction of tokens further on.

    .. math::
        \min_\theta \; -\frac1N \sum_t \Bigl( \log p_\theta(x_{t+1} \mid x_{\le t})
        + \frac{\lambda}{D} \sum_{k=1}^{D} \log p^k_\theta(x_{t+k+1} \mid x_{\le t+k}) \Bigr)

    Parameters
    ----------
    config : GPTConfig, default=None
        The shape of the decoder; that of `GPTConfig.deepseek` with two layers of width 32, two
        heads and a context of 64 if None.
    tokenizer : BPETokenizer, default=None
        One that is fitted is used as it is; else a copy of it is fitted to the documents. None
        takes bytes as tokens. The first special token stands between documents.
    separate_documents : bool, default=False
        Whether in training a token sees its own document alone, where a window has parts of
        several.

    Attributes
    ----------
    weights_ : dict of {str: ndarray}
        What was learned. Weights that stay bfloat16, which NumPy has not, stand as their bits in
        uint16.
    tokenizer_ : BPETokenizer or None
        Text to tokens and back; None if a folder had no tokenizer.
    config_ : GPTConfig
        The shape of the decoder.
    n_tokens_ : int
        Size of the vocabulary.
    start_token_, end_token_ : int or None
        Stand before and after a document.
    end_tokens_ : tuple of int
        All tokens that end a text; some models have several.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether training ended by itself.
    history_ : dict of {str: list}
        Losses of each epoch, those of tokens further on included.

    Notes
    -----
    `LatentAttention`, `MixtureOfExperts` and `MultiTokenPrediction` are parts that any
    `GPTConfig` may name; this is `GPT` with all three. After each step the biases of the experts
    move against their loads in the whole batch, all pieces of it together. Perplexities and scores
    are those of the next token alone. Generation reads a token that was predicted further on
    together with the one before it, and so chooses up to two tokens in one pass, of several prompts
    where all predictions are right; they are those that would be chosen one by one.

    The paper's loss of balance within a sequence is left out, and matrices are in single
    precision, not in eight bits. A step costs :math:`O(B C (P + L C d))` for B windows of C tokens
    and L blocks, P the parameters that a token comes through, not all there are.

    References
    ----------
    DeepSeek-AI (2024). DeepSeek-V3 technical report. https://arxiv.org/abs/2412.19437

    Examples
    --------
    >>> from panlearn.transformer import DeepSeek
    >>> model = DeepSeek(learning_rate=1e-2, max_epochs=60, random_state=0)
    >>> model.fit(["ab" * 64]).generate("a", max_tokens=5)
    'babab'
    """

    @staticmethod
    def _default() -> GPTConfig:
        return GPTConfig.deepseek(n_layers=2, width=32, n_heads=2, context=64)
