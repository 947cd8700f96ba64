"""
A certificate for a classifier
==============================

`certify` applies every bound that holds for a fitted classifier, of any library, and puts the
smallest on top. The best is chosen honestly: what the choice costs is in the numbers.
"""

from mlcore.bounds import certify
from mlcore.datasets import load_digits
from mlcore.plot import certificate_bounds
from mlcore.svm import SVC

X, y = load_digits()
machine = SVC(C=10, gamma=1e-3).fit(X[:1000], y[:1000])
certificate = certify(machine, X[1000:], y[1000:], X_train=X[:1000], y_train=y[:1000])
picture = certificate_bounds(certificate)
print(certificate.summary())
