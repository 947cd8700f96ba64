"""Checkpoints are of one fit to one set of data, to the last row, label and weight."""

import io
import json
import zipfile
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mlcore
from contract import case
from mlcore.blocks import fit_blocks, row_blocks
from mlcore.cluster import KMeans
from mlcore.decomposition import PCA
from mlcore.linear_model import LogisticRegression
from mlcore.mixture import GaussianMixture
from mlcore.naive_bayes import GaussianNB

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
weight = rng.integers(1, 4, 300).astype(float)

MODELS = {
    "k-means": partial(KMeans, 3, random_state=0, max_iter=6, tol=0),
    "mixture": partial(
        GaussianMixture, 2, covariance_type="diag", random_state=0, max_iter=6, tol=0
    ),
    "logistic": partial(LogisticRegression, C=1e6),
    "components": partial(PCA, 2),
    "naive Bayes": partial(GaussianNB),
}


def changed(part, rows=slice(150, 151)):
    """The data with one row of rows, labels or weights other than before."""
    new = {"X": X.copy(), "y": y.copy(), "sample_weight": weight.copy()}
    new[part][rows] = 1 - new[part][rows] if part == "y" else 1 + new[part][rows]
    return new


def blocks_of(data):
    return row_blocks(**data, block_size=100)


DATA = {"X": X, "y": y, "sample_weight": weight}
OTHER = {
    "a row": (changed("X"), 1),
    "a label": (changed("y"), 1),
    "a weight": (changed("sample_weight", slice(299, 300)), 2),
    "rows in another order": (
        {name: np.r_[part[:200], part[:199:-1]] for name, part in DATA.items()}, 2,
    ),
    "fewer rows": ({name: part[:295] for name, part in DATA.items()}, 2),
}  # fmt: skip


class Stop(Exception):
    pass


def stop_at(number):
    def callback(step, **_):
        if step == number:
            raise Stop

    return callback


@pytest.mark.parametrize("name", MODELS)
def test_a_finished_fit_is_of_its_data(name, tmp_path):
    make = MODELS[name]
    done = fit_blocks(make(), blocks_of(DATA), checkpoint=tmp_path / "c")
    before = (tmp_path / "c").read_bytes()
    for kind, (other, number) in OTHER.items():
        model = make()
        with case(kind):
            with pytest.raises(ValueError, match=rf"of other data, as block {number} \(rows"):
                fit_blocks(model, blocks_of(other), checkpoint=tmp_path / "c")
            assert not [name for name in vars(model) if name.endswith("_")]
            assert (tmp_path / "c").read_bytes() == before
    again = fit_blocks(make(), blocks_of(DATA), checkpoint=tmp_path / "c")
    assert_array_equal(getattr(again, "n_iter_", 0), getattr(done, "n_iter_", 0))


@pytest.mark.parametrize("name", ["k-means", "mixture", "logistic"])
def test_a_fit_that_stopped_between_goes_on_with_its_data_only(name, tmp_path):
    make = MODELS[name]
    with pytest.raises(Stop):
        fit_blocks(make(callback=stop_at(3)), blocks_of(DATA), checkpoint=tmp_path / "c")
    for kind, (other, number) in OTHER.items():
        with (
            case(kind),
            pytest.raises(ValueError, match=rf"of other data, as block {number} \(rows"),
        ):
            fit_blocks(make(), blocks_of(other), checkpoint=tmp_path / "c")
    seen = []
    resumed = fit_blocks(
        make(callback=lambda step, **_: seen.append(step)),
        blocks_of(DATA),
        checkpoint=tmp_path / "c",
    )
    whole = fit_blocks(make(), blocks_of(DATA))
    assert seen[0] == 3  # the step that stopped had no checkpoint yet
    assert_array_equal(resumed.n_iter_, whole.n_iter_)
    trace = getattr(whole, "objective_trace_", None)
    assert_array_equal(getattr(resumed, "objective_trace_", None), trace)


def test_rows_appended_to_the_last_block(tmp_path):
    short = {name: part[:250] for name, part in DATA.items()}
    fit_blocks(MODELS["k-means"](), blocks_of(short), checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match=r"as block 2 \(rows 200 to 299\) shows"):
        fit_blocks(MODELS["k-means"](), blocks_of(DATA), checkpoint=tmp_path / "c")


def test_a_fit_of_no_steps_is_of_its_data_too(tmp_path):
    none = partial(MODELS["mixture"], max_iter=0)
    fit_blocks(none(), blocks_of(DATA), checkpoint=tmp_path / "c", start=0)
    with pytest.raises(ValueError, match="of other data, as block 1"):
        fit_blocks(none(), blocks_of(changed("X")), checkpoint=tmp_path / "c", start=0)


def test_layout_and_type_are_no_other_data(tmp_path):
    rows = np.round(X * 10) + 0.0  # no zero has a sign
    model = partial(KMeans, 3, random_state=0, max_iter=3)
    fit_blocks(model(), row_blocks(rows, y, block_size=100), checkpoint=tmp_path / "c")
    same = [np.asfortranarray(rows), rows.astype(int), rows.astype(">f8"), rows[::-1][::-1]]
    for other in same:
        fit_blocks(model(), row_blocks(other, y, block_size=100), checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match="by its first block"):  # another precision, another fit
        fit_blocks(
            model(),
            row_blocks(rows.astype(np.float32), y, block_size=100),
            checkpoint=tmp_path / "c",
        )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: KMeans(5), lambda: KMeans(np.int64(5))),
        (lambda: KMeans(5, tol=0), lambda: KMeans(5, tol=np.float32(0))),
        (lambda: KMeans(3, init=X[:3]), lambda: KMeans(3, init=X[:3].tolist())),
        (lambda: KMeans(3, init=np.eye(3)), lambda: KMeans(3, init=np.eye(3, dtype=int))),
    ],
)
def test_equal_parameters_are_the_same(one, other, tmp_path):
    models = one(), other()
    for model in models:
        model.random_state = 0
        fit_blocks(model, row_blocks(X), checkpoint=tmp_path / "c")
    assert_array_equal(*(model.cluster_centers_ for model in models))
    with pytest.raises(ValueError, match="of another fit, by its parameters"):
        fit_blocks(KMeans(4, random_state=0), row_blocks(X), checkpoint=tmp_path / "c")


def crafted(path, change):
    """Rewrite the file with its header changed, checksums and all."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    tree = json.loads(np.load(io.BytesIO(parts["header.npy"])).tobytes())
    change(tree["model"]["state"], parts)
    out = io.BytesIO()
    np.save(out, np.frombuffer(json.dumps(tree).encode(), np.uint8))
    parts["header.npy"] = out.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in parts.items():
            archive.writestr(name, value)


def items(state):
    return state["_checkpoint"]["items"]


def without(name):
    return lambda state, parts: items(state).remove(
        next(item for item in items(state) if item[0] == name)
    )


def put(name, value):
    def change(state, parts):
        next(item for item in items(state) if item[0] == name)[1] = value

    return change


def whole_run(value):
    def change(state, parts):
        state["_checkpoint"] = value

    return change


def other_array(state, parts):
    name = next(v["name"] for v in state.values() if isinstance(v, dict) and "name" in v)
    out = io.BytesIO()
    np.save(out, np.ones((3, 5)))
    parts[f"{name}.npy"] = out.getvalue()


def of_0_2(state, parts):
    put("format", 2)(state, parts)
    state["_run_"] = state.pop("_checkpoint")


CRAFTED = {
    "no format": (without("format"), "does not tell its format"),
    "a format of text": (put("format", "2"), "does not tell its format"),
    "an older format": (put("format", 1), "has format 1, of an older mlcore"),
    "one of 0.2": (of_0_2, "has format 2, of an older mlcore"),
    "no dict": (whole_run(3), "does not tell its format"),
    "a list": (whole_run({"type": "list", "items": []}), "does not tell its format"),
    "no digests": (without("digests"), "does not tell its step and its blocks"),
    "digests of text": (put("digests", "x"), "does not tell its step and its blocks"),
    "no step": (without("step"), "does not tell its step and its blocks"),
    "a step of text": (put("step", "x"), "does not tell its step and its blocks"),
    "a negative step": (put("step", -1), "does not tell its step and its blocks"),
    "no model": (without("model"), "of another fit, by its model"),
    "another array": (other_array, "is damaged"),
    "a lost attribute": (
        lambda state, parts: state.pop("offsets_"), "its model is not the one that was written",
    ),
}  # fmt: skip


def test_crafted_files_are_refused(tmp_path):
    fit_blocks(MODELS["k-means"](), blocks_of(DATA), checkpoint=tmp_path / "c")
    crafted(tmp_path / "c", lambda *_: None)
    fit_blocks(MODELS["k-means"](), blocks_of(DATA), checkpoint=tmp_path / "c")
    whole = (tmp_path / "c").read_bytes()
    for kind, (change, message) in CRAFTED.items():
        (tmp_path / "c").write_bytes(whole)
        crafted(tmp_path / "c", change)
        with case(kind), pytest.raises(ValueError, match=message):
            fit_blocks(MODELS["k-means"](), blocks_of(DATA), checkpoint=tmp_path / "c")


def test_a_random_source_with_a_state_is_refused(tmp_path):
    for source in (np.random.default_rng(0), np.random.RandomState(0)):
        with pytest.raises(TypeError, match="random_state is a .*use an int"):
            fit_blocks(KMeans(2, random_state=source), row_blocks(X), checkpoint=tmp_path / "c")


def test_the_file_is_a_model_that_loads(tmp_path):
    fit_blocks(MODELS["k-means"](), blocks_of(DATA), checkpoint=tmp_path / "c")
    assert mlcore.load(tmp_path / "c")._checkpoint["digests"].shape == (3,)
