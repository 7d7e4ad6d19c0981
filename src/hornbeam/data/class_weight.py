"""What `class_weight` means for the rows: a factor on each row's weight."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_sample_weight

from hornbeam.data.target import ClassTarget
from hornbeam.data.wording import shown

__all__ = ["ClassWeight", "class_weights"]

AnyArray = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]
CodeArray = npt.NDArray[np.int32]
ClassWeight = Mapping[Any, float] | Literal["balanced"] | Sequence[Mapping[Any, float]]

_LARGEST_FACTOR = 2.0**400  # of a class: products with weights, and sums of those, stay finite


def class_weights(
    class_weight: ClassWeight | None, target: ClassTarget, sample_weight: FloatArray | None = None
) -> FloatArray | None:
    """Return the factor by which `class_weight` multiplies each row's weight; None if it is None.

    "balanced" gives every class the same total. With `sample_weight` the totals are those of the weights: a
    row of weight 0 counts as absent, a row of weight 2 as two rows.
    """
    if class_weight is None:
        return None
    n_outputs = len(target.classes)
    _check_class_weight(class_weight, n_outputs)
    factors = np.ones(len(target.codes))
    for k in range(n_outputs):
        if isinstance(class_weight, str):
            factors *= _balancing_factors(target.codes[:, k], len(target.classes[k]), sample_weight)
        else:
            chosen = class_weight if isinstance(class_weight, Mapping) else class_weight[k]
            factors *= _chosen_factors(chosen, target.labels(k))
    return factors


def _check_class_weight(class_weight: Any, n_outputs: int) -> None:
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f'class_weight must be a dict, "balanced" or None; got {shown(class_weight)}.')
    elif isinstance(class_weight, Mapping):
        if n_outputs > 1:
            raise ValueError(
                'For multi-output, class_weight should be a list of dicts, or the string "balanced"; '
                f"got one dict for {n_outputs} outputs."
            )
    elif not isinstance(class_weight, Sequence) or not all(isinstance(w, Mapping) for w in class_weight):
        raise ValueError(
            f'class_weight must be a dict, a list of dicts, "balanced" or None; got {shown(class_weight)}.'
        )
    elif len(class_weight) != n_outputs:
        raise ValueError(f"class_weight has {len(class_weight)} dicts, but y has {n_outputs} outputs.")


def _balancing_factors(codes: CodeArray, n_classes: int, sample_weight: FloatArray | None) -> FloatArray:
    if sample_weight is None:
        balanced: FloatArray = compute_sample_weight("balanced", codes)
        return balanced
    totals = np.bincount(codes, weights=sample_weight, minlength=n_classes)
    has_weight = totals > 0
    per_class = np.zeros(n_classes)
    with np.errstate(over="ignore"):  # a class may weigh almost nothing
        factors = totals.sum() / (np.count_nonzero(has_weight) * totals[has_weight])
    per_class[has_weight] = np.minimum(factors, _LARGEST_FACTOR)
    return per_class[codes]


def _chosen_factors(chosen: Mapping[Any, float], labels: AnyArray) -> FloatArray:
    for label, factor in chosen.items():
        if not isinstance(factor, numbers.Real) or not 0 <= factor < np.inf:
            raise ValueError(
                f"class_weight of the class {shown(label)} must be a finite number >= 0; got {shown(factor)}."
            )
    factors: FloatArray = compute_sample_weight(dict(chosen), labels)
    return factors
