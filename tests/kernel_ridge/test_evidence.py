"""Every real error, by arithmetic of 50 digits, against what a fit says of its own."""

import warnings

import mpmath as mp
import numpy as np
from each import each
from exact_arithmetic import DIGITS, Exact
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlcore.kernel_ridge import KernelRidge

KERNELS = ["linear", "polynomial", "rbf", "laplacian"]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 14),
    kernel=st.sampled_from(KERNELS),
    solver=st.sampled_from(["cholesky", "cg"]),
    exponent=st.floats(-12, 6),
    kind=st.sampled_from(["plain", "copies", "near copies", "float32"]),
    scale=st.sampled_from([1e-140, 1e-9, 1.0, 1e6, 1e140]),
    shift=st.sampled_from([0.0, 1e3]),
    fit_intercept=st.booleans(),
)
def test_no_real_error_is_beyond_the_evidence(
    seed, n, kernel, solver, exponent, kind, scale, shift, fit_intercept
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    if kind.endswith("copies"):
        X = X[rng.integers(0, 1 + n // 2, n)]
        X += 1e-9 * rng.normal(size=X.shape) * (kind == "near copies")
    y = rng.normal(size=n) + shift
    w = rng.integers(1, 4, n) / 4
    alpha, gamma = 10.0**exponent, 0.3
    if kernel == "linear":
        X, alpha = X * scale, alpha * scale**2
    if kind == "float32" and 1e-30 < scale < 1e30:
        X = X.astype(np.float32)
    new = np.vstack([X, X + 0.1 * np.abs(X).max()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelRidge(
            alpha, kernel=kernel, gamma=gamma, solver=solver, fit_intercept=fit_intercept,
            tol=10.0 ** -rng.integers(2, 20), random_state=0,
        ).fit(X, y, w)  # fmt: skip
    with mp.workdps(DIGITS):
        exact = Exact(X, y, w, kernel, gamma, alpha, fit_intercept, model.origin_)
        predicted, norms = exact.predict(new), exact.norms(new)
        largest = exact.norms(X).max() if fit_intercept else 0.0
        reached = exact.objective(mp.matrix(model.dual_coef_.tolist()), mp.mpf(model.intercept_))
        assert reached - exact.least <= mp.mpf(model.duality_gap_)
    found = model.predict(new)
    error, rounding = np.abs(found - predicted), np.spacing(np.abs(found))  # of the last step
    assert (error <= model.prediction_bound_ * (norms + largest) + rounding).all()


@each("kernel", ["linear", "polynomial"])
@each("power", [-130, -30, 20])
def test_the_bound_has_the_units_of_the_data(kernel, power):
    """|f(x)| does not depend on them: the norms of samples are those of the kernel's values."""
    rng = np.random.default_rng(0)
    X, scale = rng.normal(size=(60, 3)), 2.0**power
    y, degree = X[:, 0] + rng.normal(size=60), 1 if kernel == "linear" else 3
    how = {"kernel": kernel, "coef0": 0.0, "gamma": 1.0}
    model = KernelRidge(0.5, **how).fit(X, y)
    far = KernelRidge(0.5 * scale ** (2 * degree), **how).fit(X * scale, y)
    assert_allclose(far.prediction_bound_ * scale**degree, model.prediction_bound_, rtol=0.01)


@each("solver", ["cholesky", "cg"])
@each("fit_intercept", [False, True])
@each("power", [-60, 60])
def test_the_evidence_has_the_units_of_the_weights(power, fit_intercept, solver):
    """Weights and alpha times 2^60 are the same function, of 2^60 times the objective."""
    rng = np.random.default_rng(0)
    X, w, scale = rng.normal(size=(40, 3)), rng.uniform(0.5, 2, 40), 2.0**power
    Y = X[:, :2] + rng.normal(size=(40, 2))
    how = {"kernel": "rbf", "gamma": 0.3, "solver": solver, "fit_intercept": fit_intercept}
    model, far = (
        KernelRidge(0.5 * s, random_state=0, **how).fit(X, Y, w * s) for s in (1.0, scale)
    )
    assert_allclose(far.dual_coef_, model.dual_coef_, rtol=1e-9, atol=1e-12)
    # What allows for rounding, most of the bound, and no power of 2 rounds otherwise.
    for name, units in (("duality_gap_", scale), ("objective_", scale), ("prediction_bound_", 1.0)):
        assert_allclose(getattr(far, name), getattr(model, name) * units, rtol=1e-9, err_msg=name)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 11),
    kernel=st.sampled_from(KERNELS),
    solver=st.sampled_from(["cholesky", "cg", "nystroem"]),
    shift=st.sampled_from([0.0, 1e3, 1e6, 1e8, 1e10]),
    offset=st.sampled_from([0.0, 1e6, 1e10]),
    weights=st.integers(-12, 12),
    exponent=st.integers(-12, 12),
    kind=st.sampled_from([np.float32, np.float64]),
    fit_intercept=st.booleans(),
)
@example(  # singular up to the rounding of values of 1e60
    seed=1, n=9, kernel="polynomial", solver="cholesky", shift=1e10, offset=0.0, weights=11,
    exponent=-12, kind=np.float64, fit_intercept=True,
)  # fmt: skip
@example(  # conjugate gradients that stop where they begin
    seed=2, n=9, kernel="polynomial", solver="cg", shift=1e10, offset=0.0, weights=-2,
    exponent=4, kind=np.float64, fit_intercept=True,
)  # fmt: skip
def test_no_excess_is_beyond_the_gap_however_far_the_samples_are(
    seed, n, kernel, solver, shift, offset, weights, exponent, kind, fit_intercept
):
    """Samples up to 1e10 deviations from the origin, weights and alpha to 1e±12, in 120 digits."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 2)) + shift * rng.normal(size=2)).astype(kind)
    y, w = rng.normal(size=n) + offset, rng.integers(1, 4, n) / 4 * 10.0**weights
    alpha = 10.0**exponent
    model = KernelRidge(
        alpha, kernel=kernel, gamma=0.3, solver=solver, fit_intercept=fit_intercept,
        random_state=0, **({"n_centers": max(1, n // 2)} if solver == "nystroem" else {}),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            model.fit(X, y, w)
        except ValueError as error:
            assert "not positive semi-definite" in str(error) or "singular" in str(error)
            return
    shown, a = model.verify(X, y, w), np.zeros(n)
    a[getattr(model, "center_indices_", slice(None))] = model.dual_coef_
    with mp.workdps(120):
        exact = Exact(X, y, w, kernel, 0.3, alpha, fit_intercept, model.origin_)
        reached = exact.objective(mp.matrix(a.tolist()), mp.mpf(float(model.intercept_)))
        excess = reached - exact.least
        predicted, norms = exact.predict(X), exact.norms(X)
    assert excess <= mp.mpf(float(shown.duality_gap))
    bound = shown.prediction_bound
    if solver != "nystroem":
        assert excess <= mp.mpf(model.duality_gap_)
        bound = min(bound, model.prediction_bound_)
    with np.errstate(over="ignore"):  # of a prediction in float32
        found = model.predict(X)
    largest = norms.max() if fit_intercept else 0.0
    error = np.abs(found - predicted) - np.spacing(np.abs(found))
    if np.isfinite(found).all():
        assert (error <= bound * (norms + largest)).all()
