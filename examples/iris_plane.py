"""The plane that separates three species of iris best, with tests and errors of its classifier.

python examples/iris_plane.py              prints directions, tests and errors
python examples/iris_plane.py FILE.svg     draws the plane and the borders, with matplotlib
"""

import sys

import numpy as np

from mlcore.datasets import load_iris
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

FEATURES = ("sepal length", "sepal width", "petal length", "petal width")
SPECIES = ("setosa", "versicolor", "virginica")


def report() -> list[str]:
    """The lines of two tables."""
    X, y = load_iris()
    model = LinearDiscriminantAnalysis(unbiased=True).fit(X, y)
    test = model.dimension_test()
    lines = [f"{'direction':24}{1:>12}{2:>12}"]
    for name, row in zip(FEATURES, model.scalings_, strict=True):
        lines.append(f"  {name:22}" + "".join(f"{value:12.4f}" for value in row))
    for name, values, form in (
        ("share of the variance", model.explained_variance_ratio_, "12.4f"),
        ("correlation", model.canonical_correlations_, "12.4f"),
        ("probability by F", test.f_p_value, "12.1e"),
    ):
        lines.append(f"{name:24}" + "".join(f"{value:{form}}" for value in values))
    lines.append(f"{'errors of 150':24}{'training':>12}{'left out':>12}")
    quadratic = QuadraticDiscriminantAnalysis().fit(X, y)
    for name, each in (("linear", model), ("quadratic", quadratic)):
        errors = (each.predict(X) != y).sum()
        left_out = (each.leave_one_out(X, y).argmax(axis=1) != y).sum()
        lines.append(f"  {name:22}{errors:12d}{left_out:12d}")
    return lines


def draw(path: str) -> None:
    """Samples in the plane, over the species that the projected model predicts there."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "iris"  # the same picture, the same file
    X, y = load_iris()
    plane = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    model = LinearDiscriminantAnalysis().fit(plane, y)  # the same posteriors, of two features
    axis = [np.linspace(v.min() - 1, v.max() + 1, 200) for v in plane.T]
    points = np.stack(np.meshgrid(*axis), axis=-1).reshape(-1, 2)
    figure, axes = pyplot.subplots(figsize=(8, 5))
    axes.contourf(*axis, model.predict(points).reshape(200, 200), levels=2, alpha=0.2)
    for code, name in enumerate(SPECIES):
        own = plane[y == code]
        axes.scatter(own[:, 0], own[:, 1], s=12, label=name)
    axes.set(xlabel="first direction", ylabel="second direction")
    axes.legend()
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if ".svg" in path else None)


def main() -> None:
    print("\n".join(report()))
    if len(sys.argv) > 1:
        draw(sys.argv[1])


if __name__ == "__main__":
    main()
