"""
A perceptron errs no more than the theorem says
===============================================

On separated classes Rosenblatt's rule makes at most (radius / margin)² mistakes, in all epochs
together: Novikoff's theorem, with the numbers of this fit.
"""

from mlcore.datasets import load_digits
from mlcore.linear_model import Perceptron
from mlcore.plot import objective_trace

X, y = load_digits()
X, y = X[y < 2], y[y < 2]  # zeros and ones
model = Perceptron().fit(X, y)
picture = objective_trace(model)
picture.ax_.set_title(f"{model.mistakes_} mistakes, at most {model.mistake_bound_:.0f}")
