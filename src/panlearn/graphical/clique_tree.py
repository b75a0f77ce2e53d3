"""Clique trees: exact marginals of a product of tables."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from panlearn.core.memory import available
from panlearn.graphical import _kernels
from panlearn.graphical._kernels import Plan
from panlearn.graphical._triangulation import cliques, moral_graph, spanning_tree


@dataclass(frozen=True, eq=False, repr=False)
class CliqueTree:
    r"""A product of tables as a tree of cliques, from which every marginal is exact.

    .. math::
        p(x) \propto \prod_f \phi_f(x_f) = \frac{\prod_C \psi_C(x_C)}{\prod_S \phi_S(x_S)}, \qquad
        \phi^*_S = \sum_{C \setminus S} \psi_C, \quad
        \psi^*_{C'} = \psi_{C'} \frac{\phi^*_S}{\phi_S}

    Parameters
    ----------
    cardinalities : mapping
        The number of states of each variable, by its name.
    factors : sequence of pairs (names, table)
        The tables, with one axis a name, of numbers from zero up. Any number of tables of any
        overlap; a variable may be in none.
    together : sequence of names, default=()
        Variables that shall be in one clique, to have their joint marginal.
    max_size : int, default=67108864
        The most cells that the tables of all cliques may have together; above, the tree is
        refused before anything is built.

    Attributes
    ----------
    cliques : list of tuples of names
        The maximal cliques.
    separators : list of tuples of names
        What neighbours in the tree have in common, in the order of `edges`.
    edges : list of pairs (child, parent)
        The tree, by the numbers of cliques, from the leaves to the root.
    size : int
        Cells of all cliques.
    width : int
        Variables of the largest clique, less one.

    Notes
    -----
    The variables are eliminated in the order of fewest added edges; the cliques that arise are
    joined by their largest overlaps. One passage up the tree and one down give all marginals, at
    a cost of a few operations a cell, in compiled code on flat tables: no array has an axis for
    each variable, so there may be thousands of them. Tables and messages are scaled, so nothing
    underflows. A calibration costs :math:`O(d \, s^w)` for d variables of s states and cliques of
    up to w.

    References
    ----------
    S. L. Lauritzen, D. J. Spiegelhalter (1988). Local computations with probabilities on graphical
    structures and their application to expert systems. JRSS B 50(2).
    doi:10.1111/j.2517-6161.1988.tb01721.x

    F. V. Jensen, S. L. Lauritzen, K. G. Olesen (1990). Bayesian updating in causal probabilistic
    networks by local computations. Computational Statistics Quarterly 4.

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.graphical import CliqueTree
    >>> tables = [(["rain"], [0.8, 0.2]), (["rain", "wet"], [[0.9, 0.1], [0.2, 0.8]])]
    >>> tree = CliqueTree({"rain": 2, "wet": 2}, tables)
    >>> tree.calibrate({"wet": 1}).marginal(["rain"]).round(3)
    array([0.333, 0.667])
    """

    cardinalities: Mapping[Hashable, int]
    factors: Sequence[tuple[Sequence[Hashable], Any]]
    together: Sequence[Hashable] = ()
    max_size: int = 1 << 26
    cliques: list[tuple[Hashable, ...]] = field(init=False)
    separators: list[tuple[Hashable, ...]] = field(init=False)
    edges: list[tuple[int, int]] = field(init=False)
    size: int = field(init=False)
    width: int = field(init=False)
    _names: list[Hashable] = field(init=False)
    _place: dict[Hashable, int] = field(init=False)
    _plan: Plan = field(init=False)
    _potentials: np.ndarray = field(init=False)
    _log_scale: float = field(init=False)

    def __post_init__(self) -> None:
        names, sizes = list(self.cardinalities), [int(c) for c in self.cardinalities.values()]
        place = {name: v for v, name in enumerate(names)}
        tables, scopes = _check_factors(self.factors, place, sizes)
        extra = [_place(name, place) for name in self.together]
        graph = moral_graph(len(names), [*scopes, extra])
        found = cliques(graph, sizes)
        cells = [math.prod(sizes[v] for v in clique) for clique in found]
        if sum(cells) > self.max_size or 40 * sum(cells) > available():
            raise MemoryError(
                f"exact inference needs cliques of up to {max(map(len, found))} variables with "
                f"{sum(cells):.3g} cells in all ({40 * sum(cells) / 2**30:.3g} GiB with their maps)"
                f", and {min(self.max_size, available() // 40):.3g} are allowed; give evidence "
                "that cuts the graph, remove edges, or sample by likelihood weighting"
            )
        ends, members = _starts([len(c) for c in found]), np.concatenate(found).astype(np.int64)
        member = sparse.csr_array((np.ones(len(members)), members, ends))
        joins = spanning_tree((member @ member.T).toarray())[::-1]
        shared = [tuple(sorted(set(found[a]) & set(found[b]))) for a, b in joins]
        plan = _plan(found, cells, joins, shared, scopes, sizes)
        tops = [float(t.max()) or 1.0 for t in tables]  # divided out, so that nothing overflows
        scaled = [(t / top).ravel() for t, top in zip(tables, tops, strict=True)]
        potentials, scale = _kernels.assemble(plan, np.concatenate([*scaled, np.ones(0)]))
        hidden = {
            "cliques": [tuple(names[v] for v in clique) for clique in found],
            "separators": [tuple(names[v] for v in s) for s in shared],
            "edges": joins,
            "size": sum(cells),
            "width": max(map(len, found)) - 1,
            "_names": names,
            "_place": place,
            "_plan": plan,
            "_potentials": potentials,
            "_log_scale": scale + float(np.log(tops).sum()),
        }
        for name, value in hidden.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return (
            f"CliqueTree(variables={len(self._names)}, cliques={len(self.cliques)}, "
            f"width={self.width}, size={self.size})"
        )

    @property
    def _compiled(self) -> tuple[Plan, np.ndarray, float]:
        """What the kernels work on."""
        return self._plan, self._potentials, self._log_scale

    def calibrate(self, evidence: Mapping[Hashable, Any] | None = None) -> CalibratedTree:
        """Pass the messages given evidence: by name a state, as its number, or its likelihoods."""
        likelihood, scale = np.ones(self._plan.variable[-1]), self._log_scale
        for name, value in (evidence or {}).items():
            v = _place(name, self._place)
            part = likelihood[self._plan.variable[v] : self._plan.variable[v + 1]]
            if np.ndim(value) == 0:
                state = np.arange(len(part)) == value
                if not state.any():
                    raise ValueError(f"{name!r} has the states 0 to {len(part) - 1}; got {value!r}")
                part[:] = state
                continue
            weights = np.asarray(value, dtype=float)
            if weights.shape != part.shape or not np.isfinite(weights).all() or weights.min() < 0:
                raise ValueError(
                    f"the likelihoods of {name!r} must be {len(part)} numbers from zero up, one a "
                    f"state; got {value!r}"
                )
            top = float(weights.max()) or 1.0  # divided out, as of the tables
            part[:], scale = weights / top, scale + float(np.log(top))
        psi, separators = self._potentials.copy(), np.ones(self._plan.separator[-1])
        value = _kernels.propagate(self._plan, psi, likelihood, separators)
        if value == -np.inf:
            raise ValueError(f"the evidence {dict(evidence or {})} has probability zero")
        return CalibratedTree(self, psi, separators, float(value) + scale)


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedTree:
    """Marginals of the cliques of a tree given evidence, and the log of the evidence's weight."""

    tree: CliqueTree
    tables: np.ndarray
    separator_tables: np.ndarray
    log_evidence: float

    def marginal(self, names: Sequence[Hashable]) -> np.ndarray:
        """The joint law of variables that share a clique, with one axis a name."""
        tree = self.tree
        wanted = [_place(name, tree._place) for name in names]
        if len(set(wanted)) != len(wanted):
            raise ValueError(f"each variable can be asked for once; got {list(names)}")
        for c, clique in enumerate(tree.cliques):
            if set(names) <= set(clique):
                kept = [v for v in map(tree._place.__getitem__, clique) if v in wanted]
                axes = tuple(a for a, name in enumerate(clique) if name not in set(names))
                table = self.clique(c).sum(axis=axes)
                return table.transpose([kept.index(v) for v in wanted])
        raise ValueError(
            f"no clique holds {list(names)} together; name them in `together` when the tree is made"
        )

    def marginals(self) -> dict[Hashable, np.ndarray]:
        """The law of each variable, by its name."""
        flat = _kernels.marginals(self.tree._plan, self.tables)
        parts = np.split(flat, self.tree._plan.variable[1:-1])
        return dict(zip(self.tree._names, parts, strict=True))

    def clique(self, c: int) -> np.ndarray:
        """The joint law of clique c, with one axis a name."""
        plan, tree = self.tree._plan, self.tree
        shape = [tree.cardinalities[name] for name in tree.cliques[c]]
        return self.tables[plan.clique[c] : plan.clique[c + 1]].reshape(shape)

    def separator(self, e: int) -> np.ndarray:
        """The joint law of the separator of edge e, with one axis a name."""
        plan, tree = self.tree._plan, self.tree
        shape = [tree.cardinalities[name] for name in tree.separators[e]]
        return self.separator_tables[plan.separator[e] : plan.separator[e + 1]].reshape(shape)


def _place(name: Hashable, place: Mapping[Hashable, int]) -> int:
    if name not in place:
        raise ValueError(f"no variable {name!r}; there are {list(place)}")
    return place[name]


def _check_factors(
    factors: Sequence[Any], place: Mapping[Hashable, int], sizes: list[int]
) -> tuple[list[np.ndarray], list[list[int]]]:
    """The tables as floats and their scopes as numbers, or an error that names the table."""
    if not sizes or min(sizes) < 1:
        raise ValueError(f"every variable needs a state or more; got the numbers {sizes}")
    tables, scopes = [], []
    for names, table in factors:
        scope = [_place(name, place) for name in names]
        values = np.asarray(table, dtype=float)
        shape = tuple(sizes[v] for v in scope)
        if len(set(scope)) != len(scope) or values.shape != shape:
            raise ValueError(f"the table of {list(names)} has shape {values.shape}, not {shape}")
        if not (values >= 0).all() or not np.isfinite(values).all():
            raise ValueError(f"the table of {list(names)} holds numbers below zero, NaN or inf")
        tables.append(values)
        scopes.append(scope)
    return tables, scopes


def _plan(
    found: list[tuple[int, ...]],
    cells: list[int],
    joins: list[tuple[int, int]],
    shared: list[tuple[int, ...]],
    scopes: list[list[int]],
    sizes: list[int],
) -> Plan:
    """Lay the tables out and write down the maps between them."""
    holders: list[set[int]] = [set() for _ in sizes]  # the cliques of each variable
    for c, clique in enumerate(found):
        for v in clique:
            holders[v].add(c)

    def cover(scope: Sequence[int]) -> int:
        """The smallest clique that holds a scope."""
        able = set.intersection(*(holders[v] for v in scope)) if scope else {0}
        return min(able, key=lambda c: (cells[c], c))

    def maps(pairs: list[tuple[int, Sequence[int]]]) -> tuple[np.ndarray, np.ndarray]:
        parts = [_projection(found[c], scope, sizes) for c, scope in pairs]
        return _starts([len(p) for p in parts])[:-1], np.concatenate(parts or [_EMPTY])

    single = [[v] for v in range(len(sizes))]
    homes, families = [cover(s) for s in single], [cover(s) for s in scopes]
    child_start, child_map = maps([(a, s) for (a, _), s in zip(joins, shared, strict=True)])
    parent_start, parent_map = maps([(b, s) for (_, b), s in zip(joins, shared, strict=True)])
    home_start, home_map = maps(list(zip(homes, single, strict=True)))
    family_start, family_map = maps(list(zip(families, scopes, strict=True)))
    return Plan(
        clique=_starts(cells),
        child=np.array([a for a, _ in joins], dtype=np.int64),
        parent=np.array([b for _, b in joins], dtype=np.int64),
        separator=_starts([math.prod(sizes[v] for v in s) for s in shared]),
        child_start=child_start,
        child_map=child_map,
        parent_start=parent_start,
        parent_map=parent_map,
        home=np.array(homes, dtype=np.int64),
        home_start=home_start,
        home_map=home_map,
        variable=_starts(sizes),
        family_home=np.array(families, dtype=np.int64),
        family_start=family_start,
        family_map=family_map,
        family=_starts([math.prod(sizes[v] for v in s) for s in scopes]),
    )


_EMPTY = np.zeros(0, dtype=np.int32)


def _starts(lengths: list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _projection(clique: Sequence[int], scope: Sequence[int], sizes: list[int]) -> np.ndarray:
    """For each cell of a clique's table, the cell of a table over some of its variables."""
    stride, strides = 1, {}
    for v in reversed(scope):
        strides[v], stride = stride, stride * sizes[v]
    cells = np.zeros(1, dtype=np.int32)
    for v in clique:  # the last variable runs fastest
        step = np.arange(sizes[v], dtype=np.int32) * np.int32(strides.get(v, 0))
        cells = (cells[:, None] + step).ravel()
    return cells
