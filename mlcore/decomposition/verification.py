"""Result of `PCA.verify`."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mlcore.decomposition.evidence import bound_of_leading
from mlcore.decomposition.spectrum import CentredRows, products_of
from mlcore.estimator.verification import Verification
from mlcore.numerics.sparse_products import CentredProducts
from mlcore.runtime.memory import require_memory


@dataclass(frozen=True, repr=False)
class PCAVerification(Verification):
    """Distance of components from the best ones for given rows, in units of `scale_`.

    Parameters
    ----------
    objective : float
        Mean squared distance of rows and projections, with the divisor of the variances.
    duality_gap : float
        Upper bound of it less the least of all subspaces of the same dimension. Where nothing is
        proved this is the objective.
    complete : bool
        True if it is proved that no component was missed.
    residual : float
        Largest ``|Cu - lambda u|`` over the largest eigenvalue, of the components as stored.

    Examples
    --------
    >>> from mlcore.datasets import load_iris
    >>> from mlcore.decomposition import PCA
    >>> X, _ = load_iris()
    >>> PCA(2).fit(X).verify(X).complete
    True
    """

    complete: bool
    residual: float


def verified(
    rows: CentredRows, U: np.ndarray, next_value: float, divisor: float
) -> PCAVerification:
    """Return the verification of components U (d, k) for rows; `next_value` is of their scatter.

    The smaller of both scatters is formed, (n, n) or (d, d).
    """
    n, d = rows.shape
    size, k = min(n, d), U.shape[1]
    require_memory(size, size, 24, what="the covariance", instead="trust residuals_ alone")
    trace = rows.trace()
    products = products_of(rows, trace)
    # The values of the components and their residuals.
    images = products @ U
    values = np.einsum("ij,ij->j", U, images)
    residuals = np.linalg.norm(images - U * values, axis=0) / (float(values.max()) or 1.0)
    # The proof, in the smaller space.
    lost = 0.0
    if isinstance(products, CentredProducts):
        S = (products.columns_by_length()[0] if n < d else products).dense()
        Q = products.times(U) if n < d else U
        lost = float((products.left @ products.left) * (products.right @ products.right))
    else:
        S, Q = np.zeros((size, size)), np.zeros((n, k)) if n < d else U
        for columns, block in rows.column_blocks() if n < d else rows.blocks():
            if n < d:
                S += block @ block.T
                Q += block @ U[columns]
            else:
                S += block.T @ block
    along = float(values.sum())
    bound = np.inf
    if k <= size and values.min() > 0:
        Q = linalg.qr(Q, mode="economic", check_finite=False)[0]
        bound = bound_of_leading(S, Q, max(next_value, 0.0), lost)
    objective = (trace - along) / divisor
    complete = bool(np.isfinite(bound))
    gap = min(bound - along, trace - along) / divisor
    return PCAVerification(objective, gap, complete, float(residuals.max()))
