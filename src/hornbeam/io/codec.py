"""Which estimators a model file may hold, and what of each is kept besides its parameters.

The table at the end is closed: a name in a file is looked up there and nowhere else, so a file can neither
import nor run anything. A new estimator gets a line there and two functions: one puts what `fit` has set into
a record, the other takes it out and sets it on an estimator that already has its parameters. Members that are
trees over one schema go into one ensemble; members that are estimators are children (`write_child`,
`read_child`), whose tensors carry the child's name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from hornbeam.errors import ModelFormatError
from hornbeam.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from hornbeam.estimators.adaboost.members import OtherMembers, TreeMembers
from hornbeam.estimators.answers import ClassVotes
from hornbeam.estimators.blend import BlendClassifier, BlendRegressor
from hornbeam.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.estimators.forest.bagging import BaggingClassifier, BaggingRegressor
from hornbeam.estimators.growth import GrownModel
from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from hornbeam.estimators.stacking import StackingClassifier, StackingRegressor
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.estimators.tree.density import DensityTree
from hornbeam.io.adaboost import read_rounds, write_rounds
from hornbeam.io.blend import read_blend, write_blend
from hornbeam.io.boosting import read_boosting, write_boosting
from hornbeam.io.draws import read_draws, write_draws
from hornbeam.io.ensemble import read_ensemble, write_ensemble
from hornbeam.io.foreign import (
    foreign_name,
    foreign_parameters,
    is_linear_model,
    read_foreign,
    write_foreign,
)
from hornbeam.io.neighbors import (
    read_neighbor_classes,
    read_neighbor_numbers,
    write_neighbor_classes,
    write_neighbor_numbers,
)
from hornbeam.io.parameters import estimator_of, parameters_as_json, parameters_of
from hornbeam.io.pruning import read_pruning, write_pruning
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.io.schema import read_classes, read_feature_names, write_classes
from hornbeam.io.stacking import read_stack, write_stack
from hornbeam.model import Ensemble
from hornbeam.params import Declared, options_of
from hornbeam.recipes.bag import MemberFeatures

__all__ = [
    "Codec",
    "codec_of",
    "read_child",
    "read_estimator",
    "require_model",
    "write_child",
    "write_estimator",
]


@dataclass(frozen=True)
class Codec:
    """How the fitted state of an estimator gets into a record and back."""

    estimator: type[Declared]
    write: Callable[[Any, RecordWriter], None]
    read: Callable[[Any, RecordReader], None]


def write_estimator(estimator: Any, writer: RecordWriter, what: str = "the model") -> dict[str, Any]:
    """Put a fitted estimator, ours or one of a few others, into a record; return its description."""
    foreign = foreign_name(estimator)
    if foreign is None:
        codec = codec_of(estimator)
        parameters = parameters_of(
            estimator, _estimators()
        )  # parameters first: their errors name members that cannot be saved
        codec.write(estimator, writer)
        return writer.description(codec.estimator.__name__, parameters)
    parameters = parameters_as_json(foreign_parameters(estimator, what), _estimators(), what)
    write_foreign(estimator, writer, write_child)
    return writer.description(foreign, parameters)


def read_estimator(reader: RecordReader, *, is_part: bool = False) -> Any:
    """Take a fitted estimator out of a record; some are allowed only as parts of others."""
    estimator = estimator_of(reader.estimator, reader.parameters, _estimators())
    if reader.estimator in _CODECS:
        _CODECS[reader.estimator].read(estimator, reader)
    elif is_part or is_linear_model(estimator):
        read_foreign(estimator, reader, read_child)
    else:
        raise ModelFormatError(f"a {type(estimator).__name__} is only known as a part of others")
    reader.finish()
    return estimator


def write_child(name: str, estimator: Any, writer: RecordWriter) -> None:
    """Put in a fitted estimator that is a part of another."""
    writer.keep_child(name, write_estimator(estimator, writer.child(name), name))


def read_child(name: str, reader: RecordReader) -> Any:
    """Take out a fitted estimator that is a part of another."""
    return read_estimator(reader.child(name), is_part=True)


def require_model(estimator: object) -> None:
    """Refuse what is not a model that a file can hold: TypeError."""
    if not is_linear_model(estimator):
        codec_of(estimator)


def codec_of(estimator: object) -> Codec:
    """Find the codec of an estimator; TypeError for what a model file cannot hold."""
    kind = type(estimator)
    codec = _CODECS.get(kind.__name__)
    if codec is not None and codec.estimator is kind:
        return codec
    if codec is None:
        raise TypeError(
            f"hornbeam.save takes the estimators of hornbeam; got {kind.__module__}.{kind.__qualname__}. "
            "For other models there is skops."
        )
    raise TypeError(
        f"{kind.__module__}.{kind.__qualname__} is not hornbeam's {kind.__name__}: what your class "
        "adds to it would be lost in a model file."
    )


def _estimators() -> dict[str, type[Declared]]:
    return {name: codec.estimator for name, codec in _CODECS.items()}


# ------------------------------------------------------------------------------------------------------------
# Single trees and forests


def _write_grown(model: GrownModel, writer: RecordWriter) -> None:
    if isinstance(model, ClassVotes):
        write_classes(model.classes_ if isinstance(model.classes_, list) else [model.classes_], writer)
    writer.facts["max_features"] = int(model.max_features_)
    writer.put("missing_seen", np.array(model._missing_seen, dtype=np.bool_))
    write_ensemble(model._model, writer)


def _read_grown(model: GrownModel, reader: RecordReader) -> Ensemble:
    classes = read_classes(reader) if isinstance(model, ClassVotes) else None
    ensemble = read_ensemble(reader)
    n_features, given_names = len(ensemble.schema.names), ensemble.schema.given_names
    model.max_features_ = reader.fact("max_features", int)
    if not 1 <= model.max_features_ <= n_features:
        raise ModelFormatError(f"max_features is {model.max_features_}, with {n_features} features")
    model.n_features_in_ = len(given_names)
    if ensemble.schema.names_given:
        model.feature_names_in_ = np.array(given_names, dtype=object)
    model.n_outputs_ = ensemble.trees[0].n_outputs
    model._missing_seen = tuple(reader.take("missing_seen", np.bool_, (n_features,)).tolist())
    model._model = ensemble
    if isinstance(model, ClassVotes):
        _set_classes(model, classes or [], ensemble)
    elif ensemble.trees[0].n_values != 1:
        raise ModelFormatError("the values of the trees are not one number per output")
    return ensemble


def _set_classes(model: ClassVotes, classes: list[Any], ensemble: Ensemble) -> None:
    counts = [len(labels) for labels in classes]
    if (ensemble.trees[0].n_outputs, ensemble.trees[0].n_values) != (len(counts), max(counts)):
        raise ModelFormatError("the values of the trees do not have one entry per output and class")
    if min(counts) < max(counts):  # outputs with fewer classes are padded, and the padding must be empty
        for number, tree in enumerate(ensemble.trees):
            if any(tree.value[:, k, n:].any() for k, n in enumerate(counts)):
                raise ModelFormatError(
                    f"tree {number} gives a share to a class that its output does not have"
                )
    several = len(classes) > 1
    model.classes_ = classes if several else classes[0]
    model.n_classes_ = counts if several else counts[0]


def _write_tree(tree: DecisionTreeClassifier | DecisionTreeRegressor, writer: RecordWriter) -> None:
    _write_grown(tree, writer)
    write_pruning(tree._pruning, writer)


def _read_tree(tree: DecisionTreeClassifier | DecisionTreeRegressor, reader: RecordReader) -> None:
    ensemble = _read_grown(tree, reader)
    tree._pruning = read_pruning(reader)
    if len(ensemble.trees) != 1:
        raise ModelFormatError(f"a single decision tree has {len(ensemble.trees)} trees")


def _write_density(tree: DensityTree, writer: RecordWriter) -> None:
    writer.put("box.low", tree.low_)
    writer.put("box.high", tree.high_)
    write_ensemble(tree._model, writer)
    write_pruning(tree._pruning, writer)


def _read_density(tree: DensityTree, reader: RecordReader) -> None:
    ensemble = read_ensemble(reader)
    n_features = len(ensemble.schema.names)
    low, high = (reader.take(name, np.float64, (n_features,)) for name in ("box.low", "box.high"))
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise ModelFormatError("the bounding box has no extent, or bounds that are not finite")
    if (len(ensemble.trees), ensemble.trees[0].n_outputs, ensemble.trees[0].n_values) != (1, 1, 1):
        raise ModelFormatError("a density tree is one tree with one value per node")
    if (ensemble.trees[0].value < 0).any():
        raise ModelFormatError("a density is negative")
    tree.n_features_in_ = len(ensemble.schema.given_names)
    if ensemble.schema.names_given:
        tree.feature_names_in_ = np.array(ensemble.schema.given_names, dtype=object)
    tree.low_, tree.high_ = low, high
    tree._model = ensemble
    tree._pruning = read_pruning(reader)


def _write_forest(forest: Any, writer: RecordWriter) -> None:
    _write_grown(forest, writer)
    write_draws(forest, writer)


def _read_forest(forest: Any, reader: RecordReader) -> None:
    ensemble = _read_grown(forest, reader)
    n_classes = [len(labels) for labels in forest._class_labels()] or [0] * forest.n_outputs_
    read_draws(forest, reader, n_members=len(ensemble.trees), n_classes=n_classes)


# ------------------------------------------------------------------------------------------------------------
# Bagging: trees that grew on one table are one ensemble, other members are estimators of their own


def _write_bagging(bag: BaggingClassifier | BaggingRegressor, writer: RecordWriter) -> None:
    grown = bag._grown is not None
    writer.facts["members"] = 0 if grown else len(bag._fitted_members)
    writer.facts["features_per_member"] = bag._features.n_wanted
    writer.facts["features_with_replacement"] = bag._features.with_replacement
    if grown:
        _write_grown(bag._grown, writer)
    else:
        writer.put("features_used", _features_used(bag))
        writer.put_texts("feature_names", list(getattr(bag, "feature_names_in_", ())))
        if isinstance(bag, BaggingClassifier):
            write_classes([bag.classes_], writer)
        for number, member in enumerate(bag._fitted_members):
            write_child(f"members.{number}", member, writer)
    # Which columns a member looks at follows from the draws.
    write_draws(bag, writer, needed=bag._features.n_wanted > 0)


def _read_bagging(bag: BaggingClassifier | BaggingRegressor, reader: RecordReader) -> None:
    n_members = reader.count("members")
    bag._features = MemberFeatures(
        reader.fact("features_per_member", int), reader.fact("features_with_replacement", bool)
    )
    template = bag._tree() if bag.estimator is None else bag.estimator
    bag.estimator_ = _unfitted(template)
    bag._grown, bag._fitted_members = None, ()
    if n_members:
        _read_members(bag, reader, n_members)
    else:
        _read_grown_members(bag, _unfitted(template), reader)
    if isinstance(bag, BaggingClassifier):
        bag.n_classes_ = len(bag.classes_)
    n_classes = [bag.n_classes_] if isinstance(bag, BaggingClassifier) else [0]
    read_draws(bag, reader, n_members=bag._n_members, n_classes=n_classes)
    _check_features(bag)


def _features_used(bag: BaggingClassifier | BaggingRegressor) -> npt.NDArray[np.bool_]:
    used = np.zeros(bag.n_features_in_, dtype=np.bool_)
    for member in range(bag._n_members):
        used[bag._features_of(member)] = True
    return used


def _check_features(bag: BaggingClassifier | BaggingRegressor) -> None:
    drawn, n_features = bag._features.n_wanted, bag.n_features_in_
    if not 0 <= drawn <= n_features or (drawn and not hasattr(bag, "_plan")):
        raise ModelFormatError(f"the members have {drawn} features each, of {n_features}")
    for number, member in enumerate(bag._fitted_members):
        n_own = len(bag._features_of(number)) if drawn else n_features
        if member.n_features_in_ != n_own:
            raise ModelFormatError(f"member {number} has {member.n_features_in_} features, not {n_own}")


def _unfitted(estimator: Any) -> Any:
    if not isinstance(estimator, Declared):
        return clone(estimator)
    cls = type(estimator)
    return cls(**{name: getattr(estimator, name) for name in options_of(cls)})


def _read_grown_members(bag: BaggingClassifier | BaggingRegressor, tree: Any, reader: RecordReader) -> None:
    if not isinstance(tree, bag._tree):
        raise ModelFormatError(f"a {type(bag).__name__} of a {type(tree).__name__} has no trees of its own")
    _read_grown(tree, reader)
    if tree.n_outputs_ != 1:
        raise ModelFormatError("bagging has one output")
    tree._pruning = None
    bag._grown = tree
    bag.n_features_in_ = tree.n_features_in_
    if hasattr(tree, "feature_names_in_"):
        bag.feature_names_in_ = tree.feature_names_in_
    if isinstance(bag, BaggingClassifier):
        bag.classes_ = tree._class_labels()[0]


def _read_members(bag: BaggingClassifier | BaggingRegressor, reader: RecordReader, n_members: int) -> None:
    bag.n_features_in_ = len(reader.take("features_used", np.bool_, (None,)))
    names = read_feature_names(reader, bag.n_features_in_)
    if names:
        bag.feature_names_in_ = np.array(names, dtype=object)
    if isinstance(bag, BaggingClassifier):
        (bag.classes_,) = read_classes(reader)
    members = tuple(read_child(f"members.{number}", reader) for number in range(n_members))
    for member in members:
        known: Any = getattr(member, "classes_", ())
        if type(member) is not type(bag.estimator_) or (
            isinstance(bag, BaggingClassifier) and not np.isin(known, bag.classes_).all()
        ):
            raise ModelFormatError("a member is not what the bag is made of")
    bag._fitted_members = members


# ------------------------------------------------------------------------------------------------------------
# AdaBoost: trees in one ensemble, or members that are estimators of hornbeam, as children


def _write_adaboost(model: Any, writer: RecordWriter) -> None:
    if isinstance(model, AdaBoostClassifier):
        write_classes([model.classes_], writer)
    write_rounds(model, writer)
    members = model._members
    writer.facts["members"] = 0 if isinstance(members, TreeMembers) else len(members.fitted)
    if isinstance(members, TreeMembers):
        writer.put("missing_seen", np.array(members.missing_seen, dtype=np.bool_))
        write_ensemble(members.model, writer)
        return
    for number, member in enumerate(members.fitted):
        write_child(f"members.{number}", member, writer)


def _read_adaboost(model: Any, reader: RecordReader) -> None:
    classes = read_classes(reader) if isinstance(model, AdaBoostClassifier) else None
    if classes is not None and len(classes) != 1:
        raise ModelFormatError(f"AdaBoost has one output, not {len(classes)}")
    n_rounds = read_rounds(model, reader)
    n_members = reader.count("members")
    if n_members:
        model._members = _read_other_members(n_members, reader)
        names, names_given = model._members.names, model._members.names_given
    else:
        model._members = _read_tree_members(model, classes[0] if classes else None, reader)
        n_members = len(model._members.model.trees)
        schema = model._members.model.schema
        names, names_given = schema.given_names, schema.names_given
    if n_members != n_rounds:
        raise ModelFormatError(f"there are {n_members} members, but the weights of {n_rounds}")
    model.n_features_in_ = len(names)
    if names_given:
        model.feature_names_in_ = np.array(names, dtype=object)
    if classes is not None:
        model.classes_, model.n_classes_ = classes[0], len(classes[0])


def _read_tree_members(model: Any, classes: Any, reader: RecordReader) -> TreeMembers:
    ensemble = read_ensemble(reader)
    shape = (1, 1 if classes is None else len(classes))
    if (ensemble.trees[0].n_outputs, ensemble.trees[0].n_values) != shape:
        raise ModelFormatError("the values of the trees do not have one entry per class, or are not numbers")
    seen = reader.take("missing_seen", np.bool_, (len(ensemble.schema.names),))
    tree = model._default_estimator() if model.estimator is None else model.estimator
    return TreeMembers(ensemble, tree, classes, tuple(seen.tolist()))


def _read_other_members(n_members: int, reader: RecordReader) -> OtherMembers:
    fitted: tuple[Any, ...] = tuple(read_child(f"members.{number}", reader) for number in range(n_members))
    if len({member.n_features_in_ for member in fitted}) > 1:
        raise ModelFormatError("the members were fitted on tables of different widths")
    names_given = hasattr(fitted[0], "feature_names_in_")
    names = fitted[0].feature_names_in_ if names_given else [f"x{j}" for j in range(fitted[0].n_features_in_)]
    return OtherMembers(fitted, tuple(names), names_given)


# ------------------------------------------------------------------------------------------------------------


def _write_stack(stack: Any, writer: RecordWriter) -> None:
    write_stack(stack, writer, write_child)


def _read_stack(stack: Any, reader: RecordReader) -> None:
    read_stack(stack, reader, read_child)


# ------------------------------------------------------------------------------------------------------------


def _write_blend(blend: Any, writer: RecordWriter) -> None:
    write_blend(blend, writer, write_child)


def _read_blend(blend: Any, reader: RecordReader) -> None:
    read_blend(blend, reader, read_child)


# ------------------------------------------------------------------------------------------------------------

_CODECS: Mapping[str, Codec] = {
    codec.estimator.__name__: codec
    for codec in (
        Codec(DecisionTreeClassifier, _write_tree, _read_tree),
        Codec(DensityTree, _write_density, _read_density),
        Codec(DecisionTreeRegressor, _write_tree, _read_tree),
        Codec(RandomForestClassifier, _write_forest, _read_forest),
        Codec(RandomForestRegressor, _write_forest, _read_forest),
        Codec(ExtraTreesClassifier, _write_forest, _read_forest),
        Codec(ExtraTreesRegressor, _write_forest, _read_forest),
        Codec(BaggingClassifier, _write_bagging, _read_bagging),
        Codec(BaggingRegressor, _write_bagging, _read_bagging),
        Codec(GradientBoostingClassifier, write_boosting, read_boosting),
        Codec(GradientBoostingRegressor, write_boosting, read_boosting),
        Codec(KNeighborsClassifier, write_neighbor_classes, read_neighbor_classes),
        Codec(KNeighborsRegressor, write_neighbor_numbers, read_neighbor_numbers),
        Codec(AdaBoostClassifier, _write_adaboost, _read_adaboost),
        Codec(AdaBoostRegressor, _write_adaboost, _read_adaboost),
        Codec(StackingClassifier, _write_stack, _read_stack),
        Codec(StackingRegressor, _write_stack, _read_stack),
        Codec(BlendClassifier, _write_blend, _read_blend),
        Codec(BlendRegressor, _write_blend, _read_blend),
    )
}
