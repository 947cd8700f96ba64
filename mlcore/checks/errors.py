"""Errors and warnings of mlcore, which scikit-learn recognises wherever it is loaded."""

import os
import sys
import warnings
from pathlib import Path
from typing import Any

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


class NotFittedError(ValueError, AttributeError):
    """A method that needs a fitted model was called before `fit`."""

    def __reduce__(self) -> Any:
        return _rebuild, (self.args,)  # the joint class below cannot be found by its name


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it reached its tolerance."""


class DataConversionWarning(UserWarning):
    """Input was converted to the shape or type that the model takes."""


_OWN = {own.__name__: own for own in (NotFittedError, ConvergenceWarning, DataConversionWarning)}
_BUILTIN = {kind.__name__: kind for kind in (UserWarning, RuntimeWarning, FutureWarning)}
_joint: dict[str, type] = {}


def peer_class(name: str) -> type:
    """Return mlcore's class `name`; if scikit-learn is loaded, a subclass of both classes `name`.

    scikit-learn's ensembles and searches catch and filter their own classes only.
    """
    peer = getattr(sys.modules.get("sklearn.exceptions"), name, None)
    if peer is None:
        return _OWN[name]
    if name not in _joint:
        _joint[name] = type(name, (_OWN[name], peer), {"__module__": __name__})
    return _joint[name]


def _rebuild(args):
    return peer_class("NotFittedError")(*args)


def warn(category_name: str, message: str) -> None:
    """Issue a warning that points at the first caller outside mlcore.

    The category is "ConvergenceWarning", "DataConversionWarning", or the name of a builtin warning.
    """
    category = peer_class(category_name) if category_name in _OWN else _BUILTIN[category_name]
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
