"""A model keeps few private attributes: what later calls need is one object, not its pieces."""

import ast
import re
from pathlib import Path

import mlcore

PACKAGE = Path(mlcore.__file__).parent
NAME = re.compile(r"_[a-z][a-z_]*[a-z]_")
WORDS = {
    "_sums_": "sums over the rows so far",
    "_run_": "state of an iterative fit between its passes",
    "_solution_": "what a fit has computed, and later calls need",
    "_units_": "origin and units of the data",
    "_system_": "a linear system or operator",
    "_view_": "an encoded or centred view of the training rows",
    "_start_": "what a fit begins with",
    "_tables_": "tables of values by their codes",
    "_warm_": "where the next fit may begin",
}
OF_NOTEBOOKS = {"_repr_html_", "_repr_mimebundle_"}
OLDER = "_from_older_state"  # it names what 0.2 kept
# Delete a name when its family keeps an object instead.
NOT_YET = {
    "_alpha_",
    "_batches_",
    "_center_",
    "_columns_",
    "_corrections_",
    "_course_",
    "_drawn_",
    "_dual_coef_",
    "_end_",
    "_failures_",
    "_gradient_",
    "_gradients_",
    "_has_offset_",
    "_intercept_",
    "_intercepted_",
    "_kept_",
    "_lag_",
    "_line_",
    "_loadings_",
    "_n_seen_",
    "_noise_",
    "_offset_lag_",
    "_offsets_",
    "_pairs_",
    "_patterns_",
    "_power_",
    "_powers_",
    "_rank_",
    "_roots_",
    "_rotations_",
    "_rounding_",
    "_row_units_",
    "_several_",
    "_shift_",
    "_span_units_",
    "_spikes_",
    "_squares_",
    "_target_mean_",
    "_target_origin_",
    "_target_powers_",
    "_theta_",
    "_ties_",
    "_triangle_",
    "_unit_",
    "_values_",
    "_weight_",
    "_weight_power_",
    "_weights_",
}


def private_names(tree):
    """Names of private fitted attributes: attributes, keywords, variables and strings."""
    found, pending = set(), [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef) and node.name == OLDER:
            continue
        pending += ast.iter_child_nodes(node)
        texts = [getattr(node, field, None) for field in ("attr", "arg", "id", "value", "name")]
        found |= {text for text in texts if isinstance(text, str) and NAME.fullmatch(text)}
    return found - OF_NOTEBOOKS


def test_models_keep_private_attributes_of_few_names():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in private_names(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    assert not {name: paths for name, paths in found.items() if name not in WORDS.keys() | NOT_YET}
    assert len(WORDS) < 20


def test_a_private_name_is_found_wherever_it_stands():
    sources = {
        "model._pairs_": {"_pairs_"},
        "fit(_pairs_=3)": {"_pairs_"},
        "class A:\n    _pairs_: int": {"_pairs_"},
        "state['_pairs_']": {"_pairs_"},
        "_stored = {'_pairs_': 'float'}": {"_pairs_"},
        "def _from_older_state(self, state):\n    state['_pairs_']": set(),
        "pairs_ = model.pairs_, model._pairs, model.__pairs__": set(),
    }
    for source, expected in sources.items():
        assert private_names(ast.parse(source)) == expected
