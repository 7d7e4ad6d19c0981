"""The words of our refusals are those scikit-learn's own estimator checks listen for.

Two estimators that know nothing but the reading of data run the checks that are about reading data.
"""

import inspect
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from hornbeam.data.class_weight import class_weights
from hornbeam.data.table import Table, read_table, read_table_as
from hornbeam.data.target import read_classes, read_numbers, read_weights


class Reader(BaseEstimator):
    def read_rows(self, X: Any) -> Table:
        table = read_table(X, estimator_name=type(self).__name__)
        validate_data(self, X, reset=True, skip_check_array=True)
        self.schema_ = table.schema
        return table

    def n_rows_to_predict(self, X: Any) -> int:
        check_is_fitted(self)
        return read_table_as(X, self.schema_, estimator_name=type(self).__name__).n_rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


class MajorityClass(ClassifierMixin, Reader):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        n_rows = self.read_rows(X).n_rows
        target = read_classes(y, n_rows, multi_output=False, estimator_name=type(self).__name__)
        weights = read_weights(sample_weight, n_rows)
        assert class_weights(None, target) is None
        self.classes_ = target.classes[0]
        totals = np.bincount(target.codes[:, 0], weights=weights)
        self.majority_ = int(np.argmax(totals))
        return self

    def predict(self, X: Any) -> Any:
        n_rows = self.n_rows_to_predict(X)
        return np.repeat(self.classes_[self.majority_], n_rows)


class Mean(RegressorMixin, Reader):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        n_rows = self.read_rows(X).n_rows
        target = read_numbers(y, n_rows, multi_output=False, estimator_name=type(self).__name__)
        self.mean_ = np.average(target.values[:, 0], weights=read_weights(sample_weight, n_rows))
        return self

    def predict(self, X: Any) -> Any:
        return np.full(self.n_rows_to_predict(X), self.mean_)


COMMON = [
    "check_complex_data",
    "check_dataframe_column_names_consistency",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_fit_returns_self",
    "check_f_contiguous_array_estimator",
    "check_fit1d",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_readonly_memmap_input",
    "check_requires_y_none",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
    "check_supervised_y_2d",
    "check_supervised_y_no_nan",
]
# Later additions to scikit-learn's list.
COMMON += [name for name in ("check_all_zero_sample_weights_error",) if hasattr(estimator_checks, name)]


@pytest.mark.parametrize("name", COMMON)
@pytest.mark.parametrize(
    "estimator", [MajorityClass(), Mean()], ids=lambda estimator: type(estimator).__name__
)
def test_scikit_learn_check(name: str, estimator: Any) -> None:
    check = getattr(estimator_checks, name)
    if "readonly_memmap" in inspect.signature(check).parameters:
        check(type(estimator).__name__, estimator, readonly_memmap=True)
    else:
        check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("name", ["check_classifiers_regression_target", "check_classifiers_one_label"])
def test_scikit_learn_check_for_classifiers(name: str) -> None:
    getattr(estimator_checks, name)("MajorityClass", MajorityClass())


def test_names_that_scikit_learn_stores_are_those_of_the_table() -> None:
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    model = MajorityClass().fit(X, [0, 1])
    assert tuple(model.feature_names_in_) == model.schema_.names
    assert model.n_features_in_ == len(model.schema_.names)
