"""Kernels on strings: what two strings have in common."""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_choice, as_integer, as_real
from mlcore.kernels.gram import gram_matrix
from mlcore.kernels.structured.encoded_kernel import EncodedKernel
from mlcore.kernels.structured.gapped import gapped_diagonal, gapped_products
from mlcore.kernels.structured.spectrum import Grams
from mlcore.kernels.structured.strings import Strings, as_strings
from mlcore.kernels.structured.substrings import (
    cumulated_weights,
    substring_diagonal,
    substring_products,
)

_KINDS = ("spectrum", "substrings", "gapped")
_LARGEST = 1e300
_MOST = 50  # symbols of a subsequence


class StringKernel(EncodedKernel):
    r"""Compares strings by the substrings or subsequences that they share.

    With :math:`n_u(x)` the number of times that u occurs in x, overlapping occurrences counted:

    =========== ================================================================================
    spectrum    :math:`\sum_{|u| = p} n_u(x) n_u(y)`
    substrings  :math:`\sum_{min \le |u| \le max} \lambda^{|u|} n_u(x) n_u(y)`
    gapped      :math:`\sum_{|u| = p} \sum_{i: u = x[i]} \sum_{j: u = y[j]} \lambda^{s(i) + s(j)}`
    =========== ================================================================================

    In the last, i and j are increasing places that spell u, and s their span, last - first + 1. A
    sample is a str, its symbols characters; or bytes; or a sequence of tokens, such as words.
    Models take the object as ``kernel=``, and raw strings as samples; in a pipeline it is a
    transformer before one with ``kernel="precomputed"``.

    Parameters
    ----------
    kind : {"spectrum", "substrings", "gapped"}, default="spectrum"
    length : int, default=3
        p, of "spectrum" and "gapped"; of the latter at most 50.
    min_length, max_length : int, and int or None, default=1 and None
        Of "substrings"; None is no limit.
    decay : float, default=0.5
        :math:`\lambda`, in (0, 1], of "substrings" and "gapped".
    normalize : bool, default=True
        Divide k(x, y) by the root of k(x, x) k(y, y): values up to 1, the diagonal exactly 1.
        Samples that have nothing to compare, as they are too short, are like each other (1) and
        unlike all others (0).

    Attributes
    ----------
    X_fit_ : Strings
        Samples of `fit`, encoded.
    n_features_in_ : int

    Notes
    -----
    Positive semi-definite. For n and m strings of |x| symbols in all, "spectrum" takes
    O(|x| log |x|) time and the products of sparse counts; "substrings" O(n |y|) by a suffix
    automaton of each x; "gapped" O(p |x| |y|). Characters are code points, nothing is normalised.

    References
    ----------
    C. Leslie, E. Eskin, W. Noble, *The spectrum kernel*, Pacific Symposium on Biocomputing 2002.

    S. Vishwanathan, A. Smola, *Fast kernels for string and tree matching*, NIPS 2002.

    H. Lodhi, C. Saunders, J. Shawe-Taylor, N. Cristianini, C. Watkins, *Text classification using
    string kernels*, Journal of Machine Learning Research 2, 2002.

    Examples
    --------
    >>> from mlcore.kernels import StringKernel
    >>> from mlcore.svm import SVC
    >>> words = ["banana", "ananas", "papaya", "kiwi", "wiki"]
    >>> StringKernel(length=2)(words).round(2)[0].tolist()
    [1.0, 0.89, 0.0, 0.0, 0.0]
    >>> model = SVC(kernel=StringKernel(length=2)).fit(words, [0, 0, 0, 1, 1])
    >>> model.predict(["nana", "wi"])
    array([0, 1])
    """

    _tags: ClassVar[dict[str, Any]] = {
        "input_tags.string": True,
        "input_tags.two_d_array": False,
        "input_tags.one_d_array": True,
    }
    X_fit_: Strings

    def __init__(
        self,
        kind: str = "spectrum",
        *,
        length: int = 3,
        min_length: int = 1,
        max_length: int | None = None,
        decay: float = 0.5,
        normalize: bool = True,
    ) -> None:
        self.kind = kind
        self.length = length
        self.min_length = min_length
        self.max_length = max_length
        self.decay = decay
        self.normalize = normalize

    def encode(self, X: Any) -> Strings:
        """Return the samples, checked and encoded.

        Parameters
        ----------
        X : list of str, of bytes or of lists of words

        Returns
        -------
        strings : Strings
            As the loops take them.

        Raises
        ------
        TypeError, ValueError
            For parameters out of range; for one string instead of a list, None, numbers and mixed
            kinds, with their place; for an empty list.
        """
        self._check_parameters()
        return as_strings(X, type(self).__name__)

    def features(self, X: Any) -> sp.csr_array:
        """Return features whose inner products are the kernel values; for "spectrum".

        Parameters
        ----------
        X : list, tuple, array or series of n samples

        Returns
        -------
        features : csr_array (n, n_features), float64
            A column for each substring of the samples of the fit, or of X itself before a fit. If
            normalised, the last one is that of samples without a substring.

        Raises
        ------
        ValueError
            For another kind, which has no finite or no small features.
        """
        if self.kind != "spectrum":
            raise ValueError(
                f"features: kind={self.kind!r} has none that could be listed, only 'spectrum' has."
            )
        X = self.encode(X)
        known = getattr(self, "X_fit_", X)
        return self._scaled_features(X, self._grams(known).of(X))

    # ---- values

    def _check_parameters(self):
        owner = type(self).__name__
        as_choice(self.kind, "kind", _KINDS, owner=owner)
        most = _MOST if self.kind == "gapped" else 2**31 - 1
        as_integer(self.length, "length", owner=owner, at_least=1, at_most=most)
        least = as_integer(self.min_length, "min_length", owner=owner, at_least=1)
        if self.max_length is not None:
            as_integer(self.max_length, "max_length", owner=owner, at_least=least)
        as_real(self.decay, "decay", owner=owner, above=0, at_most=1)
        as_bool(self.normalize, "normalize", owner=owner)

    def _values(self, X, Y):
        other = None if X is Y else Y
        if self.kind == "spectrum":
            return self._spectrum(X, Y)
        if self.kind == "gapped":
            return gapped_products(X, other, self.length, float(self.decay))
        return substring_products(X, other, self._weights(X))

    def _unit_length(self):
        """Return the power of the decay by which `_values` and `_squares` are divided."""
        return {"gapped": 2 * self.length, "substrings": self.min_length}.get(self.kind, 0)

    def _weights(self, X):
        longest = int(np.diff(X.offsets).max(initial=0))
        return cumulated_weights(longest, self.min_length, self.max_length, float(self.decay))

    def _spectrum(self, X, Y):
        grams = self._grams(Y)
        if not grams.n_columns:
            return np.zeros((len(X), len(Y)))
        counts = grams.of(X)
        if X is Y:
            return gram_matrix(counts, kernel="linear")
        return gram_matrix(counts, grams.of(Y), kernel="linear")

    def _grams(self, X):
        return X.of_all(("grams", self.length), lambda whole: Grams(whole, self.length))

    def _squares(self, X):
        """Return k(x, x) without normalisation, over the unit, (n,)."""
        if self.kind == "spectrum":
            counts = self._grams(X).of(X)
            return np.asarray(counts.multiply(counts).sum(axis=1))
        if self.kind == "gapped":
            name = "gapped", self.length, self.decay
            found = X.of_all(name, lambda whole: gapped_diagonal(whole, *name[1:]))
        else:
            name = "substrings", self.min_length, self.max_length, self.decay
            found = X.of_all(name, lambda whole: substring_diagonal(whole, self._weights(whole)))
        squares = found[X.chosen]
        self._require_finite(squares)
        return squares

    def _checked(self, values):
        power, decay = self._unit_length(), float(self.decay)
        if decay**power < 1 / _LARGEST and values.any():
            raise ValueError(
                f"{type(self).__name__}: without normalisation kernel values are of the order of "
                f"decay^{power}, for decay={self.decay}, below {1 / _LARGEST:.0e}: use "
                "normalize=True, or a decay nearer to 1."
            )
        values = values * decay**power
        self._require_finite(values)
        return values

    def _require_finite(self, values):
        largest = values.max(initial=0.0)
        if not largest <= _LARGEST:  # NaN too
            raise ValueError(
                f"{type(self).__name__}: kernel values of {largest:.1e} are above {_LARGEST:.0e}: "
                "use decay < 1, or shorter substrings."
            )
