"""Loops over the tokens of a corpus: the Gibbs sampler of LDA, and what is asked of fixed topics.

A corpus is flat: the tokens of document d are ``ids[offsets[d] : offsets[d + 1]]``. How often a
word has which topic is kept as a short list of topics and counts a word, ``lists[j]`` for j from
``bounds[w, 0]`` until ``bounds[w, 1]``: most words have few topics.
"""

from __future__ import annotations

import math

import numpy as np

from panlearn.core.jit import jit
from panlearn.core.splitmix import next_uniform


@jit(_nrt=False)
def sweep(
    ids: np.ndarray,
    offsets: np.ndarray,
    topics: np.ndarray,
    bounds: np.ndarray,
    lists: np.ndarray,
    total: np.ndarray,
    alpha: np.ndarray,
    beta: float,
    log_gamma: np.ndarray,
    state: np.uint64,
    in_document: np.ndarray,
    memory: np.ndarray,
) -> tuple[np.uint64, float]:
    r"""Draw each topic given all others; a topic of -1 is not drawn yet, and counts nowhere.

    The law c_k (β + n_wk), c_k = (α_k + n_dk) / (Vβ + n_k), is cut in Σ_k c_k n_wk, over the few
    topics of the word, and β Σ_k c_k, which is kept up to date: a token costs the topics of its
    word, not all of them. Divisions are done when a topic changes: `inverse` and `less` hold those
    of a topic as it is and without one token.

    Returns the next state of the generator, and Σ_dk log Γ(α_k + n_dk) / Γ(α_k) as it is then; for
    small n it stands in the table ``log_gamma[k, n]``. Memory for the work: `in_document`
    (n_topics,) for n_dk, and three numbers a topic, (3, n_topics).
    """
    n_topics, rest = len(total), len(bounds) * beta
    inverse, less, share = memory[0], memory[1], memory[2]
    value = 0.0
    for k in range(n_topics):
        inverse[k] = 1.0 / (rest + total[k])
        less[k] = 1.0 / (rest + max(total[k] - 1, 0))
    for d in range(len(offsets) - 1):
        start, stop = offsets[d], offsets[d + 1]
        for k in range(n_topics):
            in_document[k] = 0
        for i in range(start, stop):
            if topics[i] >= 0:
                in_document[topics[i]] += 1
        every = 0.0
        for k in range(n_topics):
            share[k] = (alpha[k] + in_document[k]) * inverse[k]
            every += share[k]
        for i in range(start, stop):
            old, first, last = topics[i], bounds[ids[i], 0], bounds[ids[i], 1]
            before, without = 0.0, 0.0
            if old >= 0:
                before, without = share[old], (alpha[old] + in_document[old] - 1) * less[old]
                share[old] = without
                every += without - before
            place, mass = first, 0.0
            for j in range(first, last):
                if lists[j, 0] == old:
                    place = j
                    mass += without * (lists[j, 1] - 1)
                else:
                    mass += share[lists[j, 0]] * lists[j, 1]
            state, coin = next_uniform(state)
            u, new = coin * (mass + beta * every), -1
            if u < mass:
                for j in range(first, last):
                    u -= share[lists[j, 0]] * (lists[j, 1] - (lists[j, 0] == old))
                    if u < 0:
                        new = lists[j, 0]
                        break
                if new < 0:  # by rounding
                    new = lists[first, 0]
            else:
                u = (u - mass) / beta
                for k in range(n_topics):
                    new = k
                    u -= share[k]
                    if u < 0:
                        break
            if new == old:
                share[old] = before
                every += before - without
                continue
            if old >= 0:
                total[old] -= 1
                in_document[old] -= 1
                inverse[old], less[old] = less[old], 1.0 / (rest + max(total[old] - 1, 0))
                lists[place, 1] -= 1
                if lists[place, 1] == 0:
                    last -= 1
                    lists[place, 0], lists[place, 1] = lists[last, 0], lists[last, 1]
            place = first
            while place < last and lists[place, 0] != new:
                place += 1
            if place == last:
                lists[place, 0], lists[place, 1] = new, 0
                last += 1
            lists[place, 1] += 1
            bounds[ids[i], 1] = last
            topics[i] = new
            total[new] += 1
            in_document[new] += 1
            every -= share[new]
            less[new], inverse[new] = inverse[new], 1.0 / (rest + total[new])
            share[new] = (alpha[new] + in_document[new]) * inverse[new]
            every += share[new]
        for k in range(n_topics):
            if in_document[k] < log_gamma.shape[1]:
                value += log_gamma[k, in_document[k]]
            else:
                value += math.lgamma(alpha[k] + in_document[k]) - math.lgamma(alpha[k])
    return state, value


@jit(plain=lambda offsets, topics, alpha: 2 * len(topics) + len(offsets) * len(alpha))
def document_slopes(
    offsets: np.ndarray, topics: np.ndarray, alpha: np.ndarray
) -> tuple[np.ndarray, float]:
    """Σ_d ψ(α_k + n_dk) - ψ(α_k) of each topic, and Σ_d ψ(Σα + N_d) - ψ(Σα)."""
    slopes, whole, everything = np.zeros(len(alpha)), 0.0, 0.0
    for k in range(len(alpha)):  # as Python does it too
        everything += alpha[k]
    in_document = np.zeros(len(alpha), dtype=np.int64)
    for d in range(len(offsets) - 1):
        in_document[:] = 0
        for i in range(offsets[d], offsets[d + 1]):
            k = topics[i]  # ψ(x + 1) = ψ(x) + 1 / x
            slopes[k] += 1.0 / (alpha[k] + in_document[k])
            whole += 1.0 / (everything + (i - offsets[d]))  # a small sum must not be lost
            in_document[k] += 1
    return slopes, whole


@jit
def fold_in(
    ids: np.ndarray,
    offsets: np.ndarray,
    words: np.ndarray,
    alpha: np.ndarray,
    max_iter: int,
    tol: float,
    theta: np.ndarray,
) -> None:
    """Fill theta with E[θ_d] for fixed topics, `words` of shape (n_words, n_topics).

    Each token's law of topics γ_ik ∝ φ_kw (α_k + Σ_(j≠i) γ_jk) in turn, until none moves by `tol`.
    """
    n_topics, everything = len(alpha), alpha.sum()
    longest = 0
    for d in range(len(offsets) - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    gamma, law = np.empty((longest, n_topics)), np.empty(n_topics)
    for d in range(len(offsets) - 1):
        start, n = offsets[d], offsets[d + 1] - offsets[d]
        here = theta[d]
        for k in range(n_topics):
            here[k] = alpha[k]
        for i in range(n):
            norm = 0.0
            for k in range(n_topics):
                gamma[i, k] = words[ids[start + i], k]
                norm += gamma[i, k]
            for k in range(n_topics):
                gamma[i, k] /= norm
                here[k] += gamma[i, k]
        for _ in range(max_iter):
            change = 0.0
            for i in range(n):
                norm = 0.0
                for k in range(n_topics):
                    law[k] = words[ids[start + i], k] * (here[k] - gamma[i, k])
                    norm += law[k]
                for k in range(n_topics):
                    moved = law[k] / norm - gamma[i, k]
                    gamma[i, k] += moved
                    here[k] += moved
                    change = max(change, abs(moved))
            if change <= tol:
                break
        for k in range(n_topics):
            here[k] /= everything + n


@jit
def left_to_right(
    ids: np.ndarray,
    offsets: np.ndarray,
    words: np.ndarray,
    alpha: np.ndarray,
    n_particles: int,
    seed: np.uint64,
    log_probability: np.ndarray,
) -> None:
    """Estimate log p(w_1 … w_n | Φ, α) of each document, word after word, by particles.

    For each word the topics of those before it are drawn anew; then p(w_n | w_<n) is the mean over
    the particles of Σ_k φ_kw (α_k + n_k) / (Σα + n - 1), and the particles are drawn by their terms
    of it: without that they would not follow p(z | w_1 … w_n), and more of them would not help.
    Every document begins with the same seed, so that its estimate does not depend on the others.
    """
    n_topics, everything = len(alpha), alpha.sum()
    longest = 0
    for d in range(len(offsets) - 1):
        longest = max(longest, offsets[d + 1] - offsets[d])
    topics, count = np.empty((n_particles, longest), np.int32), np.empty((n_particles, n_topics))
    chosen_topics, chosen_count = np.empty_like(topics), np.empty_like(count)
    law, weight = np.empty(n_topics), np.empty(n_particles)
    for d in range(len(offsets) - 1):
        state, start, n, value = seed, offsets[d], offsets[d + 1] - offsets[d], 0.0
        for p in range(n_particles):
            for k in range(n_topics):
                count[p, k] = alpha[k]
        for i in range(n):
            w, total = words[ids[start + i]], 0.0
            for p in range(n_particles):
                for j in range(i):
                    count[p, topics[p, j]] -= 1.0
                    topics[p, j], state = _draw(words[ids[start + j]], count[p], law, state)
                    count[p, topics[p, j]] += 1.0
                weight[p] = 0.0
                for k in range(n_topics):
                    weight[p] += w[k] * count[p, k]
                total += weight[p]
            value += math.log(total / n_particles / (everything + i))
            state, coin = next_uniform(state)
            source, reached = 0, weight[0]
            for p in range(n_particles):  # one coin for all: particle p is at (p + coin) / P
                while source < n_particles - 1 and reached < (p + coin) / n_particles * total:
                    source += 1
                    reached += weight[source]
                for j in range(i):
                    chosen_topics[p, j] = topics[source, j]
                for k in range(n_topics):
                    chosen_count[p, k] = count[source, k]
            topics, chosen_topics, count, chosen_count = chosen_topics, topics, chosen_count, count
            for p in range(n_particles):
                topics[p, i], state = _draw(w, count[p], law, state)
                count[p, topics[p, i]] += 1.0
        log_probability[d] = value


@jit
def _draw(
    word: np.ndarray, count: np.ndarray, law: np.ndarray, state: np.uint64
) -> tuple[int, np.uint64]:
    """A topic by φ_kw (α_k + n_k), and the next state of the generator."""
    norm, k = 0.0, 0
    for k in range(len(count)):
        norm += word[k] * count[k]
        law[k] = norm
    state, coin = next_uniform(state)
    k = 0
    while k < len(count) - 1 and law[k] <= coin * norm:
        k += 1
    return k, state


@jit
def together(
    ids: np.ndarray, offsets: np.ndarray, place: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """In how many documents each of n words occurs, alone and with each other; place[w] or -1."""
    pairs = np.zeros((n, n))
    seen, found = np.full(n, -1), np.empty(n, dtype=np.int64)
    for d in range(len(offsets) - 1):
        n_found = 0
        for i in range(offsets[d], offsets[d + 1]):
            p = place[ids[i]]
            if p >= 0 and seen[p] != d:
                seen[p] = d
                found[n_found] = p
                n_found += 1
        for a in range(n_found):
            for b in range(n_found):
                pairs[found[a], found[b]] += 1.0
    return np.diag(pairs).copy(), pairs
