"""Widrow and Hoff's rule: least squares by a step against the gradient of one sample at a time."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

from mlcore._ext.linear_model import widrow_hoff as _ext
from mlcore.checks.arrays import as_floats, real_array
from mlcore.kernels.sample_lists import row_sums
from mlcore.runtime.threads import pieces, single_threaded_blas


class Game(NamedTuple):
    """Rounds that have been played, for k targets.

    Attributes
    ----------
    weights : (k, d)
        In the type of the samples.
    offsets : (k,)
    losses : (k,)
        Sum of ``s (y - w.x - b)²``, of the w and b before each round.
    squares : (k,)
        Sum of the squared norms of the gradients.
    n_rounds : int
    """

    weights: np.ndarray
    offsets: np.ndarray
    losses: np.ndarray
    squares: np.ndarray
    n_rounds: int

    @classmethod
    def begun(cls, n_targets: int, d: int, dtype: np.dtype) -> "Game":
        """Return the game before its first round."""
        zeros = np.zeros(n_targets)
        return cls(np.zeros((n_targets, d), dtype), zeros, zeros, zeros, 0)

    def played(
        self,
        X: Any,
        Y: np.ndarray,
        sample_weight: np.ndarray | None,
        step: float,
        squared_norms: np.ndarray,
        fit_intercept: bool,
    ) -> "Game":
        """Return the game after a round with each row of X, in their order."""
        changed = [values.copy() for values in self[:4]]
        weight = np.empty(0) if sample_weight is None else sample_weight
        Y = np.ascontiguousarray(Y, dtype=np.float64)
        given = Y, weight, squared_norms, step, fit_intercept, *changed
        n, d = X.shape
        rows = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        rounds = _ext.sparse_rounds if sp.issparse(X) else _ext.dense_rounds
        with single_threaded_blas():
            for first, last in pieces(n, 20 + 4 * d * len(self.offsets)):
                rounds(*rows, *given, first, last)
        return Game(*changed, self.n_rounds + n)


def squared_sizes(X: Any, sample_weight: np.ndarray | None, fit_intercept: bool) -> tuple:
    """Return ``|x|²`` of each row, and the largest with a constant of 1 and times its weight."""
    with np.errstate(over="ignore"):
        squared_norms = row_sums(X, "squares")
        sizes = squared_norms + fit_intercept
        sizes = sizes if sample_weight is None else sizes * sample_weight
    return squared_norms, float(sizes.max())


def step_for(size: float, step: float | None, owner: str) -> float:
    """Return the size of the steps for samples of at most this squared size."""
    if step is None:
        step = 0.25 / size if size > 0 else 1.0
    if not (0 < step < np.inf and np.isfinite(size)):
        raise ValueError(f"{owner}: squares of the samples over- or underflow: rescale X.")
    if step * size > 1 + 1e-9:
        raise ValueError(
            f"{owner}: step={step:g} must be at most 1 / |x|² of every sample, a constant of 1 and "
            f"its weight included, here {1 / size:g}: larger steps overshoot."
        )
    return step


def regret_bound(
    game: Game, step: float, coef: Any, intercept: Any, fit_intercept: bool, owner: str
) -> np.ndarray:
    """Return ``|u|² / 2 step + step / 2 sum |v|²`` of each target, for u = (coef, intercept)."""
    k, d = game.weights.shape
    u = as_floats(real_array(coef, "coef"), np.float64)
    b = as_floats(real_array(np.atleast_1d(intercept), "intercept"), np.float64)
    if u.size != k * d or u.shape[-1:] != (d,) or b.size not in (1, k):
        raise ValueError(
            f"{owner}: coef of shape {u.shape} and intercept of shape {b.shape} must have those of "
            f"coef_ and intercept_, {d} features and {k} targets."
        )
    if not (np.isfinite(u).all() and np.isfinite(b).all()):
        raise ValueError(f"{owner}: coef and intercept must be finite.")
    if b.any() and not fit_intercept:
        raise ValueError(f"{owner}: intercept must be 0 with fit_intercept=False.")
    squares = np.square(u.reshape(k, d)).sum(axis=1) + b.ravel() ** 2
    return squares / (2 * step) + step / 2 * game.squares


class WidrowHoff:
    """Mixin of LinearRegression: its fit by rounds, and what is proven about them."""

    def observed_bound(self, coef: Any, intercept: Any = 0.0) -> Any:
        r"""Return by how much `loss_` can exceed the loss of other coefficients.

        Both at the same samples, whatever these are. It is the regret bound of online gradient
        descent with steps of one size, :math:`(|u|^2 + c^2) / 2 \eta + \eta / 2 \sum_t |v_t|^2`,
        for coefficients u, intercept c, steps :math:`\eta` and the gradients v_t of the rounds.

        Parameters
        ----------
        coef : array-like of the shape of `coef_`
            u, such as the coefficients of least squares.
        intercept : float or array-like of shape (n_targets,), default=0.0
            c, 0 if the fit has no intercept.

        Returns
        -------
        bound : float or (n_targets,) float64
            For each target.

        Raises
        ------
        ValueError
            After a fit by another solver, and for wrong shapes.
        """
        self._check_ready()
        owner = type(self).__name__
        if not hasattr(self, "step_"):
            raise ValueError(f"{owner}: observed_bound is of fits with solver='lms'.")
        found = regret_bound(self._game(), self.step_, coef, intercept, self._intercepted_, owner)
        return found if self._several_ else float(found[0])

    def _game(self):
        weights = self.coef_.reshape(-1, self.coef_.shape[-1])
        parts = (np.atleast_1d(part) for part in (self.intercept_, self.loss_, self._gradients_))
        return Game(weights, *parts, self.n_rounds_)

    def _play(self, X, y, sample_weight, fit_intercept, anew):
        """Play rounds with these samples, the first of all or more of them."""
        owner = type(self).__name__
        if np.any(np.asarray(self.alpha) != 0):
            raise ValueError(
                f"{owner}: alpha={self.alpha} must be 0 with solver='lms', which has no penalty."
            )
        checked, Y, weight, several = self._checked_rows(
            X, y, sample_weight, reset=anew, check_finite=True
        )
        if anew:
            game = Game.begun(Y.shape[1], checked.shape[1], checked.dtype)
            step = self.step
        else:
            game, step, fit_intercept = self._game(), self.step_, self._intercepted_
            self._require_targets(Y, several)
        squared_norms, size = squared_sizes(checked, weight, fit_intercept)
        step = step_for(size, step, owner)
        game = game.played(checked, Y, weight, step, squared_norms, fit_intercept)
        if not (np.isfinite(game.weights).all() and np.isfinite(game.squares).all()):
            raise ValueError(f"{owner}: the steps overflow: rescale the features of X, or y.")
        zeros = np.zeros(checked.shape[1])
        one = slice(None) if several else 0
        return {
            "coef_": game.weights[one],
            "intercept_": game.offsets if several else float(game.offsets[0]),
            "loss_": game.losses if several else float(game.losses[0]),
            "n_rounds_": game.n_rounds,
            "step_": step,
            "solver_": "lms",
            "origin_": zeros.astype(checked.dtype),
            "_gradients_": game.squares,
            "_center_": zeros,
            "_powers_": zeros.astype(np.int64),
            "_target_mean_": game.offsets,
            "_target_powers_": np.zeros(Y.shape[1], np.int64),
            "_intercepted_": fit_intercept,
            "_several_": several,
        }
