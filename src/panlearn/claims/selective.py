"""State spaces in deep models: the matrix that remembers, and steps that depend on the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_most, claim, equal
from panlearn.core.extras import require
from panlearn.sequence import LinearStateSpace

torch: Any = require("torch")

from panlearn.statespace import S4, hippo  # noqa: E402
from panlearn.statespace._scan import selective_scan  # noqa: E402


@claim("B315")
def legs_remembers() -> Iterator[Evidence]:
    """HiPPO-LegS has A_nk = -sqrt((2n+1)(2k+1)) below the diagonal, -(n+1) on it and zero above,
    and B_n = sqrt(2n+1); its eigenvalues are -1, ..., -N. The text leaves the minus sign out, with
    which a state would grow without bound, and takes it for Mamba's matrix: it is that which S4
    starts from, while Mamba's is diagonal.
    """
    A, B = hippo.legs(4)
    rows = [
        [-1.0, 0.0, 0.0, 0.0],
        [-1.732051, -2.0, 0.0, 0.0],
        [-2.236068, -3.872983, -3.0, 0.0],
        [-2.645751, -4.582576, -5.916080, -4.0],
    ]
    yield equal("A for four states", A, rows, 1e-6)
    yield equal("B for four states", B, np.sqrt([1, 3, 5, 7]), 1e-12)
    eigenvalues = np.sort(np.linalg.eigvals(hippo.legs(8)[0]))[::-1]
    yield equal("eigenvalues for eight states", eigenvalues, -np.arange(1.0, 9.0), 1e-6)
    # what it is for: the coefficients of a line in normed Legendre polynomials
    line = (np.arange(2000) + 0.5) / 2000
    state = hippo.remember(line, 4)[-1]
    yield equal("the memory of a line", state, [0.5, 0.5 / np.sqrt(3), 0.0, 0.0], 1e-6)
    with torch.random.fork_rng(devices=[]):  # C and D are drawn, and of no matter here
        layer = S4(1, 4, rule="zoh", step_range=(0.1, 0.1))
    found = np.linalg.eigvals(layer.system().A[0].detach().numpy())
    expected = np.exp(-0.1 * np.arange(1, 5))
    yield equal("steps of S4's first system", np.sort(found.real)[::-1], expected, 1e-6)
    yield at_most("their imaginary parts", np.abs(found.imag).max(), 1e-6)


def _arguments(n_steps: int, constant: bool) -> list[Any]:
    """Inputs, sizes of steps, rates, B and C of a scan with three channels of four states."""
    rng = np.random.default_rng(316)
    length = 1 if constant else n_steps
    step = np.exp(rng.normal(size=(1, length, 3)) - 1)
    B, C = rng.normal(size=(2, 1, length, 4))
    x, A = rng.normal(size=(1, n_steps, 3)), -np.exp(rng.normal(size=(3, 4)))
    spread = [np.repeat(v, n_steps // length, axis=1) for v in (step, B, C)]
    return [torch.from_numpy(v) for v in (x, spread[0], A, spread[1], spread[2])]


@claim("B316")
def selection_contains_linear_systems() -> Iterator[Evidence]:
    """Where the size of steps, B and C do not depend on the input, Mamba's scan is a linear system
    that does not change in time, and its output the convolution with that system's kernel. Pairs
    (a, b) of h -> a h + b compose associatively, so the scan may be done in parallel, in a number
    of rounds that is the logarithm of the number of steps: the result is the same.
    """
    n_steps = 32
    x, step, A, B, C = _arguments(n_steps, constant=True)
    y = selective_scan(x, step, A, B, C)[0].numpy()[0]
    for channel in range(3):
        decay = np.diag((step[0, 0, channel] * A[channel]).exp().numpy())
        # the scan holds B within a step to first order: it enters by the size of the step
        enter = (step[0, 0, channel] * B[0, 0]).numpy()[:, None]
        system = LinearStateSpace(decay, enter, C[0, :1].numpy(), dt=1.0)
        later = np.append(x[0, :, channel].numpy(), 0.0)
        # the scan looks at the state after the input has come, one step later than a system does
        yield equal(f"channel {channel}", y[:, channel], system.convolve(later)[1:], 1e-10)
    x, step, A, B, C = _arguments(n_steps, constant=False)
    whole = selective_scan(x, step, A, B, C)[0]
    a = (step[..., None] * A).exp().numpy()[0]
    b = ((step * x)[..., None] * B[:, :, None]).numpy()[0]
    one_by_one, h = [], np.zeros((3, 4))
    for t in range(n_steps):
        h = a[t] * h + b[t]
        one_by_one.append(h)
    reach = 1
    while reach < n_steps:  # each step takes over what the one `reach` before it has composed
        b = np.concatenate([b[:reach], a[reach:] * b[:-reach] + b[reach:]])
        a = np.concatenate([a[:reach], a[reach:] * a[:-reach]])
        reach *= 2
    yield equal("parallel and sequential states", b, np.array(one_by_one), 1e-10)
    read = np.einsum("tcn,tn->tc", b, C.numpy()[0])
    yield equal("outputs of the scan and of the parallel one", whole.numpy()[0], read, 1e-10)
