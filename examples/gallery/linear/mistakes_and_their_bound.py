"""
Perceptron: mistakes and Novikoff's bound
=========================================

If a line separates the classes, the perceptron makes at most (radius / margin)² mistakes in all
epochs together. Any separating line gives a bound; this one is the line of a linear SVM, whose
margin is large.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_iris
from mlcore.linear_model import Perceptron
from mlcore.svm import SVC

X, y = load_iris()
X, y = X[y < 2], y[y < 2]  # setosa and versicolor
model = Perceptron().fit(X, y)
svm = SVC(kernel="linear", C=1000).fit(X, y)
length = np.hypot(np.linalg.norm(svm.coef_), np.linalg.norm(svm.intercept_))
bound = model.bound(margin=svm.functional_margins(X, y).min() / length)

epochs = np.arange(1, model.n_iter_ + 1)
figure, ax = plt.subplots(layout="constrained")
ax.semilogy(epochs, np.cumsum(model.mistake_trace_), "o-", label="mistakes so far")
ax.axhline(bound, color="#D55E00", linestyle="--", label="Novikoff's bound")
ax.set(xlabel="epoch", xticks=epochs, ylabel="mistakes", ylim=(1, 3 * bound))
ax.set_title(f"{model.mistakes_} mistakes, at most {bound:.0f}")
ax.legend(loc="center right")
