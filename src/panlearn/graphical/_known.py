"""Networks whose tables are known: given in Python, or read from a file and written to one."""

from __future__ import annotations

import os
from abc import ABC
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from panlearn.core.files import write_file
from panlearn.graphical import _bif
from panlearn.graphical._answers import number
from panlearn.graphical._categories import named_states
from panlearn.graphical._structure import topological_order

TOLERANCE = 1e-3
"""What the sum of a row may be off: thirds that are printed to three digits are off by this."""


class KnownTables(ABC):
    """The abstract base of what can be made of tables, without data."""

    edges: Any
    variables_: list[Hashable]
    states_: list[np.ndarray]
    parents_: list[list[int]]
    edges_: list[tuple[Hashable, Hashable]]
    cpts_: list[np.ndarray]
    n_features_in_: int
    _require_fitted: Any

    @classmethod
    def from_cpts(
        cls,
        cpts: Mapping[Any, tuple[Sequence[Hashable], Any]],
        states: Mapping[Any, Sequence[Any]] | None = None,
    ) -> Self:
        """Make a network of known tables.

        Parameters
        ----------
        cpts : mapping
            For each variable the pair (parents, table); the table has one axis a parent and a last
            axis for the variable, along which it sums to one. Sums that are off by no more than
            0.001, as those of printed tables are, are made one.
        states : mapping, default=None
            The states of each variable; 0, 1, ... if not given.

        Returns
        -------
        BayesianNetwork
            As if it had been fitted.
        """
        names = list(cpts)
        place = {name: j for j, name in enumerate(names)}
        make: Any = cls
        network = make([(p, name) for name, (above, _) in cpts.items() for p in above])
        network.variables_ = names
        network.parents_ = [[number(p, place) for p in cpts[name][0]] for name in names]
        topological_order(network.parents_)
        tables = [np.asarray(cpts[name][1], dtype=float) for name in names]
        counts = [table.shape[-1] if table.ndim else 0 for table in tables]
        given = {name: np.arange(n) for name, n in zip(names, counts, strict=True)}
        given |= named_states(states, names)
        network.states_ = [given[name] for name in names]
        for j, table in enumerate(tables):
            shape = tuple(len(network.states_[v]) for v in (*network.parents_[j], j))
            if len(set(network.parents_[j])) != len(shape) - 1:
                raise ValueError(f"a parent of {names[j]!r} is named twice: {cpts[names[j]][0]}")
            if table.shape != shape:
                raise ValueError(f"the table of {names[j]!r} has shape {table.shape}, not {shape}")
        network.cpts_ = [_normalised(t, name) for t, name in zip(tables, names, strict=True)]
        network.edges_ = list(network.edges)
        network.n_features_in_ = len(names)
        return network

    @classmethod
    def read_bif(cls, path: str | os.PathLike[str]) -> Self:
        """Read a network from a file in the Bayesian Interchange Format, version 0.15.

        Parameters
        ----------
        path : str or path-like
            The file, in UTF-8. Names and states are strings; properties are passed over.

        Returns
        -------
        BayesianNetwork
            As if it had been fitted. A file that is cut off or contradicts itself is a ValueError
            that names the line.
        """
        with open(path, encoding="utf-8") as file:
            cpts, states = _bif.parse(file.read(), os.fspath(path))
        return cls.from_cpts(cpts, states)

    def write_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a file in the Bayesian Interchange Format, version 0.15.

        Parameters
        ----------
        path : str or path-like
            The file, which is replaced at the end. `read_bif` has the same tables from it, to the
            bit, with all names and states as strings.
        """
        self._require_fitted()
        text = _bif.render(self.variables_, self.states_, self.parents_, self.cpts_)
        write_file(path, text.encode())


def _normalised(table: np.ndarray, name: Hashable) -> np.ndarray:
    """The table with sums of one; rows that sum to it but for rounding stay as they are."""
    total = table.sum(axis=-1, keepdims=True)
    if not (table >= 0).all() or not (np.abs(total - 1) <= TOLERANCE + 1e-9).all():
        raise ValueError(f"the table of {name!r} does not sum to one along its last axis")
    exact = np.abs(total - 1) <= table.shape[-1] * np.finfo(float).eps
    return table / np.where(exact, 1.0, total)
