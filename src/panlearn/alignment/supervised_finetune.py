"""Fine-tuning on examples of what is wanted: prompts with completions, or conversations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from panlearn.alignment._policy import Policy, as_policy, token_log_probabilities, tuned
from panlearn.alignment._prompts import (
    Sequences,
    as_rows,
    as_template,
    columns,
    fit_in,
    in_row,
    is_conversation,
    read_conversation,
    read_sequences,
)
from panlearn.neural.settings import document_function
from panlearn.text import ChatTemplate
from panlearn.transformer._decoder_model import DecoderModel


@document_function
def supervised_finetune(
    model: Policy,
    data: Any,
    *,
    template: ChatTemplate | str | None = None,
    packing: bool = False,
    validation: Any = None,
    **settings: Any,
) -> DecoderModel:
    r"""Go on training a language model on completions, given their prompts.

    .. math::
        \min_\theta \; -\frac{1}{\sum_i |y_i|} \sum_i \sum_t
        \log p_\theta(y_{i,t} \mid x_i, y_{i,<t})

    Parameters
    ----------
    model : GPT, FrozenEstimator or path
        A fitted model, or the folder or file of one. It stays as it is.
    data : list of (prompt, completion), or of dicts
        Dicts have the names ``prompt`` and ``completion``, or ``messages``: a conversation, of
        which all that the assistant says is learned. Prompts and completions are texts, token ids
        or messages. To completions that are texts the token that ends a text is added.
    template : ChatTemplate or {"chatml", "llama"}, default=None
        How conversations are written; as ChatML if None.
    packing : bool, default=False
        Whether several examples share a row of the context, so that little of a batch is padding.
        None sees another, and each counts its places from its own beginning: the losses are the
        same. `batch_size` then counts rows.
    validation : list of (prompt, completion), or of dicts, default=None
        Examples whose loss is measured for each row of the history.

    Returns
    -------
    GPT
        A fitted model of the same kind with the tuned weights, and ``history_``, ``n_iter_`` and
        ``converged_`` of this run. With `lora` the additions are in the weights; they also stand
        in ``adapters_``, and `save_adapter` writes them.

    Notes
    -----
    The mean is over the tokens of completions of a batch. Prompts, padding and what others say in
    a conversation have no loss, and are not scored against the vocabulary. Examples are packed by
    first fit, the longest first. If the template ends a message with a special token, the model
    that is returned ends its texts there. A step costs that of `GPT`, :math:`O(B C (P + L C d))`
    for B rows of C tokens that are packed full.

    References
    ----------
    Ouyang, L. et al. (2022). Training language models to follow instructions with human feedback.
    NeurIPS. arXiv:2203.02155

    Hu, E. et al. (2022). LoRA: low-rank adaptation of large language models. ICLR.
    arXiv:2106.09685

    Examples
    --------
    >>> from panlearn.alignment import supervised_finetune
    >>> from panlearn.transformer import GPT
    >>> model = GPT(max_epochs=1, random_state=0).fit(["one two three"])
    >>> data = [("one", " two"), ("two", " three")]
    >>> tuned = supervised_finetune(model, data, max_epochs=30, learning_rate=1e-2, random_state=0)
    >>> tuned.generate(["one", "two"])
    [' two', ' three']
    """
    policy = as_policy(model)
    examples, talks = read_examples(policy, data, template)
    held = None if validation is None else read_examples(policy, validation, template)[0]
    if packing:
        room = policy.config_.context + 1
        objective, arrays = packed_losses, packed(examples, room)
        watched = None if held is None else packed(held, room)
    else:
        objective, arrays, watched = by_place(completion_losses, examples, held)
    found = tuned(policy, objective, arrays, watched, settings)
    if talks:
        ends = (*found.end_tokens_, *_end_mark(policy, as_template(template)))
        found.end_tokens_ = tuple(dict.fromkeys(ends))
    return found


def by_place(losses: Callable, examples: Sequences, held: Sequences | None = None) -> Any:
    """An objective of the places of sequences, and the places to learn from and to watch.

    Sequences are padded to the longest of a batch, when it is made.
    """
    every = examples if held is None else examples.joined(held)
    places, marks = np.arange(len(every)), every.marks()

    def objective(module: Any, batch: tuple[Tensor, ...]) -> Any:
        index, _ = batch
        return losses(module, *every.padded(index.cpu(), index.device))

    n = len(examples)
    watched = None if held is None else (places[n:], marks[n:])
    return objective, (places[:n], marks[:n]), watched


def packed_losses(module: Any, batch: tuple[Tensor, ...]) -> Tensor:
    """-log p of each token of completions in rows of several texts."""
    return completion_losses(module, *batch)


def completion_losses(
    module: Any, ids: Tensor, mask: Tensor, documents: Tensor | None = None
) -> Tensor:
    """-log p of each token of completions, as one vector."""
    return -token_log_probabilities(module, ids, mask, documents, alike=True)[mask[:, 1:]]


def read_examples(
    model: DecoderModel, rows: Any, template: ChatTemplate | str | None = None
) -> tuple[Sequences, bool]:
    """Examples as tokens, and whether the assistant answers in them by the template."""
    rows = as_rows(rows, ("prompt", "completion"), "data")
    spoken = [isinstance(row, Mapping) and "messages" in row for row in rows]
    if not any(spoken):
        prompts, completions = columns(rows, ("prompt", "completion"), "data")
        talks = any(map(is_conversation, completions))
        return read_sequences(model, prompts, completions, template), talks
    if not all(spoken):
        raise ValueError(f"row {spoken.index(False)} has no messages, and others have")
    found = []
    for i, row in enumerate(rows):
        with in_row(i):
            found.append(read_conversation(model, row["messages"], template))
            if not found[-1][1].any():
                raise ValueError("the assistant says nothing in this conversation")
    ids, said = map(list, zip(*found, strict=True))
    return fit_in(model, Sequences(ids, said)), True


def packed(sequences: Sequences, room: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of up to so many tokens with whole sequences in them: ids, masks, whose each token is.

    By first fit, the longest first. What is left at the end of a row is a text of its own.
    """
    lengths = np.array([len(ids) for ids in sequences.ids])
    bins: list[list[int]] = []
    free: list[int] = []
    for number in np.argsort(-lengths, kind="stable"):
        place = next((b for b, left in enumerate(free) if left >= lengths[number]), len(bins))
        if place == len(bins):
            bins.append([])
            free.append(room)
        bins[place].append(int(number))
        free[place] -= int(lengths[number])
    shape = len(bins), max(2, room - min(free))
    ids, mask = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    documents = np.zeros(shape, dtype=np.int64)
    for row, members in enumerate(bins):
        low = 0
        for order, number in enumerate(members, 1):
            span = slice(low, low + lengths[number])
            ids[row, span], mask[row, span] = sequences.ids[number], sequences.masks[number]
            documents[row, span], low = order, low + lengths[number]
    return ids, mask, documents


def _end_mark(model: DecoderModel, template: ChatTemplate) -> list[int]:
    """The special token that the template ends messages with, if it is one."""
    assert model.tokenizer_ is not None
    (ids,) = model.tokenizer_.encode_batch([template.end_of_turn], special="atomic")
    return [int(i) for i in ids[:1] if i in model.tokenizer_.special_tokens_.values()]
