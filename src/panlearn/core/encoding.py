"""Models to JSON and arrays, and back: a closed list of types, nothing else.

JSON's own types stand for themselves. Anything else is an object ``{"#": tag, ...}``; arrays are
put aside under a number. `Decoder` knows these tags and the classes of the closed list, and sets
attributes; it calls nothing that a file could name.
"""

from __future__ import annotations

import importlib
import math
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

import panlearn
from panlearn.core import foreign
from panlearn.core.estimator import Estimator
from panlearn.core.extras import MissingExtraError
from panlearn.core.learned import check_learned
from panlearn.core.value import Value

_SPARSE = (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix)
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_KEPT_PRIVATE = ("_sklearn_output_config",)
_STATISTICS = ("core.statistics", "core.columns")
_OWN = ("panlearn.preprocessing.Pipeline",)  # scikit-learn's, with a method more


class Encoder:
    """Turns a model into JSON-able structure; its arrays gather in `arrays`."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._open: list[int] = []

    def encode(self, value: Any) -> Any:
        """Encode one value, and what it holds."""
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"#": "float", "value": repr(value)}
        if id(value) in self._open:
            raise TypeError(f"cannot save a {type(value).__name__} that contains itself")
        self._open.append(id(value))
        try:
            return self._encode_object(value)
        finally:
            self._open.pop()

    def _encode_object(self, value: Any) -> Any:
        if isinstance(value, np.ma.MaskedArray):
            parts = [self.encode(p) for p in (value.data, np.ma.getmaskarray(value))]
            return {"#": "masked", "parts": parts}
        if isinstance(value, np.ndarray | np.generic):
            return self._encode_array(value)
        if isinstance(value, list):
            return [self.encode(v) for v in value]
        if isinstance(value, tuple | set | frozenset) and type(value).__module__ == "builtins":
            items = value if isinstance(value, tuple) else sorted(value, key=_rank)
            return {"#": type(value).__name__, "value": [self.encode(v) for v in items]}
        if isinstance(value, dict):
            pairs = [[self.encode(k), self.encode(v)] for k, v in value.items()]
            return {"#": "dict", "value": pairs}
        if isinstance(value, slice):
            return {"#": "slice", "value": [value.start, value.stop, value.step]}
        if isinstance(value, np.dtype):
            return {"#": "dtype", "value": _checked_dtype(value.str).str}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"#": "scalar type", "value": value.__name__}
        if sparse.issparse(value):
            return self._encode_sparse(value)
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return self._encode_random(value)
        return self._encode_instance(value)

    def _encode_array(self, value: Any) -> Any:
        array, scalar = np.asarray(value), isinstance(value, np.generic)
        if array.dtype.kind in "OU":
            items = [self.encode(v) for v in array.ravel().tolist()]
            kind, shape = array.dtype.kind, list(array.shape)
            return {"#": "objects", "kind": kind, "shape": shape, "value": items}
        code: dict[str, Any] = {"#": "array", "scalar": scalar}
        if array.dtype.kind == "c":
            code["complex"] = array.dtype.str
            array = np.stack([array.real, array.imag], axis=-1)
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise TypeError(f"cannot save an array of dtype {array.dtype}")
        code["name"] = str(len(self.arrays))
        self.arrays[code["name"]] = np.asarray(array, array.dtype.newbyteorder("="), order="C")
        return code

    def _encode_sparse(self, value: Any) -> Any:
        if value.format not in ("csr", "csc"):
            raise TypeError(f"cannot save a sparse matrix in format {value.format}, only csr, csc")
        kind = "array" if isinstance(value, sparse.sparray) else "matrix"
        parts = [self.encode(p) for p in (value.data, value.indices, value.indptr)]
        name, shape = f"{value.format}_{kind}", list(value.shape)
        return {"#": "sparse", "kind": name, "shape": shape, "parts": parts}

    def _encode_random(self, value: Any) -> Any:
        legacy = isinstance(value, np.random.RandomState)
        generator = value._bit_generator if legacy else value.bit_generator
        return {"#": "random", "legacy": legacy, "state": self.encode(generator.state)}

    def _encode_instance(self, value: Any) -> Any:
        name = _public_name(type(value))
        if _find_class(name) is not type(value):
            raise TypeError(
                f"cannot save a {type(value).__name__}: panlearn.save takes panlearn's estimators, "
                "common scikit-learn transformers, numbers, strings, arrays and their containers"
            )
        foreign.check_harmless(value)
        encoded = {key: self.encode(v) for key, v in sorted(_state(value).items())}
        return {"#": "object", "class": name, "state": encoded}


def _state(value: Any) -> dict[str, Any]:
    """What of an object is saved: of a value its fields alone, for it may keep what it derived."""
    if isinstance(value, Value):
        kind: Any = type(value)
        return {field.name: getattr(value, field.name) for field in fields(kind)}
    state = foreign.state_of(value)
    if isinstance(value, Estimator):
        return {k: v for k, v in state.items() if not k.startswith("_") or k in _KEPT_PRIVATE}
    return state


class Decoder:
    """Rebuilds what `Encoder` encoded, given its arrays, each of which is used once.

    What it makes has a size of the order of what it is made from: a short file fills no memory.
    """

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self._arrays = dict(arrays)

    def decode(self, code: Any) -> Any:
        """Decode one value; an unknown tag or class is a ValueError."""
        if isinstance(code, list):
            return [self.decode(c) for c in code]
        if not isinstance(code, dict):
            return code
        tag = code["#"]
        method = getattr(self, f"_{tag.replace(' ', '_')}", None) if tag in _TAGS else None
        if method is None:
            raise ValueError(f"unknown tag {tag!r}")
        return method(code)

    def _float(self, code: dict) -> float:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[code["value"]]

    def _tuple(self, code: dict) -> tuple:
        return tuple(self.decode(code["value"]))

    def _set(self, code: dict) -> set:
        return set(self.decode(code["value"]))

    def _frozenset(self, code: dict) -> frozenset:
        return frozenset(self.decode(code["value"]))

    def _dict(self, code: dict) -> dict:
        return {self.decode(k): self.decode(v) for k, v in code["value"]}

    def _slice(self, code: dict) -> slice:
        return slice(*code["value"])

    def _dtype(self, code: dict) -> np.dtype:
        return _checked_dtype(code["value"])

    def _scalar_type(self, code: dict) -> type:
        return np.sctypeDict[code["value"]]

    def _array(self, code: dict) -> Any:
        array = self._arrays.pop(code["name"])
        if "complex" in code:
            kind = _checked_dtype(code["complex"], "c")
            array = (array[..., 0] + 1j * array[..., 1]).astype(kind)
        return array[()] if code["scalar"] else array

    def _objects(self, code: dict) -> Any:
        array = np.empty(len(code["value"]), dtype=object)
        for i, item in enumerate(code["value"]):  # one by one: an item may be a list
            array[i] = self.decode(item)
        if code["kind"] == "U":  # each string takes as much as the longest
            lengths = [len(item) for item in array]
            if len(array) * max(lengths, default=0) <= 64 * (sum(lengths) + 4096):
                array = array.astype(str)
        return array.reshape(code["shape"])

    def _masked(self, code: dict) -> np.ma.MaskedArray:
        data, mask = (self.decode(part) for part in code["parts"])
        if data.shape != mask.shape or mask.dtype != bool:
            raise ValueError("the mask of an array does not fit")
        return np.ma.MaskedArray(data, mask)

    def _sparse(self, code: dict) -> Any:
        make = {f.__name__: f for f in _SPARSE}[code["kind"]]
        matrix = make(tuple(self.decode(c) for c in code["parts"]), shape=tuple(code["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _random(self, code: dict) -> Any:
        state = self.decode(code["state"])
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise ValueError(f"unknown bit generator {state['bit_generator']}")
        # NumPy trusts these two positions in its buffers and would read beyond them
        inner = state["state"] if state["bit_generator"] == "MT19937" else state
        if not 0 <= inner.get("pos", 0) <= 624 or not 0 <= inner.get("buffer_pos", 0) <= 4:
            raise ValueError("the state of the random generator is out of range")
        bits = getattr(np.random, state["bit_generator"])(0)
        bits.state = state
        return np.random.RandomState(bits) if code["legacy"] else np.random.Generator(bits)

    def _object(self, code: dict) -> Any:
        cls = _find_class(code["class"])
        if cls is None:
            raise ValueError(f"class {code['class']!r} is not among those that can be loaded")
        state = {str(key): self.decode(value) for key, value in code["state"].items()}
        _check_attributes(cls, state)
        if issubclass(cls, Value):
            return cls(**state)
        value = foreign.revived(cls, state)
        if isinstance(value, Estimator):
            check_learned(value)
        return value


_TAGS = {
    *("float", "tuple", "set", "frozenset", "dict", "slice", "dtype", "scalar type", "array"),
    *("objects", "sparse", "random", "object", "masked"),
}


def _checked_dtype(text: str, kinds: str = "biufcUSmMO") -> np.dtype:
    """A plain type of at most 16 bytes an entry; one from a file may claim any size."""
    plain = re.fullmatch(rf"[<>|=][{kinds}]\d{{0,2}}(\[\d*\w{{1,2}}\])?", text, re.ASCII)
    if plain is None or np.dtype(text).itemsize > 16:
        raise TypeError(f"cannot save or load the dtype {text[:40]!r}")
    return np.dtype(text)


def _rank(member: Any) -> tuple[str, str]:
    """What orders a set, so that the same set is always the same file."""
    return type(member).__name__, repr(member)


def _public_name(cls: type) -> str:
    """The public path of a class: its module without private parts and, for ours, the family."""
    parts = cls.__module__.split(".")
    if issubclass(cls, BaseEstimator) and parts[0] == "panlearn":
        parts = parts[:2]
    elif parts[0] == "sklearn":
        parts = [p for p in parts if not p.startswith("_")]
    return ".".join([*parts, cls.__name__])


def _find_class(path: str) -> type | None:
    """Look a class up in the closed list; None if it is not there."""
    module_name, _, name = path.rpartition(".")
    if path in foreign.CLASSES:
        return getattr(importlib.import_module(module_name), name)
    root, _, inside = module_name.partition(".")
    family = inside.partition(".")[0]
    if root != "panlearn" or (family not in panlearn.FAMILIES and inside not in _STATISTICS):
        return None
    try:
        cls = getattr(importlib.import_module(module_name), name, None)
    except MissingExtraError:
        raise
    except ImportError:
        return None
    if not isinstance(cls, type) or not (issubclass(cls, Estimator | Value) or path in _OWN):
        return None
    return cls if _public_name(cls) == path else None


def _check_attributes(cls: type[Any], state: dict[str, Any]) -> None:
    """Let a file set hyper-parameters and what was learned, and hide no method behind them.

    A value (a statistic, a kernel) has just its fields; an estimator of ours has all its fields and
    names that end in an underscore; one of scikit-learn's may have private attributes too.
    """
    names = {f.name for f in fields(cls)} if is_dataclass(cls) else foreign.parameters_of(cls)
    if issubclass(cls, Value):
        allowed = set()
    else:
        theirs = not issubclass(cls, Estimator)
        allowed = {k for k in state if _is_learned(k) or (theirs and _is_private(k))}
        allowed = {k for k in allowed if not callable(getattr(cls, k, None))} | set(_KEPT_PRIVATE)
    if issubclass(cls, Estimator):  # a field that is newer than the file has its default
        for field in fields(cls):
            if field.name not in state and field.default is not MISSING:
                state[field.name] = field.default
    unknown, missing = set(state) - names - allowed, names - set(state)
    if unknown or missing:
        raise ValueError(
            f"{cls.__name__} with attributes {sorted(unknown)} too many, {sorted(missing)} too few"
        )


def _is_learned(name: str) -> bool:
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def _is_private(name: str) -> bool:
    return name.isidentifier() and name.startswith("_") and not name.startswith("__")
