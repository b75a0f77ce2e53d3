"""Settings: one description for the loop and for every deep estimator, and what each does."""

import copy
import csv
import dataclasses
import inspect
import itertools

import numpy as np
import pytest
import torch
from torch import nn

import panlearn
from panlearn.neural import CSVWriter, Hook, LoRA, MLPClassifier, MLPRegressor, train
from panlearn.neural._checkpoint import NAME, CheckpointError
from panlearn.neural._estimator import DeepEstimator
from panlearn.neural._layers import MLP
from panlearn.neural._random import seeded
from panlearn.neural._step import Dropout
from panlearn.neural.settings import Settings

DEEP = [cls for _, cls in panlearn.all_estimators() if issubclass(cls, DeepEstimator)]


def network(seed=0, n_out=1):
    with seeded(seed):
        return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, n_out)).double()


def squares(module, batch):
    return ((module(batch[0]) - batch[1]) ** 2).sum(1)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(50, 3))
    return X, X @ [[1.0], [-2.0], [0.5]]


def weights(module):
    return nn.utils.parameters_to_vector(module.parameters()).detach().clone()


@pytest.mark.parametrize("cls", DEEP, ids=lambda c: c.__name__)
def test_every_deep_estimator_has_every_setting_and_says_so(cls):
    parameters = inspect.signature(cls).parameters
    for field in dataclasses.fields(Settings):
        assert parameters[field.name].kind is inspect.Parameter.KEYWORD_ONLY
        assert f"\n{field.name} : " in cls.__doc__
    assert set(inspect.signature(train).parameters) >= {
        f.name for f in dataclasses.fields(Settings)
    }


@pytest.mark.parametrize("cls", DEEP, ids=lambda c: c.__name__)
@pytest.mark.parametrize(
    ("name", "value"),
    [("ema_decay", 1.0), ("accumulate", 0), ("precision", "float8"), ("strategy", "dp")],
)
def test_a_wrong_setting_is_refused_by_name_before_anything_is_read(cls, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {cls.__name__}"):
        cls(**{name: value}).fit(None, None)


def test_history_every_few_steps_with_validation(data):
    run = train(network(), squares, data, batch_size=8, max_steps=17, evaluate_every=5,
                validation=data, random_state=0)  # fmt: skip
    assert run.history["step"] == [5, 10, 15, 17]
    assert {len(values) for values in run.history.values()} == {4}
    model = MLPRegressor(evaluate_every=3, max_epochs=2, batch_size=10, random_state=0)
    assert model.fit(data[0], data[1][:, 0]).n_iter_ == 4
    assert model.history_["step"] == [3, 6, 9, 10]


def test_validation_honours_the_batch_size(data):
    sizes = []

    def objective(module, batch):
        sizes.append((module.training, len(batch[0])))
        return squares(module, batch)

    train(network(), objective, data, batch_size=7, max_epochs=1, validation=data)
    assert max(n for training, n in sizes if not training) == 7


def test_frozen_parameters_stay_and_learn_again_after_the_run(data):
    module = network()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    train(module, squares, data, freeze=("0.*",), max_epochs=2, weight_decay=0.5)
    after = module.state_dict()
    for name in before:
        assert torch.equal(before[name], after[name]) == name.startswith("0.")
    assert all(p.requires_grad for p in module.parameters())
    with pytest.raises(ValueError, match=r"freeze='3\.\*' names no parameter"):
        train(module, squares, data, freeze=("3.*",))


def test_low_rank_additions_alone_are_learned_and_merged(data):
    module = network()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    lora = LoRA(rank=1, alpha=2.0, targets=("0.weight",))
    run = train(module, squares, data, lora=lora, max_epochs=30, learning_rate=0.05, random_state=0)
    after = module.state_dict()
    assert list(after) == list(before)
    change = after["0.weight"] - before["0.weight"]
    assert torch.linalg.matrix_rank(change) == 1
    (player,) = run.players.values()
    product = player.adapters["0.weight.B"] @ player.adapters["0.weight.A"]
    torch.testing.assert_close(change, 2.0 * product, rtol=0, atol=1e-14)
    for name in before:
        assert torch.equal(before[name], after[name]) == (name != "0.weight")
    assert run.history["loss"][-1] < run.history["loss"][0]
    with pytest.raises(ValueError, match="names no matrix"):
        train(module, squares, data, lora=LoRA(targets=("nothing",)))


def test_low_rank_additions_are_those_of_the_formula(data):
    """One step by hand: the gradient of B is s G A', that of A is zero while B is."""
    module = network()
    lora = LoRA(rank=2, alpha=3.0, targets=("2.weight",))
    run = train(module, squares, data, lora=lora, batch_size=50, order="given", max_steps=1,
                optimizer="sgd", learning_rate=0.1, random_state=0)  # fmt: skip
    (player,) = run.players.values()
    A, B = player.adapters["2.weight.A"], player.adapters["2.weight.B"]
    fresh = network()
    squares(fresh, tuple(map(torch.from_numpy, data))).mean().backward()
    torch.testing.assert_close(B, -0.1 * 1.5 * fresh[2].weight.grad @ A.T, rtol=1e-12, atol=0)


def test_warm_start_goes_on_from_the_weights_that_are_there(data):
    X, y = data[0], data[1][:, 0]
    model = MLPRegressor(8, max_epochs=5, learning_rate=1e-12, random_state=0).fit(X, y)
    first = {k: v.copy() for k, v in model.weights_.items()}
    model.set_params(warm_start=True, random_state=1).fit(X, y)
    for name, value in first.items():
        np.testing.assert_allclose(model.weights_[name], value, atol=1e-9)
    with pytest.raises(ValueError, match="warm_start=False"):
        model.set_params(hidden_layer_sizes=9).fit(X, y)
    model.set_params(hidden_layer_sizes=8, warm_start=False).fit(X, y)
    assert np.abs(model.weights_["layers.0.weight"] - first["layers.0.weight"]).max() > 1e-3


def test_the_last_checkpoints_are_kept(data, tmp_path):
    settings = dict(batch_size=10, max_epochs=3, checkpoint=tmp_path, checkpoint_every=2, keep=3)
    train(network(), squares, data, **settings)
    named = sorted(path.name for path in tmp_path.iterdir())
    assert named == ["checkpoint-000000012.safetensors", "checkpoint-000000014.safetensors",
                     "checkpoint-000000015.safetensors", NAME]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"learning_rate": 0.2}, r"learning_rate=0\.1, and now it is 0\.2"),
        ({"batch_size": 9}, "batch_size=10, and now it is 9"),
        ({"optimizer": "sgd"}, "optimizer=adamw"),
        ({"schedule": lambda k: 1.0}, "schedule=constant"),
        ({"ema_decay": 0.9}, "ema_decay=None"),
    ],
)
def test_a_run_is_resumed_with_the_settings_it_had(data, tmp_path, change, says):
    settings = dict(batch_size=10, learning_rate=0.1, checkpoint=tmp_path)
    train(network(), squares, data, max_epochs=1, **settings)
    before = (tmp_path / NAME).read_bytes()
    with pytest.raises(CheckpointError, match=says):
        train(network(), squares, data, max_epochs=2, resume=True, **{**settings, **change})
    assert (tmp_path / NAME).read_bytes() == before


def test_a_run_is_resumed_with_the_data_it_had(data, tmp_path):
    X, y = data
    train(network(), squares, data, max_epochs=1, checkpoint=tmp_path)
    with pytest.raises(CheckpointError, match="other data"):
        train(network(), squares, (X + 1, y), max_epochs=2, checkpoint=tmp_path, resume=True)
    module = network()
    train(module, squares, data, max_epochs=2, checkpoint=tmp_path, resume=True)


def test_a_failed_run_gives_the_module_back(data):
    module = network()

    def fails(module, batch):
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        train(module, fails, data, lora=LoRA(rank=1), freeze=("0.bias",))
    assert [name for name, _ in module.named_parameters()] == [
        n for n, _ in network().named_parameters()
    ]
    assert all(p.requires_grad for p in module.parameters())


def test_batches_may_be_dicts(data):
    X, y = data
    named = lambda module, batch: squares(module, (batch["x"], batch["y"]))  # noqa: E731
    one, other = network(), network()
    settings = dict(max_epochs=2, batch_size=8, accumulate=2, random_state=0)
    train(one, named, {"x": X, "y": y}, validation={"x": X, "y": y}, **settings)
    train(other, squares, data, **settings)
    assert torch.equal(weights(one), weights(other))


def test_the_order_of_a_loader_follows_from_seed_and_epoch(data):
    X, y = map(torch.from_numpy, data)
    rows = torch.utils.data.TensorDataset(X, y)

    def orders(seed, **own):
        seen = []

        def objective(module, batch):
            seen.append(batch[0][:, 0].tolist())
            return squares(module, batch)

        loader = torch.utils.data.DataLoader(rows, batch_size=50, shuffle=True, **own)
        train(network(), objective, loader, max_epochs=3, random_state=seed)
        return seen

    for make in (dict, lambda: {"generator": torch.Generator()}):
        first = orders(0, **make())
        assert first == orders(0, **make())
        assert all(a != b for a, b in itertools.combinations(first, 2))
        assert first != orders(1, **make())


def test_a_source_of_unknown_length_is_walked_once_an_epoch(data):
    walks = []

    def source():
        walks.append(1)
        for low in range(0, 50, 10):
            yield tuple(a[low : low + 10] for a in data)

    run = train(network(), squares, source, max_epochs=3)
    assert (run.step, len(walks)) == (15, 3)
    with pytest.raises(ValueError, match=r"needs the number of steps.*give max_steps"):
        train(network(), squares, source, max_epochs=3, schedule="cosine")
    assert train(network(), squares, source, max_steps=7, schedule="cosine").step == 7


def test_recomputed_blocks_give_the_same_step_with_dropout(data):
    def deep():
        with seeded(0):
            blocks = [nn.Sequential(nn.Linear(3, 3), Dropout(0.5), nn.Tanh()) for _ in range(3)]
            return nn.Sequential(*blocks, nn.Linear(3, 1)).double()

    settings = dict(max_epochs=2, batch_size=10, random_state=0)
    plain, twice = deep(), deep()
    train(plain, squares, data, **settings)
    train(twice, squares, data, recompute=True, **settings)
    assert torch.equal(weights(plain), weights(twice))
    assert "forward" not in vars(twice[0])


def test_a_compiled_module_takes_the_same_steps(data, monkeypatch):
    calls = []
    real = nn.Module.compile

    def spy(self, *args, **more):
        calls.append(self)
        real(self, backend="eager", fullgraph=True)  # an error where the graph would break

    monkeypatch.setattr(nn.Module, "compile", spy)
    with seeded(0):
        plain = MLP((3, 8, 1), normalization="layer").double()
    compiled = copy.deepcopy(plain)
    settings = dict(max_epochs=2, batch_size=10, random_state=0)
    train(plain, squares, data, **settings)
    train(compiled, squares, data, compile=True, **settings)
    assert calls == [compiled]
    torch.testing.assert_close(weights(compiled), weights(plain), rtol=0, atol=1e-12)
    with seeded(0):
        dropping = MLP((3, 8, 1), dropout=0.5).double()
    train(dropping, squares, data, compile=True, **settings)


def test_the_history_goes_to_a_table(data, tmp_path):
    path = tmp_path / "history.csv"
    model = MLPRegressor(max_epochs=3, validation_fraction=0.2, hooks=[CSVWriter(path)])
    model.fit(data[0], data[1][:, 0])
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == model.history_["loss"]
    assert len(rows) == 3
    assert float(rows[-1]["validation_loss"]) == model.history_["validation_loss"][-1]


def test_the_history_goes_to_tensorboard(data, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from panlearn.neural import TensorBoardWriter

    run = train(network(), squares, data, max_epochs=3, hooks=[TensorBoardWriter(tmp_path)])
    found = EventAccumulator(str(tmp_path)).Reload().Scalars("loss")
    assert [event.value for event in found] == pytest.approx(run.history["loss"], rel=1e-6)


@pytest.mark.parametrize("cls", [MLPClassifier, panlearn.neural.ConvNetClassifier])
def test_the_learning_rate_of_partial_fit_is_that_of_the_settings(cls, rng):
    X, y = rng.normal(size=(40, 16)), np.arange(40) % 2
    rates = []

    class Rates(Hook):
        def on_step(self, run):
            rates.append(run.learning_rate)

    model = cls(schedule="cosine", learning_rate=0.01, random_state=0, hooks=[Rates()])
    for _ in range(3):
        model.partial_fit(X, y, classes=[0, 1])
    model.set_params(learning_rate=0.5).partial_fit(X, y)
    assert set(rates[:-1]) <= {0.01, 0.5}
    assert rates[-1] == 0.5
