"""Inference about the coefficients of a logistic regression without penalty."""

from typing import Any

import numpy as np

from mlcore.linear_model.inference import (
    Inference,
    LikelihoodRatio,
    parameter_names,
    plain,
    two_sided,
)
from mlcore.linear_model.logistic.evidence import rise_as_stored
from mlcore.linear_model.logistic.intercepts import solved_intercepts
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import NewtonSystem, Objective, hessian_of
from mlcore.linear_model.logistic.rounding import error_of_gradient, largest_terms
from mlcore.linear_model.logistic.steps.newton import newton_steps
from mlcore.runtime.threads import single_threaded_blas

_ESTIMABLE = 1e-8  # part of a parameter outside of what the data determine
_STEPS = 20
_SAME = 1e-6  # relative difference of objectives, and gradient, that rows of another type may have


def logistic_inference(model: Any, rows: LogisticRows, theta: np.ndarray) -> Inference:
    """Return the inference about a model fitted to these rows, from Newton's steps from theta."""
    objective, c, D = Objective(rows, 0.0), rows.n_scores, rows.d + 1
    with single_threaded_blas():
        # The optimum, and the covariance of the contrasts there.
        point = _at_the_end(objective, theta)
        if point.sums.hessian is None:
            point = objective.at(point.theta, hessian=True)
        system = NewtonSystem(hessian_of(point, objective.penalty), c)
        contrasts = _contrasts(rows)
        inverse = system.solve(np.ascontiguousarray(contrasts.T))
        covariance = contrasts @ inverse / rows.total
        estimates = contrasts @ point.theta.ravel()
        # Contrasts that the data do not determine have infinite errors.
        null = system.null_space()
        seen = np.square(contrasts @ null).sum(axis=1)
        absent = np.setdiff1d(np.arange(c * D), system._kept)
        longest = np.square(null).sum(axis=0).max(initial=1.0)
        lengths = np.square(contrasts).sum(axis=1) * longest
    unknown = seen > _ESTIMABLE**2 * lengths
    unknown |= (contrasts[:, absent] != 0).any(axis=1)
    errors = np.sqrt(covariance.diagonal())
    errors[unknown] = np.inf
    z, p_values = two_sided(estimates, errors)
    # Degrees of freedom, and the likelihood beside that without features.
    groups = max(1, c - 1)
    columns = (len(system._kept) // c) if c > 1 else len(system._kept)
    n_parameters = groups * columns - null.shape[1]
    n_null = groups * int(rows.intercept)
    log_likelihood = -rows.total * point.value
    null_log_likelihood = -rows.total * _without_features(rows)
    shape = (groups, -1) if c > 1 else (-1,)
    ratio = max(0.0, 2 * (log_likelihood - null_log_likelihood))
    return Inference(
        names=parameter_names(model, rows.intercept),
        estimates=estimates.reshape(shape),
        standard_errors=errors.reshape(shape),
        z=z.reshape(shape),
        p_values=p_values.reshape(shape),
        covariance=covariance,
        log_likelihood=plain(log_likelihood),
        deviance=plain(-2 * log_likelihood),
        null_deviance=plain(-2 * null_log_likelihood),
        aic=plain(2 * n_parameters - 2 * log_likelihood),
        bic=plain(np.log(rows.total) * n_parameters - 2 * log_likelihood),
        likelihood_ratio=LikelihoodRatio.of(ratio, n_parameters - n_null),
        degrees_of_freedom=np.inf,
        groups=tuple(map(str, model.classes_[1:])) if c > 1 else (),
        n_samples=rows.total,
        classes=tuple(map(str, model.classes_)),
    )


def require_optimum(model: Any, objective: Objective, theta: np.ndarray) -> None:
    """Refuse rows of which the fitted coefficients are not as near the optimum as the fit was.

    Their gradient may be ten times that of the fit, and what rounding does to it.
    """
    point, rows = objective.at(theta), objective.rows
    norm = objective.gradient_norm(point.gradient)
    left = vars(model).get("gradient_norm_", model.tol)
    moved = np.finfo(model.coef_.dtype).eps * largest_terms(objective, theta)
    off = error_of_gradient(objective, theta)
    off += moved * np.hypot(objective.deviation, objective.mean)
    varies = objective.deviation > 0
    off = (off + np.abs(objective.mean) * off[:, -1:])[:, varies] / objective.deviation[varies]
    allowed = 10 * left + _SAME + off.max()
    known = vars(model).get("gradient_norm_") is not None
    value, before = rows.total * point.value, model.objective_
    rise = rise_as_stored(objective, point, rows.total)
    same = not known or abs(value - before) <= _SAME * before + 2 * rise
    if not (norm <= allowed and same):
        raise ValueError(
            f"{type(model).__name__}: inference needs the samples of the fit, with the same "
            f"sample_weight and offset: at its coefficients their gradient is {norm:.2g}, and "
            f"their objective {value:.6g}, but the fit ended at {left:.2g} and {before:.6g}."
        )


def _at_the_end(objective, theta):
    """Return the point where Newton's steps end, by rounding."""
    for step, _ in zip(newton_steps(objective, theta), range(_STEPS), strict=False):
        point = step.point
        if step.decrement < 1e-15:
            break
    return point


def _contrasts(rows):
    """Return the map (q, n_scores (d + 1)) from theta to the parameters, intercepts last.

    They are those of the features themselves, of each class but the first less the first.
    """
    d, c = rows.d, rows.n_scores
    own = np.zeros((d + int(rows.intercept), d + 1))
    own[np.arange(d), np.arange(d)] = rows.scale
    if rows.intercept:
        own[d, :d] = -rows.scale * rows.shift
        own[d, d] = 1.0
    if c == 1:
        return own
    differences = np.column_stack((-np.ones(c - 1), np.eye(c - 1)))
    return np.kron(differences, own)


def _without_features(rows):
    """Return the mean loss of intercepts alone."""
    solved = solved_intercepts(rows, rows.offset if len(rows.offset) else None)
    return solved.last.value if rows.intercept else solved.first.value
