"""Kernel perceptron: a function that is a sum over the samples on which it erred."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from mlcore._ext.linear_model import perceptron as _ext
from mlcore.checks.stored import stored
from mlcore.kernels.expansion import Expansion, kept_expansion
from mlcore.kernels.gram_rows import GramRows, padded
from mlcore.kernels.kernel import Kernel, as_double, of_numbers, precision
from mlcore.kernels.kernel_model import KernelModel
from mlcore.kernels.vector_kernels import GammaRule, KernelName, resolve_gamma
from mlcore.linear_model.perceptron.classifier import PerceptronClassifier, Settings
from mlcore.linear_model.perceptron.mistakes import signed_margins
from mlcore.runtime.memory import require_memory
from mlcore.runtime.threads import pieces

_KEPT_BYTES = 200_000_000  # of rows of the Gram matrix


@stored(version=1)
class KernelRun(NamedTuple):
    """State of the rounds beside the function that predicts.

    `n_seen` numbers the samples of `support_`. `lag` (n_scores, n_support) sums all `corrections`,
    each times the number of rounds before it; both are None without `average`.
    """

    n_seen: int
    corrections: np.ndarray | None
    lag: np.ndarray | None
    _stored = {
        "n_seen": "size n",
        "corrections": "none | float64 c' s?",
        "lag": "none | float64 c' s?",
    }


class KernelPerceptron(PerceptronClassifier, KernelModel):
    r"""Perceptron in the feature space of a kernel: a sum of kernels on the samples it mistook.

    A round with sample x of label y = ±1 is a mistake if :math:`y f(x) \le 0`; then f becomes
    :math:`f + y (k(x, \cdot) + 1)`. With several classes, each with an f, the score of the right
    class must be above all others; else the kernel is added to its f, and subtracted from that of
    the best other class. With the linear kernel this is `Perceptron`.

    Parameters
    ----------
    kernel : str, callable or Kernel, default="rbf"
        As in `mlcore.kernels.gram_matrix`, or "precomputed".
    gamma : float, "scale" or "auto", default="scale"
        "scale" is 1 / (n_features Var(X)), of the first samples; "auto" is 1 / n_features.
    degree : int, default=3
    coef0 : float, default=0.0
    max_iter, tol, shuffle : as in `Perceptron`
    fit_intercept : bool, default=True
        False to leave out the 1 beside the kernel.
    average, random_state, verbose, callback : as in `Perceptron`

    Attributes
    ----------
    classes_ : (n_classes,) sorted labels
    support_ : (n_support,) int64
        Samples in the function, ascending. After `partial_fit` they are numbered on.
    support_vectors_ : (n_support, n_features), objects, or empty for a precomputed kernel
    dual_coef_ : (n_classes, n_support) or (1, n_support) float64
        Their coefficients: without `average` the number of mistakes, with signs.
    intercept_ : (n_classes,) or (1,) float64
        Sums of the coefficients, or 0.
    gamma_ : float
    mistakes_, n_rounds_, mistake_trace_, n_iter_, converged_, radius_, margin_, mistake_bound_ :
        As in `Perceptron`, with norms in the feature space.
    n_features_in_ : int
    feature_names_in_ : (n_features,) object

    Warns
    -----
    UserWarning
        If the kernel is not positive semi-definite on the samples: the bound is then none.

    Notes
    -----
    O(M n) kernel values for M mistakes on n samples, computed once where rows of the Gram matrix
    fit into 200 MB, and O(n) memory beside these.

    References
    ----------
    M. Aizerman, E. Braverman, L. Rozonoer, *Theoretical foundations of the potential function
    method in pattern recognition learning*, Automation and Remote Control 25, 1964.
    Y. Freund, R. Schapire, *Large margin classification using the perceptron algorithm*, Machine
    Learning 37, 1999.

    Examples
    --------
    >>> from mlcore.linear_model import KernelPerceptron
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> model = KernelPerceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y)
    >>> model.predict(X), model.converged_
    (array([0, 1, 1, 0]), True)
    >>> model.mistakes_ <= model.mistake_bound_
    True
    """

    support_: np.ndarray
    support_vectors_: Any  # CSR where the samples are
    dual_coef_: np.ndarray
    _run_: KernelRun
    _stored = {
        "support_": "int s? < n",
        "support_vectors_": "rows s? f | float 0 0",
        "dual_coef_": "float64 c' s?",
        "_run_": KernelRun,
    }
    _older = {"_run_": (KernelRun, *KernelRun._fields)}

    def __init__(
        self,
        *,
        kernel: KernelName | Callable[..., Any] = "rbf",
        gamma: float | GammaRule = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        max_iter: int = 100,
        tol: float | None = None,
        shuffle: bool = False,
        fit_intercept: bool = True,
        average: bool = False,
        random_state: Any = None,
        verbose: bool | int = False,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.fit_intercept = fit_intercept
        self.average = average
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def _settings(self):
        self._checked_kernel()
        self._checked_gamma(self.gamma)
        return super()._settings()

    def _require_blocks(self):
        if self._precomputed:
            raise ValueError(
                f"{type(self).__name__}: partial_fit needs a kernel that it can evaluate between "
                "samples of all calls, not kernel='precomputed'."
            )

    def _rounds(self, samples, codes, n_classes, settings, earlier):
        kernel = self._checked_kernel()
        gamma = self._checked_gamma(self.gamma) if earlier is None else earlier.gamma_
        if isinstance(gamma, str) and (kernel.precomputed or not of_numbers(samples)):
            gamma = 0.0
        gamma = resolve_gamma(gamma, samples)
        kernel = kernel.with_gamma(gamma)
        rounds = KernelRounds(kernel, gamma, samples, codes, n_classes, settings, earlier)
        if earlier is not None:
            vectors = earlier.support_vectors_
            if as_double(vectors) is vectors:
                rounds.add_earlier(kept_expansion(self, vectors, kernel))
            else:
                rounds.add_earlier(Expansion(as_double(vectors), kernel))
        return rounds

    def _checked_later(self, X):
        self._check_fitted()
        return self._later_samples(X, self.support_vectors_)

    def _scores(self, X):
        kernel = self._fitted_kernel
        if kernel.precomputed:
            expansion = Expansion(self.support_, kernel)
        else:
            expansion = kept_expansion(self, self.support_vectors_, kernel)
        scores = expansion.sums(X, self.dual_coef_.T) + self.intercept_
        return scores.astype(precision(self.support_vectors_), copy=False)


class KernelRounds:
    """Rounds of a kernel expansion with some samples, after those of an `earlier` model.

    `counts` (n,) are the mistakes of each sample; `averages`: the mean function predicts.
    """

    averages: bool
    radius: float
    counts: np.ndarray

    def __init__(
        self,
        kernel: Kernel,
        gamma: float,
        X: Any,
        codes: np.ndarray,
        n_classes: int,
        settings: Settings,
        earlier: KernelPerceptron | None,
    ) -> None:
        self._X, self._codes, self._settings, self._model = X, codes, settings, earlier
        self._kernel, self._gamma, doubles = kernel, gamma, as_double(X)
        rows = kernel.rows(doubles, double=True)
        rows.warn_if_indefinite("its feature space is none, and the bound on mistakes no bound")
        n, n_scores = rows.n, 1 if n_classes == 2 else n_classes
        self._constant, self.averages = float(settings.fit_intercept), settings.average
        self.radius = math.sqrt(max(rows.diagonal.max(), 0.0) + self._constant)
        self.counts = np.zeros(n, dtype=np.int64)
        self._n_rounds = 0 if earlier is None else earlier.n_rounds_
        capacity = max(1, min(n, _KEPT_BYTES // (8 * padded(n))))
        require_memory(
            capacity, padded(n), 8, what="the kept part of the Gram matrix",
            instead="pass fewer rows at a time to partial_fit",
        )  # fmt: skip
        self._gram = GramRows(rows, capacity)
        # Corrections of these samples, and times the rounds before each; with the scores of both.
        self._parts = np.zeros((2 if settings.average else 1, n_scores, n))
        self._scores = np.zeros_like(self._parts)
        n_before = 0 if earlier is None else len(earlier.support_)
        self._before = np.zeros((len(self._parts), n_scores, n_before))

    def add_earlier(self, expansion: Expansion) -> None:
        """Begin with the function of the earlier model, an expansion in its support vectors."""
        model, run = self._model, self._model._run_
        # As `_parts`: corrections and their lag.
        self._before[0] = model.dual_coef_ if run.corrections is None else run.corrections
        if len(self._before) > 1 and run.lag is not None:
            self._before[1] = run.lag
        doubles = as_double(self._X)
        for scores, coef in zip(self._scores, self._before, strict=True):
            sums = expansion.sums(doubles, np.ascontiguousarray(coef.T))
            scores[:] = sums.T + self._constant * coef.sum(axis=1)[:, None]

    def epoch(self, order: np.ndarray) -> int:
        """Play a round with each row in `order`; return the number of mistakes."""
        gram, before, all_rows = self._gram, self.counts.sum(), np.arange(len(self.counts))
        slots = gram.cached(all_rows)
        for first, last in pieces(len(order), self._scores.size):
            while first < last:
                first = _ext.kernel_rounds(
                    gram.rows, slots, self._codes, order, self._constant, self._parts,
                    self._scores, self.counts, float(self._n_rounds), first, last,
                )  # fmt: skip
                if first < last:
                    gram.fetch(order[first : first + 1])
                    slots = gram.cached(all_rows)
        self._n_rounds += len(order)
        return int(self.counts.sum() - before)

    def _mean(self, parts):
        """Return what predicts after the rounds, of corrections or scores and their lag."""
        return parts[0] - parts[1] / self._n_rounds if len(parts) > 1 else parts[0]

    def margins(self) -> tuple[np.ndarray, float, int]:
        """Return the signed margins of the rows (n,), the norm of the function, and 0."""
        scores, coef = self._mean(self._scores), self._mean(self._parts)
        length = math.sqrt(max(float(np.vdot(coef, scores)), 0.0))
        return signed_margins(scores, self._codes), length, 0

    def error(self) -> float:
        """Return a bound on the error of a margin: scores of the rounds and of `predict` differ."""
        size = np.abs(self._mean(self._parts)).sum(axis=1).max()
        eps = float(np.finfo(precision(self._X)).eps)
        return 4 * eps * float(size) * self.radius**2

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the function."""
        model, chosen = self._model, np.flatnonzero(self._parts.any(axis=(0, 1)))
        seen, support = 0, chosen
        if model is not None:
            seen = model._run_.n_seen
            support = np.concatenate([model.support_, seen + chosen])
        parts = np.concatenate([self._before, self._parts[:, :, chosen]], axis=2)
        dual_coef = self._mean(parts)
        if self._kernel.precomputed:
            vectors = np.empty((0, 0), dtype=self._X.dtype)
        else:
            vectors = self._X[chosen]
            if model is not None:
                old = model.support_vectors_
                vectors = _joined(old, vectors) if len(chosen) else old
        return {
            "support_": support,
            "support_vectors_": vectors,
            "dual_coef_": dual_coef,
            "intercept_": self._constant * dual_coef.sum(axis=1),
            "gamma_": self._gamma,
            "_run_": KernelRun(
                seen + len(self.counts), *(parts if len(parts) > 1 else (None, None))
            ),
        }


def _joined(a, b):
    """Return the samples of both, in the form of `a`."""
    if sparse.issparse(a):
        return sparse.csr_array(sparse.vstack([a, sparse.csr_array(b)], format="csr"))
    if isinstance(a, np.ndarray):
        return np.concatenate([a, b.toarray() if sparse.issparse(b) else b])
    raise TypeError(
        f"samples of type {type(a).__name__}, as this kernel encodes them, cannot be joined: use "
        "fit on all of them."
    )
