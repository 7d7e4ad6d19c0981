"""scikit-learn's linear models and scalers as members: into a record and back, as parameters and arrays.

The list is closed and short: what stacks and bags are most often made of besides our own estimators, and the
linear model of a comparison, which is a pipeline with a preparation of ours in front. A name in a file is
looked up here; the module it stands for is written here, never in the file. Everything else is refused when
it is saved, by name. Parameters that equal scikit-learn's defaults are left out, so that a file does not
depend on which parameters a version of it has.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.errors import ModelFormatError
from hornbeam.io.container import STORED_DTYPES
from hornbeam.io.linear import read_design, write_design
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.io.schema import read_classes, read_feature_names, write_classes

__all__ = [
    "foreign_name",
    "foreign_parameters",
    "is_linear_model",
    "make_foreign",
    "read_foreign",
    "write_foreign",
]

AnyArray = npt.NDArray[Any]

_LARGEST = 1e100  # numbers beyond it are refused: their products overflow
_NEVER_STORED = frozenset({"n_jobs", "verbose", "copy", "copy_X"})  # they do not change a model


@dataclass(frozen=True)
class _Foreign:
    """A class that is not declared: where it is, which parameters may be stored, what its fit sets.

    `arrays` are fitted attributes, numbers or arrays of them. `check` refuses what cannot predict. A file
    writes the name of the class behind that of its library.
    """

    module: str
    parameters: frozenset[str]
    arrays: tuple[str, ...]
    check: Callable[[Any], bool]
    optional: tuple[str, ...] = ()
    has_classes: bool = False

    def name_of(self, short: str) -> str:
        return f"{self.module.partition('.')[0]}.{short}"


def _is_line(model: Any) -> bool:
    """Whether coefficients and intercept predict one number per row."""
    return bool(np.shape(model.coef_) == (model.n_features_in_,) and np.shape(model.intercept_) == ())


def _is_logistic(model: Any) -> bool:
    n_scores = 1 if len(model.classes_) == 2 else len(model.classes_)
    shapes = (np.shape(model.coef_), np.shape(model.intercept_))
    return len(model.classes_) > 1 and shapes == ((n_scores, model.n_features_in_), (n_scores,))


def _is_scaler(model: Any) -> bool:
    statistics = [getattr(model, name) for name in ("mean_", "var_", "scale_")]
    if not all(one is None or np.shape(one) == (model.n_features_in_,) for one in statistics):
        return False
    mean, _, scale = statistics
    if (model.with_mean and mean is None) or (model.with_std and scale is None):
        return False
    return scale is None or bool(np.all(np.abs(scale) > 1 / _LARGEST))


_RIDGE = frozenset({"alpha", "fit_intercept", "max_iter", "tol", "solver", "positive", "random_state"})
_FOREIGN: Mapping[str, _Foreign] = {
    "LinearRegression": _Foreign(
        "sklearn.linear_model",
        frozenset({"fit_intercept", "positive", "tol"}),
        ("coef_", "intercept_"),
        _is_line,
        optional=("rank_", "singular_"),
    ),
    "LogisticRegression": _Foreign(
        "sklearn.linear_model",
        frozenset(
            {"penalty", "dual", "tol", "C", "fit_intercept", "intercept_scaling", "class_weight", "solver"}
            | {"random_state", "max_iter", "warm_start", "l1_ratio"}
        ),
        ("coef_", "intercept_", "n_iter_"),
        _is_logistic,
        has_classes=True,
    ),
    "Ridge": _Foreign("sklearn.linear_model", _RIDGE, ("coef_", "intercept_"), _is_line),
    "RidgeCV": _Foreign(
        "sklearn.linear_model",
        frozenset({"alphas", "fit_intercept", "gcv_mode", "alpha_per_target", "store_cv_results", "cv"}),
        ("coef_", "intercept_", "alpha_", "best_score_"),
        _is_line,
    ),
    "StandardScaler": _Foreign(
        "sklearn.preprocessing",
        frozenset({"with_mean", "with_std"}),
        ("n_samples_seen_",),
        _is_scaler,
        optional=("mean_", "var_", "scale_"),
    ),
    "Pipeline": _Foreign("sklearn.pipeline", frozenset({"steps"}), (), lambda model: True),
    "Design": _Foreign("hornbeam.estimators.linear", frozenset(), (), lambda model: True),
}
_SCALER, _DESIGN = "sklearn.StandardScaler", "hornbeam.Design"


def foreign_name(estimator: object) -> str | None:
    """Return the name in files of an estimator of this list; None if it is not in the list."""
    kind = type(estimator)
    foreign = _FOREIGN.get(kind.__name__)
    if foreign is None or not kind.__module__.startswith(foreign.module):
        return None
    return foreign.name_of(kind.__name__)


def is_linear_model(estimator: Any) -> bool:
    """Whether this is the linear model of a comparison, the one pipeline that is a model of its own."""
    steps: list[Any] = getattr(estimator, "steps", [])
    return foreign_name(estimator) is not None and bool(steps) and foreign_name(steps[0][1]) == _DESIGN


def foreign_parameters(estimator: Any, what: str) -> dict[str, Any]:
    """Return the parameters that are not the defaults; ValueError names one that a file cannot hold."""
    kind = type(estimator)
    defaults = {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    found = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in _NEVER_STORED or _equals(value, defaults.get(name)):
            continue
        if name not in _FOREIGN[kind.__name__].parameters:
            raise ValueError(
                f"{what} is a {kind.__name__} with {name}={value!r}, which a model file cannot hold."
            )
        found[name] = value
    return found


def _equals(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return (
        type(value) is type(default)
        and isinstance(value, bool | int | float | str | tuple)
        and value == default
    )


def make_foreign(name: str, parameters: Mapping[str, Any]) -> Any:
    """Make an estimator of this list, not fitted, from parameters of a file; None for unknown names."""
    short = name.rpartition(".")[2]
    foreign = _FOREIGN.get(short)
    if foreign is None or foreign.name_of(short) != name:
        return None
    kind = getattr(importlib.import_module(foreign.module), short)
    for parameter in parameters:
        if parameter not in foreign.parameters:
            raise ModelFormatError(f"{name} has no parameter {parameter[:80]!r} here")
    if short == "Pipeline":
        return kind(_checked_steps(parameters.get("steps")))
    try:
        return kind(**parameters)
    except TypeError as error:  # another version of scikit-learn has other parameters
        raise ModelFormatError(f"{name}: {error}") from None


def _checked_steps(steps: Any) -> list[tuple[str, Any]]:
    """Check that steps are scalers, or a preparation and scalers, with an estimator behind them."""
    is_pairs = isinstance(steps, list) and all(isinstance(step, list) and len(step) == 2 for step in steps)
    if not is_pairs or not steps or len({repr(name) for name, _ in steps}) < len(steps):
        raise ModelFormatError("the steps of a pipeline are not pairs of name and estimator")
    for position, (name, step) in enumerate(steps):
        prepares = foreign_name(step) in ((_DESIGN, _SCALER) if position == 0 else (_SCALER,))
        is_last = position == len(steps) - 1
        is_misplaced = prepares == is_last or (position > 0 and foreign_name(step) == _DESIGN)
        if not isinstance(name, str) or "__" in name or is_misplaced or not hasattr(step, "fit"):
            raise ModelFormatError("a pipeline is not made of scalers and a learner behind them")
    return [(name, step) for name, step in steps]


# ------------------------------------------------------------------------------------------------------------
# Fitted estimators

Write = Callable[[str, Any, RecordWriter], None]
Read = Callable[[str, RecordReader], Any]


def write_foreign(estimator: Any, writer: RecordWriter, write_child: Write) -> None:
    """Put in what `fit` has set."""
    if foreign_name(estimator) == _DESIGN:
        write_design(estimator, writer)
        return
    foreign = _FOREIGN[type(estimator).__name__]
    writer.facts["n_features"] = int(estimator.n_features_in_)
    writer.put_texts("feature_names", [str(name) for name in getattr(estimator, "feature_names_in_", ())])
    if foreign.has_classes:
        write_classes([estimator.classes_], writer)
    present = [name for name in foreign.optional if getattr(estimator, name, None) is not None]
    writer.facts["present"] = present
    by_columns = []
    for name in (*foreign.arrays, *present):
        array = np.asarray(getattr(estimator, name))
        if array.dtype.newbyteorder("<") not in STORED_DTYPES or not _is_reasonable(array):
            raise ValueError(
                f"{type(estimator).__name__}.{name}, of dtype {array.dtype}, holds more than numbers up to "
                f"{_LARGEST:.0e}, which is all that a model file keeps of it."
            )
        if array.ndim > 1 and not array.flags.c_contiguous:
            by_columns.append(name)  # sums of products may differ in the last bit with the memory layout
        writer.put_as_is(name, np.ascontiguousarray(array) if array.ndim else array.reshape(1))
    writer.facts["by_columns"] = by_columns
    writer.facts["scalars"] = [n for n in (*foreign.arrays, *present) if np.ndim(getattr(estimator, n)) == 0]
    if type(estimator).__name__ == "Pipeline":
        for number, (_, step) in enumerate(estimator.steps):
            write_child(f"steps.{number}", step, writer)


def read_foreign(estimator: Any, reader: RecordReader, read_child: Read) -> None:
    """Take out what `fit` had set; check that it can predict."""
    if foreign_name(estimator) == _DESIGN:
        read_design(estimator, reader)
        return
    short = type(estimator).__name__
    foreign = _FOREIGN[short]
    n_features = reader.fact("n_features", int)
    names = read_feature_names(reader, n_features)
    if n_features < 1:
        raise ModelFormatError(f"a {short} has {n_features} features")
    if short == "Pipeline":
        _read_steps(estimator, reader, read_child, n_features)
    else:
        estimator.n_features_in_ = n_features
        if names:
            estimator.feature_names_in_ = np.array(names, dtype=object)
    if foreign.has_classes:
        (estimator.classes_,) = _one(read_classes(reader), "output")
    _read_arrays(estimator, foreign, reader)
    if not foreign.check(estimator):
        raise ModelFormatError(f"the numbers of a {short} do not fit its features and classes")


def _read_arrays(estimator: Any, foreign: _Foreign, reader: RecordReader) -> None:
    present = _some_of(reader.fact("present", list), foreign.optional)
    stored = (*foreign.arrays, *present)
    by_columns = _some_of(reader.fact("by_columns", list), stored)
    scalars = _some_of(reader.fact("scalars", list), stored)
    for name in foreign.optional:
        setattr(estimator, name, None)
    for name in stored:
        array = reader.take_as_is(name)
        array = array.astype(array.dtype.newbyteorder("="))
        if not _is_reasonable(array):
            raise ModelFormatError(f"{name} are not finite numbers up to {_LARGEST:.0e}")
        if name in scalars:
            if array.shape != (1,):
                raise ModelFormatError(f"{name} is not one number")
            setattr(estimator, name, array[0])
        else:
            setattr(estimator, name, np.asfortranarray(array) if name in by_columns else array)


def _read_steps(pipeline: Any, reader: RecordReader, read_child: Read, n_features: int) -> None:
    steps = []
    for number, (name, template) in enumerate(pipeline.steps):
        step = read_child(f"steps.{number}", reader)
        if type(step) is not type(template) or getattr(step, "n_features_in_", 0) != n_features:
            raise ModelFormatError("a step of a pipeline is not what its parameters say")
        n_features = getattr(step, "n_features_out_", n_features)  # a scaler keeps the number of columns
        steps.append((name, step))
    pipeline.steps = steps


def _is_reasonable(array: AnyArray) -> bool:
    return array.dtype.kind in "fiu" and bool((np.abs(array.astype(np.float64)) <= _LARGEST).all())


def _some_of(names: Sequence[Any], allowed: Sequence[str]) -> list[str]:
    if not set(map(repr, names)) <= set(map(repr, allowed)):
        raise ModelFormatError(f"there are attributes other than {', '.join(allowed) or 'none'}")
    return list(names)


def _one(entries: Sequence[Any], what: str) -> Sequence[Any]:
    if len(entries) != 1:
        raise ModelFormatError(f"there are {len(entries)} {what}s, not one")
    return entries
