"""Maximum entropy beside one product of the features with themselves, which a step needs."""

import numpy as np

from mlcore.entropy import fit_table, maximum_entropy


class Points:
    """Targets inside the hull; 2,000 x 20 for every solver, 100,000 x 50 for Newton's."""

    params = (["newton 2000x20", "gis 2000x20", "iis 2000x20", "newton 100000x50"],)
    param_names = ("case",)

    def setup(self, case):
        self.solver, shape = case.split()
        n, m = map(int, shape.split("x"))
        rng = np.random.default_rng(0)
        self.f = rng.random((n, m))
        self.c = rng.dirichlet(np.full(n, 0.5)) @ self.f
        self.tol = 1e-6 if self.solver == "newton" else 1e-3

    def time_fit(self, _):
        maximum_entropy(self.f, self.c, solver=self.solver, tol=self.tol)

    def track_steps(self, _):
        return maximum_entropy(self.f, self.c, solver=self.solver, tol=self.tol).n_iter

    def peakmem_fit(self, _):
        maximum_entropy(self.f, self.c, solver=self.solver, tol=self.tol)

    def time_floor(self, _):
        self.f.T @ self.f


class Face:
    """Targets on the boundary of the hull: a linear programme finds the zeros."""

    def setup(self):
        rng = np.random.default_rng(0)
        f = rng.normal(size=(5_000, 10))
        f[:, 0] = -abs(f[:, 0]) * (np.arange(5_000) >= 50)
        turn = np.linalg.qr(rng.normal(size=(10, 10)))[0]
        self.f = f @ turn
        self.c = self.f[:50].mean(axis=0)

    def time_fit(self):
        maximum_entropy(self.f, self.c)


class Table:
    """A square table with both margins given."""

    params = [100, 1_000]
    param_names = ("n_rows",)

    def setup(self, n_rows):
        rng = np.random.default_rng(0)
        self.table, goal = rng.random((n_rows, n_rows)), rng.random((n_rows, n_rows)) ** 4
        self.margins = {0: goal.sum(axis=1), 1: goal.sum(axis=0)}

    def time_fit(self, n_rows):
        fit_table(self.table, self.margins)
