"""Bayesian networks of discrete variables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import _check_sample_weight, validate_data

from panlearn.core.capabilities import Capabilities
from panlearn.core.density import Density
from panlearn.core.em import expectation_maximisation
from panlearn.core.estimator import Estimator, fitting
from panlearn.core.labels import missing
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import NonNegative, Positive, RandomState
from panlearn.core.progress import Iterative
from panlearn.core.random import generator
from panlearn.core.sources import ArrayRows
from panlearn.core.validation import reject_hidden
from panlearn.graphical import _kernels
from panlearn.graphical._answers import Answers, number
from panlearn.graphical._categories import decode, encode, named_states, states_of
from panlearn.graphical._counts import Families, Tables
from panlearn.graphical._known import KnownTables
from panlearn.graphical._structure import chow_liu, topological_order

MOST_STATES = 100  # of fractions, hardly one of which comes twice: more are a quantity


@dataclass(eq=False, repr=False)
class BayesianNetwork(Density, DensityMixin, Iterative, Answers, KnownTables, Estimator):
    r"""A law of discrete variables as a product of conditional tables along a graph.

    .. math::
        p(x_1, \ldots, x_d) = \prod_{j=1}^d p(x_j \mid x_{\mathrm{pa}(j)}), \qquad
        p(x_j = k \mid x_{\mathrm{pa}(j)} = u) = \frac{N_{juk} + \alpha}{\sum_l (N_{jul} + \alpha)}

    where :math:`N_{juk}` counts the rows with state k of variable j and states u of its parents.

    Parameters
    ----------
    edges : sequence of pairs (parent, child), "chow-liu" or None, default=None
        The graph, by names of columns or by their numbers; "chow-liu" learns the best tree; None
        has no edges.
    alpha : float, default=1.0
        The prior count :math:`\alpha` of each cell: 1 is Laplace's rule, 0 is maximum likelihood.
    states : mapping or None, default=None
        The states of variables, by name, if the data may not hold them all or none.
    root : str, int or None, default=None
        The root of a tree of "chow-liu"; the first column if not given.
    handle_unknown : {"missing", "error"}, default="missing"
        What a label that `fit` did not see is for a fitted model: a missing entry, or an error.
    max_iter : int, default=200
        The most iterations of EM.
    tol : float, default=1e-6
        The loop ends when the mean log-likelihood changes by no more than this.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the first tables of variables that were never seen.

    Attributes
    ----------
    variables_ : list
        The names of the variables: of the columns, or x0, x1 and so on.
    states_ : list of ndarrays
        The states of each variable.
    parents_ : list of lists of int
        The parents of each variable, by number.
    edges_ : list of tuples
        The pairs (parent, child), by name.
    cpts_ : list of ndarrays
        The conditional tables, with one axis a parent and a last axis for the variable.
    n_iter_ : int
        Iterations of EM; two if nothing is missing.
    converged_ : bool
        Whether EM converged.
    history_ : dict
        ``log_likelihood`` (mean of a row) before, and ``change`` of, each iteration.
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    Entries may be labels of any kind that sorts; NaN and None are missing. Expected counts of
    rows with missing entries come from a calibrated `CliqueTree`, so EM is exact; rows that are
    alike are counted once, and the prior's counts are added at each step. Queries are exact; if the
    whole network is too dense for one tree, the tree of the ancestors of what is asked and given is
    tried, and if that is too large too, it is refused with its cost. Sampling and likelihood
    weighting need no tree. Counting complete rows costs :math:`O(n d)`, a query :math:`O(d \, s^w)`
    for variables of s states and cliques of up to w.

    References
    ----------
    J. Pearl (1988). Probabilistic reasoning in intelligent systems. Morgan Kaufmann.

    C. K. Chow, C. N. Liu (1968). Approximating discrete probability distributions with dependence
    trees. IEEE Trans. Information Theory 14(3). doi:10.1109/TIT.1968.1054142

    S. L. Lauritzen (1995). The EM algorithm for graphical association models with missing data.
    Computational Statistics & Data Analysis 19(2). doi:10.1016/0167-9473(93)E0056-A

    Examples
    --------
    >>> from panlearn.graphical import BayesianNetwork
    >>> network = BayesianNetwork.from_cpts(
    ...     {
    ...         "burglary": ([], [0.999, 0.001]),
    ...         "quake": ([], [0.998, 0.002]),
    ...         "alarm": (
    ...             ["burglary", "quake"],
    ...             [[[0.999, 0.001], [0.71, 0.29]], [[0.06, 0.94], [0.05, 0.95]]],
    ...         ),
    ...     },
    ...     states={name: ["no", "yes"] for name in ("burglary", "quake", "alarm")},
    ... )
    >>> network.query(["burglary"], {"alarm": "yes"}).round(3)
    array([0.626, 0.374])
    >>> network.query(["burglary"], {"alarm": "yes", "quake": "yes"}).round(3)
    array([0.997, 0.003])
    >>> [network.d_separated("burglary", "quake", given) for given in ([], ["alarm"])]
    [True, False]
    """

    learned = shapes(
        states_="n_features of (n_states_i,)",
    )

    capabilities = Capabilities(any_order=True, missing=True)

    edges: Any = None
    _: KW_ONLY
    alpha: NonNegative[float] = 1.0
    states: Mapping | None = None
    root: Hashable | None = None
    handle_unknown: Literal["missing", "error"] = "missing"
    max_iter: Positive[int] = 200
    tol: NonNegative[float] = 1e-6
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the tables, and if asked the tree, from rows of labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN and None are missing.
        y : object, default=None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; an integer weight is a repeated row.

        Returns
        -------
        BayesianNetwork
            The model itself.
        """
        X = self._check(X, reset=True)
        weight = np.ones(len(X))
        if sample_weight is not None:
            reject_hidden(sample_weight=sample_weight)
            weight = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        X, weight = X[weight > 0], weight[weight > 0]  # no weight is no row, of no state
        named = getattr(self, "feature_names_in_", None)
        d = X.shape[1]
        self.variables_ = [f"x{j}" for j in range(d)] if named is None else list(named)
        given = named_states(self.states, self.variables_)
        self.states_ = [
            given[name] if name in given else _found_states(X[:, j], name)
            for j, name in enumerate(self.variables_)
        ]
        codes = self._codes(X, lenient=False)
        sizes = [len(s) for s in self.states_]
        self.parents_ = self._parents(codes, sizes, weight)
        names = self.variables_
        self.edges_ = [(names[p], names[j]) for j in range(d) for p in self.parents_[j]]
        families = Families.of(self.parents_, sizes)
        remedy = "remove edges, or merge states"
        require_memory((int(families.starts[-1]),), "the list of all conditional tables", remedy)
        start = families.start(codes, weight, self.alpha, generator(self.random_state))
        self.cpts_ = self._learn(families, codes, weight, start)
        return self

    def _learn(
        self, families: Families, codes: np.ndarray, weight: np.ndarray, start: Tables
    ) -> list[np.ndarray]:
        """EM, in which partial rows that are alike are one; if all are whole, one step is it."""
        partial = (codes < 0).any(axis=1)
        alike, place = np.unique(codes[partial], axis=0, return_inverse=True)
        rows = np.concatenate([codes[~partial], alike])
        total = np.bincount(place.ravel(), weight[partial], minlength=len(alike))
        found: Tables = expectation_maximisation(
            self,
            ArrayRows(rows, None, np.concatenate([weight[~partial], total])),
            start,
            expect=families.expect,
            maximise=lambda at, counts: families.normalise(counts.count, self.alpha),
            max_iter=self.max_iter,
            tol=self.tol,
            attributes=lambda at: {"cpts_": families.split(at.flat)},
        )
        return families.split(found.flat)

    def _parents(self, codes: np.ndarray, sizes: list[int], weight: np.ndarray) -> list[list[int]]:
        place = {name: j for j, name in enumerate(self.variables_)}
        parents: list[list[int]] = [[] for _ in sizes]
        if isinstance(self.edges, str):
            if self.edges != "chow-liu":
                raise ValueError(f"edges must be pairs, 'chow-liu' or None; got {self.edges!r}")
            root = 0 if self.root is None else number(self.root, place, "root")
            pairs = chow_liu(codes, sizes, weight, self.alpha, root)
        else:
            pairs = _pairs(self.edges, place)
        for parent, child in pairs:
            if parent in parents[child]:
                raise ValueError(
                    f"the edge {self.variables_[parent]!r} to "
                    f"{self.variables_[child]!r} is given twice"
                )
            parents[child].append(parent)
        topological_order(parents)
        return parents

    def score_samples(self, X: Any) -> np.ndarray:
        """Give the log probability of each row, of the entries that it has.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN and None are missing.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._check(X)
        codes = self._codes(X)
        families = Families.of(self.parents_, self._sizes())
        logs = families.log_probability(codes, families.join(self.cpts_))
        partial = np.flatnonzero((codes < 0).any(axis=1))
        if len(partial):
            tree = self.clique_tree()
            logs[partial] = _kernels.row_marginals(
                *tree._compiled, codes[partial], np.empty((0, 0))
            )
        return logs.astype(np.float32) if X.dtype == np.float32 else logs

    def predict(self, X: Any) -> np.ndarray:
        """Fill each missing entry with its most probable state given the rest of the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; NaN and None are missing.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The rows with nothing missing.
        """
        codes = self._codes(self._check(X))
        partial = np.flatnonzero((codes < 0).any(axis=1))
        if len(partial):
            filled = codes[partial]
            for j, law in enumerate(self._row_laws(filled)):
                filled[:, j] = np.where(filled[:, j] < 0, law.argmax(axis=1), filled[:, j])
            codes[partial] = filled
        return decode(codes, self.states_)

    def _row_laws(self, codes: np.ndarray) -> list[np.ndarray]:
        """The law of each variable given each row, of shape (n_rows, n_states)."""
        laws = np.empty((len(codes), sum(self._sizes())))
        logs = _kernels.row_marginals(*self.clique_tree()._compiled, codes, laws)
        if not np.isfinite(logs).all():
            row = int(np.flatnonzero(~np.isfinite(logs))[0])
            raise ValueError(
                f"a row has probability zero, so nothing follows from it: {codes[row]}"
            )
        return np.split(laws, np.cumsum(self._sizes())[:-1], axis=1)

    def _check_learned(self) -> None:
        """Refuse parents that are no tree's and tables that are not of the states; from a file."""
        d, sizes = self.n_features_in_, self._sizes()
        known = len(self.parents_) == len(self.cpts_) == len(self.variables_) == d
        if not known or any(p not in range(d) for parents in self.parents_ for p in parents):
            raise ValueError("the parents are not of the variables")
        topological_order(self.parents_)
        for j, table in enumerate(self.cpts_):
            if np.shape(table) != tuple(sizes[k] for k in (*self.parents_[j], j)):
                raise ValueError("a table is not of the states of its variables")

    def _codes(self, X: np.ndarray, lenient: bool | None = None) -> np.ndarray:
        lenient = self.handle_unknown == "missing" if lenient is None else lenient
        columns = [
            encode(X[:, j], states, self.variables_[j], lenient=lenient)
            for j, states in enumerate(self.states_)
        ]
        return np.column_stack(columns)

    def _check(self, X: Any, reset: bool = False) -> np.ndarray:
        if not reset:
            self._require_fitted()
        reject_hidden(X=X)
        if hasattr(X, "select_dtypes"):  # scikit-learn makes numbers of categories with gaps
            X = X.astype(dict.fromkeys(X.select_dtypes("category"), object))
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _found_states(column: np.ndarray, name: Hashable) -> np.ndarray:
    """The states that a column shows."""
    states = states_of(column, name)
    if not len(states):
        raise ValueError(
            f"every entry of {name!r} is missing (NaN or None), so its states are unknown; "
            "give them in `states`, or drop the column"
        )
    present = len(column) - int(missing(column).sum())
    fractions = states.dtype.kind == "f" and bool((states % 1 != 0).any())
    if fractions and len(states) > max(MOST_STATES, present // 2):
        raise ValueError(
            f"{name!r} has {len(states)} states in {present} rows: it is a quantity, and a network "
            "has tables of states; cut it into bins with sklearn.preprocessing.KBinsDiscretizer, "
            "or name its states in `states`"
        )
    return states


def _pairs(edges: Any, place: Mapping[Hashable, int]) -> list[tuple[int, int]]:
    """Edges as pairs of numbers."""
    try:
        listed = [tuple(edge) for edge in (() if edges is None else edges)]
    except TypeError:
        listed = [()]
    if any(len(edge) != 2 for edge in listed):
        raise ValueError(f"edges must be pairs (parent, child), 'chow-liu' or None; got {edges!r}")
    return [(number(a, place, "edges"), number(b, place, "edges")) for a, b in listed]
