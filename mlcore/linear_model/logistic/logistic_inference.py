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
from mlcore.linear_model.logistic.intercepts import solved_intercepts
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import NewtonSystem, Objective
from mlcore.linear_model.logistic.steps.newton import newton_steps
from mlcore.runtime.threads import single_threaded_blas

_ESTIMABLE = 1e-8  # part of a parameter outside of what the data determine
_STEPS = 20


def logistic_inference(model: Any, rows: LogisticRows, theta: np.ndarray) -> Inference:
    """Return the inference about a model fitted to these rows, from Newton's steps from theta."""
    objective, c, D = Objective(rows, 0.0), rows.n_scores, rows.d + 1
    with single_threaded_blas():
        point = _at_the_end(objective, theta)
        if point.sums.hessian is None:
            point = objective.at(point.theta, hessian=True)
        system = NewtonSystem(objective.hessian(point), c)
        contrasts = _contrasts(rows)
        inverse = system.solve(np.ascontiguousarray(contrasts.T))
        covariance = contrasts @ inverse / rows.total
        estimates = contrasts @ point.theta.ravel()
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
