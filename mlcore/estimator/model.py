"""Estimator protocol: parameters, fitted state, tags, pickling, and what scikit-learn expects.

scikit-learn is never imported here except inside calls that scikit-learn itself makes, yet models
work in its pipelines, searches and ensembles.
"""

import copy
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse as sp

import mlcore
from mlcore.checks import as_samples
from mlcore.checks.arrays import check_column_names, column_names
from mlcore.checks.errors import (
    ConvergenceWarning,
    DataConversionWarning,
    NotFittedError,
    peer_class,
    warn,
)
from mlcore.estimator.mixins import Classifier, Clusterer, Regressor, Transformer

__all__ = [
    "Classifier",
    "Clusterer",
    "ConvergenceWarning",
    "DataConversionWarning",
    "Model",
    "NotFittedError",
    "Regressor",
    "Transformer",
    "warn",
]

_BY_POSITION = inspect.Parameter.POSITIONAL_ONLY
_UNCHANGED = "$UNCHANGED$"  # scikit-learn's default: the request stays as it is
_METADATA = (
    "sample_weight",
    "offset",
    "classes",
    "groups",
)  # that scikit-learn may pass to these methods
_ROUTED = (
    "fit", "partial_fit", "score", "predict", "predict_proba", "predict_log_proba",
    "decision_function", "transform",
)  # fmt: skip
_fitted_name = re.compile(r"(?!__).*_", re.DOTALL).fullmatch
_OUTLIVE_FIT = ("_requests", "_sklearn_output_config", "_skl_callbacks")


class Model:
    """Base of all models.

    `__init__` of a model takes keyword arguments only and stores each, untouched, under its own
    name. `fit` checks, computes, and hands all results at once to `_set_fitted`, so that a fit
    which fails or is interrupted leaves the model as it was.
    """

    _kind: ClassVar[str | None] = None  # scikit-learn's estimator type
    _tags: ClassVar[dict[str, Any]] = {}  # dotted name of a scikit-learn tag -> value
    _no_blocks: ClassVar[str] = "its fit is no sum over rows"  # or another reason
    # What to do about parameters that scikit-learn's class has, or had, and this one has not.
    _instead: ClassVar[dict[str, str]] = {
        "n_jobs": "drop it: threads are as many as OMP_NUM_THREADS or threadpoolctl say",
    }

    # Fitted attributes are declared, here and in each model, for type checkers and editors, and in
    # `_stored` for files: `mlcore.estimator.persistence.declared`.
    n_features_in_: int
    feature_names_in_: np.ndarray
    _stored: ClassVar[dict[str, Any]] = {"n_features_in_": "size f", "feature_names_in_": "names f"}
    _older: ClassVar[dict[str, Any]] = {}  # what 0.2 kept in its place: `_from_older_state`

    # Methods of each class whose method takes metadata, made by `__init_subclass__`.
    set_fit_request: Callable[..., Self]
    set_partial_fit_request: Callable[..., Self]
    set_predict_request: Callable[..., Self]
    set_score_request: Callable[..., Self]

    # ---- parameters

    def __new__(cls, *_: Any, **params: Any) -> Self:
        for name in params:
            instead = cls._instead_of(name)
            if instead is not None and name not in cls._defaults():
                raise TypeError(
                    f"{cls.__name__} got an unexpected keyword argument {name!r}: {instead}."
                )
        return super().__new__(cls)

    # The signature shown for a model without `__init__`.
    __new__.__signature__ = inspect.Signature([inspect.Parameter("cls", _BY_POSITION)])

    @classmethod
    @cache  # by class: reading a signature takes a tenth of a millisecond
    def _defaults(cls) -> dict[str, Any]:
        if cls.__init__ is object.__init__:
            return {}
        parameters = inspect.signature(cls.__init__).parameters
        return {name: parameters[name].default for name in sorted(parameters) if name != "self"}

    @classmethod
    @lru_cache(1024)  # a constructor asks for each of its arguments
    def _instead_of(cls, name: str) -> str | None:
        """Return the advice for a parameter of scikit-learn, None if there is none."""
        tables = [vars(base).get("_instead", {}) for base in cls.__mro__]
        return next((table[name] for table in tables if name in table), None)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep`, nested models' too, as a__b.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        params : dict
            Values by name.
        """
        params = {}
        for name in self._defaults():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params.update((f"{name}__{inner}", v) for inner, v in value.get_params().items())
            params[name] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, a__b for parameter b of model a; on error, set none.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        self
            This model.

        Raises
        ------
        ValueError
            If a name is unknown; the valid ones are listed.
        """
        own, nested, valid = {}, {}, self._defaults()
        for name, value in params.items():
            head, inside, tail = name.partition("__")
            if head not in valid:
                instead = self._instead_of(head)
                raise ValueError(
                    f"Invalid parameter {head!r} for estimator {self}"
                    f"{'' if instead is None else f': {instead}'}. "
                    f"Valid parameters are: {list(valid)!r}."
                )
            if inside:
                nested.setdefault(head, {})[tail] = value
            else:
                own[name] = value
        for head, inner in nested.items():
            target = own.get(head, getattr(self, head))
            if not hasattr(target, "set_params"):
                raise ValueError(
                    f"Invalid parameter {head}__{next(iter(inner))!s} for estimator {self}: "
                    f"{head} is {target!r}, which has no parameters."
                )
            target.set_params(**inner)
        for name, value in own.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = []
        for name, default in self._defaults().items():
            value = getattr(self, name, default)
            if value is not default and repr(value) != repr(default):
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    # ---- fitted state

    def _set_fitted(self, X_original: Any, **attributes: Any) -> None:
        """Replace the whole fitted state; `fit` changes nothing else and ends with this call.

        `X_original` is X as the user passed it, for its shape and column names.
        """
        wrong = [name for name in attributes if not name.endswith("_")]
        if wrong:
            raise ValueError(f"fitted attributes end in an underscore, unlike {wrong}")
        fitted = {"n_features_in_": _n_columns(X_original)}
        names = None if type(X_original) is np.ndarray else column_names(X_original)
        if names is not None:
            fitted["feature_names_in_"] = names
        self._update_state(fitted | attributes, forget=filter(_fitted_name, vars(self)))

    def _update_state(self, changed: dict[str, Any], forget: Iterable[str] = ()) -> None:
        """Change some attributes and delete others by one assignment.

        A signal handler sees the old state or the new one, never a mixture of both.
        """
        state = vars(self).copy()
        for name in list(forget):
            del state[name]
        self.__dict__ = state | changed

    def _check_fitted(self) -> None:
        """Raise NotFittedError before the first fit."""
        # Fitted attributes come after the parameters.
        if not any(map(_fitted_name, reversed(vars(self)))):
            raise peer_class("NotFittedError")(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )

    def _check_X(
        self,
        X: Any,
        *,
        reset: bool,
        accept_sparse: bool | None = None,
        like: Any = None,
        min_samples: int = 1,
        check_finite: bool = True,
    ) -> Any:
        """Return `X` checked by `checks.as_samples`, in `fit` (reset) or a call after it.

        Without `check_finite` the caller finds NaN and infinity in dense input itself.
        """
        owner = type(self).__name__
        if accept_sparse is None:
            accept_sparse = self._tags.get("input_tags.sparse", False)
        if not reset:
            self._check_fitted()
        # Before the values: unknown names may come as columns of NaN. A mixture is refused.
        names = None if type(X) is np.ndarray else column_names(X)
        if not reset:
            check_column_names(names, getattr(self, "feature_names_in_", None), owner)
        options = {"accept_sparse": accept_sparse, "like": like, "min_samples": min_samples}
        if not check_finite:
            options["check_finite"] = False
        checked = self._as_samples(X, owner=owner, **options)
        if not reset and checked.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {checked.shape[1]} features, but {owner} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return checked

    def _as_samples(self, X, **options):
        if sp.issparse(X):  # callers look for NaN in dense input only
            options.pop("check_finite", None)
        return as_samples(X, **options)

    def _from_older_state(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters and attributes of a pickle or file as this version has them.

        The table `_older` names what older versions had: ``"_units_": "power"`` renames,
        ``"_solution_": (Variances, "values", "noise")`` gathers, ``"random_state": None`` drops a
        parameter. A word has "_" before it in the state, and often behind. A class with another
        rule overrides this, and may change ``self.__class__``. The values are unchecked, of a file
        that may be crafted: move them only.
        """
        for name, older in self._older.items():
            if older is None:
                state.pop(name, None)
            elif name not in state:
                make, *words = (None, older) if isinstance(older, str) else older
                values = [_loose(word, state) for word in words]
                if values[0] is not None:
                    state[name] = values[0] if make is None else make(*values)
        asked = state.get("_requests", {})  # 0.2 knew of sample_weight alone
        if not all(isinstance(aliases, dict) for aliases in asked.values()):
            state["_requests"] = {method: {"sample_weight": a} for method, a in asked.items()}
        if type(state.get("_run_")) is dict:  # that of a checkpoint of 0.2, which refuses it
            state["_checkpoint"] = state.pop("_run_")
        return state

    def _take_state(self, state: dict[str, Any]) -> None:
        """Set what a pickle or file has; parameters that it does not know have their defaults."""
        state = self._from_older_state(state)
        absent = {n: default for n, default in self._defaults().items() if n not in state}
        later = {n: d for n, d in absent.items() if d is not inspect.Parameter.empty}
        self.__dict__.update(later | state)

    def _check_loaded(self) -> None:
        """Raise ValueError if what a file had, of the declared kinds and sizes, is inconsistent."""

    # ---- pickling

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_mlcore_version": mlcore.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        written = state.pop("_mlcore_version", None)
        if written is not None and _release(written) > _release(mlcore.__version__):
            raise ValueError(
                f"this {type(self).__name__} was pickled by mlcore {written}, which is newer than "
                f"the mlcore {mlcore.__version__} installed here: install mlcore>={written}."
            )
        self._take_state(state)

    # ---- scikit-learn: tags, routing, cloning

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import (
            ClassifierTags,
            InputTags,
            RegressorTags,
            Tags,
            TargetTags,
            TransformerTags,
        )

        kind = self._kind
        tags = Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=kind in ("classifier", "regressor")),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            input_tags=InputTags(),
        )
        for dotted, value in self._tags.items():
            *path, last = dotted.split(".")
            part = tags
            for name in path:
                part = getattr(part, name)
            setattr(part, last, value)
        return tags

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for method in _ROUTED:
            names = _metadata_of(cls, method)
            if names:
                setattr(cls, f"set_{method}_request", _request_method(cls, method, names))

    def get_metadata_routing(self) -> Any:
        """Return which metadata each method takes and has asked for, for scikit-learn.

        Returns
        -------
        request : MetadataRequest
            scikit-learn's own object.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        asked = getattr(self, "_requests", {})
        for method in _ROUTED:
            for name in _metadata_of(type(self), method):
                alias = asked.get(method, {}).get(name)
                getattr(request, method).add_request(param=name, alias=alias)
        return request

    def __sklearn_clone__(self) -> Any:
        from sklearn.base import clone

        parameters = self.get_params(deep=False).items()
        new = type(self)(**{name: clone(value, safe=False) for name, value in parameters})
        for name in _OUTLIVE_FIT:
            if name in vars(self):
                setattr(new, name, copy.copy(vars(self)[name]))
        return new

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        if "sklearn" in sys.modules:
            from sklearn.utils import estimator_html_repr

            shown["text/html"] = estimator_html_repr(self)
        return shown


def _metadata_of(kind, method):
    """Return the names of the metadata that a method of a class takes."""
    function = getattr(kind, method, None)
    if function is None:
        return ()
    parameters = inspect.signature(function).parameters
    return tuple(name for name in _METADATA if name in parameters)


def _request_method(kind, method, names):
    """Return ``set_{method}_request`` of a class, whose method takes metadata of these names."""

    # The method itself, which keeps the requests of earlier calls.
    def request(self, **aliases):
        taken = _metadata_of(type(self), method)  # a subclass may take less
        unknown = sorted(set(aliases) - set(taken))
        if unknown:
            raise TypeError(
                f"{type(self).__name__}.{method} takes no {unknown[0]} to ask for, but "
                f"{', '.join(taken) or 'no metadata'}."
            )
        asked = dict(getattr(self, "_requests", {}))
        changed = {name: alias for name, alias in aliases.items() if alias != _UNCHANGED}
        self._requests = {**asked, method: {**asked.get(method, {}), **changed}}
        return self

    # Its name and docstring, as if it were written in the class.
    lines = "\n".join(f"        {name} : bool, str or None" for name in names)
    request.__name__ = f"set_{method}_request"
    request.__qualname__ = f"{kind.__qualname__}.{request.__name__}"
    request.__module__ = kind.__module__
    request.__doc__ = f"""Ask scikit-learn's metadata routing to pass metadata to `{method}`.

        Parameters
        ----------
{lines}
            True to pass it, False not to, or another name of it, as in scikit-learn.

        Returns
        -------
        self
            This model.
        """
    # scikit-learn and editors read the signature for the metadata that can be asked for.
    only, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    request.__signature__ = inspect.Signature(
        [
            inspect.Parameter("self", only),
            *(
                inspect.Parameter(name, keyword, default=_UNCHANGED, annotation=bool | str | None)
                for name in names
            ),
        ],
        return_annotation=Self,
    )
    return request


def _n_columns(X):
    """Return the number of columns of X, 1 for a list of strings or of other objects."""
    shape = getattr(X, "shape", None)
    if shape is None:
        # An array of strings would be as wide as the longest.
        if isinstance(X, list | tuple) and isinstance(X[0], str | bytes):
            return 1
        try:
            shape = np.asarray(X).shape
        except ValueError:  # of different lengths
            return 1
    return int(shape[1]) if len(shape) > 1 else 1


def _release(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.match(r"\d+(?:\.\d+)*", version)[0].split(".")))


def _loose(word, state):
    """Take an attribute of an older state by its bare word; one that stays ends in "_"."""
    if word.endswith("_"):
        return state.get(word)
    return state.pop(f"_{word}_", state.pop(f"_{word}", None))
