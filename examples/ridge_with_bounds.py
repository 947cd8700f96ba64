"""Kernel ridge regression with what is known of its errors: petal widths of irises from lengths.

    python examples/ridge_with_bounds.py

prints a curve, ready for a plot: the prediction, the deviation of the function as a Gaussian
process, and how far the prediction may be from that of the exact minimiser, rounding included. Then
the same function from few centres, and how far these are proved to be from the best of all.
"""

from collections.abc import Iterator

import numpy as np

from mlcore.datasets import load_iris
from mlcore.kernel_ridge import KernelRidgeCV, NystroemRidge

ALPHAS = np.geomspace(1e-3, 10.0, 13)
CENTERS = (2, 4, 8, 16)


def curve(model: KernelRidgeCV, lengths: np.ndarray) -> Iterator[str]:
    """Lines of length, width, deviation and bound; the norms of samples in feature space are 1."""
    widths, deviations = model.predict(lengths[:, None], return_std=True)
    yield "length,width,deviation,bound"
    for values in zip(lengths, widths, deviations, strict=True):
        yield ",".join(f"{value:.4f}" for value in values) + f",{2 * model.prediction_bound_:.1e}"


def few_centers(model: KernelRidgeCV, X: np.ndarray, y: np.ndarray) -> Iterator[str]:
    """Lines of the number of centres, the objective and the largest possible excess."""
    yield "centres,objective,excess at most"
    for n_centers in CENTERS:
        few = NystroemRidge(
            model.alpha_, kernel="rbf", gamma=model.gamma_, fit_intercept=True,
            n_centers=n_centers, random_state=0,
        ).fit(X, y)  # fmt: skip
        shown = few.verify(X, y)
        yield f"{len(few.dual_coef_)},{shown.objective:.6f},{shown.duality_gap:.1e}"
    yield f"all,{model.objective_:.6f},{model.duality_gap_:.1e}"


def main() -> None:
    data, _ = load_iris()
    X, y = data[:, 2:3], data[:, 3]
    model = KernelRidgeCV(ALPHAS, kernel="rbf", fit_intercept=True).fit(X, y)
    print(f"alpha={model.alpha_:.3g} gamma={model.gamma_:.3g}: leave-one-out error", end=" ")
    print(f"{model.best_criterion_**0.5:.4f}")
    print("\n".join(curve(model, np.linspace(0.5, 7.5, 15))))
    print("\n".join(few_centers(model, X, y)))


if __name__ == "__main__":
    main()
