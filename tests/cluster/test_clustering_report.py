"""The report holds the scores, each as its own function gives it, and shows them as a table."""

import sys

import numpy as np
import pytest

from mlcore import cluster
from mlcore.cluster import clustering_report


def test_scores_are_the_functions():
    rng = np.random.default_rng(0)
    a, b, weights = rng.integers(0, 4, 60), rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    weights[:4] = 1
    for given in ({}, {"sample_weight": weights}):
        report = clustering_report(a, b, **given)
        names = [name for name in vars(report) if not name.startswith("n_")]
        assert len(names) == 8
        for name in names:
            assert getattr(report, name) == getattr(cluster, name)(a, b, **given), name
        expected = (60 if not given else weights.sum(), 4, 3)
        assert (report.n_samples, report.n_classes, report.n_clusters) == expected


def test_it_prints_and_is_a_frame():
    report = clustering_report(["a", "a", "b", "b"], [0, 0, 1, 2])
    lines = repr(report).splitlines()
    assert len(lines) == 11 and lines[0].split() == ["n_samples", "4"]
    assert lines[6].split() == ["homogeneity", "1.000000"]
    assert "<td>completeness</td><td>0.66667</td>" in report._repr_html_()
    pytest.importorskip("pandas")
    frame = report.to_frame()
    assert frame.loc["v_measure", "value"] == report.v_measure and len(frame) == 11


def test_without_pandas_advice(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="python -m pip install pandas"):
        clustering_report([0], [0]).to_frame()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="clustering_report: sample_weight.*whole number"):
        clustering_report([0, 1], [0, 1], sample_weight=[0.5, 1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clustering_report([0, 1], [0])
