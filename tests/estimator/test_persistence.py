"""Saving without pickle: what comes back is the same, what is not a model is refused."""

import io
import json
import pickle
import sys
import zipfile
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse as sp

import mlcore
from mlcore.checks.stored import fields_of, restored, stored
from mlcore.estimator.model import Model
from mlcore.svm import SVC

ODDITIES = {
    "none_": None,
    "flag_": True,
    "count_": 10**30,
    "tiny_": 5e-324,
    "endless_": float("-inf"),
    "unknown_": float("nan"),
    "name_": "c\u00e9 \u4e00 \x00",
    "scalar_": np.float32(0.1),
    "numpy_flag_": np.True_,
    "empty_": np.empty((0, 3), np.float32),
    "fortran_": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "big_endian_": np.arange(3, dtype=">i4"),
    "long_": np.array([1, 3]).astype(np.longdouble) / 3,
    "strings_": np.array(["a", "b\u00e9"]),
    "bytes_": np.array([b"a", b"bc"]),
    "dates_": np.array(["2020-01-01"], "M8[D]"),
    "objects_": np.array([["a", 1], [None, 2.5]], object),
    "strange_objects_": np.array([(1, 2), [3]], object)[:1],
    "list_": [1, ("a", None), {"k": [np.arange(2)], 3: 1.5}],
    "dict_": {(1, 2): "pair", "nested": {"deep": np.int8(3)}},
    "csr_": sp.csr_array(np.eye(3, dtype=np.float32)),
    "csr_matrix_": sp.csr_matrix(np.eye(2)),
    "inner_": SVC(C=2.0),
    "models_": [SVC(C=float("inf")), SVC(kernel="linear")],
}


def round_trip(model, tmp_path):
    mlcore.save(model, tmp_path / "model.npz")
    return mlcore.load(tmp_path / "model.npz")


def same(found, expected):
    assert type(found) is type(expected)
    if sp.issparse(expected):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert (found != expected).nnz == 0
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        if expected.dtype == object:
            assert found.tolist() == expected.tolist()
        else:
            assert found.tobytes() == expected.tobytes()
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            same(found[key], expected[key])
    elif isinstance(expected, SVC):
        same(vars(found), vars(expected))
    else:
        assert repr(found) == repr(expected)


@pytest.mark.parametrize("name", ODDITIES)
def test_every_kind_of_attribute_comes_back(name, tmp_path):
    model = SVC()
    setattr(model, name, ODDITIES[name])
    again = round_trip(model, tmp_path)
    assert type(again) is SVC
    same(vars(again), vars(model))


def test_shared_arrays_stay_shared_and_are_stored_once(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 10))
    model = SVC()
    model.first_, model.second_ = X, [X, X]
    again = round_trip(model, tmp_path)
    assert again.first_ is again.second_[0] is again.second_[1]
    assert (tmp_path / "model.npz").stat().st_size < 1.5 * X.nbytes


def test_parameters_and_private_state_come_back(tmp_path):
    model = SVC(C=np.float64(3), class_weight={"a": 2.0}).set_fit_request(sample_weight=True)
    again = round_trip(model, tmp_path)
    assert again.get_params() == model.get_params()
    assert again._requests == {"fit": {"sample_weight": True}}


def test_no_suffix_is_added_and_an_old_file_survives_a_failure(tmp_path):
    path = tmp_path / "model"
    mlcore.save(SVC(C=5.0), path)
    with pytest.raises(TypeError):
        mlcore.save(SVC(kernel=len), path)
    assert mlcore.load(str(path)).C == 5.0
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (len, "SVC.kernel is of type builtin_function_or_method"),
        ({"a": np.random.default_rng(0)}, r"SVC.kernel\['a'\] is of type Generator"),
        ([1, object()], r"SVC.kernel\[1\] is of type object"),
        (np.zeros(2, [("a", float)]), "SVC.kernel is an array of type"),
    ],
)
def test_what_only_pickle_could_store_is_named(value, place, tmp_path):
    with pytest.raises(TypeError, match=place):
        mlcore.save(SVC(kernel=value), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_only_mlcore_models_are_saved(tmp_path):
    class Foreign(SVC):
        pass

    for model in (Foreign(), SVC, "SVC", None):
        with pytest.raises(TypeError, match="mlcore"):
            mlcore.save(model, tmp_path / "model.npz")


# ---- files that are no model


def rewritten(path, change):
    """Save a model, change its header, and write the archive anew."""
    model = SVC()
    model.support_ = np.arange(3)
    model.csr_ = sp.csr_array(np.eye(3))
    mlcore.save(model, path)
    return rewrite(path, change)


def rewrite(path, change):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    if "header" in arrays:
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)
    return path


def renamed(cls):
    return lambda header, _: header["model"].update({"class": cls})


DAMAGE = {
    "newer": (lambda h, _: h.update(version=3, mlcore="9.1"), "format 3, written by mlcore 9.1"),
    "no version": (lambda h, _: h.pop("version"), "has format None"),
    "another format": (lambda h, _: h.update(format="other"), "not of an mlcore model"),
    "no header": (lambda _, arrays: arrays.pop("header"), "not of an mlcore model"),
    "no model": (lambda h, _: h.pop("model"), "is damaged"),
    "a scalar": (lambda h, _: h.update(model=3), "describes no model"),
    "an array is missing": (lambda _, arrays: arrays.pop("array-0"), "is damaged"),
    "unknown node": (lambda h, _: h.update(model={"type": "code"}), "is damaged"),
    "unknown class": (renamed("mlcore.svm.svc:Nothing"), "has no mlcore.svm.svc:Nothing"),
    "unknown module": (renamed("mlcore.nothing:SVC"), "has no mlcore.nothing:SVC"),
    "not a model": (renamed("mlcore.estimator.progress:Progress"), "which is no model"),
    "foreign class": (renamed("subprocess:Popen"), "'subprocess:Popen', which is no class"),
    "nested name": (renamed("mlcore.svm.svc:SVC.fit"), "which is no class"),
    "unknown parameter": (
        lambda h, _: h["model"]["state"].update(Z=1),
        r"SVC of mlcore .* has no parameter \['Z'\]",
    ),
    "sparse structure": (
        lambda h, arrays: arrays.update(
            {h["model"]["state"]["csr_"]["indices"]["name"]: np.full(3, 99, np.int32)}
        ),
        "ind",
    ),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_and_foreign_archives_are_value_errors(case, tmp_path):
    change, message = DAMAGE[case]
    path = rewritten(tmp_path / "model.npz", change)
    with pytest.raises(ValueError, match=message):
        mlcore.load(path)


def test_a_parameter_without_default_must_be_in_the_file(tmp_path):
    path = tmp_path / "learner.npz"
    mlcore.save(mlcore.online.WeightedMajority(3), path)
    expected = {"n_experts": 3, "beta": 0.5, "randomized": False, "random_state": None}
    assert mlcore.load(path).get_params() == expected
    with np.load(path) as archive:
        header = json.loads(archive["header"].tobytes())
    del header["model"]["state"]["n_experts"]
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8))
    with pytest.raises(ValueError, match=r"WeightedMajority has no \['n_experts'\]"):
        mlcore.load(path)


# ---- objects


class Units(NamedTuple):
    origin: np.ndarray
    power: int
    _stored = {"origin": "float64 f", "power": "int"}

    def _check_loaded(self):
        if self.power > 1000:
            raise ValueError("power is beyond the range")


@dataclass(frozen=True, slots=True)
class Sums:
    weight: float
    means: np.ndarray
    units: Units
    parts: list
    by_name: dict
    _stored = {
        "weight": "float",
        "means": "float64 c f",
        "units": Units,
        "parts": ["c", ("|", "none", Units)],
        "by_name": {"...": ("model", Units)},
    }

    def __post_init__(self):
        raise AssertionError("a constructor was called")


class Other(NamedTuple):
    origin: np.ndarray
    power: int
    _stored = {"origin": "float64 f", "power": "int"}


class Unregistered(NamedTuple):
    origin: np.ndarray
    power: int


class Heir(Units):
    """Of a registered class, but not registered."""


class Holder(Model):
    _stored = {"centers_": "float64 c f", "_sums_": Sums, "_pair_": ("|", "none", (Units, Units))}


SHAPES = "mlcore.svm.shapes"
CLASSES = {cls.__name__: cls for cls in (Units, Sums, Other, Unregistered, Heir, Holder)}


@pytest.fixture(autouse=True)
def shapes(monkeypatch):
    """Give the classes of this file to a module of mlcore."""
    module = ModuleType(SHAPES)
    for name, cls in CLASSES.items():
        monkeypatch.setattr(cls, "__module__", SHAPES)
        if name in ("Units", "Sums", "Other"):
            stored(version=1)(cls)
        setattr(module, name, cls)
    module.Borrowed = Fraction
    monkeypatch.setitem(sys.modules, SHAPES, module)
    return module


def sums_of(c=2, f=3, weight=1.5):
    units = Units(np.arange(float(f)), 4)
    fields = weight, np.ones((c, f)), units, [units, None][:c], {"a": (SVC(C=2.0), units)}
    return restored(Sums, dict(zip(fields_of(Sums), fields, strict=True)))


def holder(c=2, f=3, **attributes):
    model = Holder()
    state = {"n_features_in_": f, "centers_": np.zeros((c, f)), "_sums_": sums_of()} | attributes
    vars(model).update(state)
    return model


def reread(tmp_path, model, change=lambda sums, fields: None):
    """Load a model, of whose file a change has been made to the object `_sums_`."""
    path = tmp_path / "model.npz"
    mlcore.save(model, path)

    def change_sums(header, _):
        sums = header["model"]["state"]["_sums_"]
        change(sums, sums["fields"])

    return mlcore.load(rewrite(path, change_sums))


def test_objects_in_objects_come_back(tmp_path):
    model = holder(_pair_=(sums_of().units, sums_of().units))
    again = reread(tmp_path, model)
    assert type(again._sums_) is Sums and type(again._sums_.units) is Units
    assert type(again._sums_.parts[0]) is Units and again._sums_.parts[1] is None
    assert type(again._pair_) is tuple and type(again._pair_[1]) is Units
    assert again._sums_.by_name["a"][0].C == 2.0
    assert_array_equal(again._sums_.means, model._sums_.means)
    assert again._sums_.units.power == 4
    assert again._sums_.units.origin is again._sums_.parts[0].origin  # shared arrays stay shared


def test_pickles_hold_objects_too():
    model = holder()
    again = pickle.loads(pickle.dumps(model))
    assert type(again._sums_.units) is Units
    assert_array_equal(again._sums_.means, model._sums_.means)


def rename(path):
    return lambda sums, fields: fields["units"].update({"class": path})


CHANGES = {
    "unregistered": (rename(f"{SHAPES}:Unregistered"), "which is no class of stored objects"),
    "an heir": (rename(f"{SHAPES}:Heir"), "which is no class of stored objects"),
    "a function": (rename("mlcore.estimator.persistence:load"), "which is no class of mlcore"),
    "of another module": (rename(f"{SHAPES}:Borrowed"), "which is no class of stored objects"),
    "of another package": (rename("fractions:Fraction"), "which is no class of mlcore"),
    "a model": (rename("mlcore.svm.svc:SVC"), "which is no class of stored objects"),
    "unknown": (rename(f"{SHAPES}:Nothing"), "has no mlcore.svm.shapes:Nothing"),
    "of the wrong kind": (rename(f"{SHAPES}:Other"), "units is Other, but must be: .* Units"),
    "none": (lambda sums, fields: fields.update(units=None), "units is NoneType, but must be"),
    "a tuple": (
        lambda sums, fields: fields.update(units={"type": "tuple", "items": []}),
        "units is tuple, but must be",
    ),
    "missing": (lambda sums, fields: fields.pop("weight"), "Sums has fields"),
    "extra": (lambda sums, fields: fields.update(more=3), "Sums has fields"),
    "no fields": (lambda sums, fields: sums.update(fields=[]), "AttributeError"),
    "no version": (lambda sums, fields: sums.pop("version"), "KeyError"),
    "version 0": (lambda sums, fields: sums.update(version=0), "a Sums of version 0"),
    "version of text": (lambda sums, fields: sums.update(version="1"), "a Sums of version '1'"),
    "a true version": (lambda sums, fields: sums.update(version=True), "a Sums of version True"),
    "wrong value": (lambda sums, fields: fields.update(weight="x"), "weight is str"),
    "what no line says": (
        lambda sums, fields: fields["units"]["fields"].update(power=1001), "beyond the range",
    ),
    "model for object": (
        lambda sums, fields: fields.update(units=fields["by_name"]["items"][0][1]["items"][0]),
        "units is SVC, but must be",
    ),
    "other number": (lambda sums, fields: fields["parts"]["items"].pop(), "parts has 1 where"),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_other_objects_are_refused(case, tmp_path):
    change, message = CHANGES[case]
    with pytest.raises(ValueError, match=rf"(?s)is damaged.*{message}"):
        reread(tmp_path, holder(), change)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"c": 3}, "_sums_.means has 2 where there must be 3"),
        ({"f": 4}, "_sums_.means has 3 where there must be 4"),
    ],
)
def test_a_model_and_its_objects_have_the_same_dimensions(sizes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        reread(tmp_path, holder(**sizes))


def test_a_choice_of_a_pair_or_none(tmp_path):
    assert reread(tmp_path, holder(_pair_=None))._pair_ is None
    with pytest.raises(ValueError, match="_pair_"):
        reread(tmp_path, holder(_pair_=(sums_of().units,)))


def test_newer_objects_are_refused_by_a_plain_message(tmp_path):
    def newer(sums, fields):
        fields["units"]["version"] = 2

    message = r"npz holds a Units of version 2, written by mlcore .* install a newer mlcore"
    with pytest.raises(ValueError, match=message):
        reread(tmp_path, holder(), newer)


def test_older_objects_are_given_to_their_class(tmp_path, monkeypatch):
    class Scaled(NamedTuple):
        origin: np.ndarray
        scale: float
        _stored = {"origin": "float64 f", "scale": "float"}

        @classmethod
        def _from_version(cls, version, fields):
            assert version == 1
            return {"origin": fields["origin"], "scale": 2.0 ** fields["power"]}

    Scaled.__module__, Scaled.__qualname__ = SHAPES, "Units"
    path = tmp_path / "model.npz"
    mlcore.save(holder(), path)
    monkeypatch.setattr(sys.modules[SHAPES], "Units", stored(version=2)(Scaled))
    anything = {"parts": "any", "by_name": "any"}
    monkeypatch.setattr(Sums, "_stored", Sums._stored | {"units": Scaled} | anything)
    again = mlcore.load(path)
    assert again._sums_.units.scale == 16.0
    mlcore.save(again, path)
    assert mlcore.load(path)._sums_.units.scale == 16.0


def test_unregistered_objects_are_not_saved(tmp_path):
    for cls in (Unregistered, Heir):
        with pytest.raises(TypeError, match=rf"Holder._sums_ is of type {cls.__name__}"):
            mlcore.save(holder(_sums_=cls(np.ones(3), 1)), tmp_path / "model.npz")


def plain():
    class Plain:
        _stored = {}

    return Plain


def thawed():
    @dataclass
    class Thawed:
        power: int
        _stored = {"power": "int"}

    return Thawed


def without_a_line():
    class Short(NamedTuple):
        power: int
        weight: float
        _stored = {"power": "int"}

    return Short


@pytest.mark.parametrize(
    ("make", "version", "message"),
    [
        (plain, 1, "Plain is neither a NamedTuple nor a frozen dataclass"),
        (thawed, 1, "Thawed is neither"),
        (without_a_line, 1, "Short has other fields than its table"),
        (lambda: Other, 2, "Other of version 2 has no _from_version"),
    ],
)
def test_only_plain_objects_are_registered(make, version, message):
    with pytest.raises(TypeError, match=message):
        stored(version=version)(make())


# ---- older state


class Line(Model):
    _stored = {"_sums_": ("|", "none", Units)}
    _older = {"_sums_": (Units, "origin", "power"), "seed": None}

    def __init__(self, *, solver="exact"):
        self.solver = solver

    def _from_older_state(self, state):
        if "method" in state:
            state["solver"] = state.pop("method")
        if state.get("solver") == "curve":
            self.__class__ = Curve
        return super()._from_older_state(state)


class Curve(Line):
    pass


@pytest.fixture
def older(shapes, monkeypatch, tmp_path):
    """Write a file of a model with loose attributes and another name of its parameter."""
    for cls in (Line, Curve):
        monkeypatch.setattr(cls, "__module__", SHAPES)
        setattr(shapes, cls.__name__, cls)

    def write(method="exact", origin=None, n_features=3):
        model = object.__new__(Line)
        origin = np.ones(3) if origin is None else origin
        kept = {"n_features_in_": n_features, "_origin_": origin, "_power_": 2}
        vars(model).update(kept, method=method, seed=3)
        mlcore.save(model, tmp_path / "model.npz")
        return pickle.dumps(model)

    return write


def test_older_state_is_turned_into_objects_in_files_and_pickles(older, tmp_path):
    data = older()
    for model in (mlcore.load(tmp_path / "model.npz"), pickle.loads(data)):
        assert model.solver == "exact" and type(model) is Line
        assert vars(model).keys() == {"solver", "n_features_in_", "_sums_"}
        assert model._sums_.power == 2


def test_older_state_may_be_that_of_another_class(older, tmp_path):
    data = older(method="curve")
    for model in (mlcore.load(tmp_path / "model.npz"), pickle.loads(data)):
        assert type(model) is Curve


def test_what_older_state_becomes_is_checked(older, tmp_path):
    older(n_features=4)
    with pytest.raises(ValueError, match="damaged.*origin has 3 where there must be 4"):
        mlcore.load(tmp_path / "model.npz")


def test_an_error_in_older_state_is_damage(older, monkeypatch, tmp_path):
    older()
    monkeypatch.setattr(Line, "_from_older_state", lambda self, state: state["nothing"].shape)
    with pytest.raises(ValueError, match="is damaged"):
        mlcore.load(tmp_path / "model.npz")


def test_parameters_that_a_pickle_does_not_know_have_their_defaults():
    old = Line()
    del old.solver
    assert pickle.loads(pickle.dumps(old)).solver == "exact"


def test_older_metadata_requests_are_understood(tmp_path):
    model = SVC()
    model._requests = {"fit": True}
    assert round_trip(model, tmp_path)._requests == {"fit": {"sample_weight": True}}


def test_a_model_whose_module_moved_in_its_family_is_found(tmp_path):
    model = Holder()
    model.inner_ = SVC(C=2.0)
    path = tmp_path / "model.npz"
    mlcore.save(model, path)
    moved = {"class": "mlcore.svm.gone:SVC"}
    rewrite(path, lambda header, _: header["model"]["state"]["inner_"].update(moved))
    assert mlcore.load(path).inner_.C == 2.0


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, header=np.array([{"format": "mlcore model"}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="not a readable mlcore model file"):
        mlcore.load(path)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x04K\x01.", b"\x93NUMPY" * 9, b"{}" * 99])
def test_other_files_are_value_errors(content, tmp_path):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="model.npz is not an mlcore model file"):
        mlcore.load(path)


def test_an_empty_zip_and_a_flipped_byte(tmp_path):
    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(ValueError, match="not of an mlcore model"):
        mlcore.load(path)
    model = SVC()
    model.values_ = np.arange(1000.0)
    mlcore.save(model, path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a readable mlcore model file: Bad CRC"):
        mlcore.load(path)


def test_missing_files_are_os_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        mlcore.load(tmp_path / "none.npz")
    with pytest.raises(OSError):
        mlcore.load(tmp_path)
    with pytest.raises(OSError):
        mlcore.save(SVC(), tmp_path / "no folder" / "model.npz")


def test_arrays_come_back_writable(tmp_path):
    model = SVC()
    model.values_ = np.arange(3.0)
    again = round_trip(model, tmp_path)
    again.values_[0] = 5
    assert_array_equal(model.values_, [0, 1, 2])


def test_the_archive_is_readable_by_numpy_alone(tmp_path):
    model = SVC(C=2.5)
    model.values_ = np.arange(3.0)
    mlcore.save(model, tmp_path / "model.npz")
    with np.load(io.BytesIO((tmp_path / "model.npz").read_bytes()), allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        values = archive[header["model"]["state"]["values_"]["name"]]
    assert header["model"]["class"] == "mlcore.svm.svc:SVC"
    assert header["model"]["state"]["C"] == 2.5
    assert_array_equal(values, model.values_)
