"""The recursions of a hidden Markov chain: scaled where that is exact, else in logarithms.

Scaled probabilities are normalised at each step. If every transition has a probability of at least
`LEAST`, each state is predicted with at least ``LEAST / k`` whatever was lost to underflow before,
so that the loss is some 1e-200 of anything: the scaled recursions are exact to rounding for any
length. Where a transition is impossible that argument fails: then nothing may underflow at all,
which is watched, and if something would, the sums are of logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from panlearn.core.jit import jit

LEAST = 1e-100
"""The least positive probability of a transition; below it the scaled recursions could lose."""


def _cost(transition: np.ndarray, density: np.ndarray) -> float:
    """About the microseconds that Python takes for a walk over all steps."""
    k = len(transition)
    return len(density) * (3 + k + 0.7 * k * k)


@jit(plain=lambda first, transition, density, *rest: _cost(transition, density))
def forward(
    first: np.ndarray,
    transition: np.ndarray,
    density: np.ndarray,
    offsets: np.ndarray,
    alpha: np.ndarray,
    scale: np.ndarray,
    log_likelihood: np.ndarray,
    least: float,
) -> bool:
    """Fill alpha_t with p(z_t | x_1..x_t) and scale_t with Σ_j b_tj Σ_i alpha_(t-1)i P_ij.

    Stops, and says False, at a probability below `least` that is not zero.
    """
    k = transition.shape[0]
    ahead = np.empty(k)
    for s in range(len(offsets) - 1):
        product, total = 1.0, 0.0
        for t in range(offsets[s], offsets[s + 1]):
            if t == offsets[s]:
                for j in range(k):
                    ahead[j] = first[j]
            else:
                for j in range(k):
                    ahead[j] = 0.0
                for i in range(k):
                    a = alpha[t - 1, i]
                    for j in range(k):
                        ahead[j] += a * transition[i, j]
            norm = 0.0
            for j in range(k):
                ahead[j] *= density[t, j]
                norm += ahead[j]
            scale[t] = norm
            if not norm > 0.0:
                total = -np.inf
                alpha[t : offsets[s + 1]] = 0.0
                break
            inverse = 1.0 / norm
            small = 0
            for j in range(k):
                law = ahead[j] * inverse
                alpha[t, j] = law
                small += (law < least) & (law > 0.0)
            if small:
                return False
            product *= norm  # one logarithm for many steps
            if product < 1e-150 or product > 1e150:
                total += math.log(product)
                product = 1.0
        log_likelihood[s] = total + math.log(product)
    return True


@jit(plain=lambda transition, density, *rest: _cost(transition, density))
def backward(
    transition: np.ndarray,
    density: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    alpha: np.ndarray,
    scale: np.ndarray,
    later: np.ndarray,
    has_later: bool,
    step: np.ndarray,
) -> None:
    """Turn alpha_t into w p(z_t | x), and add Σ_t w alpha_ti u_(t+1)j, of which P_ij is left out.

    With beta_ti = Σ_j P_ij u_(t+1)j and u_tj = b_tj beta_tj / scale_t. `later` is u of the step
    after the last one, if there is one, and leaves as u of the first.
    """
    k = transition.shape[0]
    turned = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            turned[j, i] = transition[i, j]
    beta = np.empty(k)
    for s in range(len(offsets) - 1):
        w, last = weight[s], offsets[s + 1] - 1
        for t in range(last, offsets[s] - 1, -1):
            if t < last or has_later:
                for i in range(k):
                    beta[i] = 0.0
                for j in range(k):
                    u = later[j]
                    for i in range(k):
                        beta[i] += u * turned[j, i]
                for i in range(k):
                    a = w * alpha[t, i]
                    for j in range(k):
                        step[i, j] += a * later[j]
            else:
                for i in range(k):
                    beta[i] = 1.0
            inverse = 1.0 / scale[t]
            for j in range(k):
                later[j] = density[t, j] * beta[j] * inverse
                alpha[t, j] *= w * beta[j]


@jit(plain=lambda first, transition, density, *rest: 2 * _cost(transition, density))
def log_forward(
    first: np.ndarray,
    transition: np.ndarray,
    density: np.ndarray,
    offsets: np.ndarray,
    alpha: np.ndarray,
    scale: np.ndarray,
    log_likelihood: np.ndarray,
    least: float,
) -> bool:
    """Do what `forward` does with logarithms of all the numbers, of which none is too small.

    They are normalised too: a sum over a million steps has too few digits left for one of them.
    """
    k = transition.shape[0]
    for s in range(len(offsets) - 1):
        log_likelihood[s] = 0.0
        for t in range(offsets[s], offsets[s + 1]):
            for j in range(k):
                if t == offsets[s]:
                    ahead = first[j]
                else:
                    ahead = log_sum(alpha[t - 1], transition[:, j])
                alpha[t, j] = ahead + density[t, j]
            norm = log_sum(alpha[t], np.zeros(k))
            scale[t] = norm
            log_likelihood[s] += norm
            if norm == -np.inf:
                alpha[t : offsets[s + 1]] = -np.inf
                break
            for j in range(k):
                alpha[t, j] -= norm
    return True


@jit(plain=lambda transition, density, *rest: 2 * _cost(transition, density))
def log_backward(
    transition: np.ndarray,
    density: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    alpha: np.ndarray,
    scale: np.ndarray,
    later: np.ndarray,
    has_later: bool,
    step: np.ndarray,
) -> None:
    """Do what `backward` does with logarithms, but for alpha_t and step, which leave as they do."""
    k = transition.shape[0]
    beta = np.empty(k)
    for s in range(len(offsets) - 1):
        w, last = weight[s], offsets[s + 1] - 1
        for t in range(last, offsets[s] - 1, -1):
            for i in range(k):
                beta[i] = 0.0
                if t < last or has_later:
                    beta[i] = log_sum(transition[i], later)
                    for j in range(k):
                        joint = alpha[t, i] + transition[i, j] + later[j]
                        if joint > -745.0:
                            step[i, j] += w * math.exp(joint)
            for j in range(k):
                later[j] = density[t, j] + beta[j] - scale[t]
                alpha[t, j] = w * math.exp(alpha[t, j] + beta[j])


@jit
def log_sum(one: np.ndarray, other: np.ndarray) -> float:
    """Log Σ_i exp(one_i + other_i), and minus infinity of nothing."""
    top = -np.inf
    for i in range(len(one)):
        top = max(top, one[i] + other[i])
    if top == -np.inf:
        return top
    total = 0.0
    for i in range(len(one)):
        power = one[i] + other[i] - top
        if power > -745.0:
            total += math.exp(power)
    return top + math.log(total)


@jit(plain=lambda log_density, shift: log_density.size)
def shifted(log_density: np.ndarray, shift: np.ndarray) -> None:
    """Make each row exp(log b - shift) with its largest at one; a row of nothing is zero.

    What underflows is the smallest float and not zero, so that it can be told from the impossible.
    """
    for t in range(len(log_density)):
        top = -np.inf
        for j in range(log_density.shape[1]):
            top = max(top, log_density[t, j])
        if top == -np.inf:
            log_density[t] = 0.0
            shift[t] = 0.0
            continue
        shift[t] = top
        for j in range(log_density.shape[1]):
            power = log_density[t, j] - top
            if power > -700.0:
                log_density[t, j] = math.exp(power)
            else:
                log_density[t, j] = 5e-324 if power > -np.inf else 0.0


@jit
def eliminate(P: np.ndarray) -> np.ndarray:
    """The stationary law of one class, by elimination without subtraction: each entry keeps digits.

    After Grassmann, Taksar and Heyman (1985).
    """
    A, n = P.copy(), len(P)
    for k in range(n - 1, 0, -1):
        total = A[k, :k].sum()
        for i in range(k):
            share = A[i, k] / total
            A[i, k] = share
            if share > 0.0:
                for j in range(k):
                    A[i, j] += share * A[k, j]
    law = np.ones(n)
    for k in range(1, n):
        law[k] = 0.0
        for i in range(k):
            law[k] += law[i] * A[i, k]
    return law / law.sum()
