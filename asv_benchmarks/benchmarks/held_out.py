"""The inverse of the binomial tail for many pairs, against SciPy's inverse beta function."""

import math
from fractions import Fraction

import numpy as np
from scipy.special import betainccinv

from mlcore.bounds import binomial_tail_inversion

PAIRS = 100_000
CHECKED = 20


class BinomialTailInversion:
    params = (["m to 1e3", "m to 1e6", "m to 1e15"], [0.05, 1e-10])
    param_names = ("samples", "delta")

    def setup(self, samples, delta):
        rng = np.random.default_rng(0)
        digits = {"m to 1e3": 3, "m to 1e6": 6, "m to 1e15": 15}[samples]
        self.m = np.floor(10 ** rng.uniform(0, digits, PAIRS))
        self.k = np.floor(self.m * rng.random(PAIRS))

    def time_inversion(self, samples, delta):
        binomial_tail_inversion(self.k, self.m, delta)

    def time_scipy_of_a_tenth(self, samples, delta):
        betainccinv(self.k[::10] + 1, self.m[::10] - self.k[::10], delta)

    def peakmem_inversion(self, samples, delta):
        binomial_tail_inversion(self.k, self.m, delta)

    def track_largest_error(self, samples, delta):
        """How far from delta the tail at the bound is, relative, by exact sums for m below 200.

        Where errors are few: near 1 a bound has no digits left to show its distance from 1.
        """
        small = np.flatnonzero((self.m > 100) & (self.m < 200) & (self.k < 20))[:CHECKED]
        worst = 0.0
        for i in small:
            k, m = int(self.k[i]), int(self.m[i])
            p = Fraction(binomial_tail_inversion(k, m, delta))
            terms = (math.comb(m, j) * p**j * (1 - p) ** (m - j) for j in range(k + 1))
            worst = max(worst, abs(float(sum(terms) / Fraction(delta) - 1)))
        return worst


class OneBound:
    """The cost of a single number, which is that of calling NumPy."""

    def time_inversion(self):
        binomial_tail_inversion(5, 100, 0.05)
