"""Model files by an author who can compute a checksum: loaded, asked and learned from.

A script, in a process of its own: ``crafted_files.py FOLDER SEED COUNT`` alters each model file of
a folder so many times, and prints how that went as JSON. Kernels run as plain Python there, where
an index beyond an array is an IndexError; one that leaves a kernel would have been a read or a
write outside of the array in compiled code. (An index below zero counts from the end in both.)
"""

import collections
import copy
import functools
import json
import resource
import signal
import sys
import warnings
from pathlib import Path

import numpy as np

ASKED = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "sample")
LIMIT = 20  # seconds for all questions to a model
ROOM = 1 << 31  # bytes that one may take
KINDS = ("f4", "f8", "i4", "i8", "u1", "?")
WHOLE = (-1, -(10**6), 10**6, 2**31 - 1, 127, 0, 1)
REAL = (np.nan, np.inf, -np.inf, 1e300, -1.0, 0.0)
# How a crafted file may end; the words are those of the status page.
REFUSED = "refused at load"
FAILED = "loaded, an ordinary error when asked"
ANSWERED = "loaded, an answer when asked"
OTHERS = (0, -1, 1, 7, 10**6, True, None, 2.5, "nonsense", [])


class OutOfBoundsError(BaseException):
    """A kernel was led out of its arrays; not an Exception, so that nothing takes it for one."""


class TooLongError(BaseException):
    """A model does not answer."""


def watched(function=None, **options):
    """Stand in for `panlearn.core.jit.jit`: the function itself, with an eye on its indices."""
    if function is None:
        return functools.partial(watched, **options)

    @functools.wraps(function)
    def kernel(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except IndexError as error:
            raise OutOfBoundsError(f"{function.__module__}.{function.__name__}: {error}") from error

    return kernel


def sites(code, learned=False, where=()):
    """Places in the structure of a model that a file decides: what was learned, and all words."""
    if isinstance(code, dict) and code.get("#") == "object":
        ours = code["class"].startswith("panlearn.")
        for name, value in code["state"].items():
            inner = learned or name.endswith("_") or not ours
            yield from sites(value, inner, (*where, "state", name))
    elif isinstance(code, dict) and code.get("#") == "array":
        if learned:
            yield where
    elif isinstance(code, dict):
        for key in [key for key in ("value", "parts") if key in code]:
            yield from sites(code[key], learned, (*where, key))
    elif isinstance(code, list):
        if learned and code:
            yield where
        for i, value in enumerate(code[:50]):
            yield from sites(value, learned, (*where, i))
    elif learned or isinstance(code, str):
        yield where


def at(code, where):
    """What stands at a place."""
    return functools.reduce(lambda part, key: part[key], where, code)


def altered(array, rng):
    """Another shape, another type, or another value."""
    way = rng.choice(["cut", "double", "empty", "turn", "axis", "cast", "entry", "fill"])
    axis = int(rng.integers(max(array.ndim, 1)))
    if array.ndim and way == "cut":
        return np.delete(array, slice(0, 1) if rng.random() < 0.5 else slice(-1, None), axis)
    if array.ndim and way == "double":
        return np.concatenate([array, array], axis)
    if array.ndim and way == "empty":
        return np.take(array, [], axis)
    if way == "turn":
        return array[::-1] if array.ndim == 1 else array.T
    if way == "axis":
        return array.reshape(-1) if array.ndim > 1 else array[None]
    if way == "cast":
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(KINDS))
    array = array.copy()
    if array.size:
        values = np.array(REAL if array.dtype.kind == "f" else WHOLE)
        with np.errstate(all="ignore"):
            value = rng.choice(values).astype(array.dtype)
        array.reshape(-1)[... if way == "fill" else int(rng.integers(array.size))] = value
    return array


def crafted(structure, arrays, rng):
    """Alter one place or two; give what was done, too."""
    structure, arrays, done = copy.deepcopy(structure), dict(arrays), []
    places = list(sites(structure))
    with_arrays = [p for p in places if isinstance(at(structure, p), dict)]
    for _ in range(int(rng.integers(1, 3))):
        some = with_arrays if with_arrays and rng.random() < 0.7 else places
        where = some[int(rng.integers(len(some)))]
        found = at(structure, where)
        if isinstance(found, dict):
            array = arrays[found["name"]] = np.ascontiguousarray(
                altered(arrays[found["name"]], rng)
            )
            done.append(f"{where[1:]}: {array.dtype} {array.shape}")
            continue
        if isinstance(found, list) and rng.random() < 0.7:
            new = found[:-1] if rng.random() < 0.5 else [*found, copy.deepcopy(found[-1])]
        else:
            new = OTHERS[int(rng.integers(len(OTHERS)))]
        at(structure, where[:-1])[where[-1]] = new
        done.append(f"{where[1:]}: {json.dumps(new)[:60]}")
        break  # what lay within is another now
    return structure, arrays, "; ".join(done)


def write(path, metadata, structure, arrays):
    """Write a file that is what its checksum says."""
    from panlearn.core.tensors import array_part, digest, write_tensors

    text = json.dumps(structure)
    parts = [array_part(name, array) for name, array in arrays.items()]
    write_tensors(path, {**metadata, "structure": text, "sha256": digest(text, parts)}, parts)


def ask(model, X, y):
    """Ask all that it answers, and teach it; tell whether it answered all."""
    fine = True
    for name in (*ASKED, "partial_fit"):
        try:
            method = getattr(model, name, None)
            if name == "sample" and callable(method):
                method(2, random_state=0)
            elif callable(method):
                method(X, y) if name == "partial_fit" else method(X)
        except Exception:
            fine = False
    return fine


def outcome(path, X, y):
    """How a file ends: it is refused, its model raises, or it answers whatever it may."""
    import panlearn
    from panlearn.core.persistence import ModelFileError

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.alarm(LIMIT)
    try:
        model = panlearn.load(path)
        kind = ANSWERED if ask(model, X, y) else FAILED
    except ModelFileError:
        kind = REFUSED
    except OutOfBoundsError as error:
        kind = f"out of bounds: {error}"
    except TooLongError:
        kind = "without end"
    except Exception as error:
        kind = f"another error at load: {error!r}"
    finally:
        signal.alarm(0)
    taken = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return kind if taken < ROOM else f"took {taken >> 20} MB"


def stop(number, frame):
    """End a question that takes too long."""
    raise TooLongError


def main(folder, seed, count):
    """Try all files of a folder."""
    import panlearn.core.jit

    panlearn.core.jit.jit = watched
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from conftest import Library
    from panlearn.core.tensors import read_tensors

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    outcomes, wrong = collections.Counter(), []
    classes = dict(panlearn.all_estimators())
    with np.errstate(all="ignore"):
        for path in sorted(Path(folder).glob("*.panlearn")):
            metadata, arrays = read_tensors(path)
            structure = json.loads(metadata["structure"])
            X, y = Library.problem(classes[path.stem], n=30)
            if outcome(path, X, y) != ANSWERED:  # else a question that is wrong would hide much
                wrong.append(f"{path.stem} as it was saved: does not answer")
            rng = np.random.default_rng([int(seed), sum(map(ord, path.stem))])
            for _ in range(int(count)):
                *parts, done = crafted(structure, arrays, rng)
                file = path.with_suffix(".crafted")
                write(file, metadata, *parts)
                kind = outcome(file, X, y)
                outcomes[kind.partition(":")[0]] += 1
                if kind not in (REFUSED, FAILED, ANSWERED):
                    wrong.append(f"{path.stem}, {done}: {kind}")
    print(json.dumps({"outcomes": outcomes, "wrong": wrong}))


if __name__ == "__main__":
    main(*sys.argv[1:])
