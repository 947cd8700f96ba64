"""The choice of the lasso's penalty, against the path over all samples."""

import numpy as np

from mlcore.linear_model import Lasso, LassoCV


class Choice:
    """Five folds; a path for each is what a search without shared sums would compute at least."""

    params, param_names = [["5000 x 50", "200 x 2000"]], ["samples"]

    def setup(self, samples):
        n, d = (int(number) for number in samples.split(" x "))
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n, d))
        self.y = 0.3 * self.X[:, :10].sum(axis=1) + rng.normal(size=n)

    def time_choice(self, samples):
        LassoCV().fit(self.X, self.y)

    def time_path_over_all(self, samples):
        Lasso().path(self.X, self.y)

    def track_gap(self, samples):
        """Largest duality gap of all fits, over the targets' variance."""
        return float(LassoCV().fit(self.X, self.y).duality_gaps_.max() / np.var(self.y))
