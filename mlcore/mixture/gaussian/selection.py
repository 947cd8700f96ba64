"""Selection of the number of components and their covariance type, by an information criterion."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mlcore.checks import as_choice
from mlcore.estimator import tables
from mlcore.estimator.model import warn
from mlcore.mixture.gaussian.covariances import CovarianceName, as_covariance_type
from mlcore.mixture.gaussian.gaussian_mixture import GaussianMixture

_Criterion = Literal["aic", "bic", "icl"]
_CRITERIA = get_args(_Criterion)


class MixtureSelection(NamedTuple):
    """Result of `select_mixture`: the best mixture and a table of all.

    Parameters
    ----------
    best : GaussianMixture
        Fitted, of the least criterion. With ``reg_covar=None`` those with collapsed components come
        last, since a point can be given any likelihood; a warning tells if their criterion is less.
    table : dict of str to ndarray
        One value for every mixture in each of "covariance_type", "n_components", "n_parameters",
        "log_likelihood" (of all samples), "aic", "bic", "icl", "n_iter", "converged", "n_collapsed"
        and "n_spikes". All mixtures have the same limit of variances, without which components
        that describe tied rows cannot be compared.

    Examples
    --------
    >>> from mlcore.mixture import select_mixture
    >>> found = select_mixture([[0.0], [0.1], [0.3], [9.0], [9.2], [9.3]], n_components=[1, 2])
    >>> found.table["bic"].round(1)
    array([38.7,  9.3])
    """

    best: GaussianMixture
    table: dict[str, np.ndarray]

    def __str__(self) -> str:
        columns = {name: column.tolist() for name, column in self.table.items()}
        return tables.text(columns, best=self._place)

    __repr__ = __str__

    @property
    def _place(self):
        """The row of the best in the table."""
        of_best = (self.best.covariance_type, self.best.n_components)
        kinds = zip(self.table["covariance_type"], self.table["n_components"], strict=True)
        return [*kinds].index(of_best)

    def _repr_html_(self) -> str:
        return tables.table(self.table, title=repr(self.best), best=self._place)


def select_mixture(
    X: Any,
    *,
    n_components: int | Iterable[int] = range(1, 7),
    covariance_type: CovarianceName | Iterable[CovarianceName] = "full",
    criterion: _Criterion = "bic",
    sample_weight: Any = None,
    **options: Any,
) -> MixtureSelection:
    """Fit a mixture for every number of components and covariance type, and choose one.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    n_components : int or several, default=range(1, 7)
    covariance_type : str or several, default="full"
        "full", "tied", "diag", "spherical".
    criterion : {"bic", "aic", "icl"}, default="bic"
        Criterion that the best minimises. "icl" asks for components that overlap little.
    sample_weight : array-like of shape (n_samples,), optional
        2 is a copy, 0 is absence.
    **options :
        Other parameters of `GaussianMixture`, such as `n_init` and `random_state`.

    Returns
    -------
    found : MixtureSelection
        ``best``, and the ``table`` of all.

    Raises
    ------
    TypeError, ValueError
        For parameters or data out of range.

    References
    ----------
    G. Schwarz, *Estimating the dimension of a model*, Annals of Statistics 6, 1978. C. Biernacki,
    G. Celeux, G. Govaert, *Assessing a mixture model for clustering with the integrated completed
    likelihood*, IEEE PAMI 22, 2000.

    Examples
    --------
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.mixture import select_mixture
    >>> X = load_digits()[0][:, [20, 42]]
    >>> found = select_mixture(X, n_components=[1, 2, 3], random_state=0)
    >>> found.best.n_components > 1
    True
    """
    as_choice(criterion, "criterion", _CRITERIA, owner="select_mixture")
    counts = _several(n_components, "n_components")
    kinds = _several(covariance_type, "covariance_type")
    for kind in kinds:
        as_covariance_type(kind, "select_mixture")
    unknown = set(options) - set(GaussianMixture().get_params())
    if unknown:
        raise TypeError(f"select_mixture: {sorted(unknown)} are no parameters of GaussianMixture.")
    # A fit for each type and number.
    models, rows = [], []
    for kind in kinds:
        for k in counts:
            model = GaussianMixture(k, covariance_type=kind, **options)
            model.fit(X, sample_weight=sample_weight)
            log_likelihood, _ = model._likelihood(X, sample_weight)
            criteria = {name: getattr(model, name)(X, sample_weight) for name in _CRITERIA}
            models.append(model)
            rows.append(
                {
                    "covariance_type": kind,
                    "n_components": int(k),
                    "n_parameters": model._n_parameters(),
                    "log_likelihood": log_likelihood,
                    **criteria,
                    "n_iter": model.n_iter_,
                    "converged": model.converged_,
                    "n_collapsed": len(model.collapsed_components_),
                    "n_spikes": len(model.spikes_.component),
                }
            )
    # The least criterion, of as few collapsed components as can be where there is no bound.
    bounded = bool(models[0].reg_covar)
    order = [(0 if bounded else row["n_collapsed"], row[criterion]) for row in rows]
    best = order.index(min(order))
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    _warn_of_passed_over(table, criterion, best)
    return MixtureSelection(models[best], table)


def _warn_of_passed_over(table, criterion, best):
    """Tell that a mixture of a lesser criterion is not the best, as components collapsed."""
    least = int(np.argmin(table[criterion]))
    if table[criterion][least] < table[criterion][best]:
        one, other = (
            f"'{table['covariance_type'][i]}' with n_components={table['n_components'][i]}"
            for i in (least, best)
        )
        warn(
            "UserWarning",
            f"select_mixture: {one} has {criterion}={table[criterion][least]:.6g}, but was passed "
            f"over for {other} of {criterion}={table[criterion][best]:.6g}, since "
            f"{table['n_collapsed'][least]} of its components have collapsed, whose likelihood is "
            "that of the least variances: set reg_covar to compare them.",
        )


def _several(value, name):
    """Return a list of the values to try, from one or from several."""
    single = isinstance(value, str) or not isinstance(value, Iterable)
    single |= isinstance(value, np.ndarray) and value.ndim == 0
    values = [value] if single else list(value)
    if not values:
        raise ValueError(f"select_mixture: {name} is empty, but must name at least one.")
    return values
