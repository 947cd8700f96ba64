"""Advice for parameters of scikit-learn that models here do not have.

The error of a constructor called with one gives it; the page "Coming from scikit-learn" lists them.
"""

from functools import lru_cache

_THREADS = "drop it: threads are as many as OMP_NUM_THREADS or threadpoolctl say"
_SEARCH = "drop it: the machine is an SVC, and the best is fitted again to all samples"

# By class or base class; parameters of older versions too.
INSTEAD: dict[str, dict[str, str]] = {
    "Model": {"n_jobs": _THREADS},
    "KernelMachine": {
        "shrinking": "drop it: it changes how LIBSVM gets to the solution, not the solution",
    },
    "OneClassSVM": {"random_state": "drop it: nothing is drawn at random"},
    "SVCCV": {
        "param_grid": "use Cs=[...] and gammas=[...]",
        "estimator": _SEARCH,
        "refit": _SEARCH,
        "probability": "fit SVC(C=search.C_, gamma=search.gamma_, probability=True)",
        "random_state": "drop it: nothing is drawn at random; give shuffled folds as cv",
    },
    "CenterModel": {
        "copy_x": "drop it: X is never changed",
        "algorithm": "drop it: bounds skip work where that pays, and labels are as without them",
        "precompute_distances": "drop it: distances are computed block by block",
    },
    "MiniBatchKMeans": {
        "compute_labels": "drop it: fit always sets labels_; partial_fit never does",
        "init_size": "drop it: seeds are drawn from all samples",
        "reassignment_ratio": "drop it: a centre that stays without samples begins anew",
    },
    "AgglomerativeClustering": {
        "affinity": "use metric=",
        "compute_full_tree": "drop it: linkage_matrix_ always holds all merges",
        "memory": "drop it: scipy.cluster.hierarchy.fcluster cuts linkage_matrix_ again",
        "pooling_func": "use linkage=",
    },
    "SpectralClustering": {
        "eigen_tol": "use tol=",
    },
    "CCA": {
        "max_iter": "drop it: all pairs are computed at once, without iteration",
        "tol": "drop it: all pairs are computed at once, without iteration",
        "copy": "drop it: X and y are never changed",
    },
    "LinearDiscriminantAnalysis": {
        "covariance_estimator": 'use shrinkage="auto", "oas" or a number',
        "store_covariance": "drop it: covariance_ is always there",
    },
    "QuadraticDiscriminantAnalysis": {
        "covariance_estimator": 'use shrinkage="auto", "oas" or a number',
        "solver": "drop it: there is one way, which takes reg_param, pooling and shrinkage",
        "store_covariance": "drop it: covariances_ is always there",
        "tol": "drop it: a covariance is of full rank if rounding cannot hide that it is not",
    },
    "PCA": {
        "copy": "drop it: X is never changed",
        "n_oversamples": "use tol=: Lanczos goes on until its residuals are that small",
    },
    "KernelPCA": {
        "kernel_params": "give a function of your own with its parameters bound",
        "iterated_power": "use tol=: Lanczos goes on until its residuals are that small",
        "copy_X": "drop it: X is never changed, and X_fit_ is a copy",
    },
    "Discretizer": {
        "encode": "drop it: codes are whole numbers, which sklearn's OneHotEncoder takes further",
        "quantile_method": "drop it: edges are the averaged_inverted_cdf",
        "dtype": "drop it: codes are float64, as NaN is one of them",
        "subsample": "drop it: all rows count",
        "random_state": "drop it: nothing is drawn at random",
    },
    "CategoricalNB": {
        "min_categories": 'use unseen="reserve"',
    },
    "GaussianNB": {
        "priors": "use class_prior=",
    },
    "NaiveBayes": {
        "force_alpha": "drop it: alpha is taken as it is, 0 too",
    },
    "LinearRegression": {
        "normalize": "drop it: coefficients do not depend on the units of X, but with alpha > 0",
        "copy_X": "drop it: X is never changed",
        "tol": "drop it: the solution is exact to rounding, also of sparse data",
        "positive": "drop it: coefficients of any sign; scipy.optimize.nnls has those at least 0",
    },
    "LogisticRegression": {
        "dual": "drop it: every solver shows its duality gap, in duality_gap_",
        "intercept_scaling": "drop it: intercepts are not penalised",
        "multi_class": "drop it: several classes are one softmax",
        "penalty": "use l1_ratio=0 for l2, 1 for l1, a share for elasticnet, C=numpy.inf for None",
    },
    "Perceptron": {
        "alpha": "drop it: there is no penalty",
        "class_weight": "drop it: rounds count mistakes, which have no weights",
        "early_stopping": "use tol=",
        "eta0": "drop it: a factor of all weights changes no prediction",
        "l1_ratio": "drop it: there is no penalty",
        "n_iter_no_change": "drop it: it is 5",
        "penalty": "drop it: the bound on the mistakes holds without one",
        "validation_fraction": "use tol=",
        "verbose": "read mistake_trace_",
        "warm_start": "use partial_fit",
    },
    "RidgeModel": {
        "kernel_params": "give a function of your own with its parameters bound",
    },
    "KernelRidgeCV": {
        "alpha": "use alphas=[...]",
        "gamma": "use gammas=[...]",
        "scoring": 'use criterion="loo", "gcv" or "likelihood"',
        "cv": "drop it: leave-one-out errors are exact, and cost no refits",
        "gcv_mode": "drop it: eigenvectors or factors are taken, as is quicker",
        "store_cv_results": "drop it: criterion_values_ holds them always",
        "alpha_per_target": "drop it: each target always has its own alpha",
        "param_grid": "use alphas=[...] and gammas=[...]",
    },
    "TfidfTransformer": {
        "smooth_idf": 'use idf="smooth", or "plain" for False',
        "sublinear_tf": "use sublinear=",
        "use_idf": "use idf=None for False",
    },
    "WordCounts": {
        "analyzer": "give lists of words as texts: they are counted as they are",
        "binary": "use (counts > 0) of the result",
        "decode_error": "give str: bytes.decode(errors=...)",
        "dtype": "drop it: counts are float64",
        "encoding": "give str: bytes.decode(encoding)",
        "input": "give the texts themselves",
        "max_df": "choose columns by document_frequency_",
        "max_features": "choose columns by document_frequency_, or use min_df=",
        "ngram_range": "use ngrams=",
        "preprocessor": "give texts that have been prepared",
        "stop_words": "give lists of words without them as texts; idf weighs common words down",
        "strip_accents": "give texts without them, by unicodedata.normalize",
        "token_pattern": "use pattern=",
        "tokenizer": "give lists of words as texts: they are counted as they are",
        "vocabulary": "choose columns by vocabulary_",
    },
    "Mixture": {
        "verbose_interval": "drop it: verbose=1 prints a line a second, verbose=2 every step",
    },
}

# Classes of scikit-learn by family.
CLASSES: dict[str, dict[str, str]] = {
    "linear_model": {
        "LogisticRegressionCV": "use LogisticRegression in scikit-learn's GridSearchCV",
        "Ridge": "use LinearRegression(alpha=...)",
        "RidgeCV": "use LinearRegression().fit(X, y).path(alphas), of which the least gcv is best",
    },
}


@lru_cache(1024)  # a constructor asks for each of its arguments
def instead_of(kind: type, name: str) -> str | None:
    """Return the advice for a parameter of scikit-learn, None if there is none.

    Parameters
    ----------
    kind : type
        The class of the model.
    name : str
        The parameter that the class does not have.
    """
    for base in kind.__mro__:
        text = INSTEAD.get(base.__name__, {}).get(name)
        if text is not None:
            return text
    return None


def refuse_class(family: str, name: str) -> None:
    """Raise the error for a name that a family does not have, with advice for scikit-learn's.

    Parameters
    ----------
    family : str
        Name of the family's module, as mlcore.linear_model.
    name : str
        The missing name.

    Raises
    ------
    ImportError
        With advice: `from ... import` shows the text of no other error.
    AttributeError
        Without.
    """
    advice = CLASSES.get(family.rpartition(".")[2], {}).get(name)
    if advice is not None:
        raise ImportError(f"{family} has no {name}: {advice}.", name=name)
    raise AttributeError(f"module {family!r} has no attribute {name!r}")
