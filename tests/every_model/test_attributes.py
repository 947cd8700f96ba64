"""Fitted attributes are declared, and what a fit sets is what was declared."""

from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pytest
from each import each
from scipy import sparse as sp

from contract import MODELS, fitted
from mlcore.decomposition import PCA
from mlcore.linear_model import LinearRegression

CLASSES = sorted({type(entry.make()) for entry in MODELS.values()}, key=lambda kind: kind.__name__)


def declared(kind):
    return {name: hint for name, hint in get_type_hints(kind).items() if name.endswith("_")}


def fits(kind):
    """Models of one class, fitted so that between them they have all attributes."""
    for entry in MODELS.values():
        model = entry.make()
        if type(model) is not kind:
            continue
        X = pd.DataFrame(entry.draw(), columns=["a", "b", "c", "d"])
        y = entry.targets(np.asarray(X))
        yield model.fit(X, y)
        if entry.kernel:
            yield entry.make().set_params(kernel="linear").fit(X + 5, y)
        for more in {"probability", "fit_inverse_transform"} & set(model.get_params()):
            yield entry.make().set_params(**{more: True}).fit(X, y)
        if kind is LinearRegression:
            yield entry.make().partial_fit(X, y)
        if kind is PCA:
            yield entry.make().set_params(missing="ignore").fit(X.mask(X > X.quantile(0.9)))


def of_type(value, hint):
    if get_origin(hint) is UnionType:
        return any(of_type(value, part) for part in get_args(hint))
    if get_origin(hint) is dict:
        key, item = get_args(hint)
        known = item is Any or all(of_type(v, item) for v in value.values())
        return known and all(of_type(k, key) for k in value)
    if get_origin(hint) is list:
        return isinstance(value, list) and all(of_type(v, *get_args(hint)) for v in value)
    if get_origin(hint) is tuple:
        return all(of_type(v, part) for v, part in zip(value, get_args(hint), strict=True))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is object:  # of another package, perhaps
        return True
    if hint is Any:
        return sp.issparse(value) or type(value) in (float, np.ndarray)
    return type(value) is hint


@pytest.mark.filterwarnings("ignore:NuSVC.* the margin is zero")
@each("kind", CLASSES)
def test_the_declared_attributes_are_those_that_a_fit_sets(kind):
    hints, seen = declared(kind), set()
    for model in fits(kind):
        for name, value in fitted(model).items():
            assert name in hints, f"{kind.__name__} does not declare {name}"
            assert of_type(value, hints[name]), f"{name}: {type(value)} is not {hints[name]}"
            seen.add(name)
    assert seen == set(hints)
