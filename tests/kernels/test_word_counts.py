"""Counts of words against scikit-learn's, and by hand."""

import pickle
import unicodedata

import numpy as np
import pytest
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import mlcore
from mlcore.kernels import TfidfTransformer, WordCounts
from mlcore.linear_model import LogisticRegression

TEXTS = [
    "Red fish, blue fish.",
    "one fish\x00two",
    "",
    "Ünïted it is; it IS a_b 42 x",
    "the red one",
]
TEXT = st.text(st.sampled_from("aAbéß ,.\n\x00-'"), max_size=20)


def same(ours, theirs):
    assert_array_equal(ours.toarray(), theirs.toarray())
    assert ours.has_canonical_format and ours.dtype == float


@settings(max_examples=30)
@given(
    st.lists(TEXT, min_size=1, max_size=6),
    st.lists(TEXT, min_size=1, max_size=3),
    st.sampled_from([(1, 1), (1, 2), (2, 3)]),
    st.integers(1, 2),
    st.booleans(),
)
def test_words_and_counts_are_those_of_scikit_learn(X, Z, ngrams, min_df, lowercase):
    model = WordCounts(ngrams=ngrams, min_df=min_df, lowercase=lowercase)
    peer = CountVectorizer(ngram_range=ngrams, min_df=min_df, lowercase=lowercase)
    try:
        expected = peer.fit_transform(X)
    except ValueError:  # nothing is left
        with pytest.raises(ValueError, match=f"no word occurs in min_df={min_df}"):
            model.fit(X)
        return
    same(model.fit_transform(X), expected)
    assert_array_equal(model.get_feature_names_out(), peer.get_feature_names_out())
    assert_array_equal(model.document_frequency_, (expected.toarray() > 0).sum(axis=0))
    same(model.fit(X).transform(Z), peer.transform(Z))


def test_words_of_other_scripts():
    hindi, spanish = "आधुनिक हिन्दी, हिन्दी।", "man\u0303ana MAN\u0303ANA"
    whole = WordCounts(pattern=r"[^\s.,;:!?()।]+").fit([hindi])
    assert whole.vocabulary_.tolist() == ["आधुनिक", "हिन्दी"]
    assert whole.transform([hindi]).toarray().tolist() == [[1, 2]]
    joined = WordCounts().fit([unicodedata.normalize("NFC", spanish)])
    assert joined.vocabulary_.tolist() == ["ma\u00f1ana"]
    turkish = WordCounts().fit(["İstanbul istanbul İZMİR"])
    assert turkish.vocabulary_.tolist() == ["istanbul", "izmir"]
    assert WordCounts(lowercase=False).fit(["İZMİR"]).vocabulary_.tolist() == ["İZMİR"]


def test_an_empty_match_is_no_word():
    for pattern in ("x*", "(x?)a"):
        counts = WordCounts(pattern=pattern)
        assert counts.fit(["xxa xa", "a"]).vocabulary_.tolist() == (
            ["x", "xx"] if pattern == "x*" else ["x"]
        )
        assert counts.transform(["a", "b"]).nnz == 0


def test_patterns():
    def words(**how):
        return WordCounts(**how).fit(TEXTS).vocabulary_.tolist()

    assert words(pattern=r"\d+") == ["42"]
    assert words(pattern=r"(?:red|blue) (\w+)") == ["fish", "one"]
    assert words(pattern=r"R\w+", lowercase=False) == ["Red"]


def test_lists_of_words_are_taken_as_they_are():
    lists = [["Red", "fish,", ""], ("fish,",), []]
    model = WordCounts()
    assert_array_equal(model.fit_transform(lists).toarray(), [[1, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert model.vocabulary_.tolist() == ["", "Red", "fish,"]
    mixed = WordCounts(ngrams=(2, 2)).fit(["red fish", ["red", "fish"]])
    assert_array_equal(mixed.document_frequency_, [2])


def test_texts_to_labels(tmp_path):
    texts = ["buy now", "cheap now now", "see you", "see them soon"] * 3
    model = make_pipeline(WordCounts(), TfidfTransformer(), LogisticRegression())
    y = [1, 1, 0, 0] * 3
    assert_array_equal(model.fit(texts, y).predict(["now!", "you?"]), [1, 0])
    words = model[0]
    mlcore.save(words, tmp_path / "words")
    for again in (mlcore.load(tmp_path / "words"), pickle.loads(pickle.dumps(words))):
        same(again.transform(TEXTS), words.transform(TEXTS))


REFUSED = {
    "one text": ({}, "red fish", TypeError, r"X is one str.*\[X\]"),
    "None": ({}, ["red", None], TypeError, r"X\[1\] is of type NoneType"),
    "numbers": ({}, [["red"], ["a", 2]], TypeError, r"X\[1\] is of type list"),
    "no texts": ({}, [], ValueError, "X has no samples"),
    "no words": ({}, ["", "a"], ValueError, "no word occurs in min_df=1 of the 0"),
    "pattern": ({"pattern": "("}, TEXTS, ValueError, r"pattern='\(' is no regular expression"),
    "groups": ({"pattern": "(a)(b)"}, TEXTS, ValueError, "2 groups, but may have one"),
    "pattern's type": ({"pattern": b"a"}, TEXTS, TypeError, "pattern=b'a'"),
    "ngrams": ({"ngrams": 2}, TEXTS, TypeError, "ngrams=2 must be two numbers"),
    "ngrams below 1": ({"ngrams": (0, 1)}, TEXTS, ValueError, r"ngrams\[0\].*0"),
    "ngrams in order": ({"ngrams": (2, 1)}, TEXTS, ValueError, r"ngrams\[1\].*1"),
    "min_df": ({"min_df": 0.5}, TEXTS, TypeError, "min_df.*0.5"),
    "min_df above all": ({"min_df": 6}, TEXTS, ValueError, "no word occurs in min_df=6 of the"),
    "lowercase": ({"lowercase": None}, TEXTS, TypeError, "lowercase"),
}


@each("name", REFUSED)
def test_what_cannot_be_counted_is_refused(name):
    how, X, error, pattern = REFUSED[name]
    model = WordCounts().fit(TEXTS)
    before = model.vocabulary_
    with pytest.raises(error, match="^WordCounts: .*" + pattern):
        model.set_params(**how).fit(X)
    assert model.vocabulary_ is before


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(ValueError, match="not fitted"):
        WordCounts().transform(TEXTS)
    assert np.ndim(WordCounts().fit(TEXTS).n_features_in_) == 0
