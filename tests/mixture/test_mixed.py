"""MixedMixture against EM written out in NumPy, its parts alone, and a numerical Hessian."""

import pickle
import warnings

import numpy as np
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import mlcore
from mlcore.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    MultinomialMixture,
    bootstrap_lrt,
    select_mixture,
)
from mlcore.mixture.bootstrap_lrt import _drawn_like

COLUMNS = {"gaussian": [5, 0], "categorical": [2], "bernoulli": [1, 3], "multinomial": [4, 6]}


def rows(n=300, seed=0, holes=False):
    """Rows of two classes, and these; columns of four kinds, in no order."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n)
    X = np.empty((n, 7))
    X[:, [5, 0]] = rng.normal(size=(n, 2)) + 2 * z[:, None]
    X[:, 2] = (z + rng.integers(0, 2, n)) % 3
    X[:, [1, 3]] = rng.random((n, 2)) < 0.2 + 0.6 * z[:, None]
    X[:, [4, 6]] = rng.poisson(np.where(z[:, None] == 1, [1, 4], [4, 1]))
    if holes:
        lost = rng.random((n, 7)) < 0.15
        lost[:, [4, 6]] = False
        X[lost] = np.nan
    return X, z


def log_densities(X, model):
    """Log-densities of complete rows in the components, from the textbook."""
    g, c, b, m = (model.parts_[kind] for kind in COLUMNS)
    with np.errstate(divide="ignore"):
        columns = []
        for j in range(len(model.weights_)):
            covariance = np.atleast_2d(
                np.diag(g.covariances_[j]) if g.covariance_type_ == "diag" else g.covariances_[j]
            )
            own = multivariate_normal(g.means_[j], covariance).logpdf(X[:, [5, 0]])
            own = own + np.log(c.probabilities_[0][j])[X[:, 2].astype(int)]
            bits = X[:, [1, 3]]
            own += (bits * np.log(b.means_[j]) + (1 - bits) * np.log(1 - b.means_[j])).sum(axis=1)
            columns.append(own + X[:, [4, 6]] @ np.log(m.means_[j]))
    return np.column_stack(columns)


def test_a_step_is_that_of_the_textbook():
    X, _ = rows()
    weight = np.random.default_rng(1).integers(0, 3, 300).astype(float)
    options = {"columns": COLUMNS, "random_state": 0, "tol": 0, "reg_covar": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = MixedMixture(2, max_iter=1, **options).fit(X, sample_weight=weight)
        second = MixedMixture(2, max_iter=2, **options).fit(X, sample_weight=weight)
    joint = log_densities(X, first) + np.log(first.weights_)
    density = logsumexp(joint, axis=1)
    assert_allclose(first.score_samples(X), density, rtol=1e-10)
    r = np.exp(joint - density[:, None])
    assert_allclose(first.predict_proba(X), r, atol=1e-12)
    order = np.argsort(-(weight @ r), kind="stable")  # components are sorted by weight
    r = r[:, order] * weight[:, None]
    mass = r.sum(axis=0)
    assert_allclose(second.weights_, mass / mass.sum(), rtol=1e-10)
    means = (r.T @ X[:, [5, 0]]) / mass[:, None]
    assert_allclose(second.parts_["gaussian"].means_, means, rtol=1e-9)
    for j in range(2):
        moved = X[:, [5, 0]] - means[j]
        expected = (moved.T * r[:, j]) @ moved / mass[j]
        assert_allclose(second.parts_["gaussian"].covariances_[j], expected, rtol=1e-8)
    counts = np.stack([r[X[:, 2] == v].sum(axis=0) + 0.01 for v in range(3)], axis=1)
    expected = counts / counts.sum(axis=1, keepdims=True)
    assert_allclose(second.parts_["categorical"].probabilities_[0], expected, rtol=1e-9)
    expected = (r.T @ X[:, [1, 3]] + 0.01) / (mass[:, None] + 0.02)
    assert_allclose(second.parts_["bernoulli"].means_, expected, rtol=1e-9)
    words = r.T @ X[:, [4, 6]] + 0.01
    expected = words / words.sum(axis=1, keepdims=True)
    assert_allclose(second.parts_["multinomial"].means_, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "alone"),
    [
        ("gaussian", GaussianMixture(1, covariance_type="tied")),
        ("categorical", CategoricalMixture(1, missing="ignore")),
        ("bernoulli", BernoulliMixture(1, missing="ignore")),
        ("multinomial", MultinomialMixture(1)),
    ],
)
def test_one_component_of_one_kind_is_its_model(kind, alone):
    X = rows(holes=kind not in ("gaussian", "multinomial"))[0][:, COLUMNS[kind]]
    missing = alone.get_params().get("missing", "error")
    mixed = MixedMixture(
        1, columns={kind: range(X.shape[1])}, covariance_type="tied", missing=missing
    ).fit(X)
    alone.fit(X)
    assert_allclose(mixed.score_samples(X), alone.score_samples(X), rtol=1e-10)
    assert_allclose(mixed.lower_bound_, alone.lower_bound_, rtol=1e-10)
    assert mixed.bic(X) == pytest.approx(alone.bic(X), rel=1e-10)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_objective_never_falls_and_groups_are_found(kind):
    X, z = rows(400, holes=kind == "diag")
    model = MixedMixture(
        2,
        columns=COLUMNS,
        covariance_type=kind,
        missing="ignore" if kind == "diag" else "error",
        tol=1e-9,
        max_iter=2000,
        random_state=0,
    ).fit(X)
    assert model.converged_ and np.diff(model.objective_trace_).min() > -1e-12
    agree = (model.predict(X) == z).mean()
    assert max(agree, 1 - agree) > (0.9 if kind == "diag" else 0.95)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_row_without_values_has_the_weights():
    X, _ = rows(holes=True)
    columns = {kind: own for kind, own in COLUMNS.items() if kind != "multinomial"}
    keep = [0, 1, 2, 3, 5]
    columns = {kind: [keep.index(j) for j in own] for kind, own in columns.items()}
    model = MixedMixture(
        2, columns=columns, covariance_type="diag", missing="ignore", random_state=0
    ).fit(X[:, keep])
    nothing = np.full((1, 5), np.nan)
    assert_allclose(model.predict_proba(nothing)[0], model.weights_, rtol=1e-12)
    assert_allclose(model.score_samples(nothing), 0, atol=1e-12)


def test_blocks_and_streams_of_rows():
    X, _ = rows()
    options = {"columns": COLUMNS, "random_state": 0, "tol": 0, "max_iter": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = MixedMixture(2, **options).fit(X)
    parts = MixedMixture(2, **options).begin(X)
    for _ in range(3):
        sums = [parts.partial_statistics(block) for block in (X[:70], X[70:])]
        parts.update(parts.merge(*sums))
    parts.finish(parts.partial_statistics(X))
    assert_allclose(parts.weights_, whole.weights_, rtol=1e-9)
    for kind in ("gaussian", "multinomial"):
        assert_allclose(parts.parts_[kind].means_, whole.parts_[kind].means_, rtol=1e-8)
    stream = MixedMixture(2, columns=COLUMNS, random_state=0)
    for start in range(0, 300, 50):
        stream.partial_fit(X[start : start + 50])
    assert stream.total_weight_ == 300 and stream.score(X) > whole.score(X) - 0.1


def test_a_file_holds_a_fit_between_two_passes(tmp_path):
    X, _ = rows()
    model = MixedMixture(2, columns=COLUMNS, random_state=0, tol=10.0).begin(X)
    for _ in range(2):
        model.update(model.partial_statistics(X))
    assert model._run_.before is not None
    mlcore.save(model, tmp_path / "run.npz")
    loaded = mlcore.load(tmp_path / "run.npz")
    for one in (model, loaded):
        one.update(one.partial_statistics(X))
        one.finish(one.partial_statistics(X) if one.needs_finishing_pass() else None)
    assert_array_equal(loaded.weights_, model.weights_)
    assert_array_equal(loaded.parts_["gaussian"].means_, model.parts_["gaussian"].means_)


def test_information_is_a_numerical_hessian():
    X, _ = rows(60)
    model = MixedMixture(
        2, columns=COLUMNS, alpha=0.05, covariance_type="diag", random_state=0, tol=1e-9
    ).fit(X)
    errors = model.standard_errors(X)
    g, c, b, m = (model.parts_[kind] for kind in COLUMNS)

    def log_likelihood(theta):
        joint = []
        w = np.array([theta[0], 0.0])
        for j, own in enumerate(np.split(theta[1:], 2)):
            y = np.exp(own[2:4]) * (X[:, [5, 0]] - own[:2])
            total = own[2:4].sum() - (y**2).sum(axis=1) / 2
            p = np.append(own[4:6], 0.0)
            total = total + (p - logsumexp(p))[X[:, 2].astype(int)]
            for i, column in enumerate([1, 3]):
                total = total + X[:, column] * own[6 + i] - np.logaddexp(0, own[6 + i])
            q = np.append(own[8:9], 0.0)
            total = total + X[:, [4, 6]] @ (q - logsumexp(q))
            joint.append(total + (w - logsumexp(w))[j])
        return logsumexp(joint, axis=0).sum()

    theta = [np.log(model.weights_[0] / model.weights_[1])]
    for j in range(2):
        p, u = c.probabilities_[0][j], b.means_[j]
        theta += [*g.means_[j], *np.log(g.precisions_cholesky_[j]), *np.log(p[:2] / p[2])]
        theta += [*np.log(u / (1 - u)), np.log(m.means_[j, 0] / m.means_[j, 1])]
    theta, h = np.array(theta), 1e-3
    assert len(errors.coordinates) == len(theta) == model._n_parameters()
    steps = h * np.eye(len(theta))
    for a in range(0, len(theta), 3):
        for b_ in range(len(theta)):
            second = sum(
                s * t * log_likelihood(theta + s * steps[a] + t * steps[b_])
                for s in (-1, 1)
                for t in (-1, 1)
            ) / (4 * h * h)
            assert_allclose(errors.information[a, b_], -second, rtol=1e-4, atol=2e-4)
    assert set(errors.means) == {"gaussian", "bernoulli", "multinomial"}
    assert "gaussian: means_[0, 0]" in str(errors)


@pytest.mark.parametrize("module", ["pandas", "polars", "pyarrow", "lists"])
def test_frames_of_words_and_numbers(module):
    X, _ = rows(120)
    words = np.array(["ash", "oak", "yew"])[X[:, 2].astype(int)]
    names = ["height", "wet", "tree", "dry", "seeds", "girth", "cones"]
    cells = {name: X[:, j] for j, name in enumerate(names)} | {"tree": words}
    columns = {kind: [names[j] for j in own] for kind, own in COLUMNS.items()}
    if module == "pandas":
        table = pytest.importorskip("pandas").DataFrame(cells)
    elif module == "polars":
        table = pytest.importorskip("polars").DataFrame(cells)
    elif module == "pyarrow":
        table = pytest.importorskip("pyarrow").table(cells)
    else:
        table, columns = [list(row) for row in zip(*cells.values(), strict=True)], COLUMNS
    expected = MixedMixture(2, columns=COLUMNS, random_state=0).fit(X)
    model = MixedMixture(2, columns=columns, random_state=0).fit(table)
    assert_allclose(model.predict_proba(table), expected.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert model.parts_["categorical"].categories_[0].tolist() == ["ash", "oak", "yew"]
    drawn = model.set_params(random_state=1).sample(40)[0]
    assert set(drawn[:, 2]) <= {"ash", "oak", "yew"} and drawn.shape == (40, 7)


def test_selection_and_ratio_of_likelihoods():
    X = rows(200)[0][:, [0, 1, 2, 3]]
    columns = {"gaussian": [0], "bernoulli": [1, 3], "categorical": [2]}
    model = MixedMixture(1, columns=columns, random_state=0, max_iter=1000, tol=1e-6)
    found = select_mixture(X, model, n_components=[1, 2, 3])
    assert found.best.n_components == 2
    test = bootstrap_lrt(X, model, n_bootstrap=4, random_state=0)
    assert test.p_value == 0.2 and test.statistic > 0


def test_samples_have_the_holes_and_totals_of_the_data():
    X, _ = rows(150, holes=True)
    model = MixedMixture(
        2, columns=COLUMNS, covariance_type="diag", missing="ignore", random_state=0
    ).fit(X)
    drawn = _drawn_like(X, model, np.random.default_rng(0))
    assert_array_equal(np.isnan(drawn), np.isnan(X))
    assert_array_equal(drawn[:, [4, 6]].sum(axis=1), X[:, [4, 6]].sum(axis=1))
    # Counts follow the component that the other columns follow.
    high = np.nan_to_num(drawn[:, 5]) > 2
    more = drawn[:, 6] - drawn[:, 4]
    assert more[high].mean() > 1 > -1 > more[np.nan_to_num(drawn[:, 5]) < 0].mean()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"poisson": [0]}, "columns must be None or a dict"),
        ({"gaussian": [0]}, "column 1 of X 0 times"),
        ({"gaussian": [0, 1], "bernoulli": [1]}, "column 1 of X 2 times"),
        ({"gaussian": ["a", 1]}, "'a', which is no column"),
        ({"gaussian": [[0], 1]}, r"\[0\], which is no column"),
    ],
)
def test_wrong_columns_are_named(columns, message):
    with pytest.raises(ValueError, match=message):
        MixedMixture(1, columns=columns).fit([[0.0, 1.0], [1.0, 0.0]])


@each("own", [0, None, "ab"])
def test_columns_of_a_kind_are_a_list(own):
    with pytest.raises(TypeError, match=r"columns\['gaussian'\]=.* must be a list of columns"):
        MixedMixture(1, columns={"gaussian": own}).fit([[0.0], [1.0]])


def test_numbers_are_missing_for_variances_alone():
    X, columns = [[1.0, "a"], [None, "b"], [2.0, "a"]], {"gaussian": [0], "categorical": [1]}
    model = MixedMixture(1, columns=columns, missing="ignore", covariance_type="EEE")
    with pytest.raises(ValueError, match="covariance_type='EEE' does not take here: choose 'diag'"):
        model.fit(X)
    model.set_params(covariance_type="EEI").fit(X)
    assert model.parts_["gaussian"].means_[0, 0] == pytest.approx(1.5, rel=1e-3)


@each("far", [10.0, 1e9, 1e100])
def test_probabilities_of_far_rows_sum_to_one(far):
    X = [[-1.0, 0], [1.0, 0], [-1.0, 1], [1.0, 1]] * 5
    columns = {"gaussian": [0], "bernoulli": [1]}
    model = MixedMixture(2, columns=columns, alpha=1.0, tol=0, max_iter=1, random_state=0)
    model.fit(X)
    assert_allclose(model.predict_proba([[far, 0], [-far, 1]]).sum(axis=1), 1, rtol=1e-12)
