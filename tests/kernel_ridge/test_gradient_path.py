"""Leave-one-out errors and deviations without the Gram matrix, against those from its factor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlcore.kernel_ridge import KernelRidge, ridge_model
from mlcore.kernel_ridge.alpha_path.gradient_path import GradientPath


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_what_a_factor_gives_conjugate_gradients_give_too(fit_intercept, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(160, 2)), rng.normal(size=(160, 2)), rng.integers(0, 3, 160)
    new = rng.normal(size=(20, 2))
    how = {"kernel": "rbf", "gamma": 0.5, "fit_intercept": fit_intercept}
    model = KernelRidge([0.01, 2.0], solver="cg", tol=1e-24, random_state=0, **how).fit(X, Y, w)
    stored = KernelRidge([0.01, 2.0], solver="cholesky", **how).fit(X, Y, w)
    path = stored.path([0.3])
    monkeypatch.setattr(ridge_model, "free_bytes", lambda: 1_000)
    deviations = model.predict(new, return_std=True)[1]
    kept = model._derived.path
    assert isinstance(kept, GradientPath) and kept.system.S.K is None
    assert_allclose(deviations, stored.predict(new, return_std=True)[1], rtol=1e-7)
    assert_allclose(model.leave_one_out(), stored.leave_one_out(), rtol=1e-8, atol=1e-9)
    assert_allclose(model.effective_dimension_, stored.effective_dimension_, rtol=1e-8)
    assert_allclose(model.path([0.3]).likelihood, path.likelihood, rtol=1e-9)
