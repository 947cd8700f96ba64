"""Bounds of learners that show how they learnt: mistakes of perceptrons, guarantees of concepts."""

import math
from typing import Any

import numpy as np
from scipy import sparse

from mlcore.bounds.certificates.certificate import Bound
from mlcore.bounds.certificates.classifier_margins import fitted_to, width_bits
from mlcore.bounds.data_dependent.compression import sample_compression_bound
from mlcore.bounds.online_learning.online_to_batch import online_to_batch_expected

_CARRIED = "Littlestone, Warmuth, Relating data compression and learnability, 1986."


def is_perceptron(estimator: Any) -> bool:
    """Return True if the mistakes of its fit determine the classifier."""
    shown = ("mistake_trace_", "support_", "mistakes_")
    return all(hasattr(estimator, name) for name in shown) and not estimator.average


def has_guarantee(estimator: Any) -> bool:
    """Return True if the classifier bounds its own error from the examples of its fit."""
    shown = ("guarantee", "training_errors_", "n_samples_")
    return all(hasattr(estimator, name) for name in shown)


def mistake_compression(data: Any, delta: float, counted: bool) -> Bound | str:
    """Return the bound for a perceptron, which the same rounds with its mistakes alone rebuild.

    The message says which of the mistaken examples each epoch took.
    """
    # The rounds must have been played with these examples.
    estimator, m = data.estimator, len(data.wrong)
    support, trace = np.asarray(estimator.support_), np.asarray(estimator.mistake_trace_)
    if estimator.n_rounds_ != m * len(trace) or not _same_rows(estimator, data.X):
        return "the examples are not those that it was fitted to"
    # Count the bits of the message.
    k, total = len(support), int(estimator.mistakes_)
    if estimator.shuffle:
        nats = total * math.log(max(k, 1)) + math.log(total + 1) + math.log(total + 2)
    else:
        epochs = trace[: np.flatnonzero(trace)[-1] + 1].tolist()
        nats = sum(math.log((k + 1) * math.comb(k, mistakes)) for mistakes in epochs)
        nats += math.log(len(epochs) * (len(epochs) + 1))
    bits = width_bits(estimator, counted)
    nats = math.nextafter((nats + bits * math.log(2)) * (1 + 1e-12), math.inf)
    # The errors are those on the examples that were never mistaken.
    rest = np.ones(m, dtype=bool)
    rest[support] = False
    errors = int(data.wrong[rest].sum())
    assumptions = [
        "Played with its mistaken examples alone, the rounds make the same function, but for "
        "rounding.",
        "Features, kernel and the other parameters were fixed before the data, or are among the "
        "candidates.",
        f"The epochs in which each was mistaken are told in {nats / math.log(2):.0f} bits, paid "
        "for.",
    ]
    return Bound(
        "mistake compression bound",
        sample_compression_bound(k, m, delta, k=errors, log_messages=nats),
        delta,
        "upper",
        "train",
        {"m": m, "n_mistaken": k, "mistakes": total, "errors_on_the_rest": errors},
        tuple(assumptions),
        _CARRIED,
    )


def _same_rows(estimator, X):
    """Return True if rows of X are what the perceptron kept: samples, or the largest norm."""
    if X is None or X.ndim != 2:
        return False
    if hasattr(estimator, "support_vectors_"):
        return fitted_to(estimator, X)
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.square(X).sum(axis=1)
    radius = math.sqrt(float(np.max(squares)) + float(estimator.fit_intercept))
    return math.isclose(radius, estimator.radius_, rel_tol=1e-5)


def mistakes_of_one_epoch(data: Any) -> Bound | None:
    """Return the share of mistakes of a perceptron's only epoch, if there was one only."""
    estimator = data.estimator
    if len(estimator.mistake_trace_) != 1 or estimator.n_rounds_ != len(data.wrong):
        return None
    counts = {"mistakes": int(estimator.mistakes_), "T": int(estimator.n_rounds_)}
    return Bound(
        "mistakes of the only epoch",
        online_to_batch_expected(**counts),
        None,
        "expected",
        "stream",
        counts,
        ("The error of the function before a round that is drawn, in expectation.",),
        "Shalev-Shwartz, Ben-David, Understanding Machine Learning, 2014, exercise 21.5.",
    )


def own_guarantee(data: Any, delta: float) -> Bound | str:
    """Return the bound that the classifier gives of itself."""
    estimator, counts = data.estimator, data.counts
    if (estimator.training_errors_, estimator.n_samples_) != (counts["k"], counts["m"]):
        return "the examples are not those that it was fitted to"
    return estimator.guarantee(delta)
