"""Certification of a model by all bounds that apply to it, each at its part of delta."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from mlcore.bounds.arguments import as_bool, as_choice, as_count, as_delta, as_real, refuse
from mlcore.bounds.calculator import warn_of_confidence
from mlcore.bounds.certificates.certificate import BINOMIAL, Bound, Certificate, Role
from mlcore.bounds.certificates.class_rates import rates_of_classes
from mlcore.bounds.certificates.classifier_margins import as_machine
from mlcore.bounds.certificates.classifiers import as_classifier, as_table, labels_of, searched
from mlcore.bounds.certificates.freshness import unsure_of
from mlcore.bounds.certificates.losses import LossName, as_loss, mean_of
from mlcore.bounds.certificates.metrics import (
    Measured,
    MetricName,
    answered_by,
    as_metrics,
    intervals_of,
    rows_of,
)
from mlcore.bounds.certificates.training_bounds import Training, families, heuristics
from mlcore.bounds.concentration.bernoulli_kl import kl_inverse_upper
from mlcore.bounds.concentration.concentration import hoeffding_epsilon
from mlcore.bounds.held_out import binomial_tail_inversion, clopper_pearson
from mlcore.bounds.metrics.bounded_mean import (
    empirical_bernstein,
    hoeffding_bentkus,
    mean_interval,
    moments_of,
    on_range,
)

_FRESH = {
    "test": "The examples took no part in fitting or choosing the classifier.",
    "validation": "The examples chose one of n_candidates classifiers, all fitted without them.",
}
_LEAST_DELTA = 2.0**-1021
_CHERNOFF = "Chernoff, 1952; Hoeffding, 1963, Theorem 1."
_PEARSON = "Clopper, Pearson, 1934; Langford, 2005, Theorem 3.3."
_BERNSTEIN = "Bernstein, 1946, with a variance bounded as a U-statistic (Hoeffding, 1963, 5a)."
_BATES = "Bates, Angelopoulos, Lei, Malik, Jordan, 2021; Bentkus, 2004."


def certify(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    delta: float = 0.05,
    role: Role = "test",
    n_candidates: int | None = None,
    X_train: Any = None,
    y_train: Any = None,
    vc_dimension: int | None = None,
    n_hypotheses: int | None = None,
    target: float | None = None,
    simultaneous: bool = True,
    loss: LossName | Callable[[Any, Any], Any] | None = None,
    value_range: tuple[float, float] | None = None,
    metrics: Sequence[MetricName] | None = None,
    positive: Any = None,
    reject: Any = None,
) -> Certificate:
    r"""Bound the true error of a classifier, or the loss of a model, by every theorem for it.

    ``certify(classifier, X, y)``, or ``certify(predictions, y=y)``. From fresh examples comes the
    binomial bound, which is exact, beside Chernoff's and Hoeffding's, which are never smaller, and
    bounds on recall, error and precision of every class. From training examples: sample compression
    (support vector machines of two classes, not those of squared hinge losses; perceptrons, by
    their mistakes), what learners of `mlcore.pac` guarantee, the PAC-Bayes and Rademacher margin
    bounds (linear and kernel machines of two classes, whose intercept is the weight of a constant
    feature), VC bounds (half-spaces of n features have dimension n + 1), and the union bound over a
    finite class.

    Choosing the smallest of several bounds after the fact costs confidence. So each of the F
    families of bounds, of which none is always smaller than another, holds at
    :math:`\delta / F`, and all lines hold together, hence also the smallest. The families depend
    on the kind of classifier and on the arguments, not on the examples: one that has no bound for
    these still counts among the F.

    The examples must be independent draws from one distribution: no time series, groups of related
    examples or sample weights. Cross-validation has no general bound at :math:`1 - \delta`.

    Parameters
    ----------
    estimator : object with `predict`, function, or array of predictions
        A fitted classifier of any library, a function of X that returns labels, or the predicted
        labels; with a loss also a regressor. Clusterings, mixtures, outlier detectors and
        transformers are refused.
    X, y : array-like
        Examples and their true labels; predictions need no X.
    delta : float in (0, 1), default=0.05
        Probability that a statement of the certificate fails.
    role : {"test", "validation", "train"}, default="test"
        Earlier use of `X` and `y`: none; to choose among `n_candidates`; to fit.
    n_candidates : int, optional
        Number of classifiers among which this one was chosen, all that were ever compared; each
        gets ``delta / n_candidates``. Not with role "test". By default the number compared by the
        searches found in the classifier (scikit-learn's, and those of mlcore: `svm.SVCCV` and the
        linear models whose penalties are chosen, each pair of penalty and l1_ratio), else 1.
    X_train, y_train : array-like, optional
        Training examples, for the bounds from these as well. `X_train` alone is only compared with
        `X`. Without it, X is searched for training examples that the model keeps (support vectors,
        neighbours), also inside pipelines, searches and ensembles; if it keeps none, the report
        begins with a warning.
    vc_dimension : int, optional
        VC dimension of the class of binary classifiers that this one is from, fixed before the
        data.
    n_hypotheses : int, optional
        Size of that class, if it is finite.
    target : float in (0, 1), optional
        Error rate to plan for: the report says how many fresh examples prove it.
    simultaneous : bool, default=True
        If False, every family holds at `delta`; the smallest line is then no statement at
        1 - delta, and the report says so.
    loss : {"absolute", "squared"} or callable, optional
        The loss of each example in place of counting errors, ``loss(y, prediction)``; then the
        bounds are Hoeffding and Bentkus's and an empirical Bernstein bound. For fresh examples.
    value_range : (float, float), optional
        With a named loss the least and largest possible target, known beforehand, outside of which
        no prediction may be; with a callable the least and largest possible loss, by default
        (0, 1).
    metrics : list of str, optional
        Metrics to report with intervals that hold together at `delta`, in place of the bounds:
        "error", "recall", "precision", "f1", "jaccard" and "auc"; with a named loss "mae", "mse"
        and "r2"; with `reject` also "coverage", and by default this and "error". Of fresh examples.
    positive : label, optional
        Class that recall, precision, F1, Jaccard index and AUC are of; by default the larger of two
        and each of more, which shares `delta` among them.
    reject : label, optional
        Prediction that stands for no answer, such as "ask": errors are counted on the answered
        examples, and all that is said of errors is of these. For fresh examples.

    Returns
    -------
    certificate : Certificate
        Its text is a report.

    Raises
    ------
    ValueError
        For arguments out of range; for what is no classifier; for test or validation examples that
        are training examples; if no bound applies.

    Examples
    --------
    >>> from mlcore.bounds import certify
    >>> class Always:
    ...     def predict(self, X):
    ...         return [1] * len(X)
    >>> certificate = certify(Always(), [[0.0]] * 1000, [0] * 30 + [1] * 970)
    >>> for bound in certificate.bounds:
    ...     print(f"{bound.value:.5f} {bound.name}")
    0.04047 binomial test-set bound
    0.04512 Chernoff's kl bound
    0.06870 Hoeffding's bound
    >>> certificate.required(0.04)
    1098

    Intervals of metrics that hold together:

    >>> found = certify(Always(), [[0.0]] * 1000, [0] * 30 + [1] * 970, metrics=["error", "f1"])
    >>> for metric in found.metrics:
    ...     print(f"{metric.name} from {metric.lower:.4f} to {metric.upper:.4f}")
    error from 0.0192 to 0.0445
    f1 from 0.9773 to 0.9903
    """
    # Check the parameters.
    delta, role = as_delta(delta), as_choice(role, "role", get_args(Role))
    if n_candidates is not None:
        n_candidates = as_count(n_candidates, "n_candidates", at_least=1)
    if role == "test" and n_candidates not in (None, 1):
        refuse("n_candidates", n_candidates, '1 for role="test": a set that chose is "validation"')
    if vc_dimension is not None:
        vc_dimension = as_count(vc_dimension, "vc_dimension", at_least=1)
    if n_hypotheses is not None:
        n_hypotheses = as_count(n_hypotheses, "n_hypotheses", at_least=1)
    if target is not None:
        target = as_real(target, "target", above=0, below=1)
    simultaneous = as_bool(simultaneous, "simultaneous")
    loss = _loss(loss, value_range, role, target)
    metrics = as_metrics(metrics, loss, reject is not None)
    _refuse_metrics_of_training(role, metrics, positive, reject, loss, y_train)
    # Name the classifier, and count the candidates that it was chosen from.
    classifier = as_classifier(estimator, "estimator", scored=loss is not None)
    model, n_searched = searched(classifier.model)
    counted = n_candidates is None or n_candidates >= n_searched
    if n_candidates is None:
        n_candidates = 1 if role == "test" else n_searched

    # Check labels and predictions, and whether they are fresh.
    y, predicted = labels_of(classifier, X, y, scored=loss is not None)
    unsure = None if role == "train" else unsure_of(classifier, X, X_train, role)
    answered = None
    if reject is not None:
        answered = answered_by(predicted, y, reject)
        y, predicted = y[answered], predicted[answered]
    measured = Measured(y, predicted, answered, classifier.model, X, loss)
    rows = rows_of(metrics, measured, positive)
    data = _training(
        classifier, model, X, y, predicted, role, X_train, y_train, counted and role == "train"
    )
    if data is not None:
        data = replace(data, vc_dimension=vc_dimension, n_hypotheses=n_hypotheses)
    left_out = _unused(data, vc_dimension, n_hypotheses)
    # Divide delta among candidates and, for all lines together, among bounds.
    chosen = {} if data is None else families(data)
    own = 0 if role == "train" else 1 if loss is None else 2
    n_families = own + len(chosen)
    if n_families == 0:
        refuse(
            "estimator",
            estimator,
            "one that training examples bound: a support vector or linear classifier of two "
            "classes, a perceptron or a learner of mlcore.pac, not behind steps that were fitted "
            "as well, or of a class of given "
            "vc_dimension or n_hypotheses",
        )
    budget = _divided(delta, n_candidates)
    family_delta = _divided(budget, n_families) if simultaneous else budget

    # Bound the error on the examples, then by each family.
    if role == "train":
        inputs, bounds, interval, classes = data.counts, [], None, ()
    else:
        inputs, bounds, interval, classes = _of_fresh(measured, role, family_delta, budget)
    for name, family in chosen.items():
        bound = family(data, family_delta)
        if isinstance(bound, str):
            left_out.append(f"{name}: {bound}.")
        else:
            bounds.append(bound)
    if not bounds:
        refuse("estimator", estimator, "one with a bound: " + " ".join(left_out))
    warn_of_confidence(delta)
    return Certificate(
        estimator=classifier.name,
        role=role,
        delta=delta,
        n_candidates=n_candidates,
        simultaneous=simultaneous or n_families == 1,
        inputs=inputs,
        bounds=tuple(sorted(bounds, key=float)),
        interval=interval,
        heuristics=() if data is None else tuple(heuristics(data)),
        left_out=tuple(left_out),
        target=target,
        classes=classes,
        unsure=unsure,
        metrics=intervals_of(rows, measured, _divided(budget, len(rows))) if rows else (),
    )


def _of_fresh(measured, role, delta, budget):
    """Return what was counted on fresh examples, bounds, an interval, and rates of classes."""
    y, predicted, loss = measured.y, measured.predicted, measured.loss
    if loss is not None:
        losses = loss(y, predicted)
        mean = mean_of(losses)
        inputs = {"mean_loss": mean, "m": len(y), "value_range": loss.value_range}
        return inputs, *_of_losses(losses, inputs, role, delta, budget), ()
    inputs = {"k": int((predicted != y).sum()), "m": len(y)}
    found = _of_errors(inputs, role, delta, budget)
    if measured.answered is not None:
        inputs = inputs | {"rejected": int((~measured.answered).sum())}
    return inputs, *found, rates_of_classes(y, predicted, budget)


def _of_errors(inputs, role, delta, budget):
    """Return the exact bound and two that are never smaller, and a two-sided interval."""
    k, m = inputs["k"], inputs["m"]
    rate = math.nextafter(k / m, 1) if k else 0.0
    nats = math.nextafter(-math.log(delta) / m, math.inf)
    hoeffding = math.nextafter(rate + hoeffding_epsilon(m, delta, two_sided=False), math.inf)

    def bound(name, value, delta, reference, kind="upper", note=()):
        return Bound(name, value, delta, kind, role, inputs, (_FRESH[role], *note), reference)

    compared = ("For comparison: never below the binomial bound.",)
    bounds = [
        bound(BINOMIAL, binomial_tail_inversion(k, m, delta), delta, _PEARSON),
        bound("Chernoff's kl bound", kl_inverse_upper(rate, nats), delta, _CHERNOFF, note=compared),
        bound("Hoeffding's bound", min(1.0, hoeffding), delta, "Hoeffding, 1963.", note=compared),
    ]
    lower, upper = clopper_pearson(k, m, budget)
    half = budget / 2
    return bounds, (
        bound("binomial lower bound", lower, half, _PEARSON, "lower"),
        bound(BINOMIAL, upper, half, _PEARSON),
    )


def _of_losses(losses, inputs, role, delta, budget):
    """Return two bounds on the expected loss, neither always smaller, and a two-sided interval."""
    if min(delta, budget) < _LEAST_DELTA:
        refuse("delta", budget, "a part of at least 2**-1021 for a loss")
    low, high = inputs["value_range"]
    moments = moments_of(losses, low, high)
    fresh = _FRESH[role].replace("classifier", "model")
    known = (fresh, f"No loss is outside [{low:g}, {high:g}].")

    def bound(name, value, delta, reference, kind="upper"):
        return Bound(name, value, delta, kind, role, inputs, known, reference)

    def upper(value):
        return on_range((0.0, value), low, high)[1]

    bounds = [
        bound("Hoeffding-Bentkus bound", upper(hoeffding_bentkus(moments, delta)), delta, _BATES)
    ]
    if moments.m >= 2:
        value = upper(empirical_bernstein(moments, delta))
        bounds.append(bound("empirical Bernstein bound", value, delta, _BERNSTEIN))
    name, half = "tighter of both bounds at half of it each", budget / 2
    least, most = on_range(mean_interval(moments, budget), low, high)
    return bounds, (
        bound(name, least, half, f"{_BATES} {_BERNSTEIN}", "lower"),
        bound(name, most, half, f"{_BATES} {_BERNSTEIN}"),
    )


def _loss(loss, value_range, role, target):
    """Return the loss, None where errors are counted."""
    if loss is None:
        if value_range is not None:
            refuse("value_range", value_range, "None without a loss")
        return None
    if role == "train":
        refuse("loss", loss, 'None for role="train": bounds for losses are for fresh examples')
    if target is not None:
        refuse("target", target, "None with a loss: it counts errors")
    return as_loss(loss, value_range)


def _refuse_metrics_of_training(role, metrics, positive, reject, loss, y_train):
    if role == "train":
        given = {"reject": reject, "positive": positive, "metrics": metrics or None}
        for name, value in given.items():
            if value is not None:
                refuse(name, value, 'None for role="train": it is for fresh examples')
    if reject is not None and loss is not None:
        refuse("reject", reject, "None with a loss, which says what no answer costs")
    if reject is not None and y_train is not None:
        refuse("reject", reject, "None with y_train: training bounds are for what always answers")


def _training(classifier, model, X, y, predicted, role, X_train, y_train, counted):
    """Return the training examples with their predictions, None if there are none."""
    if role == "train":
        for name, value in (("X_train", X_train), ("y_train", y_train)):
            if value is not None:
                refuse(name, value, 'None for role="train": X and y are the training examples')
        X_train, y_train = X, y
    elif y_train is None:
        return None
    else:
        if X_train is None:
            refuse("y_train", y_train, "None without X_train")
        if classifier.predict is None:
            refuse("y_train", y_train, 'None for predictions: give those of training examples as '
                   'the first argument, with role="train"')  # fmt: skip
        y, predicted = labels_of(classifier, X_train, y_train, suffix="_train")
    classes = getattr(model, "classes_", None)
    n_classes = len(np.unique(np.concatenate([y, predicted])) if classes is None else classes)
    table = None if X_train is None else as_table(X_train, "X_train")
    readable = table is not None and n_classes == 2 and table.ndim == 2
    hyperplane = as_machine(model, counted) if readable else None
    return Training(model, X_train, table, np.asarray(y), predicted, hyperplane, counted)


def _unused(data, vc_dimension, n_hypotheses):
    if data is not None:
        return []
    options = {"vc_dimension": vc_dimension, "n_hypotheses": n_hypotheses}
    return [
        f"{name} is for bounds from training examples: give X_train and y_train."
        for name, value in options.items()
        if value is not None
    ]


def _divided(delta, parts):
    """Return the largest float that is at most delta / parts."""
    part = float(Fraction(delta) / parts)
    if Fraction(part) * parts > Fraction(delta):
        part = math.nextafter(part, 0)
    return part if part > 0 else refuse("delta", delta, f"large enough for {parts} parts")
