"""
Hedge: regret against the best expert
=====================================

Hedge gives each expert a weight and lowers the weights of experts with large losses. Its regret is
its loss minus that of the best expert, and stays below a bound for any sequence of losses.
"""

import matplotlib.pyplot as plt
import numpy as np

from mlcore.bounds import hedge_regret_bound
from mlcore.online import Hedge, play

rng = np.random.default_rng(0)
rounds, experts = 2000, 20
losses = rng.random((rounds, experts)) ** np.linspace(0.8, 1.2, experts)
game = play(Hedge(experts, horizon=rounds), None, losses)
regret = np.cumsum(game.losses) - np.cumsum(losses, axis=0).min(axis=1)

figure, ax = plt.subplots(layout="constrained")
ax.plot(np.arange(1, rounds + 1), regret, label="regret against the best expert so far")
ax.axhline(game.bound, color="#D55E00", linestyle="--", label=f"bound after {rounds} rounds")
ax.set(xlabel="round", ylabel="regret", ylim=(0, 1.2 * game.bound))
ax.legend(loc="lower right")
print(f"regret {game.regret:.1f}, bound {hedge_regret_bound(experts, rounds):.1f}")
