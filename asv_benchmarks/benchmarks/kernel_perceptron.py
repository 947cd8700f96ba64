"""Epochs of the kernel perceptron, beside the kernel values of the samples that it mistakes."""

from mlcore.datasets import load_digits
from mlcore.kernels import gram_matrix
from mlcore.linear_model import KernelPerceptron


class Digits:
    """Ten classes, until they are separated."""

    def setup(self):
        self.X, self.y = load_digits()
        self.X /= 16  # pixels from 0 to 1
        self.support = KernelPerceptron(gamma=0.05).fit(self.X, self.y).support_

    def time_fit(self):
        KernelPerceptron(gamma=0.05).fit(self.X, self.y)

    def time_floor(self):
        gram_matrix(self.X[self.support], self.X, kernel="rbf", gamma=0.05)
