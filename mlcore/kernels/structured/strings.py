"""Strings as the kernels see them: codes of symbols, one sample after another."""

import itertools
from typing import Any

import numpy as np
from scipy import sparse as sp

from mlcore.checks.encoded_samples import EncodedSamples
from mlcore.kernels.structured.encoded_kernel import StructuredKernel

_LARGEST = 1e300
_KINDS = {str: "str", bytes: "bytes", np.str_: "str", np.bytes_: "bytes"}


class Strings(EncodedSamples):
    """A list of strings, "str", "bytes" or "tokens", encoded once; parts of it share its codes.

    `codes` are code points, bytes, or places in `symbols`; `offsets` (n_all + 1,) begin strings.
    """

    kind: str
    codes: np.ndarray
    offsets: np.ndarray
    chosen: np.ndarray
    known: dict[Any, Any]
    symbols: list[Any] | None

    def __init__(
        self, kind: str, codes: np.ndarray, offsets: np.ndarray, symbols: list[Any] | None = None
    ) -> None:
        self.kind, self.codes, self.offsets, self.symbols = kind, codes, offsets, symbols
        self.chosen = np.arange(len(offsets) - 1)
        self.known = {}

    def __getstate__(self) -> dict[str, Any]:
        places, offsets = self.places()
        state = {"kind": self.kind, "codes": self.codes[places], "offsets": offsets}
        return state | {"symbols": self.symbols}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)
        n_symbols = 2**31 if self.symbols is None else len(self.symbols)
        kinds = self.kind, self.codes.dtype, self.codes.ndim, self.offsets.dtype, self.offsets.ndim
        if (
            kinds not in [(kind, np.int32, 1, np.int64, 1) for kind in ("str", "bytes", "tokens")]
            or not len(self.offsets)
            or self.offsets[0] != 0
            or self.offsets[-1] != len(self.codes)
            or np.diff(self.offsets).min(initial=0) < 0
            or self.codes.min(initial=0) < 0
            or self.codes.max(initial=-1) >= n_symbols
        ):
            raise ValueError("the encoded strings are damaged.")

    def packed(self) -> "Strings":
        """Return the same strings side by side, in a list of their own."""
        return Strings(**self.__getstate__())

    def codes_in(self, other: "Strings") -> np.ndarray:
        """Return the codes of all strings as `other` has them, -1 for symbols that it lacks."""
        if self.kind != other.kind:
            raise TypeError(
                f"samples of {_named(self.kind)} cannot be compared with samples of "
                f"{_named(other.kind)}."
            )
        if self.symbols is None or self.symbols is other.symbols:
            return self.codes
        places = {symbol: place for place, symbol in enumerate(other.symbols)}
        table = np.array([places.get(symbol, -1) for symbol in self.symbols], np.int32)
        return table[self.codes] if len(table) else self.codes


class KernelOfStrings(StructuredKernel):
    """A kernel of encoded strings, computed over a power of its decay.

    Values and squares are divided by ``decay ** power``, which may be out of range.
    """

    name = "StringKernel"
    decay: float = 1.0
    power = 0

    def in_unit(self, values: np.ndarray) -> np.ndarray:
        power, decay = self.power, self.decay
        if decay**power < 1 / _LARGEST and values.any():
            raise ValueError(
                f"{self.name}: without normalisation kernel values are of the order of "
                f"decay^{power}, for decay={decay}, below {1 / _LARGEST:.0e}: use "
                "normalize=True, or a decay nearer to 1."
            )
        values = values * decay**power
        self.require_finite(values)
        return values

    def require_finite(self, values: np.ndarray) -> None:
        """Refuse values above the largest that models can take."""
        largest = values.max(initial=0.0)
        if not largest <= _LARGEST:  # NaN too
            raise ValueError(
                f"{self.name}: kernel values of {largest:.1e} are above {_LARGEST:.0e}: "
                "use decay < 1, or shorter substrings."
            )


def as_strings(X: Any, owner: str, name: str = "X") -> Strings:
    """Return a list of strings, checked and encoded: all of str, of bytes, or of sortable tokens.

    Wrong kinds raise TypeError, which names the place; an empty or two-dimensional list ValueError.
    """
    if isinstance(X, Strings):
        return X
    samples = require_list(X, owner, name)
    kinds = [
        _KINDS.get(type(sample)) or _kind(sample, i, owner, name)
        for i, sample in enumerate(samples)
    ]
    other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise TypeError(
            f"{owner}: {name}[0] is {_named(kinds[0], True)} and {name}[{other}] "
            f"{_named(kinds[other], True)}, but all samples must be of one kind."
        )
    offsets = np.append(0, np.cumsum([len(sample) for sample in samples])).astype(np.int64)
    if kinds[0] == "str":
        text = "".join(samples).encode("utf-32-le", "surrogatepass")
        return Strings("str", np.frombuffer(text, "<i4").astype(np.int32), offsets)
    if kinds[0] == "bytes":
        return Strings(
            "bytes", np.frombuffer(b"".join(samples), np.uint8).astype(np.int32), offsets
        )
    return _tokens(samples, offsets, owner, name)


def require_list(X: Any, owner: str, name: str = "X") -> list[Any]:
    """Return the samples in a list; refuse what is none, and an empty one."""
    if isinstance(X, str | bytes):
        raise TypeError(
            f"{owner}: {name} is one {type(X).__name__}, but must be a list of samples: [{name}]."
        )
    if sp.issparse(X) or isinstance(X, dict | set | frozenset) or not hasattr(X, "__len__"):
        raise TypeError(
            f"{owner}: {name} is of type {type(X).__name__}, but must be a list of strings."
        )
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:
        X = np.asarray(X)[:, 0]
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(
            f"{owner}: {name} has shape {tuple(X.shape)}, but must be a list of strings."
        )
    samples = list(X)
    if not samples:
        raise ValueError(f"{owner}: {name} has no samples: at least 1 string is needed.")
    return samples


def _kind(sample, place, owner, name):
    if isinstance(sample, str):
        return "str"
    if isinstance(sample, bytes):
        return "bytes"
    if isinstance(sample, list | tuple | np.ndarray) and getattr(sample, "ndim", 1) == 1:
        return "tokens"
    raise TypeError(
        f"{owner}: {name}[{place}] is of type {type(sample).__name__}, but samples must be str, "
        "bytes or sequences of tokens."
    )


def _named(kind, one=False):
    return {"str": "str", "bytes": "bytes"}.get(kind) or (
        "a sequence of tokens" if one else "sequences of tokens"
    )


def _tokens(samples, offsets, owner, name):
    lists = [sample.tolist() if isinstance(sample, np.ndarray) else sample for sample in samples]
    places: dict[Any, Any] = {}
    try:
        for sample in lists:
            for token in sample:
                places[token] = 0
    except TypeError:
        place, token = next(
            (i, token) for i, sample in enumerate(lists) for token in sample if not _hashable(token)
        )
        raise TypeError(
            f"{owner}: {name}[{place}] has the token {token!r}, of type {type(token).__name__}, "
            "which cannot be hashed: tokens must be strings, numbers or tuples of these."
        ) from None
    for i, sample in enumerate(lists):
        if any(token is None or token != token for token in sample):
            raise TypeError(f"{owner}: {name}[{i}] has a missing token (None or NaN).")
    try:
        symbols = sorted(places)
    except TypeError as error:
        raise TypeError(
            f"{owner}: the tokens of {name} cannot be sorted ({error}): they must be of one type."
        ) from None
    places = {symbol: place for place, symbol in enumerate(symbols)}
    codes = np.fromiter(
        (places[token] for token in itertools.chain.from_iterable(lists)), np.int32, offsets[-1]
    )
    return Strings("tokens", codes, offsets, symbols)


def _hashable(token):
    try:
        hash(token)
    except TypeError:
        return False
    return True
