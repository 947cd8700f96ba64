"""Kernel machines and classical machine learning: fast, exact, with the evidence shown.

The families, such as `mlcore.svm` and `mlcore.kernels`, are loaded on first use.
"""

import importlib as _importlib
from pathlib import Path as _Path

__all__ = [
    "__version__",
    "accelerate",
    "bayes",
    "blocks",
    "bounds",
    "calibration",
    "cluster",
    "conformal",
    "datasets",
    "decomposition",
    "discriminant",
    "entropy",
    "kernel_ridge",
    "kernels",
    "linear_model",
    "load",
    "mixture",
    "naive_bayes",
    "online",
    "pac",
    "plot",
    "row_sums",
    "save",
    "svm",
]

_FUNCTIONS = {
    "accelerate": "mlcore.acceleration",
    "load": "mlcore.estimator.persistence",
    "save": "mlcore.estimator.persistence",
}

try:
    _importlib.import_module("mlcore._ext.runtime.threads")
except ModuleNotFoundError as _error:
    if not (_error.name or "").startswith("mlcore._ext"):
        raise
    _root = _Path(__file__).resolve().parents[1]
    if (_root / "meson.build").exists():
        raise ImportError(
            f"mlcore is not built in its source tree {_root}: run `python -m pip install .` "
            "there, then start Python from another folder."
        ) from None
    raise ImportError(
        f"mlcore in {_root} lacks its compiled extension: remove it with "
        "`python -m pip uninstall mlcore-learn` and install it again."
    ) from None


# Type checkers take this name for true wherever it stands, and completion reads both branches where
# it is no constant; typing itself takes a while to import.
TYPE_CHECKING = bool()  # noqa: UP018
if TYPE_CHECKING:
    from mlcore import (
        bayes,
        bounds,
        calibration,
        cluster,
        conformal,
        datasets,
        decomposition,
        discriminant,
        entropy,
        kernel_ridge,
        kernels,
        linear_model,
        mixture,
        naive_bayes,
        online,
        pac,
        plot,
        row_sums,
        svm,
    )
    from mlcore.acceleration import accelerate
    from mlcore.estimator.persistence import load, save

    __version__: str
else:

    def __getattr__(name):
        if name in _FUNCTIONS:
            value = globals()[name] = getattr(_importlib.import_module(_FUNCTIONS[name]), name)
            return value
        if name == "__version__":  # that of meson.build
            from importlib.metadata import version

            globals()[name] = version("mlcore-learn")
            return globals()[name]
        if name in __all__:
            return _importlib.import_module(f"mlcore.{name}")
        raise AttributeError(f"module 'mlcore' has no attribute {name!r}")


del TYPE_CHECKING


def __dir__() -> list[str]:
    return __all__
