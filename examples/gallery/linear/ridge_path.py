"""
Ridge regression: path of the coefficients
==========================================

A ridge penalty shrinks the coefficients towards 0. One decomposition gives the coefficients for
all penalties, and generalised cross-validation (GCV) chooses one.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.datasets import load_digits
from mlcore.linear_model import LinearRegression

X, y = load_digits()
rng = np.random.default_rng(0)
few = rng.choice(len(X), 150, replace=False)
model = LinearRegression().fit(X[few], y[few] == 3)  # 64 pixels, 150 images
alphas = np.logspace(-1, 6, 50)
path = model.path(alphas)
best = path.gcv.argmin()

figure, ax = plt.subplots(layout="constrained")
ax.semilogx(alphas, path.coef, color="#0072B2", alpha=0.4, linewidth=1)
ax.axvline(alphas[best], color="#D55E00", linestyle="--", label=f"least GCV: {alphas[best]:.0f}")
ax.set(xlabel="alpha", ylabel="coefficients of the pixels")
ax.legend()
freedom = path.effective_dimension[best]
print(f"at the best alpha {X.shape[1]} pixels have {freedom:.0f} degrees of freedom")
