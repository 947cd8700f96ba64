"""Least squares of several targets that share their features: the coefficients of a feature are a
group, whose length is penalised.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg

from mlcore._ext.linear_model import multi_task as _ext
from mlcore.linear_model.coordinate.penalties import Penalties, Solution, trace_of_fit
from mlcore.linear_model.coordinate.products import INNER, READINGS, Products
from mlcore.linear_model.coordinate.working_columns import ColumnProblem
from mlcore.linear_model.regression.least_squares import EPS
from mlcore.numerics.eigen.lapack import stoppable
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import single_threaded_blas

_SWEEPS = 10  # of a round, over features that are not 0
_STALLS = 4  # rounds without a better P, after which rounding is all that is left
_DAMPED = 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2  # shares that make a system positive
_LENGTHS = 2.0 ** -np.arange(12)  # of Newton steps that are tried
_FIRST = 64  # features that join the working set at once, at least
_LARGE = 100  # features not 0, from which Newton steps wait until sweeps are slow
_TRACED = 2000  # features not 0, of which degrees of freedom are computed


class Parts(NamedTuple):
    """Products of f features G (f, f), and of targets with them C (k, f), the targets' squares,
    and penalties (f,) of lengths and of half their squares.
    """

    G: np.ndarray
    C: np.ndarray
    squares: float
    lasso: np.ndarray
    ridge: np.ndarray


class Noise(NamedTuple):
    """Bounds of the rounding errors of slopes: lengths of targets (k,) and of features (d,), and
    `Products.noise`.
    """

    targets: np.ndarray
    size: np.ndarray
    shares: np.ndarray


class Proof(NamedTuple):
    """P, and how much it may be above its minimum."""

    objective: float
    gap: float


def solve(
    problem: Products | ColumnProblem,
    penalties: Penalties,
    tol: float,
    max_iter: int,
    report: Callable[[Solution], None],
) -> Solution:
    """Return the best coefficients (d, k), with one objective, gap and number of rounds for all
    targets, (1,) each; the gap is of residuals of the rows.

    It is at most `tol` of the objective of 0, or as small as `max_iter` rounds and rounding leave.
    """
    if isinstance(problem, Products):
        return _solve_by_products(problem, penalties, tol, max_iter, report)
    coef, figures = path(problem, penalties, np.ones(1), tol, max_iter)
    objective, gap, n_iter = figures[0].T
    solution = Solution(coef[0], problem.center, problem.offset, objective, gap, n_iter)
    report(solution)
    return solution


def path(
    problem: Products | ColumnProblem,
    penalties: Penalties,
    alphas: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (m, d, k) for descending alphas, and figures (m, 1, 3): objective, gap
    and number of rounds.
    """
    (d, k), m = problem.C.shape, len(alphas)
    require_memory(m, d * k, 8, what="coefficients of the path", instead="use fewer alphas")
    find = _path_by_products if isinstance(problem, Products) else _path_by_columns
    W, figures = np.empty((m, k, d)), np.empty((m, 1, 3))
    with single_threaded_blas():
        find(problem, penalties, alphas, tol * problem.squares.sum() / 2, max_iter, W, figures)
    return W.transpose(0, 2, 1), figures


def degrees_of_freedom(
    problem: Products | ColumnProblem, penalties: Penalties, coef: np.ndarray
) -> float:
    """Return the trace of the derivative of the fitted values of all targets, NaN if there is none,
    or for very many active features.

    S. Vaiter, C. Deledalle, G. Peyré, J. Fadili, C. Dossal, *The degrees of freedom of partly
    smooth regularizers*, Annals of the Institute of Statistical Mathematics 69, 2017.
    """
    face = np.flatnonzero(coef.any(axis=1))
    if len(face) > _TRACED:
        return math.nan
    W, k = coef[face].T, coef.shape[1]
    if isinstance(problem, Products):
        G = problem.G[np.ix_(face, face)]
    else:
        G = problem.columns.products(face, face)
    lasso, ridge = penalties.lasso[face, 0], penalties.ridge[face]
    if not len(face) or not lasso.any():
        return k * trace_of_fit(G, ridge)
    with single_threaded_blas():
        inverse = stoppable(partial(_Curvature.of, G, W, lasso, ridge), 2 * len(face) ** 3)
        if inverse is None:
            return math.nan
        A = inverse.of_scale
        shared = (A @ G @ A) * (inverse.unit.T @ inverse.unit)
        of_turns = linalg.cho_solve((inverse.factor, True), shared).trace()
        return float(k * np.einsum("ij,ij->", A, G) + of_turns)


class _Curvature(NamedTuple):
    """The inverse of the second derivative of P in a features that are not 0, for k targets.

    With s = lasso / |W_j| it is that of ``M x 1 - sum_j s_j u_j u_j'``, M = G + ridge + s, for
    the directions u_j of groups, `unit` (k, a): M has the inverse `of_scale` (a, a), and the rest
    needs one system (Woodbury) of size a, with the Cholesky factor `factor`.
    """

    unit: np.ndarray
    of_scale: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(cls, G, W, lasso, ridge, damped=()):
        """Return it, or None if the matrix is not positive, nor with shares `damped` of s^-1 added
        to the system of Woodbury, of which the first that makes it so is taken.
        """
        length = np.linalg.norm(W, axis=0)
        with np.errstate(all="ignore"):
            unit, turning = W / length, lasso / length
            rest = length / lasso
        factor, info = linalg.lapack.dpotrf(G + np.diag(ridge + turning), lower=1)
        if info != 0:
            return None
        lower, info = linalg.lapack.dpotri(factor, lower=1)
        if info != 0:
            return None
        inverse = np.tril(lower) + np.tril(lower, -1).T
        system, info = np.diag(rest) - inverse * (unit.T @ unit), 1
        for more in (0.0, *damped):
            factor, info = linalg.lapack.dpotrf(system + more * np.diag(rest), lower=1)
            if info == 0 and np.isfinite(factor).all():
                return cls(unit, inverse, factor)
        return None

    def times(self, B):
        """Return the product with B (k, a)."""
        first = B @ self.of_scale
        along = np.einsum("ij,ij->j", self.unit, first)
        more = linalg.cho_solve((self.factor, True), along)
        return first + (self.unit * more) @ self.of_scale


def _certificate(W, g, squares, lasso, ridge, noise):
    """Return P and the gap to t times the residuals, for slopes g (k, d), ridge included, and the
    `squares` R2 of residuals and ridge.

    It is ``(1 - t)² R2/2 + sum_j (lasso_j |W_j| - t W_j'g_j)`` for t with ``|t g_j| <= lasso_j``.
    """
    length, steep = np.linalg.norm(W, axis=0), np.linalg.norm(g, axis=0)
    of_size, of_coef, of_ridge = noise.shares
    reach = np.abs(W) @ noise.size
    of_targets = np.linalg.norm(of_size * (noise.targets + reach) + of_coef * reach)
    error = of_targets * noise.size + of_ridge * ridge * length
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        most = np.where(steep + error > 0, lasso / (steep + error), np.inf).min(initial=np.inf)
    inner, absolute = np.einsum("ij,ij->j", W, g), lasso * length
    t = 1 + inner.sum() / squares if squares > 0 else 1.0
    t = max(min(t, most), -most)
    gap = 0.5 * (1 - t) ** 2 * squares + (absolute - t * inner).sum() + abs(t) * (length @ error)
    rounding = (8 + len(W)) * EPS * (absolute.sum() + abs(t) * np.abs(W * g).sum())
    return Proof(0.5 * squares + absolute.sum(), gap + rounding)


def _slopes(parts, W):
    """Return C - W G, by the features that are not 0."""
    face = np.flatnonzero(W.any(axis=0))
    return parts.C - W[:, face] @ parts.G[face]


def _proof(parts, W, H, noise):
    """Return the certificate with the squares of residuals from products, which lose digits."""
    g = H - parts.ridge * W
    squares = parts.squares - np.einsum("ij,ij->", W, parts.C + g)
    terms = parts.squares + np.einsum("ij,ij->", np.abs(W), np.abs(parts.C) + np.abs(g))
    squares = max(squares, 0.0) + 8 * EPS * terms
    return _certificate(W, g, squares, parts.lasso, parts.ridge, noise)


def _minimised(parts, W, noise, tol, max_rounds):
    """Minimise P from W on until the gap is at most `tol`; return W, its proof and the rounds.

    A round is sweeps over features, and a Newton step in those that are not 0.
    """
    W, H = W.copy(), _slopes(parts, W)
    proof = _proof(parts, W, H, noise)
    if proof.gap <= EPS * proof.objective:
        return W, proof, 0
    cost, least, stalls, rounds = _SWEEPS * parts.G.size * len(W), np.inf, 0, 0
    lowest = np.inf
    while rounds < max_rounds:
        rounds += 1
        sweep = partial(_ext.sweep, parts.G, parts.lasso, parts.ridge, _SWEEPS, W, H)
        stoppable(sweep, cost)
        H = _slopes(parts, W)
        proof = _proof(parts, W, H, noise)
        if proof.gap <= tol:
            break
        slow = proof.gap > 0.5 * least or np.count_nonzero(W.any(axis=0)) <= _LARGE
        if slow and _newton_step(parts, W, H):
            H = _slopes(parts, W)
            proof = _proof(parts, W, H, noise)
        stalls = stalls + 1 if not proof.objective < lowest - 2 * EPS * parts.squares else 0
        least, lowest = min(least, proof.gap), min(lowest, proof.objective)
        if proof.gap <= tol or stalls >= _STALLS:
            break
    return W, proof, rounds


def _newton_step(parts, W, H):
    """Go to a low P along a Newton step in the features that are not 0; False if no length of it
    lowers P.
    """
    face = np.flatnonzero(W.any(axis=0))
    if not len(face):
        return False
    V, lasso, ridge = W[:, face], parts.lasso[face], parts.ridge[face]
    G, g = parts.G[np.ix_(face, face)], H[:, face] - ridge * V
    length = np.linalg.norm(V, axis=0)
    with np.errstate(all="ignore"):
        inverse = stoppable(partial(_Curvature.of, G, V, lasso, ridge, _DAMPED), 2 * len(face) ** 3)
        if inverse is None:
            return False
        step = inverse.times(g - lasso * inverse.unit)
        # The lowest of some lengths; groups that turn round become 0.
        best, lowest = None, 4 * EPS * (lasso @ length)
        for part in _LENGTHS:
            new = V + part * step
            new[:, np.einsum("ij,ij->j", new, V) <= 0] = 0
            change = new - V
            fall = np.einsum("ij,ij->", change, 0.5 * (change @ G + ridge * change) - g)
            fall += lasso @ (np.linalg.norm(new, axis=0) - length)
            if fall < lowest:
                best, lowest = new, fall
            elif best is not None:
                break
    if best is None:
        return False
    W[:, face] = best
    return True


# ---- products of all features --------------------------------------------------------------------


def _solve_by_products(products, penalties, tol, max_iter, report):
    """Return the solution of `solve`; after each reading of the rows the products with residuals
    replace those with targets, so that errors of G only slow the fit down.
    """
    lasso, ridge = np.ascontiguousarray(penalties.lasso[:, 0]), penalties.ridge
    allowed, left, best = tol * products.squares.sum() / 2, max_iter, None
    C, squares = np.ascontiguousarray(products.C.T), float(products.squares.sum())
    targets, W = np.sqrt(products.squares), np.zeros_like(C)
    noise = Noise(targets, products.size, products.noise(products.eps_of_evidence))
    of_sums = noise._replace(shares=products.noise(products.eps))
    for _ in range(READINGS):
        before = W
        parts = Parts(products.G, C, squares, lasso, ridge)
        with single_threaded_blas():
            W, _, rounds = _minimised(parts, W, of_sums, INNER * allowed, left)
        left -= rounds
        # In the type of the data, with the evidence of all rows.
        coef, offset, slopes, residual = products.residuals(np.ascontiguousarray(W.T))
        W, h = np.ascontiguousarray(coef.T), np.ascontiguousarray(slopes.T)
        length = np.linalg.norm(W, axis=0)
        proof = _certificate(
            W, h - ridge * W, residual.sum() + ridge @ length**2, lasso, ridge, noise
        )
        n_iter = np.array([max_iter - left])
        figures = np.array([proof.objective]), np.array([proof.gap]), n_iter
        improved = best is None or proof.gap < 0.5 * best.gap[0]
        if best is None or proof.gap < best.gap[0]:
            best = Solution(coef, products.center, offset, *figures)
        best = best._replace(n_iter=n_iter)
        report(best)
        if proof.gap <= allowed or not improved or left <= 0 or (W == before).all():
            break
        with single_threaded_blas():
            C = h + W @ products.G
        squares = float(residual.sum() + np.einsum("ij,ij->", W, C + h))
    return best


def _path_by_products(products, penalties, alphas, allowed, max_iter, coef, figures):
    shares = products.noise(products.eps, products.eps_of_coef)
    noise = Noise(np.sqrt(products.squares), products.size, shares)
    parts = Parts(
        products.G, np.ascontiguousarray(products.C.T), float(products.squares.sum()), *[None] * 2
    )
    W = np.zeros_like(parts.C)
    for m, alpha in enumerate(alphas):
        scaled = penalties.times(alpha)
        lasso = np.ascontiguousarray(scaled.lasso[:, 0])
        parts = parts._replace(lasso=lasso, ridge=scaled.ridge)
        W, proof, rounds = _minimised(parts, W, noise, allowed, max_iter)
        coef[m], figures[m, 0] = W, (*proof, rounds)


# ---- columns that matter -------------------------------------------------------------------------


def _path_by_columns(problem, penalties, alphas, allowed, max_iter, coef, figures):
    """Set coefficients and figures of a path, by products of a working set of features."""
    columns, d = problem.columns, len(problem.columns.size)
    noise = Noise(
        np.sqrt(problem.squares), columns.reach,
        np.array([2 * math.sqrt(max(problem.n, d)) * EPS, 0.0, 2 * EPS]),
    )  # fmt: skip
    state = _WorkingSet(problem)
    first = penalties.lasso[:, 0]
    before = np.max(np.linalg.norm(state.h, axis=0) / first, initial=0.0)
    for m, alpha in enumerate(alphas):
        scaled = penalties.times(alpha)
        lasso, ridge = scaled.lasso[:, 0], scaled.ridge
        limit, rounds, stalls, least = max(2 * alpha - before, 0.0) * first, 0, 0, np.inf
        proof = state.proof(lasso, ridge, noise)
        while proof.gap > EPS * proof.objective:
            some = state.join(limit, lasso)
            enough = max(0.3 * allowed, 0.05 * proof.gap if some else 0.0)
            rounds += state.minimise(lasso, ridge, noise, enough, max_iter - rounds)
            proof = state.proof(lasso, ridge, noise)
            stalls = stalls + 1 if proof.gap > 0.5 * least and not state.joined else 0
            least = min(least, proof.gap)
            if proof.gap <= allowed or rounds >= max_iter or stalls >= _STALLS:
                break
            limit = lasso
        coef[m], figures[m, 0] = state.W, (*proof, rounds)
        before = alpha


class _WorkingSet:
    """Features that rounds look at, their products, and the coefficients W (k, d) of all.

    `h` (k, d) are products of residuals of the rows with columns.
    """

    def __init__(self, problem):
        self.problem, self.columns = problem, problem.columns
        d, k = problem.C.shape
        self.W, self.h, self.squares = np.zeros((k, d)), problem.C.T.copy(), problem.squares.sum()
        self.h[:, self.columns.out > 0] = 0
        self.members, self.G = np.zeros(0, np.intp), np.zeros((0, 0))
        self.joined = False

    def join(self, limit, lasso):
        """Let features with slopes above the limit (d,) join, the steepest first; True if some of
        them have to wait.
        """
        steep = np.linalg.norm(self.h, axis=0)
        steep[self.members] = 0
        new = np.flatnonzero(steep > limit)
        most = max(_FIRST, len(self.members))
        some = len(new) > most
        if some:
            new = np.sort(new[np.argsort(-steep[new] / lasso[new], kind="stable")[:most]])
        self.joined = len(new) > 0
        if not self.joined:
            return False
        f, before = len(self.members) + len(new), len(self.members)
        require_memory(
            f, 4 * f, 8, what="products of the columns that matter", instead="use larger penalties"
        )
        self.members = np.concatenate((self.members, new))
        G = np.empty((f, f))
        G[:before, :before] = self.G
        products = partial(self.columns.products, new, self.members)
        G[before:] = stoppable(products, len(new) * f * len(self.columns.root))
        G[:before, before:] = G[before:, :before].T
        self.G = G
        return some

    def minimise(self, lasso, ridge, noise, tol, max_rounds):
        """Minimise P in the members, from the last residuals on; return the number of rounds.

        What products have lost is in those with the residuals.
        """
        at = self.members
        W, h = np.ascontiguousarray(self.W[:, at]), self.h[:, at]
        C = np.ascontiguousarray(h + W @ self.G)
        squares = float(self.squares + np.einsum("ij,ij->", W, C + h))
        parts = Parts(self.G, C, squares, *(np.ascontiguousarray(p[at]) for p in (lasso, ridge)))
        some = noise._replace(size=np.ascontiguousarray(noise.size[at]))
        W, _, rounds = _minimised(parts, W, some, tol, max_rounds)
        problem = self.problem
        if len(problem.shift):  # as float32 stores them
            shift = problem.shift[at].T
            W = np.ldexp(np.ldexp(W, shift).astype(np.float32).astype(np.float64), -shift)
        self.W[:, at] = W
        # All slopes, from the rows, for the coefficients as they are stored.
        face = np.flatnonzero(self.W.any(axis=0))
        R = problem.Y - self.columns.fitted(self.W[:, face], face)
        for t, r in enumerate(R):
            self.h[t] = self.columns.times(r)
        self.squares = np.einsum("ij,ij->", R, R)
        return rounds

    def proof(self, lasso, ridge, noise):
        """Return the certificate of all features."""
        squares = self.squares + ridge @ np.linalg.norm(self.W, axis=0) ** 2
        return _certificate(self.W, self.h - ridge * self.W, squares, lasso, ridge, noise)
