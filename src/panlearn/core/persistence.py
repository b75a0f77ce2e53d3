"""`save` and `load`: one file a model, arrays as safetensors, structure as JSON, no pickle.

The file is a safetensors file. Its tensors are the arrays of the model; its metadata hold the
format's version, the structure as JSON, and a SHA-256 digest over both. Loading looks classes up
in a closed list and runs nothing from the file; whatever was truncated or altered does not match
the digest and is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save as to_safetensors
from sklearn.base import BaseEstimator

import panlearn
from panlearn.core.encoding import Decoder, Encoder
from panlearn.core.extras import MissingExtraError
from panlearn.core.files import write_file

FORMAT = 1


class ModelFileError(ValueError):
    """The file is not a model that this version of panlearn can load."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, all or nothing.

    Parameters
    ----------
    model : estimator
        Any estimator of panlearn, or a scikit-learn pipeline of common transformers around one.
    path : path
        Where to. A crash while writing leaves the old file, or none.

    Examples
    --------
    >>> import panlearn, pathlib, tempfile
    >>> from panlearn.linear import Ridge
    >>> model = Ridge(alpha=0.5).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ridge.panlearn"
    >>> panlearn.save(model, path)
    >>> panlearn.load(path).predict([[3.0]]) == model.predict([[3.0]])
    array([ True])
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"panlearn.save takes an estimator; got a {type(model).__name__}")
    encoder = Encoder()
    structure = json.dumps(encoder.encode(model), separators=(",", ":"))
    metadata = {
        "format": f"panlearn {FORMAT}",
        "panlearn": panlearn.__version__,
        "structure": structure,
        "sha256": _digest(structure, encoder.arrays),
    }
    write_file(path, to_safetensors(encoder.arrays, metadata))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        As it was saved. A file that is truncated, altered, foreign or from a newer format raises
        `ModelFileError`.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}
    except Exception as error:
        raise ModelFileError(f"{path} is not a panlearn model: {error}") from error
    version = re.fullmatch("panlearn ([1-9][0-9]{0,8})", metadata.get("format", ""), re.ASCII)
    if version is None:
        raise ModelFileError(f"{path} was not written by panlearn.save")
    if int(version[1]) > FORMAT:
        raise ModelFileError(
            f"{path} has format {version[1]}, written by panlearn {metadata.get('panlearn')}; "
            f"this is {panlearn.__version__}, which reads up to {FORMAT}: upgrade panlearn"
        )
    structure = metadata.get("structure", "")
    if metadata.get("sha256") != _digest(structure, arrays):
        raise ModelFileError(f"{path} is damaged: its contents do not match its checksum")
    try:
        model = Decoder(arrays).decode(json.loads(structure))
    except MissingExtraError:
        raise
    except Exception as error:
        raise ModelFileError(f"{path} does not describe a known model: {error}") from error
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a model")
    return model


def _digest(structure: str, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(structure.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
