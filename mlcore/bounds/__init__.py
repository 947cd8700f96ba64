"""Bounds of learning theory as numbers, each a theorem with its assumptions, rounded safely."""

from mlcore.bounds.certificates.budget import (
    Report,
    Statement,
    classification_statements,
    report,
)
from mlcore.bounds.certificates.certificate import Bound, Certificate
from mlcore.bounds.certificates.certify import certify
from mlcore.bounds.certificates.class_rates import ClassRates
from mlcore.bounds.certificates.comparison import (
    Comparison,
    LossComparison,
    compare_classifiers,
    compare_models,
    error_difference_interval,
    mcnemar_test,
)
from mlcore.bounds.certificates.metrics import MetricInterval
from mlcore.bounds.certificates.search_interval import search_interval
from mlcore.bounds.concentration.bernoulli_kl import (
    kl_bernoulli,
    kl_inverse_lower,
    kl_inverse_upper,
    phi,
)
from mlcore.bounds.concentration.bernstein import (
    bennett_delta,
    bernstein_delta,
    bernstein_epsilon,
    bernstein_sample_size,
    chernoff_delta,
    chernoff_deviation,
    empirical_bernstein_epsilon,
)
from mlcore.bounds.concentration.binomial_tail import binomial_tail, log_binomial_tail
from mlcore.bounds.concentration.concentration import (
    dkw_epsilon,
    hoeffding_delta,
    hoeffding_epsilon,
    hoeffding_sample_size,
    mcdiarmid_epsilon,
    union_bound,
)
from mlcore.bounds.concentration.divergences import categorical_kl, gaussian_kl
from mlcore.bounds.concept_tables.growth_function import dichotomies, growth_function, shatters
from mlcore.bounds.concept_tables.littlestone import littlestone_dimension, worst_case_mistakes
from mlcore.bounds.concept_tables.teaching import teaching_dimension
from mlcore.bounds.concept_tables.vc_dimension import dual_vc_dimension, vc_dimension
from mlcore.bounds.data_dependent.compression import sample_compression_bound
from mlcore.bounds.data_dependent.leave_one_out import (
    jaakkola_haussler_loo_bound,
    radius_margin_loo_bound,
    support_vector_loo_bound,
)
from mlcore.bounds.data_dependent.margin import (
    boosting_margin_bound,
    fat_shattering_margin_bound,
    margin_vc_dimension,
    pac_bayes_margin_bound,
    rademacher_margin_bound,
)
from mlcore.bounds.data_dependent.pac_bayes import (
    maurer_xi,
    pac_bayes_catoni_bound,
    pac_bayes_kl_bound,
    pac_bayes_lambda_bound,
    pac_bayes_mcallester_bound,
    pac_bayes_quadratic_bound,
)
from mlcore.bounds.data_dependent.rademacher import (
    empirical_rademacher,
    kernel_rademacher_bound,
    linear_l1_rademacher_bound,
    massart_bound,
    rademacher_error_bound,
    stability_bound,
)
from mlcore.bounds.finite_class.class_sizes import log_class_size
from mlcore.bounds.finite_class.finite_class import (
    conjunction_sample_size,
    finite_class_delta,
    finite_class_epsilon,
    finite_class_sample_size,
    occam_bound,
    rectangle_sample_size,
)
from mlcore.bounds.held_out import (
    bernoulli_confidence_sequence,
    binomial_tail_inversion,
    binomial_tail_inversion_lower,
    clopper_pearson,
    hoeffding_bentkus_bound,
    test_set_sample_size,
)
from mlcore.bounds.metrics.metric_intervals import (
    auc_interval,
    f1_interval,
    jaccard_interval,
    mean_loss_interval,
    quantile_interval,
    r2_interval,
)
from mlcore.bounds.online_learning.mistake_bounds import (
    halving_mistake_bound,
    perceptron_mistake_bound,
    weighted_majority_mistake_bound,
    winnow_mistake_bound,
)
from mlcore.bounds.online_learning.online_to_batch import (
    online_to_batch_bound,
    online_to_batch_expected,
)
from mlcore.bounds.online_learning.regret import (
    doubling_trick_regret,
    hedge_regret_bound,
    littlestone_regret_bound,
    ogd_regret_bound,
    projected_ogd_regret_bound,
)
from mlcore.bounds.sequential.risk_monitor import RiskMonitor, Watch, watch
from mlcore.bounds.vc.sauer import log_sauer_bound, sauer_bound
from mlcore.bounds.vc.vc import vc_deviation, vc_error_bound
from mlcore.bounds.vc.vc_catalogue import known_vc_dimension, vc_dimension_upper_bound
from mlcore.bounds.vc.vc_sample_sizes import (
    double_sampling_delta,
    vc_sample_size,
    vc_sample_size_lower,
)

__all__ = [
    "Bound",
    "Certificate",
    "ClassRates",
    "Comparison",
    "LossComparison",
    "MetricInterval",
    "Report",
    "RiskMonitor",
    "Statement",
    "Watch",
    "auc_interval",
    "bennett_delta",
    "bernoulli_confidence_sequence",
    "bernstein_delta",
    "bernstein_epsilon",
    "bernstein_sample_size",
    "binomial_tail",
    "binomial_tail_inversion",
    "binomial_tail_inversion_lower",
    "boosting_margin_bound",
    "categorical_kl",
    "certify",
    "chernoff_delta",
    "chernoff_deviation",
    "classification_statements",
    "clopper_pearson",
    "compare_classifiers",
    "compare_models",
    "conjunction_sample_size",
    "dichotomies",
    "dkw_epsilon",
    "double_sampling_delta",
    "doubling_trick_regret",
    "dual_vc_dimension",
    "empirical_bernstein_epsilon",
    "empirical_rademacher",
    "error_difference_interval",
    "f1_interval",
    "fat_shattering_margin_bound",
    "finite_class_delta",
    "finite_class_epsilon",
    "finite_class_sample_size",
    "gaussian_kl",
    "growth_function",
    "halving_mistake_bound",
    "hedge_regret_bound",
    "hoeffding_bentkus_bound",
    "hoeffding_delta",
    "hoeffding_epsilon",
    "hoeffding_sample_size",
    "jaakkola_haussler_loo_bound",
    "jaccard_interval",
    "kernel_rademacher_bound",
    "kl_bernoulli",
    "kl_inverse_lower",
    "kl_inverse_upper",
    "known_vc_dimension",
    "linear_l1_rademacher_bound",
    "littlestone_dimension",
    "littlestone_regret_bound",
    "log_binomial_tail",
    "log_class_size",
    "log_sauer_bound",
    "margin_vc_dimension",
    "massart_bound",
    "maurer_xi",
    "mcdiarmid_epsilon",
    "mcnemar_test",
    "mean_loss_interval",
    "occam_bound",
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
    "quantile_interval",
    "r2_interval",
    "rademacher_error_bound",
    "rademacher_margin_bound",
    "radius_margin_loo_bound",
    "rectangle_sample_size",
    "report",
    "sample_compression_bound",
    "sauer_bound",
    "search_interval",
    "shatters",
    "stability_bound",
    "support_vector_loo_bound",
    "teaching_dimension",
    "test_set_sample_size",
    "union_bound",
    "vc_deviation",
    "vc_dimension",
    "vc_dimension_upper_bound",
    "vc_error_bound",
    "vc_sample_size",
    "vc_sample_size_lower",
    "watch",
    "weighted_majority_mistake_bound",
    "winnow_mistake_bound",
    "worst_case_mistakes",
]


def __dir__() -> list[str]:
    return __all__
