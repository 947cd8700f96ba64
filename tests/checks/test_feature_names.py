"""Names of columns, of the fit and of later calls."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mlcore.checks import check_column_names, column_names

PLAIN = np.array([[1.5, -2.0, 0.0], [4.0, 1e-310, 6.25]])


def test_column_names():
    frame = pd.DataFrame(PLAIN, columns=["a", "b", "c"])
    assert column_names(frame).tolist() == ["a", "b", "c"]
    assert column_names(pl.DataFrame(frame.to_dict("list"))).tolist() == ["a", "b", "c"]
    table = pa.table(frame.to_dict("list"))
    assert column_names(table).tolist() == ["a", "b", "c"]
    assert column_names(table.to_batches()[0]).tolist() == ["a", "b", "c"]
    assert column_names(PLAIN) is None and column_names(pd.DataFrame(PLAIN)) is None
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        column_names(pd.DataFrame(PLAIN, columns=["a", 1, 2]))


def test_column_names_are_compared():
    seen = np.array(["a", "b"], object)
    check_column_names(seen.copy(), seen, "SVC")
    check_column_names(None, None, "SVC")
    with pytest.warns(UserWarning, match="does not have valid feature names, but SVC"):
        check_column_names(None, seen, "SVC")
    with pytest.warns(UserWarning, match="SVC was fitted without feature names"):
        check_column_names(seen, None, "SVC")
    with pytest.raises(ValueError, match="same order"):
        check_column_names(seen[::-1], seen, "SVC")
    with pytest.raises(ValueError, match="unseen at fit time:\n- c\nFeature names seen.*:\n- b"):
        check_column_names(np.array(["a", "c"], object), seen, "SVC")
