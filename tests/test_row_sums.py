"""The contract of sums: who has it, its defaults, and what stands in for a user's own object."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mlcore.blocks import fit_blocks
from mlcore.cluster import KMeans, KMedoids
from mlcore.kernel_ridge import KernelRidge
from mlcore.linear_model import LogisticRegression
from mlcore.naive_bayes import GaussianNB
from mlcore.row_sums import Adapter, RowSums, as_row_sums
from mlcore.svm import SVC

X = np.arange(12.0).reshape(6, 2)


class Total(NamedTuple):
    weight: float
    sums: np.ndarray


class Mean:
    """An object of a user: the four methods and no more."""

    callback = None

    def begin(self, X, y=None, sample_weight=None):
        self.n_features = X.shape[1]

    def partial_statistics(self, X, y=None, sample_weight=None):
        return Total(float(len(X)), X.sum(axis=0))

    def merge(self, a, b):
        return Total(a.weight + b.weight, a.sums + b.sums)

    def update(self, statistics):
        self.mean_ = statistics.sums / statistics.weight


class OwnMean(RowSums):
    """The same as a subclass: `merge` and what blocks ask for are inherited."""

    begin, partial_statistics, update = Mean.begin, Mean.partial_statistics, Mean.update
    finished = 0

    def needs_another_pass(self):
        return not hasattr(self, "mean_")

    def finish(self, total=None):
        self.finished += 1


def test_instances_are_the_objects_that_have_the_methods():
    for model in (KMeans(), GaussianNB(), LogisticRegression(), KernelRidge(solver="nystroem")):
        assert isinstance(model, RowSums), model
    assert isinstance(Mean(), RowSums) and isinstance(OwnMean(), RowSums)
    for other in (KernelRidge(), SVC(), KMedoids(), object(), None, KMeans.begin):
        assert not isinstance(other, RowSums), other
    assert not isinstance(Mean(), OwnMean) and not isinstance(GaussianNB(), KMeans)


def test_a_subclass_lacks_no_method():
    class Nothing(RowSums):
        pass

    with pytest.raises(TypeError, match="abstract method.* begin, partial_statistics, update"):
        Nothing()


@pytest.mark.parametrize("kind", [Mean, OwnMean])
def test_own_objects_are_fitted_to_blocks(kind):
    model = fit_blocks(kind(), [X[:1], X[1:4], X[4:]])
    assert_array_equal(model.mean_, X.mean(axis=0))
    assert kind is Mean or model.finished == 1


def test_an_own_object_may_say_how_often():
    class Twice(Mean):
        passes = 0

        def update(self, statistics):
            super().update(statistics)
            self.passes += 1

        def needs_another_pass(self):
            return self.passes < 2

    assert fit_blocks(Twice(), [X]).passes == 2


def test_what_stands_in_for_an_object_has_the_defaults():
    held = as_row_sums(Mean())
    assert isinstance(held, Adapter) and held.start_rows == "sample"
    assert as_row_sums(held) is held
    assert len(held.representatives(X)) == 0 and not held.needs_finishing_pass()
    assert (
        held.needs_another_pass()
        and not held.update(held.partial_statistics(X)).needs_another_pass()
    )
    model = GaussianNB()
    assert as_row_sums(model) is model


def test_workers_get_what_sums_need():
    held = as_row_sums(Mean())
    held.model.callback = lambda **step: None  # which cannot be pickled
    sent = pickle.loads(pickle.dumps(held.for_workers()))
    assert sent.model.callback is None and held.model.callback is not None
    model = KMeans(2, init=X[:2], callback=lambda **step: None).begin(X)
    sent = pickle.loads(pickle.dumps(model.for_workers()))
    assert_array_equal(sent.partial_statistics(X).sums, model.partial_statistics(X).sums)
    assert model.callback is not None
    fitted = GaussianNB().fit(X, [0, 1] * 3)
    assert fitted.for_workers()._sums_ is None and fitted._sums_ is not None
    begun = GaussianNB().begin(X)
    assert begun.for_workers() is begun


def test_an_error_leaves_the_model_as_it_was():
    model = GaussianNB().fit(X, [0, 1] * 3)
    before = vars(model).copy()
    for rows, labels in ((X[:, :1], [0] * 6), (X * np.nan, [0] * 6), (X, [0] * 5)):
        with pytest.raises(ValueError):
            model.partial_fit(rows, labels)
    with pytest.raises(ValueError, match=r"label\(s\) \[2\] in y do not exist"):
        model.partial_fit(X, [2] * 6, classes=[0, 1])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
