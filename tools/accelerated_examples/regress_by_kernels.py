"""Follow a noisy curve by support vector regression with several kernels."""

import numpy as np
from sklearn.svm import SVR, NuSVR

rng = np.random.RandomState(42)
X = np.sort(5 * rng.rand(2000, 1), axis=0)
y = np.sin(X).ravel() + 0.2 * rng.randn(2000)
models = {
    "rbf": SVR(kernel="rbf", C=100, gamma=0.1, epsilon=0.1),
    "linear": SVR(kernel="linear", C=1),
    "wide": SVR(kernel="rbf", C=10, gamma=0.01, epsilon=0.2),
    "nu": NuSVR(nu=0.4, C=10),
}

RESULT = {name: model.fit(X, y).predict(X) for name, model in models.items()}
