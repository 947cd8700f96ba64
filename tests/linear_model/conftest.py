"""Fixture of the tests of linear models."""

import pytest

from mlcore.linear_model.logistic import logistic_pass


@pytest.fixture(autouse=True)
def sparse_rows_stay_sparse(monkeypatch):
    """Let CSR of dense data go through the loops of sparse rows, which it is made to test."""
    monkeypatch.setattr(logistic_pass, "_DENSE", 2.0)
