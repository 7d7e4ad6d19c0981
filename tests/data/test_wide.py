"""Arrays of numbers are read as a whole; column by column they are the same."""

import numpy as np
import pytest

from hornbeam.data.sources import numbers_of, open_source
from hornbeam.data.table import read_table

NUMBERS = [np.nan, -1.5, 0.0, 3.25, np.inf, 2.0]


@pytest.mark.parametrize("dtype", ["f8", ">f8", "f4", "f2", "g", "i4", "u2", "i1", "?", "i8", "u8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_its_columns(dtype: str, order: str) -> None:
    numbers = np.array(NUMBERS if np.dtype(dtype).kind == "f" else [0, 1, 1, 3, 0, 2])
    array = np.asarray(np.stack([numbers, numbers[::-1]], axis=1), order=order).astype(dtype)
    whole, single = read_table(array), [read_table(array[:, [j]]) for j in range(2)]
    assert (numbers_of(open_source(array, "a test")) is None) == (dtype in ("i8", "u8"))
    assert whole.feature_names is None and whole.schema.names == ("x0", "x1")
    for j, column in enumerate(whole.columns):
        expected = single[j].columns[0]
        assert (column.kind, column.categories) == (expected.kind, expected.categories)
        assert column.values.dtype == expected.values.dtype
        assert column.values.dtype.isnative and column.values.dtype.itemsize in (1, 2, 4, 8)
        np.testing.assert_array_equal(column.values, array[:, j].astype(column.values.dtype))


def test_columns_that_are_named_as_categories_are_read_one_by_one() -> None:
    table = read_table(np.array([[1.0, 2.0], [3.0, 2.5]]), categorical_features=[1])
    assert [column.kind for column in table.columns] == ["numeric", "categorical"]
