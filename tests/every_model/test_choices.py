"""The words that a parameter takes are a `Literal` type, as in its docstring and its check."""

import inspect
import re
from functools import cache
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import mlcore
from contract import MODELS, case

PUBLIC = {
    name: getattr(module, name)
    for module in (getattr(mlcore, family) for family in mlcore.__all__)
    if inspect.ismodule(module)
    for name in module.__all__
}
METHODS = {
    f"{name}.{word}": method
    for name, kind in PUBLIC.items()
    if inspect.isclass(kind)
    for word, method in inspect.getmembers(kind, inspect.isroutine)
    if not re.match("_|set_.*_request", word)  # the latter are scikit-learn's
}
CALLED = {name: f for name, f in (PUBLIC | METHODS).items() if inspect.isroutine(f)}
CALLED |= {name: kind for name, kind in PUBLIC.items() if inspect.isclass(kind)}
FREE = {
    **{
        (f"{kind}CV", "scoring"): "any score"
        for kind in ("ElasticNet", "Lasso", "LogisticRegression")
    },
    ("predict_blocks", "method"): "the name of any method",
    ("search_interval", "metric"): "the name of any score",
}
WORD = "no such choice"


def literals(hint):
    """The values of all Literal types in a type."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {value for part in get_args(hint) for value in literals(part)}


@cache
def hints(function):
    if inspect.isclass(function):  # named tuples are made by __new__
        function = function.__new__ if issubclass(function, tuple) else function.__init__
    return get_type_hints(function)


@cache
def entries(function):
    """Type and description of each documented parameter."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(^\w[\w ]*\n-+$|\Z)", text, re.M | re.S)
    entry = r"^(\w[\w, ]*) : (.*)\n((?:(?:    .*)?\n)*)"
    found = re.findall(entry, section[1] + "\n", re.M) if section else ()
    return {name: rest for names, *rest in found for name in names.split(", ")}


DOCUMENTED = [
    (name, word)
    for name, function in CALLED.items()
    for word, (kind, _) in entries(function).items()
    if '"' in kind.partition("default=")[0]
]
BY_DEFAULT = [
    (name, word)
    for name, function in CALLED.items()
    if inspect.isfunction(function) or inspect.isclass(function)
    for word, parameter in inspect.signature(function).parameters.items()
    if isinstance(parameter.default, str) and (name, word) not in FREE and word != "scoring"
]
OF_MODELS = [
    (name, word)
    for name, entry in MODELS.items()
    for word, hint in hints(type(entry.make())).items()
    if any(isinstance(value, str) for value in literals(hint))
]


def test_documented_choices_are_a_literal_type():
    """What the first line leaves out, such as a peer's names, stands below it."""
    for name, word in DOCUMENTED:
        kind, text = entries(CALLED[name])[word]
        documented = set(re.findall('"(.*?)"', kind.partition("default=")[0]))
        typed = {value for value in literals(hints(CALLED[name])[word]) if isinstance(value, str)}
        assert documented <= typed, (name, word)
        further = set(re.findall('"(.*?)"', " ".join(text.split())))
        assert typed - documented <= further, (name, word)


def test_a_word_by_default_is_one_of_a_literal_type():
    for name, word in BY_DEFAULT:
        default = inspect.signature(CALLED[name]).parameters[word].default
        assert default in literals(hints(CALLED[name])[word]), (name, word)


def test_checks_take_the_choices_of_the_literal_type():
    for name, word in OF_MODELS:
        entry = MODELS[name]
        several = isinstance(entry.make().get_params()[word], tuple | list)
        with case(name, word), pytest.raises(ValueError, match=word) as caught:
            entry.fit(**{word: (WORD, WORD) if several else WORD})
        allowed = str(caught.value).rpartition("must be")[2]
        typed = {v for v in literals(hints(type(entry.make()))[word]) if isinstance(v, str)}
        assert set(re.findall("'(.*?)'", allowed)) == typed, (name, word)
