"""A model keeps few private attributes: what later calls need is one object, not its pieces."""

import ast
import re
from pathlib import Path

import mlcore

PACKAGE = Path(mlcore.__file__).parent
NAME = re.compile(r"_[a-z][a-z_]*[a-z]_")
WORD = re.compile(rf"\b{NAME.pattern}\b")
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
OTHERS = {"_repr_html_", "_repr_mimebundle_", "_test_"}  # of notebooks; in keys of cv_results_


def private_names(tree):
    """Names of private fitted attributes: attributes, keywords, variables and strings."""
    found, pending = set(), [tree]
    while pending:
        node = pending.pop()
        pending += ast.iter_child_nodes(node)
        texts = [getattr(node, field, None) for field in ("attr", "arg", "id", "value", "name")]
        found |= {text for text in texts if isinstance(text, str) and NAME.fullmatch(text)}
    return found - OTHERS


def test_models_keep_private_attributes_of_few_names():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent.name == "acceleration":  # where they are scikit-learn's
            continue
        text = path.read_text(encoding="utf-8")
        if set(WORD.findall(text)) <= WORDS.keys():
            continue  # sooner than to parse it
        for name in private_names(ast.parse(text)):
            found.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    assert not {name: paths for name, paths in found.items() if name not in WORDS}
    assert len(WORDS) < 20


def test_a_private_name_is_found_wherever_it_stands():
    sources = {
        "model._pairs_": {"_pairs_"},
        "fit(_pairs_=3)": {"_pairs_"},
        "class A:\n    _pairs_: int": {"_pairs_"},
        "state['_pairs_']": {"_pairs_"},
        "_stored = {'_pairs_': 'float'}": {"_pairs_"},
        "pairs_ = model.pairs_, model._pairs, model.__pairs__": set(),
    }
    for source, expected in sources.items():
        assert set(WORD.findall(source)) >= expected
        assert private_names(ast.parse(source)) == expected
