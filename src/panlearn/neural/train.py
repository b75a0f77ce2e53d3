"""The one training loop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from panlearn.core.parameters import RandomState
from panlearn.neural._hooks import Hook
from panlearn.neural._run import Objective, Run


def train(
    module: nn.Module,
    objective: Objective,
    data: Any,
    *,
    batch_size: int = 32,
    max_epochs: int | None = None,
    max_steps: int | None = None,
    optimizer: Any = "adamw",
    learning_rate: float = 1e-3,
    schedule: Any = "constant",
    weight_decay: float = 0.0,
    clip_norm: float | None = None,
    accumulate: int = 1,
    ema_decay: float | None = None,
    precision: str = "float32",
    validation: Any = None,
    patience: int | None = None,
    order: Any = "shuffle",
    checkpoint: str | Path | None = None,
    checkpoint_every: int | None = None,
    resume: bool = False,
    hooks: Sequence[Hook] = (),
    random_state: RandomState = None,
    verbose: bool = False,
    strategy: str = "ddp",
) -> Run:
    r"""Minimise an objective over the parameters of a module, a batch at a time.

    .. math::
        \min_\theta \ \frac{\sum_i w_i \, \ell_i(\theta)}{\sum_i w_i}, \qquad
        \theta_{t+1} = \theta_t - \eta\, s(t)\, d\Bigl(\nabla_\theta
        \frac{\sum_{i \in B_t} w_i \ell_i}{\sum_{i \in B_t} w_i}\Bigr)

    Parameters
    ----------
    module : torch.nn.Module
        Is trained in place, where it lives; left in evaluation mode.
    objective : callable
        ``objective(module, batch)`` returns the loss of each example of a batch, of any shape, or
        a tuple of losses and weights of one shape. The loop takes the mean.
    data : tuple of arrays, iterable, callable or Batcher
        Arrays or tensors of one length, which are cut into batches (memory-mapped ones stay on
        disk); an iterable of batches, or a function that returns a fresh one each epoch; or
        whatever has the methods of `batches.Batcher`.
    batch_size : int, default=32
        Rows a step, over all processes and pieces.
    max_epochs : int, default=None
        The most epochs; 10 if `max_steps` is not given either.
    max_steps : int, default=None
        The most steps.
    optimizer : str, class, callable or rule, default="adamw"
        A name of `torch.optim` in lower case; a class of it or a `functools.partial` of one; a
        function from parameter groups to an optimiser; or a rule of `panlearn.optimize.rules`.
    learning_rate : float, default=0.001
        :math:`\eta`.
    schedule : str, callable or class, default="constant"
        The factor s: "constant", "linear" or "cosine" to zero, "warmup_cosine"; a function of the
        step such as those of `panlearn.optimize.schedules`; or a class, or partial, of
        `torch.optim.lr_scheduler`, which then counts steps.
    weight_decay : float, default=0.0
        The optimiser's; it leaves out biases, norms and other vectors.
    clip_norm : float, default=None
        The largest norm of the gradient; a longer one is shortened to it.
    accumulate : int, default=1
        In how many pieces a batch is computed, to save memory; the step is the same.
    ema_decay : float, default=None
        The decay of an exponential moving average of the weights, which validation sees and the
        module ends with.
    precision : {"float32", "bfloat16"}, default="float32"
        "bfloat16" computes losses under `torch.autocast`; the weights stay as they are.
    validation : tuple of arrays, iterable, callable or Batcher, default=None
        Data whose loss is measured after each epoch.
    patience : int, default=None
        Stop after so many epochs without a lower validation loss, and go back to the best weights.
    order : "shuffle", "given", array or callable, default="shuffle"
        The order of the rows of arrays, see `batches.Arrays`; `batches.Curriculum` is one.
    checkpoint : path, default=None
        A folder to keep the state of the run in.
    checkpoint_every : int, default=None
        Steps between checkpoints; None for one an epoch.
    resume : bool, default=False
        Go on with the run in the folder if there is one. Without it, a folder that holds a run is
        refused.
    hooks : sequence of Hook, default=()
        Called after each step and epoch.
    random_state : int, Generator or RandomState, default=None
        Seeds the order of the rows, dropout, and whatever the objective draws from PyTorch's
        generator. The global generator is left as it was.
    verbose : bool, default=False
        Whether to report on standard error: loss, steps a second, time left.
    strategy : {"ddp", "fsdp"}, default="ddp"
        Under torchrun: whether every process holds all weights, or each a shard.

    Returns
    -------
    Run
        ``history`` (a dict of lists, one value an epoch: ``loss``, ``validation_loss``,
        ``learning_rate``), ``epoch``, ``step`` and ``stopped``, which says why it ended:
        "max_epochs", "max_steps", "patience", "hook" or "interrupted".

    Notes
    -----
    The mean is over the whole batch, whatever the number of pieces and processes and however they
    differ in size: losses and weights are summed apart and divided once.

    The order of epoch e comes from (seed, e), dropout of step t from (seed, t, process). So a
    position in the data is two numbers, and a run that is killed at any moment and resumed ends
    with the same bits as one that was not. A checkpoint is one safetensors file, written beside the
    old one and renamed over it.

    A loss that is not finite raises `DivergenceError` with the step and the batch, before the
    weights are touched; if they are no longer finite themselves, those of a few steps before are
    put back. Ctrl-C ends the run with what it has. SIGTERM, if there is a folder, finishes the
    step, saves, and exits. With "ddp", a process that loses another saves and raises
    `WorkerLostError`; with "fsdp" the last checkpoint stands. Batch normalisation sees the rows of
    its own process and piece only.

    References
    ----------
    Goodfellow, Bengio, Courville (2016). Deep Learning, chapter 8. MIT Press.

    Loshchilov, Hutter (2019). Decoupled weight decay regularization. ICLR. arXiv:1711.05101

    Prechelt (1998). Early stopping: but when? doi:10.1007/3-540-49430-8_3

    Examples
    --------
    >>> import numpy as np, torch
    >>> from panlearn.neural import train
    >>> x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
    >>> line = torch.nn.Linear(1, 1)
    >>> def squares(module, batch):
    ...     x, y = batch
    ...     return (module(x) - y) ** 2
    >>> run = train(line, squares, (x, 3 * x + 1), max_epochs=60, optimizer="sgd",
    ...             learning_rate=0.5, schedule="cosine", random_state=0)
    >>> round(line.weight.item(), 2), round(line.bias.item(), 2), run.stopped
    (3.0, 1.0, 'max_epochs')
    """
    run = Run(
        module,
        objective,
        data,
        batch_size=batch_size,
        max_epochs=max_epochs,
        max_steps=max_steps,
        optimizer=optimizer,
        learning_rate=learning_rate,
        schedule=schedule,
        weight_decay=weight_decay,
        clip_norm=clip_norm,
        accumulate=accumulate,
        ema_decay=ema_decay,
        precision=precision,
        validation=validation,
        patience=patience,
        order=order,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
        hooks=hooks,
        random_state=random_state,
        verbose=verbose,
        strategy=strategy,
    )
    try:
        for _ in run.epochs():
            pass
    except KeyboardInterrupt:
        run.stopped = "interrupted"
        run.checkpoint = None  # the step was cut short: the last whole state is on disk
    run.finish()
    return run
