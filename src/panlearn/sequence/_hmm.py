"""What hidden Markov models share: the chain; what the states emit is a part that differs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, overload

import numpy as np

from panlearn.core.capabilities import ANYWHERE, Capabilities
from panlearn.core.em import expectation_maximisation
from panlearn.core.learned import shapes
from panlearn.core.map_reduce import map_reduce
from panlearn.core.parameters import Bounds, RandomState, check_parameters
from panlearn.core.progress import Iterative
from panlearn.core.random import generator
from panlearn.core.sources import Rows, SequenceRows, Sequences
from panlearn.core.starts import best_of
from panlearn.sequence._base import SequenceModel, in_shape, unstacked
from panlearn.sequence._emissions import Emission
from panlearn.sequence._hidden_chain import (
    Chain,
    Maximisation,
    Smoothing,
    decode,
    expect,
    expect_best,
    likelihood,
)
from panlearn.sequence._path_kernels import draw_path

States = Annotated[int, Bounds(0, 1 << 15)]
"""How many hidden states a model may have."""
Prior = Annotated[float, Bounds(1, closed_low=True)] | np.ndarray
"""A parameter of a Dirichlet prior, or an array of them; it adds itself less one to a count."""


class HiddenMarkovModel(Iterative, SequenceModel):
    """A chain of hidden states of which each step shows what its state emits."""

    learned = shapes(
        startprob_="(n_components,)",
        transmat_="(n_components, n_components)",
    )

    capabilities = Capabilities(sources=ANYWHERE, any_order=True, missing=True)

    n_components: int
    params: str
    init_params: str
    algorithm: str
    training: str
    startprob_init: Any
    transmat_init: Any
    startprob_prior: Any
    transmat_prior: Any
    max_iter: int
    tol: float
    random_state: RandomState
    startprob_: np.ndarray
    transmat_: np.ndarray
    _letters: ClassVar[str]

    @property
    def warm_start(self) -> bool:
        """Whether `fit` starts from attributes, those that `init_params` leaves out."""
        return not set(self._letters) <= set(self.init_params)

    def _given(self, name: str) -> Any:
        """What to start from: an attribute that `init_params` leaves out, or what is given."""
        given = getattr(self, name + "_init")
        if name[0] in self.init_params:
            return given
        found = getattr(self, name + "_", given)
        if found is None:
            raise ValueError(
                f"init_params leaves out {name[0]!r}, so there must be something to start from: "
                f"set {name}_ or {name}_init"
            )
        return found

    @abstractmethod
    def _values(self, X: Any) -> tuple[Sequences, bool]:
        """New sequences, and whether there is a single one."""

    @abstractmethod
    def _emission(self) -> Emission:
        """What was learned of the emissions."""

    @abstractmethod
    def _attributes(self, at: Chain, dtype: np.dtype) -> dict[str, Any]:
        """The fitted attributes."""

    def _learn(self, rows: Rows, emissions: list[Emission]) -> None:
        """Run EM from each start, and keep the best."""
        k = self.n_components
        startprob = law("startprob_init", self._given("startprob"), (k,))
        transmat = law("transmat_init", self._given("transmat"), (k, k))
        for name in ("params", "init_params"):
            if not set(getattr(self, name)) <= set(self._letters):
                raise ValueError(
                    f"{name} holds letters of {self._letters!r}; got {getattr(self, name)!r}"
                )
        startprob_prior = prior("startprob_prior", self.startprob_prior, (k,))
        transmat_prior = prior("transmat_prior", self.transmat_prior, (k, k))
        step = expect if self.training == "baum-welch" else expect_best

        def run(estimator: Any, start: Chain) -> Chain:
            return expectation_maximisation(
                estimator,
                rows,
                start,
                expect=step,
                maximise=Maximisation(start, startprob_prior, transmat_prior, self.params),
                max_iter=self.max_iter,
                tol=self.tol,
                attributes=lambda at: self._attributes(at, rows.dtype),
            )

        def value(at: Chain) -> float:
            total: Any = map_reduce(lambda X, y, weight: likelihood(at, X, y, weight), rows)
            return total.log_likelihood

        starts = [Chain(startprob, transmat, emission) for emission in emissions]
        best = best_of(self, rows, starts, run, value)
        for name, found in self._attributes(best, rows.dtype).items():
            setattr(self, name, found)

    def _chain(self) -> Chain:
        self._require_fitted()
        start, steps = self.startprob_.astype(float), self.transmat_.astype(float)
        steps /= steps.sum(axis=1, keepdims=True)  # float32 sums to one in seven digits
        return Chain(start / start.sum(), steps, self._emission())

    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Give the log-likelihood of each sequence.

        Parameters
        ----------
        X : array-like, or list of them
            One sequence, or several of any lengths.
        lengths : array-like of int, default=None
            The lengths of sequences that X has one below the other.

        Returns
        -------
        ndarray of shape (n_sequences,)
            Minus infinity for a sequence that the model does not allow.
        """
        at, (sequences, _) = self._chain(), self._values(unstacked(X, lengths))
        blocks = SequenceRows(sequences, None, None)
        return np.concatenate([Smoothing(at, block.X).log_likelihood for block in blocks])

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """Give the probabilities of the states at each step, given the whole sequence.

        Parameters
        ----------
        X : array-like, or list of them
            One sequence, or several of any lengths.
        lengths : array-like of int, default=None
            The lengths of sequences that X has one below the other.

        Returns
        -------
        ndarray of shape (T, n_components), or list of them
        """
        at, (sequences, single) = self._chain(), self._values(unstacked(X, lengths))
        out = np.empty((len(sequences.values), self.n_components), self.transmat_.dtype)
        done = 0
        for block in SequenceRows(sequences, None, None):
            for part, share in Smoothing(at, block.X).back(np.ones(len(block.X))):
                out[done + part.start : done + part.stop] = share
            done += len(block.X.values)
        return in_shape(out, sequences, single)

    def decode(self, X: Any, lengths: Any = None) -> tuple[np.ndarray, Any]:
        """Give the most probable path of each sequence, and the logarithm of its probability.

        Parameters
        ----------
        X : array-like, or list of them
            One sequence, or several of any lengths.
        lengths : array-like of int, default=None
            The lengths of sequences that X has one below the other.

        Returns
        -------
        log_probability : ndarray of shape (n_sequences,)
            That of the path and the sequence together.
        states : ndarray of shape (T,), or list of them
        """
        at, (sequences, single) = self._chain(), self._values(unstacked(X, lengths))
        found = [decode(at, block.X) for block in SequenceRows(sequences, None, None)]
        values, paths = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return values, in_shape(paths, sequences, single)

    @overload
    def predict(self, X: np.ndarray, lengths: None = None) -> np.ndarray: ...

    @overload
    def predict(self, X: list[np.ndarray], lengths: None = None) -> list[np.ndarray]: ...

    @overload
    def predict(self, X: Any, lengths: Any = None) -> Any: ...

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """Give the states: the most probable path, or by `algorithm` the best state of each step.

        Parameters
        ----------
        X : array-like, or list of them
            One sequence, or several of any lengths.
        lengths : array-like of int, default=None
            The lengths of sequences that X has one below the other.

        Returns
        -------
        ndarray of shape (T,), or list of them
        """
        if self.algorithm == "viterbi":
            return self.decode(X, lengths)[1]
        found = self.predict_proba(X, lengths)
        if isinstance(found, list):
            return [p.argmax(axis=1) for p in found]
        return found.argmax(axis=1)

    def _draw(self, n_steps: int, random_state: RandomState) -> tuple[np.ndarray, np.ndarray]:
        """What a sequence of states emits, and the states."""
        at, rng = self._chain(), generator(random_state)
        states = np.empty(n_steps, dtype=np.int64)
        if n_steps:
            first = int(rng.choice(self.n_components, p=at.startprob))
            draw_path(first, np.cumsum(at.transmat, axis=1), rng.random(n_steps), states)
        return at.emission.sample(states, rng), states

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Give the Bayesian information criterion on sequences; lower is better.

        Parameters
        ----------
        X : array-like, or list of them
            One sequence, or several of any lengths; every step counts as an observation.
        lengths : array-like of int, default=None
            The lengths of sequences that X has one below the other.

        Returns
        -------
        float
        """
        steps = len(self._values(unstacked(X, lengths))[0].values)
        value = self.score_samples(X, lengths).sum()
        return float(-2 * value + self._n_parameters() * np.log(steps))

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Give Akaike's information criterion on sequences; lower is better.

        Parameters
        ----------
        X : array-like, or list of them
            One sequence, or several of any lengths.
        lengths : array-like of int, default=None
            The lengths of sequences that X has one below the other.

        Returns
        -------
        float
        """
        return float(-2 * self.score_samples(X, lengths).sum() + 2 * self._n_parameters())

    def _n_parameters(self) -> int:
        at = self._chain()
        laws = int((at.startprob > 0).sum() - 1 + (at.transmat > 0).sum() - len(at.transmat))
        return laws + at.emission.n_parameters


def told(cls: type, n_components: int, learned: dict[str, Any], **parameters: Any) -> Any:
    """A model of known parameters, as if it were fitted."""
    model = cls(n_components, **parameters)
    check_parameters(model)
    for name, value in learned.items():
        setattr(model, name, value)
    model._chain()  # refuses what is no model
    return model


def matrix_shape(name: str, given: Any, ndim: int) -> tuple[int, ...]:
    """The shape of an array of so many axes."""
    shape = np.shape(given)
    if len(shape) != ndim:
        raise ValueError(f"{name} must have {ndim} axes; got the shape {shape}")
    return shape


def spread_over(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Finite numbers of a shape, or one number for all of it."""
    return numbers(name, np.full(shape, given) if np.ndim(given) == 0 else given, shape)


def law(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Probabilities that sum to one in each row, as they are given, or uniform."""
    if given is None:
        return np.full(shape, 1 / shape[-1])
    array = numbers(f"the probabilities {name}", given, shape)
    if not (array >= 0).all() or not np.allclose(array.sum(axis=-1), 1, rtol=0, atol=1e-6):
        raise ValueError(f"each row of {name} must hold probabilities that sum to one")
    return array / array.sum(axis=-1, keepdims=True)


def prior(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Parameters of a Dirichlet law, of at least one, so that its mode exists."""
    array = spread_over(name, given, shape)
    if not (array >= 1).all():
        raise ValueError(f"{name} must be at least 1, which adds nothing to the counts")
    return array


def numbers(name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Finite numbers of a shape."""
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error
    if array.shape != shape or not np.isfinite(array).all():
        got = array.shape if array.shape != shape else "NaN or infinity among them"
        raise ValueError(f"{name} must hold finite numbers of shape {shape}; got {got}")
    return array
