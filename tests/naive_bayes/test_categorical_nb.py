"""CategoricalNB against exact fractions, scikit-learn, BernoulliNB, Mitchell's tennis."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.naive_bayes
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import mlcore
from mlcore.blocks import fit_blocks
from mlcore.naive_bayes import BernoulliNB, CategoricalNB, MixedNB

# Mitchell, table 3.2: outlook, temperature, humidity, wind; whether tennis is played.
TENNIS = [
    line.split()
    for line in """
    sunny hot high weak no
    sunny hot high strong no
    overcast hot high weak yes
    rain mild high weak yes
    rain cool normal weak yes
    rain cool normal strong no
    overcast cool normal strong yes
    sunny mild high weak no
    sunny cool normal weak yes
    rain mild normal weak yes
    sunny mild normal strong yes
    overcast mild high strong yes
    overcast hot normal weak yes
    rain mild high strong no
    """.strip().splitlines()
]
DAYS, PLAYED = [line[:4] for line in TENNIS], [line[4] for line in TENNIS]


def problem(seed, n=30, d=4, k=3, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float)
    X[:3] = np.arange(3)[:, None]
    X[3:][rng.random((n - 3, d)) < missing] = np.nan
    return X, rng.integers(0, k, n)


def exact_posterior(X, y, row, alpha, reserve=0):
    """The posterior in exact fractions; NaN is in no sum and no product."""
    alpha, joint = Fraction(alpha), []
    for c in sorted(set(y.tolist())):
        rows = X[y == c]
        product = Fraction(len(rows), len(y))
        for j, x in enumerate(row):
            seen = {v for v in X[:, j].tolist() if v == v}
            if np.isnan(x) or (x not in seen and not reserve):
                continue
            known = rows[~np.isnan(rows[:, j]), j]
            total = len(known) + alpha * (len(seen) + reserve)
            product *= (int((known == x).sum()) + alpha) / total
        joint.append(product)
    return [float(p / sum(joint)) for p in joint]


def test_mitchell_section_6_9():
    model = CategoricalNB(alpha=0).fit(DAYS, PLAYED)
    found = model.predict_proba([["sunny", "cool", "high", "strong"]])[0]
    assert_allclose(found, [486 / 611, 125 / 611], rtol=1e-14)
    assert_array_equal(model.category_count_[0], [[0, 2, 3], [4, 3, 2]])
    # No class "no" was overcast: impossible, as the fractions of a tiny alpha say.
    assert_array_equal(model.predict_proba([["overcast", "hot", "high", "weak"]]), [[0, 1]])
    frame = pd.DataFrame(DAYS, columns=list("abcd"))
    assert_array_equal(
        CategoricalNB(alpha=0).fit(frame, PLAYED).predict_proba(frame)[0],
        model.predict_proba(DAYS[:1])[0],
    )


@pytest.mark.parametrize("alpha", ["1", "1/4", "1/1" + "0" * 60])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("unseen", ["ignore", "reserve"])
def test_posteriors_are_those_of_fractions(missing, alpha, unseen):
    """The smallest alpha stands for 0, whose posteriors are the limit."""
    X, y = problem(0, missing=missing)
    tiny = len(alpha) > 20
    model = CategoricalNB(
        alpha=0 if tiny else float(Fraction(alpha)), missing="ignore", unseen=unseen
    ).fit(X, y)
    rows = np.concatenate([X, np.where(X == 1, 7, X)])
    expected = [exact_posterior(X, y, row, alpha, int(unseen == "reserve")) for row in rows]
    assert_allclose(model.predict_proba(rows), expected, rtol=1e-12, atol=1e-30)
    names = np.where(np.isnan(rows), None, np.char.add("v", rows.astype(str)))
    model.fit(names[: len(X)], y)
    assert_allclose(model.predict_proba(names), expected, rtol=1e-12, atol=1e-30)


def test_scikit_learn_and_bernoulli():
    X, y = problem(5, 200)
    weight = np.random.default_rng(0).uniform(0.5, 2, 200)
    for w in (None, weight):
        peer = sklearn.naive_bayes.CategoricalNB(alpha=0.3).fit(X, y, w)
        model = CategoricalNB(alpha=0.3).fit(X, y, w)
        assert_allclose(model.predict_proba(X), peer.predict_proba(X), rtol=1e-12)
        for ours, theirs in zip(model.feature_log_prob_, peer.feature_log_prob_, strict=True):
            assert_allclose(ours, theirs, rtol=1e-13)
        ones = X > 1
        assert_allclose(
            CategoricalNB().fit(ones, y, w).predict_proba(ones),
            BernoulliNB().fit(ones, y, w).predict_proba(ones),
            rtol=1e-12,
        )


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 29), st.sampled_from([0.0, 0.4]))
def test_laws(seed, cut, missing):
    X, y = problem(seed, missing=missing)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    whole = CategoricalNB(missing="ignore").fit(X, y)
    # Blocks merged are the whole, bit for bit, though blocks lack classes and categories.
    parts = CategoricalNB(missing="ignore").partial_fit(X[:cut], y[:cut])
    parts.partial_fit(X[cut:], y[cut:])
    assert_array_equal(parts.predict_log_proba(X), whole.predict_log_proba(X))
    for a, b in zip(parts.category_count_, whole.category_count_, strict=True):
        assert_array_equal(a, b)
    # Weights are copies.
    weight = np.random.default_rng(seed).integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    copies = CategoricalNB(missing="ignore").fit(X[rows], y[rows])
    weighted = CategoricalNB(missing="ignore").fit(X, y, weight)
    assert_array_equal(weighted.predict_log_proba(X), copies.predict_log_proba(X))
    # Rows of missing or unseen values have the prior.
    for value in (np.nan, 17.0):
        found = whole.predict_log_proba(np.full((1, 4), value))[0]
        assert_allclose(found, whole.class_log_prior_, rtol=1e-13, atol=1e-15)


def test_categories_that_are_refused():
    model = CategoricalNB(unseen="error").fit(DAYS, PLAYED)
    with pytest.raises(ValueError, match=r"X\[:, 1\] has the category 'icy'"):
        model.predict([["sunny", "icy", "high", "weak"]])
    with pytest.raises(ValueError, match=r"X\[:, 0\] contains NaN"):
        CategoricalNB().fit([[None, "a"], ["b", "a"]], [0, 1])
    with pytest.raises(TypeError, match=r"X\[:, 0\] has categories of mixed types"):
        CategoricalNB().fit([[1, "a"], ["b", "a"]], [0, 1])
    with pytest.raises(TypeError, match=r"X\[:, 0\] has categories of types"):
        CategoricalNB().fit(DAYS, PLAYED).partial_fit([[1.0] * 4], ["no"])
    mixed = CategoricalNB().fit([[1, "a"], [2.5, "b"]], [0, 1])
    assert_array_equal(mixed.predict(np.array([[1.0, "a"], [2.5, "b"]], object)), [0, 1])
    single = CategoricalNB().fit(np.array([[0.1], [0.2]], np.float32), [0, 1])
    assert_array_equal(single.predict([[0.1], [0.2]]), [0, 1])


# ---- integers beyond the precision of float64, times, names of columns

LARGE = np.array([2**53, 2**53 + 1])[np.arange(40) % 2]
LARGE_FORMS = {
    "int64": LARGE[:, None],
    "uint64": LARGE[:, None].astype(np.uint64),
    "objects": LARGE[:, None].astype(object),
    "lists": LARGE[:, None].tolist(),
    "Int64": pd.DataFrame({"id": pd.array(LARGE, dtype="Int64")}),
    "a frame with strings": pd.DataFrame({"s": ["a"] * 40, "id": LARGE}),
    "polars": pl.DataFrame({"s": ["a"] * 40, "id": LARGE}),
    "arrow": pa.table({"id": LARGE}),
    "negative": -LARGE[:, None],
    "beyond int64": np.array([2**70, 2**70 + 1], object)[np.arange(40) % 2][:, None],
}


@each("form", LARGE_FORMS)
def test_integers_that_float64_cannot_tell_apart_are_refused(form):
    X, labels = LARGE_FORMS[form], np.arange(40) % 2
    place = 1 if "strings" in form or form == "polars" else 0
    match = rf"X\[:, {place}\].* has the category -?\d+, which float64 cannot"
    for model in (CategoricalNB(), MixedNB(columns={"categorical": [0, 1][: place + 1]})):
        with pytest.raises(ValueError, match=match):
            model.fit(X, labels)
        assert not hasattr(model, "classes_")
    small = np.where(labels, 2.0, 3.0)
    few = np.c_[np.repeat("a", 40).astype(object), small] if place else small[:, None]
    fitted = CategoricalNB().fit(few, labels)
    with pytest.raises(ValueError, match=match), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that the fit did not have
        fitted.predict(X)
    with pytest.raises(ValueError, match="block 0 .*which float64 cannot"):
        fit_blocks(CategoricalNB(), [(X, labels)])


def test_integers_with_nulls_are_refused_too():
    column = pa.array([*LARGE.tolist(), None])
    for table in (pa.table({"id": column}), pl.DataFrame({"id": column.to_pylist()})):
        with pytest.raises(ValueError, match="has the category 9007199254740993, which float64"):
            CategoricalNB(missing="ignore").fit(table, np.arange(41) % 2)


def test_large_categories_that_differ_are_told_apart():
    labels = np.arange(40) % 2
    for values in ([2**60, 2**60 + 2**10], [1e150, 2e150], [2**53, 2**53 + 2]):
        X = np.array(values)[labels][:, None]
        assert CategoricalNB().fit(X, labels).score(X, labels) == 1
    X = LARGE[:, None].astype(str)
    assert CategoricalNB().fit(X, labels).score(X, labels) == 1
    model = CategoricalNB().fit(labels[:, None], LARGE)
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    assert model.score(labels[:, None], LARGE) == 1


DAYS_OFF = np.array(["2020-01-01", "2021-01-01", "2020-01-01", "2022-05-05"], "M8[D]")[:, None]
LENGTHS = np.array([1, 2, 1, 3], "m8[h]")[:, None]
TIME_FORMS = {
    "days": DAYS_OFF,
    "seconds": DAYS_OFF.astype("M8[s]"),
    "nanoseconds": DAYS_OFF.astype("M8[ns]"),
    "objects": DAYS_OFF.astype(object),
    "frame": pd.DataFrame(DAYS_OFF.astype("M8[ns]"), columns=["day"]),
    "with a number": pd.DataFrame({"day": DAYS_OFF[:, 0].astype("M8[ns]"), "n": 1.0}),
    "arrow": pa.table({"n": [1.0] * 4, "day": pa.array(DAYS_OFF[:, 0])}),
    "polars": pl.DataFrame({"n": [1.0] * 4, "day": DAYS_OFF[:, 0]}),
    "durations": LENGTHS,
    "durations as objects": LENGTHS.astype(object),
    "durations in a frame": pd.DataFrame({"n": 1.0, "for": LENGTHS[:, 0].astype("m8[ns]")}),
}


@pytest.mark.parametrize("form", TIME_FORMS)
def test_times_are_categories(form, tmp_path):
    X, labels = TIME_FORMS[form], [0, 1, 0, 1]
    model = CategoricalNB(unseen="error").fit(X, labels)
    place = int(np.argmax([c.dtype.kind in "mM" for c in model.categories_]))
    assert len(model.categories_[place]) == 3
    assert model.score(X, labels) == 1
    plain = CategoricalNB().fit([["a"], ["b"], ["a"], ["c"]], labels)
    assert_allclose(model.feature_log_prob_[place], plain.feature_log_prob_[0], rtol=1e-15)
    mlcore.save(model, tmp_path / "m")
    assert_array_equal(mlcore.load(tmp_path / "m").predict(X), labels)
    in_blocks = fit_blocks(CategoricalNB(), [(X, labels), (X, labels)])
    assert_array_equal(in_blocks.categories_[place], model.categories_[place])


def test_times_that_are_missing_or_unseen():
    X = DAYS_OFF.copy()
    X[1] = np.datetime64("NaT")
    with pytest.raises(ValueError, match=r'X\[:, 0\] contains NaN .*missing="ignore"'):
        CategoricalNB().fit(X, [0, 1, 0, 1])
    model = CategoricalNB(missing="ignore").fit(X, [0, 1, 0, 1])
    assert len(model.categories_[0]) == 2
    later = np.array([["2030-01-01"], ["2020-01-01"], ["NaT"]], "M8[D]")
    assert_allclose(model.predict_proba(later)[[0, 2]], 0.5, rtol=1e-12)
    with pytest.raises(ValueError, match="has the category .*2030"):
        CategoricalNB(missing="ignore", unseen="error").fit(X, [0, 1, 0, 1]).predict(later)


WORK = pd.DataFrame(
    {
        "age": [30.0, 40.0, 50.0, 60.0],
        "work": ["a", None, "b", "a"],
        "children": [0, 1, 0, 2],
        "country": ["x", "y", "x", "y"],
    }
)
KINDS = {"gaussian": ["age"], "multinomial": ["children"], "categorical": ["work", "country"]}


def test_errors_name_the_column_of_the_frame():
    labels = [0, 0, 1, 1]
    match = r"X\[:, 1\] \(column 'work'.* contains NaN .*missing=\"ignore\""
    with pytest.raises(ValueError, match=match) as caught:
        MixedNB(columns=KINDS).fit(WORK, labels)
    assert "label" not in str(caught.value)
    with pytest.raises(ValueError, match=match):
        CategoricalNB().fit(WORK[["age", "work"]], labels)
    model = MixedNB(columns=KINDS, missing="ignore", unseen="error").fit(WORK, labels)
    with pytest.raises(ValueError, match=r"X\[:, 3\] \(column 'country'\) has the category 'At"):
        model.predict(WORK.assign(country="Atlantis"))
    with pytest.raises(TypeError, match=r"X\[:, 0\] \(column 'age'.*is of type str"):
        model.predict(WORK.assign(age="old"))
    with pytest.raises(ValueError, match=r"column 'children'.* contains NaN"):
        model.predict(WORK.assign(children=[0.0, np.nan, 1.0, 1.0]))
    with pytest.raises(TypeError, match=r"\(column 'work'.*categories of mixed types"):
        MixedNB(columns=KINDS, missing="ignore").fit(WORK.assign(work=["a", 1, "b", 2]), labels)
    with pytest.raises(ValueError, match=r"column 1 \('work'\) of X 0 times"):
        MixedNB(columns=KINDS | {"categorical": ["country"]}).fit(WORK, labels)
    plain = MixedNB(columns={"gaussian": [0], "categorical": [1]}, unseen="error")
    plain.fit([[1.0, "a"], [2.0, "b"]], [0, 1])
    with pytest.raises(ValueError, match=r"X\[:, 1\] has the category 'c'"):
        plain.predict([[1.0, "c"]])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_feature_of_one_category_tells_nothing(alpha):
    X = [["a", "u"], ["a", "v"], ["a", "u"]]
    model = CategoricalNB(alpha=alpha).fit(X, [0, 0, 1])
    assert_array_equal(model.feature_log_prob_[0], [[0.0], [0.0]])
