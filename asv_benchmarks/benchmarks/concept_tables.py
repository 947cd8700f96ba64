"""Searches in classes given as tables, beside one pass over the table."""

import numpy as np

from mlcore.bounds import (
    empirical_rademacher,
    growth_function,
    littlestone_dimension,
    teaching_dimension,
    vc_dimension,
    worst_case_mistakes,
)


class VCDimension:
    """Random tables of 10,000 concepts on 60 points, by the share of ones."""

    params = ([0.05, 0.1, 0.2],)
    param_names = ("share",)
    timeout = 120

    def setup(self, share):
        self.H = np.random.default_rng(0).random((10_000, 60)) < share

    def time_vc_dimension(self, share):
        vc_dimension(self.H)

    def time_floor_distinct_rows(self, share):
        np.unique(np.packbits(self.H, axis=1), axis=0)

    def peakmem_vc_dimension(self, share):
        vc_dimension(self.H)

    def track_vc_dimension(self, share):
        return vc_dimension(self.H)


class Games:
    """Growth, games, teaching and complexity of smaller tables."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.wide = rng.random((2_000, 30)) < 0.2
        self.small = rng.random((100, 12)) < 0.5
        self.thresholds = np.tri(200)
        self.sparse = rng.random((40, 40)) < 0.08
        self.signs = np.sign(rng.normal(size=(200, 20)))

    def time_growth_function(self):
        growth_function(self.wide, 5)

    def time_littlestone_dimension(self):
        littlestone_dimension(self.small)

    def time_halving_on_thresholds(self):
        worst_case_mistakes(self.thresholds, "halving")

    def time_consistent(self):
        worst_case_mistakes(self.sparse, "consistent")

    def time_teaching_dimension(self):
        teaching_dimension(self.small)

    def time_empirical_rademacher(self):
        empirical_rademacher(self.signs)

    def track_littlestone_dimension(self):
        return littlestone_dimension(self.small)
