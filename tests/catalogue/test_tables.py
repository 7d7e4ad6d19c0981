"""Rows 1 to 18: tables of every size, shape, type, layout and naming."""

import datetime
import decimal
import pickle
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from catalogue.models import TREES, Tree, fit_both, problem, same_model
from catalogue.processes import run_script
from hornbeam import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.warnings import DataWarning

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("X", [np.empty((0, 3)), pd.DataFrame({"a": []}), sparse.csr_array((0, 3)), []])
def test_row_1_no_rows_at_fit(tree: type[Tree], X: Any) -> None:
    # A list without rows has no columns to speak of either; scikit-learn asks for the second dimension.
    message = "0 sample" if len(np.shape(X)) == 2 else "Reshape your data"
    with pytest.raises(ValueError, match=message):
        tree().fit(X, [])


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("X", [np.empty((3, 0)), pd.DataFrame(index=range(3)), sparse.csr_array((3, 0))])
def test_row_2_no_columns(tree: type[Tree], X: Any) -> None:
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"):
        tree().fit(X, [0, 1, 2])


@pytest.mark.parametrize("X", [np.empty((0, 4)), sparse.csr_array((0, 4))])
def test_row_3_no_rows_at_predict(X: Any) -> None:
    for model in fit_both(*problem()):
        with pytest.raises(ValueError, match=r"0 sample\(s\) \(shape=\(0, 4\)\) while a minimum of 1"):
            model.predict(X)


def test_row_4_one_row_gives_a_constant_model_and_a_warning() -> None:
    with pytest.warns(DataWarning, match="single row") as caught:
        regressor = DecisionTreeRegressor().fit([[1.0, 2.0]], [3.5])
    assert len(caught) == 1
    assert regressor.predict([[9.0, np.nan], [0.0, 0.0]]).tolist() == [3.5, 3.5]
    with pytest.warns(DataWarning, match="single row"):
        classifier = DecisionTreeClassifier().fit([[1.0, 2.0]], ["yes"])
    assert classifier.predict([[9.0, 9.0]]).tolist() == ["yes"]
    assert classifier.predict_proba([[9.0, 9.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(4.0), "got 1D array"),
        (np.ones((4, 2, 2)), r"dim 3 \(shape=\(4, 2, 2\)\)"),
        ([[1, 2], [3, 4], [5], [6, 7]], "row 0 has 2 values, row 2 has 1"),
    ],
)
def test_row_5_wrong_shapes_at_fit_and_at_predict(tree: type[Tree], X: Any, message: str) -> None:
    model = tree().fit(*problem())
    for use in (lambda: tree().fit(X, [0, 1, 0, 1]), lambda: model.predict(X)):
        with pytest.raises(ValueError, match=message) as caught:
            use()
        assert "Reshape your data" in str(caught.value)


def test_row_6_numbers_as_objects_are_numbers() -> None:
    X, y = problem()
    for plain, objects in zip(fit_both(X, y), fit_both(X.astype(object), y), strict=True):
        assert same_model(plain, objects)
        np.testing.assert_array_equal(plain.predict(X), objects.predict(X.astype(object)))


@pytest.mark.parametrize("tree", TREES)
def test_row_6_mixed_objects_name_the_column_and_the_value(tree: type[Tree]) -> None:
    X = pd.DataFrame({"good": [1, 2, 3], "bad": pd.Series([1, "two", 3], dtype=object)})
    with pytest.raises(TypeError, match=r"Column 'bad' mixes types.*row 1 the text 'two'"):
        tree().fit(X, [0, 1, 1])


@pytest.mark.parametrize("tree", TREES)
def test_row_7_complex_numbers(tree: type[Tree]) -> None:
    X, y = problem()
    with pytest.raises(ValueError, match="Complex data not supported: column 'x0'"):
        tree().fit(X + 1j, y)
    with pytest.raises(ValueError, match="Complex data not supported: y"):
        tree().fit(X, y + 1j)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    ("cells", "hint"),
    [
        (pd.to_timedelta([1, 2], unit="s"), "seconds"),
        ([decimal.Decimal("1.5"), decimal.Decimal(2)], "float"),
        ([b"a", b"b"], "decode"),
    ],
)
def test_row_8_columns_no_tree_can_split(tree: type[Tree], cells: Any, hint: str) -> None:
    X = pd.DataFrame({"fine": [1, 2], "odd": cells})
    with pytest.raises(TypeError, match="Column 'odd'") as caught:
        tree().fit(X, [0, 1])
    assert hint in str(caught.value)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    "cells",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        ["2020-01-01", "2021-01-01"],
    ],
)
def test_row_8_dates_are_split_as_time(tree: type[Tree], cells: Any) -> None:
    X = pd.DataFrame({"when": cells})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        fitted = tree().fit(X, [0, 1])
    assert "when <= 2020-07-02" in fitted.rules()  # halfway, and 2020 is a leap year: 183 days after 01-01
    later = pd.DataFrame({"when": pd.to_datetime(["2020-07-02", "2020-07-03"])})
    assert fitted.predict(later).tolist() == [0, 1]


def numbers_with_gaps() -> tuple[np.ndarray, np.ndarray]:
    X, y = problem()
    X[::7, 0] = X[3::11, 2] = np.nan
    return X, y


GAPPY_FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "pandas Int64": lambda X: pd.DataFrame(X).astype("Int64"),
    "pandas UInt8": lambda X: pd.DataFrame(X).astype("UInt8"),
    "pandas Float32": lambda X: pd.DataFrame(X).astype("Float32"),
    "pandas int64[pyarrow]": lambda X: pd.DataFrame(X).convert_dtypes().astype("int64[pyarrow]"),
    "pandas object with NA": lambda X: pd.DataFrame(X).astype("Int64").astype(object),
    "polars Int16": lambda X: pl.DataFrame(X).fill_nan(None).cast(pl.Int16),
    "polars Float32": lambda X: pl.DataFrame(X).fill_nan(None).cast(pl.Float32),
    "arrow": lambda X: pa.table(pd.DataFrame(X).astype("Int32").rename(columns=str)),
    "float16": lambda X: X.astype(np.float16),
    "masked": np.ma.masked_invalid,
    "lists with None": lambda X: np.where(np.isnan(X), None, X).tolist(),
}


@pytest.mark.parametrize("form", GAPPY_FORMS)
def test_row_9_missing_in_every_type_is_exact(form: str) -> None:
    X, y = numbers_with_gaps()
    shaped = GAPPY_FORMS[form](X)
    for plain, other in zip(fit_both(X, y), fit_both(shaped, y), strict=True):
        assert same_model(plain, other)
        np.testing.assert_array_equal(plain.predict(X), other.predict(shaped))


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "longdouble"])
def test_row_9_every_number_type_is_exact(dtype: str) -> None:
    X, y = problem()
    for plain, other in zip(fit_both(X, y), fit_both(X.astype(dtype), y), strict=True):
        assert same_model(plain, other)
        np.testing.assert_array_equal(plain.predict(X), other.predict(X.astype(dtype)))


def test_row_9_booleans_are_exact() -> None:
    X, y = problem()
    truth = X > 50
    for plain, other in zip(fit_both(truth.astype(float), y), fit_both(truth, y), strict=True):
        assert same_model(plain, other)
        np.testing.assert_array_equal(plain.predict(truth.astype(float)), other.predict(pd.DataFrame(truth)))


def misaligned(X: np.ndarray) -> np.ndarray:
    view = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    assert not view.flags.aligned
    return view


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), -1.0)
    wide[::2, ::3] = X
    return wide[::2, ::3]


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "read-only": read_only,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "byte-swapped": lambda X: X.astype(X.dtype.newbyteorder("S")),
    "misaligned": misaligned,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_row_10_every_layout_is_exact_and_never_written(layout: str) -> None:
    X, y = numbers_with_gaps()
    shaped = LAYOUTS[layout](X)
    before = shaped.tobytes()
    for plain, other in zip(fit_both(X, y), fit_both(shaped, y), strict=True):
        assert same_model(plain, other)
        np.testing.assert_array_equal(plain.predict(X), other.predict(shaped))
    assert shaped.tobytes() == before


def test_row_10_memory_mapped_file(tmp_path: Path) -> None:
    X, y = numbers_with_gaps()
    np.save(tmp_path / "X.npy", X)
    before = (tmp_path / "X.npy").read_bytes()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for plain, other in zip(fit_both(X, y), fit_both(mapped, y), strict=True):
        assert same_model(plain, other)
        np.testing.assert_array_equal(plain.predict(X), other.predict(mapped))
    assert (tmp_path / "X.npy").read_bytes() == before


def test_row_11_array_changed_by_another_thread_does_not_crash() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 5)), rng.integers(0, 3, 20_000)
    stop = threading.Event()

    def scribble() -> None:
        values = [np.nan, np.inf, -np.inf, 0.0, 1e300]
        while not stop.is_set():
            X[rng.integers(0, len(X), 100)] = values[rng.integers(0, 5)]

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        models = [DecisionTreeClassifier(max_depth=8, n_jobs=2).fit(X, y) for _ in range(5)]
    finally:
        stop.set()
        thread.join()
    assert all(set(model.predict(X)) <= {0, 1, 2} for model in models)


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("format_name", ["csr", "csc", "coo"])
def test_row_12_sparse_in_any_form_is_exact_to_dense(format_name: str, index_dtype: Any) -> None:
    X, y = problem()
    X[X < 60] = 0.0
    rows, columns = np.nonzero(X >= 0)  # every cell is stored, the zeros too
    twice = np.concatenate([X[rows, columns] - 1.0, np.ones(len(rows))])  # and each in two parts
    order = np.random.default_rng(0).permutation(len(twice))
    places = (np.tile(rows, 2)[order].astype(index_dtype), np.tile(columns, 2)[order].astype(index_dtype))
    stored = sparse.coo_array((twice[order], places), shape=X.shape).asformat(format_name)
    for name in ("data", "indices", "indptr"):
        if hasattr(stored, name):
            getattr(stored, name).flags.writeable = False
    for dense, thin in zip(fit_both(X, y), fit_both(stored, y), strict=True):
        assert same_model(dense, thin)
        np.testing.assert_array_equal(dense.predict(X), thin.predict(stored))


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("format_name", ["csr", "csc"])
def test_row_12_corrupt_sparse_index(tree: type[Tree], format_name: str) -> None:
    X, y = problem()
    model = tree().fit(X, y)
    corrupt = sparse.csr_array(X).asformat(format_name).copy()
    corrupt.indices[5] = 2**31 - 1
    for use in (lambda: tree().fit(corrupt, y), lambda: model.predict(corrupt)):
        with pytest.raises(ValueError, match="sparse X is corrupt"):
            use()


def test_row_12_corrupt_sparse_matrices_are_refused_by_whatever_takes_a_table() -> None:
    report = run_script("corrupt_sparse")
    assert report["taken"] == []
    assert report["calls"] > 100


@pytest.mark.parametrize("n_columns", [3, 5])
def test_row_13_other_number_of_columns(n_columns: int) -> None:
    for model in fit_both(*problem()):
        message = f"X has {n_columns} features, but {type(model).__name__} is expecting 4 features as input"
        with pytest.raises(ValueError, match=message):
            model.predict(np.ones((2, n_columns)))


@pytest.fixture
def named() -> tuple[pd.DataFrame, list[Tree]]:
    X, y = problem()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    return frame, fit_both(frame, y)


def test_row_14_other_order_is_refused(named: tuple[pd.DataFrame, list[Tree]]) -> None:
    frame, models = named
    for model in models:
        with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
            model.predict(frame[["b", "a", "c", "d"]])


def test_row_15_other_names_and_no_names(named: tuple[pd.DataFrame, list[Tree]]) -> None:
    frame, models = named
    for model in models:
        with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- z\n"):
            model.predict(frame.rename(columns={"d": "z"}))
        with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
            answers = model.predict(frame.to_numpy())
        assert len(caught) == 1
        np.testing.assert_array_equal(answers, model.predict(frame))


@pytest.mark.parametrize("tree", TREES)
def test_row_16_duplicate_names(tree: type[Tree]) -> None:
    X = pd.DataFrame(np.ones((2, 3)), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        tree().fit(X, [0, 1])


@pytest.mark.parametrize(
    "name", ["", "a" * 10**6, "nul\0", "line\nbreak", "\N{DECIDUOUS TREE}", "\u202eleft"]
)
def test_row_17_any_text_is_a_name(name: str) -> None:
    X = pd.DataFrame({name: [1.0, 2.0, 3.0], "other": [0.0, 0.0, 0.0]})
    for model in fit_both(X, [0, 1, 1]):
        assert model.feature_names_in_.tolist() == [name, "other"]
        again = pickle.loads(pickle.dumps(model))
        assert again.feature_names_in_.tolist() == [name, "other"]
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        # A line of the rules stays a line, whatever is in the name.
        assert len(model.rules("lines").splitlines()) == model.get_n_leaves()


def test_row_17_names_that_are_no_texts() -> None:
    X, y = problem()
    for plain, numbered in zip(
        fit_both(X, y), fit_both(pd.DataFrame(X, columns=[7, 8, 9, 10]), y), strict=True
    ):
        assert not hasattr(numbered, "feature_names_in_")
        assert same_model(plain, numbered)
    with pytest.raises(TypeError, match="Feature names are only supported if all input features have string"):
        DecisionTreeClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c", 3]), y)


def test_row_18_more_than_2_31_cells() -> None:
    X, y = problem(n_columns=4)
    n_rows, n_columns = 2**20, 2**12
    for tree in TREES:
        wide = np.zeros((len(X), n_columns))
        wide[:, -4:] = X
        model = tree().fit(wide, y)
        # The same row over and over: a table of 2**32 cells that takes no memory.
        cells = np.broadcast_to(wide[7], (n_rows, n_columns))
        assert cells.size > 2**31
        assert set(model.predict(cells)) == set(model.predict(wide[7:8]))


def test_row_18_more_than_2_31_rows_are_refused_up_front() -> None:
    X = np.broadcast_to(np.int8(1), (2**31, 1))
    y = np.broadcast_to(np.int8(1), 2**31)
    for tree in TREES:
        with pytest.raises(ValueError, match=f"X has {2**31} rows; a fit takes at most {2**31 - 1}"):
            tree().fit(X, y)
