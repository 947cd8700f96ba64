"""scikit-learn accelerated: the same results, or scikit-learn's own, and a way back."""

import contextlib
import copy
import importlib.util
import inspect
import io
import logging
import pickle
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.cluster
import sklearn.discriminant_analysis
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.mixture
import sklearn.naive_bayes
import sklearn.svm
from each import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._test_common.instance_generator import _get_expected_failed_checks
from sklearn.utils.estimator_checks import check_estimator

import mlcore
from mlcore.acceleration.acceleration import _active, replacements
from mlcore.acceleration.log import forget
from mlcore.acceleration.replacement import Fallback
from mlcore.acceleration.rules import FREE

ROOT = Path(__file__).resolve().parents[1]
PAIRS = replacements()
IDS = [original.__name__ for original in PAIRS]
NAMED = {original.__name__: (original, new) for original, new in PAIRS.items()}
X, y = make_classification(
    400, 8, n_informative=6, n_redundant=0, n_classes=3, random_state=0
)  # not on a grid
WEIGHT = 0.5 + np.random.default_rng(0).random(len(X))
TIGHT = {"tol": 1e-8}
CASES = [
    ("SVC", TIGHT, (X, y)),
    ("SVC", TIGHT | {"kernel": "poly", "coef0": 1.0, "gamma": "auto"}, (X, y == 1)),
    ("SVC", TIGHT | {"class_weight": "balanced", "decision_function_shape": "ovo"}, (X, y, WEIGHT)),
    ("SVC", TIGHT | {"kernel": "linear", "C": 0.1}, (sp.csr_matrix(X), y)),
    ("SVC", TIGHT | {"kernel": "precomputed", "C": 0.01, "break_ties": True}, (X @ X.T, y)),
    ("NuSVC", TIGHT | {"nu": 0.2}, (X, y)),
    ("SVR", TIGHT, (X, X[:, 0] + y)),
    ("SVR", TIGHT | {"epsilon": 0.3}, (sp.csr_array(X), X[:, 0] + y, WEIGHT)),
    ("NuSVR", TIGHT | {"nu": 0.3}, (X, X[:, 0] + y)),
    ("OneClassSVM", TIGHT | {"nu": 0.3, "gamma": 0.1}, (X,)),
    ("KMeans", {"n_clusters": 6, "random_state": 0, "n_init": 3}, (X,)),
    ("KMeans", {"n_clusters": 6, "random_state": 1, "init": "random"}, (sp.csr_matrix(X),)),
    ("KMeans", {"n_clusters": 6, "random_state": 2}, (X, None, WEIGHT)),
    ("KMeans", {"n_clusters": 3, "init": X[:3], "tol": 0, "algorithm": "elkan"}, (X,)),
    ("KMeans", {"n_clusters": 6, "random_state": 2}, (X.astype(np.float32),)),
    ("AgglomerativeClustering", {"n_clusters": 6}, (X,)),
    ("AgglomerativeClustering", {"n_clusters": 6, "linkage": "average"}, (X,)),
    (
        "AgglomerativeClustering",
        {"n_clusters": None, "distance_threshold": 8.0, "linkage": "complete"},
        (X,),
    ),
    ("GaussianMixture", {"n_components": 3, "random_state": 0}, (X,)),
    ("GaussianMixture", {"n_components": 2, "random_state": 0, "covariance_type": "tied"}, (X,)),
    (
        "GaussianMixture",
        {"n_components": 3, "random_state": 0, "covariance_type": "diag", "n_init": 2},
        (X,),
    ),
    (
        "GaussianMixture",
        {"n_components": 3, "random_state": 0, "covariance_type": "spherical"},
        (X,),
    ),
    ("GaussianMixture", {"random_state": 0, "init_params": "random", "n_components": 2}, (X,)),
    ("KernelRidge", {"kernel": "rbf"}, (X, y)),
    ("KernelRidge", {"kernel": "laplacian", "alpha": 0.1}, (X, np.c_[y, y == 1], WEIGHT)),
    ("KernelRidge", {"kernel": "poly", "degree": 2}, (X, y)),
    ("LinearDiscriminantAnalysis", {"store_covariance": True}, (X, y)),
    ("LinearDiscriminantAnalysis", {"n_components": 1}, (X, y == 1)),
    ("GaussianNB", {}, (X, y)),
    ("GaussianNB", {"var_smoothing": 0.1}, (X, y, WEIGHT)),
    ("MultinomialNB", {"alpha": 0.3, "fit_prior": False}, (np.abs(X), y, WEIGHT)),
    ("MultinomialNB", {}, (sp.csr_array(np.abs(X)), y)),
    ("BernoulliNB", {"binarize": 0.2}, (X, y)),
]
ABOUT = {"n_iter_"}  # counts the steps of another algorithm, but for mixtures
METHODS = ("predict", "decision_function", "predict_proba", "transform", "score_samples", "score")


@pytest.fixture(autouse=True)
def no_future_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@pytest.fixture
def log(caplog):
    forget()
    caplog.set_level(logging.WARNING, "mlcore.accelerate")
    return caplog


def fitted_names(model):
    names = {name for name in dir(model) if re.fullmatch(r"[a-zA-Z]\w*_", name)}
    return {name for name in names if hasattr(model, name)}


def same(old, new, tol):
    if sp.issparse(old):
        assert type(old) is type(new)
        old, new = old.toarray(), new.toarray()
    if isinstance(old, np.ndarray):
        assert old.dtype == new.dtype
    assert np.shape(old) == np.shape(new)
    if not np.issubdtype(np.asarray(old).dtype, np.floating):
        assert_array_equal(new, old)
        return
    scale = max(1e-300, np.max(np.abs(old), initial=0))
    assert_allclose(new, old, rtol=0, atol=tol * scale)


@pytest.mark.parametrize(("name", "params", "data"), CASES)
def test_results_are_scikit_learns(name, params, data, log):
    original, replacement = NAMED[name]
    theirs, ours = original(**params).fit(*data), replacement(**params).fit(*data)
    assert ours.mlcore_model_ is not None and not log.messages
    tol = 1e-4 if "svm" in original.__module__ else 1e-9
    tol = 1e-5 if data[0].dtype == np.float32 else tol
    assert fitted_names(ours) - {"mlcore_model_"} == fitted_names(theirs)
    for attribute in fitted_names(theirs):
        old, new = getattr(theirs, attribute), getattr(ours, attribute)
        if attribute == "n_iter_" and name != "GaussianMixture":
            assert np.shape(old) == np.shape(new) and np.min(new) >= 1
        elif attribute == "scalings_":  # columns have any sign
            same(np.abs(old), np.abs(new), tol)
        else:
            same(old, new, tol)
    for method in METHODS:
        if hasattr(theirs, method) and method != "score":
            old, new = getattr(theirs, method)(data[0]), getattr(ours, method)(data[0])
            if name == "OneClassSVM" and method == "predict":
                border = np.abs(theirs.decision_function(data[0])) < 1e-6
                old, new = old[~border], new[~border]
            if method == "transform" and name.startswith("Linear"):
                old, new = np.abs(old), np.abs(new)
            same(old, new, tol)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_scikit_learns_own_methods_work_on_the_fit(name, make):
    original, replacement = NAMED[name]
    model = replacement(gamma=0.1).fit(make(X), y)
    for method in {"predict", "decision_function"} & set(dir(original)):
        own = getattr(original, method)(model, make(X))
        if method == "predict" and name == "OneClassSVM":
            inside = np.abs(model.decision_function(make(X))) > 1e-9
            assert_array_equal(model.predict(make(X))[inside], own[inside])
        else:
            assert_allclose(getattr(model, method)(make(X)), own, atol=1e-8)


def test_predictions_follow_parameters_that_change_after_the_fit():
    model = NAMED["SVC"][1]().fit(X, y)
    assert model.decision_function(X[:2]).shape == (2, 3)
    model.set_params(decision_function_shape="ovo")
    assert_allclose(
        model.decision_function(X), NAMED["SVC"][0].decision_function(model, X), atol=1e-8
    )


# ---- parameters


@each(("original", "replacement"), PAIRS.items())
def test_every_parameter_has_a_rule_and_every_default_is_scikit_learns(original, replacement):
    assert inspect.signature(replacement) == inspect.signature(original)
    assert replacement.rules.keys() == inspect.signature(original).parameters.keys()
    model = replacement()
    assert model.get_params() == original().get_params()
    assert repr(model) == repr(original())
    model._check_parameters_and_data(X)


@each(
    ("original", "replacement", "name"),
    [
        (original, replacement, name)
        for original, replacement in PAIRS.items()
        for name, rule in replacement.rules.items()
        if rule is not FREE
    ],
)
def test_other_values_are_left_to_scikit_learn(original, replacement, name):
    signed = name in ("coef0", "binarize")
    for value in (object(), "no such", float("nan"), -1.5, [None], lambda x: x, np.inf, b"rbf"):
        if (name == "init" and isinstance(value, list)) or (signed and value == -1.5):
            continue  # a start is looked at with the data
        with pytest.raises(Fallback, match=rf"^{name}=.* has no exact counterpart"):
            replacement(**{name: value})._check_parameters_and_data(X)
    unknown = replacement()
    unknown.get_params = lambda deep: {"new": None}
    with pytest.raises(Fallback, match="new is a parameter that mlcore.accelerate does not know"):
        unknown._check_parameters_and_data(X)


@pytest.mark.parametrize(
    ("name", "params", "data", "reason"),
    [
        ("SVC", {"probability": True}, (X, y), "probability=True"),
        ("SVC", {"kernel": "sigmoid"}, (X, y), "kernel='sigmoid'"),
        ("SVC", {"kernel": lambda A, B: A @ B.T}, (X, y), "kernel=<function"),
        ("SVC", {"max_iter": 100000}, (X, y), "max_iter=100000"),
        ("SVC", {"kernel": "precomputed"}, (-X @ X.T, y), "semi-definite"),
        ("SVC", {}, (X, y, np.where(y == 0, -1e-9, 1)), "refuses"),
        ("OneClassSVM", {}, (X, None, WEIGHT), "sample weights"),
        ("KMeans", {"init": lambda X, k, random_state: X[:k]}, (X,), "init=<function"),
        ("KMeans", {"n_clusters": 3}, (np.rint(X),), "on a grid"),
        ("AgglomerativeClustering", {"linkage": "single"}, (X,), "linkage='single'"),
        ("AgglomerativeClustering", {}, (np.r_[X, X],), "tied"),
        ("GaussianMixture", {"weights_init": [1.0]}, (X,), "weights_init"),
        ("GaussianMixture", {"n_components": 3, "max_iter": 2}, (X,), "max_iter|converge"),
        ("GaussianMixture", {}, (X.astype(np.float32),), "float32"),
        ("KernelRidge", {"alpha": [1.0]}, (X, y), "alpha="),
        ("KernelRidge", {}, (sp.csr_matrix(X), y), "sparse"),
        ("LinearDiscriminantAnalysis", {"solver": "lsqr"}, (X, y), "solver='lsqr'"),
        ("LinearDiscriminantAnalysis", {}, (np.c_[X, X[:, :1]], y), "depend"),
        ("GaussianNB", {"priors": [0.2, 0.3, 0.5]}, (X, y), "priors="),
        ("MultinomialNB", {"alpha": np.ones(8)}, (np.abs(X), y), "alpha="),
        ("BernoulliNB", {"binarize": None}, (X > 0, y), "binarize=None"),
    ],
)
def test_what_has_no_counterpart_is_fitted_by_scikit_learn(name, params, data, reason, log):
    original, replacement = NAMED[name]
    seed = {"random_state": 0} if "random_state" in replacement.rules else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = original(**seed, **params).fit(*data)
        ours = [replacement(**seed, **params).fit(*data) for _ in range(2)][0]
    assert ours.mlcore_model_ is None
    (message,) = log.messages  # once
    assert message.startswith(f"{name} is fitted by scikit-learn: ")
    assert re.search(reason, message)
    for attribute in fitted_names(theirs):
        old = getattr(theirs, attribute)
        if isinstance(old, np.ndarray):
            assert_array_equal(getattr(ours, attribute), old)
    if hasattr(theirs, "predict"):
        assert_array_equal(ours.predict(data[0]), theirs.predict(data[0]))


def test_errors_are_scikit_learns(log):
    for name, params, data in (
        ("SVC", {"C": -1.0}, (X, y)),
        ("SVC", {}, (X, np.zeros(len(X)))),
        ("KMeans", {"n_clusters": 1000}, (X,)),
        ("KernelRidge", {}, (X, y[:-1])),
    ):
        errors = []
        for kind in NAMED[name]:
            with pytest.raises(ValueError) as found:
                kind(**params).fit(*data)
            errors.append(str(found.value))
        assert errors[0] == errors[1]
    assert not log.messages


def test_subclasses_are_fitted_by_scikit_learn(log):
    class Mine(NAMED["SVC"][1]):
        pass

    assert Mine().fit(X, y).mlcore_model_ is None and "subclass" in log.messages[0]


def test_a_second_fit_leaves_nothing_of_the_first():
    machine = NAMED["AgglomerativeClustering"][1](compute_distances=True)
    assert machine.fit(X).mlcore_model_ is not None and hasattr(machine, "distances_")
    machine.set_params(compute_distances=False).fit(X)
    assert not hasattr(machine, "distances_")
    assert machine.set_params(linkage="single").fit(X).mlcore_model_ is None
    bayes = NAMED["GaussianNB"][1]().fit(X, y).partial_fit(X, y)
    theirs = NAMED["GaussianNB"][0]().fit(X, y).partial_fit(X, y)
    assert bayes.mlcore_model_ is None
    assert_allclose(bayes.var_, theirs.var_)


@pytest.mark.parametrize("name", ["SVC", "SVR", "KMeans", "GaussianMixture"])
def test_numbers_drawn_afterwards_are_the_same(name):
    after = []
    for kind in NAMED[name]:
        generator = np.random.RandomState(0)
        np.random.seed(1)
        model = kind()
        if "random_state" in model.get_params():
            model.set_params(random_state=generator)
        model.fit(X, y).fit(X, y)
        after.append((generator.rand(), np.random.rand()))
    assert after[0] == after[1]


# ---- scikit-learn's protocol


@pytest.mark.parametrize(
    "name", ["SVC", "SVR", "OneClassSVM", "KMeans", "GaussianMixture", "GaussianNB"]
)
def test_scikit_learns_checks(name):
    """Checks that scikit-learn expects its own class to fail are those of the replacement.

    One of each kind: what all others share is asked of every model in tests/every_model.
    """
    original, replacement = NAMED[name]
    expected = _get_expected_failed_checks(original())
    logging.getLogger("mlcore.accelerate").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check_estimator(replacement(), expected_failed_checks=expected, on_skip=None)
    finally:
        logging.getLogger("mlcore.accelerate").setLevel(logging.NOTSET)


@each(("original", "replacement"), PAIRS.items())
def test_clones_pickles_and_copies(original, replacement):
    model = replacement().fit(np.abs(X), y)
    assert model.mlcore_model_ is not None
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is type(clone(model)) is type(copy.deepcopy(model)) is replacement
    assert not hasattr(clone(model), "mlcore_model_")
    if hasattr(model, "predict"):
        assert_array_equal(again.predict(np.abs(X)), model.predict(np.abs(X)))
    assert isinstance(model, original) and isinstance(original(), replacement)
    assert issubclass(replacement, original) and issubclass(original, replacement)
    assert not isinstance(StandardScaler(), replacement)


def test_pipelines_and_searches():
    grid = {"svc__C": [0.1, 1.0], "svc__gamma": ["scale", 0.1]}
    searches = [
        GridSearchCV(make_pipeline(StandardScaler(), kind()), grid, cv=3).fit(X, y)
        for kind in NAMED["SVC"]
    ]
    theirs, ours = (search.cv_results_["mean_test_score"] for search in searches)
    assert_allclose(ours, theirs)
    assert searches[1].best_estimator_[-1].mlcore_model_ is not None


def test_names_of_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = NAMED["SVC"][1]().fit(frame, y)
    assert list(model.feature_names_in_) == list("abcdefgh")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("hgfedcba")])


# ---- the call, and the way back


def test_classes_are_replaced_and_come_back():
    theirs = sklearn.svm.SVC
    made_before = theirs().fit(X, y)
    with mlcore.accelerate() as outer:
        for original, replacement in PAIRS.items():
            for module in (sys.modules[original.__module__], public_module(original)):
                assert getattr(module, original.__name__) is replacement
        from sklearn.svm import SVC

        assert SVC is NAMED["SVC"][1] and isinstance(made_before, SVC)
        assert isinstance(SVC(), sklearn.svm.SVC) and isinstance(SVC(), theirs)
        inner = mlcore.accelerate()
        inner.undo()
        inner.undo()
        assert sklearn.svm.SVC is SVC and "fitted by mlcore" in repr(outer)
        # A model of scikit-learn's own class, by pickle and by copy.
        for again in (pickle.loads(pickle.dumps(made_before)), copy.deepcopy(made_before)):
            assert type(again) is theirs
            assert_array_equal(again.predict(X), made_before.predict(X))
        assert issubclass(
            sklearn.linear_model.LogisticRegressionCV, sklearn.linear_model.LogisticRegression
        )
    assert sklearn.svm.SVC is theirs and "undone" in repr(outer)
    assert all(public_module(kind).__dict__[kind.__name__] is kind for kind in PAIRS)
    fitted = pickle.dumps(theirs().fit(X, y))
    with mlcore.accelerate():  # a pickle that was made without mlcore
        again = pickle.loads(fitted)
        assert_array_equal(again.predict(X), made_before.predict(X))
        assert again.fit(X, y).mlcore_model_ is not None


def public_module(original):
    return sys.modules[".".join(original.__module__.split(".")[:2])]


def test_report(capsys, log):
    with mlcore.accelerate(report=True):
        sklearn.svm.SVC().fit(X, y)
        sklearn.svm.SVC(probability=True).fit(X, y)
    sklearn.svm.SVC().fit(X, y)
    NAMED["SVC"][1]().fit(X, y)
    first, second = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"mlcore.accelerate: SVC \(400, 8\): [\d.e-]+ s by mlcore; duality gap \d.\de-\d+, "
        r"largest KKT violation \d.\de-\d+",
        first,
    )
    assert second.endswith("s by scikit-learn; probability=True has no exact counterpart in mlcore")
    assert not logging.getLogger("mlcore.accelerate").handlers


@pytest.mark.parametrize(("original", "replacement"), PAIRS.items(), ids=IDS)
def test_every_class_has_evidence(original, replacement, caplog):
    caplog.set_level(logging.INFO, "mlcore.accelerate")
    replacement().fit(np.abs(X), y)
    (line,) = caplog.messages
    assert re.search(rf"^{original.__name__} \(400, 8\): .* s by mlcore; .*\d", line)


def run(*words, cwd, code=0):
    done = subprocess.run(
        [sys.executable, *map(str, words)], cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize(
    "lines",
    [
        "import mlcore; accelerate = mlcore.accelerate",
        "from mlcore import accelerate; import mlcore",
        "import mlcore.acceleration, mlcore; accelerate = mlcore.accelerate",
        "import mlcore\ntry:\n    import mlcore.accelerate\nexcept ImportError as error:\n"
        "    assert 'is a function' in str(error)\naccelerate = mlcore.accelerate",
    ],
)
def test_it_is_a_function_whatever_is_imported_first(lines, tmp_path):
    run("-c", f"{lines}\nassert accelerate is mlcore.accelerate", cwd=tmp_path)


SCRIPT = """
import sys
import beside
print(sys.argv, __name__, __file__, sys.modules["__main__"].beside is beside, beside.WORD)
if "fail" in sys.argv:
    def fails():
        raise RuntimeError("as asked")
    fails()
if "fit" in sys.argv:
    from sklearn.datasets import load_iris
    from sklearn.svm import SVC
    print(SVC().fit(*load_iris(return_X_y=True)).mlcore_model_ is not None)
sys.exit(7 if "seven" in sys.argv else None)
"""
# The command with another `accelerate`: scikit-learn's import takes two seconds.
COMMAND = """
import runpy, sys, mlcore.acceleration
mlcore.acceleration.accelerate = lambda report: print("accelerated", report)
runpy.run_module("mlcore.accelerate", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "beside.py").write_text("WORD = 'found'")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text("x = (\n")
    return tmp_path / "script.py"


def test_the_command_accelerates_and_runs_a_script_as_python_does(script, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for words, path, code, report in (
        (["script.py", "--report", "-m", "seven"], tmp_path, 7, False),
        (["../script.py", "y"], tmp_path / "elsewhere", 0, True),
    ):
        found = run("-c", COMMAND, *["--report"] * report, *words, cwd=path, code=code)
        assert not found.stderr
        assert found.stdout.splitlines() == [
            f"accelerated {report}",
            f"{words} __main__ {script.resolve()} True found",
        ]
    named = run("-m", "mlcore.accelerate", "--report", "-m", "script", "fit", cwd=tmp_path)
    assert "True found\nTrue\n" in named.stdout and "SVC (150, 4): " in named.stderr


def test_the_command_keeps_the_traceback(script, tmp_path):
    failed = run("-c", COMMAND, "script.py", "fail", cwd=tmp_path, code=1).stderr
    assert "RuntimeError: as asked" in failed and "in fails" in failed
    assert failed.splitlines()[1].startswith(f'  File "{script.resolve()}", line ')
    wrong = run("-c", COMMAND, "wrong.py", cwd=tmp_path, code=1).stderr
    assert "SyntaxError" in wrong and "Traceback" not in wrong
    absent = run("-m", "mlcore.accelerate", "absent.py", cwd=tmp_path, code=2).stderr
    assert "there is no file absent.py" in absent


# ---- the page


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("accelerate", ROOT / "tools" / "accelerate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_rules_and_the_examples(tool):
    page = tool.PAGE.read_text(encoding="utf-8")
    command = "python tools/accelerate.py --write"
    assert tool.shown(page, tool.RULES) == tool.table_of_parameters(), f"run `{command}`"
    rows = [line for line in tool.shown(page, tool.TIMES).splitlines() if "`" in line]
    named = [re.search(r"\(`(.*?)`\)", row)[1] for row in rows]
    assert named == [path.name for path in tool.EXAMPLES] and len(named) == 10
    assert all(float(row.split(" | ")[4]) > 1 for row in rows)
    assert all(float(row.split(" | ")[5].strip(" |")) < 5e-3 for row in rows)


@pytest.mark.parametrize("name", ["recognize_digits", "make_a_code_book"])
def test_examples_give_the_same(name, tool, caplog):
    path = ROOT / "tools" / "accelerated_examples" / f"{name}.py"
    caplog.set_level(logging.INFO, "mlcore.accelerate")
    before = runpy.run_path(path)["RESULT"]
    assert not any(" by mlcore" in line for line in caplog.messages)
    with mlcore.accelerate():
        after = runpy.run_path(path)["RESULT"]
    assert any(" by mlcore" in line for line in caplog.messages)
    assert tool.difference(before, after) < 5e-3
    if name == "recognize_digits":  # an interpreter of its own says the same
        found = tool.run(path, True, 1)
        assert tool.difference(after, found["result"]) == 0
        assert any(" by mlcore" in line for line in found["lines"])


def test_blocks_of_the_page_print_what_it_shows(tool):
    page = tool.PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == page.count("```python") == 2
    for block, text in blocks:
        shown = io.StringIO()
        try:
            with contextlib.redirect_stdout(shown):
                exec(block, {"__name__": "__main__"})
        finally:
            for acceleration in list(_active):
                acceleration.undo()
        assert shown.getvalue() == text


def test_iris_has_a_grid():
    assert NAMED["KMeans"][1](n_clusters=3).fit(load_iris().data).mlcore_model_ is None
