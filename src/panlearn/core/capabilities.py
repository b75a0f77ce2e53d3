"""What an estimator can learn from: declared on its class, and refused elsewhere in one way."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from sklearn.utils import get_tags

from panlearn.core.sources import Batches, as_batches, is_dask

Source = Literal["array", "stream", "dask"]
ANYWHERE: tuple[Source, ...] = ("array", "stream", "dask")

_WORDS: dict[Source, str] = {
    "array": "data in memory",
    "stream": "a stream of batches",
    "dask": "a Dask collection",
}


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a class promises to take; every promise is a test, and what it does not is refused.

    Parameters
    ----------
    sources : tuple of {"array", "stream", "dask"}
        Where `fit` takes its samples from: memory (an array, a data frame, a list), a stream of
        batches (`panlearn.Batches`), a Dask collection.
    any_order : bool
        Whether the order of the samples leaves the model as it is, to rounding.
    partial_fit : {"exact", "steps", None}
        What `partial_fit` promises. "exact": whatever the parts and their order, the model is that
        of `fit` to all of them. "steps", the default: what was learned is gone on from. None where
        a class has no such method.
    weights : bool
        Whether `fit` takes ``sample_weight``: found out from its signature.
    missing : bool
        Whether NaN in X is a missing entry. scikit-learn's tag follows it, as that of `sparse`.
    sparse : bool
        Whether X may be a sparse matrix.
    float32 : bool
        Whether float32 in X is computed with and comes out.
    """

    sources: tuple[Source, ...] = ("array",)
    any_order: bool = False
    partial_fit: Literal["exact", "steps"] | None = None
    weights: bool = False
    missing: bool = False
    sparse: bool = False
    float32: bool = True

    def __str__(self) -> str:
        goes_on = {
            "exact": "partial_fit, which gives the fit to all parts",
            "steps": "partial_fit, which goes on from what was learned",
        }
        said = {
            " or ".join(_WORDS[source] for source in self.sources): True,
            "sample_weight": self.weights,
            "NaN as missing": self.missing,
            "sparse X": self.sparse,
            "float32": self.float32,
            "samples in any order": self.any_order,
            goes_on.get(self.partial_fit or "", ""): self.partial_fit,
        }
        return "; ".join(words for words, holds in said.items() if holds)

    def of(self, cls: type) -> Self:
        """The same with what the methods of a class say by themselves."""
        fit = getattr(cls, "fit", None)
        return replace(
            self,
            weights=fit is not None and "sample_weight" in inspect.signature(fit).parameters,
            partial_fit=(self.partial_fit or "steps") if hasattr(cls, "partial_fit") else None,
        )


def require_weighing(estimator: Any, weight: Any) -> None:
    """Refuse weights in the batches of a stream for a class whose `fit` takes none."""
    can: Capabilities | None = getattr(estimator, "capabilities", None)  # a function has none
    if weight is not None and can is not None and not can.weights:
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight, and the batches have one; give "
            "tuples (X, y)"
        )


def require_source(estimator: Any, X: Any, y: Any = None) -> None:
    """Refuse samples that come from where the class does not take them from."""
    can: Capabilities = estimator.capabilities
    source = source_of(estimator, X, y)
    if source in can.sources:
        return
    takes = " or ".join(_WORDS[s] for s in can.sources)
    if source == "dask":
        remedy = "give X.compute(), or that of a sample"
    else:
        remedy = "join the batches, or give a sample of them"
    if can.partial_fit and source == "stream":
        remedy += "; or call partial_fit with one batch after the other"
    raise ValueError(
        f"{type(estimator).__name__} takes {takes}, and X is {_WORDS[source]}; {remedy}"
    )


def source_of(estimator: Any, X: Any, y: Any = None) -> Source:
    """Where samples come from, given what an estimator takes for one."""
    if is_dask(X):
        return "dask"
    if isinstance(X, Batches):
        return "stream"
    if hasattr(X, "shape") or not isinstance(X, list | tuple | Iterator):
        return "array"
    wants = get_tags(estimator).input_tags
    if isinstance(X, Iterator):  # of documents it is a list
        return "array" if wants.string and not wants.two_d_array else "stream"
    batches = wants.two_d_array and y is None and as_batches(X) is not None
    return "stream" if batches else "array"
