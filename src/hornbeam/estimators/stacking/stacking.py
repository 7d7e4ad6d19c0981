"""Stacking in any number of levels: `StackingClassifier` and `StackingRegressor`.

scikit-learn's metrics and linear models are imported when they are needed: `import hornbeam` stays quick.
"""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor

from hornbeam.data.target import ClassTarget, RegressionTarget, read_classes, read_numbers
from hornbeam.data.units import unit_of
from hornbeam.estimators.stacking.answers import in_units
from hornbeam.estimators.stacking.stack import Stack, final_has
from hornbeam.params import ClassifierStackingOptions, fitted
from hornbeam.recipes.stack import Method
from hornbeam.sklearn_bases import ClassifierMixin, RegressorMixin

__all__ = ["StackingClassifier", "StackingRegressor"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.intp]

_METHODS: tuple[Method, ...] = ("predict_proba", "decision_function", "predict")


class StackingClassifier(ClassifierMixin, Stack, ClassifierStackingOptions):
    """Stacked classifiers: a final classifier learns from their predictions for rows they have not seen.

    {parameters}

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    estimators_ : list of lists of estimators
        The fitted members, level by level.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The fitted final estimator.
    stack_method_ : dict
        The method that is called on each member.
    oof_predictions_ : DataFrame
        The members' predictions for rows they had not seen.
    member_scores_ : dict
        The accuracy of each member on such rows.
    member_correlation_ : DataFrame
        The correlations between these predictions.
    """

    classes_: npt.NDArray[Any] = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the stack on rows X with labels y; a splitter keeps rows of equal `groups` together."""
        target: Any = self._fit(X, y, sample_weight, groups)
        self.classes_ = target.classes[0]
        return self

    @final_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities of the final estimator."""
        features = self._stacked_features(X)
        shares: FloatArray = self._asked_final().predict_proba(features)
        return shares

    @final_has("predict_proba")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: FloatArray = np.log(self.predict_proba(X))
        return logarithms

    @final_has("decision_function")
    def decision_function(self, X: Any) -> FloatArray:
        """Return the decision function of the final estimator."""
        features = self._stacked_features(X)
        scores: FloatArray = self._asked_final().decision_function(features)
        return scores

    def _read_target(self, y: Any, n_rows: int, rows: RowArray | None) -> ClassTarget:
        name = type(self).__name__
        return read_classes(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _check_kind(self, what: str, estimator: Any) -> None:
        if not is_classifier(estimator):
            raise ValueError(f"{type(self).__name__}: {what} should be a classifier; got {estimator!r}.")

    def _method_of(self, name: str, estimator: Any) -> Method:
        wanted = _METHODS if self.stack_method == "auto" else (self.stack_method,)
        for method in wanted:
            if hasattr(estimator, method):
                return method
        raise ValueError(
            f"{type(self).__name__}: member {name!r}, a {type(estimator).__name__}, has no "
            f"{' or '.join(wanted)}. Use stack_method='auto', or make it predict probabilities."
        )

    def _final_template(self) -> Any:
        if self.final_estimator is not None:
            return self.final_estimator
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import, and seldom needed

        return LogisticRegression(max_iter=1000)

    def _classes(self) -> npt.NDArray[Any] | None:
        return self.classes_

    def _score_of(
        self, answers: FloatArray, method: Method, target: Any, weights: FloatArray | None
    ) -> float:
        known = ~np.isnan(answers).any(axis=1)
        if answers.shape[1] > 1:
            codes = np.argmax(answers[known], axis=1)
        elif method == "predict":
            codes = answers[known, 0].astype(np.intp)
        else:
            codes = (answers[known, 0] > 0).astype(np.intp)
        right = codes == target.codes[known, 0]
        return float(np.average(right, weights=None if weights is None else weights[known]))


class StackingRegressor(RegressorMixin, Stack):
    """Stacked regressors: a final regressor learns from their predictions for rows they have not seen.

    {parameters}

    Attributes
    ----------
    estimators_ : list of lists of estimators
        The fitted members, level by level.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The fitted final estimator.
    stack_method_ : dict
        The method that is called on each member: always `predict`.
    oof_predictions_ : DataFrame
        The members' predictions for rows they had not seen.
    member_scores_ : dict
        The coefficient of determination of each member on such rows.
    member_correlation_ : DataFrame
        The correlations between these predictions.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the stack on rows X with targets y; a splitter keeps rows of equal `groups` together."""
        self._fit(X, y, sample_weight, groups)
        return self

    def _read_target(self, y: Any, n_rows: int, rows: RowArray | None) -> RegressionTarget:
        name = type(self).__name__
        return read_numbers(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _check_kind(self, what: str, estimator: Any) -> None:
        if not is_regressor(estimator):
            raise ValueError(f"{type(self).__name__}: {what} should be a regressor; got {estimator!r}.")

    def _final_template(self) -> Any:
        if self.final_estimator is not None:
            return self.final_estimator
        from sklearn.linear_model import RidgeCV  # noqa: PLC0415 - slow to import, and seldom needed

        return RidgeCV()

    def _fitted(self, final: Any, features: Any, y: npt.NDArray[Any], options: dict[str, Any]) -> Any:
        """Fit it; for the default linear model, extreme numbers are divided by a power of two."""
        unit = unit_of(y) if self.final_estimator is None else 1.0
        counted = None if unit == 1.0 else in_units(features, unit)
        if counted is None:  # unscaled, or columns of X next to tiny answers would be too far from 1
            return super()._fitted(final, features, y, options)
        final.fit(counted, y / unit, **options)
        final.intercept_ *= unit
        return final

    def _score_of(
        self, answers: FloatArray, method: Method, target: Any, weights: FloatArray | None
    ) -> float:
        from sklearn.metrics import r2_score  # noqa: PLC0415 - slow to import, and seldom needed

        known = ~np.isnan(answers).any(axis=1)
        if np.count_nonzero(known) < 2:
            return float("nan")
        of_known = None if weights is None else weights[known]
        y = target.values[known, 0]
        unit = unit_of(y)  # in which squares are finite
        return float(r2_score(y / unit, answers[known, 0] / unit, sample_weight=of_known))
