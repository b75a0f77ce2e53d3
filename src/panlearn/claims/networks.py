"""Feed-forward networks: what they compute, their gradients, how they begin, and dropout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.core.extras import require

torch = require("torch")

from panlearn.neural import train  # noqa: E402
from panlearn.neural._layers import MLP, initialize  # noqa: E402
from panlearn.neural._objectives import squared_loss  # noqa: E402
from panlearn.neural._random import seeded  # noqa: E402

functional = torch.nn.functional
EXAMPLE = (0.5, -0.5, 0.3, 0.1, 0.2, -0.1)  # w1 to w6 of the worked example of backpropagation


def network(sizes: tuple[int, ...], activation: Any = "relu", seed: int = 0) -> Any:
    """A network in float64 with reproducible weights."""
    with seeded(seed):
        return MLP(sizes, activation).double()


def layers(module: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Matrix and bias of each layer."""
    linear = [m for m in module.layers if isinstance(m, torch.nn.Linear)]
    return [(m.weight.detach().numpy(), m.bias.detach().numpy()) for m in linear]


def set_layers(module: Any, *values: Any) -> None:
    """Give each layer a matrix and a bias."""
    linear = [m for m in module.layers if isinstance(m, torch.nn.Linear)]
    for layer, (W, b) in zip(linear, values, strict=True):
        layer.weight.data = torch.tensor(W, dtype=torch.float64)
        layer.bias.data = torch.tensor(b, dtype=torch.float64)


@claim("A84")
def biases_are_weights_of_a_constant() -> Iterator[Evidence]:
    """With a 1 appended to each layer's input, a layer is one matrix of shape out x (in + 1)."""
    module = network((3, 4, 5, 2), "tanh")
    x = np.random.default_rng(0).standard_normal(3)
    v = np.append(x, 1.0)
    matrices = [np.column_stack([W, b]) for W, b in layers(module)]
    yield true("shapes", [m.shape for m in matrices] == [(4, 4), (5, 5), (2, 6)])
    for matrix in matrices[:-1]:
        v = np.append(np.tanh(matrix @ v), 1.0)
    output = module(torch.tensor(x)[None])[0].detach()
    yield equal("the two forms of the network", matrices[-1] @ v, output, 1e-12)


@claim("A85")
def backpropagation_by_hand() -> Iterator[Evidence]:
    """delta_l = phi'(z_l) * (W_{l+1}^T delta_{l+1}) and the gradient of W_l is delta_l v_{l-1}^T.

    The text writes phi(z) for phi'(z), and forgets that the bias column takes no part in W^T delta.
    """
    x, y = np.array([0.3, -0.7, 1.1]), np.array([0.5, -0.2])
    derivatives: dict[str, Any] = {
        "tanh": lambda z: 1 - np.tanh(z) ** 2,
        "relu": lambda z: (z > 0).astype(float),
        "logistic": lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2,
    }
    values: dict[str, Any] = {
        "tanh": np.tanh,
        "relu": lambda z: np.maximum(z, 0),
        "logistic": lambda z: 1 / (1 + np.exp(-z)),
    }
    for name, derivative in derivatives.items():
        module = network((3, 4, 4, 2), name)
        squared_loss(module, (torch.tensor(x)[None], torch.tensor(y)[None])).sum().backward()
        weights, inputs, sums = layers(module), [x], []
        for W, b in weights[:-1]:
            sums.append(W @ inputs[-1] + b)
            inputs.append(values[name](sums[-1]))
        delta = weights[-1][0] @ inputs[-1] + weights[-1][1] - y
        gradients = [np.outer(delta, inputs[-1])]
        for i in (2, 1):
            delta = derivative(sums[i - 1]) * (weights[i][0].T @ delta)
            gradients.insert(0, np.outer(delta, inputs[i - 1]))
        linear = [m for m in module.layers if isinstance(m, torch.nn.Linear)]
        worst = max(
            np.abs(g - m.weight.grad.numpy()).max() for g, m in zip(gradients, linear, strict=True)
        )
        yield at_most(f"error of the gradients by hand, {name}", worst, 1e-12)


def signal(width: int, depth: int, activation: str, variance: float, scale: float) -> list[float]:
    """Mean square of the sums z of each layer, for weights of zero mean and a variance."""
    rng, squares = np.random.default_rng(0), []
    phi = np.tanh if activation == "tanh" else lambda z: np.maximum(z, 0)
    v = scale * rng.standard_normal((50, width))
    for _ in range(depth):
        z = v @ (np.sqrt(variance) * rng.standard_normal((width, width)))
        squares.append(float((z**2).mean()))
        v = phi(z)
    return squares


@claim("A86")
def variances_of_initial_weights() -> Iterator[Evidence]:
    """Weights of zero mean and variance 2/n keep the signal of a deep ReLU net; 1/n halves it.

    For tanh 1/n, or 2/(n + m), does so while the signal is small. The numbers are variances, not
    standard deviations, and the mean is zero, which the text leaves out.
    """
    with seeded(0):
        for scheme, variance in (("he_normal", 2 / 300), ("glorot_uniform", 2 / 500)):
            layer = torch.nn.Linear(300, 200)
            initialize(layer, "relu", scheme)  # type: ignore[arg-type]
            ratio = layer.weight.var().item() / variance
            yield at_most(f"deviation of the variance of {scheme}", abs(ratio - 1), 0.03)
    he = signal(512, 10, "relu", 2 / 512, 1.0)
    yield true("He keeps E[z^2] over ten layers", 0.5 <= he[-1] / he[0] <= 2)
    halved = signal(512, 10, "relu", 1 / 512, 1.0)
    yield true("1/n halves it nine times", 2**-10 <= halved[-1] / halved[0] <= 2**-8)
    small, unit = (signal(512, 10, "tanh", 1 / 512, scale) for scale in (0.01, 1.0))
    yield true("tanh keeps a small signal", 0.8 <= small[-1] / small[0] <= 1.25)
    yield at_most("what is left of a signal of unit size", unit[-1] / unit[0], 0.5)


@claim("A87")
def dropout_by_the_keep_probability() -> Iterator[Evidence]:
    """Weights times the keep probability give the mean over masks of a linear unit.

    Dividing by it during training instead, as PyTorch does, is equivalent. Where an interface asks
    for the probability to drop, it is one minus the text's p.
    """
    rng = np.random.default_rng(0)
    w, v, keep, n = rng.standard_normal(6), rng.standard_normal(6), 0.7, 400_000
    outputs = (rng.random((n, 6)) < keep) @ (w * v)
    error = 3 * outputs.std() / np.sqrt(n)
    yield equal("mean over masks and w p", outputs.mean(), (keep * w) @ v, error)
    layer = torch.nn.Dropout(1 - keep).double()
    with seeded(1):
        inverted = layer(torch.tensor(v).expand(n, 6)).numpy() @ w
    yield equal("inverted dropout and w", inverted.mean(), w @ v, 3 * inverted.std() / np.sqrt(n))
    yield equal("evaluation", layer.eval()(torch.tensor(v)), v)


@claim("A88")
def residual_blocks_start_from_the_identity() -> Iterator[Evidence]:
    """The Jacobian of v + r(v) is I + J_r; a branch that is zero leaves the identity."""
    branch = network((3, 5, 3), "tanh")
    v = torch.tensor([0.2, -0.4, 0.9], dtype=torch.float64)

    def block(v: Any) -> Any:
        return v + branch(v)

    jacobian, of_branch = (torch.autograd.functional.jacobian(f, v) for f in (block, branch))
    yield equal("J - J_r and I", jacobian - of_branch, np.eye(3), 1e-12)
    for p in branch.parameters():
        p.data.zero_()
    yield equal("a zero branch", block(v).detach(), v)


@claim("A105")
def tensor_chain_rule_is_a_matrix_product() -> Iterator[Evidence]:
    """dL/dW_kl = sum_ij dL/dy_ij dy_ij/dW_kl; flattened, a contraction is a matrix product.

    Here L is the squared loss of a network and W its first layer. The text's superscripts are out
    of order: T_{i..k..} = sum_j P_{i..j..} Q_{j..k..}.
    """
    rng = np.random.default_rng(0)
    P, Q = rng.standard_normal((2, 3, 4, 5)), rng.standard_normal((4, 5, 6, 7))
    flat = (P.reshape(6, 20) @ Q.reshape(20, 42)).reshape(2, 3, 6, 7)
    yield equal("einsum and flattened product", np.einsum("abij,ijkl->abkl", P, Q), flat, 1e-12)
    module = network((3, 4, 2), "tanh")
    x, target = (torch.tensor(rng.standard_normal(s)) for s in ((5, 3), (5, 2)))
    W = module.layers[0].weight
    (gradient,) = torch.autograd.grad(squared_loss(module, (x, target)).sum(), W)
    (_, b), (V, c) = layers(module)

    def outputs(W: Any) -> Any:
        return torch.tanh(x @ W.T + torch.tensor(b)) @ torch.tensor(V).T + torch.tensor(c)

    jacobian = torch.autograd.functional.jacobian(outputs, W.detach())
    outer = outputs(W.detach()) - target
    contracted = torch.einsum("ij,ijkl->kl", outer, jacobian)
    yield equal("sum over outputs", contracted, gradient, 1e-12)
    product = outer.reshape(10) @ jacobian.reshape(10, 12)
    yield equal("flattened", product.reshape(4, 3), gradient, 1e-12)


@claim("B113")
def a_network_computes_xor() -> Iterator[Evidence]:
    """Two ReLU units with nine parameters compute the exclusive or, which no line separates."""
    module = network((2, 2, 1))
    set_layers(module, ([[1, 1], [1, 1]], [0, -1]), ([[2, -4]], [-1]))
    corners = torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=torch.float64)
    yield equal("outputs", module(corners)[:, 0].detach(), [-1, 1, 1, -1])
    yield equal("parameters", sum(p.numel() for p in module.parameters()), 9)


@claim("B116")
def manual_gradients_of_one_hidden_layer() -> Iterator[Evidence]:
    """Gradients of ||U relu(Wx + b1) + b2 - y||^2 / 2 by hand have the shapes of the parameters."""
    module = network((3, 5, 2))
    x, y = np.array([0.4, -1.2, 0.7]), np.array([1.0, -0.5])
    squared_loss(module, (torch.tensor(x)[None], torch.tensor(y)[None])).sum().backward()
    (W, b1), (U, b2) = layers(module)
    z = W @ x + b1
    h = np.maximum(z, 0)
    error = U @ h + b2 - y
    dz = (U.T @ error) * (z > 0)
    expected = (np.outer(dz, x), dz, np.outer(error, h), error)
    for p, value in zip(module.parameters(), expected, strict=True):
        yield equal(f"gradient of shape {tuple(p.shape)}", p.grad, value, 1e-10)


def worked_example(activation: Any) -> tuple[Any, np.ndarray, float, float]:
    """The module, gradients of w1 to w6, output and loss of the example: two inputs, two units."""
    module = network((2, 2, 1), activation)
    w1, w2, w3, w4, w5, w6 = EXAMPLE
    set_layers(module, ([[w1, w2], [w3, w4]], [0, 0]), ([[w5, w6]], [0]))
    output = torch.sigmoid(module(torch.tensor([[1.0, 0.0]], dtype=torch.float64)))
    loss = (output - 1).square().sum() / 2
    loss.backward()
    first, _, second, _ = (p.grad.numpy() for p in module.parameters())
    return module, np.append(first, second), output.item(), loss.item()


@claim("B120")
def the_worked_example_of_backpropagation() -> Iterator[Evidence]:
    """A net of two inputs and two sigmoid units, computed by hand: output, loss and gradients.

    The text calls the hidden units ReLU and computes sigmoids, and its gradients are right to three
    or four digits only: dL/dz3 is -0.120675, not -0.12058.
    """
    _, gradients, output, loss = worked_example("logistic")
    yield equal("output", output, 0.5167556, 1e-7)
    yield equal("loss", loss, 0.1167626, 1e-7)
    yield equal("dL/dz3", (output - 1) * output * (1 - output), -0.1206754, 1e-7)
    expected = [-0.00567183, 0, 0.00295001, 0, -0.07511554, -0.06932109]
    yield equal("gradients", gradients, expected, 1e-7)


def one_step(activation: Any) -> np.ndarray:
    """Weights of the example after a step of gradient descent by the training loop."""
    module, *_ = worked_example(activation)
    for name, p in module.named_parameters():
        p.requires_grad_("weight" in name)
    train(
        module,
        lambda m, batch: (torch.sigmoid(m(batch[0])) - 1).square().sum(1) / 2,
        (np.array([[1.0, 0.0]]),),
        optimizer="sgd",
        learning_rate=0.1,
        max_steps=1,
    )
    return np.concatenate([W.ravel() for W, _ in layers(module)])


@claim("B121")
def one_step_of_descent() -> Iterator[Evidence]:
    """One step of size 0.1 from the worked example moves the six weights as stated."""
    expected = [0.50056718, -0.5, 0.299705, 0.1, 0.20751155, -0.09306789]
    yield equal("weights after a step", one_step("logistic"), expected, 1e-7)


@claim("B122")
def the_example_with_the_units_it_declares() -> Iterator[Evidence]:
    """With ReLU units, which the text declares and does not compute, the numbers are these."""
    _, gradients, output, loss = worked_example("relu")
    yield equal("output", output, 0.5174929, 1e-6)
    yield equal("loss", loss, 0.1164066, 1e-6)
    expected = [-0.0240958, 0, 0.0120479, 0, -0.0602396, -0.0361437]
    yield equal("gradients", gradients, expected, 1e-6)
    stepped = [0.5024096, -0.5, 0.2987952, 0.1, 0.2060240, -0.0963856]
    yield equal("weights after a step", one_step("relu"), stepped, 1e-6)


@claim("B123")
def a_zero_input_has_no_gradient() -> Iterator[Evidence]:
    """The weights that multiply an input of zero get a gradient of zero."""
    for activation in ("logistic", "relu"):
        gradients = worked_example(activation)[1]
        yield equal(f"gradients of w2 and w4, {activation}", gradients[[1, 3]], [0.0, 0.0])


@claim("B118")
def inverted_dropout_keeps_the_mean() -> Iterator[Evidence]:
    """E[mask h / q] = h for keep probability q, exactly over all masks; evaluation is the identity.

    The division belongs to the forward pass of training, not, as in the text, to backpropagation.
    """
    h, q = np.array([1.0, -2.0, 0.5]), 0.6
    masks = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1).T
    chance = np.prod(np.where(masks, q, 1 - q), axis=1)
    yield equal("mean over all masks", chance @ (masks * h / q), h, 1e-12)
    module = network((3, 4, 2))
    module.layers.insert(2, torch.nn.Dropout(1 - q))
    rows = torch.tensor(h).expand(100_000, 3)
    with seeded(0), torch.no_grad():
        trained, evaluated = module.train()(rows), module.eval()(rows[:1])
    spread = (3 * trained.std(0) / np.sqrt(len(rows))).max().item()
    yield equal("mean over masks of a network", trained.mean(0), evaluated[0], spread)
    yield at_least("spread in training", trained.std(0).min(), 0.01)
