"""Logarithms of the sizes of well-known finite classes."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

from mlcore.bounds.arguments import as_choice, as_count, refuse
from mlcore.bounds.calculator import calculator
from mlcore.bounds.directed_rounding import log, up, working_digits
from mlcore.bounds.vc.sauer import sauer_bound

_ClassName = Literal[
    "conjunctions", "monotone_conjunctions", "boolean_functions", "k_cnf", "k_dnf", "bits",
    "decision_lists",
]  # fmt: skip


@calculator()
def log_class_size(name: _ClassName, **params: Any) -> Any:
    r"""Natural logarithm of the number of hypotheses in a finite class, or an upper bound on it.

    Over n Boolean variables: "conjunctions" :math:`3^n`, "monotone_conjunctions" :math:`2^n`,
    "boolean_functions" :math:`2^{2^n}`, "decision_lists" at most :math:`2 \cdot 4^n n!`, "k_cnf"
    and "k_dnf" at most 2 to the number of clauses of at most k of the 2n literals; and "bits",
    :math:`2^b`.

    Parameters
    ----------
    name : str
        One of the names above.
    **params :
        n, except that "bits" takes b, and "k_cnf" and "k_dnf" n and k; integers of at least 1, or
        arrays of them.

    Returns
    -------
    log_n : float or ndarray
        Never below the exact value; an argument `log_n` of the other functions.
        An array where an argument is one; arrays broadcast.

    References
    ----------
    M. J. Kearns, U. V. Vazirani, *An Introduction to Computational Learning Theory*, 1994,
    chapter 1.
    R. L. Rivest, *Learning decision lists*, Machine Learning 2, 1987.

    Examples
    --------
    >>> from mlcore.bounds import log_class_size
    >>> round(log_class_size("conjunctions", n=20), 9)
    21.972245773
    """
    name = as_choice(name, "name", _CLASS_SIZES)
    size, needed = _CLASS_SIZES[name]
    values = as_named_counts(name, params, needed)
    with working_digits():
        return up(size(*values))


def as_named_counts(name: str, params: dict[str, Any], needed: dict[str, int]) -> list[int]:
    """Return the checked parameters of a named class; `needed` has the least value of each."""
    if set(params) != set(needed):
        listed = ", ".join(f"{word} >= {least}" for word, least in needed.items()) or "none"
        refuse("params", params, f"the parameters of {name!r}: {listed}")
    return [as_count(params[word], word, at_least=least) for word, least in needed.items()]


def _clauses(n, k):
    return sauer_bound(2 * n, k) * log(2)


_CLASS_SIZES: dict[_ClassName, tuple[Callable[..., Decimal], dict[str, int]]] = {
    "conjunctions": (lambda n: n * log(3), {"n": 1}),
    "monotone_conjunctions": (lambda n: n * log(2), {"n": 1}),
    "boolean_functions": (lambda n: 2**n * log(2), {"n": 1}),
    "k_cnf": (_clauses, {"n": 1, "k": 1}),
    "k_dnf": (_clauses, {"n": 1, "k": 1}),
    "bits": (lambda b: b * log(2), {"b": 1}),
    "decision_lists": (lambda n: log(math.factorial(n)) + (2 * n + 1) * log(2), {"n": 1}),
}
