"""
Regression in a tube
====================

Support vector regression ignores errors smaller than epsilon: samples inside the tube cost nothing
and are forgotten. `NuSVR` finds the width that leaves a given share outside.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.svm import SVR, NuSVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 120))
y = np.sin(x) + 0.2 * rng.normal(size=x.size)
grid = np.linspace(0, 10, 300)

nu = NuSVR(nu=0.3, C=10, gamma=0.5).fit(x[:, None], y)
models = {"SVR, epsilon = 0.3": (SVR(epsilon=0.3, C=10, gamma=0.5).fit(x[:, None], y), 0.3)}
models["NuSVR, nu = 0.3"] = (nu, nu.epsilon_)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for ax, (name, (model, width)) in zip(axes, models.items(), strict=True):
    f = model.predict(grid[:, None])
    ax.fill_between(grid, f - width, f + width, color="0.85")
    ax.plot(grid, f, color="#0072B2")
    ax.plot(x, y, ".", color="0.6")
    ax.plot(x[model.support_], y[model.support_], "o", mfc="none", color="#D55E00")
    ax.set(title=f"{name}: {len(model.support_)} of {x.size} kept", xlabel="x")
    print(f"{name}: width {width:.2f}, duality gap {np.sum(model.duality_gap_):.1e}")
axes[0].set_ylabel("y")
