"""Completions that passed: the best of several, or all above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from panlearn.alignment._episodes import Episodes
from panlearn.alignment._policy import Policy, as_policy
from panlearn.alignment._rollouts import text_of
from panlearn.core.parameters import RandomState
from panlearn.core.random import generator
from panlearn.text import ChatTemplate
from panlearn.transformer import Completion

_ROWS = 512  # completions that are drawn at once


def rejection_sampling(
    model: Policy,
    prompts: Any,
    reward: Any,
    *,
    answers: Any = None,
    n_samples: int = 8,
    threshold: float | None = None,
    max_tokens: int = 64,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    template: ChatTemplate | str | None = None,
    random_state: RandomState = None,
) -> list[dict[str, Any]]:
    r"""Draw several completions of each prompt and keep the good ones.

    .. math::
        y_1, \ldots, y_n \sim \pi(\cdot \mid x), \qquad
        \bigl\{\arg\max_{y_i} r(x, y_i)\bigr\} \ \text{ or } \
        \bigl\{ y_i : r(x, y_i) \ge c \bigr\}

    Parameters
    ----------
    model : GPT, FrozenEstimator or path
        A fitted model, or the folder or file of one.
    prompts : list of str, of lists of token ids, or of conversations
        What to continue.
    reward : Reward, callable, or list of these
        What completions are worth, see `alignment.rewards`.
    answers : list, default=None
        The right answers, which the reward is told.
    n_samples : int, default=8
        n, how often each prompt is continued.
    threshold : float, default=None
        c, the reward from which on all completions are kept; None keeps the best of each prompt,
        the first drawn if there are several.
    max_tokens : int, default=64
        The most tokens of a completion.
    temperature : float, default=1.0
        As in ``model.generate``, as are the next two.
    top_k : int, default=None
        Draw from so many most probable tokens only.
    top_p : float, default=1.0
        Draw from the fewest tokens whose probability reaches this.
    template : ChatTemplate or {"chatml", "llama"}, default=None
        How conversations are written; as ChatML if None.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the draws.

    Returns
    -------
    list of dict
        Of each that is kept ``prompt``, ``completion``, ``reward`` and ``row``, the number of the
        prompt, in the order of the prompts: what `supervised_finetune` takes.

    Notes
    -----
    What is equal to another completion of an equal prompt is kept once. Completions that are empty
    are left out, and so are those that ran out of tokens, if the model knows how to end a text: to
    learn them would be to learn to end there. A token costs :math:`O(P + L n d)` with n before it,
    as in `GPT`.

    References
    ----------
    Touvron, H. et al. (2023). Llama 2: open foundation and fine-tuned chat models.
    https://arxiv.org/abs/2307.09288

    DeepSeek-AI (2025). DeepSeek-R1: incentivizing reasoning capability in LLMs via reinforcement
    learning. https://arxiv.org/abs/2501.12948

    Examples
    --------
    >>> from panlearn.alignment import rejection_sampling
    >>> from panlearn.transformer import GPT, GPTConfig
    >>> model = GPT(GPTConfig(1, 16, 2, 8), learning_rate=1e-2, max_epochs=60, random_state=0)
    >>> model = model.fit(["ab", "ac", "aa"] * 5)
    >>> def is_b(prompts, completions, answers):
    ...     return [text == "b" for text in completions]
    >>> kept = rejection_sampling(model, ["a"], is_b, threshold=1, max_tokens=3, random_state=0)
    >>> [(row["prompt"], row["completion"], row["reward"]) for row in kept]
    [('a', 'b', 1.0)]
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}")
    policy, rng = as_policy(model), generator(random_state)
    episodes = Episodes.read(policy, prompts, answers, reward, max_tokens, template)
    kept: list[dict[str, Any]] = []
    seen: set[tuple[bytes, bytes]] = set()
    size = max(1, _ROWS // n_samples)
    for low in range(0, len(episodes.prompts), size):
        part = range(low, min(low + size, len(episodes.prompts)))
        drawn = policy.complete(
            [episodes.prompts[i] for i in part],
            n_samples=n_samples,
            max_tokens=max_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            random_state=rng,
        )
        for row, completions in zip(part, drawn, strict=True):
            whole = [c for c in completions if _is_whole(c, policy)]
            worth = episodes.worth(row, whole)
            for i in _chosen(worth, threshold):
                key = episodes.prompts[row].tobytes(), whole[i].tokens.tobytes()
                if key in seen:
                    continue
                seen.add(key)
                kept.append(
                    {
                        "prompt": episodes.given[row],
                        "completion": text_of(whole[i]),
                        "reward": float(worth[i]),
                        "row": row,
                    }
                )
    return kept


def _chosen(worth: np.ndarray, threshold: float | None) -> list[int]:
    """The first of the best, or all that reach the threshold."""
    if threshold is None:
        return [int(worth.argmax())] if len(worth) else []
    return np.flatnonzero(worth >= threshold).tolist()


def _is_whole(completion: Completion, model: Any) -> bool:
    """Whether it has something in it and came to its end."""
    n_ends = int(completion.ended and completion.tokens[-1] in model.end_tokens_)
    return len(completion.tokens) > n_ends and (completion.ended or not model.end_tokens_)
