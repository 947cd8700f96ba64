"""Components of columns of several kinds, independent given the component."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import block_diag

from mlcore.checks.stored import stored
from mlcore.mixture.components import Components
from mlcore.mixture.discrete.components import DiscreteComponents
from mlcore.mixture.discrete.components import Parameters as DiscreteParameters
from mlcore.mixture.em import EM, Run
from mlcore.mixture.gaussian.components import GaussianComponents
from mlcore.mixture.gaussian.parameters import Parameters as GaussianParameters
from mlcore.mixture.standard_errors import Coordinates
from mlcore.row_sums import twin
from mlcore.runtime.memory import require_memory

_START_STEPS = 4  # of EM from the start that each kind of columns proposes, to tell the best
_LOST = 1e-9 * 2.0**53  # squared deviations that a mean may move before its moments are taken again


class MixedRows:
    """Rows as parts of columns, checked by the models of these: a dict by kind.

    `given` has no rows of the parts as the user gave them, for the names of their columns, and
    `columns` their places in X.
    """

    parts: dict[str, Any]
    given: dict[str, Any]
    columns: dict[str, np.ndarray]

    def __init__(
        self, parts: dict[str, Any], given: dict[str, Any], columns: dict[str, np.ndarray]
    ) -> None:
        self.parts, self.given, self.columns = parts, given, columns

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), sum(map(len, self.columns.values()))

    def __len__(self) -> int:
        return next(iter(self.parts.values())).shape[0]

    def __getitem__(self, rows: Any) -> Self:
        parts = {kind: X[rows] for kind, X in self.parts.items()}
        return type(self)(parts, self.given, self.columns)

    def missing(self) -> np.ndarray:
        """Return which values are missing, (n, d) bool."""
        missing = np.empty(self.shape, bool)
        for kind, X in self.parts.items():
            own = X.missing() if hasattr(X, "missing") else np.isnan(X)
            missing[:, self.columns[kind]] = own
        return missing


@stored(version=1)
class MixedParameters(NamedTuple):
    """Weights of the components, and the parameters of each part, which hold the same weights."""

    weights: np.ndarray
    parts: list[Any]
    _stored = {
        "weights": "float64 k",
        "parts": ["p", ("|", GaussianParameters, DiscreteParameters)],
    }


class MixedStatistics(NamedTuple):
    """Sums over rows: `values` has all those of the parts but their masses, one after the other."""

    log_likelihood: float
    mass: np.ndarray  # (k,)
    values: np.ndarray  # (n_values,)


class PreparedRows(NamedTuple):
    """Rows as they were checked, and as the E-step of each part visits them."""

    X: MixedRows
    weight: np.ndarray | None
    parts: list[Any]

    @property
    def total(self) -> float:
        return float(len(self.X) if self.weight is None else self.weight.sum())


class MixedComponents(Components):
    """Products of the components of several parts, a dict by kind.

    `models` are the estimators of the parts, which fitted attributes are copies of; `given` the
    parts of a new fit as the user gave them, None of a fitted mixture.
    """

    parts: dict[str, Any]

    def __init__(
        self,
        n_components: int,
        parts: dict[str, Any],
        models: dict[str, Any],
        columns: dict[str, np.ndarray],
        given: dict[str, Any] | None = None,
    ) -> None:
        self.n_components, self.parts = n_components, parts
        self._models, self._given, self.columns = models, given, columns

    @property
    def bounded(self) -> bool:
        return all(part.bounded for part in self.parts.values())

    @property
    def exact(self) -> bool:
        return all(part.exact for part in self.parts.values())

    def rows(self, X: MixedRows, weight: np.ndarray | None) -> PreparedRows:
        require_memory(
            len(X), self.n_components, 32, what="the responsibilities", instead="pass fewer rows"
        )
        return PreparedRows(
            X, weight, [part.rows(X.parts[kind], weight) for kind, part in self._items()]
        )

    def _items(self):
        return self.parts.items()

    # ---- EM

    def start(
        self,
        em: Any,
        start_values: tuple[Any, ...],
        rng: np.random.Generator | None,
        number: int = 0,
    ) -> MixedParameters:
        """Return the best, after a few steps, of the starts that the parts propose."""
        k, rows = self.n_components, em.rows
        starts = []
        for part, own in zip(self.parts.values(), rows.parts, strict=True):
            values = (None,) * (3 if isinstance(part, GaussianComponents) else 2)
            starts.append(part.start(EM(part, own, em.tol), values, rng, number))
        equal = np.full(k, 1 / k)
        before = MixedParameters(equal, [start._replace(weights=equal) for start in starts])
        runs = []
        for part, own, start in zip(self.parts.values(), rows.parts, starts, strict=True):
            r = np.exp(_shares(_log_densities(part, own, start), start.weights)[1])
            runs.append(Run(self.maximize(self._sums(rows, before, r, 0.0), before)[0]))
        return em.over(rows).best(runs, _START_STEPS).following

    def _joint(self, rows, parameters):
        """Return log-densities (n,), and logarithms of the responsibilities (n, k)."""
        logs = 0.0
        for part, own, values in zip(
            self.parts.values(), rows.parts, parameters.parts, strict=True
        ):
            logs = logs + _log_densities(part, own, values)
        return _shares(logs, parameters.weights)

    def statistics(self, rows: PreparedRows, parameters: MixedParameters) -> MixedStatistics:
        return self._statistics(rows, parameters)

    def _statistics(self, rows, parameters, centres=None):
        density, shares = self._joint(rows, parameters)
        density = density if rows.weight is None else density * rows.weight
        return self._sums(rows, parameters, np.exp(shares), float(density.sum()), centres)

    def _sums(self, rows, parameters, r, log_likelihood, centres=None):
        r = r if rows.weight is None else r * rows.weight[:, None]
        mass, values = r.sum(axis=0), []
        for part, own, before in zip(
            self.parts.values(), rows.parts, parameters.parts, strict=True
        ):
            if isinstance(part, DiscreteComponents):
                sums = np.ascontiguousarray(own.sparse.matrix.T @ r)
                sums = part.gathered(own, sums, mass, 0.0, before.table)
            else:
                sums = _gaussian_sums(part, own, before, r, centres)
            values += [np.ravel(value) for value in sums[2:]]
        return MixedStatistics(log_likelihood, mass, np.concatenate(values))

    def _parted(self, statistics, parameters):
        """Return the statistics of each part."""
        parts, start = [], 0
        for part, own in zip(self.parts.values(), parameters.parts, strict=True):
            form = part.expected(own, 1.0)
            fields = []
            for value in form[2:]:
                stop = start + np.size(value)
                fields.append(statistics.values[start:stop].reshape(np.shape(value)))
                start = stop
            parts.append(type(form)(0.0, statistics.mass, *fields))
        return parts

    def maximize(self, statistics: Any, parameters: MixedParameters) -> tuple[Any, np.ndarray]:
        parts, shrunk = [], np.zeros(self.n_components, bool)
        sums = self._parted(statistics, parameters)
        for part, own, before in zip(self.parts.values(), sums, parameters.parts, strict=True):
            new, lost = part.maximize(own, before)
            parts.append(new)
            shrunk |= lost
        weights = statistics.mass / statistics.mass.sum()
        return MixedParameters(weights, [part._replace(weights=weights) for part in parts]), shrunk

    def step(self, rows: PreparedRows, parameters: MixedParameters) -> tuple[Any, ...]:
        statistics = self.statistics(rows, parameters)
        objective = statistics.log_likelihood + self.log_prior(parameters)
        new, shrunk = self.maximize(statistics, parameters)
        sums = self._parted(statistics, parameters)
        for i, part in enumerate(self.parts.values()):
            moved = isinstance(part, GaussianComponents) and part.family.lost(
                sums[i], new.parts[i], _LOST
            )
            if moved:  # moments about the old means have lost digits
                means = new.parts[i].means
                statistics = self._statistics(rows, parameters, means)
                about = [*parameters.parts]
                about[i] = about[i]._replace(means=means)
                new, shrunk = self.maximize(statistics, parameters._replace(parts=about))
        return objective / rows.total, new, shrunk

    def rounding(self, parameters: MixedParameters, objective: float, n: float) -> float:
        pairs = zip(self.parts.values(), parameters.parts, strict=True)
        return sum(part.rounding(own, objective, n) for part, own in pairs)

    def resolves(self, parameters: MixedParameters, tol: float) -> bool:
        pairs = zip(self.parts.values(), parameters.parts, strict=True)
        return all(part.resolves(own, tol) for part, own in pairs)

    def log_prior(self, parameters: Any) -> float:
        pairs = zip(self.parts.values(), parameters.parts, strict=True)
        return float(sum(part.log_prior(own) for part, own in pairs))

    def reorder(self, parameters: MixedParameters, order: np.ndarray) -> MixedParameters:
        pairs = zip(self.parts.values(), parameters.parts, strict=True)
        return MixedParameters(
            parameters.weights[order], [part.reorder(own, order) for part, own in pairs]
        )

    def split(self, parameters: MixedParameters, j: int, pair: MixedParameters) -> MixedParameters:
        triples = zip(self.parts.values(), parameters.parts, pair.parts, strict=True)
        parts = [part.split(own, j, two) for part, own, two in triples]
        return MixedParameters(parts[0].weights, parts)

    def expected(self, parameters: MixedParameters, total_weight: float) -> MixedStatistics:
        values = []
        for part, own in zip(self.parts.values(), parameters.parts, strict=True):
            values += [np.ravel(value) for value in part.expected(own, total_weight)[2:]]
        return MixedStatistics(0.0, parameters.weights, np.concatenate(values))

    # ---- the fitted mixture

    def attributes(self, parameters: MixedParameters) -> dict[str, Any]:
        models = {}
        for (kind, part), own in zip(self._items(), parameters.parts, strict=True):
            model = twin(self._models[kind])
            if self._given is not None:
                model._set_unfitted(self._given[kind], part, own, total_weight=1.0)
            else:
                model._update_state(part.attributes(own) | part.of_ties(own, None))
            models[kind] = model
        return {"weights_": parameters.weights, "parts_": models, "columns_": self.columns}

    def parameters(self, mixture: Any) -> MixedParameters:
        parts = [part.parameters(mixture.parts_[kind]) for kind, part in self._items()]
        return MixedParameters(
            mixture.weights_, [part._replace(weights=mixture.weights_) for part in parts]
        )

    def posterior(
        self, X: MixedRows, parameters: MixedParameters, tables: dict[Any, Any], with_proba: bool
    ) -> tuple[Any, ...]:
        density, shares = self._joint(self.rows(X, None), parameters)
        return density, shares.argmax(axis=1), np.exp(shares) if with_proba else None

    def coordinates(self, parameters: MixedParameters) -> "MixedCoordinates":
        pairs = zip(self._items(), parameters.parts, strict=True)
        return MixedCoordinates({kind: part.coordinates(own) for (kind, part), own in pairs})

    def n_parameters(self) -> int:
        weights = self.n_components - 1
        return weights + sum(part.n_parameters() - weights for part in self.parts.values())


class MixedCoordinates(Coordinates):
    """The coordinates of all parts, one after the other."""

    def __init__(self, parts: dict[str, Coordinates]) -> None:
        self._parts = parts
        every = [part.names for part in parts.values()]
        self.names = [[n for part in own for n in part] for own in zip(*every, strict=True)]
        self.boundary = [name for part in parts.values() for name in part.boundary]

    def block(self, X: MixedRows) -> Any:
        return [part.block(X.parts[kind]) for kind, part in self._parts.items()]

    def _pairs(self, block):
        return zip(self._parts.values(), block, strict=True)

    def log_densities(self, block: Any) -> np.ndarray:
        return sum(part.log_densities(own) for part, own in self._pairs(block))

    def scores(self, block: Any, j: int) -> np.ndarray:
        return np.hstack([part.scores(own, j) for part, own in self._pairs(block)])

    def information(self, block: Any, weight: np.ndarray, j: int) -> np.ndarray:
        return block_diag(*(part.information(own, weight, j) for part, own in self._pairs(block)))

    def gradient(self, j: int) -> np.ndarray:
        return block_diag(*(part.gradient(j) for part in self._parts.values()))

    def attributes(self, errors: np.ndarray) -> dict[str, Any]:
        """Return errors by name; those of means are a dict by kind."""
        found: dict[str, Any] = {"means": {}}
        start = 0
        for kind, part in self._parts.items():
            stop = start + len(part.gradient(0))
            own = part.attributes(errors[start:stop])
            if "means" in own:
                found["means"][kind] = own.pop("means")
            found, start = found | own, stop
        return found


def _shares(logs, weights):
    """Return log-densities (n,) and logarithms of the responsibilities (n, k)."""
    with np.errstate(divide="ignore"):
        joint = logs + np.log(weights)
    top = joint.max(axis=1, keepdims=True)
    impossible = top[:, 0] == -np.inf
    if impossible.any():  # under every component: all share the row
        joint[impossible], top[impossible] = 0.0, 0.0
    joint -= top
    log_sum = np.log(np.exp(joint).sum(axis=1, keepdims=True))
    density = top + log_sum
    joint -= log_sum  # not the density, which is rounded for rows far from the means
    return np.where(impossible, -np.inf, density[:, 0]), joint


def _log_densities(part, rows, parameters):
    """Return the log-densities of the rows in all components of a part, (n, k)."""
    k = len(parameters.weights)
    if isinstance(part, DiscreteComponents):
        loop = rows.sparse.loop(k)
        return loop.log_densities(part.fill(loop, parameters._replace(weights=np.ones(k)), rows))
    single = (rows.densities(part.single(parameters, j))[0] for j in range(k))
    return np.column_stack([*single])


def _gaussian_sums(part, rows, parameters, r, centres):
    """Return the statistics of Gaussians under given responsibilities: of one after the other."""
    sums = []
    for j in range(len(parameters.weights)):
        single = part.rows(rows.X, np.ascontiguousarray(r[:, j]))
        about = None if centres is None else centres[j : j + 1]
        own = part.single(parameters, j)
        sums.append(single.statistics(own, exact=True, centres=about))
    mass, first, second = (
        np.concatenate([getattr(own, name) for own in sums]) for name in ("mass", "first", "second")
    )
    if part.family.shared:
        second = sum(own.second for own in sums)
    return sums[0]._replace(log_likelihood=0.0, mass=mass, first=first, second=second)
