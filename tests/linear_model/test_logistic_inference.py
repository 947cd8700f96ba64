"""Standard errors and tests of logistic regression against printed values and statsmodels."""

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from each import each
from numpy.testing import assert_allclose
from scipy import sparse as sp

from mlcore.blocks import fit_blocks
from mlcore.datasets import load_iris
from mlcore.linear_model import LogisticRegression

# 23 flights before the last of Challenger: temperature of the joints in degrees Fahrenheit, and if
# an O-ring was damaged (Presidential Commission on the Space Shuttle Accident, 1986, volume 1).
TEMPERATURES = [66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75,
                76, 58]  # fmt: skip
DAMAGED = [0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1]
# R's mtcars: weight in 1000 lbs and manual transmission (Motor Trend, 1974).
WEIGHTS = [2.620, 2.875, 2.320, 3.215, 3.440, 3.460, 3.570, 3.190, 3.150, 3.440, 3.440, 4.070,
           3.730, 3.780, 5.250, 5.424, 5.345, 2.200, 1.615, 1.835, 2.465, 3.520, 3.435, 3.840,
           3.845, 1.935, 2.140, 1.513, 3.170, 2.770, 3.570, 2.780]  # fmt: skip
MANUAL = [1] * 3 + [0] * 14 + [1] * 3 + [0] * 5 + [1] * 7


def fitted(X, y, **options):
    model = LogisticRegression(C=np.inf).fit(X, y, **options)
    return model, model.inference(X, y, **options)


def spector():
    data = sm.datasets.spector.load_pandas()
    return data.exog.to_numpy(), data.endog.to_numpy().astype(int)


def agrees(found, peer, rtol=1e-8):
    """With a result of statsmodels whose constant is last."""
    for name, value in (
        ("estimates", peer.params), ("standard_errors", peer.bse), ("z", peer.tvalues),
        ("p_values", peer.pvalues), ("log_likelihood", peer.llf), ("aic", peer.aic),
        ("bic", peer.bic), ("null_deviance", -2 * peer.llnull), ("deviance", -2 * peer.llf),
    ):  # fmt: skip
        assert_allclose(getattr(found, name), np.asarray(value).T, rtol=rtol, err_msg=name)
    assert_allclose(found.likelihood_ratio.statistic, peer.llr, rtol=rtol)
    assert_allclose(found.likelihood_ratio.p_value, peer.llr_pvalue, rtol=1e-6)
    assert_allclose(found.covariance, np.asarray(peer.cov_params()), rtol=1e-7, atol=1e-12)


def test_spector_and_mazzeo():
    X, y = spector()
    _, found = fitted(X, y)
    expected = [2.826112594889321, 0.0951576613179093, 2.378687655093354, -13.02134685811569]
    assert_allclose(found.estimates, expected, rtol=1e-12)
    assert_allclose(found.standard_errors, [1.262941, 0.141554, 1.064564, 4.931324], rtol=5e-6)
    assert_allclose(found.log_likelihood, -12.88963422213141, rtol=1e-14)
    peer = sm.Logit(y, sm.add_constant(X, prepend=False)).fit(disp=0, tol=1e-14)
    agrees(found, peer)
    assert_allclose(found.confidence_interval(0.9), peer.conf_int(0.1), rtol=1e-8)


def test_o_rings():
    _, found = fitted(np.array(TEMPERATURES)[:, None], DAMAGED)
    assert_allclose(found.estimates, [-0.2321627442185965, 15.04290164770244], rtol=1e-9)
    # R's glm stops at a relative change of 1e-8 of the deviance.
    assert_allclose(found.standard_errors, [0.1082365216492854, 7.378636384916566], rtol=1e-5)
    assert_allclose(found.deviance, 20.31519268786683, rtol=1e-12)
    assert_allclose(found.null_deviance, 28.26715273429349, rtol=1e-14)


def test_mtcars():
    _, found = fitted(np.array(WEIGHTS)[:, None], MANUAL)
    assert_allclose(found.estimates, [-4.023969962173202, 12.04036972865732], rtol=1e-8)
    assert_allclose(found.standard_errors, [1.436527752623558, 4.51006623896676], rtol=1e-5)


def test_anes96():
    data = sm.datasets.anes96.load_pandas()
    X, y = data.exog.to_numpy(), data.endog.to_numpy().astype(int)
    _, found = fitted(X, y)
    assert_allclose(found.log_likelihood, -1461.922747248, rtol=1e-12)
    peer = sm.MNLogit(y, sm.add_constant(X, prepend=False)).fit(disp=0, maxiter=50)
    agrees(found, peer)
    assert found.estimates.shape == (6, 6) and found.groups == ("1", "2", "3", "4", "5", "6")


def test_two_irises():
    X, y = load_iris()
    _, found = fitted(X[50:], y[50:])
    assert_allclose(found.deviance, 11.8985467914, rtol=1e-10)
    assert "95% from" in str(found)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_weights_are_copies_and_offsets_are_those_of_statsmodels(form):
    X, y = spector()
    s = np.arange(len(y)) % 3
    _, weighted = fitted(form(X), y, sample_weight=s)
    _, copied = fitted(X.repeat(s, axis=0), y.repeat(s))
    for name in ("estimates", "standard_errors", "covariance", "deviance", "null_deviance", "bic"):
        assert_allclose(getattr(weighted, name), getattr(copied, name), rtol=1e-8)
    offset = np.sin(np.arange(len(y)))
    _, found = fitted(X, y, offset=offset)
    design = sm.add_constant(X, prepend=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = sm.GLM(y, design, sm.families.Binomial(), offset=offset).fit(tol=1e-14, maxiter=200)
    assert_allclose(found.estimates, peer.params, rtol=1e-8)
    assert_allclose(found.standard_errors, peer.bse, rtol=1e-8)
    assert_allclose(found.deviance, peer.deviance, rtol=1e-10)
    assert_allclose(found.null_deviance, peer.null_deviance, rtol=1e-8)


def test_estimates_do_not_depend_on_the_tolerance_of_the_fit():
    X, y = spector()
    rough = LogisticRegression(C=np.inf, tol=1e-2).fit(X, y).inference(X, y)
    assert_allclose(rough.estimates, fitted(X, y)[1].estimates, rtol=1e-11)


def test_dependent_columns_have_infinite_errors():
    X, y = spector()
    both = np.c_[X, X[:, 0] + X[:, 1]]
    _, found = fitted(both, y)
    _, single = fitted(X, y)
    assert np.isinf(found.standard_errors).tolist() == [True, True, False, True, False]
    assert_allclose(found.standard_errors[[2, 4]], single.standard_errors[2:], rtol=1e-6)
    assert_allclose([found.aic, found.deviance], [single.aic, single.deviance], rtol=1e-10)


def test_scaled_columns_divide_errors_and_shifted_ones_leave_them():
    X, y = spector()
    _, found = fitted(X, y)
    _, other = fitted(X * [8.0, 0.25, 1.0] + [100.0, 0.0, -3.0], y)
    assert_allclose(other.standard_errors[:3] * [8.0, 0.25, 1.0], found.standard_errors[:3])
    assert_allclose(other.p_values[:3], found.p_values[:3], rtol=1e-7)


def test_without_intercept():
    X, y = spector()
    model = LogisticRegression(C=np.inf, fit_intercept=False).fit(X, y)
    found = model.inference(X, y)
    peer = sm.Logit(y, X).fit(disp=0, tol=1e-14)
    assert_allclose(found.standard_errors, peer.bse, rtol=1e-8)
    assert_allclose(found.null_deviance, 2 * len(y) * np.log(2), rtol=1e-14)


def test_penalised_estimates_have_no_wald_test():
    X, y = spector()
    with pytest.raises(ValueError, match="inference needs C=inf, not C=1"):
        LogisticRegression().fit(X, y).inference(X, y)


def others(X, y):
    """Samples, weights and offsets that are not those of the fit."""
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 1.5, size=len(y))
    return {
        "fewer": (X[:100], y[:100], {}),
        "others' labels": (X, y[rng.permutation(len(y))], {}),
        "other units": (1.01 * X, y, {}),
        "weights of the same sum": (X, y, {"sample_weight": weight * (len(y) / weight.sum())}),
        "a constant offset": (X, y, {"offset": np.full(len(y), 0.01)}),
        "an offset": (X, y, {"offset": 0.1 * weight}),
    }


@each("dtype", [np.float32, np.float64])
@each("other", others(np.ones((150, 1)), np.ones(150)))
def test_inference_about_other_samples_is_refused(other, dtype):
    X, y = load_iris()
    X, y = X[:, :1].astype(dtype), y == 1
    model = LogisticRegression(C=np.inf).fit(X, y)
    model.inference(X, y)
    model.inference(X.astype(np.float64), y)
    X, y, options = others(X, y)[other]
    with pytest.raises(ValueError, match="inference needs the samples of the fit, with the same s"):
        model.inference(X, y, **options)


def test_weights_and_offsets_of_the_fit_must_be_given_again():
    X, y = load_iris()
    X, y = X[:, :2], y == 1
    weight, offset = 0.5 + np.sin(np.arange(150)) ** 2, np.cos(np.arange(150))
    model = LogisticRegression(C=np.inf).fit(X, y, weight, offset=offset)
    model.inference(X, y, weight, offset=offset)
    with pytest.raises(ValueError, match="their weight is"):
        model.inference(X, y, offset=offset)
    with pytest.raises(ValueError, match="verify needs the samples of the fit.*their weight is"):
        model.verify(X, y, offset=offset)
    with pytest.raises(ValueError, match="their gradient is"):
        model.inference(X, y, weight)


@pytest.mark.parametrize("fit", ["shifted", "rough", "sparse", "blocks"])
def test_samples_of_the_fit_are_known_again(fit):
    X, y = load_iris()
    X, y = X[:, :2], y == 1
    X = X + 1e7 if fit == "shifted" else sp.csr_array(X) if fit == "sparse" else X
    model = LogisticRegression(C=np.inf, tol=1e-2 if fit == "rough" else 1e-4)
    if fit == "blocks":
        fit_blocks(model, [(X[:75], y[:75]), (X[75:], y[75:])])
    else:
        model.fit(X, y)
    model.inference(X, y)
    with pytest.raises(ValueError, match="needs the samples of the fit"):
        model.inference(X, np.roll(y, 20))


@pytest.mark.parametrize("class_weight", ["balanced", {True: 2.0}])
def test_class_weights_are_no_copies(class_weight):
    X, y = load_iris()
    model = LogisticRegression(C=np.inf, class_weight=class_weight).fit(X[:, :1], y == 1)
    with pytest.raises(ValueError, match="inference needs class_weight=None, not"):
        model.inference(X[:, :1], y == 1)
