"""Mixtures whose columns are of several kinds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlcore.checks import as_random_state, as_real, check_column_names, column_names
from mlcore.checks.arrays import columns_of
from mlcore.checks.missing import Missing
from mlcore.mixture.discrete.bernoulli import BernoulliMixture
from mlcore.mixture.discrete.categorical import CategoricalMixture, Unknown
from mlcore.mixture.discrete.multinomial import MultinomialMixture
from mlcore.mixture.gaussian.covariances import CovarianceName, as_covariance_type
from mlcore.mixture.gaussian.gaussian_mixture import GaussianMixture
from mlcore.mixture.mixed_components import MixedComponents, MixedRows
from mlcore.mixture.mixture import Mixture
from mlcore.numerics.columns.categories import as_table
from mlcore.numerics.columns.column_kinds import column_kinds, require_kinds
from mlcore.row_sums import twin

_KINDS = {
    "gaussian": GaussianMixture,
    "bernoulli": BernoulliMixture,
    "categorical": CategoricalMixture,
    "multinomial": MultinomialMixture,
}
_OF_PARTS = (
    "n_components",
    "covariance_type",
    "alpha",
    "binarize",
    "missing",
    "unknown",
    "reg_covar",
)


class MixedMixture(Mixture):
    r"""Mixture of columns of several kinds, which are independent given the component.

    .. math:: p(x) = \sum_j \lambda_j \prod_{\text{kinds}} p_j(x_{\text{kind}}),

    with a Gaussian for all columns of numbers together, of any covariance family, and the items of
    `CategoricalMixture`, `BernoulliMixture` and `MultinomialMixture`. Time of a step as of the
    parts'.

    Parameters
    ----------
    n_components : int, default=2
    columns : dict or None, default=None
        Lists of columns, by number or name, for some of the kinds "gaussian", "bernoulli",
        "categorical" and "multinomial" (counts of one total); each column of X stands in one list.
        None is "gaussian" for all.
    covariance_type, reg_covar : as in `GaussianMixture`
    alpha : float, default=0.01
        Pseudo-count of the others, as in `CategoricalMixture`.
    binarize : as in `BernoulliMixture`
    unknown : as in `CategoricalMixture`
    missing : {"error", "ignore"}, default="error"
        Whether NaN is refused, or a missing value; in columns of numbers if `covariance_type` has
        variances alone ("diag", "spherical", EII to VVI), never in counts.
    tol, max_iter, n_init, random_state, warm_start, verbose, callback : as in `GaussianMixture`

    Attributes
    ----------
    columns_ : dict of str to (n_columns,) intp
    parts_ : dict of str to mixture
        A mixture of the columns of each kind, with all its methods and attributes of parameters.
    weights_ : (n_components,) float64
    n_features_in_ : int
    feature_names_in_ : (n_features,) object
    others
        As in `GaussianMixture`.

    Notes
    -----
    Each kind of columns proposes a start; the best after a few steps goes on. Responsibilities are
    held for all rows, (n_samples, n_components).

    References
    ----------
    L. Hunt, M. Jorgensen, *Mixture model clustering using the MULTIMIX program*, Australian and New
    Zealand Journal of Statistics 41, 1999.

    Examples
    --------
    >>> from mlcore.mixture import MixedMixture
    >>> X = [[1.7, "red"], [1.9, "red"], [1.8, "red"], [4.2, "blue"], [4.4, "blue"]]
    >>> model = MixedMixture(2, columns={"gaussian": [0], "categorical": [1]}, random_state=0)
    >>> model.fit_predict(X)
    array([0, 0, 0, 1, 1])
    """

    _tags = {"input_tags.categorical": True, "input_tags.string": True}

    columns_: dict[str, np.ndarray]
    parts_: dict[str, Any]
    _stored = {"columns_": {"...": "int _ < f"}, "parts_": {"...": "model Mixture"}}

    def __init__(
        self,
        n_components: int = 2,
        *,
        columns: dict[str, Any] | None = None,
        covariance_type: CovarianceName = "full",
        reg_covar: float | None = None,
        alpha: float = 0.01,
        binarize: float | None = 0.0,
        unknown: Unknown | None = None,
        missing: Missing = "error",
        tol: float = 1e-4,
        max_iter: int = 200,
        n_init: int = 1,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool | int = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.n_components = n_components
        self.columns = columns
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.alpha = alpha
        self.binarize = binarize
        self.unknown = unknown
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return rows drawn from the mixture by `random_state`, and their components, in order.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : (n_samples, n_features)
            Ordered by component; objects if some categories are no numbers. Counts are of one word.
        labels : (n_samples,) intp
            Component of each row.
        """
        self._check_fitted()
        n, rng = self._n_drawn(n_samples), as_random_state(self.random_state)
        counts = rng.multinomial(n, self.weights_ / self.weights_.sum())
        drawn = {}
        for kind, part in self.parts_.items():
            own = twin(part).set_params(random_state=rng)
            blocks = []
            for j in np.flatnonzero(counts):
                own.weights_ = np.eye(len(counts))[j]
                blocks.append(own.sample(counts[j])[0])
            drawn[kind] = np.vstack(blocks)
        X = np.empty((n, self.n_features_in_), np.result_type(*drawn.values()))
        for kind, values in drawn.items():
            X[:, self.columns_[kind]] = values
        return X, np.repeat(np.arange(len(counts)), counts)

    # ---- what Mixture asks for

    def _sample_like(self, X, order):
        sample, labels = (drawn[order] for drawn in self.sample(len(order)))
        if "multinomial" in self.parts_:  # with the totals of the rows of X
            rng = as_random_state(self.random_state).spawn(1)[0]
            counts = self._check_X(X, reset=False).parts["multinomial"]
            totals = np.round(counts.sum(axis=1)).astype(np.int64)
            p = self.parts_["multinomial"].means_
            p = p / p.sum(axis=1, keepdims=True)
            sample[:, self.columns_["multinomial"]] = rng.multinomial(totals, p[labels])
        return sample

    def _settings(self):
        settings, owner = super()._settings(), type(self).__name__
        require_kinds(self.columns, _KINDS, owner)
        as_covariance_type(self.covariance_type, owner)
        as_real(self.alpha, "alpha", owner=owner, at_least=0)
        for kind in _KINDS:
            self._part(kind)._settings()
        return settings

    def _scaled(self, weight):
        return weight, 0  # `alpha` has their unit

    def _part(self, kind):
        make = _KINDS[kind]
        taken = set(_OF_PARTS) & set(make().get_params(deep=False))
        own = {name: getattr(self, name) for name in taken}
        return make(**own)

    def _check_X(self, X, *, reset, like=None, **options):
        owner = type(self).__name__
        if not reset:
            self._check_fitted()
        names = None if type(X) is np.ndarray else column_names(X)
        if not reset:
            check_column_names(names, getattr(self, "feature_names_in_", None), owner)
        # Frames with categories are taken apart as they are, and others once they are numbers.
        words = self.columns is not None and "categorical" in self.columns
        whole = X if words and columns_of(X) is not None else None
        if whole is None:
            table = as_table(X) if words else None
            options = {"owner": owner, "accept_sparse": False} | options
            whole = self._as_samples(X, **options) if table is None else table
        if not reset and whole.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {whole.shape[1]} features, but {owner} is expecting {self.n_features_in_} "
                "features as input."
            )
        columns, models = (None, None) if reset else (self.columns_, self.parts_)
        if reset:
            columns = column_kinds(self.columns, whole.shape[1], names, owner)
            models = {kind: self._part(kind) for kind in columns}
        given = {kind: _taken(whole, places) for kind, places in columns.items()}
        parts = {}
        for kind, part in given.items():
            checked = models[kind]._check_X(part, reset=reset)
            if kind == "gaussian":
                self._require_known(checked)
            plain = isinstance(checked, np.ndarray)
            parts[kind] = checked.astype(np.float64, copy=False) if plain else checked
        return MixedRows(
            parts, {kind: _without_rows(part) for kind, part in given.items()}, columns
        )

    def _require_known(self, X):
        """Refuse missing values of numbers whose covariance family does not take them."""
        family = as_covariance_type(self.covariance_type)
        if self.missing == "ignore" and not family.independent and np.isnan(X).any():
            raise ValueError(
                f"{type(self).__name__}: columns of numbers have missing values, which "
                f"covariance_type={family.name!r} does not take here: choose 'diag', 'spherical', "
                "or a family whose name ends in I."
            )

    def _as_first(self, X, like):
        X = super()._as_first(X, like)
        whole = np.empty(X.shape)
        for kind, part in X.parts.items():
            if not isinstance(part, np.ndarray):
                raise TypeError(
                    f"{type(self).__name__}: the first blocks X of partial_fit must be numbers: "
                    "call fit or begin before blocks of strings or other categories."
                )
            whole[:, X.columns[kind]] = part
        return whole

    def _check_loaded(self):
        super()._check_loaded()
        if "parts_" not in vars(self):
            return
        widths = {kind: len(columns) for kind, columns in self.columns_.items()}
        if {kind: part.n_features_in_ for kind, part in self.parts_.items()} != widths:
            raise ValueError("parts_ have other numbers of columns than columns_.")
        if any(len(part.weights_) != len(self.weights_) for part in self.parts_.values()):
            raise ValueError("parts_ have other numbers of components than weights_.")

    def _components(self, X, weight):
        models = {kind: self._part(kind) for kind in X.parts}
        parts = {kind: models[kind]._components(part, weight) for kind, part in X.parts.items()}
        return MixedComponents(int(self.n_components), parts, models, X.columns, X.given)

    def _fitted_components(self):
        parts = {kind: part._fitted_components() for kind, part in self.parts_.items()}
        return MixedComponents(len(self.weights_), parts, self.parts_, self.columns_)

    def _start_values(self, shape):
        return (None,)

    def _may_continue(self, components):
        same = {kind: own.tolist() for kind, own in self.columns_.items()}
        if same != {kind: own.tolist() for kind, own in components.columns.items()}:
            return False
        parts = components.parts.items()
        return len(self.weights_) == self.n_components and all(
            self.parts_[kind]._may_continue(part) for kind, part in parts
        )


def _taken(table, places):
    """Return some columns of an array or frame."""
    if hasattr(table, "iloc"):
        return table.iloc[:, places]
    if isinstance(table, np.ndarray):
        return np.ascontiguousarray(table[:, places])
    names = getattr(table, "column_names", None) or table.columns  # of pyarrow, of polars
    return table.select([names[j] for j in places])


def _without_rows(table):
    return table.slice(0, 0) if hasattr(table, "slice") else table[:0]
