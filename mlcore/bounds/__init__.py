"""Bounds of learning theory as numbers: each a theorem with its assumptions, rounded to be safe."""

from mlcore.bounds.bernoulli_kl import kl_bernoulli, kl_inverse_lower, kl_inverse_upper, phi
from mlcore.bounds.binomial_tail import binomial_tail, log_binomial_tail
from mlcore.bounds.compression import sample_compression_bound
from mlcore.bounds.divergences import categorical_kl, gaussian_kl
from mlcore.bounds.explicit_class import (
    dichotomies,
    dual_vc_dimension,
    growth_function,
    shatters,
    vc_dimension,
)
from mlcore.bounds.held_out import (
    bernoulli_confidence_sequence,
    binomial_tail_inversion,
    binomial_tail_inversion_lower,
    clopper_pearson,
    hoeffding_bentkus_bound,
    test_set_sample_size,
)
from mlcore.bounds.leave_one_out import (
    jaakkola_haussler_loo_bound,
    radius_margin_loo_bound,
    support_vector_loo_bound,
)
from mlcore.bounds.margin import (
    boosting_margin_bound,
    fat_shattering_margin_bound,
    margin_vc_dimension,
    pac_bayes_margin_bound,
    rademacher_margin_bound,
)
from mlcore.bounds.mistake_bounds import (
    halving_mistake_bound,
    perceptron_mistake_bound,
    weighted_majority_mistake_bound,
    winnow_mistake_bound,
)
from mlcore.bounds.mistake_games import littlestone_dimension, worst_case_mistakes
from mlcore.bounds.online_to_batch import online_to_batch_bound, online_to_batch_expected
from mlcore.bounds.pac_bayes import (
    maurer_xi,
    pac_bayes_catoni_bound,
    pac_bayes_kl_bound,
    pac_bayes_lambda_bound,
    pac_bayes_mcallester_bound,
    pac_bayes_quadratic_bound,
)
from mlcore.bounds.predictors import Halving, StandardOptimalAlgorithm, WeightedMajority
from mlcore.bounds.rademacher import (
    empirical_rademacher,
    kernel_rademacher_bound,
    linear_l1_rademacher_bound,
    massart_bound,
    rademacher_error_bound,
    stability_bound,
)
from mlcore.bounds.regret import (
    doubling_trick_regret,
    hedge_regret_bound,
    littlestone_regret_bound,
    ogd_regret_bound,
    projected_ogd_regret_bound,
)
from mlcore.bounds.teaching import teaching_dimension

__all__ = [
    "Halving",
    "StandardOptimalAlgorithm",
    "WeightedMajority",
    "bernoulli_confidence_sequence",
    "binomial_tail",
    "binomial_tail_inversion",
    "binomial_tail_inversion_lower",
    "boosting_margin_bound",
    "categorical_kl",
    "clopper_pearson",
    "dichotomies",
    "doubling_trick_regret",
    "dual_vc_dimension",
    "empirical_rademacher",
    "fat_shattering_margin_bound",
    "gaussian_kl",
    "growth_function",
    "halving_mistake_bound",
    "hedge_regret_bound",
    "hoeffding_bentkus_bound",
    "jaakkola_haussler_loo_bound",
    "kernel_rademacher_bound",
    "kl_bernoulli",
    "kl_inverse_lower",
    "kl_inverse_upper",
    "linear_l1_rademacher_bound",
    "littlestone_dimension",
    "littlestone_regret_bound",
    "log_binomial_tail",
    "margin_vc_dimension",
    "massart_bound",
    "maurer_xi",
    "ogd_regret_bound",
    "online_to_batch_bound",
    "online_to_batch_expected",
    "pac_bayes_catoni_bound",
    "pac_bayes_kl_bound",
    "pac_bayes_lambda_bound",
    "pac_bayes_margin_bound",
    "pac_bayes_mcallester_bound",
    "pac_bayes_quadratic_bound",
    "perceptron_mistake_bound",
    "phi",
    "projected_ogd_regret_bound",
    "rademacher_error_bound",
    "rademacher_margin_bound",
    "radius_margin_loo_bound",
    "sample_compression_bound",
    "shatters",
    "stability_bound",
    "support_vector_loo_bound",
    "teaching_dimension",
    "test_set_sample_size",
    "vc_dimension",
    "weighted_majority_mistake_bound",
    "winnow_mistake_bound",
    "worst_case_mistakes",
]
