"""Decision trees: impurity, gain, splits along the axes, ensembles; bias and variance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from panlearn.claims.claim import Evidence, at_least, at_most, claim, equal, true
from panlearn.linear import LinearRegression
from panlearn.tree import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    RotationForestClassifier,
)


@claim("A60")
def trees_split_along_the_axes() -> Iterator[Evidence]:
    """A node of a decision tree asks whether one feature exceeds a threshold.

    So a strictly increasing change of any feature leaves the predictions on the training rows as
    they are, and a tree of full depth makes no error on distinct rows.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    full = DecisionTreeClassifier().fit(X, y)
    yield equal("training error of the full tree", 1 - full.score(X, y), 0.0)
    limits = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5).fit(X, y)
    for name, changed in {"x^3": X**3, "exp": np.exp(X)}.items():
        other = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5).fit(changed, y)
        yield equal(f"predictions after {name}", other.predict(changed), limits.predict(X))
    root, x = full.tree_, X[:, full.tree_.feature[0]]
    right = np.isin(full.apply(X), np.arange(root.children_right[0], root.node_count))
    yield true(
        "the root sends right what exceeds its threshold", (right == (x > root.threshold[0])).all()
    )


def entropy_of(labels: np.ndarray) -> float:
    """The entropy of the root of a tree that is grown on these labels."""
    X = np.arange(len(labels))[:, None]
    return float(DecisionTreeClassifier(criterion="entropy").fit(X, labels).tree_.impurity[0])


@claim("B222")
def entropy_of_a_node() -> Iterator[Evidence]:
    """The entropy of nine positive and five negative rows is 0.940286 bits.

    It is 0 for rows of one class, as 0 log 0 = 0, and 1 for as many of either; between these for
    two classes that both occur.
    """
    yield equal("entropy of 9 and 5", entropy_of(np.repeat([1, 0], [9, 5])), 0.9402860, 1e-6)
    yield equal("entropy of 7 and 7", entropy_of(np.repeat([1, 0], 7)), 1.0, 1e-12)
    tree = DecisionTreeClassifier(criterion="entropy").fit([[0], [1], [1]], [0, 1, 1]).tree_
    yield equal("entropy of pure leaves", tree.impurity[tree.is_leaf], [0.0, 0.0])
    between = [entropy_of(np.repeat([1, 0], [k, 20 - k])) for k in range(1, 10)]
    yield at_least("least entropy of a mixed node", min(between), 1e-9)
    yield at_most("largest entropy of an uneven node", max(between), 1 - 1e-9)


@claim("B223")
def gain_is_mutual_information() -> Iterator[Evidence]:
    """The gain of a split is the mutual information of attribute and label.

    Gain(S, A) = H(S) - sum |S_v| / |S| H(S_v) is never negative, and it is H(S) for an attribute
    that separates the classes. Measured on binary attributes, at the root of a tree.
    """
    rng = np.random.default_rng(1)
    worst, least = 0.0, np.inf
    for _ in range(30):
        a, y = rng.integers(2, size=40), rng.integers(2, size=40)
        model = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(a[:, None], y)
        tree = model.tree_
        below = tree.weighted_n_node_samples[1:] @ tree.impurity[1:] / 40
        gain = tree.impurity[0] - below if len(tree.impurity) > 1 else 0.0  # nothing to gain
        joint = np.histogram2d(a, y, bins=2)[0] / 40
        product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        seen = joint > 0
        information = np.sum(joint[seen] * np.log2(joint[seen] / product[seen]))
        worst, least = max(worst, abs(gain - information)), min(least, gain)
    yield at_most("|gain - mutual information|", worst, 1e-12)
    yield at_least("least gain", least, -1e-12)
    y = rng.integers(2, size=40)
    perfect = DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(y[:, None], y).tree_
    yield equal("entropy left by a perfect split", perfect.impurity[1:], [0.0, 0.0])


@claim("B224")
def id3_takes_the_attribute_of_largest_gain() -> Iterator[Evidence]:
    """ID3 asks for the attribute of largest gain, and learns distinct rows without error.

    This holds for rows of discrete attributes whose labels are a function of the attributes. The
    exclusive or is learned too, though neither attribute alone gains anything at the root.
    """
    rng = np.random.default_rng(2)
    X, y = rng.integers(3, size=(60, 4)), rng.integers(2, size=60)
    gains = []
    for j in range(4):
        stump = ID3Classifier(max_depth=1).fit(X[:, [j]], y).tree_
        below = stump.weighted_n_node_samples[1:] @ stump.impurity[1:] / 60
        gains.append(stump.impurity[0] - below)
    root = ID3Classifier().fit(X, y).tree_.feature[0]
    yield equal("the attribute of the root", root, int(np.argmax(gains)))
    rows = np.array(list(product(range(3), repeat=4)))
    labels = rng.integers(3, size=len(rows))
    model = ID3Classifier().fit(rows, labels)
    yield equal("training accuracy on distinct rows", model.score(rows, labels), 1.0)
    corners = np.array(list(product([0, 1], repeat=2)))
    exclusive = corners.sum(axis=1) % 2
    tree = ID3Classifier().fit(corners, exclusive)
    gain = tree.tree_.impurity[0] - tree.tree_.impurity[tree.tree_.children(0)].mean()
    yield equal("gain at the root of the exclusive or", gain, 0.0, 1e-15)
    yield equal("its training accuracy", tree.score(corners, exclusive), 1.0)


@claim("B225")
def ensembles_of_trees() -> Iterator[Evidence]:
    """Three ensembles: votes on bootstrap samples, weights on mistakes, rotated features.

    Bagging predicts by the votes of classifiers on samples drawn with replacement. AdaBoost raises
    the weights of the rows that a stump gets wrong, so that under the new weights, which sum to
    one, it errs on one half. A rotation forest turns groups of features by their principal axes,
    which is an orthogonal map.
    """
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=150) > 0).astype(int)
    bagged = BaggingClassifier(n_estimators=9, random_state=0).fit(X, y)
    votes = np.mean([member.predict(X) for member in bagged.estimators_], axis=0)
    yield equal("bagging against the vote of its trees", bagged.predict(X), votes > 0.5)
    different = np.mean([len(set(rows)) for rows in bagged.estimators_samples_]) / 150
    yield equal("part of different rows in a sample, 1 - 1/e", different, 1 - np.exp(-1), 0.05)

    boosted = AdaBoostClassifier(n_estimators=10).fit(X, y)
    weight, halves, sums, raised = np.full(150, 1 / 150), [], [], []
    for stump, alpha in zip(boosted.estimators_, boosted.estimator_weights_, strict=True):
        wrong = stump.predict(X) != y
        before, weight = weight, weight * np.exp(alpha * wrong)
        weight /= weight.sum()
        raised.append((weight[wrong] > before[wrong]).all())
        halves.append(weight[wrong].sum())
        sums.append(weight.sum())
    yield true("the weight of each mistake rises", all(raised))
    yield equal("sum of the weights", sums, np.ones(10), 1e-12)
    yield equal("error of a stump under the weights that it leaves", halves, np.full(10, 0.5), 1e-9)

    rotations = RotationForestClassifier(8, random_state=0).fit(X, y).rotations_
    products = rotations @ rotations.transpose(0, 2, 1)
    yield at_most("|R R' - I| of a rotation forest", np.abs(products - np.eye(4)).max(), 1e-12)


@claim("B226")
def variance_and_bias_at_a_point() -> Iterator[Evidence]:
    """The mean squared error over data sets is variance plus squared bias, at each point.

    E[(g - f)^2] = E[(g - E g)^2] + (E g - f)^2: the cross term vanishes. Exact over all 81 data
    sets whose four targets take three values, for a regression tree and for a straight line.
    """
    x = np.arange(4.0)[:, None]
    truth = np.sin(x[:, 0])
    for name, model in {
        "tree": DecisionTreeRegressor(max_depth=1),
        "line": LinearRegression(),
    }.items():
        g = np.array(
            [
                model.fit(x, truth + noise).predict(x)
                for noise in product((-1.0, 0.0, 2.0), repeat=4)
            ]
        )
        error, variance = np.mean((g - truth) ** 2, axis=0), g.var(axis=0)
        bias = g.mean(axis=0) - truth
        yield equal(f"error of the {name}", error, variance + bias**2, 1e-12)
        cross = np.mean((g - g.mean(axis=0)) * bias, axis=0)
        yield at_most(f"cross term of the {name}", np.abs(cross).max(), 1e-12)


@claim("B227")
def noise_bias_and_variance() -> Iterator[Evidence]:
    """With noisy targets y = f + e the expected error is bias squared plus noise plus variance.

    For polynomials on samples of a sine, the bias falls and the variance rises with the degree;
    for trees with their depth.
    """
    rng = np.random.default_rng(4)
    x, sigma, repeats = np.linspace(-1, 1, 30), 0.3, 120
    truth = np.sin(3 * x)
    degrees, depths = (1, 3, 7), (1, 2, 4)
    families = {
        "degree": [(d, LinearRegression(), np.vander(x, d + 1)[:, :-1]) for d in degrees],
        "depth": [(d, DecisionTreeRegressor(max_depth=d), x[:, None]) for d in depths],
    }
    for family, members in families.items():
        biases, variances = [], []
        for number, model, X in members:
            noise = sigma * rng.normal(size=(2, repeats, len(x)))
            g = np.array([model.fit(X, truth + e).predict(X) for e in noise[0]])
            error = np.mean((truth + noise[1] - g) ** 2)
            biases.append(np.mean((g.mean(axis=0) - truth) ** 2))
            variances.append(np.mean(g.var(axis=0)))
            parts = biases[-1] + sigma**2 + variances[-1]
            # 3600 squares: their mean has a deviation of 2.4%, and the variance one of its own
            yield equal(f"error at {family} {number}", error / parts, 1.0, 0.1)
        yield true(f"bias falls with the {family}", np.diff(biases).max() < 0)
        yield true(f"variance rises with the {family}", np.diff(variances).min() > 0)
