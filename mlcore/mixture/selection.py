"""Selection of the number of components and their covariance type, by an information criterion."""

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from mlcore.checks import as_choice, as_integer
from mlcore.estimator import tables
from mlcore.estimator.model import warn
from mlcore.mixture.em_model import EMModel
from mlcore.mixture.gaussian.covariances import FAMILIES, CovarianceName, as_covariance_type
from mlcore.mixture.gaussian.gaussian_mixture import GaussianMixture

_Criterion = Literal["aic", "bic", "icl"]
_CRITERIA = get_args(_Criterion)
_LONG = 20  # rows of a table; of more covariance types, BIC alone is printed
_NEAR = 2.0  # difference of criteria that hardly tells two mixtures from each other


class MixtureSelection(NamedTuple):
    """Result of `select_mixture`: the best mixture and a table of all.

    Parameters
    ----------
    best : mixture
        Fitted, of the least criterion. Where the likelihood has no bound, as with
        ``reg_covar=None``, those with collapsed components come last. A fit that did not converge
        is not taken if the criterion of one that did is greater by at most 2. A warning tells if a
        fit of a lesser criterion is passed over.
    table : dict of str to ndarray
        One value for every mixture in each of "covariance_type" (of Gaussians), "n_components",
        "n_parameters", "log_likelihood" (of all samples), "aic", "bic", "icl", "entropy_r2",
        "n_iter", "converged", "n_collapsed" and "n_spikes"; and, if a fit failed, "error", the text
        of its error: these come last. All mixtures have the same limit of variances, without which
        components that describe tied rows cannot be compared.

    Examples
    --------
    >>> from mlcore.mixture import select_mixture
    >>> found = select_mixture([[0.0], [0.1], [0.3], [9.0], [9.2], [9.3]], n_components=[1, 2])
    >>> found.table["bic"].round(1)
    array([38.7,  9.3])
    """

    best: Any
    table: dict[str, np.ndarray]

    def __str__(self) -> str:
        columns = {name: column.tolist() for name, column in self.table.items()}
        if "covariance_type" in columns and len(columns["bic"]) > _LONG:
            return self._by_type(columns)
        return tables.text(columns, best=self._place)

    __repr__ = __str__

    def _by_type(self, columns):
        """Return BIC by covariance type and number of components, as text."""
        types, numbers, best = columns["covariance_type"], columns["n_components"], self._place
        bic = dict(zip(zip(types, numbers, strict=True), columns["bic"], strict=True))
        kinds = [*dict.fromkeys(types)]
        crossed = {"bic, n_components": kinds} | {
            str(k): [bic.get((kind, k), math.nan) for kind in kinds] for k in dict.fromkeys(numbers)
        }
        text = tables.text(crossed, best=kinds.index(types[best]))
        text = text.replace("<- best", f"<- best with n_components={numbers[best]}")
        return f"{text}\n(to_frame() has all columns)"

    @property
    def _place(self):
        """The row of the best in the table."""
        names = [name for name in ("covariance_type", "n_components") if name in self.table]
        kinds = zip(*(self.table[name].tolist() for name in names), strict=True)
        return [*kinds].index(tuple(getattr(self.best, name) for name in names))

    def _repr_html_(self) -> str:
        return tables.table(self.table, title=repr(self.best), best=self._place)

    def to_frame(self) -> Any:
        """Return the table as a frame of pandas.

        Returns
        -------
        frame : pandas.DataFrame
            Indexed by "n_components".

        Raises
        ------
        ImportError
            Without pandas.
        """
        return tables.frame(self.table, index="n_components")


def select_mixture(
    X: Any,
    mixture: Any = None,
    *,
    n_components: int | Iterable[int] = range(1, 7),
    covariance_type: CovarianceName | Literal["all"] | Iterable[CovarianceName] = "full",
    criterion: _Criterion = "bic",
    sample_weight: Any = None,
    **options: Any,
) -> MixtureSelection:
    r"""Fit a mixture for every number of components and covariance type, and choose one.

    With the log-likelihood l, n the total weight, p free parameters and responsibilities r,

    .. math:: \mathrm{BIC} = -2 l + p \ln n, \quad \mathrm{ICL} = \mathrm{BIC} + 2 E, \quad
        E = -\sum_{ij} w_i r_{ij} \ln r_{ij}, \quad R^2 = 1 - E / (n \ln k).

    mclust prints -BIC, and its icl() takes the likeliest labels in place of r. `PLSA` counts words
    in n, and has no ICL (NaN).

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    mixture : class or unfitted estimator, default=None
        Any mixture of this family; None is `GaussianMixture`.
    n_components : int or several, default=range(1, 7)
    covariance_type : str or several, default="full"
        Of a `GaussianMixture`; "all" are mclust's fourteen families. A single component is fitted
        once for those that are then the same.
    criterion : {"bic", "aic", "icl"}, default="bic"
        Criterion that the best minimises. "icl" asks for components that overlap little.
    sample_weight : array-like of shape (n_samples,), optional
        2 is a copy, 0 is absence.
    **options :
        Other parameters of the mixture, such as `n_init` and `random_state`.

    Returns
    -------
    found : MixtureSelection
        ``best``, and the ``table`` of all.

    Raises
    ------
    TypeError, ValueError
        For parameters or data out of range; of fits, if all of them fail.

    References
    ----------
    G. Schwarz, *Estimating the dimension of a model*, Annals of Statistics 6, 1978. C. Biernacki,
    G. Celeux, G. Govaert, *Assessing a mixture model for clustering with the integrated completed
    likelihood*, IEEE PAMI 22, 2000. V. Ramaswamy et al., *An empirical pooling approach for
    estimating marketing mix elasticities with PIMS data*, Marketing Science 12, 1993 (R2).

    Examples
    --------
    >>> from mlcore.datasets import load_digits
    >>> from mlcore.mixture import CategoricalMixture, select_mixture
    >>> X = load_digits()[0][:, [20, 42]]
    >>> found = select_mixture(X, n_components=[1, 2, 3], random_state=0)
    >>> found.best.n_components > 1
    True
    >>> answers = [["yes", "old"]] * 20 + [["no", "new"]] * 20
    >>> select_mixture(answers, CategoricalMixture, n_components=[1, 2]).best.n_components
    2
    """
    as_choice(criterion, "criterion", _CRITERIA, owner="select_mixture")
    kind, parameters = _kind_and_parameters(mixture, options)
    counts = [
        as_integer(k, "n_components", owner="select_mixture", at_least=1)
        for k in _several(n_components, "n_components")
    ]
    variants = _variants(kind, covariance_type)
    # A fit for each variant and number.
    models, rows, failed, errors, single = [], [], [], [], {}
    for variant in variants:
        for k in counts:
            own = variant | {"n_components": k}
            same = _of_one(variant["covariance_type"]) if variant and k == 1 else None
            try:
                if same in single:
                    model, row = single[same]
                else:
                    model = kind(**parameters | own).fit(X, sample_weight=sample_weight)
                    row = _row(model, X, sample_weight)
            except (ValueError, MemoryError) as error:
                errors.append(error)
                failed.append(own | {"error": str(error)})
                continue
            if same is not None:
                single[same] = model, row
            models.append(model)
            rows.append(own | row)
    if not rows:
        raise errors[0]
    table = _table(rows, failed)
    best = _best(models, table, criterion)
    _warn_of_passed_over(table, criterion, best)
    return MixtureSelection(models[best], table)


def _kind_and_parameters(mixture, options):
    """Return the class of the mixtures, and the parameters that they share."""
    kind = GaussianMixture if mixture is None else mixture
    own = {}
    if not isinstance(kind, type):
        kind = type(mixture)
        own = mixture.get_params(deep=False) if issubclass(kind, EMModel) else {}
    if not issubclass(kind, EMModel):
        raise TypeError(
            f"select_mixture: mixture is {mixture!r}, but must be a class of mlcore.mixture or an "
            "estimator of one."
        )
    unknown = set(options) - set(kind().get_params(deep=False))
    if unknown:
        raise TypeError(f"select_mixture: {sorted(unknown)} are no parameters of {kind.__name__}.")
    return kind, own | options


def _variants(kind, covariance_type):
    """Return the parameters that tell mixtures of one number of components from each other."""
    if not issubclass(kind, GaussianMixture):
        if not isinstance(covariance_type, str) or covariance_type != "full":
            raise ValueError(
                f"select_mixture: covariance_type={covariance_type!r} is not for {kind.__name__}, "
                "but for GaussianMixture."
            )
        return [{}]
    names = _several(covariance_type, "covariance_type")
    if len(names) == 1 and isinstance(names[0], str) and names[0] == "all":
        names = [*FAMILIES]
    for name in names:
        as_covariance_type(name, "select_mixture")
    return [{"covariance_type": name} for name in names]


def _of_one(name):
    """Return the covariance type of a single component that this one then is."""
    _, shape, orientation = as_covariance_type(name).family
    return "full" if orientation != "I" else "spherical" if shape == "I" else "diag"


def _row(model, X, sample_weight):
    """Return a row of the table."""
    k, fit = model.n_components, model._evaluated(X, sample_weight)
    deviance = -2 * fit.log_likelihood
    bic = deviance + math.log(fit.n) * fit.n_parameters
    return {
        "n_parameters": fit.n_parameters,
        "log_likelihood": fit.log_likelihood,
        "aic": deviance + 2 * fit.n_parameters,
        "bic": bic,
        "icl": bic + 2 * fit.entropy,
        "entropy_r2": 1 - fit.entropy / (fit.n * math.log(k)) if k > 1 else 1.0,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "n_collapsed": len(model.collapsed_components_),
        "n_spikes": len(model.spikes_.component) if hasattr(model, "spikes_") else 0,
    }


def _table(rows, failed):
    """Return the columns of all rows; those of failed fits come last, with their errors."""
    unknown = {
        name: math.nan if isinstance(value, float) else type(value)()
        for name, value in rows[0].items()
    }
    if failed:
        rows = [*(row | {"error": ""} for row in rows), *(unknown | row for row in failed)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _best(models, table, criterion):
    """Return the row of the least criterion, of as few collapsed components as can be where there
    is no bound; one that has converged if there is one nearby.
    """
    bounded = bool(getattr(models[0], "reg_covar", True))
    rows = range(len(models))
    fewest = min(table["n_collapsed"][: len(models)])
    values = table[criterion]
    candidates = [i for i in rows if bounded or table["n_collapsed"][i] == fewest]
    best = min(candidates, key=lambda i: (math.isnan(values[i]), values[i]))
    near = [i for i in candidates if table["converged"][i] and values[i] <= values[best] + _NEAR]
    return best if not near else min(near, key=lambda i: values[i])


def _warn_of_passed_over(table, criterion, best):
    """Tell that a mixture of a lesser criterion is not the best, and why."""
    if not (table[criterion] < table[criterion][best]).any():
        return
    least = int(np.nanargmin(table[criterion]))
    one, other = (
        (f"'{table['covariance_type'][i]}' with " if "covariance_type" in table else "")
        + f"n_components={table['n_components'][i]}"
        for i in (least, best)
    )
    why = "it has not converged: raise max_iter."
    if table["n_collapsed"][least] > table["n_collapsed"][best]:
        why = (
            f"{table['n_collapsed'][least]} of its components have collapsed, whose likelihood is "
            "that of the least variances: set reg_covar to compare them."
        )
    warn(
        "UserWarning",
        f"select_mixture: {one} has {criterion}={table[criterion][least]:.6g}, but was passed "
        f"over for {other} of {criterion}={table[criterion][best]:.6g}, since {why}",
    )


def _several(value, name):
    """Return a list of the values to try, from one or from several."""
    single = isinstance(value, str) or not isinstance(value, Iterable)
    single |= isinstance(value, np.ndarray) and value.ndim == 0
    values = [value] if single else list(value)
    if not values:
        raise ValueError(f"select_mixture: {name} is empty, but must name at least one.")
    return values
