"""Lines of the tour on decisions by costs, and on distributions with given means."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np


def costs_and_means(digits: Any) -> Iterator[tuple[str, str]]:
    """Yield what is measured, and its value."""
    from mlcore.bayes import RiskClassifier
    from mlcore.discriminant import LinearDiscriminantAnalysis
    from mlcore.entropy import maximum_entropy

    eights, fresh = digits.y == 8, digits.y_held_out == 8
    costs = np.array([[0, 1], [10, 0]])
    for name, loss in (("every error costs 1", 1 - np.eye(2)), ("a missed eight costs 10", costs)):
        model = RiskClassifier(LinearDiscriminantAnalysis(), loss).fit(digits.X, eights)
        cost = costs[fresh.astype(int), model.decide(digits.X_held_out).actions].sum()
        yield f"eights by LDA, told that {name}: true costs", f"{cost}"

    loss = np.column_stack([1 - np.eye(10), np.full(10, 0.05)])
    model = RiskClassifier(LinearDiscriminantAnalysis(), loss, [*range(10), -1])
    predicted = model.fit(digits.X, digits.y).predict(digits.X_held_out)
    sure = predicted != -1
    yield "held-out images not decided, if to ask costs 0.05", f"{1 - sure.mean():.1%}"
    right = np.mean(predicted[sure] == digits.y_held_out[sure])
    yield "the others named right", f"{right:.1%}"

    means = (digits.X.mean(axis=0) + digits.X[eights].mean(axis=0)) / 2
    start = time.perf_counter()
    weights = maximum_entropy(digits.X, means)
    seconds = time.perf_counter() - start
    yield "maximum entropy of images whose mean is half an eight", f"{1000 * seconds:.0f} ms"
    share = weights.probabilities[eights].sum()
    yield f"the {eights.mean():.0%} of eights among them then weigh", f"{share:.0%}"
    yield "duality gap", f"{weights.duality_gap:.0e}"
