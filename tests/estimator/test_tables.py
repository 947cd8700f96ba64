"""Notebooks show selections and searches as tables, the best in bold, and nothing unescaped."""

import re

import numpy as np
import pytest

from mlcore.estimator import tables
from mlcore.kernel_ridge import KernelRidgeCV
from mlcore.mixture import select_mixture
from mlcore.svm import SVCCV

X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [4.0]], 20, axis=0)
Y = np.repeat([0, 1], 20)


def rows(text):
    """Cells of each row, the heading first, and the numbers of those in bold."""
    found = re.findall(r"<tr(.*?)>(.*?)</tr>", text)
    cells = [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for _, row in found]
    return cells, [number for number, (style, _) in enumerate(found) if "bold" in style]


def test_a_table_is_escaped_and_rounded():
    text = tables.table({"<a>": ["x & y", 1], "b": [0.123456789, True]}, title="<t>", best=1)
    assert text.startswith("<pre>&lt;t&gt;</pre>")
    cells, bold = rows(text)
    assert cells == [["&lt;a&gt;", "b"], ["x &amp; y", "0.12346"], ["1", "True"]] and bold == [2]
    assert tables.table({}, title="alone") == "<pre>alone</pre>"
    with pytest.raises(ValueError):
        tables.table({"a": [1], "b": []})


def test_selections_of_mixtures():
    found = select_mixture(X, n_components=[1, 2, 3], covariance_type=["full", "diag"])
    cells, bold = rows(found._repr_html_())
    assert cells[0] == list(found.table) and len(cells) == 7
    best = dict(zip(cells[0], cells[bold[0]], strict=True))
    assert best["n_components"] == str(found.best.n_components)
    assert best["covariance_type"] == found.best.covariance_type
    assert float(best["bic"]) == pytest.approx(found.table["bic"].min(), rel=1e-4)


def test_searches_of_svms():
    search = SVCCV(Cs=(0.1, 1.0), gammas=(0.1, 1.0), cv=3)
    assert search._repr_html_().startswith("<pre>SVCCV(") and "<table>" not in search._repr_html_()
    search.fit(X, Y)
    cells, bold = rows(search._repr_html_())
    assert len(cells) == 5 and bold == [1 + search.best_index_]
    assert [float(value) for value in cells[bold[0]][:2]] == [search.C_, search.gamma_]


@pytest.mark.parametrize("y", [X[:, 0], X])
def test_searches_of_kernel_ridge_regression(y):
    assert "<table>" not in KernelRidgeCV()._repr_html_()
    for alphas in ([0.1, 1.0, 10.0], None):
        search = KernelRidgeCV(alphas=alphas, gammas=[0.1, 1.0], kernel="rbf").fit(X, y)
        cells, bold = rows(search._repr_html_())
        assert cells[0] == ["gamma", "alpha", "loo"]
        assert len(cells) == 1 + (6 if alphas else 2) and len(bold) == 1
        best = np.reshape(search.criterion_values_, (*search.criterion_values_.shape[:2], -1))
        assert float(cells[bold[0]][2]) == pytest.approx(best.mean(axis=2).min(), rel=1e-4)
