"""
Maximum entropy: the die of Jaynes
==================================

If we know only the mean of the throws of a die, the distribution of maximum entropy adds no other
assumption. The duality gap proves that the solver found it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.entropy import maximum_entropy

faces = np.arange(1.0, 7.0)
figure, ax = plt.subplots(layout="constrained")
for shift, mean in enumerate((2.5, 3.5, 4.5)):
    result = maximum_entropy(faces[:, None], [mean])
    places = faces + 0.25 * (shift - 1)
    ax.bar(places, result.probabilities, 0.25, label=f"mean {mean}", hatch="/.x"[shift])
    print(f"mean {mean}: duality gap {result.duality_gap:.1e}")
ax.set(xlabel="face", ylabel="probability")
ax.legend(loc="upper center")
