"""Models fitted by EM: in memory, by sums over blocks of rows, and row by row of a stream."""

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from mlcore.checks import (
    as_bool,
    as_integer,
    as_random_state,
    as_real,
    as_weights,
    require_random_state,
    scaled_weights,
)
from mlcore.checks.stored import stored
from mlcore.estimator import progress
from mlcore.estimator.first_rows import BeginsWithFirstRows
from mlcore.estimator.model import Model, warn
from mlcore.estimator.progress import Progress
from mlcore.mixture.components import Components
from mlcore.mixture.em import EM, RECENT, Fall, Run
from mlcore.row_sums import RowSums
from mlcore.runtime.threads import single_threaded_blas

_MANY_ROWS = 1e6  # whose sums are rounded as much as those of blocks, whose rows nobody counts
_SHORT_RUN = 10  # steps of each of several starts before one of them goes on


class Settings(NamedTuple):
    """The parameters of a fit by EM, checked."""

    n_components: int
    max_iter: int
    n_init: int
    short_run: int  # steps of each of several starts before the best goes on
    progress: Progress


class Evaluated(NamedTuple):
    """A fitted model on rows of a total weight `n`, for criteria of choice."""

    log_likelihood: float
    n: float
    n_parameters: int
    entropy: float  # of the components of the rows, NaN where they have none


@stored(version=1)
class Passes(NamedTuple):
    """State of a fit by sums over all rows, from `begin` to `finish`."""

    drawn: bool = False  # the start was drawn: `finish` sorts the components
    ties: Any = None  # tied values of the rows that `begin` saw
    before: Any = None  # parameters, if the step that led to them gained less than `tol`
    last: Any = None  # parameters to end with, since the next step would have gained less too
    _stored = {"drawn": "bool", "ties": "any", "before": "any", "last": "any"}


class EMModel(BeginsWithFirstRows, RowSums, Model):
    """Models fitted by EM. A subclass makes the components, and says what users may give of them.

    Attributes
    ----------
    weights_ : (k,)
        Probabilities of the components.
    log_likelihood_trace_, objective_trace_ : (n_iter_ + 1,) float64
    lower_bound_, objective_ : float
        The last of these.
    n_iter_ : int
    converged_ : bool
    collapsed_components_ : (n_collapsed,) intp
    """

    weights_: np.ndarray
    log_likelihood_trace_: np.ndarray
    lower_bound_: float
    n_iter_: int
    converged_: bool
    collapsed_components_: np.ndarray
    _run_ = None  # `Passes`, from `begin` on
    _total: ClassVar[str] = "total_weight_"  # attribute: the sum of the weights seen
    _places: ClassVar[frozenset[str]] = frozenset()  # attributes that are indices of components
    _of_fit: ClassVar[frozenset[str]] = frozenset()  # attributes that are of the rows of `fit`
    _stored = {
        "weights_": "float64 k",
        "log_likelihood_trace_": "float64 t?",
        "lower_bound_": "float",
        "n_iter_": "count",
        "converged_": "bool",
        "collapsed_components_": "int z? < k",
        "_run_": ("|", "none", Passes),
    }
    _older = {"_run_": (Passes, "drawn")}
    _kept_here = "callback", "_run_"
    set_callbacks = progress.set_callbacks
    _instead = {
        "verbose_interval": "drop it: verbose=1 prints a line a second, verbose=2 every step",
    }

    @property
    def objective_(self) -> float:
        """`lower_bound_`, which the fit maximises."""
        return self.lower_bound_

    @property
    def objective_trace_(self) -> np.ndarray:
        """`log_likelihood_trace_`, the objective at the start and after each step."""
        return self.log_likelihood_trace_

    def _check_loaded(self):
        """Refuse parameters of a fit over blocks that are not like those of the mixture."""
        for name in ("before", "last"):
            kept = getattr(self._run_, name, None)
            if kept is not None:
                own = self._fitted_components().parameters(self)
                if type(kept) is not type(own) or list(map(_form, kept)) != list(map(_form, own)):
                    raise ValueError(f"_run_.{name} are no parameters of this mixture.")

    # ---- what differs between mixtures

    def _components(self, X: Any, weight: np.ndarray | None) -> Components:
        """Return the components to fit to rows X (n, d) of weights `weight` (n,), None: all 1."""
        raise NotImplementedError

    def _fitted_components(self) -> Components:
        """Return the components of the fitted mixture."""
        raise NotImplementedError

    def _start_values(self, shape: tuple[int, int]) -> tuple[Any, ...]:
        """Return what the user gave of the parameters, checked, for ``Components.start``.

        `shape` is that of the rows.
        """
        raise NotImplementedError

    def _may_continue(self, components: Components) -> bool:
        """Return whether `components`, of new rows, may start from the fitted parameters."""
        raise NotImplementedError

    def _scaled(self, weight: np.ndarray | None) -> tuple[np.ndarray | None, int]:
        """Return weights over a power of two, so that the largest is below 1, and the power."""
        return scaled_weights(weight, plain=0)

    def _evaluated(self, X: Any, sample_weight: Any) -> Evaluated:
        """Return the likelihood of rows, and what criteria of choice charge for it."""
        raise NotImplementedError

    # ---- parameters

    def _settings(self) -> Settings:
        """Return the parameters of a fit, checked, as are all others but start values."""
        owner = type(self).__name__
        k = as_integer(self.n_components, "n_components", owner=owner, at_least=1)
        as_real(self.tol, "tol", owner=owner, at_least=0)
        max_iter = as_integer(self.max_iter, "max_iter", owner=owner, at_least=0)
        n_init = as_integer(self.n_init, "n_init", owner=owner, at_least=1)
        as_bool(self.warm_start, "warm_start", owner=owner)
        require_random_state(self.random_state, owner=owner)
        progress = Progress(self.verbose, self.callback, owner, self)
        return Settings(k, max_iter, n_init, min(_SHORT_RUN, max_iter), progress)

    def _checked(self, X, sample_weight, *, reset):
        """Return rows of positive weight, and their weights; None where all are 1."""
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

    def _like(self) -> np.ndarray | None:
        """Return an array of the type that rows are cast to; None keeps their own."""
        return None

    # ---- fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model by EM.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            2 is a copy, 0 is absence.

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters or data out of range, before any work.
        MemoryError
            If what must be held does not fit.
        """
        settings, original = self._settings(), X
        max_iter = settings.max_iter
        X, weight = self._checked(X, sample_weight, reset=True)
        with single_threaded_blas(), settings.progress as progress:
            em, scale = self._loop(X, weight, progress)
            runs, rng = self._starts(em)
            run = em.best(runs, settings.short_run) if max_iter else runs[0]
            em.advance(run, max_iter)
            if rng is not None:
                run = em.restart_collapsed(run, max_iter, rng)
            em.settle(run)
            if rng is not None:
                run.reorder(em.components, np.argsort(-run.parameters.weights, kind="stable"))
            attributes = em.components.attributes(run.parameters)
            attributes |= em.components.of_ties(run.parameters, run.spikes)
            attributes |= em.components.of_rows(em.rows, run.parameters)
        self._set_fitted(
            original,
            **attributes,
            log_likelihood_trace_=np.array(run.trace),
            lower_bound_=run.objective,
            n_iter_=run.n_steps,
            converged_=run.converged,
            collapsed_components_=run.collapsed,
            **{self._total: float(np.ldexp(em.rows.total, scale))},
        )
        self._report(run, em.components)
        return self

    def _loop(self, X, weight, progress=None):
        """Return the EM loop over the rows, and the power of two that weights were divided by."""
        weight, scale = self._scaled(weight)
        components = self._components(X, weight)
        components.weight_power = scale
        return EM(components, components.rows(X, weight), self.tol, progress), scale

    def _starts(self, em):
        """Return runs to start from, and the generator for later draws.

        It is None if the user gave part of the start: then no component is moved or restarted.
        """
        components = em.components
        if self.warm_start and hasattr(self, "weights_") and self._may_continue(components):
            return [Run(components.parameters(self))], None
        start_values = self._start_values(em.rows.X.shape)
        if all(value is not None for value in start_values):
            return [Run(components.start(em, start_values, None))], None
        rng = as_random_state(self.random_state)
        n_starts = int(self.n_init)
        runs = [Run(components.start(em, start_values, rng, i)) for i in range(n_starts)]
        return runs, None if any(value is not None for value in start_values) else rng

    def _report(self, run, components):
        """Warn of a fit that did not converge, whose objective fell, or whose components shrank."""
        owner = type(self).__name__
        if not run.converged and self.tol > 0 and self.max_iter > 0:
            warn(
                "ConvergenceWarning",
                f"{owner}: Best performing initialization did not converge. Try different init "
                "parameters, or increase max_iter, tol, or check for degenerate data. It stopped "
                f"after max_iter={self.max_iter} steps, before the mean log-likelihood moved by "
                f"less than tol={self.tol:g}.",
            )
        if run.fall is not None:
            self._warn_of_fall(run.fall, components.why_it_fell())
        if run.spikes is not None:
            self._report_spikes(run.spikes)
        self._report_collapsed(run, owner)

    def _report_spikes(self, spikes, known=()):
        """Warn of components on tied rows that are not `known` to be."""
        tied_rows = "; ".join(
            f"{np.array2string(value, precision=6, threshold=6)} {mass:g} times"
            for _, value, mass in zip(*spikes, strict=True)
        )
        if not set(spikes.component) <= set(known):
            warn(
                "ConvergenceWarning",
                f"{type(self).__name__}: components {spikes.component.tolist()} describe tied rows "
                f"({tied_rows}): their likelihood depends on reg_covar; see spikes_.",
            )

    def _report_collapsed(self, run, owner):
        anew, worse = "", run.replaced is not None and not run.objective >= run.replaced
        if len(run.restarted):
            anew = f"components {run.restarted.tolist()} were started anew in place of collapsed "
            anew += "ones"
        if worse:
            anew += (
                f": the mean log-likelihood is now {run.objective:.6g}, with those it was "
                f"{run.replaced:.6g}"
            )
        if len(run.collapsed):
            warn(
                "ConvergenceWarning",
                f"{owner}: components {run.collapsed.tolist()} have lost all their samples, or "
                "have shrunk to single points (see collapsed_components_): use fewer components, "
                f"another start, or a larger regularisation{anew and '; ' + anew}.",
            )
        elif anew:
            sound = "" if worse else ", and the fit is sound"
            warn("ConvergenceWarning", f"{owner}: {anew}{sound}.")

    # ---- the same, by sums over blocks of rows

    def begin(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the parameters to start from, as `fit` does, and take no step.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
            Rows that stand for all: what is measured against the data's variances goes by these.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
            This model.
        """
        self._settings()
        original = X
        X, weight = self._checked(X, sample_weight, reset=True)
        with single_threaded_blas():
            em, _ = self._loop(X, weight)
            runs, rng = self._starts(em)
        parameters = em.components.for_any_rows(runs[0].parameters)
        self._set_unfitted(original, em.components, parameters, total_weight=0.0)
        self._update_state({"_run_": Passes(rng is not None, em.components.ties(em.rows))})
        return self

    @single_threaded_blas()
    def _set_unfitted(self, X_original, components, parameters, *, total_weight):
        """Set the fitted attributes to parameters that no step has led to."""
        self._set_fitted(
            X_original,
            **components.attributes(parameters),
            **components.of_ties(parameters, None),
            log_likelihood_trace_=np.zeros(0),
            lower_bound_=-math.inf,
            n_iter_=0,
            converged_=False,
            collapsed_components_=np.zeros(0, np.intp),
            **{self._total: total_weight},
        )

    def partial_statistics(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the sums over the rows of `X` under the parameters now.

        Parameters
        ----------
        X : array-like or sparse of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        statistics : NamedTuple
            Of a size that does not depend on the rows.
        """
        self._check_fitted()
        X, weight = self._checked(X, sample_weight, reset=False)
        weight, scale = scaled_weights(weight, plain=0)
        with single_threaded_blas():
            components = self._fitted_components()
            sums = components.statistics(components.rows(X, weight), components.parameters(self))
        return type(sums)(*(np.ldexp(part, scale) for part in sums)) if scale else sums

    def update(self, statistics: Any) -> Self:
        """Replace the parameters by those the sums lead to: one step of EM.

        `log_likelihood_trace_` grows by the value before the step; `converged_` tells if two steps
        have gained less than `tol`.

        Parameters
        ----------
        statistics : NamedTuple
            From `partial_statistics`, merged over all rows.

        Returns
        -------
        self
            This model.
        """
        self._check_fitted()
        self._require_alike(statistics)
        components = self._fitted_components()
        before, run = components.parameters(self), self._run_ or Passes()
        objective, change = self._objective_of(statistics, components, before)
        small = abs(change) < self.tol
        trace = np.append(self.log_likelihood_trace_, objective)
        seen = float(statistics.mass.sum())
        self._move(components, statistics, seen, run.ties)
        last = run.before if small else None
        run = run._replace(before=before if small else None, last=last)
        state = {"lower_bound_": objective, "converged_": last is not None, "_run_": run}
        self._update_state(state | {"log_likelihood_trace_": trace})
        return self

    def _objective_of(self, statistics, components, parameters):
        """Return the objective of the parameters, and its change; warn if it fell."""
        mass, before = float(statistics.mass.sum()), self.lower_bound_
        objective = float(statistics.log_likelihood / mass)
        objective += components.log_prior(parameters) / mass
        change = objective - before if before > -math.inf else math.inf
        explained = 2 * components.rounding(parameters, objective, max(mass, _MANY_ROWS))
        if -change > (explained if components.exact else max(explained, self.tol)):
            reason = f"{components.why_it_fell()}, or the rows have changed from pass to pass"
            self._warn_of_fall(Fall(len(self.log_likelihood_trace_), -change), reason)
        return objective, change

    def _warn_of_fall(self, fall, reason):
        warn(
            "ConvergenceWarning",
            f"{type(self).__name__}: the mean log-likelihood fell by {fall.size:.3g} in step "
            f"{fall.step}, which rounding does not explain: {reason}.",
        )

    def _require_alike(self, statistics):
        """Refuse statistics that are not of such a mixture, or without mass."""
        own = self._expected()
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

    def needs_finishing_pass(self) -> bool:
        """Return True if the objective of the last parameters is not known yet.

        Returns
        -------
        needed : bool
            Whether `finish` needs the sums over all rows.
        """
        return not self.converged_

    def finish(self, total: Any = None) -> None:
        """End a fit by `update` as `fit` ends: last objective, order of components, warnings.

        Parameters
        ----------
        total : NamedTuple, optional
            Sums over all rows, if `needs_finishing_pass`.
        """
        components, passes = self._fitted_components(), self._run_ or Passes()
        last, n_iter, trace = passes.last, self.n_iter_, self.log_likelihood_trace_
        # The objective of the last parameters, and the step before if the fit has converged there.
        if total is not None:
            objective, change = self._objective_of(total, components, components.parameters(self))
            n_iter, trace = n_iter + 1, np.append(trace, objective)
            last = passes.before if abs(change) < self.tol else None
        if last is not None:  # the last objective is that of the step which is not taken
            n_iter, trace = n_iter - 1, trace[:-1]
            self._update_state(components.attributes(last) | {"converged_": True})
        self._update_state(
            {
                "log_likelihood_trace_": trace,
                "lower_bound_": trace[-1],
                "n_iter_": n_iter - 1,
                "_run_": passes._replace(before=None, last=None),
            }
        )
        # The order of components, and warnings.
        run = Run(components.parameters(self))
        run.converged, run.collapsed = self.converged_, self.collapsed_components_
        run.spikes = getattr(self, "spikes_", None)
        places = {name: getattr(self, name) for name in self._places & vars(self).keys()}
        if passes.drawn:
            order = np.argsort(-run.parameters.weights, kind="stable")
            run.reorder(components, order)
            places = {name: np.flatnonzero(np.isin(order, old)) for name, old in places.items()}
        changed = components.attributes(run.parameters) | places
        changed |= components.of_ties(run.parameters, run.spikes)
        self._update_state(changed | {"collapsed_components_": run.collapsed})
        self._report(run, components)

    # ---- partial_fit

    def _waits(self):
        return not hasattr(self, "weights_")

    def _step(self, X, sample_weight):
        # Sums of the new rows, mixed with those that the mixture stands for.
        new = self.partial_statistics(X, sample_weight=sample_weight)
        self._require_alike(new)
        mass = float(new.mass.sum())
        seen = getattr(self, self._total) + mass
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        share = min(1.0, RECENT * mass / seen, self._most_share(n))
        known = self._expected()
        mixed = type(new)(
            *(seen * (share / mass * a + (1 - share) * b) for a, b in zip(new, known, strict=True))
        )
        # The step they lead to, and the objective before it.
        before, spikes = self._gone(), getattr(self, "spikes_", None)
        components = self._fitted_components()
        objective = float(new.log_likelihood / mass)
        objective += components.log_prior(components.parameters(self)) / seen
        trace = np.append(self.log_likelihood_trace_, objective)
        ties = self._ties_with(components, X, sample_weight, share)
        self._move(components, mixed, seen, ties)
        passes = (self._run_ or Passes())._replace(before=None, last=None)
        self._update_state(
            {"log_likelihood_trace_": trace, "lower_bound_": objective, "_run_": passes}
        )
        # What the step has lost.
        lost = np.setdiff1d(self._gone(), before)
        if len(lost):
            warn(
                "ConvergenceWarning",
                f"{type(self).__name__}: components {lost.tolist()} have lost all their samples, "
                "or have shrunk to single points, and stay so (see collapsed_components_): use "
                "fewer components, larger blocks or a larger regularisation.",
            )
        if spikes is not None:
            self._report_spikes(self.spikes_, spikes.component)

    def _fitted_to_first(self, X, weight):
        # A warm start would keep the poor fit to fewer rows.
        model = type(self)(**self.get_params(deep=False) | {"warm_start": False})
        return model.fit(X, sample_weight=weight).set_params(warm_start=self.warm_start)

    def _most_share(self, n_rows):
        """Return the largest share of all weight that so many new rows may have in a step."""
        return RECENT * n_rows / (len(self.weights_) * self._enough(self.n_features_in_))

    # ---- steps by sums

    def _expected(self):
        """Return statistics of mass 1 that stand for the rows seen so far."""
        components = self._fitted_components()
        return components.expected(components.parameters(self), getattr(self, self._total))

    def _gone(self):
        """Return the components that later rows will hardly bring back."""
        if self._fitted_components().collapsed_may_grow:
            return np.flatnonzero(self.weights_ == 0)
        return self.collapsed_components_

    def _ties_with(self, components, X, sample_weight, share):
        """Return the tied values of new rows, which make up `share`, and of those seen before."""
        spikes = getattr(self, "spikes_", None)
        if spikes is None:
            return None
        X, weight = self._checked(X, sample_weight, reset=False)
        earlier = spikes.value, spikes.mass / getattr(self, self._total)
        return components.ties(components.rows(X, weight), earlier, share)

    def _move(self, components, statistics, seen, ties):
        """Take the step that statistics lead to, where rows have `ties`."""
        before = components.parameters(self)
        parameters, shrunk = components.maximize(statistics, before)
        collapsed, spikes = np.flatnonzero(shrunk), None
        if ties is not None and len(collapsed):
            spikes = components.spikes(ties, parameters, collapsed, statistics.mass)
            collapsed = np.setdiff1d(collapsed, spikes.component)
        changed = dict(
            components.attributes(parameters),
            **components.of_ties(parameters, spikes),
            **components.of_sums(statistics, before, parameters),
            n_iter_=self.n_iter_ + 1,
            converged_=False,
            collapsed_components_=collapsed,
        )
        changed[self._total] = seen
        self._update_state(changed, forget=self._of_fit & vars(self).keys())


def _form(value):
    if isinstance(value, list | tuple):  # parameters of parts
        return type(value), list(map(_form, value))
    return getattr(value, "dtype", None), np.shape(value)
