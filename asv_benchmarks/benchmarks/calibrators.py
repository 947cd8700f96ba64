"""Calibrators and reliability of a million scores, beside scikit-learn."""

import numpy as np
from scipy.special import expit

from mlcore.calibration import (
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
    reliability,
)


class Calibrators:
    """Fit and predictions against scikit-learn's regression, and NumPy's sort, the floor."""

    params = [[1_000, 1_000_000]]
    param_names = ["n_samples"]

    def setup(self, n_samples):
        # Here, as not every place that lists benchmarks has it.
        from sklearn.calibration import calibration_curve
        from sklearn.isotonic import IsotonicRegression
        from sklearn.linear_model import LogisticRegression

        self.curve, self.sigmoid = calibration_curve, LogisticRegression(C=np.inf)
        self.isotonic = IsotonicRegression(out_of_bounds="clip")
        rng = np.random.default_rng(0)
        self.scores = rng.normal(size=n_samples)
        self.y = (rng.random(n_samples) < expit(self.scores)).astype(int)

    def time_isotonic(self, n_samples):
        IsotonicCalibrator().fit(self.scores, self.y).predict_proba(self.scores)

    def time_isotonic_scikit_learn(self, n_samples):
        self.isotonic.fit(self.scores, self.y).predict(self.scores)

    def time_platt(self, n_samples):
        PlattCalibrator().fit(self.scores, self.y)

    def time_platt_scikit_learn(self, n_samples):
        self.sigmoid.fit(self.scores[:, None], self.y)

    def time_temperature(self, n_samples):
        TemperatureCalibrator().fit(self.scores, self.y)

    def time_venn_abers(self, n_samples):
        VennAbersCalibrator().fit(self.scores, self.y).predict_proba(self.scores)

    def time_reliability(self, n_samples):
        reliability(self.y, expit(self.scores))

    def time_reliability_scikit_learn(self, n_samples):
        self.curve(self.y, expit(self.scores), n_bins=10)

    def time_floor(self, n_samples):
        np.sort(self.scores)
