"""Tables of a search by cross-validation, and the candidate that its scores choose."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np

from mlcore.checks import as_choice
from mlcore.checks.errors import peer_class, warn
from mlcore.estimator.folds import Fold
from mlcore.estimator.scoring.scorers import HeldOut, Scoring, as_scoring

RULES = ("best", "one_standard_error")
_ALL = slice(None)
Rule = Literal["best", "one_standard_error"]
# `_stored` of every search
STORED = {
    "best_index_": "count",
    "best_score_": "float",
    "best_params_": {"...": "float"},
    "n_test_samples_": ("|", "none", "int fold"),
    "cv_results_": {"...": ("|", "float64 tried | int tried", ["tried", {"...": "float"}])},
}


class ScoreTable:
    """Scores of candidates on folds, and the seconds that fits and scores took."""

    def __init__(self, n_candidates: int, n_folds: int, scoring: Scoring) -> None:
        self.shape, self.scoring = (n_candidates, n_folds), scoring
        self._scores: dict[str, np.ndarray] = {}
        self.fit_seconds, self.score_seconds = np.zeros(self.shape), np.zeros(self.shape)

    def add(self, candidate: int, fold: int, held_out: HeldOut, **known: float) -> None:
        """Score a candidate on the samples that a fold holds out; some scores may be known."""
        start = perf_counter()
        for name, score in self.scoring.of(held_out, known).items():
            self._of(name)[candidate, fold] = score
        self.score_seconds[candidate, fold] = perf_counter() - start

    def put(self, candidates: np.ndarray, fold: int, scores: dict[str, np.ndarray]) -> None:
        """Set all scores of candidates (m,) on a fold, by name: (m,) each."""
        for name, values in scores.items():
            if not np.isfinite(values).all():
                values = [
                    self.scoring.number(value, self.scoring.scorers.get(name)) for value in values
                ]
            self._of(name)[candidates, fold] = values

    def _of(self, name):
        """Return the scores of this name, at first `error_score`."""
        if name not in self._scores:
            missing = self.scoring.error_score
            self._scores[name] = np.full(self.shape, np.nan if missing is None else missing)
        return self._scores[name]

    def fail(self, candidate: int, error: Exception) -> None:
        """Give a candidate whose fits fail `error_score`, or raise the error."""
        scoring = self.scoring
        if scoring.error_score is None:
            raise error
        warn(
            "UserWarning",
            f"{scoring.owner}: fits failed: {error} Their scores are "
            f"error_score={scoring.error_score!r}.",
        )
        for name in scoring.scorers:
            self._of(name)[candidate] = scoring.error_score

    @contextmanager
    def timed(self, candidates: Sequence[int], folds: int | slice = _ALL) -> Iterator[None]:
        """Share the seconds of a block equally among the fits of these candidates and folds."""
        start = perf_counter()
        yield
        count = len(candidates) * (self.shape[1] if isinstance(folds, slice) else 1)
        self.fit_seconds[candidates, folds] += (perf_counter() - start) / count

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The scores (n_candidates, n_folds) of each metric, that of `error_score` where absent."""
        several = len(self._scores) > 1 and not self.scoring.several
        # A function that returned a dict, but for candidates on which it failed.
        return {
            name: one for name, one in self._scores.items() if not (several and name == "score")
        }


def mean_scores(scores: np.ndarray) -> np.ndarray:
    """Return the means over folds (n_candidates,)."""
    return np.average(scores, axis=1)


def _deviations(scores, ddof=0):
    """Return the standard deviation over folds, for scores of any size."""
    power = int(np.frexp(np.abs(scores).max(initial=0.0, where=np.isfinite(scores)))[1])
    with np.errstate(invalid="ignore"):
        return np.ldexp(np.ldexp(scores, -power).std(axis=-1, ddof=ddof), power)


def ranks(mean: np.ndarray) -> np.ndarray:
    """Return the rank of each mean, 1 for the largest; NaN comes last."""
    loss = -np.where(np.isnan(mean), -np.inf, mean)
    return 1 + np.searchsorted(np.sort(loss), loss)


def chosen(
    scores: np.ndarray, rule: str, complexity: Sequence[np.ndarray], among: Any = None
) -> int:
    """Return the place of the best candidate by the means of scores (n_candidates, n_folds).

    That is the first of the highest mean; or by one standard error the simplest of those whose mean
    is at most a standard error of that score below it. `complexity` has arrays (n_candidates,) that
    grow with it, the first decides; `among` returns a mask of those that compare with the best.
    """
    mean = mean_scores(scores)
    best = int(ranks(mean).argmin())
    if rule == "best" or scores.shape[1] < 2 or not np.isfinite(mean[best]):
        return best
    error = _deviations(scores[best], ddof=1) / math.sqrt(scores.shape[1])
    with np.errstate(invalid="ignore"):
        near = mean >= mean[best] - error
    if among is not None:
        near &= among(best)
    return int(np.lexsort((*complexity[::-1], ~near))[0])


class Plan(NamedTuple):
    """Checked parameters of a search: its scores, and the choice by them."""

    scoring: Scoring
    refit: bool | str | Callable[..., Any]
    rule: str

    def table(self, n_candidates: int, n_folds: int) -> ScoreTable:
        """Return an empty table of scores."""
        return ScoreTable(n_candidates, n_folds, self.scoring)

    def scores(self, table: ScoreTable) -> np.ndarray:
        """Return the scores (n_candidates, n_folds) that choose."""
        arrays = table.arrays
        return arrays[self._metric(arrays)]

    def leading(self, table: ScoreTable) -> int:
        """Return the best candidate so far."""
        return chosen(self.scores(table), "best", ())

    def select(
        self,
        table: ScoreTable,
        params: list[dict[str, float]],
        complexity: Sequence[np.ndarray],
        among: Callable[[int], np.ndarray] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        """Return the place of the chosen candidate, and the fitted attributes of the search."""
        arrays, owner = table.arrays, self.scoring.owner
        results = _results(table, params, arrays, owner)
        name = self._metric(arrays)
        if callable(self.refit):
            index = self.refit(results)
            whole = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
            if not whole or not 0 <= index < len(params):
                raise ValueError(
                    f"{owner}: refit returned {index!r}, but must return the index of one of "
                    f"{len(params)} candidates."
                )
        else:
            index = chosen(arrays[name], self.rule, complexity, among)
        return int(index), {
            "cv_results_": results,
            "best_index_": int(index),
            "best_params_": dict(params[index]),
            "best_score_": float(results[f"mean_test_{name}"][index]),
        }

    def _metric(self, arrays):
        """Return the name of the scores that choose: the first, if `refit` names none."""
        several = self.scoring.several or "score" not in arrays
        if several and not callable(self.refit) and self.refit not in (False, *arrays):
            raise _names_of_refit(self.refit, arrays, self.scoring.owner)
        return self.refit if several and isinstance(self.refit, str) else next(iter(arrays))


def _results(table, params, arrays, owner):
    """Return `cv_results_`, with the keys of scikit-learn's GridSearchCV."""
    results: dict[str, Any] = {}
    for what, seconds in (("fit", table.fit_seconds), ("score", table.score_seconds)):
        results[f"mean_{what}_time"] = seconds.mean(axis=1)
        results[f"std_{what}_time"] = seconds.std(axis=1)
    for name in params[0]:
        results[f"param_{name}"] = column(params, name)
    results["params"] = params
    for name, scores in arrays.items():
        mean = mean_scores(scores)
        for f, of_fold in enumerate(scores.T):
            results[f"split{f}_test_{name}"] = of_fold.copy()
        results[f"mean_test_{name}"] = mean
        results[f"std_test_{name}"] = _deviations(scores)
        results[f"rank_test_{name}"] = ranks(mean)
        if not np.isfinite(scores).all():
            warn("UserWarning", f"{owner}: some scores of {name!r} are not finite.")
    return results


def column(params: list[dict[str, float]], name: str) -> np.ndarray:
    """Return a parameter of all candidates."""
    return np.array([one[name] for one in params])


def test_sizes(folds: list[Fold], sample_weight: Any) -> np.ndarray | None:
    """Return how many samples each fold holds out; None for weighted ones."""
    if sample_weight is not None:
        return None
    return np.array([np.count_nonzero(fold.test) for fold in folds])


def require_refit(model: Any, attribute: str) -> None:
    """Refuse to predict with a search that was fitted with ``refit=False``."""
    if attribute not in vars(model):
        raise peer_class("NotFittedError")(
            f"This {type(model).__name__} was fitted with refit=False: it has scores, but no "
            "model of all samples. Fit with refit=True."
        )


def as_sequence(values: Any, name: str, owner: str) -> list[Any]:
    """Return `values` as a list; refuse an empty one and anything but a sequence."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(
            f"{owner}: {name}={values!r} is of type {type(values).__name__}, but must be a "
            "sequence of numbers."
        )
    if np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"{owner}: {name} must be a sequence of at least one number.")
    return list(values)


def as_plan(model: Any, names: Iterable[str]) -> Plan:
    """Return the checked parameters `scoring`, `refit`, `rule` and `error_score` of a search."""
    owner = type(model).__name__
    scoring = as_scoring(model.scoring, names, model.error_score, owner)
    rule = as_choice(model.rule, "rule", RULES, owner=owner)
    return Plan(scoring, _as_refit(model.refit, scoring), rule)


def _as_refit(refit, scoring):
    """Return `refit`, checked against the names of the scores, as far as these are known."""
    owner, known = scoring.owner, scoring.several or not scoring.has_functions
    if callable(refit):
        return refit
    if isinstance(refit, (bool, np.bool_)):
        if refit and scoring.several:
            raise _names_of_refit(refit, scoring.scorers, owner)
        return bool(refit)
    if not isinstance(refit, str):
        raise TypeError(
            f"{owner}: refit={refit!r} is of type {type(refit).__name__}, but must be True, False, "
            "the name of a score, or a function of cv_results_."
        )
    if known and refit not in scoring.scorers:
        raise _names_of_refit(refit, scoring.scorers, owner)
    return refit


def _names_of_refit(refit, names, owner):
    return ValueError(
        f"{owner}: refit={refit!r} must name the score that chooses, one of "
        f"{', '.join(map(repr, names))}, or be a function of cv_results_ that returns an index."
    )
