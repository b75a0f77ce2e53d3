"""The one training loop."""

from __future__ import annotations

from typing import Any

from panlearn.neural._moves import Objective
from panlearn.neural._run import Run
from panlearn.neural.settings import Settings, document_function


@document_function
def train(
    target: Any,
    objective: Objective,
    data: Any,
    *,
    validation: Any = None,
    order: Any = "shuffle",
    **settings: Any,
) -> Run:
    r"""Minimise an objective over the parameters of a module, a batch at a time.

    .. math::
        \min_\theta \ \frac{\sum_i w_i \, \ell_i(\theta)}{\sum_i w_i}, \qquad
        \theta_{t+1} = \theta_t - \eta\, s(t)\, d\Bigl(\nabla_\theta
        \frac{\sum_{i \in B_t} w_i \ell_i}{\sum_{i \in B_t} w_i}\Bigr)

    Parameters
    ----------
    target : torch.nn.Module, Player, or dict of these
        Who learns. Modules are trained in place, where they live, and left in evaluation mode.
    objective : callable
        ``objective(target, batch)`` or ``objective(target, batch, step)`` returns the loss of each
        example of a batch, of any shape, or a tuple of losses and weights of one shape. The loop
        takes the mean. It sees the target as it was given. The step has ``normal(*size)``,
        ``uniform(*size)`` and ``integers(high, *size)``, noise for each row of the batch;
        ``gather(rows)``, those of all processes with their gradient; ``note(name=values)``, whose
        means become columns of the history; ``number``, ``epoch`` and ``training``. A generator
        plays a game: it yields ``player, losses`` or ``player, losses, weights``, and the loop
        makes one update of that player for each.
    data : tuple or dict of arrays, iterable, callable or Batcher
        Arrays or tensors of one length, which are cut into batches (memory-mapped ones stay on
        disk); an iterable of batches, or a function that returns a fresh one each epoch; or
        whatever has the methods of `batches.Batcher`.
    validation : tuple of arrays, iterable, callable or Batcher, default=None
        Data whose loss is measured for each row of the history.
    order : "shuffle", "given", array or callable, default="shuffle"
        The order of the rows of arrays, see `batches.Arrays`; `batches.Curriculum` is one.

    Returns
    -------
    Run
        ``history`` (a dict of lists, one value an epoch or `evaluate_every` steps: ``loss``,
        ``validation_loss``, ``learning_rate``, what the objective noted, and ``name_loss`` of each
        of several players), ``epoch``, ``step`` and ``stopped``, which says why it ended:
        "max_epochs", "max_steps", "patience", "hook" or "interrupted".

    Notes
    -----
    The mean is over the whole batch, whatever the number of pieces and processes and however they
    differ in size: losses and weights are summed apart and divided once. A parameter that a batch
    does not use has a gradient of zero.

    The order of epoch e comes from (seed, e), noise and dropout of the library's modules in step t
    from (seed, t) for the whole batch, PyTorch's own dropout from (seed, t, process). So a position
    in the data is two numbers, and a run that is killed at any moment and resumed ends with the
    same bits as one that was not; so does one that `max_steps` or a hook ended and that is made
    longer, if its schedule does not ask for the number of steps. A checkpoint is one safetensors
    file, written beside the old one and renamed over it; it holds what the steps depend on, and
    other settings or data are refused by name.

    A loss that is not finite raises `DivergenceError` with the step and the batch, before the
    weights are touched; if they are no longer finite themselves, those of a few steps before are
    put back. Ctrl-C ends the run with what it has. SIGTERM, if there is a folder, finishes the
    step, saves, and exits. With "ddp", a process that loses another saves and raises
    `WorkerLostError`; with "fsdp" the last checkpoint stands. Batch normalisation sees the rows of
    its own process and piece only. For a module that uses each of P weights once a row, a step on b
    rows costs :math:`O(b P)`.

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

    Two players, one move each a step:

    >>> players = {"a": torch.nn.Linear(1, 1), "b": torch.nn.Linear(1, 1)}
    >>> def game(players, batch):
    ...     (x,) = batch
    ...     for player in players.values():
    ...         yield player, (player(x) - x) ** 2
    >>> sorted(train(players, game, (x,), max_epochs=1, random_state=0).history)
    ['a_loss', 'b_loss', 'learning_rate', 'loss']
    """
    run = Run(target, objective, data, Settings(**settings), validation=validation, order=order)
    try:
        for _ in run.rows():
            pass
    except KeyboardInterrupt:
        run.stopped = "interrupted"  # the step was cut short: the last whole state is on disk
    except BaseException:
        run.release()
        raise
    run.finish()
    return run
