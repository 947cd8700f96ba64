"""Callbacks of scikit-learn see the steps of the fits."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")

from each import each
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mlcore.cluster import (
    HDBSCAN,
    AgglomerativeClustering,
    KernelKMeans,
    KMeans,
    KMedians,
    KMedoids,
    MiniBatchKMeans,
    ProbabilisticClustering,
    SpectralClustering,
)
from mlcore.decomposition import KernelPCA
from mlcore.linear_model import KernelPerceptron, LassoCV, LogisticRegression, Perceptron
from mlcore.mixture import PLSA, BernoulliMixture, GaussianMixture
from mlcore.naive_bayes import GaussianNB
from mlcore.svm import SVC, SVCCV, SVR, OneClassSVM


class Recorder:
    """Keeps what its hooks are called with; `fail_at` raises an error at a hook."""

    def __init__(self, fail_at=None):
        self.seen, self.fail_at = [], fail_at

    def _keep(self, hook, context, fitted=None):
        self.seen.append((hook, context.task_name, context.task_id, fitted))
        if hook == self.fail_at:
            raise RuntimeError(f"failed at {hook}")

    def setup(self, estimator, context):
        self._keep("setup", context)

    def on_fit_task_begin(self, estimator, context, *, fitted_estimator=None):
        self._keep("begin", context, fitted_estimator)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self._keep("end", context, fitted_estimator)

    def teardown(self, estimator, context):
        self._keep("teardown", context)


class Propagated(Recorder):
    max_propagation_depth = None


MODELS = [
    AgglomerativeClustering(2),
    HDBSCAN(5),
    KernelKMeans(2, random_state=0),
    KernelPCA(2, kernel="rbf", random_state=0),
    KMeans(2, random_state=0),
    KMedians(2, random_state=0),
    KMedoids(2, random_state=0),
    MiniBatchKMeans(2, random_state=0),
    ProbabilisticClustering(2, random_state=0),
    SpectralClustering(2, random_state=0),
    LogisticRegression(),
    LogisticRegression(l1_ratio=1.0),
    KernelPerceptron(average=True),
    Perceptron(max_iter=5),
    PLSA(2, random_state=0),
    BernoulliMixture(2, binarize=0.7, random_state=0),
    GaussianMixture(2, random_state=0),
    SVC(),
    SVR(),
    OneClassSVM(),
    SVCCV(Cs=[1.0], gammas=[1.0], cv=2),
    LassoCV(alphas=5, cv=2),
]


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(60, 4)))
    return X, (X[:, 0] + 0.3 * rng.normal(size=60) > 0.6).astype(int)


def fitted_state(model):
    return {name: v for name, v in vars(model).items() if name.endswith("_")}


@each("model", MODELS)
def test_tasks_of_every_model(model):
    """One after the other, each with its end, inside one of the fit; the result is the same."""
    X, y = drawn()
    plain, watched, recorder = clone(model).fit(X, y), clone(model), Recorder()
    assert watched.set_callbacks(recorder) is watched
    watched.fit(X, y)
    hooks = [(hook, task) for hook, task, _, _ in recorder.seen]
    assert hooks[:2] == [("setup", "fit"), ("begin", "fit")]
    assert hooks[-2:] == [("end", "fit"), ("teardown", "fit")]
    inside = recorder.seen[2:-2]
    assert len(inside) >= 2
    for number, (begin, end) in enumerate(zip(inside[::2], inside[1::2], strict=True)):
        assert begin[:3] == ("begin", "iteration", number)
        assert end[:3] == ("end", "iteration", number)
    before, after = fitted_state(plain), fitted_state(watched)
    assert before.keys() == after.keys()
    for name, value in before.items():
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            assert_array_equal(after[name], value)
    assert not [name for name in vars(watched) if name.startswith("_callback")]


@pytest.mark.filterwarnings("ignore:LogisticRegression ended")
@pytest.mark.parametrize("l1_ratio", [0.0, 0.7])
@pytest.mark.parametrize("shape", [(60, 4), (20, 90)])
@pytest.mark.parametrize("solver", ["newton", "lbfgs", "auto"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_logistic_regression_is_shown_after_each_iteration(k, solver, shape, l1_ratio):
    """As if `max_iter` had ended the fit there."""
    if l1_ratio and solver == "lbfgs":
        return
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape) + 3, np.arange(shape[0]) % k
    model, recorder = LogisticRegression(solver=solver, l1_ratio=l1_ratio), Recorder()
    model.set_callbacks(recorder).fit(X, y)
    ends = [seen[3] for seen in recorder.seen if seen[:2] == ("end", "iteration")]
    begins = [seen[3] for seen in recorder.seen if seen[:2] == ("begin", "iteration")]
    assert len(ends) == model.n_iter_[0] + 1
    assert begins[0] is None and ends[-1] is None
    for number, (shown, again) in enumerate(zip(ends[:-1], begins[1:], strict=True), start=1):
        short = LogisticRegression(solver=solver, l1_ratio=l1_ratio, max_iter=number).fit(X, y)
        for one in (shown, again):
            assert_allclose(one.coef_, short.coef_, rtol=1e-9, atol=1e-12)
            assert_allclose(one.intercept_, short.intercept_, rtol=1e-9, atol=1e-12)
            assert_array_equal(one.predict(X), short.predict(X))
    assert_array_equal(shown.coef_, model.coef_)


def test_meta_estimators_pass_their_callbacks_on():
    X, y = drawn()
    recorder = Propagated()
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1.0]}, cv=2)
    search.set_callbacks(recorder).fit(X, y)
    iterations = [seen for seen in recorder.seen if seen[:2] == ("end", "iteration")]
    assert len(iterations) > 4 * 2
    assert not hasattr(search.best_estimator_[-1], "_skl_callbacks")


@pytest.mark.parametrize("hook", ["setup", "begin", "end"])
def test_an_error_of_a_callback_leaves_the_model_as_it_was(hook):
    X, y = drawn()
    model = LogisticRegression().fit(X, y)
    before = copy.deepcopy(fitted_state(model))
    recorder = Recorder(fail_at=hook)
    with pytest.raises(RuntimeError, match=f"failed at {hook}"):
        model.set_callbacks(recorder).fit(X[:30], y[:30])
    assert recorder.seen[-1][0] == "teardown"
    assert_array_equal(model.coef_, before["coef_"])
    assert not [name for name in vars(model) if name.startswith("_callback")]
    assert model.set_callbacks().fit(X, y).n_iter_[0] > 0
    assert_array_equal(model.coef_, before["coef_"])


def test_a_fit_that_fails_is_torn_down():
    X, y = drawn()

    def stop(**_):
        raise KeyboardInterrupt

    recorder = Recorder()
    with pytest.raises(KeyboardInterrupt):
        LogisticRegression(callback=stop).set_callbacks(recorder).fit(X, y)
    assert [seen[0] for seen in recorder.seen] == ["setup", "begin", "begin", "teardown"]


def test_clones_keep_their_callbacks_and_other_objects_are_refused():
    recorder = Recorder()
    model = clone(KMeans(2).set_callbacks(recorder))
    assert model._skl_callbacks == [recorder]
    for wrong in (print, Recorder, 3):
        with pytest.raises(TypeError, match="callbacks must be instances"):
            model.set_callbacks(wrong)
    assert not hasattr(GaussianNB(), "set_callbacks")  # it has no steps
