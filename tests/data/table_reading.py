"""What the tests of tables read in a column: its codes, and the categories that they stand for."""

import numpy as np

from hornbeam.data.table import MISSING, Table


def codes(table: Table, column: int = 0) -> list[int]:
    values = table.columns[column].values
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.int32
    return values.tolist()


def labels(table: Table, column: int = 0) -> list[object]:
    categories = table.columns[column].categories
    assert categories is not None
    return [None if code == MISSING else categories[code] for code in codes(table, column)]
