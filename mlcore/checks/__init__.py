"""Validation of user input, which returns finite, contiguous arrays of a known type.

An error names the argument, what was found and what is allowed, and comes before any work.
Nothing here changes its input, or copies it without need.
"""

from mlcore.checks.arrays import check_column_names, column_names
from mlcore.checks.objects import as_objects
from mlcore.checks.parameters import (
    as_bool,
    as_choice,
    as_integer,
    as_random_state,
    as_real,
    require_random_state,
)
from mlcore.checks.samples import as_samples
from mlcore.checks.targets import (
    as_class_weights,
    as_labels,
    as_targets,
    as_weights,
    declared_classes,
    label_type,
    require_enough,
    scaled_weights,
)

__all__ = [
    "as_bool",
    "as_choice",
    "as_class_weights",
    "as_integer",
    "as_labels",
    "as_objects",
    "as_random_state",
    "as_real",
    "as_samples",
    "as_targets",
    "as_weights",
    "check_column_names",
    "column_names",
    "declared_classes",
    "label_type",
    "require_enough",
    "require_random_state",
    "scaled_weights",
]
