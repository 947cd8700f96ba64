"""Narrower instruction sets: what other files claim of the widest, again, in one process for each.

An extension chooses its loops as it is loaded, by the environment: a process has one choice.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse

from mlcore.cluster import AgglomerativeClustering
from mlcore.mixture import PLSA, GaussianMixture
from mlcore.numerics.scores.sparse_scores import EntryScores, sparse_scores

TESTS = Path(__file__).resolve().parents[1]
PROCESSOR = Path("/proc/cpuinfo")
WIDEST = not PROCESSOR.exists() or "avx512f" in PROCESSOR.read_text()
# Without AVX-512 the loops of AVX2 are those of all other files.
TARGETS = ("baseline", "avx2") if WIDEST else ("baseline",)
CHILD = "import test_instruction_sets as own, sys; own.answer(sys.argv[1])"


def results():
    """Heights of merges and likelihoods of EM, steps of which follow each other."""
    rng = np.random.default_rng(0)
    found = {}
    for n, d in ((1100, 3), (300, 120)):
        X = rng.normal(size=(n, d))
        for method in ("single", "complete", "average", "ward", "weighted"):
            model = AgglomerativeClustering(linkage=method).fit(X)
            found[f"{method}, {d} features"] = model.distances_
    for kind in ("full", "tied", "diag", "spherical"):
        for d, k in ((3, 5), (18, 6)):
            places = 4 * rng.normal(size=(k, d))[rng.integers(0, k, 1100)]
            X = rng.normal(size=(1100, d)) + places
            model = GaussianMixture(k, covariance_type=kind, tol=0, max_iter=6, random_state=0)
            found[f"{kind}, {d} features"] = model.fit(X).log_likelihood_trace_
    G = rng.poisson(0.5, size=(700, 60)).astype(float)
    model = PLSA(n_components=21, tol=0, max_iter=6, random_state=0).fit(G)
    X = sparse.random_array((2000, 300), density=0.1, format="csr", rng=rng)
    weights, start = rng.normal(size=(7, 300)), rng.normal(size=7)
    scores = EntryScores.of(weights, start, "above", 0.5)
    found["scores of sparse rows"] = sparse_scores(X, scores, softmax=True)
    return found | {"PLSA": model.log_likelihood_trace_}


def answer(path):
    """Save the results, and check the claims that need no other process."""
    import test_band_newton
    import test_exponential
    import test_packed

    from dual_problems import EPS, KINDS, check, matrix, problem, rows_of, samples
    from mlcore.svm.smo import smo
    from mlcore.svm.smo.kernel_cache import KernelCache

    np.savez(path, **results())
    for squared in (False, True):
        test_band_newton.test_dual_variables_maximise_the_envelope(squared)
    test_band_newton.test_plain_losses_and_brackets_are_their_sums()
    test_band_newton.test_the_minimum_along_a_line_is_exact()
    for dtype in test_packed.DTYPES:
        test_exponential.check_all(dtype)
    for data in test_packed.DATA:
        test_packed.test_blocks_and_symmetric_matrices_are_the_kernel_as_defined(data)
    for kind in KINDS:
        for n, double in ((2, True), (17, False), (120, True), (120, False)):
            for routes in (smo.ROUTES, smo.Routes(small=0)):
                tol, eps = (1e-6, EPS) if double else (1e-3, 4 * float(np.finfo(np.float32).eps))
                X, p = samples(n), problem(kind, n)
                cache = KernelCache(rows_of(X, "rbf", double), 200.0)
                solution = smo.solve(p, cache, tol=tol, routes=routes)
                check(matrix(X, p), p, solution, tol, eps)


def test_instruction_sets(tmp_path):
    folders = [TESTS, *(TESTS / name for name in ("runtime", "kernels", "svm", "every_model"))]
    path, here = tmp_path / "found.npz", results()
    for target in TARGETS:
        environment = os.environ | {
            "MLCORE_SIMD": target,
            "PYTHONPATH": os.pathsep.join(map(str, folders)),
        }
        command = [sys.executable, "-P", "-W", "ignore", "-c", CHILD, str(path)]
        run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        there = np.load(path)
        for name, expected in here.items():
            rtol = {"PLSA": 1e-13, "scores of sparse rows": 1e-12}.get(name, 1e-11)
            assert_allclose(there[name], expected, rtol=rtol, err_msg=f"{name}, {target}")
