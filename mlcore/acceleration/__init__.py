"""scikit-learn's classes fitted by mlcore, by one call: `mlcore.accelerate()`.

scikit-learn is imported by that call, and by the modules here that derive from its classes.
"""

from mlcore.acceleration.acceleration import Acceleration, accelerate

__all__ = ["Acceleration", "accelerate"]


def __dir__() -> list[str]:
    return __all__
