"""
As good as the best expert, nearly
==================================

Hedge spreads its trust over experts and moves it towards those who lose less. Whatever they do, it
loses little more than the best of them: the regret stays below the theorem's curve.
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

t = np.arange(1, rounds + 1)
figure, ax = plt.subplots()
ax.plot(t, regret, label="regret against the best expert so far")
ax.axhline(game.bound, color="#D55E00", linestyle="--", label="bound at the end")
ax.set(xlabel="round", ylabel="loss")
ax.legend()
print(f"regret {game.regret:.1f}, bound {hedge_regret_bound(experts, rounds):.1f}")
