"""Calibration: scores of any model turned into probabilities, and how right probabilities are."""

from mlcore.calibration.calibrator import Calibrator
from mlcore.calibration.isotonic import IsotonicCalibrator
from mlcore.calibration.platt import PlattCalibrator, PlattSigmoid
from mlcore.calibration.reliability import Estimate, Reliability, reliability
from mlcore.calibration.temperature import TemperatureCalibrator
from mlcore.calibration.venn_abers import VennAbersCalibrator

__all__ = [
    "Calibrator",
    "Estimate",
    "IsotonicCalibrator",
    "PlattCalibrator",
    "PlattSigmoid",
    "Reliability",
    "TemperatureCalibrator",
    "VennAbersCalibrator",
    "reliability",
]


def __dir__() -> list[str]:
    return __all__
