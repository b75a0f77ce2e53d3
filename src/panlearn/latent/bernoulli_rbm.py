"""A restricted Boltzmann machine with binary units."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from panlearn.core.estimator import Estimator, fitting
from panlearn.core.interrupts import passes
from panlearn.core.learned import shapes
from panlearn.core.memory import require_memory
from panlearn.core.parameters import Count, Positive, RandomState
from panlearn.core.random import generator
from panlearn.core.threads import in_parts, rows_together
from panlearn.latent._rbm_layers import Layers, drawn
from panlearn.latent._rows import rows_in_memory

ENUMERABLE = 22  # units of the smaller layer whose states can be counted through


@dataclass(eq=False, repr=False)
class BernoulliRBM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""A layer of binary hidden units whose states make the binary features independent.

    .. math::
        p(v, h) \propto \exp(b^\top v + c^\top h + h^\top W v), \qquad
        p(v) \propto e^{-F(v)}, \quad F(v) = -b^\top v - \sum_j \log\bigl(1 + e^{c_j + W_j v}\bigr)

    Parameters
    ----------
    n_components : int, default=256
        The number of hidden units.
    learning_rate : float, default=0.1
        The step along the estimated gradient of the mean log-likelihood.
    batch_size : int, default=10
        Rows of a step.
    n_iter : int, default=10
        Passes over the rows.
    persistent : bool, default=True
        Whether the chains of the negative phase go on from step to step (stochastic maximum
        likelihood), or start at the rows of each batch (contrastive divergence).
    n_gibbs : int, default=1
        Gibbs steps of the chains a step: the k of CD-k.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the first weights, the order of the rows and the chains.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The weights W.
    intercept_hidden_ : ndarray of shape (n_components,)
        The biases c.
    intercept_visible_ : ndarray of shape (n_features,)
        The biases b.
    h_samples_ : ndarray of shape (batch_size, n_components)
        The hidden states of the persistent chains.
    n_steps_ : int
        Steps made so far.
    history_ : dict
        ``reconstruction_error`` after each pass: the mean squared difference between rows (up to
        a thousand) and what their hidden probabilities give back.
    n_features_in_ : int
        Number of visible units.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had names.

    Notes
    -----
    A feature is 0 or 1, or a value between them that is read as a probability; what lies outside
    is taken as it stands, as a real-valued state. Each step takes the mean of :math:`h v^\top` over
    the batch minus that over the chains, three products of matrices for the whole batch. Each mean
    is over its own number of rows, so a last batch that is smaller is no longer weighed against
    more chains. The rows are shuffled at each pass. `fit` computes in float32, whose rounding is
    far below the noise of the chains, unless values beyond a million ask for more range.

    The likelihood needs the partition function, a sum over all states of the smaller layer:
    `log_likelihood` is exact up to 22 units there. `score_samples` is the pseudo-log-likelihood
    :math:`\sum_i \log p(v_i \mid v_{-i})`, exact too, over all features; scikit-learn's draws one
    of them at random and multiplies. A pass over the rows costs :math:`O(n d k)` for k hidden
    units.

    References
    ----------
    P. Smolensky (1986). Information processing in dynamical systems: foundations of harmony
    theory. Parallel Distributed Processing 1.

    G. E. Hinton (2002). Training products of experts by minimizing contrastive divergence. Neural
    Computation 14(8). doi:10.1162/089976602760128018

    T. Tieleman (2008). Training restricted Boltzmann machines using approximations to the
    likelihood gradient. ICML. doi:10.1145/1390156.1390290

    Examples
    --------
    >>> import numpy as np
    >>> from panlearn.latent import BernoulliRBM
    >>> X = np.array([[1, 1, 0, 0], [0, 0, 1, 1]] * 50)
    >>> model = BernoulliRBM(4, n_iter=100, random_state=0).fit(X)
    >>> bool(model.log_likelihood([[1, 1, 0, 0]])[0] > model.log_likelihood([[1, 0, 1, 0]])[0] + 3)
    True
    """

    most_rows = 0  # products of NumPy alone, with nothing of SciPy's between them
    learned = shapes(
        components_="(n_components, n_features)",
        intercept_hidden_="(n_components,)",
        intercept_visible_="(n_features,)",
        h_samples_="(*, n_components)",
    )

    n_components: Count = 256
    _: KW_ONLY
    learning_rate: Positive[float] = 0.1
    batch_size: Count = 10
    n_iter: Count = 10
    persistent: bool = True
    n_gibbs: Count = 1
    random_state: RandomState = None

    @fitting
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, in 0 and 1 or between.
        y : object, default=None
            Ignored.

        Returns
        -------
        BernoulliRBM
            The model itself.
        """
        X, rng = self._rows(X), generator(self.random_state)
        dtype, size, n = X.dtype, self.batch_size, len(X)
        if max(X.max(), -X.min()) < 1e6:
            X = X.astype(np.float32, copy=False)
        layers, chains = self._begin(X, rng)
        seen: list[float] = []
        for _ in passes(self, self.n_iter):
            order = rng.permutation(n)
            for i in range(0, n, size):
                chains = self._step(layers, X[order[i : i + size]], chains, rng)
            sight = X[:1000]
            seen.append(float(np.mean((sight - layers.visible(layers.hidden(sight))) ** 2)))
        self.n_steps_ = len(seen) * -(-n // size)
        as_given = [a.astype(dtype, copy=False) for a in (*layers, chains)]
        return self._learned(Layers(*as_given[:3]), as_given[3], seen)

    @fitting
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Make one step with these rows as the batch.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        BernoulliRBM
            The model itself.
        """
        first = not self.__sklearn_is_fitted__()
        X, seed = self._rows(X, reset=first), self.random_state
        if isinstance(seed, int | np.integer):  # another stream at each call, the same again
            seed = np.random.default_rng([int(seed), 0 if first else self.n_steps_])
        rng = generator(seed)
        layers, chains = self._begin(X, rng) if first else (self._layers, self.h_samples_)
        layers = Layers(*(a.copy() for a in layers))  # the step is in place, and it may fail
        chains = self._step(layers, X, chains, rng)
        error = float(np.mean((X - layers.visible(layers.hidden(X))) ** 2))
        past = [] if first else self.history_["reconstruction_error"]
        self.n_steps_ = 1 if first else self.n_steps_ + 1
        return self._learned(layers, chains, [*past, error])

    def _begin(self, X: np.ndarray, rng: np.random.Generator) -> tuple[Layers, np.ndarray]:
        shape = (self.n_components, X.shape[1])
        require_memory((2, *shape), "the weights, twice,", "lower n_components")
        chains = (self.batch_size, self.n_components)
        require_memory((2, *chains), "the chains, twice,", "lower batch_size or n_components")
        layers = Layers(
            rng.normal(0, 0.01, size=shape).astype(X.dtype, copy=False),
            np.zeros(shape[1], dtype=X.dtype),
            np.zeros(shape[0], dtype=X.dtype),
        )
        return layers, np.zeros(chains, dtype=X.dtype)

    def _step(
        self, layers: Layers, batch: np.ndarray, chains: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Climb along the mean of h v' over the batch minus that over the chains, in place.

        Returns the states of the persistent chains.
        """
        W, b, c = layers
        up = layers.hidden(batch)
        states = chains if self.persistent else drawn(up, rng)
        sight, down = batch, up
        for _ in range(self.n_gibbs):
            sight = drawn(layers.visible(states), rng)
            down = layers.hidden(sight)
            states = drawn(down, rng)
        rate, free = self.learning_rate / len(batch), self.learning_rate / len(sight)
        W += rate * (up.T @ batch)
        W -= free * (down.T @ sight)
        b += rate * batch.sum(axis=0) - free * sight.sum(axis=0)
        c += rate * up.sum(axis=0) - free * down.sum(axis=0)
        return states if self.persistent else chains

    def _learned(self, layers: Layers, chains: np.ndarray, errors: list[float]) -> Self:
        self.components_, self.intercept_visible_, self.intercept_hidden_ = layers
        self.h_samples_, self.history_ = chains, {"reconstruction_error": errors}
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Give the probabilities of the hidden units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        self._require_fitted()
        X = self._rows(X, reset=False)
        out = np.empty((len(X), len(self.components_)), np.result_type(X, self.components_))
        together = rows_together(sum(self.components_.shape))
        in_parts(lambda part: self._layers.hidden(X[part], out[part]), len(X), together)
        return out

    def gibbs(self, X: Any, random_state: RandomState = None) -> np.ndarray:
        """Draw hidden states given rows, then rows given these.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        self._require_fitted()
        X, rng, layers = self._rows(X, reset=False), generator(random_state), self._layers
        return drawn(layers.visible(drawn(layers.hidden(X), rng)), rng)

    def sample(
        self, n_samples: int = 1, random_state: RandomState = None, n_steps: int = 1000
    ) -> np.ndarray:
        """Draw rows: the ends of chains that start from coins.

        Parameters
        ----------
        n_samples : int, default=1
            How many, each from a chain of its own.
        random_state : int, Generator, RandomState or None, default=None
            Seeds the draws.
        n_steps : int, default=1000
            Gibbs steps of a chain.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In 0 and 1.
        """
        self._require_fitted()
        rng, layers = generator(random_state), self._layers
        half = np.full((n_samples, self.n_features_in_), 0.5, dtype=self.components_.dtype)
        states = drawn(half, rng)
        for _ in range(n_steps):
            states = drawn(layers.visible(drawn(layers.hidden(states), rng)), rng)
        return states

    def free_energy(self, X: Any) -> np.ndarray:
        r"""Give F(v) of rows: minus their log-probability up to a constant.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._require_fitted()
        X = self._rows(X, reset=False)
        return self._layers.free_energy(X)

    def score_samples(self, X: Any) -> np.ndarray:
        r"""Give the pseudo-log-likelihood of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            :math:`\sum_i \log p(v_i \mid v_{-i})`.
        """
        self._require_fitted()
        X = self._rows(X, reset=False)
        return self._layers.pseudo_log_likelihood(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean pseudo-log-likelihood of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : object, default=None
            Ignored.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def log_partition(self) -> float:
        r"""Give the logarithm of :math:`\sum_{v, h} \exp(b^\top v + c^\top h + h^\top W v)`.

        Returns
        -------
        float
            Exact: every state of the smaller layer is visited.
        """
        self._require_fitted()
        W, b, c = (a.astype(float) for a in self._layers)
        layers = Layers(W, b, c) if W.shape[1] <= W.shape[0] else Layers(W.T, c, b)
        units = layers.weights.shape[1]
        if units > ENUMERABLE:
            raise ValueError(
                f"the smaller layer has {units} units and so 2^{units} states; the exact "
                f"likelihood is for up to {ENUMERABLE}: use score_samples or free_energy"
            )
        codes, step = np.arange(2**units), 1 << 14
        parts = [codes[i : i + step, None] >> np.arange(units) & 1 for i in codes[::step]]
        return float(logsumexp([logsumexp(-layers.free_energy(part)) for part in parts]))

    def log_likelihood(self, X: Any) -> np.ndarray:
        """Give the exact log-probability of binary rows, for a model with a small layer.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return -self.free_energy(X) - self.log_partition()

    def _rows(self, X: Any, reset: bool = True) -> np.ndarray:
        X = rows_in_memory(self, X, reset=reset)
        if max(X.max(), -X.min()) > np.finfo(X.dtype).max ** (1 / 3):
            raise ValueError("X has values whose products overflow; scale it to lie in [0, 1]")
        return X

    @property
    def _layers(self) -> Layers:
        return Layers(self.components_, self.intercept_visible_, self.intercept_hidden_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
