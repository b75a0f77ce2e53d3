"""The perceptron, linear functions and hyperplanes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.kernel import LinearSVC
from panlearn.linear import LogisticRegression, Perceptron
from panlearn.optimize import stochastic_gradient_descent
from panlearn.text import TfidfVectorizer

WORDS = ["and", "viagra", "the", "of", "nigeria"]
EMAILS = np.array(
    [
        [1, 1, 0, 1, 1],
        [0, 0, 1, 1, 0],
        [0, 1, 1, 0, 0],
        [1, 0, 0, 1, 0],
        [1, 0, 1, 0, 1],
        [1, 0, 1, 1, 0],
    ]
)
SPAM = np.array([1, -1, 1, -1, 1, -1])
QUERY = np.array([[1, 1, 0, 0, 0]])
CORNERS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
OR, XOR = np.array([-1, 1, 1, 1]), np.array([-1, 1, 1, -1])


def separable(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows with a column of ones, labels by a unit vector, and the margin of that vector."""
    w = np.append(rng.standard_normal(d), 0.2)
    w /= np.linalg.norm(w)
    X = np.column_stack([rng.standard_normal((4 * n, d)), np.ones(4 * n)])
    X = X[np.abs(X @ w) > 0.1][:n]
    y = np.sign(X @ w).astype(int)
    return X, y, float(np.min(y * (X @ w)))


def iterates(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercept after each row of one pass, one row at a time."""
    model, path = Perceptron(), []
    for row, label in zip(X, y, strict=True):
        model.partial_fit(row[None], [label], classes=[-1, 1])
        path.append(np.append(model.coef_[0], model.intercept_))
    return np.array(path)[:, :-1], np.array(path)[:, -1]


@claim("B1")
def bag_of_words() -> Iterator[Evidence]:
    """A binary bag of words turns six e-mails over five words into a 6 x 5 table of 0 and 1.

    Each row marks the words that the e-mail holds, however often: the table that the spam example
    is about. The text swaps the two indices; rows are samples here.
    """
    sentences = [" ".join(np.array(WORDS)[row == 1]) for row in EMAILS]
    sentences[1] += " the the of"
    model = TfidfVectorizer(tf="boolean", idf="none", norm=None).fit(sentences)
    place = {word: j for j, word in enumerate(model.get_feature_names_out())}
    table = model.transform(sentences).toarray()[:, [place[word] for word in WORDS]]
    yield equal("the table", table, EMAILS)
    yield true("6 rows and 5 columns", table.shape == (6, 5))


@claim("B2")
def spam_perceptron() -> Iterator[Evidence]:
    """The spam table is linearly separable: the perceptron makes 4 updates and stops.

    The cyclic perceptron from zero, which counts a score of zero as a mistake, ends at w = (0,
    2, 0, -1, 1), b = 0, and calls the new e-mail (and, viagra) spam with a score of 2.
    """
    model = Perceptron().fit(EMAILS, SPAM)
    yield equal("updates", model.n_updates_, [4])
    yield equal("weights", model.coef_, [[0, 2, 0, -1, 1]])
    yield equal("intercept", model.intercept_, [0])
    yield equal("scores", model.decision_function(EMAILS), [2, -1, 2, -1, 1, -1])
    yield equal("score of the new e-mail", model.decision_function(QUERY), [2])
    yield equal("its label", model.predict(QUERY), [1])


@claim("B4")
def or_perceptron() -> Iterator[Evidence]:
    """On the logical OR the perceptron makes 9 updates and ends at w = (2, 2), b = -1.

    It starts from zero and walks (0, 0), (1, 0), (0, 1), (1, 1) in this order.
    """
    model = Perceptron().fit(CORNERS, OR)
    yield equal("updates", model.n_updates_, [9])
    yield equal("weights", model.coef_, [[2, 2]])
    yield equal("intercept", model.intercept_, [-1])


@claim("B5")
def linear_functions_are_inner_products() -> Iterator[Evidence]:
    """A function on R^d is linear exactly if it is f(x) = <x, w> with w_j = f(e_j).

    The score of a classifier without an intercept is one.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    model = LogisticRegression(fit_intercept=False).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)
    f = model.decision_function
    w, new = f(np.eye(6)), rng.standard_normal((100, 6))
    yield equal("f(x) and <x, w> at 100 points", f(new), new @ w, 1e-12)
    a, b = new[:50], new[50:]
    yield equal("f(2a - 3b) and 2f(a) - 3f(b)", f(2 * a - 3 * b), 2 * f(a) - 3 * f(b), 1e-12)


@claim("B6")
def weights_are_normal_to_the_boundary() -> Iterator[Evidence]:
    """The weight vector is orthogonal to the decision boundary.

    <w, x - x'> = 0 for any two points x, x' with <w, x> + b = 0.
    """
    rng = np.random.default_rng(1)
    X, y, _ = separable(rng, 40, 3)
    model = Perceptron().fit(X[:, :3], y)
    w = model.coef_[0] / np.linalg.norm(model.coef_)
    points = rng.standard_normal((100, 3))
    points -= np.outer(model.decision_function(points) / np.linalg.norm(model.coef_), w)
    yield at_most("|score| on the boundary", np.abs(model.decision_function(points)).max(), 1e-12)
    yield at_most("|<w, x - x'>|", np.abs((points[1:] - points[:-1]) @ w).max(), 1e-12)


@claim("B7")
def an_update_raises_the_score() -> Iterator[Evidence]:
    """One update on (x, y) raises y (<w, x> + b) of that row by exactly ||x||^2 + 1.

    The 1 is the intercept's share.
    """
    rng = np.random.default_rng(2)
    X, y = rng.integers(-3, 4, (200, 4)).astype(float), rng.choice([-1, 1], 200)
    model, worst, updates = Perceptron(), 0.0, 0
    model.partial_fit(X[:1], y[:1], classes=[-1, 1])
    for row, label in zip(X[1:], y[1:], strict=True):
        before, made = label * model.decision_function(row[None])[0], model.n_updates_[0]
        model.partial_fit(row[None], [label])
        if model.n_updates_[0] > made:
            updates += 1
            rise = label * model.decision_function(row[None])[0] - before
            worst = max(worst, abs(rise - (row @ row + 1)))
    yield at_least("updates seen", updates, 20)
    yield at_most("|rise - (||x||^2 + 1)|", worst, 0.0)


@claim("B8")
def intercept_as_a_feature() -> Iterator[Evidence]:
    """A constant feature of 1 absorbs the intercept.

    Without an intercept on (x, 1) the perceptron goes through the same weights as with one on
    x.
    """
    rng = np.random.default_rng(3)
    X, y, _ = separable(rng, 30, 3)
    X = np.round(X, 3)
    coef, intercept = iterates(X[:, :3], y)
    inside, path = Perceptron(fit_intercept=False), []
    for row, label in zip(X, y, strict=True):
        path.append(inside.partial_fit(row[None], [label], classes=[-1, 1]).coef_[0].copy())
    yield equal("the weights after every row", np.column_stack([coef, intercept]), path)


@claim("B9")
def mistake_bound() -> Iterator[Evidence]:
    """The perceptron from zero makes at most C^2 / gamma^2 updates, in whatever order.

    Here C is the largest norm of a row and gamma the margin with which a unit vector w*
    separates the rows. On the spam table the bound is 15 (4 are made), on OR it is 27 (9 are
    made). The text allows any start, but the bound holds from zero only.
    """
    for name, X, y, squared_margin in (("spam", EMAILS, SPAM, 1 / 3), ("OR", CORNERS, OR, 1 / 9)):
        wide = np.column_stack([X, np.ones(len(X))])
        bound = (wide**2).sum(axis=1).max() / squared_margin
        model = Perceptron(fit_intercept=False).fit(wide, y)
        yield equal(f"bound, {name}", bound, {"spam": 15, "OR": 27}[name], 1e-9)
        yield at_most(f"updates, {name}", model.n_updates_[0], bound)
    rng, worst = np.random.default_rng(4), 0.0
    for seed in range(20):
        X, y, margin = separable(rng, 30, 3)
        order = Perceptron(fit_intercept=False, shuffle=True, random_state=seed, max_iter=10_000)
        model = order.fit(X, y)
        worst = max(worst, model.n_updates_[0] * margin**2 / (X**2).sum(axis=1).max())
    yield at_most("updates / bound on 20 random sets in random order", worst, 1.0)


@claim("B10")
def mistake_bound_along_the_way() -> Iterator[Evidence]:
    """After M updates <w, w*> >= M gamma and ||w||^2 <= M C^2, at every update.

    These two inequalities give the bound on the number of mistakes. The text's proof has the
    square of w where that of x belongs.
    """
    rng = np.random.default_rng(5)
    X, y, _ = separable(rng, 40, 3)
    best = linprog(np.zeros(4), A_ub=-y[:, None] * X, b_ub=-np.ones(40), bounds=(None, None)).x
    best /= np.linalg.norm(best)
    margin, radius = np.min(y * (X @ best)), np.linalg.norm(X, axis=1).max()
    model, slack_up, slack_down, seen = Perceptron(fit_intercept=False), np.inf, np.inf, 0
    for _ in range(1000):
        for row, label in zip(X, y, strict=True):
            model.partial_fit(row[None], [label], classes=[-1, 1])
            if (made := int(model.n_updates_[0])) > seen:
                seen, w = made, model.coef_[0]
                slack_up = min(slack_up, w @ best - made * margin)
                slack_down = min(slack_down, made * radius**2 - w @ w)
        if (y * model.decision_function(X) > 0).all():
            break
    yield at_least("updates seen", seen, 2)
    yield at_least("<w, w*> - M gamma", slack_up, -1e-9)
    yield at_least("M C^2 - ||w||^2", slack_down, -1e-9)


@claim("B11")
def perceptron_is_stochastic_gradient_descent() -> Iterator[Evidence]:
    """The perceptron is stochastic gradient descent with step 1 on max(-y <w, x>, 0).

    The subgradient is -y x where the score is zero.
    """
    rng = np.random.default_rng(6)
    X, y = np.round(rng.standard_normal((50, 3)), 2), rng.choice([-1, 1], 50)
    order = []

    def loss(w: np.ndarray, rows: Any) -> float:
        return float(np.mean(np.maximum(-y[rows] * (X[rows] @ w), 0)))

    def subgradient(w: np.ndarray, rows: Any) -> np.ndarray:
        if isinstance(rows, np.ndarray) and len(rows) == 1:
            order.append(rows[0])
        wrong = y[rows] * (X[rows] @ w) <= 0
        return -(X[rows] * (y[rows] * wrong)[:, None]).mean(axis=0)

    found = stochastic_gradient_descent(
        loss, np.zeros(3), jac=subgradient, n_samples=50, epochs=1, step=1.0, random_state=0
    )
    ours = Perceptron(fit_intercept=False)
    for i in order:
        ours.partial_fit(X[[i]], y[[i]], classes=[-1, 1])
    yield equal("rows seen", len(order), 50)
    yield equal("the weights after one pass", ours.coef_[0], found.x, 1e-12)


@claim("B12")
def xor_is_not_separable() -> Iterator[Evidence]:
    """No hyperplane separates XOR.

    The constraints y (<w, x> + b) >= 1 have no solution; those of OR have, whose labels the text
    prints for XOR. So the linear classifiers err on one corner of XOR at least, and on none of OR.
    """
    wide = np.column_stack([CORNERS, np.ones(4)])
    for name, y, status in (("XOR", XOR, 2), ("OR", OR, 0)):
        found = linprog(np.zeros(3), A_ub=-y[:, None] * wide, b_ub=-np.ones(4), bounds=(None, None))
        yield equal(f"status of the linear programme (2: infeasible), {name}", found.status, status)
        models = Perceptron(), LogisticRegression(C=1e3), LinearSVC(C=1e3)
        for model in models:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                wrong = (model.fit(CORNERS, y).predict(CORNERS) != y).sum()
            what = f"corners of {name} that {type(model).__name__} has wrong"
            yield at_least(what, wrong, 1) if status else equal(what, wrong, 0)


@claim("B13")
def perceptron_cycles_on_xor() -> Iterator[Evidence]:
    """Where no hyperplane separates the classes the perceptron never ends by itself.

    On XOR it makes 4 mistakes in every pass and is back at w = 0, b = 0 after each. `max_iter`
    stops it, with a warning.
    """
    for passes in (1, 2, 7):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = Perceptron(max_iter=passes).fit(CORNERS, XOR)
        yield equal("mistakes of each pass", model.history_["mistakes"], [4] * passes)
        yield equal("weights", model.coef_, [[0, 0]])
        yield equal("intercept", model.intercept_, [0])
        yield true("warned", any(issubclass(w.category, ConvergenceWarning) for w in caught))
        yield true("not converged", not model.converged_)


@claim("B14")
def multiclass_reductions() -> Iterator[Evidence]:
    """With c classes one-vs-all learns c classifiers, one-vs-one c (c - 1) / 2.

    The first predicts the highest score, the second by majority vote, argmax_k of the number of
    l with <x, w_kl> > 0. The text's formula for the vote adds up raw scores, which is another
    rule.
    """
    rng = np.random.default_rng(7)
    centres = np.array([[4, 4], [-4, 4], [-4, -4], [4, -4]])
    y = np.repeat(np.arange(4), 20)
    X = centres[y] + rng.uniform(-1, 1, (80, 2))
    one_vs_all, one_vs_one = Perceptron().fit(X, y), Perceptron(multi_class="ovo").fit(X, y)
    yield equal("classifiers, one-vs-all", len(one_vs_all.coef_), 4)
    yield equal("classifiers, one-vs-one", len(one_vs_one.coef_), 6)
    scores = X @ one_vs_all.coef_.T + one_vs_all.intercept_
    yield equal("highest score", one_vs_all.predict(X), scores.argmax(axis=1))
    pair = X @ one_vs_one.coef_.T + one_vs_one.intercept_
    votes, column = np.zeros((80, 4)), 0
    for k in range(4):
        for m in range(k + 1, 4):
            votes[:, k] += pair[:, column] > 0
            votes[:, m] += pair[:, column] <= 0
            column += 1
    yield equal("majority vote", one_vs_one.predict(X), votes.argmax(axis=1))
    yield equal("accuracy", [one_vs_all.score(X, y), one_vs_one.score(X, y)], [1, 1])


@claim("B15")
def signed_distance() -> Iterator[Evidence]:
    """The signed distance of x to the hyperplane <w, x> + b = 0 is (<w, x> + b) / ||w||.

    A positive factor of (w, b) does not change it.
    """
    rng = np.random.default_rng(8)
    X, y, _ = separable(rng, 40, 3)
    model = Perceptron().fit(X[:, :3], y)
    new, w = rng.standard_normal((50, 3)), model.coef_[0]
    distance = model.decision_function(new) / np.linalg.norm(w)
    foot = new - np.outer(distance, w / np.linalg.norm(w))
    yield at_most("|score| of the foot", np.abs(model.decision_function(foot)).max(), 1e-12)
    yield equal("|x - foot|", np.linalg.norm(new - foot, axis=1), np.abs(distance), 1e-12)
    model.coef_, model.intercept_ = 7.5 * model.coef_, 7.5 * model.intercept_
    again = model.decision_function(new) / np.linalg.norm(model.coef_)
    yield equal("the distance for 7.5 (w, b)", again, distance, 1e-12)


@claim("A58")
def hyperplane_through_a_point() -> Iterator[Evidence]:
    """The hyperplane through p with normal w is {x: <w, x> = b} with b = <w, p>.

    It is {x: <w, x - p> = 0}, and x lies at distance |<w, x> - b| / ||w|| from it.
    """
    rng = np.random.default_rng(9)
    X, y, _ = separable(rng, 40, 4)
    model = Perceptron().fit(X[:, :4], y)
    w, b = model.coef_[0], -model.intercept_[0]
    p = b * w / (w @ w)
    points = rng.standard_normal((50, 4))
    yield equal("<w, x - p> and <w, x> - b", (points - p) @ w, points @ w - b, 1e-11)
    distance = np.abs(model.decision_function(points)) / np.linalg.norm(w)
    onto = points - np.outer((points - p) @ w, w) / (w @ w)
    yield at_most("residual of the projection", np.abs((onto - p) @ w).max(), 1e-11)
    yield equal("distance", np.linalg.norm(points - onto, axis=1), distance, 1e-12)
