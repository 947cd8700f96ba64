"""Fisher vectors of digits, against the same in NumPy, and the bytes that must be written."""

import numpy as np

from mlcore.kernels import FisherVectors
from mlcore.mixture import GaussianMixture

from .real_data import mnist


def in_numpy(mixture, X):
    """Return weights, means and deviations of a diag mixture, each row divided by its norm."""
    g = mixture.predict_proba(X)
    w, mu = mixture.weights_, mixture.means_.astype(X.dtype)
    n, (k, d) = len(X), mu.shape
    root = np.sqrt(w).astype(X.dtype)
    out = np.empty((n, k + 2 * k * d), X.dtype)
    out[:, :k] = (g - w) / root
    z = (X[:, None, :] - mu) * mixture.precisions_cholesky_.astype(X.dtype)
    share = (g / root)[:, :, None].astype(X.dtype)
    np.multiply(z, share, out=out[:, k : k + k * d].reshape(n, k, d))
    np.square(z, out=z)
    z -= 1
    z *= share / X.dtype.type(np.sqrt(2))
    out[:, k + k * d :] = z.reshape(n, -1)
    out /= np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
    return out


class Digits:
    """Rows under 16 components: those of MNIST, 784 pixels (see real_data), or drawn ones.

    Digits belong to one component each, so that nearly all of a vector is 0; drawn rows of few
    features belong to all.
    """

    params = ["mnist", "drawn"], ["float32", "float64"]
    param_names = ["rows", "dtype"]

    def setup(self, rows, dtype):
        if rows == "drawn":
            X = np.random.default_rng(0).normal(size=(20_000, 12))
        else:
            X = mnist()[:4_000]
        self.X = X.astype(dtype)
        self.mixture = GaussianMixture(
            16, covariance_type="diag", reg_covar=1e-2, max_iter=10, tol=0, random_state=0
        ).fit(self.X)
        self.vectors = FisherVectors(self.mixture).fit(self.X)

    def time_fisher_vectors(self, *_):
        self.vectors.transform(self.X)

    def time_responsibilities(self, *_):
        self.mixture.predict_proba(self.X)

    def time_numpy(self, *_):
        in_numpy(self.mixture, self.X)

    def time_floor(self, *_):
        np.ones((len(self.X), self.vectors._n_out()), self.X.dtype)
