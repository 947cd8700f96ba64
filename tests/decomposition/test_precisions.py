"""Transformers return the precision that their tags promise."""

import numpy as np
from each import each

from mlcore.decomposition import CCA, PCA, KernelCCA, KernelPCA
from mlcore.discriminant import LinearDiscriminantAnalysis
from mlcore.kernels import FisherVectors, GramCenterer, TfidfTransformer
from mlcore.mixture import GaussianMixture
from mlcore.naive_bayes import Discretizer

MODELS = [
    PCA(2),
    KernelPCA(2),
    KernelPCA(2, kernel="rbf"),
    CCA(1),
    KernelCCA(1),
    LinearDiscriminantAnalysis(),
    TfidfTransformer(),
    FisherVectors(GaussianMixture(2, covariance_type="diag", random_state=0)),
    GramCenterer(),
    Discretizer(n_bins=2),
]


@each("model", MODELS)
@each("dtype", [np.float32, np.float64])
def test_the_tag_names_the_types_that_are_kept(model, dtype):
    X = np.abs(np.random.default_rng(0).normal(size=(40, 3))).astype(dtype)
    y = np.arange(40) % 3
    if isinstance(model, CCA | KernelCCA):
        y = X[:, :1] + X
    if isinstance(model, GramCenterer):
        X = X @ X.T
    kept = model.__sklearn_tags__().transformer_tags.preserves_dtype
    expected = dtype if np.dtype(dtype).name in kept else np.float64
    assert model.fit(X, y).transform(X).dtype == expected
