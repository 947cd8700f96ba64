"""Steps of EM for mixtures of Gaussians, each beside the products that no implementation avoids."""

import numpy as np

from mlcore.mixture import GaussianMixture

SHAPES = {"full": (16, 16), "tied": (16, 16), "diag": (64, 32), "spherical": (16, 32)}
FAMILIES = ["VEI", "EVI", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV"]
STEPS = 10


def given_precisions(kind, X, k):
    """Those of the whole data, for every component."""
    variances = X.var(axis=0)
    return {
        "full": np.repeat(np.diag(1 / variances)[None], k, 0),
        "tied": np.diag(1 / variances),
        "diag": np.repeat(1 / variances[None], k, 0),
        "spherical": np.full(k, 1 / variances.mean()),
    }[kind]


class Fit:
    """Ten steps from a given start; components half apart, as in data that have clusters."""

    params = (list(SHAPES), ["float32", "float64"])
    param_names = ("covariance_type", "dtype")

    def setup(self, kind, dtype):
        d, k = SHAPES[kind]
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(k, d))
        X = centres[rng.integers(0, k, 20_000)] + 0.8 * rng.normal(size=(20_000, d))
        self.X = X.astype(dtype)
        self.responsibilities = rng.dirichlet(np.ones(k), len(X)).astype(dtype)
        self.model = GaussianMixture(
            k,
            covariance_type=kind,
            tol=0,
            max_iter=STEPS,
            reg_covar=1e-6,
            weights_init=np.full(k, 1 / k),
            means_init=X[:k],
            precisions_init=given_precisions(kind, X, k),
        )
        self.fitted = self.model.fit(self.X)

    def time_fit(self, *_):
        self.model.fit(self.X)

    def time_score_samples(self, *_):
        self.fitted.score_samples(self.X)

    def time_floor_first_moments(self, *_):
        """The least that a step must form: responsibilities times rows."""
        for _ in range(STEPS):
            self.responsibilities.T @ self.X

    def time_floor_second_moments(self, kind, _):
        """And for full covariances, the products of rows, of all components together."""
        for _ in range(STEPS if kind == "full" else 1):
            self.X.T @ self.X

    def peakmem_fit(self, *_):
        self.model.fit(self.X)

    def track_log_likelihood(self, *_):
        return self.model.fit(self.X).lower_bound_


class Families:
    """Ten steps of families whose M-steps are more than means, where these cost most: few rows."""

    params = (FAMILIES, [6, 30])
    param_names = ("covariance_type", "n_features")

    def setup(self, family, d):
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(4, d))
        self.X = centres[rng.integers(0, 4, 2000)] + 0.8 * rng.normal(size=(2000, d))
        self.model = GaussianMixture(
            4,
            covariance_type=family,
            tol=0,
            max_iter=STEPS,
            weights_init=np.full(4, 1 / 4),
            means_init=self.X[:4],
            precisions_init=np.repeat(np.diag(1 / self.X.var(axis=0))[None], 4, 0),
        )

    def time_fit(self, *_):
        self.model.fit(self.X)

    def track_log_likelihood(self, *_):
        return self.model.fit(self.X).lower_bound_


class FewFeatures:
    """Many components from a start far from the end: most of them count for most rows."""

    params = (list(SHAPES), ["3 x 20", "3 x 30", "8 x 25"])
    param_names = ("covariance_type", "features_x_components")

    def setup(self, kind, shape):
        d, k = map(int, shape.split(" x "))
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(k, d))
        X = centres[rng.integers(0, k, 20_000)] + rng.normal(size=(20_000, d))
        self.X = X
        self.responsibilities = rng.dirichlet(np.ones(k), len(X))
        self.squares = (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)
        self.model = GaussianMixture(
            k,
            covariance_type=kind,
            tol=0,
            max_iter=STEPS,
            reg_covar=1e-6,
            weights_init=np.full(k, 1 / k),
            means_init=X[:k],
            precisions_init=given_precisions(kind, X, k),
        )

    def time_fit(self, *_):
        self.model.fit(self.X)

    def time_floor_second_moments(self, kind, _):
        """What no step avoids: responsibilities times squares of rows, or times rows."""
        for _ in range(STEPS):
            self.responsibilities.T @ (self.squares if kind == "full" else self.X)


class Start:
    """The default start and the climb to tol, on three clusters."""

    params = (list(SHAPES),)
    param_names = ("covariance_type",)

    def setup(self, kind):
        rng = np.random.default_rng(0)
        centres = 4 * rng.normal(size=(3, 8))
        self.X = centres[rng.integers(0, 3, 20_000)] + rng.normal(size=(20_000, 8))
        self.model = GaussianMixture(3, covariance_type=kind, random_state=0)

    def time_fit(self, _):
        self.model.fit(self.X)

    def time_floor_one_pass(self, _):
        self.X.T @ self.X

    def track_log_likelihood(self, _):
        return self.model.fit(self.X).lower_bound_
