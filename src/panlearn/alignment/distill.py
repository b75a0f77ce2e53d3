"""Distillation: a student learns from what a teacher says, or from all that it might have said."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from panlearn.alignment._policy import Policy, as_policy, predicting_states, tuned
from panlearn.alignment._prompts import read_prompts, read_sequences
from panlearn.alignment.losses import Divergence
from panlearn.alignment.supervised_finetune import by_place, completion_losses
from panlearn.core.random import generator
from panlearn.neural.settings import document_function
from panlearn.text import ChatTemplate
from panlearn.transformer._decoder_model import DecoderModel


@document_function
def distill(
    student: Policy,
    teacher: Policy,
    prompts: Any,
    completions: Any = None,
    *,
    divergence: Divergence | None = None,
    n_samples: int = 1,
    max_tokens: int = 100,
    temperature: float = 1.0,
    template: ChatTemplate | str | None = None,
    **settings: Any,
) -> DecoderModel:
    r"""Teach a language model to answer as another does.

    .. math::
        \min_\theta \; \mathbb{E}_{y \sim p} \sum_t -\log q_\theta(y_t \mid x, y_{<t})
        \qquad \text{or} \qquad \min_\theta \; \sum_t
        D\bigl(p(\cdot \mid x, y_{<t}), q_\theta(\cdot \mid x, y_{<t})\bigr)

    Parameters
    ----------
    student : GPT, FrozenEstimator or path
        The model q that learns. It stays as it is: what has learned is returned.
    teacher : GPT, FrozenEstimator or path
        The model p to learn from.
    prompts : list of str, of lists of token ids, or of conversations
        What to answer.
    completions : list of str, of lists of token ids, or of conversations, default=None
        Answers on which to compare the two; the teacher gives them if None.
    divergence : Divergence, default=None
        ``losses.ForwardKL()`` or ``losses.ReverseKL()`` compare the chances of all tokens, for
        which both models must have the same tokens. None learns from the answers alone.
    n_samples : int, default=1
        How many answers the teacher gives to each prompt.
    max_tokens : int, default=100
        The most tokens of an answer.
    temperature : float, default=1.0
        At which the teacher draws its answers; zero takes the most probable token.
    template : ChatTemplate or {"chatml", "llama"}, default=None
        How conversations are written; as ChatML if None.

    Returns
    -------
    GPT
        A fitted model of the student's kind, with ``history_``, ``n_iter_`` and ``converged_`` of
        this run.

    Notes
    -----
    Answers are drawn once, before the first step, from a stream of `random_state`. To a student
    with other tokens they are handed over as texts. At temperature one, the mean slope over answers
    of the teacher is that of the forward divergence, which has less noise; the reverse one asks the
    student to say only what the teacher would say, and need not cover all of it. A token costs
    :math:`O(P + P')` for the weights of student and teacher.

    References
    ----------
    Hinton, G., Vinyals, O. and Dean, J. (2015). Distilling the knowledge in a neural network.
    arXiv:1503.02531

    Kim, Y. and Rush, A. M. (2016). Sequence-level knowledge distillation. EMNLP.
    doi:10.18653/v1/D16-1139

    Gu, Y., Dong, L., Wei, F. and Huang, M. (2024). MiniLLM: knowledge distillation of large
    language models. ICLR. arXiv:2306.08543

    Examples
    --------
    >>> from panlearn.alignment import distill, losses
    >>> from panlearn.transformer import GPT, GPTConfig
    >>> shape = {"width": 32, "n_heads": 2, "context": 16}
    >>> teacher = GPT(GPTConfig(2, **shape), learning_rate=1e-2, max_epochs=99, random_state=0)
    >>> teacher = teacher.fit(["ab" * 50])
    >>> student = GPT(GPTConfig(1, **shape), max_epochs=1, random_state=1).fit(["-" * 50])
    >>> how = {"max_tokens": 9, "max_epochs": 99, "learning_rate": 1e-2, "random_state": 0}
    >>> small = distill(student, teacher, ["ab", "a"], divergence=losses.ForwardKL(), **how)
    >>> small.generate("a", max_tokens=5)
    'babab'
    """
    learner, master = as_policy(student, "student"), as_policy(teacher, "teacher")
    alike = _same_tokens(learner, master)
    if divergence is not None and not alike:
        raise ValueError(
            "student and teacher have different tokens, so that no divergence compares them; "
            "divergence=None learns from texts"
        )
    rng = generator(settings.pop("random_state", None))
    given = list(prompts)
    if completions is None:
        asked = read_prompts(master, given, template)
        found = master.complete(
            asked,
            n_samples=n_samples,
            max_tokens=max_tokens,
            temperature=temperature,
            random_state=rng,
        )
        given = [prompt for prompt in given for _ in range(n_samples)]
        completions = [c.tokens if alike else c.text for answers in found for c in answers]
    sequences = read_sequences(learner, given, list(completions), template)
    losses: Any = completion_losses
    if divergence is not None:
        losses = divergence_losses(master.module_, divergence)
    objective, arrays, _ = by_place(losses, sequences)
    return tuned(learner, objective, arrays, None, {**settings, "random_state": rng})


def divergence_losses(teacher: Any, divergence: Divergence) -> Any:
    """Make the divergence of a module from a teacher, of each token that counts."""

    def losses(module: Any, ids: Tensor, mask: Tensor) -> Tensor:
        with torch.no_grad():
            states = predicting_states(teacher, ids, mask)
            wanted = F.linear(states, teacher.projection).float()
        found = F.linear(predicting_states(module, ids, mask), module.projection).float()
        return divergence(found, wanted)

    return losses


def _same_tokens(one: DecoderModel, other: DecoderModel) -> bool:
    if one.n_tokens_ != other.n_tokens_:
        return False
    if one.tokenizer_ is None or other.tokenizer_ is None:
        return one.tokenizer_ is other.tokenizer_
    names = ("vocab_", "special_tokens_")
    return all(getattr(one.tokenizer_, n) == getattr(other.tokenizer_, n) for n in names)
