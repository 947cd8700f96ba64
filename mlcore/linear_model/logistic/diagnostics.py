"""Methods of a fitted logistic regression that take the samples of the fit again."""

import math
from typing import Any

import numpy as np

from mlcore.checks import as_class_weights
from mlcore.linear_model.inference import Inference
from mlcore.linear_model.logistic.logistic_inference import logistic_inference
from mlcore.linear_model.logistic.logistic_pass import LogisticRows


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
            For a finite C: penalised estimates have no Wald test.
        """
        C = self._checked_parameters()["C"]
        if C < math.inf:
            raise ValueError(
                f"{type(self).__name__}: inference needs C=inf, not C={C:g}: penalised estimates "
                "are biased, and have no Wald test."
            )
        data = self._later_rows(X, y, sample_weight, offset)
        return logistic_inference(self, data, self._theta(data))

    def _later_rows(self, X, y, sample_weight, offset):
        """Return the checked rows of a later call."""
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
        return LogisticRows(X, codes, weight, offset, n_scores, fit_intercept)
