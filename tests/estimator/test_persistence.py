"""Saving without pickle: what comes back is the same, what is not a model is refused."""

import io
import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse as sp

import mlcore
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
    "newer": (lambda h, _: h.update(version=2, mlcore="9.1"), "format 2, written by mlcore 9.1"),
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
    expected = {"n_experts": 3, "beta": 0.5, "randomized": False, "random_state": 0}
    assert mlcore.load(path).get_params() == expected
    with np.load(path) as archive:
        header = json.loads(archive["header"].tobytes())
    del header["model"]["state"]["n_experts"]
    np.savez(path, header=np.frombuffer(json.dumps(header).encode(), np.uint8))
    with pytest.raises(ValueError, match=r"WeightedMajority has no \['n_experts'\]"):
        mlcore.load(path)


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
