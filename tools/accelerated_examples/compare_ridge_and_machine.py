"""Compare kernel ridge regression and support vector regression, both with chosen parameters."""

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

rng = np.random.RandomState(42)
X = 5 * rng.rand(1000, 1)
y = np.sin(X).ravel()
y[::5] += 3 * (0.5 - rng.rand(len(y[::5])))
plot = np.linspace(0, 5, 5000)[:, None]
gammas = np.logspace(-2, 2, 5)
ridge = GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": [1e0, 0.1, 1e-2], "gamma": gammas})
machine = GridSearchCV(SVR(kernel="rbf"), {"C": [1e0, 1e1], "gamma": gammas})

RESULT = {
    "ridge": ridge.fit(X, y).predict(plot),
    "machine": machine.fit(X, y).predict(plot),
    "best": np.array([ridge.best_params_["gamma"], machine.best_params_["gamma"]]),
}
