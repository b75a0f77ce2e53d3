"""`save` and `load`: one file a model, arrays as safetensors, structure as JSON, no pickle.

The file is a safetensors file. Its tensors are the arrays of the model; its metadata hold the
format's version, the structure as JSON, and a SHA-256 digest over both. Loading looks classes up
in a closed list and runs nothing from the file; whatever was truncated or altered does not match
the digest and is refused.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, TypeVar, overload

from sklearn.base import BaseEstimator

import panlearn
from panlearn.core.encoding import Decoder, Encoder
from panlearn.core.extras import MissingExtraError
from panlearn.core.tensors import array_part, digest, read_tensors, write_tensors

FORMAT = 1
M = TypeVar("M")


class ModelFileError(ValueError):
    """The file is not a model that this version of panlearn can load."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, all or nothing.

    Parameters
    ----------
    model : estimator
        Any estimator of panlearn, or one within scikit-learn's pipelines, common transformers,
        vectorisers, encoders, imputers or `GridSearchCV`, from a closed list.
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
    parts = [array_part(name, array) for name, array in encoder.arrays.items()]
    metadata = {
        "format": f"panlearn {FORMAT}",
        "panlearn": panlearn.__version__,
        "structure": structure,
        "sha256": digest(structure, parts),
    }
    write_tensors(path, metadata, parts)


@overload
def load(path: str | os.PathLike[str]) -> Any: ...


@overload
def load(path: str | os.PathLike[str], kind: type[M]) -> M: ...


def load(path: str | os.PathLike[str], kind: Any = None) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : path
        The file.
    kind : type, default=None
        The class that the model has to have; another is an error, and an editor knows what it gets.

    Returns
    -------
    estimator
        As it was saved. A file that is truncated, altered, foreign or from a newer format raises
        `ModelFileError`.
    """
    path = Path(path)
    if not path.is_file():
        found = "what is there is no file" if path.exists() else "there is nothing"
        raise FileNotFoundError(f"no model file at {path}: {found}")
    try:
        metadata, arrays = read_tensors(path)
        version = re.fullmatch("panlearn ([1-9][0-9]{0,8})", metadata.get("format", ""), re.ASCII)
        structure = metadata.get("structure", "")
        parts = [array_part(name, array) for name, array in arrays.items()]
        intact = metadata.get("sha256") == digest(structure, parts)
    except Exception as error:
        raise ModelFileError(f"{path} is not a panlearn model: {error}") from error
    if version is None:
        raise ModelFileError(f"{path} was not written by panlearn.save")
    if int(version[1]) > FORMAT:
        raise ModelFileError(
            f"{path} has format {version[1]}, written by panlearn {metadata.get('panlearn')}; "
            f"this is {panlearn.__version__}, which reads up to {FORMAT}: upgrade panlearn"
        )
    if not intact:
        raise ModelFileError(f"{path} is damaged: its contents do not match its checksum")
    try:
        model = Decoder(arrays).decode(json.loads(structure))
    except MissingExtraError:
        raise
    except Exception as error:
        raise ModelFileError(f"{path} does not describe a known model: {error}") from error
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a model")
    if kind is not None and not isinstance(model, kind):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a {kind.__name__}")
    return model
