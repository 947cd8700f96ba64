"""Counts of the words of texts."""

import itertools
import re
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse as sp

from mlcore.checks import as_bool, as_integer
from mlcore.estimator.mixins import Transformer
from mlcore.estimator.model import Model
from mlcore.kernels.structured.strings import require_list

_WORD = re.compile(r"\b\w\w+\b")


class Settings(NamedTuple):
    """Checked parameters: the pattern of a word, and how many make a sequence that is counted."""

    pattern: re.Pattern[str]
    lowercase: bool
    least: int
    most: int
    min_df: int


class WordCounts(Transformer, Model):
    r"""Counts how often each word, or sequence of words, occurs in texts.

    Parameters
    ----------
    pattern : str, optional
        Regular expression of a word; of its first group, if it has one. By default two or more
        letters, digits and underscores. Empty matches are not counted.
    lowercase : bool, default=True
        Take words in lower case.
    ngrams : (int, int), default=(1, 1)
        Shortest and longest sequences of words that are counted.
    min_df : int, default=1
        Number of texts, at least, in which a sequence must occur to be counted.

    Attributes
    ----------
    vocabulary_ : (n_words,) object
        The words or sequences that are counted, sorted; words of a sequence are joined by a space.
    document_frequency_ : (n_words,) int64
        Number of texts of the fit that have each.
    n_features_in_ : int

    See Also
    --------
    TfidfTransformer : weighs the counts.
    StringKernel : compares texts by all their substrings.

    Notes
    -----
    O(length of the texts) time. A text may be a list of words instead, which are taken as they are;
    `pattern` and `lowercase` then have no effect.

    Marks are no letters, so that the default pattern cuts words whose accents are characters of
    their own, and those of scripts that write vowels as marks, such as Devanagari. For the first,
    join them by ``unicodedata.normalize("NFC", text)``; for the second, take what stands between
    spaces and punctuation, as by ``pattern=r"[^\s.,;:!?()।]+"``.

    References
    ----------
    C. Manning, P. Raghavan, H. Schütze, *Introduction to Information Retrieval*, 2008, chapter 2.

    Examples
    --------
    >>> from mlcore.kernels import WordCounts
    >>> words = WordCounts(min_df=2).fit(["red fish, blue fish", "one fish", "the red one"])
    >>> words.vocabulary_.tolist()
    ['fish', 'one', 'red']
    >>> words.transform(["one fish, two fish"]).toarray()
    array([[2., 1., 0.]])
    """

    _tags: ClassVar[dict[str, Any]] = {
        "input_tags.string": True,
        "input_tags.two_d_array": False,
        "input_tags.one_d_array": True,
    }

    vocabulary_: np.ndarray
    document_frequency_: np.ndarray
    _stored = {"vocabulary_": "labels v", "document_frequency_": "int v"}

    _no_blocks = "it has nothing to fit: use its transform on each block"
    _instead = {
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
    }

    def __init__(
        self,
        *,
        pattern: str | None = None,
        lowercase: bool = True,
        ngrams: tuple[int, int] = (1, 1),
        min_df: int = 1,
    ) -> None:
        self.pattern = pattern
        self.lowercase = lowercase
        self.ngrams = ngrams
        self.min_df = min_df

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the words of texts.

        Parameters
        ----------
        X : list, tuple, array or series of n texts, or of lists of words
        y : ignored

        Returns
        -------
        self
            This model.

        Raises
        ------
        TypeError, ValueError
            For parameters out of range, one text instead of a list, None among the texts; if there
            is no word in `min_df` texts.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Find the words of texts, and return their counts as `transform` does.

        Parameters
        ----------
        X : list of str
        y : ignored
        **fit_params : dict
            Passed on to `fit`.

        Returns
        -------
        counts : csr_array (n, n_words), float64
            Occurrences of each word in each text.
        """
        settings = self._settings()
        places: dict[str, int] = {}
        counts = _counts(self._words(X, settings), places, anew=True)
        frequency = np.bincount(counts.indices, minlength=len(places))
        names = np.array(list(places), object)
        kept = np.flatnonzero(frequency >= settings.min_df)
        if not len(kept):
            raise ValueError(
                f"{type(self).__name__}: no word occurs in min_df={settings.min_df} of the "
                f"{len(names)} that the texts have."
            )
        kept = kept[np.argsort(names[kept])]
        counts = sp.csr_array(counts[:, kept])
        counts.sort_indices()
        self._set_fitted(X, vocabulary_=names[kept], document_frequency_=frequency[kept])
        return self._wrap(counts, X)

    def transform(self, X: Any) -> Any:
        """Count the words of texts; those that the fit did not find are left out.

        Parameters
        ----------
        X : list, tuple, array or series of n texts, or of lists of words

        Returns
        -------
        counts : csr_array (n, n_words), float64
            Occurrences of each word in each text.
        """
        self._check_fitted()
        places = {word: place for place, word in enumerate(self.vocabulary_.tolist())}
        return self._wrap(_counts(self._words(X, self._settings()), places, anew=False), X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the words.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names of the fit.

        Returns
        -------
        words : (n_words,) object
            In the order of the columns.
        """
        self._check_fitted()
        return self.vocabulary_

    def _settings(self) -> Settings:
        owner = type(self).__name__
        as_bool(self.lowercase, "lowercase", owner=owner)
        if not isinstance(self.ngrams, list | tuple) or len(self.ngrams) != 2:
            raise TypeError(
                f"{owner}: ngrams={self.ngrams!r} must be two numbers: of words, at least and at "
                "most."
            )
        least = as_integer(self.ngrams[0], "ngrams[0]", owner=owner, at_least=1)
        most = as_integer(self.ngrams[1], "ngrams[1]", owner=owner, at_least=least)
        min_df = as_integer(self.min_df, "min_df", owner=owner, at_least=1)
        return Settings(_pattern(self.pattern, owner), self.lowercase, least, most, min_df)

    def _words(self, X: Any, settings: Settings) -> Iterable[list[str]]:
        """Return an iterator over the words of each text, of texts that are checked at once."""
        owner, split = type(self).__name__, []
        for i, text in enumerate(require_list(X, owner)):
            if isinstance(text, str):
                words = settings.pattern.findall(_lower(text) if settings.lowercase else text)
                split.append([word for word in words if word])  # a pattern may match nothing
            elif isinstance(text, list | tuple) and all(isinstance(word, str) for word in text):
                split.append(list(text))
            else:
                raise TypeError(
                    f"{owner}: X[{i}] is of type {type(text).__name__}, but must be a str or a "
                    "list of them."
                )
        return (_sequences(words, settings.least, settings.most) for words in split)


def _pattern(pattern, owner):
    """Return the compiled regular expression of a word."""
    if pattern is None:
        return _WORD
    if not isinstance(pattern, str):
        raise TypeError(f"{owner}: pattern={pattern!r} must be a str or None.")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"{owner}: pattern={pattern!r} is no regular expression: {error}."
        ) from None
    if compiled.groups > 1:
        raise ValueError(
            f"{owner}: pattern={pattern!r} has {compiled.groups} groups, but may have one: "
            "write (?:...) for those that only bracket."
        )
    return compiled


def _lower(text):
    # Python makes two characters of this one, of which the second, a dot, is no letter.
    return text.replace("\u0130", "i").lower()


def _sequences(words, least, most):
    sequences = words if least == 1 else []
    for n in range(max(2, least), most + 1):
        sequences = sequences + [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]
    return sequences


def _counts(texts, places, anew):
    """Return the counts (n, len(places)) of the words at `places`, where new ones are put."""
    columns, ends = [], [0]
    for words in texts:
        if anew:
            columns.append([places.setdefault(word, len(places)) for word in words])
        else:
            columns.append([places[word] for word in words if word in places])
        ends.append(ends[-1] + len(columns[-1]))
    indices = np.fromiter(itertools.chain.from_iterable(columns), np.int64, ends[-1])
    shape = len(ends) - 1, len(places)
    counts = sp.csr_array((np.ones(ends[-1]), indices, np.array(ends)), shape=shape)
    counts.sum_duplicates()
    return counts
