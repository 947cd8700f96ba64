"""Updates of a monitor, against NumPy's cumulative sum of the same losses, the floor."""

import numpy as np

from mlcore.bounds import RiskMonitor


class RiskMonitors:
    params, param_names = ["errors", "losses"], ["kind"]

    def setup(self, kind):
        rng = np.random.default_rng(0)
        self.losses = rng.random(1_000_000) * 0.2
        if kind == "errors":
            self.losses = (self.losses < 0.02).astype(np.float64)
        self.seen = RiskMonitor(0.2).update(self.losses)

    def time_update(self, kind):
        RiskMonitor(0.2).update(self.losses)

    def time_interval(self, kind):
        self.seen.interval()

    def time_floor(self, kind):
        np.cumsum(self.losses)
