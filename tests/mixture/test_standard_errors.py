"""Standard errors: the information is a Hessian in 50 digits, errors are those of simulations."""

import warnings

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mlcore.mixture import (
    BernoulliMixture,
    BinomialMixture,
    CategoricalMixture,
    GaussianMixture,
    MultinomialMixture,
    select_mixture,
)

WEIGHTS = np.array([0.25, 0.45, 0.3])
rng = np.random.default_rng(0)
TABLES = [rng.dirichlet(np.full(size, 3.0), 3) for size in (2, 3, 4)]
MEANS = rng.uniform(0.1, 0.9, (3, 2))
WORDS = rng.dirichlet(np.full(4, 3.0), 3)
CENTRES = rng.normal(size=(3, 2))
FACTORS = np.array([np.triu(rng.normal(size=(2, 2)), 1) + np.diag([a, 1.2]) for a in (0.6, 1, 2)])


def softmax(logits):
    """Probabilities of logits against the last, whose logit is 0."""
    powers = [mpmath.exp(logit) for logit in logits] + [mpmath.mpf(1)]
    return [power / sum(powers) for power in powers]


def logits(p):
    return [float(np.log(value / p[-1])) for value in p[:-1]]


def categorical():
    X = np.column_stack([rng.integers(0, size, 10) for size in (2, 3, 4)]).astype(float)
    X[2, 1] = X[5, :] = np.nan
    model = CategoricalMixture.from_parameters(WEIGHTS, TABLES).set_params(missing="ignore")
    theta = [logit for j in range(3) for table in TABLES for logit in logits(table[j])]

    def density(x, j, own):
        own, total = own[j * 6 : j * 6 + 6], mpmath.mpf(0)
        for value, part in zip(x, (own[:1], own[1:3], own[3:]), strict=True):
            if not np.isnan(value):
                total += mpmath.log(softmax(part)[int(value)])
        return total

    return model, X, theta, density


def successes(model, n_trials):
    X = rng.integers(0, n_trials + 1, (10, 2)).astype(float)
    X[3, 1] = np.nan
    theta = [logit for row in MEANS for p in row for logit in logits([p, 1 - p])]

    def density(x, j, own):
        total = mpmath.mpf(0)
        for value, logit in zip(x, own[j * 2 : j * 2 + 2], strict=True):
            if not np.isnan(value):
                p, q = softmax([logit])
                total += int(value) * mpmath.log(p) + int(n_trials - value) * mpmath.log(q)
        return total

    return model.set_params(missing="ignore"), X, theta, density


def words():
    X = rng.integers(0, 5, (10, 4)).astype(float)

    def density(x, j, own):
        p = softmax(own[j * 3 : j * 3 + 3])
        return sum(int(count) * mpmath.log(value) for count, value in zip(x, p, strict=True))

    theta = [logit for row in WORDS for logit in logits(row)]
    return MultinomialMixture.from_parameters(WEIGHTS, WORDS), X, theta, density


def gaussian(kind):
    X = rng.normal(size=(10, 2)) * 1.5
    places = [(0, 0), (0, 1), (1, 1)] if kind == "full" else [(0, 0), (1, 1)]
    U = FACTORS if kind == "full" else np.array([np.diag(np.diag(u)) for u in FACTORS])
    covariances = np.linalg.inv(U @ U.transpose(0, 2, 1))
    if kind == "diag":
        covariances = np.diagonal(covariances, axis1=1, axis2=2)
    model = GaussianMixture.from_parameters(WEIGHTS, CENTRES, covariances, covariance_type=kind)
    theta = []
    for centre, factor in zip(CENTRES, U, strict=True):
        theta += [*centre, *(np.log(factor[a, b]) if a == b else factor[a, b] for a, b in places)]

    def density(x, j, own):
        size = 2 + len(places)
        own = own[j * size : (j + 1) * size]
        difference = [mpmath.mpf(float(value)) - m for value, m in zip(x, own[:2], strict=True)]
        y, total = [mpmath.mpf(0)] * 2, mpmath.mpf(0)
        for (a, b), value in zip(places, own[2:], strict=True):
            y[b] += (mpmath.exp(value) if a == b else value) * difference[a]
            total += value if a == b else 0
        return total - (y[0] ** 2 + y[1] ** 2) / 2

    return model, X, theta, density


def derivatives(X, theta, density):
    """Gradients of the rows' log-likelihoods and minus their Hessians, by differences."""
    h, start = mpmath.mpf(10) ** -15, [mpmath.mpf(value) for value in theta]
    p = len(theta)

    def log_likelihoods(moves):
        point = list(start)
        for place, size in moves:
            point[place] += size * h
        w = softmax(point[:2])
        return [
            mpmath.log(sum(w[j] * mpmath.exp(density(x, j, point[2:])) for j in range(3)))
            for x in X
        ]

    def difference(*signed):
        terms = [[sign * value for value in log_likelihoods(moves)] for sign, moves in signed]
        return np.array([sum(column) for column in zip(*terms, strict=True)])

    gradients = np.empty((len(X), p))
    hessians = np.empty((len(X), p, p))
    for a in range(p):
        gradients[:, a] = difference((1, [(a, 1)]), (-1, [(a, -1)])) / (2 * h)
        for b in range(a + 1):
            second = difference(
                (1, [(a, 1), (b, 1)]),
                (-1, [(a, 1), (b, -1)]),
                (-1, [(a, -1), (b, 1)]),
                (1, [(a, -1), (b, -1)]),
            )
            hessians[:, a, b] = hessians[:, b, a] = -second / (4 * h * h)
    return gradients, hessians


CASES = {
    "categorical": categorical,
    "Bernoulli": lambda: successes(
        BernoulliMixture.from_parameters(WEIGHTS, MEANS).set_params(binarize=None), 1
    ),
    "binomial": lambda: successes(BinomialMixture.from_parameters(WEIGHTS, MEANS, 5), 5),
    "multinomial": words,
    "full": lambda: gaussian("full"),
    "diag": lambda: gaussian("diag"),
}


@pytest.mark.parametrize("case", CASES)
def test_information_is_minus_the_hessian_in_50_digits(case):
    model, X, theta, density = CASES[case]()
    X = X[:6]
    weight = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
    with mpmath.workdps(50):
        gradients, hessians = derivatives(X, [*logits(WEIGHTS), *theta], density)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the point is no maximum
        observed = model.standard_errors(X, weight).information
        squares = model.standard_errors(X, weight, method="score").information
    expected = np.einsum("i,iab->ab", weight, hessians)
    assert_allclose(observed, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    expected = np.einsum("i,ia,ib->ab", weight, gradients, gradients)
    assert_allclose(squares, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_one_component_has_the_errors_of_textbooks():
    rng = np.random.default_rng(1)
    X = rng.normal([3, 1e4], [2.0, 5.0], (400, 2))
    for kind in ("full", "diag"):
        model = GaussianMixture(1, covariance_type=kind, reg_covar=0.0).fit(X)
        for method, deviation in (("observed", 1), ("sandwich", 1)):
            errors = model.standard_errors(X, method=method)
            expected = deviation * X.std(axis=0) / 20
            assert_allclose(errors.means[0], expected, rtol=1e-6)
            assert_array_equal(errors.weights, [0.0])
    X = rng.integers(0, 3, (200, 1)).astype(float)
    p = np.bincount(X[:, 0].astype(int)) / 200
    model = CategoricalMixture(1, alpha=0.0).fit(X)
    for method in ("observed", "score", "sandwich"):
        errors = model.standard_errors(X, method=method)
        assert_allclose(errors.probabilities[0][0], np.sqrt(p * (1 - p) / 200), rtol=1e-7)
        assert errors.boundary == () and errors.not_identified == ()


def drawn(rng, n):
    z = rng.random((n, 1)) < 0.4
    return (rng.random((n, 5)) < np.where(z, 0.85, 0.2)).astype(float)


def test_errors_are_the_deviations_of_repeated_fits():
    rng = np.random.default_rng(2)
    start = {"weights_init": [0.6, 0.4], "means_init": [[0.2] * 5, [0.85] * 5], "alpha": 0.0}
    estimates, errors = [], {"observed": [], "score": [], "sandwich": []}
    for _ in range(150):
        X = drawn(rng, 500)
        model = BernoulliMixture(2, binarize=0.5, tol=1e-9, max_iter=5000, **start).fit(X)
        estimates.append(np.append(model.weights_[1], model.means_))
        for method, values in errors.items():
            own = model.standard_errors(X, method=method)
            values.append(np.append(own.weights[1], own.means))
    truth = np.r_[0.4, [0.2] * 5, [0.85] * 5]
    for values in errors.values():
        covered = np.abs(np.array(estimates) - truth) < 1.96 * np.array(values)
        assert 0.92 < covered.mean() < 0.975
        ratio = np.mean(values, axis=0) / np.std(estimates, axis=0)
        assert abs(ratio.mean() - 1) < 0.08 and (np.abs(ratio - 1) < 0.3).all()


def test_what_is_not_identified_is_named_and_infinite():
    """Two classes of two binary items have 5 parameters, and the four cells tell 3."""
    X = drawn(np.random.default_rng(3), 300)[:, :2]
    model = CategoricalMixture(2, alpha=0.0, tol=1e-10, max_iter=5000, random_state=0).fit(X)
    errors = model.standard_errors(X)
    assert len(errors.not_identified) == 2
    assert np.isinf(errors.weights).all() and np.isinf(errors.probabilities[0]).all()
    assert np.isnan(errors.covariance).all()
    names = {name for direction in errors.not_identified for name in direction}
    assert names <= set(errors.coordinates) and "probabilities_[0][0, 0]" in names
    assert "not identified" in str(errors)


def test_probabilities_on_the_boundary_are_fixed():
    rng = np.random.default_rng(4)
    z = rng.integers(0, 2, 400)
    X = np.column_stack([np.where(rng.random(400) < 0.9, z, 1 - z) for _ in range(4)])
    X = np.column_stack([X, z + 1 + rng.integers(0, 2, 400) * z]).astype(float)
    model = CategoricalMixture(2, alpha=0.0, tol=1e-12, max_iter=5000, random_state=0).fit(X)
    errors = model.standard_errors(X)
    one = int(np.argmax(model.probabilities_[4][:, 0]))
    assert set(errors.boundary) == {
        f"probabilities_[4][{j}, {c}]" for j, cs in ((one, (0, 1, 2)), (1 - one, (0,))) for c in cs
    }
    assert_array_equal(errors.probabilities[4][one], 0)
    assert (errors.probabilities[4][1 - one, 1:] > 0).all()
    # As of the rows of the component: they are all known.
    n, p = (X[:, 4] > 1).sum(), model.probabilities_[4][1 - one, 1]
    assert_allclose(errors.probabilities[4][1 - one, 1], np.sqrt(p * (1 - p) / n), rtol=1e-9)


def test_rows_weights_and_units():
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal(0, 1, (150, 2)), rng.normal(4, 1.5, (100, 2))])
    counts = rng.integers(0, 3, 250)
    model = GaussianMixture(2, random_state=0, tol=1e-10, max_iter=2000, reg_covar=0.0)
    model.fit(X, sample_weight=counts)
    weighted = model.standard_errors(X, counts)
    copies = model.standard_errors(X.repeat(counts, axis=0))
    assert_allclose(weighted.information, copies.information, rtol=1e-9, atol=1e-7)
    assert_allclose(weighted.means, copies.means, rtol=1e-9)
    for shift, scale in ((1e8, 1.0), (0.0, 1e100), (0.0, 1e-100)):
        moved = GaussianMixture.from_parameters(
            model.weights_, model.means_ * scale + shift, model.covariances_ * scale**2
        )
        errors = moved.standard_errors(X * scale + shift, counts)
        assert_allclose(errors.means, weighted.means * scale, rtol=1e-5)
        assert_allclose(errors.weights, weighted.weights, rtol=1e-5)
    frame = pytest.importorskip("pandas") and weighted.to_frame()
    assert frame.loc["means_[1, 0]", "error"] == weighted.means[1, 0]


def test_errors_say_what_is_wrong():
    X = drawn(np.random.default_rng(6), 50)
    model = BernoulliMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="method='hessian'"):
        model.standard_errors(X, method="hessian")
    with pytest.raises(ValueError, match="impossible under every component"):
        CategoricalMixture.from_parameters([1.0], [[[1.0, 0.0]]]).standard_errors([[1.0]])
    tied = GaussianMixture(1, covariance_type="tied").fit(
        np.random.default_rng(0).normal(size=(9, 2))
    )
    with pytest.raises(ValueError, match="'full' and 'diag', not of 'tied'"):
        tied.standard_errors([[0.0, 1.0]])
    with pytest.warns(match="no maximum of the likelihood"):
        halfway = BernoulliMixture(
            2, weights_init=[0.5, 0.5], means_init=[[0.5] * 5, [0.500001] * 5], max_iter=0
        )
        halfway.fit(X).standard_errors(X)
    best = select_mixture(X, BernoulliMixture, n_components=[1], random_state=0).best
    assert np.isfinite(best.standard_errors(X).means).all()
