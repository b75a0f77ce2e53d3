"""Losses of classifiers, logistic regression, the sigmoid and the softmax."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import approx_fprime, minimize
from scipy.special import logit
from sklearn.metrics import zero_one_loss

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.linear import LogisticRegression
from panlearn.linear._logistic_loss import Loss, from_scores
from panlearn.optimize import gradient_descent


def sigmoid(z: np.ndarray) -> np.ndarray:
    """The library's own sigmoid, of any shape."""
    return from_scores(np.array(z, dtype=float).reshape(-1, 1)).reshape(np.shape(z))


def softmax(Z: np.ndarray) -> np.ndarray:
    """The library's own softmax of each row."""
    return from_scores(np.array(Z, dtype=float))


def log_loss(margins: np.ndarray) -> np.ndarray:
    """log(1 + exp(-m)) of each margin by the library's own kernel."""
    one, zero = np.ones(1, dtype=int), np.zeros(1)
    coef = np.ones((1, 1))
    return np.array([Loss.of(np.array([[m]]), one, None, coef, zero).loss for m in margins])


def log_slope(margins: np.ndarray) -> np.ndarray:
    """Its derivative, the residual of a row with score m and label 1."""
    one, zero = np.ones(1, dtype=int), np.zeros(1)
    found = [Loss.of(np.ones((1, 1)), one, None, np.array([[m]]), zero) for m in margins]
    return np.array([f.gradient[0, 0] for f in found])


def data(seed: int, n: int = 80, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels 0, 1 of a logistic model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (rng.random(n) < sigmoid(X @ np.arange(1, d + 1) - 0.5)).astype(int)


@claim("A49")
def zero_one_and_asymmetric_loss() -> Iterator[Evidence]:
    """The 0-1 loss counts wrong signs, 1[y != sign f].

    The asymmetric loss weighs a false positive by c_FP and a false negative by c_FN. A score of
    exactly 0 counts as the negative class here.
    """
    model = LogisticRegression(fit_intercept=False).fit([[-1.0], [1.0]], [-1, 1])
    y, x = np.array([1, 1, 1, -1, -1, -1]), np.array([[2.0], [-2.0], [0.0], [2.0], [-2.0], [0.0]])
    predicted = model.predict(x)
    yield equal("signs, 0 as negative", predicted, [1, -1, -1, 1, -1, -1])
    yield equal("0-1 loss", zero_one_loss(y, predicted, normalize=False), 3)
    cost = 5.0 * ((predicted == 1) & (y == -1)) + 2.0 * ((predicted == -1) & (y == 1))
    yield equal("asymmetric loss, c_FP = 5 and c_FN = 2", cost, [0, 2, 2, 5, 0, 0])


@claim("A50")
def margin_losses_are_convex() -> Iterator[Evidence]:
    """The exponential and the logistic loss decrease with the margin and are convex.

    exp(-m) and log(1 + exp(-m)) are differentiable functions of the margin m = y f; the
    logistic loss does not overflow at m = -1e4.
    """
    grid = np.linspace(-20, 20, 401)
    yield at_most("largest slope, logistic", log_slope(grid).max(), 0.0)
    yield at_most("largest slope, exponential", (-np.exp(-grid)).max(), 0.0)
    # second differences of values near 20 round at about 1e-14
    yield at_least("least second difference, logistic", np.diff(log_loss(grid), 2).min(), -1e-13)
    yield at_least("least second difference, exponential", np.diff(np.exp(-grid), 2).min(), 0.0)
    slope = np.diff(log_loss(grid)) / np.diff(grid)
    yield equal("slope by differences", slope, log_slope((grid[1:] + grid[:-1]) / 2), 1e-4)
    yield equal("logistic loss at -1e4", log_loss(np.array([-1e4])), [1e4])


@claim("A51")
def surrogates_bound_the_mistakes() -> Iterator[Evidence]:
    """exp(-m) and log2(1 + exp(-m)) are never below the 0-1 loss 1[m <= 0].

    With the natural logarithm, as the text has it, the logistic loss is not a bound: at m = 0
    it is 0.693 < 1.
    """
    grid = np.linspace(-20, 20, 4001)
    mistakes = (grid <= 0).astype(float)
    yield at_least("exp(-m) - 1[m <= 0]", (np.exp(-grid) - mistakes).min(), 0.0)
    yield at_least(
        "log2(1 + exp(-m)) - 1[m <= 0]", (log_loss(grid) / np.log(2) - mistakes).min(), 0
    )
    yield equal("log(1 + exp(-m)) at 0", log_loss(np.zeros(1)), [np.log(2)], 1e-15)
    yield at_most("log(1 + exp(-m)) - 1[m <= 0]", (log_loss(grid) - mistakes).min(), -0.3)


@claim("A52")
def gradients_of_margin_losses() -> Iterator[Evidence]:
    """The slope of the logistic loss is at most 1 in size; that of exp(-m) explodes.

    So a wrong row pulls a logistic fit by its own length at most. The linear loss -m is unbounded
    below: descent on it goes on for ever. The text's list of properties (zero when correct, and so
    on) holds for none of the three.
    """
    grid = np.linspace(-50, 50, 1001)
    slopes = log_slope(grid)
    yield at_most("largest slope, logistic", np.abs(slopes).max(), 1.0)
    yield equal("slope at -50, logistic", log_slope(np.array([-50.0])), [-1.0], 1e-12)
    numeric = np.gradient(log_loss(grid), grid)
    yield equal("slopes and differences, logistic", slopes[1:-1], numeric[1:-1], 1e-3)
    for m in (-5.0, -20.0, -50.0):
        slope = gradient_descent(lambda v: float(np.exp(-v[0])), [m], maxiter=0).jac[0]
        yield equal(f"slope at {m}, exponential, times e^m", slope * np.exp(m), -1.0, 1e-6)
    x, y = np.array([[3.0, 4.0]]), np.zeros(1, dtype=int)
    for far in (1.0, 1e3, 1e6):
        pull = Loss.of(x, y, None, far * x, np.zeros(1)).gradient[0, :2]
        yield at_most("pull of a wrong row", np.linalg.norm(pull), 5.0)
    yield at_least("logistic loss of a correct row, m = 5", log_loss(np.array([5.0]))[0], 1e-3)
    run = gradient_descent(lambda v: -v[0], [0.0], jac=lambda v: -np.ones(1), step=1.0)
    yield equal("linear loss after 1000 steps", run.fun, -1000.0, 1e-9)
    yield true("which end without a minimum", not run.success)


@claim("A53")
def cross_entropy() -> Iterator[Evidence]:
    """Cross entropy is -log softmax(f)_y = logsumexp(f) - f_y with y the true class.

    Its gradient is softmax(f) minus the one-hot vector of y, and a constant added to all scores
    changes nothing. The text has another index in the numerator, and the logarithm of the
    numerator alone.
    """
    f, identity = np.array([0.3, -1.2, 2.0]), np.eye(1)

    def at(scores: np.ndarray) -> Loss:
        return Loss.of(identity, np.array([1]), None, scores[:, None], np.zeros(3))

    yield equal("loss", at(f).loss, np.log(np.exp(f).sum()) - f[1], 1e-12)
    yield equal("loss as -log softmax", at(f).loss, -np.log(softmax(f[None])[0, 1]), 1e-12)
    gradient = softmax(f[None])[0] - np.eye(3)[1]
    yield equal("gradient", at(f).gradient[:, 0], gradient, 1e-12)
    numeric = approx_fprime(f, lambda s: at(s).loss, 1e-7)
    yield equal("gradient by differences", at(f).gradient[:, 0], numeric, 1e-6)
    yield equal("softmax of f + 7", softmax(f[None] + 7), softmax(f[None]), 1e-12)
    far = np.array([1000.0, 0.0, -1000.0])
    yield equal("loss of (1000, 0, -1000)", at(far).loss, 1000.0)
    yield true("its gradient is finite", np.isfinite(at(far).gradient).all())


@claim("A54")
def sigmoid_identities() -> Iterator[Evidence]:
    """sigma(-z) = 1 - sigma(z), sigma' = sigma (1 - sigma), tanh z = 2 sigma(2z) - 1.

    The softmax of two scores is the sigmoid of their difference.
    """
    z = np.linspace(-20, 20, 401)
    yield equal("sigma(-z)", sigmoid(-z), 1 - sigmoid(z), 1e-12)
    h = 1e-5  # central differences: error of order h^2
    slope = (sigmoid(z + h) - sigmoid(z - h)) / (2 * h)
    yield equal("sigma'", slope, sigmoid(z) * (1 - sigmoid(z)), 1e-9)
    yield equal("tanh", np.tanh(z), 2 * sigmoid(2 * z) - 1, 1e-12)
    scores = np.column_stack([0.3 * z, 1 - z])
    yield equal("two-class softmax", softmax(scores)[:, 0], sigmoid(1.3 * z - 1), 1e-12)


@claim("A55")
def logistic_regression_is_maximum_likelihood() -> Iterator[Evidence]:
    """Logistic regression is maximum likelihood for p(y | x) = sigma(y w^T x).

    It minimises sum log(1 + exp(-y w^T x)). With labels 0 and 1 the same loss is the mean of
    -[y log s + (1 - y) log(1 - s)] (the text has a fragment of a derivative there) and its
    gradient is X^T (sigma(X w) - y) / n, which vanishes at the fit.
    """
    X, y = data(0)
    sign, n = 2 * y - 1, len(y)
    model = LogisticRegression(C=np.inf, fit_intercept=False).fit(X, y)
    for w in (np.array([0.2, -1.0, 0.5]), model.coef_[0]):
        s, found = sigmoid(X @ w), Loss.of(X, y, None, w[None], np.zeros(1))
        zero_one = -np.sum(y * np.log(s) + (1 - y) * np.log(1 - s))
        plus_minus = np.sum(np.log1p(np.exp(-sign * (X @ w))))
        yield equal("loss with labels 0, 1", found.loss, zero_one, 1e-10)
        yield equal("loss with labels -1, 1", found.loss, plus_minus, 1e-10)
        gradient = X.T @ (s - y) / n
        yield equal("gradient", found.gradient[0, :-1] / n, gradient, 1e-12)
        other = -X.T @ (sign * sigmoid(-sign * (X @ w))) / n
        yield equal("gradient with labels -1, 1", gradient, other, 1e-12)
    yield at_most("gradient at the fit", float(np.linalg.norm(gradient)), 1e-6)
    again = LogisticRegression(C=np.inf, fit_intercept=False).fit(X, sign)
    yield equal("coefficients of the two codings", again.coef_, model.coef_, 1e-12)


@claim("A56")
def descent_finds_the_widest_margin() -> Iterator[Evidence]:
    """On separable data descent on the logistic loss turns to the widest margin.

    There is no minimum to go to: ||w|| grows without bound while w / ||w|| tends to the
    direction of the widest margin. Plain descent gets there as slowly as log t; with the
    gradient divided by the loss and a step of 0.5 / sqrt(t) the angle is below one degree after
    5,000 steps here. The minimiser goes the same way as the penalty vanishes.
    """
    rng = np.random.default_rng(3)
    # Two rows on the margin, the others at twice the distance or more: were a third row nearly on
    # the margin, the limit would be the same and the way there longer than a test can go.
    widest, along = np.array([np.cos(0.4), np.sin(0.4)]), np.array([-np.sin(0.4), np.cos(0.4)])
    far = np.outer(2 + rng.random(58), widest) + np.outer(rng.standard_normal(58), along)
    rows = np.vstack([widest + along, widest - along, far])  # y_i x_i
    y = np.tile([1, -1], 30)
    X = rows * y[:, None]
    angles = np.linspace(0, 2 * np.pi, 100_001)
    margins = (rows @ np.array([np.cos(angles), np.sin(angles)])).min(axis=0)
    yield equal("the widest margin by a search over angles", margins.max(), 1.0, 1e-4)

    def log_of_loss(w: np.ndarray) -> float:
        return float(np.log(np.logaddexp(0, -rows @ w).sum()))

    def slope(w: np.ndarray) -> np.ndarray:
        m = rows @ w
        return -(rows.T @ sigmoid(-m)) / np.logaddexp(0, -m).sum()

    found = gradient_descent(
        log_of_loss,
        np.zeros(2),
        jac=slope,
        step=0.5,
        schedule=lambda k: 1 / np.sqrt(k + 1),
        maxiter=5000,
        tol=0.0,
    )
    penalised = LogisticRegression(C=1e8, fit_intercept=False).fit(X, y)
    for name, w in (("descent", found.x), ("C = 1e8", penalised.coef_[0])):
        unit = w / np.linalg.norm(w)
        angle = float(np.degrees(np.arccos(min(1.0, unit @ widest))))
        yield at_most(f"angle to the widest margin in degrees, {name}", angle, 1.0)
        yield at_least(f"margin / widest, {name}", (rows @ unit).min() / margins.max(), 0.99)
    norms = np.linalg.norm(found.path, axis=1)
    yield at_least("least growth of ||w|| in a step", np.diff(norms[10:]).min(), 0.0)
    fits = [LogisticRegression(C=c, fit_intercept=False) for c in (1.0, 1e2, 1e4, 1e6)]
    sizes = [np.linalg.norm(m.fit(X, y).coef_) for m in fits]
    yield at_least("growth of ||w|| with C", np.diff(sizes).min(), 1.0)


@claim("B45")
def sigmoid_and_logit() -> Iterator[Evidence]:
    """sigma(z) = 1 / (1 + exp(-z)) has the inverse log(p / (1 - p)).

    It satisfies sigma(-z) = 1 - sigma(z) and sigma' = sigma (1 - sigma), and does not overflow
    at |z| = 1e4. One text prints the exponent without its sign.
    """
    z = np.linspace(-30, 30, 601)
    yield equal("sigma", sigmoid(z), 1 / (1 + np.exp(-z)), 1e-12)
    yield equal("sigma(-z)", sigmoid(-z), 1 - sigmoid(z), 1e-12)
    inside = z[np.abs(z) <= 10]  # beyond, 1 - p has too few digits to invert
    yield equal("logit of sigma", logit(sigmoid(inside)), inside, 1e-10)
    slope = (sigmoid(z + 1e-5) - sigmoid(z - 1e-5)) / 2e-5
    yield equal("sigma'", slope, sigmoid(z) * sigmoid(-z), 1e-9)
    with np.errstate(all="raise", under="ignore"):
        yield equal("sigma at -1e4 and 1e4", sigmoid(np.array([-1e4, 1e4])), [0, 1])


@claim("B46")
def three_forms_of_the_likelihood() -> Iterator[Evidence]:
    """The Bernoulli negative log-likelihood has three equal forms.

    For scores s and labels y in {0, 1} it is sum log(1 + exp(-s)) + (1 - y) s, which is sum
    log(1 + exp(-y' s)) with y' = 2y - 1. The text drops a logarithm in the (1 - y) term on the
    way, and prints the inverse of the map from y to y'.
    """
    X, y = data(1)
    w = np.array([0.7, -0.2, 1.1])
    s = X @ w
    first = -np.sum(y * np.log(sigmoid(s)) + (1 - y) * np.log(np.exp(-s) / (1 + np.exp(-s))))
    second = np.sum(np.log1p(np.exp(-s)) + (1 - y) * s)
    third = np.sum(np.log1p(np.exp(-(2 * y - 1) * s)))
    ours = Loss.of(X, y, None, w[None], np.zeros(1)).loss
    yield equal("the three forms and ours", [second, third, ours], [first] * 3, 1e-12 * first)


@claim("B47")
def gradient_of_logistic_regression() -> Iterator[Evidence]:
    """The gradient of the mean loss is X^T (sigma(X theta) - y) / m.

    The loss is -[y log sigma + (1 - y) log(1 - sigma)], of which the text misplaces the brackets.
    """
    X, y = data(2)
    theta = np.array([0.3, -0.8, 0.5])

    def mean_loss(t: np.ndarray) -> float:
        return Loss.of(X, y, None, t[None], np.zeros(1)).loss / len(y)

    formula = X.T @ (sigmoid(X @ theta) - y) / len(y)
    numeric = [
        (mean_loss(theta + h) - mean_loss(theta - h)) / 2e-6 for h in 1e-6 * np.eye(len(theta))
    ]
    ours = Loss.of(X, y, None, theta[None], np.zeros(1)).gradient[0, :-1] / len(y)
    yield equal("by differences", numeric, formula, 1e-6)
    yield equal("ours", ours, formula, 1e-14)
    by_descent = minimize(mean_loss, np.zeros(3), method="BFGS", tol=1e-9).x
    model = LogisticRegression(C=np.inf, fit_intercept=False).fit(X, y)
    yield equal("the minimiser by another method", model.coef_[0], by_descent, 1e-5)


@claim("B48")
def decision_rule() -> Iterator[Evidence]:
    """P(y = 1 | x) > 1/2 exactly where the score is positive."""
    X, y = data(3, n=500)
    model = LogisticRegression().fit(X, y)
    score, p = model.decision_function(X), model.predict_proba(X)[:, 1]
    yield equal("P > 1/2 and score > 0", p > 0.5, score > 0)
    yield equal("predictions and score > 0", model.predict(X), score > 0)


@claim("B49")
def softmax_is_a_distribution() -> Iterator[Evidence]:
    """Softmax outputs are non-negative and sum to 1.

    They do not change when a constant is added to all scores, and for two classes are the
    sigmoid of the difference of the scores.
    """
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((90, 4)), rng.integers(3, size=90)
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)
    yield at_least("least probability", p.min(), 0.0)
    yield equal("sums", p.sum(axis=1), np.ones(90), 1e-12)
    yield equal("scores + 50", softmax(model.decision_function(X) + 50), p, 1e-12)
    Z = rng.standard_normal((90, 2)) * 5
    yield equal("two classes", softmax(Z)[:, 1], sigmoid(Z[:, 1] - Z[:, 0]), 1e-12)
