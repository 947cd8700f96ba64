"""Separate the exclusive or of two signs by a nu-machine."""

import numpy as np
from sklearn.svm import NuSVC

rng = np.random.RandomState(0)
X = rng.randn(3000, 2)
y = np.logical_xor(X[:, 0] > 0, X[:, 1] > 0)
machine = NuSVC(nu=0.2, gamma="auto").fit(X, y)
axis = np.linspace(-3, 3, 150)
plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)

RESULT = {"height": machine.decision_function(plane), "accuracy": np.array(machine.score(X, y))}
