"""Bounds of learning theory as numbers: each a theorem with its assumptions, rounded to be safe."""

from mlcore.bounds.bernoulli_kl import kl_bernoulli, kl_inverse_lower, kl_inverse_upper, phi
from mlcore.bounds.binomial_tail import binomial_tail, log_binomial_tail
from mlcore.bounds.held_out import (
    bernoulli_confidence_sequence,
    binomial_tail_inversion,
    binomial_tail_inversion_lower,
    clopper_pearson,
    hoeffding_bentkus_bound,
    test_set_sample_size,
)

__all__ = [
    "bernoulli_confidence_sequence",
    "binomial_tail",
    "binomial_tail_inversion",
    "binomial_tail_inversion_lower",
    "clopper_pearson",
    "hoeffding_bentkus_bound",
    "kl_bernoulli",
    "kl_inverse_lower",
    "kl_inverse_upper",
    "log_binomial_tail",
    "phi",
    "test_set_sample_size",
]
