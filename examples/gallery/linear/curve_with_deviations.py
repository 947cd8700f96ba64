"""
Kernel ridge regression with error bands
========================================

Kernel ridge regression is the mean of a Gaussian process, whose standard deviation is large where
samples are few. `KernelRidgeCV` chooses the penalty and the width of the kernel by the likelihood.
The fit reports a bound on its distance from the exact minimiser.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.kernel_ridge import KernelRidge, KernelRidgeCV

rng = np.random.default_rng(0)
x = np.concatenate([rng.uniform(0, 4, 40), rng.uniform(7, 10, 30)])
y = np.sin(x) + 0.3 * x + 0.2 * rng.normal(size=x.size)
gammas = [0.03, 0.1, 0.3, 1, 3]
search = KernelRidgeCV(gammas=gammas, criterion="likelihood", kernel="rbf").fit(x[:, None], y)
model = KernelRidge(search.alpha_, kernel="rbf", gamma=search.gamma_).fit(x[:, None], y)

grid = np.linspace(-1, 11, 400)
mean, deviation = model.predict(grid[:, None], return_std=True)
figure, ax = plt.subplots(layout="constrained")
band = (mean - 2 * deviation, mean + 2 * deviation)
ax.fill_between(grid, *band, color="0.85", label="two standard deviations")
ax.plot(grid, mean, color="#0072B2", label="prediction")
ax.plot(x, y, ".", color="#D55E00", label="samples")
ax.set(xlabel="x", ylabel="y")
ax.legend()
print(f"no prediction is further than {model.prediction_bound_:.1e} from the exact one")
