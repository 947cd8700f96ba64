"""Bounds from the training examples, by families whose assumptions can be checked."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mlcore.bounds.certificates.certificate import Bound
from mlcore.bounds.certificates.classifier_margins import (
    Machine,
    description_bits,
    fitted_to,
    has_free_vector,
    is_expansion,
    is_linear_hinge,
    may_be_indefinite,
    signed_cosines,
    support_of,
)
from mlcore.bounds.certificates.learners import (
    has_guarantee,
    is_perceptron,
    mistake_compression,
    mistakes_of_one_epoch,
    own_guarantee,
)
from mlcore.bounds.data_dependent.compression import sample_compression_bound
from mlcore.bounds.data_dependent.leave_one_out import support_vector_loo_bound
from mlcore.bounds.data_dependent.margin import pac_bayes_margin_bound, rademacher_margin_bound
from mlcore.bounds.finite_class.finite_class import occam_bound
from mlcore.bounds.vc.vc import vc_error_bound

_LANGFORD = "Langford, Tutorial on practical prediction theory for classification, 2005."
_MOHRI = "Mohri, Rostamizadeh, Talwalkar, Foundations of Machine Learning, 2nd ed., 2018"
_ANY_WEIGHTS = (
    "Features and kernel, positive semidefinite, were fixed before the data, or are among the "
    "candidates; the weights may depend on the data in any way."
)
_WIDTH = "But the kernel's width came from the data: its 64 bits are paid for."


@dataclass(frozen=True)
class Training:
    """Training examples and the predictions of the classifier, each computed once."""

    estimator: Any
    given: Any  # X as the caller passed it
    X: Any  # as an array or sparse
    y: np.ndarray
    predicted: np.ndarray
    machine: Machine | None
    counted: bool = False  # True if the settings that a search compared count as candidates
    vc_dimension: int | None = None
    n_hypotheses: int | None = None

    @cached_property
    def wrong(self) -> np.ndarray:
        return self.predicted != self.y

    @property
    def counts(self) -> dict[str, int]:
        return {"k": int(self.wrong.sum()), "m": len(self.wrong)}

    @cached_property
    def fitted(self) -> bool:
        """True if the support vectors are in the rows where the fit found them."""
        has_vectors = is_expansion(self.estimator) or is_linear_hinge(self.estimator)
        return has_vectors and fitted_to(self.estimator, self.X)

    @cached_property
    def cosines(self) -> np.ndarray | str:
        """Signed cosines, or the reason why they are not known."""
        values = np.asarray(self.estimator.decision_function(self.given))
        return signed_cosines(
            self.estimator, self.machine, self.X, self.y, values, self.predicted, self.fitted
        )


def families(data: Training) -> dict[str, Callable[[Training, float], Bound | str]]:
    """Return the families of bounds for this kind of classifier: functions of delta, by name.

    Their number must not depend on the sample, since delta is divided by it.
    """
    bounds = {}
    if has_guarantee(data.estimator):
        bounds["guarantee of the learner"] = own_guarantee
    if is_perceptron(data.estimator):
        bounds["mistake compression bound"] = _mistake_compression
    elif _compresses(data) and not _averages(data.estimator):
        bounds["sample compression bound"] = _compression
    if data.machine is not None:
        bounds["PAC-Bayes margin bound"] = _pac_bayes
        bounds["Rademacher margin bound"] = _rademacher
    if data.vc_dimension is not None or (data.machine is not None and data.machine.linear):
        bounds["relative VC bound"] = _relative
        bounds["double-sampling VC bound"] = _double_sampling
    if data.n_hypotheses is not None:
        bounds["finite-class bound"] = _finite_class
    return bounds


def heuristics(data: Training) -> list[Bound]:
    """Return estimates from the training examples, without a guarantee."""
    # The training error itself is optimistic.
    counts = data.counts
    bounds = [
        Bound(
            "training error",
            counts["k"] / counts["m"],
            None,
            "heuristic",
            "train",
            counts,
            ("The classifier was chosen to make this small.",),
            "",
        )
    ]
    # A perceptron has its mistakes, a support vector machine its vectors.
    if is_perceptron(data.estimator):
        of_rounds = mistakes_of_one_epoch(data)
        bounds += [] if of_rounds is None else [of_rounds]
    if data.fitted and not _averages(data.estimator):
        n_sv = len(support_of(data.estimator))
        bounds.append(
            Bound(
                "share of support vectors",
                support_vector_loo_bound(n_sv, counts["m"]),
                None,
                "expected",
                "train",
                {"n_sv": n_sv, "m": counts["m"]},
                ("At least the leave-one-out error, which is right in expectation only.",),
                "Vapnik, Statistical Learning Theory, 1998.",
            )
        )
    return bounds


def _compresses(data):
    """Return True for a machine of two classes that its support vectors determine."""
    machine = data.machine
    return machine is not None and (machine.expansion or is_linear_hinge(data.estimator))


def _averages(estimator):
    """Return True for a mean over rounds, in which all examples had a part."""
    return bool(getattr(estimator, "average", False))


def _mistake_compression(data, delta):
    return mistake_compression(data, delta, data.counted)


def _compression(data, delta):
    # Give the reason if the support vectors do not determine the function.
    estimator = data.estimator
    if not data.fitted:
        return "the examples are not those that it was fitted to"
    if getattr(estimator, "fit_status_", 0) != 0 or not getattr(estimator, "converged_", True):
        return "the solver stopped before it converged"
    bits = description_bits(estimator, data.machine.counted)
    if bits is None:
        return "the support vectors and the parameters do not determine the machine"
    if may_be_indefinite(estimator):
        return "its kernel need not be positive semidefinite, nor its solution the only one"
    if not has_free_vector(estimator, data.y):
        return "no multiplier is below its bound, so that all examples had a part in the intercept"
    # Count the errors on all other examples.
    rest = np.ones(len(data.wrong), dtype=bool)
    support = support_of(estimator)
    rest[support] = False
    k, errors = len(support), int(data.wrong[rest].sum())
    log_messages = math.nextafter(bits * math.log(2), math.inf)
    # Say what the bound assumes.
    fixed = "Kernel, positive semidefinite," if data.machine.expansion else "Features"
    assumptions = [
        "Fitted without sample weights; trained on its support vectors alone the machine is the "
        "same, which is so for the exact solution, and is assumed within the solver's tolerance.",
        f"{fixed} and cost were fixed before the data, or are among the candidates.",
    ]
    if bits:
        assumptions.append(f"Of these, what came from the data is told in {bits} bits, paid for.")
    return Bound(
        "sample compression bound",
        sample_compression_bound(k, len(rest), delta, k=errors, log_messages=log_messages),
        delta,
        "upper",
        "train",
        {"m": len(rest), "n_sv": k, "errors_on_the_rest": errors, "bits": bits},
        tuple(assumptions),
        f"Floyd, Warmuth, 1995; {_LANGFORD}",
    )


def _margins(data, delta):
    """Return signed cosines, or the reason why there are none, and delta for one kernel width."""
    part = delta * 2.0**-data.machine.gamma_bits
    if isinstance(data.cosines, str) or part > 0:
        return data.cosines, part
    return "delta is too small to be divided", part


def _about_margins(data):
    sentences = [
        "The classifier is the sign of <w, phi(x)> + b, b being the weight of a constant feature.",
        _ANY_WEIGHTS,
    ]
    return [*sentences, _WIDTH] if data.machine.gamma_bits else sentences


def _pac_bayes(data, delta):
    cosines, part = _margins(data, delta)
    if isinstance(cosines, str):
        return cosines
    return Bound(
        "PAC-Bayes margin bound",
        pac_bayes_margin_bound(cosines, part),
        delta,
        "upper",
        "train",
        {"m": len(cosines), "mean_cosine": float(cosines.mean())},
        (*_about_margins(data), "Twice the error of a machine drawn from the posterior."),
        f"Langford, Shawe-Taylor, PAC-Bayes and margins, 2002; {_LANGFORD}",
    )


def _rademacher(data, delta):
    cosines, part = _margins(data, delta)
    if isinstance(cosines, str):
        return cosines
    rho = _best_rho(cosines, part)
    margin_error = float(np.count_nonzero(cosines <= rho)) / len(cosines)
    fixed = {"radius": 1.0, "rho_max": 1.0}
    return Bound(
        "Rademacher margin bound",
        rademacher_margin_bound(margin_error, len(cosines), part, rho=rho, uniform=True, **fixed),
        delta,
        "upper",
        "train",
        {"m": len(cosines), "rho": rho, "margin_error": margin_error},
        (
            *_about_margins(data),
            "Points are scaled to length 1, which no prediction depends on; the bound holds for "
            "every margin rho in (0, 1] at once.",
        ),
        f"{_MOHRI}, Theorem 5.9.",
    )


def _best_rho(cosines, delta):
    """Return the margin of the least bound, just below one of the cosines or 1."""
    m = len(cosines)
    positive = np.unique(cosines[cosines > 0])
    rho = np.append(np.nextafter(positive, 0), 1.0)
    rho = rho[rho > 0]
    error = np.searchsorted(np.sort(cosines), rho, side="right") / m
    value = error + 4 / (rho * math.sqrt(m)) + np.sqrt(np.log(np.log2(2 / rho)) / m)
    return float(rho[np.argmin(value)])


def _dimension(data):
    if data.vc_dimension is not None:
        return data.vc_dimension, (
            f"The class has VC dimension at most {data.vc_dimension}, as stated by the caller, and "
            "was fixed before the data."
        )
    return int(data.X.shape[1]) + 1, (
        "Half-spaces with an intercept, of features fixed before the data: the VC dimension is one "
        "more than there are features."
    )


def _relative(data, delta):
    d, assumption = _dimension(data)
    counts = data.counts
    return Bound(
        "relative VC bound",
        vc_error_bound(counts["k"], counts["m"], d, delta),
        delta,
        "upper",
        "train",
        {**counts, "vc_dimension": d},
        (assumption,),
        "Vapnik, Statistical Learning Theory, 1998, (4.41); Anthony, Shawe-Taylor, 1993.",
    )


def _double_sampling(data, delta):
    d, assumption = _dimension(data)
    counts = data.counts
    if counts["k"] > 0:
        return f"it is for no training errors, and there are {counts['k']}; its delta is spent"
    return Bound(
        "double-sampling VC bound",
        vc_error_bound(0, counts["m"], d, delta, method="double_sampling"),
        delta,
        "upper",
        "train",
        {**counts, "vc_dimension": d},
        (assumption, "There is no training error."),
        "Blumer, Ehrenfeucht, Haussler, Warmuth, 1989.",
    )


def _finite_class(data, delta):
    counts, n = data.counts, data.n_hypotheses
    log_prior = -math.nextafter(math.log(n), math.inf) if n > 1 else 0.0
    return Bound(
        "finite-class bound",
        occam_bound(counts["k"], counts["m"], delta, log_prior=log_prior),
        delta,
        "upper",
        "train",
        {**counts, "n_hypotheses": n},
        (f"One of {n} classifiers that were fixed before the data, as stated by the caller.",),
        f"Binomial test-set bound at delta over their number; {_LANGFORD}",
    )
