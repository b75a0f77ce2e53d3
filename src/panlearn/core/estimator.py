r"""The base of every estimator: a dataclass of hyper-parameters with scikit-learn's contract.

A subclass is decorated with ``@dataclass(eq=False, repr=False)``, names its hyper-parameters as
fields, and decorates ``fit`` and ``partial_fit`` with `fitting`. scikit-learn's `BaseEstimator`
reads the generated ``__init__`` for ``get_params``, ``clone`` and the display, so nothing is
written twice.
"""

from __future__ import annotations

import functools
import inspect
import sys
from abc import ABCMeta
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ClassVar, ParamSpec, TypeVar

from sklearn.base import BaseEstimator
from sklearn.callback import with_callbacks
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from panlearn.core.boundary import ANSWERS, LOGARITHMS, admit_all, answering, numbers_of, told
from panlearn.core.capabilities import Capabilities, require_source
from panlearn.core.elsewhere import anywhere
from panlearn.core.learned import Shape, shapes
from panlearn.core.parameters import check_parameters
from panlearn.core.porting import ported
from panlearn.core.threads import is_little, one_blas_thread

P = ParamSpec("P")
R = TypeVar("R")


class Constructed(ABCMeta):
    """Takes words of the peers in the constructor, and says what a wrong one may have meant."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """Show what the constructor takes, not what the call below does."""
        own = inspect.signature(cls.__init__)  # type: ignore[misc]
        return own.replace(parameters=list(own.parameters.values())[1:])

    def __init__(cls, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # outside of what scikit-learn's set_output puts around it, which would gather the rows
        if isinstance(method := vars(cls).get("transform"), FunctionType):
            type.__setattr__(cls, "transform", anywhere(method))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance."""
        if kwargs:
            kwargs = ported(cls.__name__, _own_parameters(cls), kwargs)
        return super().__call__(*args, **kwargs)


class Estimator(BaseEstimator, metaclass=Constructed):
    """The abstract base of panlearn's estimators.

    A class is abstract or final: what varies is composed from parts, never overridden. Whatever it
    answers with passes the door of `panlearn.core.boundary`. What it learns from is declared in
    ``capabilities``, and refused if it is not; the shapes of what it learns in ``learned``, and a
    file that has others is refused.
    """

    capabilities: ClassVar[Capabilities] = Capabilities()
    most_rows: ClassVar[int] = sys.maxsize
    """Rows for which one thread of BLAS may do; few where matrices are of all pairs of them."""
    learned: ClassVar[Mapping[str, Shape]] = shapes(
        feature_names_in_="(n_features,)", classes_="(n_classes,) or n_outputs of (*,)"
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if (can := cls.capabilities.of(cls)) != cls.capabilities:
            cls.capabilities = can  # only then: what is inherited follows the order of the bases
        rows = [name for name, method in vars(cls).items() if _takes_rows(name, method)]
        for name in dict.fromkeys((*ANSWERS, *LOGARITHMS, "score", *rows)):
            method = inspect.getattr_static(cls, name, None)
            if isinstance(method, FunctionType) and not hasattr(method, "_has_door"):
                setattr(cls, name, answering(method))
            elif name in vars(cls) and hasattr(method, "fn"):  # what available_if made
                setattr(cls, name, available_if(method.check)(answering(method.fn)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.capabilities.sparse
        tags.input_tags.allow_nan = self.capabilities.missing
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        known = vars(self)
        return "n_features_in_" in known or any(  # by which most are told at a look
            name.endswith("_") and not name.startswith("_") for name in known
        )

    def _require_fitted(self) -> None:
        """Raise scikit-learn's `NotFittedError` before `fit`."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit with training data first."
            )

    def __getattr__(self, name: str) -> Any:
        for base in type(self).__mro__:
            if name in base.__dict__:
                return object.__getattribute__(self, name)  # a property that failed says why itself
        # what is learned is asked for too early; NotFittedError is an AttributeError, too
        if name.endswith("_") and not name.startswith("_"):
            self._require_fitted()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


@functools.cache
def _own_parameters(cls: type) -> list[str]:
    return list(inspect.signature(cls).parameters)


def _takes_rows(name: str, method: Any) -> bool:
    """Whether it is a public method of X, and not one that learns, which has a door of its own."""
    if name.startswith(("_", "fit", "partial_fit")) or not isinstance(method, FunctionType):
        return False
    return method.__code__.co_varnames[1 : method.__code__.co_argcount][:1] == ("X",)


def fitting(method: Callable[P, R]) -> Callable[P, R]:
    """Run a ``fit``, ``fit_transform`` or ``partial_fit`` as a transaction.

    The hyper-parameters are checked first, then whether the class takes such samples at all. If the
    method fails, the estimator is left exactly as it was, so a fitted model survives a bad call.
    Callbacks are torn down in either case. BLAS has one thread if products are small.
    """
    names = list(inspect.signature(method).parameters)[1:]

    @functools.wraps(method)
    @with_callbacks
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_parameters(self)
        args, kwargs = admit_all(self, names, args, kwargs)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        require_source(self, given.get("X"), given.get("y"))
        before = dict(vars(self))
        if method.__name__ in ("fit", "fit_transform"):
            _forget(self)
        little = is_little(given.get("X"), self.most_rows)
        try:
            with told(given, numbers_of(self)), one_blas_thread(little):
                return method(self, *args, **kwargs)
        except BaseException:
            transient = {k: v for k, v in vars(self).items() if k in _CALLBACK_STATE}
            vars(self).clear()
            vars(self).update(before, **transient)
            raise

    return run


_CALLBACK_STATE = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


def _forget(estimator: Estimator) -> None:
    """Drop what an earlier fit learned, unless a warm start is to use it."""
    if getattr(estimator, "warm_start", False):
        return
    for name in [n for n in vars(estimator) if n.endswith("_") and not n.startswith("_")]:
        delattr(estimator, name)
