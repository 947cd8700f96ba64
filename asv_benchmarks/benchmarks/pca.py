"""Principal components against the products and the eigenproblem that no route can do without."""

import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, svds

from mlcore.decomposition import PCA
from mlcore.decomposition.scatter_eigenpairs import scatter_eigenpairs
from mlcore.numerics.eigen import largest_by_lapack
from mlcore.numerics.scatter import origin_of, scatter_of


def rows(n_samples, n_features, dtype):
    rng = np.random.default_rng(0)
    low = rng.normal(size=(n_samples, 60)) @ rng.normal(size=(60, n_features))
    X = np.maximum(low + rng.normal(size=low.shape), 0)
    X[:, : n_features // 7] = 0  # as pixels at the border
    return X.astype(dtype)


class MissingValues:
    """Steps of EM where a tenth of the values is missing: most rows have a pattern of their own."""

    params, param_names = [10, 60], ["n_features"]

    def setup(self, n_features):
        rng = np.random.default_rng(0)
        low = rng.normal(size=(20_000, 4)) @ rng.normal(size=(4, n_features))
        self.X = low + rng.normal(size=low.shape)
        self.X[rng.random(low.shape) < 0.1] = np.nan

    def time_ten_steps(self, _):
        PCA(4, missing="ignore", iterated_power=10, tol=1e-300).fit(self.X)


class ByScatter:
    """More rows than features; the floor is NumPy's centred product and LAPACK's eigenpairs."""

    params = ([8_000], ["float32", "float64"])
    param_names = ("n_samples", "dtype")

    def setup(self, n_samples, dtype):
        self.X = rows(n_samples, 784, dtype)
        self.dense = np.random.default_rng(1).normal(size=self.X.shape).astype(dtype)

    def time_fit(self, *_):
        PCA(50).fit(self.X)

    def time_scatter(self, *_):
        scatter_of(self.X, None, origin_of(self.X))

    def time_scatter_without_zeros(self, *_):
        scatter_of(self.dense, None, origin_of(self.dense))

    def time_floor_numpy(self, *_):
        centred = self.X - self.X.mean(axis=0)
        eigh(centred.T @ centred, subset_by_index=[734, 783])

    def peakmem_fit(self, *_):
        PCA(50).fit(self.X)


class FewOfManyFeatures:
    """The eigenpairs alone, with the proof that none is missing, and LAPACK's without."""

    params, param_names = [784, 2_000], ["n_features"]

    def setup(self, n_features):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(2 * n_features, n_features)) / (1 + np.arange(n_features)) ** 0.7
        self.S = X.T @ X

    def time_lanczos(self, n_features):
        scatter_eigenpairs(self.S, 20, False, self.S.dtype)

    def time_lapack(self, n_features):
        largest_by_lapack(self.S, 21)


class WideAndSparse:
    """More features than rows, and sparse rows that are never made dense."""

    def setup(self):
        self.wide = rows(500, 20_000, "float64")
        rng, n = np.random.default_rng(0), 200_000
        at = rng.integers(20_000, size=n), rng.integers(10_000, size=n)
        self.sparse = sp.csr_array((rng.random(n), at), shape=(20_000, 10_000))

    def time_gram(self):
        PCA(20).fit(self.wide)

    def time_lanczos_of_csr(self):
        PCA(5, tol=1e-4, random_state=0).fit(self.sparse)

    def peakmem_lanczos_of_csr(self):
        PCA(5, tol=1e-4, random_state=0).fit(self.sparse)


class Text:
    """Sparse rows like tf-idf, long or wide; the floor is SciPy's PROPACK of the centred rows."""

    params = ([(20_000, 20_000), (2_000, 20_000)], [10, 50])
    param_names = ("shape", "n_components")

    def setup(self, shape, n_components):
        rng, (n, d) = np.random.default_rng(0), shape
        nnz = 100 * n if n == d else 300 * n
        words = np.minimum(rng.zipf(1.3, size=nnz) - 1, d - 1)
        self.X = sp.csr_array((rng.random(nnz), (rng.integers(n, size=nnz), words)), shape=shape)
        norms = np.sqrt(self.X.multiply(self.X).sum(axis=1))
        self.X = sp.csr_array(sp.diags_array(1 / np.where(norms > 0, norms, 1)) @ self.X)

    def time_fit(self, _, n_components):
        PCA(n_components, random_state=0).fit(self.X)

    def time_not_centred(self, _, n_components):
        PCA(n_components, center=False, random_state=0).fit(self.X)

    def time_floor_propack(self, _, n_components):
        X, mean = self.X, self.X.mean(axis=0)
        XT = sp.csr_array(X.T)
        centred = LinearOperator(
            X.shape,
            matvec=lambda v: X @ v.ravel() - mean @ v.ravel(),
            rmatvec=lambda u: XT @ u.ravel() - mean * u.sum(),
            dtype=X.dtype,
        )
        svds(centred, n_components, solver="propack", rng=np.random.default_rng(0))

    def peakmem_fit(self, _, n_components):
        PCA(n_components, random_state=0).fit(self.X)


class FileInBlocks:
    """Rows in a memory map, block by block: the memory is that of one block, whatever the rows.

    Ten million rows of float32 are 2 GB on disk; they take longer than a benchmark may:
    ``python -c "from pca import FileInBlocks as F; f = F(); f.setup(10**7); f.time_fit(10**7)"``
    runs them by hand in this folder.
    """

    params, param_names = [200_000], ["n_samples"]
    ROWS, D = 100_000, 50

    def setup(self, n_samples):
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.shape = Path(self.folder.name) / "rows", (n_samples, self.D)
        block = np.random.default_rng(0).normal(size=(self.ROWS, self.D)).astype(np.float32)
        with self.path.open("wb") as file:
            for _ in range(n_samples // self.ROWS):
                block.tofile(file)

    def teardown(self, n_samples):
        self.folder.cleanup()

    def time_fit(self, n_samples):
        model, total = PCA(5), None
        for start in range(0, n_samples, self.ROWS):
            # A map of each block alone: pages of those before it are given back.
            X = np.memmap(
                self.path, np.float32, "r", 4 * self.D * start, (self.ROWS, self.D), order="C"
            )
            if total is None:
                model.begin(X)
            part = model.partial_statistics(X)
            total = part if total is None else model.merge(total, part)
        model.update(total)

    peakmem_fit = time_fit
