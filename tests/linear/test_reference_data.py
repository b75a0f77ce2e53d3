"""Least squares on reference data of the National Institute of Standards and Technology.

The certified values are the exact solutions to fifteen digits; a test first finds them again in
rational arithmetic, so that data and values are known to be what they say.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panlearn.linear import LinearRegression, RecursiveLeastSquares

# y and x of the calibration of ozone monitors (Norris)
NORRIS = np.array(
    """0.1 0.2 338.8 337.4 118.1 118.2 888.0 884.6 9.2 10.1 228.1 226.5 668.5 666.3 998.5 996.3
    449.1 448.6 778.9 777.0 559.2 558.2 0.3 0.4 0.1 0.6 778.1 775.5 668.8 666.9 339.3 338.0
    448.9 447.5 10.8 11.6 557.7 556.0 228.3 228.1 998.0 995.8 888.8 887.6 119.6 120.2 0.3 0.3
    0.6 0.3 557.6 556.8 339.3 339.1 888.0 887.2 998.5 999.0 778.9 779.0 10.2 11.1 117.6 118.3
    228.9 229.2 668.4 669.1 449.2 448.9 0.2 0.5""".split(),
    dtype=object,
).reshape(-1, 2)

# employment, then price deflator, national product, unemployed, army, population, year (Longley)
LONGLEY = np.array(
    """60323 83.0 234289 2356 1590 107608 1947 61122 88.5 259426 2325 1456 108632 1948
    60171 88.2 258054 3682 1616 109773 1949 61187 89.5 284599 3351 1650 110929 1950
    63221 96.2 328975 2099 3099 112075 1951 63639 98.1 346999 1932 3594 113270 1952
    64989 99.0 365385 1870 3547 115094 1953 63761 100.0 363112 3578 3350 116219 1954
    66019 101.2 397469 2904 3048 117388 1955 67857 104.6 419180 2822 2857 118734 1956
    68169 108.4 442769 2936 2798 120445 1957 66513 110.8 444546 4681 2637 121950 1958
    68655 112.6 482704 3813 2552 123366 1959 69564 114.2 502601 3931 2514 125368 1960
    69331 115.7 518173 4806 2572 127852 1961 70551 116.9 554894 4007 2827 130081 1962""".split(),
    dtype=object,
).reshape(-1, 7)

# y and x of a polynomial of degree ten (Filip)
FILIP = np.array(
    """0.8116 -6.860120914 0.9072 -4.324130045 0.9052 -4.358625055 0.9039 -4.358426747
    0.8053 -6.955852379 0.8377 -6.661145254 0.8667 -6.355462942 0.8809 -6.118102026
    0.7975 -7.115148017 0.8162 -6.815308569 0.8515 -6.519993057 0.8766 -6.204119983
    0.8885 -5.853871964 0.8859 -6.109523091 0.8959 -5.79832982 0.8913 -5.482672118
    0.8959 -5.171791386 0.8971 -4.851705903 0.9021 -4.517126416 0.909 -4.143573228
    0.9139 -3.709075441 0.9199 -3.499489089 0.8692 -6.300769497 0.8872 -5.953504836
    0.89 -5.642065153 0.891 -5.031376979 0.8977 -4.680685696 0.9035 -4.329846955
    0.9078 -3.928486195 0.7675 -8.56735134 0.7705 -8.363211311 0.7713 -8.107682739
    0.7736 -7.823908741 0.7775 -7.522878745 0.7841 -7.218819279 0.7971 -6.920818754
    0.8329 -6.628932138 0.8641 -6.323946875 0.8804 -5.991399828 0.7668 -8.781464495
    0.7633 -8.663140179 0.7678 -8.473531488 0.7697 -8.247337057 0.77 -7.971428747
    0.7749 -7.676129393 0.7796 -7.352812702 0.7897 -7.072065318 0.8131 -6.774174009
    0.8498 -6.478861916 0.8741 -6.159517513 0.8061 -6.835647144 0.846 -6.53165267
    0.8751 -6.224098421 0.8856 -5.910094889 0.8919 -5.598599459 0.8934 -5.290645224
    0.894 -4.974284616 0.8957 -4.64454848 0.9047 -4.290560426 0.9129 -3.885055584
    0.9209 -3.408378962 0.9219 -3.13200249 0.7739 -8.726767166 0.7681 -8.66695597
    0.7665 -8.511026475 0.7703 -8.165388579 0.7702 -7.886056648 0.7761 -7.588043762
    0.7809 -7.283412422 0.7961 -6.995678626 0.8253 -6.691862621 0.8602 -6.392544977
    0.8809 -6.067374056 0.8301 -6.684029655 0.8664 -6.378719832 0.8834 -6.065855188
    0.8898 -5.752272167 0.8964 -5.132414673 0.8963 -4.811352704 0.9074 -4.098269308
    0.9119 -3.66174277 0.9228 -3.2644011""".split(),
    dtype=object,
).reshape(-1, 2)

# the intercept last, as here
CERTIFIED = {
    "norris": [1.00211681802045, -0.262323073774029],
    "longley": [
        15.0618722713733,
        -0.358191792925910e-01,
        -2.02022980381683,
        -1.03322686717359,
        -0.511041056535807e-01,
        1829.15146461355,
        -3482258.63459582,
    ],
    "filip": [
        -2772.17959193342,
        -2316.37108160893,
        -1127.97394098372,
        -354.478233703349,
        -75.1242017393757,
        -10.8753180355343,
        -1.06221498588947,
        -0.670191154593408e-01,
        -0.246781078275479e-02,
        -0.402962525080404e-04,
        -1467.48961422980,
    ],
}


def rational(name):
    """Columns and target as fractions of the decimals printed."""
    if name == "filip":
        table = [[Fraction(y), Fraction(x)] for y, x in FILIP]
        return [[x**k for k in range(1, 11)] for _, x in table], [y for y, _ in table]
    table = [[Fraction(v) for v in row] for row in (NORRIS if name == "norris" else LONGLEY)]
    return [row[1:] for row in table], [row[0] for row in table]


def floats(name):
    X, y = rational(name)
    return np.array(X, dtype=float), np.array(y, dtype=float)


def exact(X, y, information=0, weight=None):
    """Solve (Σ w x xᵀ + information I) θ = Σ w x y in fractions, x with a last entry of one."""
    X = [[*row, Fraction(1)] for row in X]
    weight = weight or [Fraction(1)] * len(X)
    d = len(X[0])
    system = [
        [sum(w * row[i] * row[j] for w, row in zip(weight, X, strict=True)) for j in range(d)]
        + [sum(w * row[i] * t for w, row, t in zip(weight, X, y, strict=True))]
        for i in range(d)
    ]
    for i in range(d):
        system[i][i] += information
    for i in range(d):
        pivot = max(range(i, d), key=lambda r: abs(system[r][i]))
        system[i], system[pivot] = system[pivot], system[i]
        for r in range(d):
            if r != i:
                factor = system[r][i] / system[i][i]
                system[r] = [a - factor * b for a, b in zip(system[r], system[i], strict=True)]
    return np.array([float(system[i][d] / system[i][i]) for i in range(d)])


def digits(model, expected):
    """Correct digits of the worst coefficient."""
    found = np.append(model.coef_, model.intercept_)
    error = np.abs(found - expected) / np.abs(expected)
    return -np.log10(max(error.max(), 1e-16))


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_certified_values_are_the_exact_ones(name):
    np.testing.assert_allclose(exact(*rational(name)), CERTIFIED[name], rtol=1e-14)


# The condition of the columns, in the units of a QR decomposition, takes 5, 9 and 14 digits of 16;
# the data as floats take some more.
@pytest.mark.parametrize(("name", "least"), [("norris", 12), ("longley", 9), ("filip", 7)])
def test_plain_and_generalised_least_squares(name, least):
    X, y = floats(name)
    plain = LinearRegression().fit(X, y)
    general = LinearRegression().fit(X, y, noise_covariance=np.eye(len(y)))
    assert digits(plain, CERTIFIED[name]) >= least
    assert digits(general, CERTIFIED[name]) >= least
    np.testing.assert_allclose(general.singular_, plain.singular_, atol=1e-12 * plain.singular_[0])
    assert general.rank_ == plain.rank_ == X.shape[1]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_generalised_least_squares_is_weighted_where_the_noise_is_independent(rng, fit_intercept):
    X, y = rng.normal(size=(30, 4)) + 1e5, rng.normal(size=(30, 2))
    weight = rng.uniform(0.1, 10, 30)
    model = LinearRegression(fit_intercept=fit_intercept)
    general = model.fit(X, y, noise_covariance=np.diag(7 / weight)).coef_
    np.testing.assert_allclose(general, model.fit(X, y, weight).coef_, rtol=1e-8)


@pytest.mark.parametrize(("name", "least"), [("norris", 12), ("longley", 8.5)])
@pytest.mark.parametrize("how", ["fit", "rows", "blocks"])
def test_recursive_least_squares_with_a_wide_prior(name, least, how):
    """The gain of textbooks has three digits of Norris left and none of Longley."""
    X, y = floats(name)
    wide = dict(prior_covariance=1e24, intercept_prior_variance=1e24)
    model = RecursiveLeastSquares(**wide)
    size = {"fit": len(y), "rows": 1, "blocks": 5}[how]
    for i in range(0, len(y), size):
        model.partial_fit(X[i : i + size], y[i : i + size])
    assert digits(model, CERTIFIED[name]) >= least


@given(st.integers(0, 2**32 - 1), st.floats(0, 12), st.sampled_from([1.0, 0.9, 0.5]))
def test_recursive_least_squares_keep_the_digits_of_the_exact_posterior(seed, width, forgetting):
    """Any prior, with forgetting or not, at an offset: against fractions."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)) + 100, rng.normal(size=12)
    model = RecursiveLeastSquares(
        prior_covariance=10.0**width, intercept_prior_variance=10.0**width, forgetting=forgetting
    ).fit(X, y)
    f = Fraction(forgetting)
    information = f**12 / Fraction(10.0**width)
    rows = [[Fraction(v) for v in row] for row in X]
    weight = [f ** (11 - i) for i in range(12)]
    expected = exact(rows, [Fraction(v) for v in y], information, weight)
    found = np.append(model.coef_, model.intercept_)
    # a condition of a few hundred, and with the least memory some thousands
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
