"""Lines of the tour on learners that play rounds, and on the bounds that they keep to."""

from collections.abc import Iterator
from typing import Any

import numpy as np


def mistakes_and_bounds(digits: Any) -> Iterator[tuple[str, str]]:
    """Yield what is measured, and its value, for images of 3 and 8 in file order."""
    from mlcore.bounds import certify
    from mlcore.linear_model import Perceptron
    from mlcore.online import Hedge, play
    from mlcore.pac import RectangleLearner

    keep, fresh = (np.isin(y, (3, 8)) for y in (digits.y, digits.y_held_out))
    X, y = digits.X[keep], digits.y[keep]
    model = Perceptron().fit(X, y)
    yield f"Perceptron, 3 against 8: mistakes in {model.n_iter_} epochs", f"{model.mistakes_}"
    yield "and no more than, as its margin proves", f"{model.mistake_bound_:.0f}"
    certificate = certify(model, X, y, role="train")
    yield f"true error at most, {certificate.best.name}", f"{certificate.best.value:.3f}"
    mean = Perceptron(average=True, max_iter=model.n_iter_).fit(X, y)
    right = mean.score(digits.X_held_out[fresh], digits.y_held_out[fresh])
    yield "named right by the mean of all rounds, held-out images", f"{right:.1%}"

    # Each pixel is two experts, that say 8 where it is bright, or dark.
    bright = (X > 0.5) == (y == 8)[:, None]
    losses = np.hstack([bright, ~bright]).astype(float)
    game = play(Hedge(losses.shape[1]), None, losses)
    yield f"Hedge, {losses.shape[1]} experts, {len(losses)} rounds: regret", f"{game.regret:.1f}"
    yield "and no more than, on any sequence", f"{game.bound:.1f}"

    box = RectangleLearner(positive=0).fit(digits.X, np.where(digits.y == 0, 0, 1))
    bound = box.guarantee(0.05)
    yield (
        f"tightest box around the zeros: others in it, of {len(digits.X)}",
        (f"{box.training_errors_}"),
    )
    yield f"true error at most, {bound.name}", f"{bound.value:.3f}"
