"""
Jaynes' die
===========

Nothing is known of a die but the mean of its throws. The distribution of most entropy adds no
other assumption; the duality gap proves that it is the one.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.entropy import maximum_entropy

faces = np.arange(1.0, 7.0)
figure, ax = plt.subplots()
for shift, mean in enumerate((2.5, 3.5, 4.5)):
    found = maximum_entropy(faces[:, None], [mean])
    ax.bar(
        faces + 0.25 * (shift - 1),
        found.probabilities,
        0.25,
        label=f"mean {mean}",
        hatch="/.x"[shift],
    )
    print(f"mean {mean}: duality gap {found.duality_gap:.1e}")
ax.set(xlabel="face", ylabel="probability")
ax.legend()
