"""What variational autoencoders share: the two networks, their bound, and codes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import nn

from panlearn.core.parameters import Count, RandomState
from panlearn.generative._base import GenerativeModel, UnconditionalModel
from panlearn.generative._convolutional import Networks
from panlearn.generative._likelihoods import Categorical, Likelihood, likelihood_class
from panlearn.generative._sizes import Sizes
from panlearn.neural._draws import Draws
from panlearn.neural._layers import Activation


class EncoderDecoder(nn.Module):
    r"""Two networks: :math:`q(z \mid x) = N(\mu(x), \sigma(x)^2)`, and what x is given z.

    Parameters
    ----------
    likelihood : Likelihood
        The distribution of x given z.
    n_components : int
        Latent variables.
    make : Networks
        What the two are made of.
    n_conditions : int
        Columns that both networks see beside their input.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        n_components: int,
        make: Networks,
        n_conditions: int = 0,
    ) -> None:
        super().__init__()
        self.likelihood, self.n_components = likelihood, n_components
        n_in, n_out = likelihood.n_inputs + n_conditions, likelihood.n_outputs
        self.encoder = make.encoder(n_in, 2 * n_components)
        self.decoder = make.decoder(n_components + n_conditions, n_out)

    def encode(
        self, x: torch.Tensor, *condition: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and log deviation of the latent variables of rows (n, d)."""
        seen = torch.cat([self.likelihood.seen(x.flatten(1)), *condition], dim=1)
        mean, log_scale = self.encoder(seen).chunk(2, dim=1)
        return mean, log_scale.clamp(-10, 10)

    def decode(self, z: torch.Tensor, *condition: torch.Tensor) -> torch.Tensor:
        """The outputs that the likelihood reads, for z of shape (..., n_components)."""
        wide = [c.expand(*z.shape[:-1], c.shape[-1]) for c in condition]
        return self.decoder(torch.cat([z, *wide], dim=-1))


@dataclass(eq=False, repr=False)
class VariationalModel(GenerativeModel):
    """A variational autoencoder; abstract.

    Parameters
    ----------
    n_components : int, default=2
        Latent variables.
    hidden_layer_sizes : int or tuple of int, default=(64,)
        Units of the hidden layers of the encoder; the decoder has them in reverse. () makes both
        linear.
    activation : str, default="tanh"
        Their activation, as in `neural.MLPClassifier`.
    convolutions : int or tuple of int, default=()
        Of images, channels of convolutions at each size, from the largest down, in the place of the
        hidden layers: (16, 32) halves the images twice. () takes images as rows of their pixels.
    likelihood : {"gaussian", "bernoulli", "categorical"}, default="gaussian"
        What an entry is given z: a number, a zero or one, or a whole number from 0 that names a
        category.
    """

    n_components: Count = 2
    hidden_layer_sizes: Sizes = (64,)
    _: KW_ONLY
    activation: Activation = "tanh"
    convolutions: Sizes = ()
    likelihood: Literal["gaussian", "bernoulli", "categorical"] = "gaussian"

    def _standardizes(self) -> bool:
        return likelihood_class(self.likelihood).standardizes

    def _check_examples(self, X: np.ndarray) -> None:
        likelihood_class(self.likelihood).check(X)
        if self.likelihood != "categorical":
            return
        rows = X.reshape(len(X), -1)
        if "n_categories_" not in vars(self) or "weights_" not in vars(self):
            self.n_categories_ = rows.max(axis=0).astype(int) + 1
        if (rows >= self.n_categories_).any():
            raise ValueError(
                "X has categories that were not there in fit; there are at most "
                f"{self.n_categories_.max()} of them, counted from 0"
            )

    def _likelihood(self) -> Likelihood:
        if self.likelihood == "categorical":
            return Categorical(self.n_categories_)
        return likelihood_class(self.likelihood)(self._inner_size)

    def _autoencoder(self, n_conditions: int = 0) -> EncoderDecoder:
        return EncoderDecoder(
            self._likelihood(),
            self.n_components,
            Networks(
                self.image_shape_, self.hidden_layer_sizes, self.activation, self.convolutions
            ),
            n_conditions,
        )

    def _codes(self, X: np.ndarray, *condition: np.ndarray) -> np.ndarray:
        codes = self._by_rows(lambda *rows: self._part.encode(*rows)[0], X, *condition)
        return codes.astype(self.mean_.dtype, copy=False)

    def _decoded(self, Z: Any, *condition: np.ndarray) -> np.ndarray:
        """The means of examples with these codes."""
        codes = self._read_codes(Z)
        part = self._part

        def means(*rows: torch.Tensor) -> torch.Tensor:
            return part.likelihood.mean(part.decode(*rows))

        return self._restored(self._by_rows(means, codes, *condition))

    def _read_codes(self, Z: Any) -> np.ndarray:
        self._require_fitted()
        return read_codes(Z, self.n_components, self._floats)

    @property
    def _part(self) -> EncoderDecoder:
        """The two networks of the module."""
        module: Any = self.module_
        return module if isinstance(module, EncoderDecoder) else module.autoencoder

    def _drawn(self, z: torch.Tensor, draws: Draws, *condition: torch.Tensor) -> torch.Tensor:
        return self._part.likelihood.draw(self._part.decode(z, *condition), draws)

    def _bound(
        self, estimate: Any, n_draws: int, random_state: RandomState, *arrays: np.ndarray
    ) -> np.ndarray:
        """The mean of so many estimates of a bound for each row, in the units of the examples."""
        if n_draws < 1:
            raise ValueError(f"n_draws={n_draws!r} must be at least one")
        noise = self._noise(random_state)

        def mean(*rows: torch.Tensor) -> torch.Tensor:
            draws = noise(len(rows[0]))
            return sum(estimate(draws, *rows) for _ in range(n_draws)) / n_draws

        bound = self._by_rows(mean, *arrays) - self._log_scale
        return bound.astype(self.mean_.dtype, copy=False)


@dataclass(eq=False, repr=False)
class VariationalTransformer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, VariationalModel, UnconditionalModel
):
    """A variational autoencoder of examples alone; abstract."""

    def transform(self, X: Any) -> np.ndarray:
        r"""Describe examples by the means :math:`\mu(x)` of their latent variables.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n, h, w) or (n, c, h, w)
            Examples like those of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self._codes(self._examples(X))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Give the mean of the examples with given latent variables.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Latent variables.

        Returns
        -------
        ndarray of shape (n_samples, n_features), (n_samples, h, w) or (n_samples, c, h, w)
            Of categories the most probable.
        """
        return self._decoded(X)

    @property
    def _n_features_out(self) -> int:
        self._require_fitted()
        return self.n_components


def read_codes(Z: Any, n_components: int, floats: Any) -> np.ndarray:
    """Codes of shape (n, n_components) that are finite."""
    codes = np.asarray(Z, dtype=floats)
    if codes.ndim != 2 or codes.shape[1] != n_components or not np.isfinite(codes).all():
        raise ValueError(
            f"codes are finite numbers of shape (n, {n_components}), as transform gives them; got "
            f"shape {codes.shape}"
        )
    return codes
