"""The call that puts replacements into scikit-learn's modules, and takes them out again."""

import copyreg
import importlib
import logging
import sys
from typing import Any, Self

from mlcore.acceleration.log import LOGGER, forget

_CLASSES = {
    "svm": ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"),
    "cluster": ("KMeans", "AgglomerativeClustering"),
    "mixture": ("GaussianMixture",),
    "kernel_ridge": ("KernelRidge",),
    "discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "naive_bayes": ("GaussianNB", "MultinomialNB", "BernoulliNB"),
}
_active: "list[Acceleration]" = []


def accelerate(*, report: bool = False) -> "Acceleration":
    """Replace scikit-learn's classes that mlcore fits to the same result, faster.

    ``from sklearn.svm import SVC`` gives the replacement from now on, in scikit-learn's own modules
    too. It is a subclass of scikit-learn's class, with its parameters, attributes and methods. A
    fit checks each parameter and the data: where mlcore has no exact counterpart, scikit-learn's
    own code fits, and the logger "mlcore.accelerate" says so, once for each reason. Names that were
    imported before are not touched.

    Parameters
    ----------
    report : bool, default=False
        After each fit, write a line to stderr: class, shape, seconds, evidence. The logger
        "mlcore.accelerate" has these lines at level INFO.

    Returns
    -------
    acceleration : Acceleration
        Its `undo` brings scikit-learn's classes back, and so does the end of a ``with`` block.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.

    Examples
    --------
    >>> import mlcore
    >>> with mlcore.accelerate():
    ...     from sklearn.svm import SVC
    >>> machine = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> machine.predict([[0.4], [2.6]])
    array([0, 1])
    >>> float(machine.mlcore_model_.duality_gap_) < 1e-6
    True
    """
    return Acceleration(replacements(), report)


def replacements() -> dict[type, type]:
    """Return the replacement of each class of scikit-learn that has one."""
    found = {}
    for family, names in _CLASSES.items():
        module = importlib.import_module(f"mlcore.acceleration.{family}")
        for name in names:
            replacement = getattr(module, name)
            found[replacement.original] = replacement
    return found


class Acceleration:
    """A call of `accelerate`: tells which classes are replaced, and undoes it.

    Classes are replaced until every call is undone. Models, and names that were imported in the
    meantime, stay as they are.
    """

    def __init__(self, replaced: dict[type, type], report: bool) -> None:
        self.replaced = replaced
        self._handler: logging.Handler | None = None
        if not _active:
            forget()
            _put(replaced)
            for original in replaced:
                # A pickle names its class by its place, where the replacement now is.
                copyreg.pickle(original, _reduced)  # type: ignore[arg-type]
        _active.append(self)
        if report:
            self._handler = logging.StreamHandler()
            self._handler.setFormatter(logging.Formatter("mlcore.accelerate: %(message)s"))
            LOGGER.addHandler(self._handler)
            self._before = LOGGER.level, LOGGER.propagate
            LOGGER.setLevel(logging.INFO)
            LOGGER.propagate = False

    def undo(self) -> None:
        """Bring scikit-learn's classes back, once every call of `accelerate` is undone."""
        if self not in _active:
            return
        _active.remove(self)
        if self._handler is not None:
            LOGGER.removeHandler(self._handler)
            level, LOGGER.propagate = self._before
            LOGGER.setLevel(level)
        if not _active:
            _put({replacement: original for original, replacement in self.replaced.items()})
            for original in self.replaced:
                copyreg.dispatch_table.pop(original, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.undo()

    def __repr__(self) -> str:
        names = ", ".join(sorted(original.__name__ for original in self.replaced))
        state = "fitted by mlcore" if self in _active else "undone"
        return f"<Acceleration of {names}: {state}>"


def _put(replaced: dict[type, type]) -> None:
    """Set the new class wherever a loaded module of scikit-learn has the old one."""
    by_id = {id(old): new for old, new in replaced.items()}
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == "sklearn" and module is not None:
            for name, value in list(vars(module).items()):
                if id(value) in by_id:
                    setattr(module, name, by_id[id(value)])


def _reduced(model: Any) -> tuple[Any, ...]:
    """Reduce a model of scikit-learn's own class, for pickles and copies."""
    kind = type(model)
    return _blank, (kind.__module__, kind.__qualname__), model.__getstate__()


def _blank(module: str, name: str) -> Any:
    """Return a model without state, of scikit-learn's own class."""
    kind = getattr(importlib.import_module(module), name)
    kind = getattr(kind, "original", kind)
    return kind.__new__(kind)
