"""What all tests share: one generator, one hypothesis profile, and every estimator of the library.

A test that names one of the arguments in `CLASSES` runs for each estimator that has the
capability, so a class that is added later is tested without a line written for it.
"""

import collections
import functools
import inspect
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn.base import is_classifier, is_clusterer, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

import panlearn
from panlearn.core import threads
from panlearn.core.progress import Iterative

pytest_plugins = ["browser", "heap"]

# Other examples in each run; one that fails is printed as a decorator that brings it back, and kept
# in .hypothesis to be tried first the next time. `--hypothesis-profile=fixed` tries the same ones.
settings.register_profile("panlearn", deadline=None, print_blob=True, max_examples=40)
settings.register_profile(
    "fixed", settings.get_profile("panlearn"), derandomize=True, database=None
)
settings.load_profile("panlearn")

# What a class can do is what it declares in `capabilities`.
CLASSES = {
    "every_class": lambda cls: True,
    "looping_class": lambda cls: issubclass(cls, Iterative),
    # densities; what else learns from sequences is tested beside its class
    "sequence_class": lambda cls: learns_from_sequences(cls) and hasattr(cls, "score_samples"),
    "document_class": lambda cls: learns_from_documents(cls),
}
# Most tests make rows and shuffle them. What learns from sequences is not among these: one sample
# is a whole sequence, and tests/contract/test_sequences.py says what holds of it; nor is what
# learns from documents, of which tests/contract/test_documents.py speaks.
ROW_CLASSES = {
    "any_class": lambda cls: True,
    "weighted_class": lambda cls: cls.capabilities.weights,
    # rows from any source, cut and ordered in any way; a histogram needs to be told its edges
    "stream_class": lambda cls: (
        cls.capabilities.any_order
        and "dask" in cls.capabilities.sources
        and cls.__name__ != "HistogramDensity"
    ),
    "exact_class": lambda cls: cls.capabilities.partial_fit == "exact",
    "online_class": lambda cls: cls.capabilities.partial_fit is not None,
    "iterative_class": lambda cls: issubclass(cls, Iterative),
    "predictor_class": lambda cls: hasattr(cls, "predict"),
    "transformer_class": lambda cls: hasattr(cls, "transform"),
}
CLASSES |= {
    name: lambda cls, has=has: learns_from_rows(cls) and has(cls)
    for name, has in ROW_CLASSES.items()
}
TORCH = ("neural", "transformer", "statespace", "generative", "representation", "alignment")
DEEP = tuple(f"panlearn.{family}" for family in TORCH)
METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")

# Small networks: what a layer does, it does with eight units.
SMALL = {"hidden_layer_sizes": (8,), "hidden_size": 8, "embedding_size": 4, "n_layers": 1}
SMALL |= {"width": 8, "state_size": 4, "transforms": 2, "n_projected": 8, "n_sampling_steps": 5}
# And a few steps, for what does not depend on where a fit ends.
BRIEF = SMALL | {"max_iter": 15, "max_epochs": 2, "epochs": 2, "epoch": 2, "n_estimators": 5}
BRIEF |= {"n_iter": 12, "n_burn_in": 5, "pretrain_epochs": 2}


@functools.cache
def learns_from_rows(cls):
    """Whether a sample is a row of numbers, by scikit-learn's tag."""
    return get_tags(cls()).input_tags.two_d_array


@functools.cache
def learns_without_targets(cls):
    """Whether it learns from rows what is neither a label nor a number nor a cluster."""
    made = cls()
    predicts = is_classifier(made) or is_regressor(made) or is_clusterer(made)
    return learns_from_rows(cls) and not predicts


@functools.cache
def learns_from_sequences(cls):
    """Whether a sample is a sequence of vectors or of symbols."""
    others = (
        *(learns_from_rows, learns_from_documents),
        *(learns_from_captions, learns_from_preferences),
    )
    return not any(learns(cls) for learns in others)


@functools.cache
def learns_from_captions(cls):
    """Whether a sample is an image with its text."""
    wants = get_tags(cls()).input_tags
    return wants.three_d_array and not wants.two_d_array


def learns_from_preferences(cls):
    """Whether a sample is a prompt with a completion that was chosen and one that was not."""
    return hasattr(cls, "rewards")


def learns_from_prompts(cls):
    """Whether a sample is a prompt, and its target the right answer."""
    return hasattr(cls, "reward")


@functools.cache
def learns_from_documents(cls):
    """Whether a sample is a text, or a list of tokens."""
    return get_tags(cls()).input_tags.string and not learns_from_rows(cls)


@functools.cache
def clip():
    """A small model of images and texts, fitted."""
    from panlearn.representation import CLIP

    X, texts = Library.problem(CLIP)
    return CLIP(max_epochs=2, random_state=0).fit(X, texts)


def documents_of(n, seed):
    """Texts on two subjects, which share some words, and what each is on."""
    rng = np.random.default_rng(seed)
    shared, subjects = (
        "the of and to is".split(),
        ("ship sea wind sail Küste", "root leaf tree sap"),
    )
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    texts = []
    for subject in y:
        words = rng.choice([*shared, *(3 * subjects[subject].split())], size=rng.integers(4, 12))
        texts.append(" ".join(words) + ".")
    return texts, y


def pytest_generate_tests(metafunc):
    for argument, has in CLASSES.items():
        if argument in metafunc.fixturenames:
            found = [cls for _, cls in panlearn.all_estimators() if has(cls)]
            metafunc.parametrize(argument, found, ids=[cls.__name__ for cls in found])


@pytest.fixture
def use_threads(monkeypatch):
    """A function that makes the library use so many threads, whatever the machine has."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return lambda count: monkeypatch.setattr(threads, "_cores", lambda: count)


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


class Library:
    """How to make, feed and question any estimator."""

    methods = METHODS

    @staticmethod
    def make(cls, **parameters):
        """An instance that is reproducible and, if it iterates, converges far."""
        names = inspect.signature(cls).parameters
        # without a tolerance it may be one that never ends on classes that touch
        wish = {"random_state": 0, "tol": 1e-11, "max_iter": 20_000 if "tol" in names else 300}
        if learns_from_documents(cls):  # what is compared does not depend on where it ends
            wish = {"random_state": 0}
        elif not learns_from_rows(cls):  # EM crawls: what is compared is not where it ends
            wish |= {"tol": 1e-7, "max_iter": 20, "n_components": 2}
        if learns_from_prompts(cls):
            wish = {"random_state": 0, "max_tokens": 2, "num_generations": 2, "num_ppo_epochs": 1}
        if "n_states" in names:  # and the slower the more a state may be
            wish |= {"tol": 1e-4, "n_states": 1}
        if "max_epochs" in names and not learns_from_documents(cls):
            wish |= {"batch_size": 1000}  # one batch: neither order nor weight changes a gradient
        if "max_epochs" in names and learns_without_targets(cls):  # where it ends is not compared
            wish |= {"max_epochs": 5}
        wish |= Library.required(cls)
        if "random_start" in names:  # one batch, and starts that no place among the rows changes
            from panlearn.neural import MLPClassifier

            wish |= {"estimator": MLPClassifier(batch_size=1000), "random_start": False}
        if "sparse_output" in names:  # of labels that were not seen, nothing
            wish |= {"sparse_output": False, "handle_unknown": "ignore"}
        if "unknown_value" in names:
            wish |= {"handle_unknown": "use_encoded_value", "unknown_value": -1.0}
        if "n_restarts_optimizer" in names:  # of few rows the most likely kernel may be a spike
            wish |= {"optimizer": None}
        wish |= {"radius": 2.7}  # far enough for every row to have a neighbour
        wish = {name: value for name, value in wish.items() if name in names}
        return cls(**{**wish, **parameters})

    @staticmethod
    def small(cls):
        """Options with which a network is a small one."""
        return {name: SMALL[name] for name in inspect.signature(cls).parameters if name in SMALL}

    @staticmethod
    def brief(cls, **parameters):
        """One that learns for a few steps; what is compared does not depend on where it ends."""
        names = inspect.signature(cls).parameters
        few = {name: value for name, value in BRIEF.items() if name in names}
        if "random_start" in names:
            from panlearn.neural import MLPClassifier

            few["estimator"] = MLPClassifier(batch_size=1000, max_epochs=2)
        return Library.make(cls, **{**few, **parameters})

    @staticmethod
    @functools.cache
    def fitted(cls):
        """A model of `problem`, fitted briefly. It is shared: what changes it takes a copy."""
        X, y = Library.problem(cls)
        return Library.quietly(lambda: Library.brief(cls).fit(X, y))

    @staticmethod
    def required(cls):
        """What a class cannot do without: words for what the images of `problem` show."""
        wants = "prompts" in inspect.signature(cls).parameters
        return {"prompts": "{}", "model": clip()} if wants else {}

    @staticmethod
    def problem(cls, n=60, d=4, seed=0, classes=2):
        """Rows of full rank, targets of the kind that is learned; classes lie apart.

        With three classes these lie along a line, about 5 in 10 rows, 4 in 10 and 1 in 10.
        """
        rng = np.random.default_rng(seed)
        if learns_from_preferences(cls):
            words = [text.split()[0] for text in documents_of(9, seed)[0]]
            return [(word, word[:2] + "!", word[-2:] + "?") for word in words], None
        if learns_from_prompts(cls):
            words = [text.split()[0] for text in documents_of(5, seed)[0]]
            return words, [word[::-1] for word in words]
        if learns_from_documents(cls):
            texts, y = documents_of(n // 3, seed)
            if get_tags(cls()).target_tags.multi_output:  # a tag for each word
                y = np.empty(len(texts), dtype=object)
                y[:] = [["long" if len(w) > 3 else "short" for w in t.split()] for t in texts]
                return texts, y
            if is_regressor(cls()):
                return texts, y.astype(float)
            return texts, y if is_classifier(cls()) else None
        X = rng.normal(size=(n, d))
        if learns_from_captions(cls):  # images of one side, and what they show
            y = rng.integers(2, size=n // 3)
            X = 0.3 * rng.normal(size=(n // 3, 4, 4))
            X[np.arange(len(y)), 3 * y] += 2
            return X, [("bright above", "bright below")[i] for i in y]
        if not learns_from_rows(cls):
            regime = np.repeat(rng.integers(2, size=n), 5)[:n]
            X += 4 * regime[:, None]
            parts = np.split(X, [7, 12, 13, n // 2])
            symbols = get_tags(cls()).input_tags.categorical
            X = [np.abs(p[:, 0]).round() % 5 if symbols else p for p in parts]
            if is_classifier(cls()):
                return X, np.arange(len(X)) % 2
            if is_regressor(cls()):
                return X, np.array([x.sum() for x in X])
            if not get_tags(cls()).target_tags.required:
                return X, None
            return X, [x[::-1] if symbols else (x[:, 0] > 2).astype(int) for x in X]
        direction = np.linspace(1, -2, d)
        if is_classifier(cls()):
            y = (X @ direction + 0.5 > 0).astype(int)
            y += (X @ direction > 3) * (classes > 2)
            X += np.outer(2 * y - 1, direction) / 4
            wants = get_tags(cls()).input_tags
            X -= X.min() if wants.positive_only else 0
            return np.round(X) if wants.categorical else X, y
        signal = X @ direction + 0.5 + rng.normal(size=n)
        wants = get_tags(cls()).input_tags
        X -= X.min() if wants.positive_only else 0
        X = np.round(X) if wants.categorical else X
        return X, (signal if is_regressor(cls()) else None)

    @staticmethod
    def fixed_draws(cls, n):
        """Options with which a bootstrap draws as often from weighted rows as from repeated."""
        return {"max_samples": n} if "max_samples" in inspect.signature(cls).parameters else {}

    @staticmethod
    def scaler(cls):
        """A first step of a pipeline whose output the estimator can learn from."""
        positive = get_tags(cls()).input_tags.positive_only
        return FunctionTransformer() if positive else StandardScaler()

    @staticmethod
    def outputs(model, X):
        """Every output that the model has for the rows X."""
        found = {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}
        found = {k: v.toarray() if sparse.issparse(v) else v for k, v in found.items()}
        # of a list of sequences, the steps of all
        return {k: np.concatenate(v) if isinstance(v, list) else v for k, v in found.items()}

    @staticmethod
    def learned(model):
        """The public attributes that fit set, without what grows with iterations or rows."""
        return {
            name: value
            for name, value in vars(model).items()
            if name.endswith("_")
            and not name.startswith("_")
            and name not in ("history_", "labels_")
        }

    @classmethod
    def same_parameters(cls, one, other, rtol=1e-8):
        """Assert that two models learned the same numbers, relative to the largest of each kind."""
        ours, theirs = cls.learned(one), cls.learned(other)
        for name, expected in theirs.items():
            arrays = expected if isinstance(expected, list) else [expected]
            values = ours[name] if isinstance(expected, list) else [ours[name]]
            for a, b in zip(values, arrays, strict=True):
                if isinstance(b, np.ndarray) and b.dtype.kind == "f":
                    atol = rtol * np.abs(b).max(initial=0.0)
                    np.testing.assert_allclose(a, b, rtol=0, atol=atol, err_msg=name)

    @staticmethod
    def each(cases, try_one):
        """Try every case and tell of all that fail: one test of many cases costs one start."""
        wrong = {}
        for case in cases:
            try:
                try_one(case)
            except (Exception, pytest.fail.Exception) as error:
                wrong[case] = f"{type(error).__name__}: {str(error)[:300]}"
        assert not wrong, wrong

    @staticmethod
    def quietly(call):
        """Run `call`; that it may not converge or that X is deficient are no matter here."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", LinAlgWarning)
            warnings.filterwarnings("ignore", ".*out-of-bag.*")
            return call()

    @classmethod
    def same(cls, one, other, X, rtol=1e-8):
        """Assert that two models give the same outputs, relative to the largest of each kind."""
        ours, theirs = cls.outputs(one, X), cls.outputs(other, X)
        assert ours.keys() == theirs.keys()
        if not ours and hasattr(one, "sample"):  # a generator has nothing to say of rows
            ours, theirs = ({"sample": m.sample(5, random_state=0)} for m in (one, other))
        elif not ours:  # a model of documents may answer in its own words alone
            assert learns_from_prompts(type(one)) or learns_from_documents(type(one))
            cls.same_parameters(one, other, rtol)
        for name, value in ours.items():
            expected = np.asarray(theirs[name])
            if expected.dtype.kind not in "fc":
                np.testing.assert_array_equal(value, expected)
            else:
                scale = np.abs(expected[np.isfinite(expected)]).max(initial=0)
                np.testing.assert_allclose(value, expected, rtol=0, atol=rtol * scale, err_msg=name)


@pytest.fixture
def tally(record_property):
    """Counts what becomes of hostile things by kind; `python -m benchmarks.hardening` adds up."""
    counts = collections.Counter()
    yield counts
    for (what, outcome), number in counts.items():
        record_property(f"tally {what}: {outcome}", number)


@pytest.fixture(scope="session")
def library():
    return Library


@pytest.fixture(autouse=True)
def coarse_flow(request, monkeypatch):
    """Where no density is asked to be right, the flow of a score model takes few steps."""
    of_behaviour = request.path.parent.name in ("contract", "reliability")
    if of_behaviour and "ScoreModel" in request.node.name:
        monkeypatch.setattr("panlearn.generative.score_model.STEPS", 3)


@pytest.fixture(scope="session")
def mixed_once():
    """Make a small table with everything that a real one has."""
    rng = np.random.default_rng(20261115)
    n = 80
    frame = pd.DataFrame(
        {
            "id": [f"u{i:04d}" for i in range(n)],
            "age": rng.integers(18, 80, n).astype(float),
            "größe €": rng.normal(size=n),
            "<script>alert(1)</script>": rng.normal(size=n),
            "sex": rng.choice(["m", "w", None], n),
            "member": rng.random(n) < 0.5,
            "since": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "void": np.full(n, np.nan),
        }
    )
    price = 3 * frame["größe €"] + 2 * frame["member"] + frame["age"] / 20 + rng.normal(size=n)
    frame["bought"] = np.where(price > price.median(), "yes & no", "<b>no</b>")
    frame["price"] = price
    frame.loc[::7, "age"] = np.nan
    frame.loc[5, "price"] = np.nan
    frame.loc[9, "<script>alert(1)</script>"] = np.nan  # so that a note names the column
    return frame


@pytest.fixture
def mixed(mixed_once):
    return mixed_once.copy()


@pytest.fixture
def mixed_csv(mixed, tmp_path):
    path = tmp_path / "mixed.csv"
    mixed.to_csv(path, index=False)
    return path


class _NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


@pytest.fixture
def no_torch(monkeypatch):
    """An installation without the extra: what stands on torch has to be imported again."""
    for name in list(sys.modules):
        if name == "torch" or name.startswith(DEEP):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_NoTorch(), *sys.meta_path])
