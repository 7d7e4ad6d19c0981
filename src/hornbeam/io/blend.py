"""Blends into a record and back: members are children; their weights and scores are kept beside them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import Bunch

from hornbeam.errors import ModelFormatError
from hornbeam.estimators.blend import BlendClassifier, BlendRegressor
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.io.schema import read_classes, read_feature_names, write_classes

__all__ = ["read_blend", "write_blend"]

Blend = BlendClassifier | BlendRegressor
Write = Callable[[str, Any, RecordWriter], None]
Read = Callable[[str, RecordReader], Any]

_NUMBERS = ("weight", "adds", "seconds")


def write_blend(blend: Blend, writer: RecordWriter, write_child: Write) -> None:
    """Put in the members, their weights and scores on rows they had not seen, and the simple tree."""
    if isinstance(blend, BlendClassifier):
        write_classes([blend.classes_], writer)
    writer.facts["n_features"] = int(blend.n_features_in_)
    writer.facts["seed"] = int(blend._seed)
    writer.put_texts("feature_names", list(getattr(blend, "feature_names_in_", ())))
    writer.put_texts("names", list(blend.weights_))
    writer.put("weights", np.array(list(blend.weights_.values())))
    for number, member in enumerate(blend.named_estimators_.values()):
        write_child(f"members.{number}", member, writer)
    records = [] if writer.predict_only else blend.members_
    writer.put_texts("records.names", [record["member"] for record in records])
    for name in (blend.metric_, *_NUMBERS):
        writer.put(f"records.{name}", np.array([record[name] for record in records], dtype=np.float64))
    writer.put_texts("failures", [text for pair in blend.failures_.items() for text in pair])
    writer.put_texts("verdict", [blend.verdict_])
    writer.facts["simple_tree"] = blend.simple_tree_ is not None
    if blend.simple_tree_ is not None:
        write_child("simple_tree", blend.simple_tree_, writer)


def read_blend(blend: Blend, reader: RecordReader, read_child: Read) -> None:
    """Take out a blend; check that its members predict the same target."""
    if blend.members is not None:
        blend.members = [(name, member) for name, member in blend.members]
    classes = None
    if isinstance(blend, BlendClassifier):
        classes = _one(read_classes(reader), "there are several outputs")
        blend.classes_ = classes
    blend.n_features_in_ = reader.count("n_features")
    _require(blend.n_features_in_ > 0, "there are no columns")
    names = read_feature_names(reader, blend.n_features_in_)
    if names:
        blend.feature_names_in_ = np.array(names, dtype=object)
    blend._seed = reader.count("seed")
    members = reader.take_texts("names")
    weights = reader.take("weights", np.float64, (len(members),))
    _require(len(set(members)) == len(members) > 0, "there is no member, or two of a name")
    _require(bool((weights > 0).all()) and math.isclose(weights.sum(), 1.0), "the weights do not sum to 1")
    blend.weights_ = dict(zip(members, weights.tolist(), strict=True))
    fitted = [read_child(f"members.{number}", reader) for number in range(len(members))]
    for member in fitted:
        _check_member(blend, member, names, classes)
    blend.named_estimators_ = Bunch(**dict(zip(members, fitted, strict=True)))
    blend.members_ = _read_records(blend.metric_, reader)
    texts = reader.take_texts("failures")
    _require(len(texts) % 2 == 0, "a failure has no reason")
    blend.failures_ = dict(zip(texts[::2], texts[1::2], strict=True))
    blend.verdict_ = _one(reader.take_texts("verdict"), "there is not one verdict")
    blend.simple_tree_ = None
    if reader.fact("simple_tree", bool):
        blend.simple_tree_ = read_child("simple_tree", reader)
        _check_member(blend, blend.simple_tree_, names, classes)


def _check_member(blend: Blend, member: Any, names: list[str], classes: Any) -> None:
    # A pipeline is of the kind of its last step.
    learner = member.steps[-1][1] if hasattr(member, "steps") else member
    right_kind = is_regressor(learner) if classes is None else is_classifier(learner)
    _require(right_kind, f"a {type(member).__name__} is not what the blend is made of")
    _require(member.n_features_in_ == blend.n_features_in_, "a member has other columns")
    _require(list(getattr(member, "feature_names_in_", names)) == names, "a member has other columns")
    _require(getattr(member, "n_outputs_", 1) == 1, "a member has several outputs")
    if classes is None:
        return
    _require(hasattr(member, "predict_proba"), "a member has no class shares")
    known = np.asarray(member.classes_)
    same = known.dtype.kind == classes.dtype.kind and np.array_equal(known, classes)
    _require(same, "a member has other classes")


def _read_records(metric: str, reader: RecordReader) -> list[dict[str, Any]]:
    names = reader.take_texts("records.names")
    columns = {
        name: reader.take(f"records.{name}", np.float64, (len(names),)).tolist()
        for name in (metric, *_NUMBERS)
    }
    return [
        {"member": name, **{column: values[place] for column, values in columns.items()}}
        for place, name in enumerate(names)
    ]


def _one(values: list[Any], otherwise: str) -> Any:
    _require(len(values) == 1, otherwise)
    return values[0]


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ModelFormatError(f"the blend: {otherwise}")
