"""Parameters that only scikit-learn's classes have are refused with what to do instead."""

import inspect
import pickle

import pytest
import sklearn.cluster
import sklearn.cross_decomposition
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.feature_extraction.text
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.mixture
import sklearn.naive_bayes
import sklearn.svm
from each import each

from mlcore import (
    cluster,
    decomposition,
    discriminant,
    kernel_ridge,
    kernels,
    linear_model,
    mixture,
    naive_bayes,
    svm,
)
from mlcore.estimator.model import Model

MODELS = {
    name: getattr(family, name)
    for family in (
        cluster,
        decomposition,
        discriminant,
        kernel_ridge,
        kernels,
        linear_model,
        mixture,
        naive_bayes,
        svm,
    )
    for name in family.__all__
    if inspect.isclass(getattr(family, name)) and issubclass(getattr(family, name), Model)
}
PEER_FAMILIES = (
    sklearn.cluster,
    sklearn.cross_decomposition,
    sklearn.decomposition,
    sklearn.discriminant_analysis,
    sklearn.feature_extraction.text,
    sklearn.kernel_ridge,
    sklearn.linear_model,
    sklearn.mixture,
    sklearn.naive_bayes,
    sklearn.svm,
)
PEERS = {
    name: getattr(family, name)
    for family in PEER_FAMILIES
    for name in MODELS
    if hasattr(family, name)
}
PEERS["WordCounts"] = sklearn.feature_extraction.text.CountVectorizer
THEIRS = [
    (name, parameter)
    for name, peer in PEERS.items()
    for parameter in inspect.signature(peer).parameters
    if parameter not in inspect.signature(MODELS[name]).parameters
]


@each(("name", "parameter"), THEIRS)
def test_parameters_that_only_scikit_learn_has_are_refused_with_the_way_out(name, parameter):
    with pytest.raises(TypeError, match=f"{name} got an unexpected keyword .*'{parameter}': ."):
        MODELS[name](**{parameter: None})
    with pytest.raises(ValueError, match=f"Invalid parameter '{parameter}'.*: .*Valid parameters"):
        MODELS[name]().set_params(**{parameter: None})


def test_the_way_out_of_a_known_parameter_is_one_that_exists():
    bases = {base for kind in MODELS.values() for base in kind.__mro__ if "_instead" in vars(base)}
    assert len(bases) > 20
    for base in bases:
        kinds = [kind for kind in MODELS.values() if issubclass(kind, base)]
        for parameter in vars(base)["_instead"]:
            taking = [kind for kind in kinds if parameter in kind._defaults()]
            assert base not in taking, f"{taking} take {parameter}"
            assert all(kind._instead_of(parameter) for kind in kinds)


def test_other_names_are_pythons_matter_and_signatures_are_the_classes_own():
    with pytest.raises(TypeError, match="unexpected keyword argument 'shrink'"):
        svm.SVC(shrink=True)
    assert "C" in inspect.signature(svm.SVC).parameters
    assert pickle.loads(pickle.dumps(svm.SVC(C=3.0))).C == 3.0


def test_a_subclass_may_take_what_its_base_refuses():
    class Shrinking(svm.SVC):
        def __init__(self, *, shrinking=True):
            super().__init__()
            self.shrinking = shrinking

    assert Shrinking(shrinking=False).get_params() == {"shrinking": False}


def test_names_of_scikit_learn_that_a_family_lacks_are_refused_with_advice():
    with pytest.raises(ImportError, match=r"no Ridge: use LinearRegression\(alpha=...\)"):
        from mlcore.linear_model import Ridge  # noqa: F401
    for name in linear_model._INSTEAD:
        assert hasattr(sklearn.linear_model, name)
        with pytest.raises(ImportError, match=name):
            getattr(linear_model, name)
    assert not hasattr(linear_model, "Rigde")
    with pytest.raises(TypeError, match="argument 'normalize': drop it"):
        linear_model.LinearRegression(normalize=True)
