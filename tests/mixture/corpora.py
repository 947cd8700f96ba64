"""Counts of words in documents, and starts of PLSA for them."""

import numpy as np


def corpus(n=40, v=30, k=3, seed=0, mean=1.5):
    """Counts of a random mixture of k sparse topics."""
    rng = np.random.default_rng(seed)
    topics, mixtures = rng.dirichlet(np.full(v, 0.2), k), rng.dirichlet(np.full(k, 0.5), n)
    return rng.poisson(mean * v * mixtures @ topics).astype(float)


def start(n, v, k, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "weights_init": rng.dirichlet(np.full(k, 5.0)),
        "components_init": rng.dirichlet(np.ones(v), k),
        "document_components_init": rng.dirichlet(np.ones(n), k),
    }


def answers(model):
    return model.weights_, model.components_, model.document_components_


# n and v across the edges of blocks, k across those of vectors and of groups of lines.
