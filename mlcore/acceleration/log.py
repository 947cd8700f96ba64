"""Log lines of accelerated fits: who fitted, why, and with which evidence."""

import logging
import re
import time
from typing import Any

import numpy as np

LOGGER = logging.getLogger("mlcore").getChild("accelerate")
_LONGEST = 40
_told: set[tuple[str, str]] = set()


def tell(name: str, reason: str) -> None:
    """Warn that scikit-learn fits a class, once for each reason, whatever its figures."""
    kind = name, re.sub(r"\d[\d.e+-]*", "0", reason)
    if kind not in _told:
        _told.add(kind)
        LOGGER.warning("%s is fitted by scikit-learn: %s.", name, reason)


def forget() -> None:
    """Forget what was told, so that it is told again."""
    _told.clear()


def report(model: Any, X: Any, start: float, words: str) -> None:
    """Log class, shape and seconds of a fit that began at `start`, then `words`."""
    seconds = time.perf_counter() - start
    shape = getattr(X, "shape", None) or np.shape(X)
    LOGGER.info("%s %s: %.3g s %s", type(model).__name__, shape, seconds, words)


def shortened(value: Any) -> str:
    """Return the repr of a value on one short line."""
    text = one_line(repr(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def one_line(text: Any) -> str:
    """Return a text without line breaks and without a stop at its end."""
    return " ".join(str(text).split()).rstrip(".")
