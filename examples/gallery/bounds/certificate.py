"""
Certify a classifier: upper bounds on its true error
====================================================

`certify` computes every bound that holds for a fitted classifier of any library and puts the
smallest first. The confidence accounts for this choice among the bounds.
"""

from mlcore.bounds import certify
from mlcore.datasets import load_digits
from mlcore.plot import certificate_bounds
from mlcore.svm import SVC

X, y = load_digits()
model = SVC(C=10, gamma=1e-3).fit(X[:1000], y[:1000])
certificate = certify(model, X[1000:], y[1000:], X_train=X[:1000], y_train=y[:1000])
picture = certificate_bounds(certificate)
print(certificate.summary())
