"""What follows from the state of an object: made when it is first asked for, and never saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload
from weakref import WeakKeyDictionary

T = TypeVar("T")
_PLAIN = (str, int, float, bool, type(None), tuple)


def derived(*names: str) -> Callable[[Callable[[Any], T]], Derived[T]]:
    """Make a property that is worked out once from attributes, and anew once one is another.

    It is kept beside the object and not in it, so that it is neither pickled nor saved, copied or
    cloned, and gone with the object. Arrays and the like are the same if they are the same object;
    numbers, words and tuples of them if they are equal. What was made elsewhere, as by a fit, may
    be assigned: it holds for the attributes as they are then. It must not refer to the object.

    Parameters
    ----------
    *names : str
        The attributes that it follows from.

    Examples
    --------
    >>> from panlearn.core.derived import derived
    >>> class Words:
    ...     def __init__(self, words):
    ...         self.words_ = words
    ...
    ...     @derived("words_")
    ...     def _numbers(self):
    ...         return {word: i for i, word in enumerate(self.words_)}
    >>> model = Words(["a", "b"])
    >>> model._numbers is model._numbers, list(vars(model))
    (True, ['words_'])
    """
    return lambda make: Derived(names, make)


class Derived(Generic[T]):
    """What `derived` makes of a method."""

    def __init__(self, names: tuple[str, ...], make: Callable[[Any], T]) -> None:
        self._names = names
        self._make = make
        self._kept: WeakKeyDictionary[Any, tuple[list[Any], T]] = WeakKeyDictionary()
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: None, cls: type) -> Derived[T]: ...
    @overload
    def __get__(self, owner: Any, cls: type) -> T: ...
    def __get__(self, owner: Any, cls: type) -> Any:
        if owner is None:
            return self
        state = [getattr(owner, name) for name in self._names]
        kept = self._kept.get(owner)
        if kept is not None and all(map(_same, kept[0], state)):
            return kept[1]
        value = self._make(owner)
        self._kept[owner] = state, value
        return value

    def __set__(self, owner: Any, value: T) -> None:
        self._kept[owner] = [getattr(owner, name) for name in self._names], value


def _same(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, _PLAIN) and type(a) is type(b) and bool(a == b))
