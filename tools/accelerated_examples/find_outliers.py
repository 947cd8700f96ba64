"""Find outliers around two moons by a one-class machine, on a grid of the plane."""

import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import OneClassSVM

X, _ = make_moons(n_samples=3000, noise=0.05, random_state=0)
outliers = np.random.RandomState(42).uniform(-3, 3, size=(300, 2))
detector = OneClassSVM(nu=0.1, gamma=2.0).fit(np.concatenate([X, outliers]))
axis = np.linspace(-3, 3, 150)
plane = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)

RESULT = {"height": detector.decision_function(plane), "offset": detector.offset_}
