"""Fits again, copies and files of a model."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse as sp

import mlcore
from contract import (
    NAN,
    UsersError,
    answers,
    case,
    contents,
    digest,
    one_of_each_class,
    only,
    plain_fit,
    sparse_samples,
)


def test_refit_with_other_data_is_a_fresh_fit(entry, data):
    X, y = data
    model = entry.make().fit(entry.draw(40, 7), entry.targets(entry.draw(40, 7)))
    assert digest(model.fit(X, y)) == digest(entry.make().fit(X, y))


def test_a_failed_refit_leaves_the_old_model(entry, data):
    X, y = data
    model = entry.make().fit(X, y)
    before, state = answers(model, X), digest(model)

    def stop(**_):
        raise UsersError

    failing = [
        lambda: model.fit(X * NAN, y),
        lambda: model.set_params(tol=-1.0).fit(X, y),
    ]
    if entry.weights:
        failing.append(lambda: model.fit(X, y, sample_weight=-np.ones(len(X))))
    if y is not None:
        failing.append(lambda: model.fit(entry.draw(40, 7), y))
    if "callback" in model.get_params():
        other = entry.draw(50, 2)
        failing.append(lambda: model.set_params(callback=stop).fit(other, entry.targets(other)))
    for fit in failing:
        with pytest.raises((ValueError, UsersError)):
            fit()
        assert digest(model) == state
        model.set_params(**entry.make().get_params(deep=False))
    for found, expected in zip(answers(model, X), before, strict=True):
        assert_array_equal(found, expected)


def through_a_file(model, folder):
    mlcore.save(model, folder / "model.npz")
    return mlcore.load(folder / "model.npz")


def alike(one, other):
    assert type(one) is type(other) and vars(one).keys() == vars(other).keys()
    assert repr(one) == repr(other) and contents(vars(one)) == contents(vars(other))


def test_copies_are_the_same_model(entry, data, tmp_path):
    X, y = data
    alike(through_a_file(entry.make(), tmp_path), entry.make())
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = entry.make().fit(frame, y)
    ways = {
        "pickle": lambda m: pickle.loads(pickle.dumps(m)),
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "save": lambda m: through_a_file(m, tmp_path),
    }
    for what, way in ways.items():
        with case(what):
            again = way(model)
            alike(again, model)
            for found, expected in zip(answers(again, frame), answers(model, frame), strict=True):
                assert_array_equal(found, expected)


@only(lambda entry: entry.sparse)
def test_sparse_fits_are_saved_too(entry, tmp_path):
    X = sp.csr_array(sparse_samples(entry))
    model = entry.make().fit(X, entry.targets(sparse_samples(entry)))
    mlcore.save(model, tmp_path / "model.npz")
    again = mlcore.load(tmp_path / "model.npz")
    for found, expected in zip(answers(again, X), answers(model, X), strict=True):
        assert_array_equal(found, expected)


@one_of_each_class
def test_truncated_and_newer_files_are_a_clear_error(entry, tmp_path):
    model = plain_fit(entry)
    path = tmp_path / "model.npz"
    mlcore.save(model, path)
    whole = path.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="not an mlcore model file, or it is truncated"):
            mlcore.load(path)
    newer = pickle.dumps(model).replace(mlcore.__version__.encode(), b"9" * len(mlcore.__version__))
    with pytest.raises(ValueError, match="newer than the mlcore"):
        pickle.loads(newer)


def test_the_same_seed_gives_the_same_bytes(entry, data):
    seeds = {"random_state": 7} if "random_state" in entry.make().get_params() else {}
    first, second = (entry.make().set_params(**seeds).fit(*data) for _ in range(2))
    assert digest(first) == digest(second)
