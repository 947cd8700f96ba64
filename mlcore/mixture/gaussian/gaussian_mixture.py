"""Mixtures of Gaussians."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mlcore.checks import as_bool, as_integer, as_random_state, as_real
from mlcore.checks.arrays import require_finite
from mlcore.checks.missing import Missing
from mlcore.estimator.model import warn
from mlcore.kernels.structured.mixture_scores import ScoreTable
from mlcore.mixture import start_values
from mlcore.mixture.gaussian.components import GaussianComponents
from mlcore.mixture.gaussian.conditionals import conditional, covariances_given_known, marginal
from mlcore.mixture.gaussian.covariances import CovarianceName, as_covariance_type
from mlcore.mixture.gaussian.families.m_steps import decomposed
from mlcore.mixture.gaussian.parameters import DataScale, Parameters, data_scale
from mlcore.mixture.gaussian.spikes import Spikes, no_spikes
from mlcore.mixture.mixture import InitParams, Mixture
from mlcore.runtime.threads import single_threaded_blas

_PAIRS = 5  # of features that a warning names


class GaussianMixture(Mixture):
    r"""Fit a mixture of Gaussians by EM, and say how far it has come.

    .. math:: p(x) = \sum_j \pi_j N(x; m_j, S_j)

    The sum of the log-densities of all rows never decreases from step to step but by rounding, for
    float32 rows that of float32; a warning tells of any other fall. Responsibilities
    are kept for a block of rows at a time: a step takes O(n k d²) time (O(n k d) but for full
    covariances), less where components are far from each other, and O(n) memory beside the data.

    Parameters
    ----------
    n_components : int, default=1
    covariance_type : str, default="full"
        "full", "tied", "diag", "spherical": one matrix each, one matrix for all, variances by
        feature, or one variance each. Or the name of one of mclust's families of l D A Dᵀ, volume
        l, shape A of determinant 1, orientation D a rotation: "EII", "VII", "EEI", "VEI", "EVI",
        "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV" or "VVV", where letter by letter E is
        equal in all components, V varies, and I is the identity.
    tol : float, default=1e-3
        The fit has converged when the mean log-likelihood of a sample moves by less in a step, and
        would in the next; 0 takes exactly `max_iter` steps.
    reg_covar : float or None, default=None
        A number is added to every variance, as in scikit-learn: it is in the data's own units
        squared, and the likelihood may then decrease: by more than `tol` in a step with a warning.
        None keeps every covariance at least a millionth of the variances of the data, so that the
        unit of a feature does not matter; the likelihood is maximised within this limit exactly.
        VEI, EVI, VEE, EVE, VVE, EEV, VEV and EVV raise the scatter of each component to the limit
        and take the likeliest covariances for that: where `limited_` names components, the
        likelihood may decrease by as little, with a warning.
        Whatever the value, covariances that rounding leaves singular are raised until they are
        not. For values rounded to multiples of h, ``h**2 / 12`` is what rounding adds to variances.
    max_iter : int, default=100
        Most steps of EM; 0 keeps the start.
    n_init : int, default=1
        Starts; more than one are followed for ten steps each, and the best goes on. With
        ``reg_covar=None`` one on which fewer components collapse is better.
    init_params : {"k-means++", "kmeans", "random", "random_from_data"}, default="k-means++"
        "kmeans": start from clusters, the best of three runs of k-means on at most some thousand
        rows, with features of unit variance (spherical: as they are; full and tied, every second
        start: uncorrelated too). "k-means++": again, with unit variances within these clusters;
        where the two differ, of three clusterings the one of best likelihood after two EM steps.
        "random", "random_from_data": rows drawn by their weights, with the covariance of the whole.
    missing : {"error", "ignore"}, default="error"
        Whether NaN is refused, or a missing value, by EM that is exact where values are missing
        at random: a row counts by the density of its known values. A row and component take
        O(d²) time and O(u³) for u missing values, shared by rows with the same ones missing.
    weights_init : (n_components,), default=None
    means_init : (n_components, n_features), default=None
    precisions_init : array of a shape that goes with `covariance_type`, default=None
        Given starts, as in scikit-learn; those left out follow from the others.
    random_state : None, int, Generator or RandomState, default=None
    warm_start : bool, default=False
        Start `fit` where the previous one ended, if that was of the same shape.
    verbose : bool or int, default=False
        1 prints about one line a second, 2 every step.
    callback : callable or None, default=None
        Called with ``step=, objective=, change=, seconds=`` after every step, the objective being
        the mean log-likelihood; raising stops the fit.

    Attributes
    ----------
    weights_ : (n_components,) float64
        Descending, unless part of the start was given: then in the order given.
    means_ : (n_components, n_features) float64
    covariances_ : float64
        (n_components, n_features, n_features) if full, (n_features, n_features) if tied,
        (n_components, n_features) if diag, (n_components,) if spherical; for a family by its name
        always (n_components, n_features, n_features).
    precisions_, precisions_cholesky_ : float64
        Inverses, and the upper triangular P with P Pᵀ the inverse; for diag and spherical the
        inverses and their square roots.
    volumes_ : (n_components,) float64
        Of the covariances: the root of order n_features of their determinants.
    shapes_ : (n_components, n_features) float64
        Variances along the axes over the volume, descending: their product is 1.
    orientations_ : (n_components, n_features, n_features) float64
        Axes, as columns, in the order of the shape; the entry of largest modulus is positive.
    limited_ : (n_limited,) intp
        Of a family whose limit is not exact (see `reg_covar`): components whose scatter, of the
        rows of `fit`, or in the last step, is below the limit of variances in some direction.
    orientation_residual_ : float
        Of EVE and VVE for this scatter, over all pairs of common axes the largest off-diagonal
        entry of the 2 x 2 matrix that the best rotation of the pair makes diagonal, over the norm
        of the matrix; 0 where no rotation raises the likelihood at first order.
    n_empty_rows_ : int
        After `fit`: rows of positive weight of which nothing is known. They change no optimum, but
        steps are shorter, and means and criteria count them; a warning tells.
    never_together_ : (n_pairs, 2) intp
        After `fit` of a type with correlations: pairs of features that no row has both of. The
        likelihood is flat in their correlation given the others, which stays what the start makes
        of it; a warning names them.
    covariance_type_ : str
        Of the fitted mixture.
    log_likelihood_trace_, objective_trace_ : (n_iter_ + 1,) float64
        Mean log-likelihood of a sample at the start, and after each step.
    lower_bound_, objective_ : float
        The last of these, that of the fitted parameters, in float64 whatever the rows.
    n_iter_ : int
        Steps that led to the parameters.
    converged_ : bool
    collapsed_components_ : (n_collapsed,) intp
        Components that lost all their samples, and have weight 0, or that shrank to single
        points, held up by the limit of `reg_covar`. Where no start is given, such are first
        started anew, from rows that are poorly explained, up to three times: if that leaves fewer
        of them, or with a number for `reg_covar` a greater likelihood, the fit and its trace are
        those of the new EM run. A warning names both.
    spikes_ : NamedTuple of component (n_spikes,), value (n_spikes, n_features), mass (n_spikes,)
        Components at the limit of `reg_covar` that did not collapse: at least 90 % of their mass is
        from rows of one value, at least 3 rows of total weight max(n_features + 2, 5). They are
        kept, and a warning names them, since the likelihood goes by the limit: compare only fits of
        the same.
    flat_directions_ : (n_found, 2) intp
        Components with variances at the limit in some directions only, and the number of these:
        values that are tied in some features, or features that depend on each other.
    total_weight_ : float
        Of the samples seen.
    origin_ : (n_features,) of the type of the data
        A point near the data that moments are taken about.
    data_variances_ : (n_features,) float64
        Variances of the data.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    References
    ----------
    A. Dempster, N. Laird, D. Rubin, *Maximum likelihood from incomplete data via the EM algorithm*,
    JRSS B 39, 1977. C. Biernacki, G. Celeux, G. Govaert, *Choosing starting values for the EM
    algorithm*, CSDA 41, 2003. O. Cappé, E. Moulines, *On-line EM algorithm for latent data models*,
    JRSS B 71, 2009 (`partial_fit`). G. Celeux, G. Govaert, *Gaussian parsimonious clustering
    models*, Pattern Recognition 28, 1995 (families). R. Browne, P. McNicholas, *Estimating common
    principal components in high dimensions*, ADAC 8, 2014 (EVE and VVE).

    Examples
    --------
    >>> from mlcore.mixture import GaussianMixture
    >>> X = [[0.0], [0.2], [0.4], [9.0], [9.2]]
    >>> mixture = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> mixture.means_.round(3)
    array([[0.2],
           [9.1]])
    >>> mixture.predict([[1.0], [8.0]])
    array([0, 1])
    """

    means_: np.ndarray
    covariances_: np.ndarray
    precisions_: np.ndarray
    precisions_cholesky_: np.ndarray
    covariance_type_: CovarianceName
    origin_: np.ndarray
    data_variances_: np.ndarray
    flat_directions_: np.ndarray
    spikes_: Spikes
    limited_: np.ndarray
    orientation_residual_: float
    n_empty_rows_: int
    never_together_: np.ndarray
    _places = frozenset({"limited_"})
    _of_fit = frozenset({"n_empty_rows_", "never_together_"})
    _stored = {
        "means_": "float64 k f",
        "covariance_type_": "text",
        "covariances_": "float64 k f f | float64 f f | float64 k f | float64 k",
        "precisions_": "float64 k f f | float64 f f | float64 k f | float64 k",
        "precisions_cholesky_": "float64 k f f | float64 f f | float64 k f | float64 k",
        "origin_": "float f",
        "data_variances_": "float64 f",
        "flat_directions_": "int64 flat? 2",
        "limited_": "int64 limited? < k",
        "orientation_residual_": "float",
        "n_empty_rows_": "count",
        "never_together_": "int64 pairs? 2 < f",
        "spikes_": Spikes,
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: CovarianceName = "full",
        tol: float = 1e-3,
        reg_covar: float | None = None,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: InitParams = "k-means++",
        missing: Missing = "error",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.missing = missing
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    @classmethod
    def from_parameters(
        cls, weights: Any, means: Any, covariances: Any, covariance_type: CovarianceName = "full"
    ) -> Self:
        """Return a mixture of known parameters, ready to predict, sample or go on fitting.

        Parameters
        ----------
        weights : (n_components,)
        means : (n_components, n_features)
        covariances : array of a shape that goes with `covariance_type`
        covariance_type : str, default="full"
            As in the constructor.

        Returns
        -------
        mixture : GaussianMixture

        Raises
        ------
        TypeError, ValueError
            If the shapes do not agree, weights are no probabilities, or a covariance is not
            symmetric and positive definite, or not of the family within 1e-8.
        """
        family = as_covariance_type(covariance_type, cls.__name__)
        means = start_values.means(means, "means")
        k, d = means.shape
        weights = start_values.weights(weights, "weights", k)
        sigma = family.checked(covariances, "covariances", k, d)
        factors = family.factors_of(sigma)
        if factors is None:
            raise family.not_positive("covariances")
        origin = weights @ means
        total_variances = weights @ (family.variances(sigma, k, d) + (means - origin) ** 2)
        model = cls(n_components=k, covariance_type=family.name)
        components = model._of_scale(k, family, DataScale(origin, total_variances))
        parameters = Parameters(weights, means, sigma, factors)
        model._set_unfitted(means, components, parameters, total_weight=1.0)
        return model

    @property
    def volumes_(self) -> np.ndarray:
        """Volumes of the covariances, (n_components,)."""
        return self._decomposed()[0]

    @property
    def shapes_(self) -> np.ndarray:
        """Variances along the axes over the volume, (n_components, n_features)."""
        return self._decomposed()[1]

    @property
    def orientations_(self) -> np.ndarray:
        """Axes of the covariances, as columns, (n_components, n_features, n_features)."""
        return self._decomposed()[2]

    def _decomposed(self):
        """Return volumes, shapes and orientations of the covariances."""
        k, d = self.means_.shape
        family = as_covariance_type(self.covariance_type_)
        values = family.as_matrices(family.internal(self.covariances_), k, d)
        return decomposed(family.family, values)

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return rows drawn from the mixture by `random_state`, and their components, in order.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : (n_samples, n_features)
            Ordered by component.
        labels : (n_samples,) intp
            Component of each row.
        """
        self._check_fitted()
        n = self._n_drawn(n_samples)
        rng = as_random_state(self.random_state)
        k, d = self.means_.shape
        counts = rng.multinomial(n, self.weights_ / self.weights_.sum())
        labels = np.repeat(np.arange(k), counts)
        X, family, stop = rng.normal(size=(n, d)), as_covariance_type(self.covariance_type_), 0
        factors = family.internal(self.precisions_cholesky_)
        for j, count in enumerate(counts):
            own, stop = slice(stop, stop + count), stop + count
            X[own] = family.correlated(X[own], family.factor(factors, j))
        X += self.means_[labels]
        return X.astype(self.origin_.dtype), labels

    def impute(self, X: Any, *, n_draws: int | None = None, random_state: Any = None) -> np.ndarray:
        """Return the rows with each missing value, NaN, replaced by its mean given the known ones.

        The mean is over the components, by their probabilities given the known values. What is
        known is kept bit for bit. It takes ``missing="ignore"``, and the time of a step of EM, with
        draws that of one for each. Draws, unlike means, vary as the values do: estimates from each
        of several, put together, count what is not known (multiple imputation, but for the errors
        of the parameters).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_draws : int, optional
            In place of the mean, so many draws from the distribution given the known values.
        random_state : None, int, Generator or RandomState, default=None
            Of the draws.

        Returns
        -------
        values : (n_samples, n_features), or (n_draws, n_samples, n_features)
            A new array, of the type of the checked rows.

        Raises
        ------
        ValueError
            If X has NaN and `missing` is "error", or the number of features differs.

        Examples
        --------
        >>> from mlcore.mixture import GaussianMixture
        >>> covariances = [[[1.0, 0.5], [0.5, 1.0]]]
        >>> mixture = GaussianMixture.from_parameters([1.0], [[0.0, 0.0]], covariances)
        >>> mixture.set_params(missing="ignore").impute([[2.0, float("nan")]])
        array([[2., 1.]])
        """
        self._check_fitted()
        X = self._check_X(X, reset=False, like=self._like())
        components = self._fitted_components()
        parameters = components.parameters(self)
        if n_draws is not None:
            owner = type(self).__name__
            n_draws = as_integer(n_draws, "n_draws", owner=owner, at_least=1)
            rng = as_random_state(random_state)
            with single_threaded_blas():
                return components.drawn_given(X, parameters, n_draws, rng)
        with single_threaded_blas():
            return components.imputed(X, parameters)

    def conditional_mean(self, X: Any, *, return_cov: bool = False) -> Any:
        """Return the means of the rows given what is known of them, as `impute`, and covariances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN for what is missing, which takes ``missing="ignore"``.
        return_cov : bool, default=False
            Return the covariances too, in O(n_components n_features³) time for each set of missing
            features.

        Returns
        -------
        mean : (n_samples, n_features)
            Known values, and expectations of the others given these.
        covariances : (n_samples, n_features, n_features) float64
            Only with `return_cov`; 0 for known values.

        Raises
        ------
        ValueError
            If X has NaN and `missing` is "error", or the number of features differs.
        MemoryError
            If the covariances do not fit into memory.

        Examples
        --------
        >>> from mlcore.mixture import GaussianMixture
        >>> covariances = [[[1.0, 0.5], [0.5, 1.0]]]
        >>> mixture = GaussianMixture.from_parameters([1.0], [[0.0, 0.0]], covariances)
        >>> mixture = mixture.set_params(missing="ignore")
        >>> mixture.conditional_mean([[2.0, float("nan")]], return_cov=True)[1]
        array([[[0.  , 0.  ],
                [0.  , 0.75]]])
        """
        mean = self.impute(X)
        if not as_bool(return_cov, "return_cov", owner=type(self).__name__):
            return mean
        X = self._check_X(X, reset=False, like=self._like())
        family = as_covariance_type(self.covariance_type_)
        with single_threaded_blas():
            parameters = self._fitted_components().parameters(self)
            return mean, covariances_given_known(X, parameters, family)

    def marginal(self, features: Any) -> "GaussianMixture":
        """Return the mixture of some features.

        Parameters
        ----------
        features : (n_chosen,) int
            Indices of features, each at most once; the new features are in this order.

        Returns
        -------
        mixture : GaussianMixture
            As of `from_parameters`: of VVV or VVI where the family is not one of some features too.

        Raises
        ------
        ValueError
            If `features` is empty or no list of different indices of features.
        """
        self._check_fitted()
        d = self.means_.shape[1]
        chosen = _as_features(features, "features", d, d, type(self).__name__)
        parameters = self._fitted_components().parameters(self)
        family = as_covariance_type(self.covariance_type_)
        return self._of_features(marginal(parameters, family, chosen))

    def conditional(self, known: Any, values: Any) -> "GaussianMixture":
        """Return the mixture of the other features, given the values of some.

        Parameters
        ----------
        known : (n_known,) int
            Indices of features, each at most once, and not all.
        values : (n_known,)
            Their values.

        Returns
        -------
        mixture : GaussianMixture
            As of `from_parameters`: of the other features, in the order they have here, and of VVV
            or VVI where the family is not one of some features too.

        Raises
        ------
        ValueError
            If `known` is empty, no list of different indices, or has all features, or `values` are
            not as many finite numbers.

        Examples
        --------
        >>> from mlcore.mixture import GaussianMixture
        >>> covariances = [[[1.0, 0.5], [0.5, 1.0]]]
        >>> mixture = GaussianMixture.from_parameters([1.0], [[0.0, 0.0]], covariances)
        >>> mixture.conditional([0], [2.0]).means_
        array([[1.]])
        """
        self._check_fitted()
        owner, d = type(self).__name__, self.means_.shape[1]
        chosen = _as_features(known, "known", d, d - 1, owner)
        given = start_values.finite_array(values, "values", chosen.shape, f"{owner}: ")
        require_finite(given[None], "values", owner)
        parameters = self._fitted_components().parameters(self)
        family = as_covariance_type(self.covariance_type_)
        weights, means, sigma = conditional(parameters, family, chosen, given[None])
        return self._of_features((weights[0], means[0], sigma))

    def _of_features(self, parts):
        weights, means, sigma = parts
        family = as_covariance_type(self.covariance_type_)
        matrices = family.published(sigma, *means.shape)
        return type(self).from_parameters(weights, means, matrices, family.of_some_features)

    def update(self, statistics: Any) -> Self:
        """Replace the parameters by those the sums lead to: one step of EM.

        The first step after `begin` takes `data_variances_` from the sums, which are over all rows.

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
        if self.n_iter_ == 0 and self._run_ is not None:
            family = as_covariance_type(self.covariance_type_)
            variances = family.total_variances(statistics, self.means_, self.origin_)
            self._update_state({"data_variances_": variances})
        return super().update(statistics)

    # ---- what Mixture asks for

    def _from_older_state(self, state):
        """0.2 knew of no spikes."""
        if "means_" in state and "spikes_" not in state:
            state["spikes_"] = no_spikes(state["means_"].shape[1])
            state["flat_directions_"] = np.zeros((0, 2), np.intp)
        return super()._from_older_state(state)

    def _check_loaded(self):
        """Refuse covariances of another kind."""
        super()._check_loaded()
        state = vars(self)
        if "means_" not in state:
            return
        shape = as_covariance_type(self.covariance_type_).given_shape(*self.means_.shape)
        for name in ("covariances_", "precisions_", "precisions_cholesky_"):
            if name in state and state[name].shape != shape:
                raise ValueError(f"{name} are not of the kind {self.covariance_type_!r}.")

    def _report(self, run, components):
        super()._report(run, components)
        if self.tol and not components.resolves(run.parameters, self.tol):
            warn(
                "ConvergenceWarning",
                f"{type(self).__name__}: variances along the axes of components differ by so much "
                f"that rounding may move the likelihood by more than tol={self.tol:g}: scale the "
                "features, or choose a covariance_type that does not depend on their units, such "
                "as 'VVV' or 'EVV'.",
            )
        owner, n_empty = type(self).__name__, getattr(self, "n_empty_rows_", 0)
        if n_empty:
            warn(
                "UserWarning",
                f"{owner}: rows without a known value: {n_empty} (see n_empty_rows_). They tell "
                "nothing of the components, and slow the fit: leave them out.",
            )
        pairs = getattr(self, "never_together_", ())
        if len(pairs):
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_)).tolist()
            some = ", ".join(f"{names[i]!r} and {names[j]!r}" for i, j in pairs[:_PAIRS].tolist())
            some += ", ..." if len(pairs) > _PAIRS else ""
            warn(
                "UserWarning",
                f"{owner}: pairs of features that no row has both of: {len(pairs)}, {some} (see "
                "never_together_). The rows do not tell their correlation given the others, which "
                "stays what the start makes of it: do not interpret it.",
            )

    def _settings(self):
        settings = super()._settings()
        owner = type(self).__name__
        as_covariance_type(self.covariance_type, owner)
        if self.reg_covar is not None:
            as_real(self.reg_covar, "reg_covar", owner=owner, at_least=0)
        return settings

    def _like(self):
        return self.origin_

    def _enough(self, n_features):
        family = as_covariance_type(self.covariance_type)
        return max(super()._enough(n_features), family.rows_of_a_component(n_features))

    def _components(self, X, weight):
        scale = data_scale(X, weight, type(self).__name__)
        family = as_covariance_type(self.covariance_type)
        return self._of_scale(int(self.n_components), family, scale)

    def _fitted_components(self):
        scale = DataScale(self.origin_, self.data_variances_)
        return self._of_scale(len(self.weights_), as_covariance_type(self.covariance_type_), scale)

    def _of_scale(self, n_components, family, scale):
        reg_covar = None if self.reg_covar is None else float(self.reg_covar)
        return GaussianComponents(
            n_components,
            family,
            reg_covar,
            scale,
            self.init_params,
            self.missing == "ignore",
            type(self).__name__,
        )

    def _start_values(self, shape):
        """Weights, means, and covariances with factors, as far as they are given."""
        owner, k, d = type(self).__name__, int(self.n_components), shape[1]
        weights = means = shapes = None
        if self.weights_init is not None:
            weights = start_values.weights(self.weights_init, "weights_init", k, owner)
        if self.means_init is not None:
            means = start_values.means(self.means_init, "means_init", (k, d), owner)
        if self.precisions_init is not None:
            family = as_covariance_type(self.covariance_type)
            values = family.checked(self.precisions_init, "precisions_init", k, d, owner)
            shapes = family.from_precisions(values)
            if shapes is None:
                raise family.not_positive("precisions_init", owner)
        return weights, means, shapes

    def _may_continue(self, components):
        same = self.covariance_type_ == self.covariance_type
        return same and self.means_.shape == (self.n_components, len(components.scale.origin))

    # ---- what FisherVectors asks for

    def _require_scores(self):
        name = getattr(self, "covariance_type_", self.covariance_type)
        if as_covariance_type(name).score_scales is None:
            raise ValueError(
                f"{type(self).__name__}: covariance_type={name!r} has no scores by feature: choose "
                "'diag' or 'spherical'."
            )

    def _score_table(self):
        k, d = self.means_.shape
        family = as_covariance_type(self.covariance_type_)
        factors = family.internal(self.precisions_cholesky_).reshape(k, -1)
        factors = np.ascontiguousarray(np.broadcast_to(factors, (k, d)))
        return ScoreTable(self.means_, factors, family.score_scales)


def _as_features(values, name, n_features, most, owner):
    """Return indices of 1 to `most` different features."""
    indices = np.asarray(values)
    if (
        indices.ndim != 1
        or indices.dtype.kind not in "iu"
        or not 1 <= len(indices) <= most
        or not ((indices >= 0) & (indices < n_features)).all()
        or len(np.unique(indices)) < len(indices)
    ):
        raise ValueError(
            f"{owner}: {name}={values!r} must be a list of 1 to {most} different integers from 0 "
            f"to {n_features - 1}."
        )
    return indices.astype(np.intp)
