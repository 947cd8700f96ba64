"""VC dimensions of well-known classes, and upper bounds for classes built from others."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

from mlcore.bounds.arguments import as_choice
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import floor, log, working_digits
from mlcore.bounds.finite_class.class_sizes import as_named_counts
from mlcore.bounds.vc.sauer import largest_size, log_growth, sauer_bound

_Known = Literal[
    "thresholds", "signed_thresholds", "intervals", "unions_of_intervals", "rectangles",
    "halfspaces", "homogeneous_halfspaces", "balls", "convex_polygons", "convex_sets",
    "polynomial_threshold", "sine", "nearest_neighbor", "unbounded_unions_of_intervals",
    "monotone_conjunctions", "conjunctions", "parities", "decision_stumps", "finite",
]  # fmt: skip
_Built = Literal[
    "intersection", "union", "boosting", "threshold_network", "decision_tree", "sparse_halfspaces"
]


@calculator()
def known_vc_dimension(name: _Known, **params: Any) -> Any:
    r"""Return the VC dimension of a well-known class.

    On the line: "thresholds" x >= a, 1; "signed_thresholds" in both directions, 2; "intervals", 2;
    "unions_of_intervals" (k), of at most k intervals, 2k; "unbounded_unions_of_intervals", of any
    number of them, infinite; "sine", the signs of sin(wx), infinite, because *some* set of every
    size is shattered, such as the points :math:`2^{-i}`, while long runs of equally spaced points
    are not.

    In space: "halfspaces" (n), n + 1; "homogeneous_halfspaces" (n), n; "balls" (n), n + 1;
    "rectangles" (n), parallel to the axes, 2n; "polynomial_threshold" (n, degree),
    :math:`\binom{n + degree}{degree}`; "decision_stumps" (n), on n real features with both signs,
    the largest d with :math:`\binom{d}{\lfloor d/2 \rfloor} \le 2n`; in the plane
    "convex_polygons" (k, vertices), 2k + 1, and "convex_sets", infinite; "nearest_neighbor",
    infinite.

    Over n Boolean variables: "conjunctions", with negations, "monotone_conjunctions" and
    "parities", n. Any class of "finite" (n_hypotheses) size N: at most :math:`\log_2 N`, rounded
    down.

    Parameters
    ----------
    name : str
        One of the names above.
    **params :
        The parameters in brackets, integers at least 1, except k >= 3 for "convex_polygons", or
        arrays of them.

    Returns
    -------
    d : int, math.inf or ndarray
        An array where an argument is one; arrays broadcast.

    References
    ----------
    R. M. Dudley, *Balls in R^k do not cut all subsets of k + 2 points*, Advances in Mathematics 31,
    1979.
    J.-S. Leboeuf, F. LeBlanc, M. Marchand, *Decision trees as partitioning machines to characterize
    their generalization properties*, NeurIPS 2020 (decision stumps).
    M. Anthony, P. L. Bartlett, *Neural Network Learning: Theoretical Foundations*, 1999.

    Examples
    --------
    >>> from mlcore.bounds import known_vc_dimension
    >>> known_vc_dimension("halfspaces", n=2), known_vc_dimension("convex_sets")
    (3, inf)
    """
    return _named(_KNOWN, name, params)


@calculator("vc_dimension")
def vc_dimension_upper_bound(name: _Built, **params: Any) -> Any:
    r"""Return an upper bound on the VC dimension of a class built from others.

    "intersection" and "union" (vc_dimension, k), of k sets from a class of dimension d:
    :math:`2 d k \log_2(3k)`. "boosting" (vc_dimension >= 3, T >= 3), weighted majorities of T
    classifiers from a class of dimension d: the smaller of :math:`T(d+1)(3 \ln(T(d+1)) + 2)` and
    the last m with :math:`\Phi_d(m)^T \Phi_T(m) \ge 2^m`. "threshold_network" (n_weights,
    n_units >= 2), of linear
    threshold units, thresholds counted among the W weights: :math:`2 W \log_2(e N)`.
    "decision_tree" (n_features, n_splits), binary trees with s threshold splits: the last m with
    :math:`C_s (n(m+1))^s 2^{s+1} \ge 2^m`, where :math:`C_s` is Catalan's number of shapes.
    "sparse_halfspaces" (n, s), on s of n features: the last m with
    :math:`\binom{n}{s} \Phi_{s+1}(m) \ge 2^m`.

    Parameters
    ----------
    name : str
        One of the names above.
    **params :
        The parameters in brackets, integers at least 1 or as stated, or arrays of them.

    Returns
    -------
    d : int or ndarray
        An upper bound, rounded down.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. K. Warmuth, *Learnability and the
    Vapnik-Chervonenkis dimension*, Journal of the ACM 36, 1989, Lemma 3.2.3 (intersections).
    S. Shalev-Shwartz, S. Ben-David, *Understanding Machine Learning*, 2014, Lemma 10.3 (boosting).
    E. B. Baum, D. Haussler, *What size net gives valid generalization?*, Neural Computation 1,
    1989.

    Examples
    --------
    >>> from mlcore.bounds import vc_dimension_upper_bound
    >>> vc_dimension_upper_bound("intersection", vc_dimension=3, k=2)
    31
    """
    return _named(_BUILT, name, params)


def _named(catalogue, name, params):
    dimension, needed = catalogue[as_choice(name, "name", catalogue)]
    return dimension(*as_named_counts(name, params, needed))


def _stumps(n):
    return largest_size(lambda d: math.comb(d, d // 2) <= 2 * n)


def _combination(d, k):
    with working_digits():
        return floor(2 * d * k * log(3 * k) / log(2))


def _boosting(d, rounds):
    with working_digits():
        size = rounds * (d + 1)
        closed = floor(size * (3 * log(size) + 2))

        def holds(m):
            return rounds * log_growth(m, d) + log_growth(m, rounds) >= m * log(2)

        return min(closed, largest_size(holds))


def _threshold_network(n_weights, n_units):
    with working_digits():
        return floor(2 * n_weights * (1 + log(n_units)) / log(2))


def _decision_tree(n_features, n_splits):
    labelled = Fraction(math.comb(2 * n_splits, n_splits), n_splits + 1) * 2 ** (n_splits + 1)
    labelled *= n_features**n_splits
    return largest_size(lambda m: labelled * (m + 1) ** n_splits >= 2**m)


def _sparse_halfspaces(n, s):
    supports = math.comb(n, min(s, n))
    return largest_size(lambda m: supports * sauer_bound(m, s + 1) >= 2**m)


_Entry = tuple[Callable[..., int | float], dict[str, int]]

_KNOWN: dict[_Known, _Entry] = {
    "thresholds": (lambda: 1, {}),
    "signed_thresholds": (lambda: 2, {}),
    "intervals": (lambda: 2, {}),
    "unions_of_intervals": (lambda k: 2 * k, {"k": 1}),
    "rectangles": (lambda n: 2 * n, {"n": 1}),
    "halfspaces": (lambda n: n + 1, {"n": 1}),
    "homogeneous_halfspaces": (lambda n: n, {"n": 1}),
    "balls": (lambda n: n + 1, {"n": 1}),
    "convex_polygons": (lambda k: 2 * k + 1, {"k": 3}),
    "convex_sets": (lambda: math.inf, {}),
    "polynomial_threshold": (lambda n, degree: math.comb(n + degree, n), {"n": 1, "degree": 1}),
    "sine": (lambda: math.inf, {}),
    "nearest_neighbor": (lambda: math.inf, {}),
    "unbounded_unions_of_intervals": (lambda: math.inf, {}),
    "monotone_conjunctions": (lambda n: n, {"n": 1}),
    "conjunctions": (lambda n: n, {"n": 1}),
    "parities": (lambda n: n, {"n": 1}),
    "decision_stumps": (_stumps, {"n": 1}),
    "finite": (lambda n_hypotheses: n_hypotheses.bit_length() - 1, {"n_hypotheses": 1}),
}
_BUILT: dict[_Built, _Entry] = {
    "intersection": (_combination, {"vc_dimension": 1, "k": 1}),
    "union": (_combination, {"vc_dimension": 1, "k": 1}),
    "boosting": (_boosting, {"vc_dimension": 3, "T": 3}),
    "threshold_network": (_threshold_network, {"n_weights": 1, "n_units": 2}),
    "decision_tree": (_decision_tree, {"n_features": 1, "n_splits": 1}),
    "sparse_halfspaces": (_sparse_halfspaces, {"n": 1, "s": 1}),
}
