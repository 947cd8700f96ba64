"""Stratified folds, and starting points for problems on part of the samples."""

import numpy as np


def stratified_folds(
    codes: np.ndarray, n_folds: int, random_state: np.random.Generator | None = None
) -> np.ndarray:
    """Return the fold in which each sample is held out, every fold with its share of each class.

    Without `random_state` the folds are those of scikit-learn's StratifiedKFold without shuffling:
    with the samples sorted by class, classes in the order of their first appearance, place r
    belongs to fold r mod n_folds; the samples of a class fill its places fold by fold.

    Parameters
    ----------
    codes : (n_samples,) intp
    n_folds : int
    random_state : Generator, optional
        Shuffles the samples of each class among its places.

    Returns
    -------
    fold : (n_samples,) intp
    """
    present, first = np.unique(codes, return_index=True)
    fold = np.empty(len(codes), dtype=np.intp)
    start = 0
    for code in present[np.argsort(first)]:
        members = np.flatnonzero(codes == code)
        places = np.sort(np.arange(start, start + len(members)) % n_folds)
        if random_state is not None:
            random_state.shuffle(places)
        fold[members] = places
        start += len(members)
    return fold


def feasible_start(beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return multipliers near `beta` that lie in their boxes and sum to zero.

    What one side has too much is taken from its free multipliers first, so that those at a bound
    stay there.
    """
    beta = np.clip(beta, lower, upper)
    excess = float(beta.sum())
    if excess == 0:
        return beta
    heavy = np.flatnonzero(beta > 0 if excess > 0 else beta < 0)
    at_bound = (beta == (upper if excess > 0 else lower))[heavy]
    heavy = heavy[np.argsort(at_bound, kind="stable")]
    amounts = np.abs(beta[heavy])
    before = np.cumsum(amounts) - amounts
    beta[heavy] -= np.sign(excess) * np.clip(abs(excess) - before, 0, amounts)
    return beta
