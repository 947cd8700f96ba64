"""Guarantees of PAC learners, as bounds on the probability of an error."""

from collections.abc import Mapping
from typing import Any

from mlcore.bounds import Bound, vc_error_bound
from mlcore.bounds.arguments import as_delta

INDEPENDENT = "The examples are independent and of one source, without weights."
VAPNIK = "Vapnik, Statistical Learning Theory, 1998, equation (4.41)."


def guarantee(
    name: str, value: float, delta: float, inputs: Mapping[str, Any], why: str, reference: str
) -> Bound:
    """Return the bound of a learner on its training examples."""
    return Bound(name, value, delta, "upper", "train", inputs, (INDEPENDENT, why), reference)


def vc_guarantee(k: int, m: int, vc_dimension: int, delta: float) -> Bound:
    """Return the bound by the VC dimension, for concepts with errors on their examples."""
    inputs = {"k": k, "m": m, "vc_dimension": vc_dimension}
    return guarantee(
        "relative VC bound",
        vc_error_bound(k, m, vc_dimension, as_delta(delta)),
        delta,
        inputs,
        "For any labels: the bound holds for all concepts of the class at once.",
        VAPNIK,
    )
