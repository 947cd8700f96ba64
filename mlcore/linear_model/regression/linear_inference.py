"""Inference about the coefficients of least squares: t and F tests, R²."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from mlcore.linear_model.inference import (
    Inference,
    LikelihoodRatio,
    parameter_names,
    plain,
    two_sided,
)
from mlcore.linear_model.regression.least_squares import Units

_ESTIMABLE = 1e-8  # part of a parameter outside of what the data determine


@dataclass(frozen=True, eq=False, repr=False)
class LinearInference(Inference):
    """Estimates of least squares with their standard errors, t and F tests.

    They assume errors that are independent, normal and of one variance. As `Inference`, with p
    parameters (the intercept last) and these tests; W, the sum of the weights, counts samples.

    Parameters
    ----------
    names : tuple of str
    estimates, standard_errors, z, p_values : (p,) or (n_targets, p)
        z is Student's t, here and in the property `t`.
    covariance : (p, p) or (n_targets, p, p)
    log_likelihood, deviance, null_deviance, aic, bic : float or (n_targets,)
        The variance of the errors is not counted as a parameter by `aic` and `bic`.
    likelihood_ratio : LikelihoodRatio
    degrees_of_freedom : float
        W less the number of parameters that the data determine.
    groups : tuple of str
    n_samples : float
    classes : tuple of str
        Empty.
    r_squared, adjusted_r_squared : float or (n_targets,)
        Share of the squares of the targets, about their mean if there is an intercept.
    f, f_p_value : float or (n_targets,)
        Test that no feature matters.
    residual_variance : float or (n_targets,)
        Unbiased.

    Examples
    --------
    >>> from mlcore.linear_model import LinearRegression
    >>> found = LinearRegression().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 3.0]).inference()
    >>> round(found.r_squared, 4), round(found.f, 4)
    (0.9643, 27.0)
    """

    r_squared: Any = None
    adjusted_r_squared: Any = None
    f: Any = None
    f_p_value: Any = None
    residual_variance: Any = None

    @property
    def t(self) -> np.ndarray:
        """Estimates over standard errors."""
        return self.z

    def _summary(self) -> list[str]:
        names = [f"{name}: " for name in self.groups] or [""]
        fits = np.broadcast_arrays(
            names, self.r_squared, self.adjusted_r_squared, self.f, self.f_p_value
        )
        freedom = f"{self.likelihood_ratio.degrees_of_freedom} and {self.degrees_of_freedom:g} d.f."
        return [
            f"{name}n = {self.n_samples:g}, R² {r_squared:.4g} (adjusted {adjusted:.4g}), "
            f"F {f:.4g} ({freedom}), p {p_value:.3g}"
            for name, r_squared, adjusted, f, p_value in zip(*fits, strict=True)
        ]


def linear_inference(model: Any) -> LinearInference:
    """Return the inference about a fitted LinearRegression."""
    solution, data_units, total, rank = (
        model._solution_, model._units_, model.total_weight_, model.rank_,
    )  # fmt: skip
    intercept, freedom = solution.intercept, _residual_freedom(model)

    # Standard errors, infinite for parameters that the data do not determine.
    squares = np.ldexp(solution.squares, 2 * data_units.target_power + solution.weight_power)
    residual, null = squares
    variance = residual / freedom
    full, unknown = _root_of_inverse(solution, data_units, total, rank)
    covariance = variance[:, None, None] * (full @ full.T)
    errors = np.sqrt(variance[:, None] * np.einsum("ij,ij->i", full, full))
    errors[:, unknown] = np.inf

    # Tests of each parameter, and of all features together.
    coef = model.coef_.reshape(len(variance), -1).astype(np.float64)
    estimates = coef
    if intercept:
        estimates = np.column_stack((coef, np.atleast_1d(model.intercept_)))
    t, p_values = two_sided(estimates, errors, freedom)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_likelihood = -total / 2 * (np.log(2 * np.pi) + np.log(residual / total) + 1)
        ratio = np.where(null > 0, total * (np.log(null) - np.log(residual)), 0.0)
        share = np.where(null > 0, 1 - residual / np.where(null > 0, null, 1.0), 0.0)
        f = (null - residual) / rank / variance if rank else np.full(len(variance), np.nan)
        f_p_value = special.fdtrc(max(rank, 1), freedom, f)
    f_p_value = np.where(np.isinf(f), 0.0, f_p_value)
    n_parameters = rank + intercept
    values = {
        "estimates": estimates,
        "standard_errors": errors,
        "z": t,
        "p_values": p_values,
        "covariance": covariance,
        "log_likelihood": log_likelihood,
        "deviance": residual,
        "null_deviance": null,
        "aic": 2 * n_parameters - 2 * log_likelihood,
        "bic": np.log(total) * n_parameters - 2 * log_likelihood,
        "r_squared": share,
        "adjusted_r_squared": 1 - (1 - share) * (total - intercept) / freedom,
        "f": f,
        "f_p_value": f_p_value,
        "residual_variance": variance,
    }
    if not data_units.several:
        values, ratio = {name: plain(value[0]) for name, value in values.items()}, plain(ratio[0])
    groups = tuple(f"y{i}" for i in range(len(variance))) if data_units.several else ()
    return LinearInference(
        names=parameter_names(model, intercept),
        likelihood_ratio=LikelihoodRatio.of(ratio, rank),
        degrees_of_freedom=float(freedom),
        groups=groups,
        n_samples=float(total),
        **values,
    )


def _residual_freedom(model):
    """Return the degrees of freedom of the residuals; refuse a fit that tells no variance."""
    owner, solution, total = type(model).__name__, model._solution_, model.total_weight_
    if solution.alpha.any():
        raise ValueError(
            f"{owner}: inference needs least squares, but the fit had "
            f"alpha={solution.alpha.max():g}: penalised estimates are biased, and have no t test. "
            "Fit with alpha=0."
        )
    freedom = total - model.rank_ - solution.intercept
    if not freedom > 0:
        raise ValueError(
            f"{owner}: inference needs more samples than parameters, but there are n_samples="
            f"{total:g}, the sum of the weights, for the {model.rank_ + solution.intercept} "
            "parameters that they determine: nothing is left to tell the variance of the errors. A "
            "weight of 2 stands for two copies of a sample: scale weights so that they sum to the "
            "number of samples."
        )
    return freedom


def _root_of_inverse(solution, data_units, total, rank):
    """Return F (p, r), ``F F'`` the covariance of parameters for errors of variance 1.

    And True for each parameter that the data do not determine.
    """
    root = solution.system.solve(Units(data_units.power, 0.0)).root()
    root = np.ldexp(root, -data_units.power[:, None]) * 2.0 ** (-solution.weight_power / 2)
    center, intercept = (
        data_units.origin + np.ldexp(solution.center, data_units.power),
        solution.intercept,
    )
    full = np.zeros((len(root) + intercept, root.shape[1] + intercept))
    full[: len(root), : root.shape[1]] = root
    if intercept:
        full[-1, : root.shape[1]] = -center @ root
        full[-1, -1] = 1 / np.sqrt(total)
    return full, _not_estimable(root, center, intercept, rank)


def _not_estimable(root, center, intercept, rank):
    """Return True for each parameter that a combination of parameters of no effect changes."""
    d = len(root)
    unknown = np.zeros(d + intercept, bool)
    if rank == d:
        return unknown
    basis = np.linalg.qr(root)[0]
    unknown[:d] = 1 - np.square(basis).sum(axis=1) > _ESTIMABLE
    if intercept:
        outside = center - basis @ (basis.T @ center)
        unknown[d] = np.linalg.norm(outside) > _ESTIMABLE * max(np.linalg.norm(center), 1e-300)
    return unknown
