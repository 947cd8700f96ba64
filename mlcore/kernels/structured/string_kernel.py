"""Kernels on strings: what two strings have in common."""

from typing import Any, ClassVar, Literal, get_args

from scipy import sparse as sp

from mlcore.checks import as_bool, as_choice, as_integer, as_real
from mlcore.kernels.structured.encoded_kernel import EncodedKernel
from mlcore.kernels.structured.gapped import GappedKernel
from mlcore.kernels.structured.spectrum import SpectrumKernel
from mlcore.kernels.structured.strings import KernelOfStrings, Strings, as_strings
from mlcore.kernels.structured.substrings import SubstringKernel

_Kind = Literal["spectrum", "substrings", "gapped"]
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
        kind: _Kind = "spectrum",
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
            For one string instead of a list, None, numbers and mixed kinds, with their place; for
            an empty list.
        """
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
        kernel = self._settings()
        if not isinstance(kernel, SpectrumKernel):
            raise ValueError(
                f"features: kind={self.kind!r} has none that could be listed, only 'spectrum' has."
            )
        X = self.encode(X)
        columns = kernel.grams(getattr(self, "X_fit_", X))
        return kernel.scaled_features(X, columns.of(X))

    def _settings(self) -> KernelOfStrings:
        owner = type(self).__name__
        kind = as_choice(self.kind, "kind", get_args(_Kind), owner=owner)
        most = _MOST if kind == "gapped" else 2**31 - 1
        length = as_integer(self.length, "length", owner=owner, at_least=1, at_most=most)
        least = as_integer(self.min_length, "min_length", owner=owner, at_least=1)
        longest = self.max_length
        if longest is not None:
            longest = as_integer(longest, "max_length", owner=owner, at_least=least)
        decay = float(as_real(self.decay, "decay", owner=owner, above=0, at_most=1))
        normalize = as_bool(self.normalize, "normalize", owner=owner)
        return {
            "spectrum": lambda: SpectrumKernel(normalize, length),
            "substrings": lambda: SubstringKernel(normalize, least, longest, decay),
            "gapped": lambda: GappedKernel(normalize, length, decay),
        }[kind]()
