"""scikit-learn's base classes, with types.

scikit-learn ships no types, so to a type checker its classes are `Any`, and a class built on `Any` accepts
every constructor argument. Estimators import their bases from here instead: at run time the classes are
scikit-learn's own; a type checker sees the few methods spelled out below, and so the true constructor of
every estimator.
"""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassifierMixin",
    "DensityMixin",
    "MultiOutputMixin",
    "RegressorMixin",
    "TransformerMixin",
    "visual_block",
    "with_callbacks",
]

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    class BaseEstimator:
        """Parameters in and out, and tags."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""

        def set_params(self, **params: Any) -> Self:
            """Set parameters by name."""

        def get_metadata_routing(self) -> Any:
            """Return which method asks for which metadata."""

        def __sklearn_tags__(self) -> Any: ...

    class ClassifierMixin:
        """Marks a classifier."""

        def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
            """Return the accuracy."""

        def __sklearn_tags__(self) -> Any: ...

    class DensityMixin:
        """Marks an estimator of densities."""

        def __sklearn_tags__(self) -> Any: ...

    class RegressorMixin:
        """Marks a regressor."""

        def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
            """Return the coefficient of determination."""

        def __sklearn_tags__(self) -> Any: ...

    class CallbackSupportMixin:
        """Marks an estimator that tells callbacks of its progress."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Attach callbacks of scikit-learn's kind."""

    P = ParamSpec("P")
    T = TypeVar("T")

    def with_callbacks(method: Callable[P, T]) -> Callable[P, T]:
        """Have callbacks clean up after a method, however it ends."""

    class MultiOutputMixin:
        """Marks an estimator whose `y` may have several columns."""

        def __sklearn_tags__(self) -> Any: ...

    class TransformerMixin:
        """Marks a transformer, and lets `set_output` choose what `transform` returns."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            """Fit, then transform the same rows."""

        def set_output(self, *, transform: Any = None) -> Self:
            """Choose the container that `transform` returns."""

        def __sklearn_tags__(self) -> Any: ...

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        DensityMixin,
        MultiOutputMixin,
        RegressorMixin,
        TransformerMixin,
    )

    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # scikit-learn before 1.9 has no callbacks

        class CallbackSupportMixin:
            """Stands where scikit-learn's class will be."""

        def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
            """Return the method as it is."""
            return method


def visual_block() -> Any:
    """Return scikit-learn's class for the parts of a diagram; None where it has moved once more."""
    for place in ("sklearn.utils._repr_html.estimator", "sklearn.utils._estimator_html_repr"):
        try:
            return importlib.import_module(place)._VisualBlock
        except (ImportError, AttributeError):
            continue
    return None
