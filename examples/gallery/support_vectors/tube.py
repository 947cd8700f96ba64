"""
Support vector regression: the tube of SVR and NuSVR
====================================================

Support vector regression ignores errors smaller than epsilon: only samples on the tube or outside
it are support vectors. `NuSVR` chooses epsilon so that at most a share `nu` of the samples lies
outside.
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

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (name, (model, epsilon)) in zip(axes, models.items(), strict=True):
    f = model.predict(grid[:, None])
    ax.fill_between(grid, f - epsilon, f + epsilon, color="0.85", label="tube")
    ax.plot(grid, f, color="#0072B2", label="prediction")
    ax.plot(x, y, ".", color="0.6", label="samples")
    support = model.support_
    ax.plot(x[support], y[support], "o", mfc="none", color="#D55E00", label="support vectors")
    ax.set(title=f"{name}: {len(support)} support vectors", xlabel="x")
    print(f"{name}: epsilon {epsilon:.2f}, duality gap {np.sum(model.duality_gap_):.1e}")
axes[0].set_ylabel("y")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4)
