"""Message passing on flat tables, compiled.

The tables of all cliques lie one after another in one array; what a clique shares with another
table is a map from its cells to the cells of that table. So a clique may have any number of
variables, and nothing is ever transposed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from panlearn.core.jit import jit

SMALL = 1e-100  # a product below it is scaled up: one factor more shall not underflow


class Plan(NamedTuple):
    """A tree of cliques as arrays: where tables start, and the maps between their cells.

    ``clique`` has the starts of the tables of the cliques. Edge e of the tree joins the cliques
    ``child[e]`` and ``parent[e]``, children first; its separator starts at ``separator[e]``, and
    its maps from both cliques start at ``child_start[e]`` and ``parent_start[e]``. The marginal of
    variable v comes from clique ``home[v]`` by a map from ``home_start[v]`` on, and starts at
    ``variable[v]``; table f belongs to clique ``family_home[f]`` in the same way.
    """

    clique: Any
    child: Any
    parent: Any
    separator: Any
    child_start: Any
    child_map: Any
    parent_start: Any
    parent_map: Any
    home: Any
    home_start: Any
    home_map: Any
    variable: Any
    family_home: Any
    family_start: Any
    family_map: Any
    family: Any


@jit
def _multiply(
    psi: np.ndarray, start: int, n: int, table: np.ndarray, first: int, cells: np.ndarray
) -> float:
    """Multiply a table into the n cells of a clique; what is divided out of them, as a logarithm.

    Many small numbers would underflow in all cells at once: the largest is kept in sight.
    """
    top = 0.0
    for i in range(n):
        psi[start + i] *= table[first + cells[i]]
        top = max(top, psi[start + i])
    if top == 0.0 or top > SMALL:
        return 0.0
    for i in range(n):
        psi[start + i] /= top
    return np.log(top)


@jit
def assemble(plan: Any, tables: np.ndarray) -> tuple[np.ndarray, float]:
    """The product of the tables of each clique, psi_C = prod_f phi_f, and what was divided out."""
    psi, scale = np.ones(plan.clique[-1]), 0.0
    for f in range(len(plan.family_home)):
        c = plan.family_home[f]
        start, n = plan.clique[c], plan.clique[c + 1] - plan.clique[c]
        cells = plan.family_map[plan.family_start[f] :]
        scale += _multiply(psi, start, n, tables, plan.family[f], cells)
    return psi, scale


@jit
def propagate(plan: Any, psi: np.ndarray, likelihood: np.ndarray, sep: np.ndarray) -> float:
    """Calibrate psi in place to marginals given evidence; return the log of its weight.

    Up: phi*_S = sum_{C minus S} psi_C, psi_P *= phi*_S / phi_S; then down in the same way. Messages
    and cliques are scaled, so nothing underflows; evidence that cannot be gives -inf.
    """
    log_weight = 0.0
    for v in range(len(plan.home)):
        first, n = plan.variable[v], plan.variable[v + 1] - plan.variable[v]
        silent = True
        for s in range(n):
            silent = silent and likelihood[first + s] == 1.0
        if silent:
            continue
        c = plan.home[v]
        start, n = plan.clique[c], plan.clique[c + 1] - plan.clique[c]
        cells = plan.home_map[plan.home_start[v] :]
        log_weight += _multiply(psi, start, n, likelihood, first, cells)
    for e in range(len(plan.child)):
        log_weight += _collect(plan, e, psi, sep)
        if log_weight == -np.inf:
            return log_weight
    root = plan.parent[-1] if len(plan.child) else 0
    total = 0.0
    for i in range(plan.clique[root], plan.clique[root + 1]):
        total += psi[i]
    if total == 0.0:
        return -np.inf
    for i in range(plan.clique[root], plan.clique[root + 1]):
        psi[i] /= total
    for e in range(len(plan.child) - 1, -1, -1):
        _distribute(plan, e, psi, sep)
    return log_weight + np.log(total)


@jit
def _collect(plan: Any, e: int, psi: np.ndarray, sep: np.ndarray) -> float:
    """Sum a child into its separator, scale that to one, multiply it into the parent."""
    first, last = plan.separator[e], plan.separator[e + 1]
    for s in range(first, last):
        sep[s] = 0.0
    c, p = plan.child[e], plan.parent[e]
    start, shift = plan.clique[c], plan.child_start[e]
    total = 0.0
    for i in range(plan.clique[c + 1] - start):
        sep[first + plan.child_map[shift + i]] += psi[start + i]
        total += psi[start + i]
    if total == 0.0:
        return -np.inf
    for s in range(first, last):
        sep[s] /= total
    for i in range(plan.clique[c + 1] - start):
        psi[start + i] /= total
    start, n = plan.clique[p], plan.clique[p + 1] - plan.clique[p]
    cells = plan.parent_map[plan.parent_start[e] :]
    return np.log(total) + _multiply(psi, start, n, sep, first, cells)


@jit
def _distribute(plan: Any, e: int, psi: np.ndarray, sep: np.ndarray) -> None:
    """Multiply a child by the new over the old separator; what was zero stays zero."""
    first, last = plan.separator[e], plan.separator[e + 1]
    c, p = plan.child[e], plan.parent[e]
    new = np.zeros(last - first)
    start, shift = plan.clique[p], plan.parent_start[e]
    for i in range(plan.clique[p + 1] - start):
        new[plan.parent_map[shift + i]] += psi[start + i]
    start, shift = plan.clique[c], plan.child_start[e]
    for s in range(last - first):
        old = sep[first + s]
        sep[first + s] = new[s]
        new[s] = new[s] / old if old > 0.0 else 0.0
    for i in range(plan.clique[c + 1] - start):
        psi[start + i] *= new[plan.child_map[shift + i]]


@jit
def marginals(plan: Any, psi: np.ndarray) -> np.ndarray:
    """The marginals of all variables, one after another, from calibrated tables."""
    result = np.zeros(plan.variable[-1])
    for v in range(len(plan.home)):
        c = plan.home[v]
        start, shift, first = plan.clique[c], plan.home_start[v], plan.variable[v]
        for i in range(plan.clique[c + 1] - start):
            result[first + plan.home_map[shift + i]] += psi[start + i]
    return result


@jit
def _indicate(plan: Any, row: np.ndarray, likelihood: np.ndarray) -> None:
    """Evidence of a row of codes, where -1 is missing: one for what may be, zero for the rest."""
    for v in range(len(row)):
        for s in range(plan.variable[v], plan.variable[v + 1]):
            likelihood[s] = 1.0 if row[v] < 0 or s - plan.variable[v] == row[v] else 0.0


@jit
def row_marginals(
    plan: Any, potentials: np.ndarray, scale: float, rows: np.ndarray, result: np.ndarray
) -> np.ndarray:
    """Log probability of each row, and into `result` the marginals of all variables given it."""
    logs, likelihood = np.empty(len(rows)), np.empty(plan.variable[-1])
    sep = np.empty(plan.separator[-1])
    for r in range(len(rows)):
        psi = potentials.copy()
        _indicate(plan, rows[r], likelihood)
        logs[r] = scale + propagate(plan, psi, likelihood, sep)
        if len(result):
            result[r] = marginals(plan, psi)
    return logs


@jit
def expected_counts(
    plan: Any,
    potentials: np.ndarray,
    scale: float,
    rows: np.ndarray,
    weight: np.ndarray,
    counts: np.ndarray,
) -> float:
    """Add to `counts` the expected counts of all tables given rows; return the log-likelihood."""
    value, likelihood = 0.0, np.empty(plan.variable[-1])
    sep = np.empty(plan.separator[-1])
    for r in range(len(rows)):
        if weight[r] == 0.0:
            continue
        psi = potentials.copy()
        _indicate(plan, rows[r], likelihood)
        value += weight[r] * (scale + propagate(plan, psi, likelihood, sep))
        for f in range(len(plan.family_home)):
            c = plan.family_home[f]
            start, shift = plan.clique[c], plan.family_start[f]
            for i in range(plan.clique[c + 1] - start):
                cell = plan.family[f] + plan.family_map[shift + i]
                counts[cell] += weight[r] * psi[start + i]
    return value


@jit(plain=lambda table, row, u: 2 * len(u))
def draw_states(table: np.ndarray, row: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A state for each uniform number u by the row of cumulative probabilities that it is for."""
    states = np.empty(len(u), dtype=np.int64)
    last = table.shape[1] - 1
    for i in range(len(u)):
        s = 0
        while s < last and u[i] >= table[row[i], s]:
            s += 1
        states[i] = s
    return states


@jit(plain=lambda codes, weight, members, *rest: len(codes) * len(members))
def count_families(
    codes: np.ndarray,
    weight: np.ndarray,
    members: np.ndarray,
    ends: np.ndarray,
    sizes: np.ndarray,
    starts: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Add the weight of each row to its cell in each table, if all entries of the family are there.

    The variables of table f, parents first, are ``members[ends[f]:ends[f + 1]]``.
    """
    for r in range(len(codes)):
        for f in range(len(ends) - 1):
            cell = 0
            for k in range(ends[f], ends[f + 1]):
                state = codes[r, members[k]]
                if state < 0:
                    cell = -1
                    break
                cell = cell * sizes[members[k]] + state
            if cell >= 0:
                counts[starts[f] + cell] += weight[r]


@jit(plain=lambda codes, values, members, *rest: len(codes) * len(members))
def sum_families(
    codes: np.ndarray,
    values: np.ndarray,
    members: np.ndarray,
    ends: np.ndarray,
    sizes: np.ndarray,
    starts: np.ndarray,
) -> np.ndarray:
    """The sum over the tables of the value in the cell of each row; a missing entry gives NaN."""
    result = np.zeros(len(codes))
    for r in range(len(codes)):
        for f in range(len(ends) - 1):
            cell = 0
            for k in range(ends[f], ends[f + 1]):
                state = codes[r, members[k]]
                if state < 0:
                    result[r] = np.nan
                    state = 0
                cell = cell * sizes[members[k]] + state
            result[r] += values[starts[f] + cell]
    return result
