"""Sets of labels from the leave-one-out fits of discriminants, without refits or fresh examples."""

from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np
from scipy import linalg

from mlcore.bounds.arguments import as_choice, as_real, as_reals, length_of, refuse
from mlcore.bounds.certificates.report import for_terminal
from mlcore.checks import as_labels
from mlcore.checks.errors import warn
from mlcore.conformal.coverage import conformal_rank
from mlcore.conformal.jackknife import guaranteed, too_few
from mlcore.conformal.sets import Score, scores_of
from mlcore.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from mlcore.estimator.tables import table
from mlcore.numerics.scores.log_softmax import log_softmax
from mlcore.runtime.threads import single_threaded_blas

_VALUES = 2**21  # of log posteriors at a time, 16 MB
_COMPARED = 3  # rows of each class
_ROUNDING = {"least_ambiguous": 1e-9, "adaptive": 1e-15}  # by which equal scores may differ


class _Scatter(NamedTuple):
    """Classes of one covariance matrix, in coordinates where it is 1.

    `root` (d, d) has ``root.T @ root`` for covariance, times the divisor W - ddof; without row i,
    of residual e_i, the covariance loses ``lost_i e_i e_i'`` and then has ``left_i`` of its
    determinant and `ratio` of its divisor.
    """

    classes: np.ndarray
    rows: np.ndarray
    root: np.ndarray
    log_determinant: float
    residuals: np.ndarray
    growth: np.ndarray
    lost: np.ndarray
    left: np.ndarray
    ratio: float


class _Fits(NamedTuple):
    """All fits without one row: the means less `origin`, codes of rows, priors and scatters."""

    origin: np.ndarray
    means: np.ndarray
    codes: np.ndarray
    priors: np.ndarray | None
    scatters: tuple[_Scatter, ...]

    def log_posteriors(self, X):
        """Return those of rows of X (m, d) by the fit without each row, (m, n, c)."""
        m, n, c = len(X), len(self.codes), len(self.means)
        counts = np.bincount(self.codes, minlength=c)
        shares = np.repeat((counts if self.priors is None else self.priors)[None], n, axis=0)
        shares = shares.astype(np.float64)
        if self.priors is None:
            shares[np.arange(n), self.codes] -= 1
        with np.errstate(divide="ignore"):
            out = np.repeat(np.log(shares)[None], m, axis=0)
        for part in self.scatters:
            for k in part.classes:
                offsets = X - self.origin - self.means[k]
                U = linalg.solve_triangular(part.root, offsets.T, trans="T").T
                squares = np.square(U).sum(axis=1)[:, None]
                if len(self.scatters) > 1:  # rows of other classes change nothing
                    out[:, :, k] -= (squares + part.log_determinant) / 2
                # With the mean that is left, if the row is of this class.
                products = U @ part.residuals.T
                more = np.where(self.codes[part.rows] == k, part.growth - 1, 0.0)
                own = np.square(part.residuals).sum(axis=1)
                moved = squares + more * (2 * products + more * own)
                moved += (products + more * own) ** 2 * (part.lost / part.left)
                moved *= part.ratio
                if len(self.scatters) > 1:
                    determinant = part.log_determinant + np.log(part.left)
                    determinant -= len(part.root) * np.log(part.ratio)
                    moved += determinant - squares - part.log_determinant
                out[:, part.rows, k] -= moved / 2
        return log_softmax(out.reshape(m * n, c)).reshape(m, n, c)


@dataclass(frozen=True)
class JackknifeSets:
    """Sets of labels of a discriminant, made by `jackknife_plus_sets`.

    Parameters
    ----------
    model : object
        The fitted discriminant.
    fits : object
        Its fits without one sample.
    scores : float64 (n,)
        Scores of the samples of the fit, each by the fit without it.
    score : {"least_ambiguous", "adaptive"}
        Rule of the scores.
    coverage : float
        1 - alpha: the coverage that sets have in most cases.
    rank : int
        A label is left out if so many samples have lower scores; n + 1 where n is too small.

    Examples
    --------
    >>> from mlcore.conformal import jackknife_plus_sets
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.discriminant import LinearDiscriminantAnalysis
    >>> X, y = load_iris()
    >>> found = jackknife_plus_sets(LinearDiscriminantAnalysis().fit(X, y), X, y)
    >>> found.rank, found.guaranteed_coverage
    (136, 0.8)
    """

    model: Any
    fits: Any
    scores: np.ndarray
    score: Score
    coverage: float
    rank: int

    @property
    def guaranteed_coverage(self) -> float:
        """1 - 2 alpha, which holds for every distribution; 0 says nothing."""
        return guaranteed(self.coverage, self.rank, len(self.scores))

    def predict(self, X: Any) -> np.ndarray:
        """Return the sets of labels, True for the labels that they hold.

        Parameters
        ----------
        X : array-like of shape (m, n_features)
            New samples.

        Returns
        -------
        sets : bool (m, n_classes)
            Columns in the order of the model's `classes_`. O(m n c d) time for c classes.

        Raises
        ------
        ValueError
            For other numbers of features, and values that are not finite.
        """
        X = _as_rows(X, self.fits.means.shape[1])
        n, c = len(self.scores), len(self.fits.means)
        sets = np.empty((len(X), c), bool)
        step = max(1, _VALUES // (n * c))
        with single_threaded_blas():
            for start in range(0, len(X), step):
                rows = slice(start, start + step)
                scores = _scores(self.fits.log_posteriors(X[rows]), self.score)
                scores -= _ROUNDING[self.score] * (1 + np.abs(scores))
                lower = (self.scores[:, None] < scores).sum(axis=1)
                sets[rows] = lower < self.rank
        return sets

    def _sentences(self):
        n = len(self.scores)
        yield (
            f"Jackknife+ sets of {type(self.model).__name__}, {self.score}, from the fits without "
            f"one of {n} samples. The label of a new sample is inside with probability at least "
            f"{self.guaranteed_coverage:g} on average over samples of the fit, if all are "
            f"exchangeable; in most cases with about {self.coverage:g}."
        )
        if self.rank > n:
            yield too_few(n, self.coverage, "sets hold every label")

    def __repr__(self) -> str:
        return for_terminal(*self._sentences())

    def _repr_html_(self) -> str:
        return table({}, title=for_terminal(*self._sentences()))


def jackknife_plus_sets(
    model: Any, X: Any, y: Any, coverage: float = 0.9, *, score: Score = "least_ambiguous"
) -> JackknifeSets:
    r"""Return sets of labels of a discriminant, from its own samples.

    A label y is in the set of x unless, for :math:`\lceil (1 - \alpha)(n + 1) \rceil` of the n
    samples or more, the fit without sample i gives a higher score to (x, y) than to its own
    :math:`(x_i, y_i)`; scores are those of `conformal_sets`, and :math:`\alpha` is one minus
    `coverage`. If samples and new ones are exchangeable, the set holds the label with probability
    at least :math:`1 - 2 \alpha`, whatever the distribution; in most cases with about
    :math:`1 - \alpha`.

    The n fits are not made: without a sample the mean of its class moves along its residual, and
    the covariance loses a matrix of rank one.

    Parameters
    ----------
    model : fitted `LinearDiscriminantAnalysis` or `QuadraticDiscriminantAnalysis`
        Without regularisation and weights.
    X : array-like of shape (n, n_features)
        The samples of the fit.
    y : array-like of shape (n,)
        Their labels.
    coverage : float in (0, 1), default=0.9
        1 - alpha; the guarantee is 2 * coverage - 1.
    score : {"least_ambiguous", "adaptive"}, default="least_ambiguous"
        Rule of the scores.

    Returns
    -------
    sets : JackknifeSets
        Its `predict` returns the sets. O(n d (c + d)) time and O(n d) memory.

    Raises
    ------
    ValueError
        For other models, other samples than those of the fit, fits with regularisation, and if a
        covariance has no inverse without some sample.

    Warns
    -----
    UserWarning
        If the samples are too few: sets hold every label.

    References
    ----------
    R. Barber, E. Candès, A. Ramdas, R. Tibshirani, *Predictive inference with the jackknife+*,
    Annals of Statistics 49, 2021, Theorem 1.
    Y. Romano, M. Sesia, E. Candès, *Classification with valid and adaptive coverage*, Advances in
    Neural Information Processing Systems 33, 2020, Theorem 3 (sets).

    Examples
    --------
    >>> import numpy as np
    >>> from mlcore.conformal import jackknife_plus_sets
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.discriminant import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris()
    >>> model = QuadraticDiscriminantAnalysis().fit(X[::2], y[::2])
    >>> found = jackknife_plus_sets(model, X[::2], y[::2], 0.95).predict(X[1::2])
    >>> bool(found[range(75), y[1::2]].mean() > 0.9)
    True
    """
    score = as_choice(score, "score", get_args(Score))
    coverage = as_real(coverage, "coverage", above=0, below=1)
    kinds = (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)
    if not isinstance(model, kinds) or not hasattr(model, "classes_"):
        allowed = "a fitted LinearDiscriminantAnalysis or QuadraticDiscriminantAnalysis"
        raise ValueError(f"model={type(model).__name__}(...) must be {allowed}.")
    X = _as_rows(X, model.n_features_in_)
    n = len(X)
    classes, codes = as_labels(y, n)
    if not np.array_equal(classes, model.classes_):
        refuse("y", classes.tolist(), f"labels of the fit, {model.classes_.tolist()}")
    told = model.leave_one_out(X, y)
    fits = _fits(model, X, codes)
    # Both ways to fits without a row agree, at the first rows of each class.
    rank_in_class = np.empty(n, np.intp)
    for k in range(len(classes)):
        rank_in_class[codes == k] = np.arange(np.count_nonzero(codes == k))
    agree = True
    with single_threaded_blas():
        for i in np.flatnonzero(rank_in_class < _COMPARED):
            own = fits.log_posteriors(X[i : i + 1])[0, i]
            agree &= np.allclose(np.exp(own), np.exp(told[i]), rtol=0, atol=1e-4)
    if not agree:
        raise _other_fit(model)
    rank = conformal_rank(n, coverage)
    if rank > n:
        warn("UserWarning", too_few(n, coverage, "sets hold every label"))
    scores = _scores(told, score)[np.arange(n), codes]
    return JackknifeSets(model, fits, scores, score, coverage, rank)


def _as_rows(X, n_features):
    if not length_of(X):
        refuse("X", X, "at least one sample")
    X = as_reals(X, "X")
    if X.ndim != 2 or X.shape[1] != n_features:
        refuse("X", f"an array of shape {X.shape}", f"of shape (m, {n_features})")
    return X


def _scores(log_posteriors, score):
    """Return scores of all labels: minus logarithms of probabilities order as minus these."""
    if score == "least_ambiguous":
        return -log_posteriors
    c = log_posteriors.shape[-1]
    P = np.exp(log_posteriors).reshape(-1, c)
    return scores_of(P, score).reshape(log_posteriors.shape)


def _fits(model, X, codes):
    """Return the fits without each row, in coordinates where covariances are 1."""
    counts = np.bincount(codes)
    origin = X.mean(axis=0)
    means = np.stack([(X[codes == k] - origin).mean(axis=0) for k in range(len(counts))])
    residuals = X - origin - means[codes]
    every = np.arange(len(counts))
    quadratic = isinstance(model, QuadraticDiscriminantAnalysis)
    groups = [np.array([k]) for k in every] if quadratic else [every]
    scatters = []
    for classes in groups:
        rows = np.flatnonzero(np.isin(codes, classes))
        divisor = len(rows) - (len(classes) if model.unbiased else 0)
        with single_threaded_blas():
            root = np.linalg.qr(residuals[rows] / np.sqrt(divisor), mode="r")
            diagonal = np.abs(np.diagonal(root))
            if len(root) < X.shape[1] or diagonal.min() == 0:
                raise _other_fit(model)
            E = linalg.solve_triangular(root, residuals[rows].T, trans="T").T
        growth = counts[codes[rows]] / np.maximum(counts[codes[rows]] - 1, 1)
        lost = np.where(counts[codes[rows]] > 1, growth / divisor, 0.0)
        scatters.append(
            _Scatter(
                classes, rows, root, 2 * float(np.log(diagonal).sum()),
                E, growth, lost, 1 - lost * np.square(E).sum(axis=1), (divisor - 1) / divisor,
            )
        )  # fmt: skip
    priors = None if model.priors is None else model.priors_
    return _Fits(origin, means, codes, priors, tuple(scatters))


def _other_fit(model):
    return ValueError(
        f"model={type(model).__name__}(...) must be a fit to X without regularisation, and with "
        "features that do not depend on each other."
    )
