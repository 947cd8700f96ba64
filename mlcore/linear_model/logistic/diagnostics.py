"""Methods of a fitted logistic regression that take the samples of the fit again."""

import math
from typing import Any

import numpy as np

from mlcore.checks import as_class_weights
from mlcore.linear_model.inference import Inference
from mlcore.linear_model.logistic.evidence import rise_as_stored
from mlcore.linear_model.logistic.logistic_inference import logistic_inference
from mlcore.linear_model.logistic.logistic_pass import LogisticRows
from mlcore.linear_model.logistic.objective import Objective
from mlcore.linear_model.logistic.rounding import error_of_gradient, largest_terms

_SAME = 1e-6  # relative difference of objectives, and gradient, that rows of another type may have


class LogisticDiagnostics:
    """Mixin of LogisticRegression."""

    def inference(
        self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None
    ) -> Inference:
        """Return standard errors, tests and intervals of the coefficients of maximum likelihood.

        Newton's method goes on from the fitted coefficients to the rounding of float64. With more
        than two classes parameters are those of each class less those of the first.

        Parameters
        ----------
        X, y, sample_weight, offset : as in `fit`
            The samples of the fit.

        Returns
        -------
        inference : Inference
            Of all coefficients.

        Raises
        ------
        ValueError
            For a finite C: penalised estimates have no Wald test; for class weights, which are no
            copies of samples; for other samples, weights or offsets than those of the fit.
        """
        C = self._checked_parameters()["C"]
        if C < math.inf:
            raise ValueError(
                f"{type(self).__name__}: inference needs C=inf, not C={C:g}: penalised estimates "
                "are biased, and have no Wald test."
            )
        if self.class_weight is not None:
            raise ValueError(
                f"{type(self).__name__}: inference needs class_weight=None, not "
                f"{self.class_weight!r}: such weights are no copies of samples, of which errors "
                "would be. Give the numbers of copies as sample_weight."
            )
        data = self._later_rows(X, y, sample_weight, offset, "inference")
        theta = self._theta(data)
        self._require_optimum(Objective(data, 0.0), theta)
        return logistic_inference(self, data, theta)

    def _require_optimum(self, objective, theta):
        """Refuse rows of which the fitted coefficients are not as near the optimum as the fit was.

        Their gradient may be ten times that of the fit, and what rounding of coefficients and of
        the rows' values does to it.
        """
        point, rows = objective.at(theta), objective.rows
        norm = objective.gradient_norm(point.gradient)
        left = vars(self).get("gradient_norm_", self.tol)
        moved = np.finfo(self.coef_.dtype).eps * largest_terms(objective, theta)
        off = error_of_gradient(objective, theta)
        off += moved * np.hypot(objective.deviation, objective.mean)
        varies = objective.deviation > 0
        off = (off + np.abs(objective.mean) * off[:, -1:])[:, varies] / objective.deviation[varies]
        allowed = 10 * left + _SAME + off.max()
        known = vars(self).get("gradient_norm_") is not None
        value, before = rows.total * point.value, self.objective_
        rise = rise_as_stored(objective, point, rows.total)
        same = not known or abs(value - before) <= _SAME * before + 2 * rise
        if not (norm <= allowed and same):
            raise ValueError(
                f"{type(self).__name__}: inference needs the samples of the fit, with the same "
                f"sample_weight and offset: at its coefficients their gradient is {norm:.2g}, and "
                f"their objective {value:.6g}, but the fit ended at {left:.2g} and {before:.6g}."
            )

    def _later_rows(self, X, y, sample_weight, offset, method):
        """Return the checked rows of a later call, which are of the weight of those of the fit."""
        fit_intercept = self._checked_parameters()["fit_intercept"]
        X = self._check_X(X, reset=False)
        n, n_scores = X.shape[0], self.coef_.shape[0]
        codes = self._known_codes(y, n)
        offset = self._checked_offset(offset, n, n_scores)
        _, _, weight, rows = self._weighted_labels(y, sample_weight, n)
        weight = weight * as_class_weights(self.class_weight, self.classes_, codes, weight)[codes]
        rows = np.flatnonzero(weight)
        if len(rows) < n:
            X, weight, codes = X[rows], weight[rows], codes[rows]
            offset = None if offset is None else offset[rows]
        data = LogisticRows(X, codes, weight, offset, n_scores, fit_intercept)
        total = self._weight_
        if total is not None and not np.isclose(data.total, total, rtol=1e-9, atol=0):
            raise ValueError(
                f"{type(self).__name__}: {method} needs the samples of the fit, with the same "
                f"sample_weight: their weight is {total:g}, not {data.total:g}."
            )
        return data
