"""Latent class analysis against EM written out in NumPy, sums over all answers, and EM's laws."""

import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from mlcore.mixture import CategoricalMixture
from mlcore.row_sums import RowSums

SIZES = (2, 3, 4, 2, 5)


def answers(n=300, k=3, sizes=SIZES, seed=0):
    """Rows of k classes that hold every category, and their probabilities."""
    rng = np.random.default_rng([n, k, seed])
    probabilities = [rng.dirichlet(np.full(size, 0.7), k) for size in sizes]
    labels = rng.integers(0, k, n)
    below = [np.cumsum(p, axis=1)[labels, :-1] for p in probabilities]
    X = np.column_stack([(rng.random(n)[:, None] > edges).sum(axis=1) for edges in below])
    for row in range(min(n, max(sizes))):
        X[row] = np.minimum(row, np.array(sizes) - 1)
    return X.astype(float), probabilities, labels


def start(k, sizes=SIZES, seed=0):
    rng = np.random.default_rng([k, seed])
    return {
        "n_components": k,
        "weights_init": np.arange(1.0, k + 1) / (k * (k + 1) / 2),
        "probabilities_init": [rng.dirichlet(np.full(size, 4.0), k) for size in sizes],
    }


def logarithm(p):
    with np.errstate(divide="ignore"):
        return np.log(p)


def em(X, weights, probabilities, *, alpha, n_steps):
    """Textbook EM, an item after the other; NaN takes no part."""
    trace = []
    for step in range(n_steps + 1):
        joint = np.tile(np.log(weights), (len(X), 1))
        for x, p in zip(X.T, probabilities, strict=True):
            known = ~np.isnan(x)
            joint[known] += logarithm(p).T[x[known].astype(int)]
        density = logsumexp(joint, axis=1)
        prior = alpha * sum(np.log(p).sum() for p in probabilities) if alpha else 0.0
        trace.append(density.mean() + prior / len(X))
        if step == n_steps:
            break
        r = np.exp(joint - density[:, None])
        weights = r.mean(axis=0)
        for i, x in enumerate(X.T):
            size, known = probabilities[i].shape[1], ~np.isnan(x)
            categories = x[known].astype(int)
            counts = np.stack([np.bincount(categories, own[known], size) for own in r.T]) + alpha
            probabilities = [*probabilities]
            probabilities[i] = counts / counts.sum(axis=1, keepdims=True)
    return weights, probabilities, np.array(trace)


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


def with_holes(X, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < 0.2] = np.nan
    return X


@each("holes", [False, True])
@each("alpha", [0.0, 0.5])
@each(("n", "k"), [(30, 1), (300, 3), (100, 8), (70, 9), (90, 33)])
def test_each_step_is_that_of_textbook_em(n, k, alpha, holes):
    X, _, _ = answers(n)
    X = with_holes(X) if holes else X
    options = start(k)
    weights, probabilities, trace = em(
        X, options["weights_init"], options["probabilities_init"], alpha=alpha, n_steps=6
    )
    missing = "ignore" if holes else "error"
    model = CategoricalMixture(alpha=alpha, missing=missing, tol=0, max_iter=6, **options)
    quietly(model, X)
    assert_allclose(model.weights_, weights, rtol=0, atol=1e-10)
    for found, expected in zip(model.probabilities_, probabilities, strict=True):
        assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-10)


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("sizes", [SIZES * 2, (2,) * 23, (300, 2, 3, 2, 70), (7,)])
def test_answers_to_many_items_at_a_time_change_no_result(sizes, turn):
    k, holes = (2, 9)[turn], len(sizes) % 2 == turn
    X, _, _ = answers(10_000, k, sizes)
    X = with_holes(X) if holes else X
    options = start(k, sizes)
    weights, probabilities, trace = em(
        X, options["weights_init"], options["probabilities_init"], alpha=0.5, n_steps=3
    )
    missing = "ignore" if holes else "error"
    model = CategoricalMixture(alpha=0.5, missing=missing, tol=0, max_iter=3, **options)
    quietly(model, X.astype(np.float32))
    assert_allclose(model.weights_, weights, rtol=0, atol=1e-10)
    for found, expected in zip(model.probabilities_, probabilities, strict=True):
        assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert_allclose(model.log_likelihood_trace_, trace, rtol=1e-10)
    # A few rows are looked up item by item.
    few = model.predict_proba(X[:7])
    assert_allclose(few, model.predict_proba(X)[:7], rtol=0, atol=1e-12)


@each("values", [[-3.0, -1.0], [0.5, 1.25], [1e6, 1e6 + 7], [-1e12, 0.0, 3e11], [255.0, 256.0]])
def test_categories_are_whatever_numbers(values):
    rng = np.random.default_rng(len(values))
    X = rng.integers(0, len(values), (500, 3))
    X[:, 1] %= 2
    named = np.array(values)[X]
    named[:, 1] = X[:, 1]
    fits = [
        CategoricalMixture(2, missing="ignore", random_state=0, max_iter=5, tol=0) for _ in range(2)
    ]
    quietly(fits[0], with_holes(X.astype(float)))
    quietly(fits[1], with_holes(named))
    assert_array_equal(fits[1].categories_[0], values)
    assert_array_equal(fits[0].log_likelihood_trace_, fits[1].log_likelihood_trace_)
    for unknown in (values[0] - 1, values[0] + 0.125, 2e12):
        named[4, 2] = unknown
        with pytest.raises(ValueError, match="column 2 of X holds .* which is none of its categ"):
            fits[1].partial_fit(named)


def test_one_class_counts_the_categories():
    X, _, _ = answers()
    model = CategoricalMixture(1, alpha=0.0).fit(X)
    for x, p, values in zip(X.T, model.probabilities_, model.categories_, strict=True):
        assert_array_equal(values, np.unique(x))
        assert_allclose(p[0], np.bincount(x.astype(int)) / len(x), rtol=1e-12)


def test_a_missing_answer_sums_over_the_answers_it_might_be():
    _, probabilities, _ = answers(k=2)
    model = CategoricalMixture.from_parameters([0.4, 0.6], probabilities)
    every = np.array(list(itertools.product(*map(range, SIZES))), dtype=float)
    density = np.exp(model.score_samples(every))
    assert density.sum() == pytest.approx(1, abs=1e-8)
    row = every[17].copy()
    row[[1, 4]] = np.nan
    same = (every[:, [0, 2, 3]] == row[[0, 2, 3]]).all(axis=1)
    model.missing = "ignore"
    assert math.exp(model.score_samples([row])[0]) == pytest.approx(density[same].sum(), rel=1e-8)
    assert model.score_samples(np.full((1, 5), np.nan))[0] == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="NaN"):
        CategoricalMixture(1).fit([row])


def test_classes_are_recovered():
    X, probabilities, labels = answers(n=4000, k=2, sizes=(3,) * 12)
    model = quietly(CategoricalMixture(2, random_state=0, n_init=3, tol=1e-7), X)
    P = np.hstack(probabilities)
    found = np.hstack(model.probabilities_)
    match = [int(np.argmin(np.abs(found - p).sum(axis=1))) for p in P]
    assert sorted(match) == [0, 1]
    # About 2000 rows each: five standard errors of a proportion, and some for uncertain labels.
    assert (np.abs(found[match] - P) < 7 * np.sqrt(P * (1 - P) / 2000) + 0.01).all()
    # As well as the true parameters do, up to five standard errors.
    truth = CategoricalMixture.from_parameters([0.5, 0.5], probabilities)
    best = (truth.predict(X) == labels).mean()
    share = (np.array(match)[labels] == model.predict(X)).mean()
    assert share > best - 5 * math.sqrt(0.25 / 4000)


small = settings(max_examples=15, deadline=None)


@small
@given(st.integers(0, 10**6), st.integers(6, 60), st.sampled_from([0.0, 0.1]), st.booleans())
def test_laws_of_em(seed, n, alpha, holes):
    X, _, _ = answers(n, 2, seed=seed)
    options = {**start(2, seed=seed), "alpha": alpha, "tol": 0, "max_iter": 12, "missing": "ignore"}
    filled = X
    X = np.vstack([filled[:5], with_holes(filled[5:], seed)]) if holes else filled
    model = quietly(CategoricalMixture(**options), X)
    trace = model.log_likelihood_trace_
    # Rounding of the sums.
    assert (np.diff(trace) > -1e-10 * (1 + np.abs(trace[1:]))).all()
    rng = np.random.default_rng(seed)
    options["max_iter"] = 4
    model = quietly(CategoricalMixture(**options), X)
    turned = quietly(CategoricalMixture(**options), rng.permutation(X))
    times = rng.integers(1, 4, n)
    weighted = quietly(CategoricalMixture(**options), X, sample_weight=times)
    repeated = quietly(CategoricalMixture(**options), X.repeat(times, axis=0))
    for a, b, c, d in zip(
        *(m.probabilities_ for m in (model, turned, weighted, repeated)), strict=True
    ):
        assert_allclose(a, b, atol=1e-10)
        assert_allclose(c, d, atol=1e-10)


@pytest.mark.parametrize("n_blocks", [1, 7, 100])
def test_blocks_merge_to_the_serial_step(n_blocks):
    X, _, _ = answers(n=500)
    options = {**start(3), "alpha": 0.2, "tol": 0, "max_iter": 3, "missing": "ignore"}
    X[5:] = with_holes(X[5:])
    model = CategoricalMixture(**options)
    assert isinstance(model, RowSums)
    model.begin(X)
    for _ in range(3):
        total = None
        for block in np.array_split(X, n_blocks):
            part = pickle.loads(pickle.dumps(model.partial_statistics(block)))
            total = part if total is None else model.merge(total, part)
        model.update(total)
    serial = quietly(CategoricalMixture(**options), X)
    for found, expected in zip(model.probabilities_, serial.probabilities_, strict=True):
        assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert_allclose(model.weights_, serial.weights_, rtol=0, atol=1e-12)


def test_the_same_bytes_for_any_number_of_threads():
    X, _, _ = answers(n=30_000)
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads):
            model = quietly(CategoricalMixture(tol=0, max_iter=3, **start(3)), X)
            found.append(pickle.dumps(model.probabilities_) + model.predict_proba(X).tobytes())
    assert found[0] == found[1] == found[2]


def test_types_and_names_of_categories():
    X, _, _ = answers(n=200)
    model = quietly(CategoricalMixture(**start(2)), X)
    for other in (X.astype(np.int8), X.astype(np.float32), np.asfortranarray(X), X.tolist()):
        again = quietly(CategoricalMixture(**start(2)), other)
        for a, b in zip(again.probabilities_, model.probabilities_, strict=True):
            assert_array_equal(a, b)
    values = np.array([-2.5, 0.25, 3.0, 1e9, 1e12])
    renamed = quietly(CategoricalMixture(**start(2)), values[X.astype(int)])
    assert_array_equal(renamed.categories_[4], values)
    for a, b in zip(renamed.probabilities_, model.probabilities_, strict=True):
        assert_array_equal(a, b)
    assert_array_equal(renamed.predict(values[X.astype(int)]), model.predict(X))


def test_a_category_that_no_row_holds_may_be_given():
    X = [[0, 1], [2, 1], [0, 0]]
    table = np.full((1, 3), 1 / 3)
    model = CategoricalMixture(1, probabilities_init=[table, table[:, :2] * 1.5], alpha=1.0).fit(X)
    assert_array_equal(model.categories_[0], [0, 1, 2])
    assert_allclose(model.probabilities_[0], [[3 / 6, 1 / 6, 2 / 6]])
    assert np.isfinite(model.score_samples([[1, 1]])).all()


def test_an_item_that_a_class_never_answers_keeps_its_probabilities():
    X = [[0, 0], [0, 1], [1, np.nan], [1, np.nan]]
    given_start = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.3, 0.7], [0.2, 0.8]])]
    model = CategoricalMixture(
        2, alpha=0.0, missing="ignore", weights_init=[0.5, 0.5], probabilities_init=given_start
    )
    quietly(model, X)
    assert_allclose(model.probabilities_[1][0], [0.5, 0.5], atol=1e-9)
    assert np.isfinite(model.probabilities_[1]).all()


@each("alpha", [0.0, 0.01])
@each("X", [np.zeros((4, 2)), [[5.0, -1.0]], np.eye(3), [[1, 2], [1, 2], [3, 4]]])
def test_hard_data_give_finite_answers(X, alpha):
    for k in (1, len(X)):
        model = quietly(CategoricalMixture(k, alpha=alpha, random_state=0), X)
        for p in model.probabilities_:
            assert_allclose(p.sum(axis=1), 1)
        assert model.weights_.sum() == pytest.approx(1)
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.log_likelihood_trace_).all()


def test_samples_come_from_the_mixture():
    model = CategoricalMixture.from_parameters(
        [0.3, 0.7], [[[0.1, 0.9], [0.6, 0.4]], [[1, 0, 0], [0, 0.5, 0.5]]], [[1, 2], [0, 5, 9]]
    )
    model.random_state = 0
    X, labels = model.sample(4000)
    assert_array_equal(X[labels == 0, 1], 0)
    assert set(X[labels == 1, 1]) == {5, 9}
    # Five standard errors of a proportion.
    assert abs(labels.mean() - 0.7) < 5 * math.sqrt(0.21 / 4000)
    assert abs((X[labels == 1, 0] == 2).mean() - 0.4) < 5 * math.sqrt(0.24 / 2500)
    assert_array_equal(model.predict(X), labels)


def test_warm_start_and_partial_fit_go_on():
    X, _, _ = answers()
    once = quietly(CategoricalMixture(tol=0, max_iter=8, **start(2)), X)
    twice = quietly(CategoricalMixture(tol=0, max_iter=4, warm_start=True, **start(2)), X)
    quietly(twice, X)
    for a, b in zip(twice.probabilities_, once.probabilities_, strict=True):
        assert_allclose(a, b, rtol=1e-12)
    twice.partial_fit(X[:50])
    assert twice.total_weight_ == 350
    more = np.vstack([X, X[0] + 7])
    quietly(
        twice.set_params(probabilities_init=None), more
    )  # new categories: no start of the old ones
    with pytest.raises(ValueError, match="column 0 of X holds 99, which is none of its categories"):
        twice.partial_fit(X + 99)


HALF = np.full((1, 2), 0.5)
REFUSED = {
    "sums": ({"probabilities_init": [HALF, HALF * 3]}, ValueError, r"probabilities_init\[1\] must"),
    "no list": ({"probabilities_init": 3}, TypeError, "probabilities_init is of type int"),
    "items": ({"probabilities_init": [HALF]}, ValueError, "has 1 arrays, but X has 2 columns"),
    "value": ({"probabilities_init": [HALF, HALF]}, ValueError, "holds 3, which is none of 0 to 1"),
    "rows": ({"probabilities_init": [np.eye(2)] * 2}, ValueError, "must have 1 rows"),
    "missing": ({"missing": "drop"}, ValueError, "missing='drop' must be one of"),
    "alpha": ({"alpha": -0.1}, ValueError, "alpha=-0.1 must be"),
}


@each("case", REFUSED)
def test_what_is_refused_leaves_the_old_model(case):
    params, error, message = REFUSED[case]
    X = [[0, 7], [1, 7], [0, 3], [1, 5]]
    model = CategoricalMixture(1).fit(X)
    before = model.probabilities_
    with pytest.raises(error, match=message):
        model.set_params(**params).fit(X)
    assert model.probabilities_ is before
    with pytest.raises(ValueError, match="column 1 of X holds 4, which is none of its categories"):
        model.set_params(**CategoricalMixture(1).get_params()).partial_fit([[0, 4]])
    model.missing = "ignore"
    with pytest.raises(ValueError, match="column 1 of X are missing"):
        model.fit([[1, np.nan]])


def test_an_answer_that_the_fit_did_not_know_is_as_good_as_impossible():
    X, Y = (
        np.array([[0, 0, 2], [0, 1, 1], [1, 1, 0], [1, 0, 0]]),
        [[0, 7.5, 1], [9, 9, 9], [0, 1, 1]],
    )
    model = CategoricalMixture(2, random_state=0, missing="ignore", tol=1e-8).fit(X)
    with pytest.warns(UserWarning, match="column 0 of X holds 9, which is none of its categories"):
        density, proba = model.score_samples(Y), model.predict_proba(Y)
    hidden = [[0, np.nan, 1], [np.nan] * 3, [0, 1, 1]]
    assert_allclose(proba, model.predict_proba(hidden), rtol=1e-12)
    lost = np.array([1, 3, 0]) * np.log(1e-10)
    assert_allclose(density, model.score_samples(hidden) + lost, rtol=1e-12)
    model.alpha = 0.0
    with pytest.warns(UserWarning, match="impossible"):
        assert_array_equal(np.isfinite(model.score_samples(Y)), [False, False, True])
    with pytest.raises(ValueError, match="column 0 of X holds 9"):  # of which to learn
        model.partial_fit(Y)


@pytest.mark.parametrize("n_rows", [1, 500])  # items one by one, or several in a pattern
def test_impossible_answers_are_exactly_so(n_rows):
    tables = [[[0.5, 0.5, 0], [0, 0.2, 0.8]], [[1, 0], [0.3, 0.7]], [[0, 1], [0.5, 0.5]]]
    model = CategoricalMixture.from_parameters([1 - 1e-13, 1e-13], tables)
    X = np.repeat([[0, 0, 1], [1, 0, 1], [2, 1, 0], [0, 1, 1], [0, 1, 0]], n_rows, axis=0)
    density = np.log([0.5, 0.5, 1e-13 * 0.28])
    expected = np.r_[density, -np.inf, -np.inf]
    assert_allclose(model.score_samples(X[::n_rows]), expected, rtol=1e-12)
    assert_allclose(model.score_samples(X), expected.repeat(n_rows), rtol=1e-12)
    # [0, 1, 1] lacks one answer under either; [0, 1, 0] two under the first, one under the second.
    small = [0, 1e-13 * 0.03 / 0.5, 1, 1e-13 * 0.35 / 0.5, 1]
    assert_allclose(model.predict_proba(X)[::n_rows, 1], small, rtol=1e-9)
    present = np.arange(len(X)) < n_rows
    assert model.score(X, sample_weight=present) == pytest.approx(math.log(0.5))


# ---- categories that are no numbers


def of_labels(module, n=240):
    """A frame of strings, declared categories, bool and numbers with holes, and its codes."""
    X = answers(n, sizes=(3, 3, 2, 3))[0]
    X[:, 1] = np.where(X[:, 1] == 1, 2, X[:, 1])  # category 1 is declared, but does not occur
    holes = np.random.default_rng(7).random(X.shape) < 0.1
    words = np.array(["ash", "oak", "yew"]), np.array(["low", "mid", "high"])
    cells = [
        words[0][X[:, 0].astype(int)],
        words[1][X[:, 1].astype(int)],
        X[:, 2] == 1,
        X[:, 3] * 10,
    ]
    columns = [
        [None if hole else value for value, hole in zip(own.tolist(), lost, strict=True)]
        for own, lost in zip(cells, holes.T, strict=True)
    ]
    names = ["tree", "level", "wet", "size"]
    if module == "lists":
        table = [list(row) for row in zip(*columns, strict=True)]
    elif module == "pandas":
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame(dict(zip(names, columns, strict=True)))
        table["level"] = pd.Categorical(columns[1], categories=words[1])
        table["wet"] = table["wet"].astype("boolean")
        table["size"] = table["size"].astype("Int64")
    else:
        pl = pytest.importorskip("polars")
        table = pl.DataFrame(dict(zip(names, columns, strict=True)))
        table = table.with_columns(
            pl.col("tree").cast(pl.Categorical), pl.col("level").cast(pl.Enum(words[1].tolist()))
        )
    codes = np.where(holes, np.nan, X)
    if module == "lists":  # nothing declares the middle, and what is left is sorted
        codes[:, 1] = np.where(codes[:, 1] == 2, 0, np.where(codes[:, 1] == 0, 1, np.nan))
        return table, codes, (3, 2, 2, 3)
    return table, codes, (3, 3, 2, 3)


@pytest.mark.parametrize("module", ["lists", "pandas", "polars"])
def test_labels_are_what_their_codes_are(module, tmp_path):
    table, codes, sizes = of_labels(module)
    options = start(2, sizes) | {"missing": "ignore", "tol": 0, "max_iter": 20}
    weight = np.arange(len(codes)) % 3
    # Codes have categories 0, 1, ... of the start, so that both have the same.
    by_codes = quietly(CategoricalMixture(**options), codes, sample_weight=weight)
    model = quietly(CategoricalMixture(**options), table, sample_weight=weight)
    for ours, theirs in zip(model.probabilities_, by_codes.probabilities_, strict=True):
        assert_array_equal(ours, theirs)
    assert_array_equal(model.predict_proba(table), by_codes.predict_proba(codes))
    assert_array_equal(model.score_samples(table), by_codes.score_samples(codes))
    declared = ["low", "mid", "high"] if module != "lists" else ["high", "low"]
    expected = [["ash", "oak", "yew"], declared, [False, True], [0.0, 10.0, 20.0]]
    assert [values.tolist() for values in model.categories_] == expected
    # Blocks of them, files, and rows drawn again.
    again = CategoricalMixture(**options).begin(table)
    for _ in range(3):
        again.update(again.partial_statistics(table, sample_weight=weight))
    three = quietly(CategoricalMixture(**options | {"max_iter": 3}), codes, sample_weight=weight)
    assert_allclose(again.probabilities_[1], three.probabilities_[1], rtol=1e-12)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.predict(table), model.predict(table))
    drawn = model.set_params(random_state=0).sample(50)[0]
    assert set(drawn[:, 0]) <= {"ash", "oak", "yew"} and set(drawn[:, 2]) <= {False, True}
    # The probabilities, in one table.
    rows = model.probabilities_table()
    assert len(rows.item) == 2 * sum(sizes)
    errors = model.standard_errors(table)
    assert np.isnan(rows.error).all()
    assert_array_equal(model.probabilities_table(errors).error[:2], errors.probabilities[0][:, 0])
    for item, category, component, probability, _ in zip(*rows, strict=True):
        i = {"tree": 0, "level": 1, "wet": 2, "size": 3}.get(item, item)
        place = model.categories_[i].tolist().index(category)
        assert probability == model.probabilities_[i][component, place]


def test_new_labels_are_named_or_missing():
    X = [["ash", 1], ["oak", 2], ["oak", 2]] * 5
    model = CategoricalMixture(1).fit(X)
    with pytest.raises(ValueError, match=r"column 0 of X holds 'elm'.*\['ash', 'oak'\]"):
        model.predict([["elm", 1]])
    with pytest.raises(ValueError, match=r"column 0 of X holds 3.0"):
        model.predict([[3, 1]])
    with pytest.warns(UserWarning, match="column 1 of X holds 7"):
        model.predict([["oak", 7]])
    with pytest.raises(ValueError, match="column 1 of X holds 7"):
        model.set_params(unknown="error").predict([["oak", 7]])
    model.set_params(unknown="missing")
    p = [table[0] for table in model.probabilities_]
    assert_allclose(model.score_samples([["elm", 1], ["oak", 7]]), np.log([p[1][0], p[0][1]]))
    with pytest.raises(ValueError, match="unknown="):
        CategoricalMixture(unknown="ignore").fit(X)
    with pytest.raises(ValueError, match='NaN .*missing="ignore"'):
        CategoricalMixture(1).fit([["ash", 1], [None, 2]])
    with pytest.raises(TypeError, match="mixed types"):
        CategoricalMixture(1).fit([["ash", 1], [2, 2]])
    with pytest.raises(TypeError, match="fit or begin"):
        CategoricalMixture(1).partial_fit(X)
    assert CategoricalMixture(1).fit(X).partial_fit(X).total_weight_ == 30
    # A category of rows of weight 0 is absent.
    weight = [0.0] + [1.0] * 14
    rare = CategoricalMixture(1).fit([["elm", 1], *X[1:]], sample_weight=weight)
    assert rare.categories_[0].tolist() == ["ash", "oak"]


def test_declared_numbers_ascend():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"size": pd.Categorical([3, 1, 3, None], categories=[3, 1, 2])})
    model = CategoricalMixture(1, alpha=0.0, missing="ignore").fit(table)
    assert model.categories_[0].tolist() == [1, 2, 3]
    assert_allclose(model.probabilities_[0], [[1 / 3, 0, 2 / 3]])
    later = pd.DataFrame({"size": pd.Categorical([1, 3], categories=[1, 3])})
    assert_allclose(model.score_samples(later), np.log([1 / 3, 2 / 3]))
    numbers = pd.DataFrame({"size": [1.0, np.nan]})
    assert_allclose(model.score_samples(numbers), [np.log(1 / 3), 0], atol=1e-15)


@each("X", [["a", "b"], np.array(["a", "b"]), [[["a"]]]])
def test_strings_that_are_no_matrix_are_told_so(X):
    with pytest.raises(ValueError, match=r"X: (expected 2D array|found array with dim 3)"):
        CategoricalMixture(1).fit(X)
