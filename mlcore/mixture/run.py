"""One run of EM: where it is, how it came there, and which of two is better."""

import math

import numpy as np


class Run:
    """One climb of the likelihood: where it is, and how it came there."""

    def __init__(self, parameters, before=-math.inf):
        self.parameters = parameters
        self.before = before  # level that a fit before this one has come to
        self.trace = []
        self.collapsed = np.zeros(0, np.intp)
        self.converged = False
        self.reseeded = np.zeros(0, np.intp)  # components that began in place of collapsed ones

    @property
    def rank(self) -> tuple[int, float]:
        """Larger is better; a component on a single point earns no credit for its density."""
        return -len(self.collapsed), self.level

    @property
    def level(self) -> float:
        """The mean log-likelihood reached."""
        return self.trace[-1] if self.trace else self.before
