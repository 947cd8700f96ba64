"""Fitting mixtures by EM: what is the same whatever the components are."""

import math
from typing import Any, Self

import numpy as np

from mlcore.checks import as_bool, as_choice, as_integer, as_random_state, as_real, as_weights
from mlcore.first_rows import KeepsFirstRows
from mlcore.mixture.answers import FittedMixture
from mlcore.mixture.given import scaled
from mlcore.mixture.run import Run
from mlcore.model import warn
from mlcore.progress import Progress
from mlcore.row_sums import merged
from mlcore.threads import single_threaded_blas

_SHORT_RUN = 10  # steps of each of several starts before one of them goes on
_RESCUES = 3  # times that collapsed components are started anew
STARTS = ("k-means++", "kmeans", "random", "random_from_data")  # values of init_params
RECENT = 2  # partial_fit: how many times their share of all rows the newest rows count


class Mixture(KeepsFirstRows, FittedMixture):
    """EM for any mixture. A subclass says what its components are:

    ``_frame(X, weight)`` what sums and M step measure against, ``_fitted_frame()`` the same later;
    ``_rows(X, weight, frame)`` the rows and their `total` weight; ``_given(n_features)`` and
    ``_start(frame, rows, rng, given, number)`` parameters to begin with; ``_statistics(rows,
    parameters)`` with ``log_likelihood`` and ``mass``; ``_maximised(statistics, parameters,
    frame)`` the M step, and which components collapsed; ``_expected(parameters)`` the statistics
    of mass 1 whose M step gives the parameters again; ``_parameters()`` and
    ``_attributes(parameters, frame)`` from and to fitted attributes; ``_arranged(parameters,
    order, frame)``; ``_reseeded(run, frame, rows, rng)`` if collapsed components may start anew;
    ``_fits(n_features)`` whether `fit` may go on from these; ``_densities(X,
    with_proba)`` log-densities, labels and probabilities; ``_like()`` an array of the type of the
    fit; ``_n_parameters()``.
    """

    _kind = "density_estimator"

    # ---- parameters

    def _check_options(self) -> None:
        owner = type(self).__name__
        as_integer(self.n_components, "n_components", owner=owner, at_least=1)
        as_real(self.tol, "tol", owner=owner, at_least=0)
        as_integer(self.max_iter, "max_iter", owner=owner, at_least=0)
        as_integer(self.n_init, "n_init", owner=owner, at_least=1)
        if hasattr(self, "init_params"):
            as_choice(self.init_params, "init_params", STARTS, owner=owner)
        as_bool(self.warm_start, "warm_start", owner=owner)
        as_random_state(self.random_state, owner=owner)
        Progress(self.verbose, self.callback, owner)

    def _checked(self, X, sample_weight, *, reset):
        """Rows that count, and their weights; None where all are 1."""
        X = self._check_X(X, reset=reset, like=None if reset else self._like())
        weight = None
        if sample_weight is not None:
            weight = as_weights(sample_weight, X.shape[0]).astype(np.float64)
            present = weight > 0
            if not present.all():
                X, weight = X[present], weight[present]
        if reset and X.shape[0] < self.n_components:
            raise ValueError(
                f"{type(self).__name__}: Expected n_samples >= n_components but got "
                f"n_components={self.n_components}, n_samples={X.shape[0]}, not counting those of "
                "weight 0."
            )
        return X, weight

    # ---- fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the mixture by EM.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work.
        MemoryError
            If what must be held does not fit.
        """
        self._check_options()
        original = X
        X, weight = self._checked(X, sample_weight, reset=True)
        owner = type(self).__name__
        with single_threaded_blas(), Progress(self.verbose, self.callback, owner) as progress:
            frame, rows, scale = self._framed(X, weight)
            runs, given = self._runs(frame, rows)
            run = self._best(runs, frame, rows, min(_SHORT_RUN, self.max_iter), progress)
            self._climb(run, frame, rows, self.max_iter, progress)
            if not given:
                run = self._rescued(run, frame, rows, progress)
                order = np.argsort(-run.parameters.weights, kind="stable")
                run.parameters = self._arranged(run.parameters, order, frame)
                run.collapsed = np.flatnonzero(np.isin(order, run.collapsed))
                run.reseeded = np.flatnonzero(np.isin(order, run.reseeded))
        self._set_fitted(
            original,
            **self._attributes(run.parameters, frame),
            log_likelihood_trace_=np.array(run.trace),
            lower_bound_=run.level,
            n_iter_=len(run.trace),
            converged_=run.converged,
            collapsed_components_=run.collapsed,
            total_weight_=float(np.ldexp(rows.total, scale)),
        )
        self._report(run)
        return self

    def _framed(self, X, weight):
        """The frame, the rows, and the power of two that their weights were divided by."""
        weight, scale = scaled(weight)
        frame = self._frame(X, weight)
        return frame, self._rows(X, weight, frame), scale

    def _runs(self, frame, rows):
        """The starts, and whether they were given, in the user's order of components."""
        if self.warm_start and hasattr(self, "weights_"):
            if self._fits(rows.X.shape[1]):
                return [Run(self._parameters(), self.lower_bound_)], True
        given = self._given(rows.X.shape[1])
        if all(value is not None for value in given):
            return [Run(self._start(frame, rows, None, given))], True
        rng = as_random_state(self.random_state)
        starts = [self._start(frame, rows, rng, given, i) for i in range(int(self.n_init))]
        return [Run(start) for start in starts], any(value is not None for value in given)

    def _climb(self, run, frame, rows, n_steps, progress):
        """Steps of EM until the mean log-likelihood moves by less than tol, or n_steps are done."""
        while len(run.trace) < n_steps and not run.converged:
            level, run.parameters, collapsed = self._step(rows, run.parameters, frame)
            change = level - run.level if level > -math.inf else math.inf
            run.trace.append(level)
            run.collapsed = np.flatnonzero(collapsed)
            progress.step(len(run.trace), level, change)
            run.converged = abs(change) < self.tol

    def _best(self, runs, frame, rows, n_steps, progress=None):
        """The best of some runs after a few steps each; the only one takes none."""
        if len(runs) > 1:
            self._climb_each(runs, frame, rows, n_steps, progress or Progress(False, None, ""))
        return max(runs, key=lambda run: run.rank) if len(runs) > 1 else runs[0]

    def _climb_each(self, runs, frame, rows, n_steps, progress):
        for run in runs:
            self._climb(run, frame, rows, n_steps, progress)

    def _rescued(self, run, frame, rows, progress):
        """The run, or one of fewer collapsed components: a few times these are started anew.

        Each time is a climb of its own, from where the run is: its trace begins there.
        """
        rng = as_random_state(self.random_state) if len(run.collapsed) else None
        for _ in range(_RESCUES):
            start = self._reseeded(run, frame, rows, rng) if len(run.collapsed) else None
            if start is None:
                break
            again = Run(start)
            again.reseeded = np.union1d(run.reseeded, run.collapsed)
            self._climb(again, frame, rows, self.max_iter, progress)
            if len(again.collapsed) < len(run.collapsed):
                run = again
        return run

    def _reseeded(self, run, frame, rows, rng):
        """Parameters of a run with others for its collapsed components, or None: they stay."""
        return None

    def _step(self, rows, parameters, frame):
        """Mean log-likelihood, the next parameters, and which components collapsed."""
        statistics = self._statistics(rows, parameters)
        level = statistics.log_likelihood / rows.total
        return level, *self._maximised(statistics, parameters, frame)

    def _report(self, run):
        owner = type(self).__name__
        if not run.converged and self.tol > 0 and self.max_iter > 0:
            warn(
                "ConvergenceWarning",
                f"{owner}: Best performing initialization did not converge. Try different init "
                "parameters, or increase max_iter, tol, or check for degenerate data. It stopped "
                f"after max_iter={self.max_iter} steps, before the mean log-likelihood moved by "
                f"less than tol={self.tol:g}.",
            )
        anew = (
            f"components {run.reseeded.tolist()} were started anew in place of collapsed ones"
            if len(run.reseeded)
            else ""
        )
        if len(run.collapsed):
            warn(
                "ConvergenceWarning",
                f"{owner}: components {run.collapsed.tolist()} have lost all their samples, or "
                "have shrunk to single points (see collapsed_components_): use fewer components, "
                f"another start, or a larger regularisation{anew and '; ' + anew}.",
            )
        elif anew:
            warn("ConvergenceWarning", f"{owner}: {anew}, and the fit is sound.")

    # ---- the same, by sums over blocks of rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the parameters to start from, as `fit` does, and take no step.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that stand for all: what is measured against the data's variances goes by these.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._check_options()
        original = X
        X, weight = self._checked(X, sample_weight, reset=True)
        with single_threaded_blas():
            frame, rows, _ = self._framed(X, weight)
            parameters = self._runs(frame, rows)[0][0].parameters
        self._set_fitted(original, **self._attributes(parameters, frame), **self._unfitted(0.0))
        return self

    def _unfitted(self, total_weight):
        """The attributes of a mixture that no step has led to."""
        return {
            "log_likelihood_trace_": np.zeros(0),
            "lower_bound_": -math.inf,
            "n_iter_": 0,
            "converged_": False,
            "collapsed_components_": np.zeros(0, np.intp),
            "total_weight_": total_weight,
        }

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the sums over the rows of `X` under the parameters now.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : NamedTuple
            Of a size that does not depend on the rows.
        """
        self._check_fitted()
        X, weight = self._checked(X, sample_weight, reset=False)
        weight, scale = scaled(weight)
        with single_threaded_blas():
            rows = self._rows(X, weight, self._fitted_frame())
            found = self._statistics(rows, self._parameters())
        return type(found)(*(np.ldexp(part, scale) for part in found)) if scale else found

    def merge(self, a: Any, b: Any) -> Any:
        """Return the sums over the rows of both.

        Parameters
        ----------
        a, b : NamedTuple
            From `partial_statistics`, under the same parameters.

        Returns
        -------
        statistics : NamedTuple
        """
        return merged(a, b)

    def update(self, statistics: Any) -> Self:
        """Replace the parameters by those the sums lead to: one step of EM.

        Parameters
        ----------
        statistics : NamedTuple
            From `partial_statistics`, merged over all rows.

        Returns
        -------
        self
        """
        self._check_fitted()
        own = self._expected(self._parameters())
        same = type(statistics) is type(own)
        if not same or list(map(np.shape, statistics)) != list(map(np.shape, own)):
            raise ValueError(
                f"{type(self).__name__}: statistics must come from partial_statistics of a mixture "
                "of the same kind, number of components and features."
            )
        if not 0 < statistics.mass.sum() < math.inf:
            raise ValueError(
                f"{type(self).__name__}: statistics have a mass of {statistics.mass.sum()}, but "
                "it must be positive and finite."
            )
        self._updated(statistics, statistics, float(statistics.mass.sum()))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the mixture towards new rows: one step of EM on them and on what is known so far.

        Earlier rows are stood for by the mixture itself. Of the weight of all rows seen, new ones
        get twice their share, since earlier ones were summed under worse parameters (the step
        sizes 2 / t of stepwise EM). On a new model the first rows are kept and `fit` to, again and
        again as they grow, until there are 100 for each component (twice as many as features, if
        these are more, for full and tied covariances); blocks of fewer never count for more than
        their share of so many. With less than `n_components` rows there is no mixture yet. A
        component that collapses on the way is told by a warning.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._check_options()
        k = int(self.n_components)
        if not hasattr(self, "weights_") or self._first_rows is not None:
            return self._take_first(X, sample_weight, k)
        new = self.partial_statistics(X, y, sample_weight)
        mass = float(new.mass.sum())
        seen = self.total_weight_ + mass
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        share = min(1.0, RECENT * mass / seen, RECENT * n / (k * self._enough(self.n_features_in_)))
        known = self._expected(self._parameters())
        mixed = type(new)(
            *(seen * (share / mass * a + (1 - share) * b) for a, b in zip(new, known, strict=True))
        )
        before = self._gone()
        self._updated(mixed, new, seen)
        lost = np.setdiff1d(self._gone(), before)
        if len(lost):
            warn(
                "ConvergenceWarning",
                f"{type(self).__name__}: components {lost.tolist()} have lost all their samples, "
                "or have shrunk to single points, and stay so (see collapsed_components_): use "
                "fewer components, larger blocks or a larger regularisation.",
            )
        return self

    def _gone(self):
        """Components that later rows will hardly bring back."""
        return self.collapsed_components_

    def _enough(self, n_features):
        matrices = getattr(self, "covariance_type", None) in ("full", "tied")
        return max(super()._enough(n_features), 2 * n_features if matrices else 0)

    def _updated(self, statistics, new, seen):
        frame = self._fitted_frame()
        parameters, collapsed = self._maximised(statistics, self._parameters(), frame)
        level = float(new.log_likelihood / new.mass.sum())
        change = level - self.lower_bound_ if level > -math.inf else math.inf
        changed = dict(
            self._attributes(parameters, frame),
            log_likelihood_trace_=np.append(self.log_likelihood_trace_, level),
            lower_bound_=level,
            n_iter_=self.n_iter_ + 1,
            converged_=bool(abs(change) < self.tol),
            collapsed_components_=np.flatnonzero(collapsed),
            total_weight_=seen,
        )
        self.__dict__ = {**vars(self), **changed}
