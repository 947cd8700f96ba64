"""Chunks: the optimum of the whole problem, in memory of few samples."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse as sp
from threadpoolctl import threadpool_limits

from dual_problems import fitted_by
from mlcore.svm import SVC, SVR
from mlcore.svm.smo.chunking import Chunks

CHUNKS = {"chunks": 1000}  # of fewer samples than it takes
HOW = {"kernel": "rbf", "gamma": 0.2, "cache_size": 1}


def samples(n, noise=0.02, d=5):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n) > 0).astype(int)
    return X, np.where(rng.random(n) < noise, 1 - y, y)


@pytest.fixture
def chunks(monkeypatch):
    """Counts the chunks."""
    sizes = []
    whole = Chunks.next

    def counted(self, beta, *arguments):
        chunk = whole(self, beta, *arguments)
        sizes.append(None if chunk is None else len(chunk[0]) / len(beta))
        return chunk

    monkeypatch.setattr(Chunks, "next", counted)
    return sizes


def targets(y, X):
    return X[:, 0] * X[:, 1] + 0.3 * y


def matern(X, Y):
    squared = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1) - 2 * X @ Y.T
    distance = np.sqrt(np.maximum(squared, 0))
    return (1 + distance) * np.exp(-distance)


CASES = {
    "SVC": (SVC(**HOW), None, None),
    "float32": (SVC(**HOW), lambda X: X.astype(np.float32), None),
    "sparse": (SVC(**HOW), lambda X: sp.csr_array(np.where(np.abs(X) > 0.3, X, 0)), None),
    "weights": (SVC(**HOW), None, "weights"),
    "classes": (SVC(**HOW, class_weight={0: 0.3, 1: 2.0}), None, None),
    "a function": (SVC(**HOW | {"kernel": matern}), None, None),
    "SVR": (SVR(**HOW, epsilon=0.2), None, None),
}


@pytest.mark.filterwarnings("ignore:kernel 'matern':UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_chunks_end_at_the_optimum_of_the_whole(name, chunks):
    model, converted, weighted = CASES[name]
    X, y = samples(1500)
    y = targets(y, X) if name == "SVR" else y
    X = X if converted is None else converted(X)
    weight = None if weighted is None else np.random.default_rng(0).integers(0, 4, len(y)) / 2
    parted = fitted_by(CHUNKS, type(model)(**model.get_params()), X, y, weight)
    assert len(chunks) > 2 and max(size for size in chunks if size) <= 0.5
    count = len(chunks)
    whole = fitted_by({"chunks": np.inf}, type(model)(**model.get_params()), X, y, weight)
    assert len(chunks) == count
    # Each is at most its gap below the optimum, and the optimum is not below either.
    gaps = parted.duality_gap_ + whole.duality_gap_
    assert abs(parted.dual_objective_ - whole.dual_objective_) <= gaps
    assert parted.converged_ and parted.kkt_violation_ <= model.tol
    assert parted.duality_gap_ < 1e-3 * abs(parted.primal_objective_)
    values = [fitted.decision_function(X) if name != "SVR" else fitted.predict(X)
              for fitted in (parted, whole)]  # fmt: skip
    # |f - f*|^2 <= 2 gap in the norm of the space, and |f(x)| <= |f| sqrt(k(x, x)).
    assert_allclose(*values, rtol=0, atol=2 * np.sqrt(2 * gaps) + 2 * model.tol)


def test_where_most_are_support_vectors_the_whole_problem_is_solved(chunks):
    X, y = samples(2000, noise=0.5)
    model = fitted_by(CHUNKS, SVC(**HOW), X, y)
    assert chunks[-1] is None and model.converged_ and len(model.support_) > 1000


def test_three_classes_and_probabilities(chunks):
    X, y = samples(5000)
    y = y + 2 * (X[:, 2] > 0.8)
    model = fitted_by(CHUNKS, SVC(**HOW), X, y)
    assert chunks and model.converged_
    assert (model.kkt_violation_ <= model.tol).all()


def test_steps_are_bounded_over_all_chunks(chunks):
    X, y = samples(2000)
    with pytest.warns(UserWarning, match="max_iter=300"):
        model = fitted_by(CHUNKS, SVC(**HOW, max_iter=300), X, y)
    assert chunks and not model.converged_ and model.n_iter_.max() <= 300


def test_any_number_of_threads_gives_the_same_bytes(chunks):
    X, y = samples(2500)
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads):
            found.append(fitted_by(CHUNKS, SVC(**HOW), X, y))
    assert chunks
    assert_array_equal(found[0].dual_coef_, found[1].dual_coef_)
    assert_array_equal(found[0].support_, found[1].support_)


FIT = """
import resource, sys
import numpy as np
from mlcore.svm import SVC

rng = np.random.default_rng(0)
X = rng.normal(size=(24_000, 4))
y = (X[:, 0] > 0) ^ (rng.random(len(X)) < 0.005)
SVC(kernel="rbf").fit(X[:3000], y[:3000])  # what is loaded and kept by any fit
unit = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
model = SVC(kernel="rbf", gamma=0.1, cache_size=10).fit(X, y)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
print(after - before, len(model.support_), model.converged_)
"""


@pytest.mark.ordinary_build
@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell the largest memory")
def test_memory_is_that_of_the_cache_and_a_few_vectors(tmp_path):
    command = [sys.executable, "-c", FIT]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    beyond, n_support, converged = done.stdout.split()
    assert converged == "True"
    # The cache, samples packed in float32, forty vectors, and the rows that pass at once.
    most = 10e6 + 4 * 16 * 24_000 + 40 * 8 * 24_000 + 2 * 16 * 2**20
    assert float(beyond) < most
    assert 4 * 24_000 * int(n_support) > 3 * most  # the rows of the support vectors alone
