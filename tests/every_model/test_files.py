"""Files of every model: what they may hold is declared, and nothing else is loaded."""

import ast
import importlib
import inspect
import io
import pickle
import pkgutil
import sys
import zipfile
from dataclasses import replace
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp

import mlcore
from contract import MODELS, labels, one_of_each_class, plain_fit
from fits import MORE_FITS, STRINGS, all_fits, rows, sets, sparse, wide
from mlcore.checks.encoded_samples import EncodedSamples
from mlcore.checks.stored import declared, fields_of, is_stored
from mlcore.cluster import KernelKMeans
from mlcore.estimator.model import Model
from mlcore.estimator.persistence.declared import check_declared
from mlcore.svm import SVC

ROOT = Path(__file__).resolve().parents[2]
SAVED = sorted((ROOT / "tests" / "saved_by_0_2_0").glob("*-*.npz"))
# Kept by `fit`, but no part of what is fitted.
SETTINGS = {"_requests", "_sklearn_output_config", "_skl_callbacks"}
# Their parameters are functions, which no file holds.
WITHOUT_FILES = {"DoublingTrick", "FiniteClassLearner"}


@pytest.fixture(autouse=True)
def heads_are_parsed_once(monkeypatch):
    """Most arrays have one of few shapes, and each file is read anew."""
    monkeypatch.setattr(ast, "literal_eval", cache(ast.literal_eval))


@pytest.fixture
def file(tmp_path):
    """A file that is opened once, and written many times."""
    with open(tmp_path / "model.npz", "wb", buffering=0) as opened:
        yield Rewritten(Path(opened.name), opened)


class Rewritten(NamedTuple):
    path: Path
    opened: io.FileIO

    def write(self, content):
        self.opened.seek(0)
        self.opened.truncate()
        self.opened.write(content)


@pytest.fixture(scope="module")
def tool():
    path = str(ROOT / "tools" / "fuzz_files")
    module = module_from_spec(spec_from_loader("fuzz_files", SourceFileLoader("fuzz_files", path)))
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    module.__loader__.exec_module(module)
    sys.dont_write_bytecode = written
    return module


def all_models(value):
    """Yield the models in a value: itself, those of its parameters, attributes and fields."""
    if isinstance(value, Model):
        yield value
        value = vars(value)
    if is_stored(type(value)):
        value = {name: getattr(value, name) for name in fields_of(type(value))}
    if isinstance(value, dict):
        value = list(value.values())
    for part in value if isinstance(value, list | tuple) else ():
        yield from all_models(part)


def public_models():
    found = set()
    for family in pkgutil.iter_modules(mlcore.__path__):
        if family.name == "accelerate":  # a command
            continue
        module = importlib.import_module(f"mlcore.{family.name}")
        public = [getattr(module, name) for name in getattr(module, "__all__", ())]
        found |= {cls for cls in public if inspect.isclass(cls) and issubclass(cls, Model)}
    return found - {Model}


def undeclared(model):
    names = vars(model).keys() - model._defaults().keys() - SETTINGS
    return names - declared(type(model)).keys()


def comes_back(model, path):
    """Whether a model that is loaded and saved again gives the same file."""
    mlcore.save(model, path)
    before = members(path)
    mlcore.save(mlcore.load(path), path)
    return members(path) == before


# ---- what is declared


def test_every_attribute_that_a_fit_leaves_is_declared_and_comes_back(entry, tmp_path):
    for layout, model in all_fits(entry):
        for part in all_models(model):
            assert not undeclared(part), (layout, type(part).__name__)
        assert comes_back(model, tmp_path / "model.npz"), layout


@pytest.mark.parametrize("name", MORE_FITS)
def test_so_is_every_attribute_of_models_without_the_contract(name, tmp_path):
    model = MORE_FITS[name]()
    for part in all_models(model):
        assert not undeclared(part)
    assert comes_back(model, tmp_path / "model.npz")


@each("cls", sorted(public_models(), key=lambda cls: cls.__name__))
def test_every_attribute_that_editors_know_is_declared(cls):
    annotated = {name for base in cls.__mro__ for name in vars(base).get("__annotations__", ())}
    fitted = {name for name in annotated if name.endswith("_") and not name.startswith("__")}
    assert fitted <= declared(cls).keys()


def test_every_public_model_has_fits_here():
    fits = [plain_fit(entry) for entry in MODELS.values()]
    fits += [make() for make in MORE_FITS.values()]
    fitted = {type(part).__name__ for model in fits for part in all_models(model)}
    assert {cls.__name__ for cls in public_models()} - fitted == WITHOUT_FILES


def test_encoded_samples_check_their_own_arrays(tool, file):
    """Their classes have no table: each array of their files that is another is refused."""
    for name in ("StringKernel", "StringKernel-tokens", "PyramidMatch"):
        model = MORE_FITS[name]()
        case = tool.Case(name, model)
        assert isinstance(model.X_fit_, EncodedSamples)
        for _, content in crafted_files(tool, case, (tool.emptied, tool.cut)):
            file.write(content)
            with pytest.raises(ValueError, match="damaged"):
                mlcore.load(file.path)


# ---- files of older versions


NAMES_NOW = {"KernelRidge-nystroem": "NystroemRidge"}


def later_samples(path, model):
    """Samples for a model of this file."""
    name, layout = path.stem.rsplit("-", 1)
    if layout in ("string", "sets"):
        return STRINGS[:5] if layout == "string" else sets()[:5]
    X = MODELS[NAMES_NOW.get(name, name)].draw(37, model.n_features_in_)[:9]
    return pd.DataFrame(X, columns=list("abcd")) if layout == "frame" else X


@each("path", SAVED)
def test_files_of_the_last_version_give_its_answers(path):
    model = mlcore.load(path)
    with np.load(path.parent / "answers.npz") as answers:
        keys = [key for key in answers.files if key.split()[0] == path.stem]
        expected = {key.split()[1]: answers[key] for key in keys}
    assert expected
    X = later_samples(path, model)
    for method, values in expected.items():
        found = model.labels_ if method == "labels_" else getattr(model, method)(X)
        if values.dtype.kind == "f":
            # Of another BLAS: rounding, in the precision of the fit.
            close = 1e3 * np.finfo(values.dtype).eps
            assert_allclose(found, values, rtol=close, atol=close * np.abs(values).max())
        else:
            assert_array_equal(found, values)


def same(one, other):
    """Whether two values are of the same type, shape and numbers."""
    if isinstance(one, Model):
        one, other = vars(one), vars(other)
    if type(one) is not type(other):
        return False
    if is_stored(type(one)):
        one, other = ([getattr(o, name) for name in fields_of(type(o))] for o in (one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, EncodedSamples):
        return same(one.__getstate__(), other.__getstate__())
    if sp.issparse(one):
        return (one != other).nnz == 0
    if isinstance(one, np.ndarray) and one.dtype != object:
        return one.dtype == other.dtype and np.array_equal(
            one, other, equal_nan=one.dtype.kind == "f"
        )
    return np.array_equal(one, other)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_pickles_of_the_last_version_have_what_its_files_have(path, monkeypatch):
    whole = mlcore.load(path)
    with monkeypatch.context() as as_saved:
        as_saved.setattr(mlcore.estimator.persistence._Reader, "_model", as_written)
        old = mlcore.load(path)
    data = pickle.dumps(old)
    assert same(pickle.loads(data), whole)


def as_written(reader, node):
    """The model of a node with the state that the file has, as it was when it was pickled."""
    module, _, name = node["class"].partition(":")
    model = object.__new__(getattr(importlib.import_module(module), name))
    vars(model).update({name: reader.value(inner) for name, inner in node["state"].items()})
    return model


# ---- damaged and crafted files


def crafted_files(tool, case, changes):
    rng = np.random.default_rng(0)
    parts = members(io.BytesIO(case.content))
    for name, array in tool.arrays_of(case.content).items():
        for change in changes if name != "header" else ():
            other = change(rng, array)
            if other.shape != array.shape:
                part, whole = io.BytesIO(), io.BytesIO()
                np.lib.format.write_array(part, other)
                write(whole, (parts | {f"{name}.npy": part.getvalue()}).items())
                yield change, whole.getvalue()


def crafted_in_every_way(tool, content):
    """Yield the file with one change of each kind, and with two of the plain values."""
    for i, change in enumerate(tool.CRAFTED):
        yield tool.crafted(np.random.default_rng(i), content, change)
    for i, change in enumerate((tool.two_arrays_exchanged, *[tool.another_number] * 2)):
        yield change(np.random.default_rng(i), content)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_crafted_files_of_the_last_version_are_read_or_refused(path, tool, file):
    """Old state is turned into today's before it is checked, whatever a file says."""
    content, refused = path.read_bytes(), 0
    for crafted in crafted_in_every_way(tool, content):
        file.write(crafted)
        try:
            mlcore.load(file.path)
        except ValueError:
            refused += 1
    assert refused


@one_of_each_class
def test_accidents_are_refused_or_change_nothing(entry, tool, file):
    case = tool.Case("", plain_fit(entry), entry.draw())
    for i, damage in enumerate(tool.ACCIDENTS):
        file.write(damage(np.random.default_rng(i), case.content))
        assert case.outcome(file.path) in (tool.REFUSED, tool.EQUAL), damage.__name__


def test_arrays_of_other_shapes_are_refused_or_not_needed(entry, tool, file):
    case = tool.Case("", plain_fit(entry), entry.draw())
    allowed = {tool.REFUSED, tool.EQUAL}
    if "cluster_centers_" in declared(type(entry.make())) or isinstance(entry.make(), KernelKMeans):
        allowed |= {tool.WRONG}  # centres that stand twice in a file are more centres
    changes = tool.emptied, tool.cut, tool.widened
    for change, content in crafted_files(tool, case, changes):
        file.write(content)
        # Of arrays that are not larger, what a load takes is seen in the next test.
        assert case.outcome(file.path, memory=change is tool.widened) in allowed


def test_other_arrays_and_numbers_do_no_harm(entry, data, tool, file):
    case = tool.Case("", plain_fit(entry), entry.draw(), fitted=data)
    for crafted in crafted_in_every_way(tool, case.content):
        file.write(crafted)
        assert case.outcome(file.path) != tool.MEMORY


def large_svc(path):
    X = np.random.default_rng(0).normal(size=(700, 16))
    mlcore.save(SVC().fit(X, labels(X)), path)
    return path.read_bytes()


def test_every_bit_of_the_head_of_a_large_array_counts(tmp_path):
    path = tmp_path / "model.npz"
    content = large_svc(path)
    with zipfile.ZipFile(path) as archive:
        (member,) = [m for m in archive.infolist() if m.file_size > 66_000]
    with open(path, "r+b") as file:
        start = content.index(b"\x93NUMPY", member.header_offset)
        for place in range(start, start + 128):
            for bit in range(8):
                file.seek(place)
                file.write(bytes([content[place] ^ 1 << bit]))
                file.flush()
                with pytest.raises(ValueError, match="damaged"):
                    mlcore.load(path)
            file.seek(place)
            file.write(content[place : place + 1])
    assert isinstance(mlcore.load(path), SVC)


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, parts, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in parts:
            archive.writestr(name, content)


def test_compressed_members_are_refused(tmp_path):
    path = tmp_path / "model.npz"
    large_svc(path)
    write(path, members(path).items(), zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="compressed|larger than the file"):
        mlcore.load(path)


def test_members_that_no_header_names_are_not_read(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    mlcore.save(SVC(C=3.0), path)
    write(path, [*members(path).items(), ("more.npy", bytes(10**6)), ("text", b"no array")])
    read = []
    opened = zipfile.ZipFile.open
    monkeypatch.setattr(
        zipfile.ZipFile, "open", lambda self, name: read.append(name.filename) or opened(self, name)
    )
    assert mlcore.load(path).C == 3
    assert read == ["header.npy"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path):
    path = tmp_path / "model.npz"
    mlcore.save(SVC(), path)
    write(path, [*members(path).items()] * 2)
    with pytest.raises(ValueError, match="two members have the same name"):
        mlcore.load(path)


def test_nothing_is_left_over_behind_an_array(tmp_path):
    path = tmp_path / "model.npz"
    model = SVC().fit(rows(), labels(rows()))
    mlcore.save(model, path)
    parts = members(path)
    write(path, [(name, content + b"\0") for name, content in parts.items()])
    with pytest.raises(ValueError, match=r"header.npy says that it has \d+ bytes"):
        mlcore.load(path)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((-1,), "<f8"), ((2**62, 4), "<f8"), ((10**9,), "<U0"), ((1,), "|O")]
)
def test_impossible_arrays_are_refused(shape, dtype, tmp_path):
    path = tmp_path / "model.npz"
    model = SVC()
    model.values_ = np.arange(4.0)
    mlcore.save(model, path)
    parts = members(path)
    head = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, described)
    write(path, [("header.npy", parts["header.npy"]), ("array-0.npy", head.getvalue())])
    with pytest.raises(ValueError, match="damaged"):
        mlcore.load(path)


# ---- values that index, and what no line of a table can say


def fit_of(name):
    return MODELS[name].fit()


def fit_of_seven_features():
    return wide(MODELS["GaussianMixture-diag"])


def replaced(name, attribute, change):
    """A model of the contract, one attribute of which is what `change` returns for it."""
    model = fit_of(name)
    value = change(getattr(model, attribute))
    setattr(model, attribute, value)
    return model


def last(value):
    def change(array):
        array = array.copy()
        array.flat[-1] = value
        return array

    return change


WRONG_VALUES = {
    "support": ("SVC", "support_", last(60), "from 0 to 59"),
    "negative support": ("SVR", "support_", last(-1), "from 0 to 59"),
    "counts": ("SVC", "n_support_", lambda n: n[::-1] + [1, 0, 0], "does not add up"),
    "negative counts": ("SVC", "n_support_", lambda n: n + [-100, 100, 0], "does not add up"),
    "pairs": ("SVC", "dual_coef_", lambda a: np.repeat(a, 2, axis=0), "not those of the classes"),
    "margin errors": ("NuSVC", "margin_error_indices_", last(60), "from 0 to 59"),
    "labels": ("KMeans", "labels_", last(3), "from 0 to 2"),
    "kernel labels": ("KernelKMeans", "labels_", last(-1), "from 0 to 2"),
    "medoids": ("KMedoids", "medoid_indices_", last(60), "from 0 to 59"),
    "centres": ("KernelPCA-nystroem", "center_indices_", last(-1), "must be from 0"),
    "kept features": (
        "QuadraticDiscriminantAnalysis",
        "_solution_",
        lambda s: s._replace(features=last(4)(s.features)),
        "from 0 to 3",
    ),
    "tree of densities": ("HDBSCAN", "single_linkage_tree_", lambda Z: Z[::-1].copy(), "no tree"),
    "cluster labels": ("HDBSCAN", "labels_", last(60), "from -1 to"),
    "spanning tree": ("HDBSCAN", "spanning_tree_", lambda T: T - 61, "from 0 to 59"),
    "selected": (
        "HDBSCAN",
        "condensed_tree_",
        lambda t: replace(t, selected=t.selected + 60),
        "selected",
    ),
    "noise": ("DBSCAN", "labels_", last(-2), "from -1 to"),
    "tree": ("AgglomerativeClustering", "children_", last(3), "no tree"),
    "links": ("AgglomerativeClustering", "linkage_matrix_", lambda Z: Z[:, [1, 0, 2, 3]], "tree"),
    "merged before": ("AgglomerativeClustering", "children_", lambda c: c[::-1].copy(), "no tree"),
    "seen samples": ("KernelPerceptron", "_run_", lambda r: r._replace(n_seen=3), "from 0 to 2"),
    "edges": ("Discretizer", "edges_", lambda e: [e[0][::-1].copy(), *e[1:]], "increasing"),
    "NaN edges": ("Discretizer", "edges_", lambda e: [last(np.nan)(e[0]), *e[1:]], "increasing"),
    "bins": ("Discretizer", "n_bins_", last(9), "numbers of intervals"),
    "order": ("CategoricalMixture", "categories_", lambda c: [-c[0], *c[1:]], "increasing"),
    "sizes": ("CategoricalNB", "n_categories_", last(9), "lengths of categories_"),
    "columns": ("MixedNB", "columns_", lambda c: {"gaussian": np.arange(5) % 4}, "other numbers"),
    "outside": ("MixedNB", "columns_", lambda c: {"gaussian": np.arange(4) + 1}, "from 0 to 3"),
    "classes": ("MixedNB", "classes_", lambda c: c[::-1].copy(), "other classes"),
    "kind": ("GaussianMixture-diag", "covariance_type_", lambda _: "full", "not of the kind"),
    "width": ("FisherVectors", "mixture_", lambda _: fit_of_seven_features(), "another number"),
    "scalar": ("KMeans", "inertia_", lambda _: "much", "must be: float"),
    "list": ("KMeans", "cluster_centers_", lambda _: None, "must be: float k f"),
    "sides": (
        "GaussianNB",
        "_solution_",
        lambda s: s._replace(varies=s.varies.astype(np.uint8)),
        "_solution_.varies is .* must be: bool f",
    ),
}


@pytest.mark.parametrize("case", WRONG_VALUES)
def test_values_out_of_range_are_refused(case, tmp_path):
    name, attribute, change, message = WRONG_VALUES[case]
    mlcore.save(replaced(name, attribute, change), tmp_path / "model.npz")
    with pytest.raises(ValueError, match=rf"(?s)damaged.*{message}"):
        mlcore.load(tmp_path / "model.npz")


def test_columns_of_sparse_vectors_are_in_order(tmp_path):
    model = sparse(MODELS["SVC"])
    vectors = model.support_vectors_
    row = int(np.argmax(np.diff(vectors.indptr) > 1))
    pair = slice(vectors.indptr[row], vectors.indptr[row] + 2)
    vectors.indices[pair] = vectors.indices[pair][::-1].copy()
    vectors.has_canonical_format = True  # or scipy would sort them as they are saved
    mlcore.save(model, tmp_path / "model.npz")
    with pytest.raises(ValueError, match=r"SVC.support_vectors_ is csr_array"):
        mlcore.load(tmp_path / "model.npz")


def test_grids_of_sets_are_checked(tmp_path):
    model = MORE_FITS["PyramidMatch"]()
    for grid in ((1.0, 10**9), (-1.0, 3), (np.inf, 3)):
        model.X_fit_.grids[next(iter(model.X_fit_.grids), "key")] = grid
        mlcore.save(model, tmp_path / "model.npz")
        with pytest.raises(ValueError, match="encoded sets are damaged"):
            mlcore.load(tmp_path / "model.npz")


def test_pairs_stay_pairs_whatever_is_set_after_the_fit():
    X = rows()
    y = np.arange(60) % 4
    for fitted, later in (("ovo", "ovr"), ("ovr", "ovo")):
        model = SVC(multi_class=fitted).fit(X, y).set_params(multi_class=later)
        with pytest.raises(ValueError, match=f"multi_class='{later}' is not that of the fit"):
            model.predict(X)


def test_a_table_says_which_dimension_is_unknown():
    class Odd(Model):
        _stored = {"a_": "float a+b"}

    model = Odd()
    model.a_ = np.ones(3)
    with pytest.raises(ValueError, match="Odd lacks what gives a_ their dimensions"):
        check_declared(model)
