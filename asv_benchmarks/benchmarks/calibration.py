"""Probabilities beside other calibrations: python benchmarks/calibration.py prints a table.

Twelve data sets, generated or shipped with scikit-learn, with and without balanced class weights.
Half of each trains, repeatedly; the log-loss on the other half is shown as percent above the best
of scikit-learn's: its own Platt scaling, and CalibratedClassifierCV with sigmoid and isotonic links
around one machine or around five. The calibration error is the mean distance, over ten groups of
equal size, between mean probability and share of positives, in percent.

On "weak 6 %" the unweighted linear machine is constant, f = -1 (multipliers with w = 0 exist), so
that the share of positives, 7 % above the best, is all that its decision values can tell; averages
over five machines read what the tolerance leaves of each. On "weak 8 %" machines are next to that.
"""

import warnings

import numpy as np

from mlcore.svm import SVC

SETS = ("rare 2 %", "rare 10 %", "moons", "logistic 10 %", "wide class", "noisy labels",
        "breast cancer", "digits 8", "diabetes high", "iris", "weak 6 %", "weak 8 %")  # fmt: skip
WEIGHTS = (None, "balanced")


def data(name):
    """Features and labels 0 or 1."""
    from sklearn import datasets  # here, as not every place that lists benchmarks has it

    rng = np.random.default_rng(0)
    made = {
        "rare 2 %": (4000, 10, 4, 0.98, 0.01, 0.8, 0),
        "rare 10 %": (3000, 8, 5, 0.9, 0.05, 1.0, 1),
        "noisy labels": (2000, 20, 10, 0.5, 0.2, 1.0, 3),
    }
    if name in made:
        n, d, informative, share, flips, separation, seed = made[name]
        return datasets.make_classification(
            n, d, n_informative=informative, weights=[share], flip_y=flips,
            class_sep=separation, random_state=seed,
        )  # fmt: skip
    if name == "moons":
        return datasets.make_moons(2000, noise=0.35, random_state=0)
    if name == "logistic 10 %":
        X = rng.normal(size=(3000, 5))
        return X, rng.random(3000) < 1 / (1 + np.exp(3.3 - 1.5 * X[:, 0] - 0.75 * X[:, 1]))
    if name == "weak 6 %":  # overlapping classes, and a linear machine
        X = rng.normal(size=(4000, 5))
        return X, rng.random(4000) < 1 / (1 + np.exp(3.3 - X[:, 0] - 0.5 * X[:, 1]))
    if name == "weak 8 %":
        X = rng.normal(size=(3000, 5))
        return X, rng.random(3000) < 1 / (1 + np.exp(4 - 2 * X[:, 0] - X[:, 1]))
    if name == "wide class":
        X = np.concatenate([rng.normal(size=(1500, 2)), 1 + 3 * rng.normal(size=(500, 2))])
        return X, np.repeat([0, 1], [1500, 500])
    if name == "breast cancer":
        return datasets.load_breast_cancer(return_X_y=True)
    if name == "digits 8":
        X, y = datasets.load_digits(return_X_y=True)
        return X, y == 8
    if name == "diabetes high":
        X, y = datasets.load_diabetes(return_X_y=True)
        return X, y > np.quantile(y, 0.8)
    X, y = datasets.load_iris(return_X_y=True)
    return X[50:, :2], y[50:] - 1


def halves(name):
    from sklearn.model_selection import StratifiedShuffleSplit
    from sklearn.preprocessing import StandardScaler

    X, y = data(name)
    y = np.asarray(y).astype(int)
    splits = StratifiedShuffleSplit(6 if len(y) > 1500 else 12, train_size=0.5, random_state=0)
    for train, test in splits.split(X, y):
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def log_loss(p, y):
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.log(np.where(y == 1, p, 1 - p)).mean())


def calibration_error(p, y):
    groups = np.searchsorted(np.quantile(p, np.linspace(0.1, 0.9, 9)), p)
    return sum(abs(float((p - y)[groups == g].sum())) for g in range(10)) / len(y)


def machines(name, class_weight):
    from sklearn import svm
    from sklearn.calibration import CalibratedClassifierCV

    settings = {"class_weight": class_weight, "kernel": "linear" if name[:4] == "weak" else "rbf"}
    machine = svm.SVC(**settings)
    yield "mlcore", SVC(**settings, probability=True, random_state=0)
    yield "Platt", svm.SVC(**settings, probability=True, random_state=0)
    for method in ("sigmoid", "isotonic"):
        for several in (False, True):
            name = f"{method} {5 if several else 1}"
            yield name, CalibratedClassifierCV(machine, method=method, ensemble=several)


def measured(name, class_weight):
    """Mean log-loss and calibration error of each machine."""
    found = {}
    for X, y, Z, truth in halves(name):
        for kind, machine in machines(name, class_weight):
            p = machine.fit(X, y).predict_proba(Z)[:, 1]
            found.setdefault(kind, []).append((log_loss(p, truth), calibration_error(p, truth)))
    return {kind: np.mean(values, axis=0) for kind, values in found.items()}


def main():
    """Print the table."""
    warnings.simplefilter("ignore")  # scikit-learn's announcements
    kinds = [kind for kind, _ in machines(SETS[0], None)]
    print(" " * 27 + "log-loss, % above scikit-learn's best; then calibration error in %")
    print(
        f"{'data':15s}{'weights':9s}  best " + " ".join(f"{kind[:10]:>10s}" for kind in 2 * kinds)
    )
    for name in SETS:
        for class_weight in WEIGHTS:
            found = measured(name, class_weight)
            best = min(loss for kind, (loss, _) in found.items() if kind != "mlcore")
            losses = " ".join(f"{100 * (found[kind][0] / best - 1):10.1f}" for kind in kinds)
            errors = " ".join(f"{100 * found[kind][1]:10.2f}" for kind in kinds)
            print(f"{name:15s}{class_weight or '':9s}{best:6.4f} {losses} {errors}", flush=True)


if __name__ == "__main__":
    main()
