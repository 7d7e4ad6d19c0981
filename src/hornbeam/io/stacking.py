"""Stacks into a record and back: members and the final estimator are children, numbered in order."""

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from sklearn.base import is_classifier, is_regressor

from hornbeam.errors import ModelFormatError
from hornbeam.estimators.stacking import StackingClassifier, StackingRegressor
from hornbeam.estimators.stacking.answers import columns_of_levels
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.io.schema import read_classes, read_feature_names, write_classes
from hornbeam.recipes.stack import Method

__all__ = ["read_stack", "write_stack"]

Stack = StackingClassifier | StackingRegressor
Write = Callable[[str, Any, RecordWriter], None]
Read = Callable[[str, RecordReader], Any]


def write_stack(stack: Stack, writer: RecordWriter, write_child: Write) -> None:
    """Put in the members, the final estimator, and the members' predictions for rows they had not seen."""
    if isinstance(stack, StackingClassifier):
        write_classes([stack.classes_], writer)
    writer.facts["n_features"] = int(stack.n_features_in_)
    writer.put_texts("feature_names", list(getattr(stack, "feature_names_in_", ())))
    writer.facts["level_sizes"] = [len(level) for level in stack.estimators_]
    writer.facts["methods"] = list(stack.stack_method_.values())
    writer.put("member_scores", np.array(list(stack.member_scores_.values())))
    for number, member in enumerate(stack.named_estimators_.values()):
        write_child(f"members.{number}", member, writer)
    write_child("final", stack.final_estimator_, writer)
    keeps_answers = bool(stack._answers) and not writer.predict_only
    writer.facts["answers"] = keeps_answers
    if keeps_answers:
        for number, answers in enumerate(stack._answers.values()):
            writer.put(f"answers.{number}", answers)


def read_stack(stack: Stack, reader: RecordReader, read_child: Read) -> None:
    """Take out a stack; check that each level fits the one before."""
    classes = None
    if isinstance(stack, StackingClassifier):
        (classes,) = read_classes(reader)
        stack.classes_ = classes
    stack.n_features_in_ = reader.fact("n_features", int)
    _require(stack.n_features_in_ > 0, "there are no columns")
    names = read_feature_names(reader, stack.n_features_in_)
    if names:
        stack.feature_names_in_ = np.array(names, dtype=object)
    stack.levels = [[(name, member) for name, member in level] for level in stack.levels]
    kept = [[name for name, member in level if member != "drop"] for level in stack.levels]
    _require(
        reader.fact("level_sizes", list) == [len(level) for level in kept], "the levels have other sizes"
    )
    _require(kept and all(kept), "a level has no members")
    flat = [name for level in kept for name in level]
    methods = reader.fact("methods", list)
    _require(
        len(methods) == len(flat) and set(map(repr, methods)) <= set(map(repr, get_args(Method))), "methods"
    )
    stack.stack_method_ = dict(zip(flat, methods, strict=True))
    scores = reader.take("member_scores", np.float64, (len(flat),)).tolist()
    stack.member_scores_ = dict(zip(flat, scores, strict=True))
    members = iter([read_child(f"members.{number}", reader) for number in range(len(flat))])
    stack.estimators_ = [[next(members) for _ in level] for level in kept]
    stack.final_estimator_ = read_child("final", reader)
    _check_members(stack, classes)
    _read_answers(stack, reader, classes)


def _check_members(stack: Stack, classes: Any) -> None:
    is_right_kind = is_regressor if classes is None else is_classifier
    methods = iter(stack.stack_method_.values())
    # Checked first: the header may claim any number, and each column is about to get a name.
    for member in stack.estimators_[0]:
        _require(
            member.n_features_in_ == stack.n_features_in_,
            f"there are {stack.n_features_in_} columns, of which a member takes {member.n_features_in_}",
        )
    columns = columns_of_levels(stack, classes)
    for level, names in zip([*stack.estimators_, [stack.final_estimator_]], columns, strict=True):
        for member in level:
            # A pipeline is of the kind of its last step.
            learner = member.steps[-1][1] if hasattr(member, "steps") else member
            _require(is_right_kind(learner), f"a {type(member).__name__} is not what the stack is made of")
            _require(member.n_features_in_ == len(names), f"a member does not take {len(names)} columns")
            _require(list(getattr(member, "feature_names_in_", names)) == names, "a member has other columns")
            _require(getattr(member, "n_outputs_", 1) == 1, "a member has several outputs")
            method = "predict" if member is stack.final_estimator_ else next(methods)
            _require(hasattr(member, method), f"a {type(member).__name__} has no {method}")
            if classes is not None:
                known = np.asarray(member.classes_)
                agree = known.dtype.kind == classes.dtype.kind and np.isin(known, classes).all()
                _require(agree, "a member has other classes")
                needs_all = method == "decision_function"
                _require(len(known) == len(classes) or not needs_all, "a member lacks classes")


def _read_answers(stack: Stack, reader: RecordReader, classes: Any) -> None:
    stack._answers = {}
    if not reader.fact("answers", bool):
        return
    n_rows = None
    for number, (name, method) in enumerate(stack.stack_method_.items()):
        one = method == "predict" or classes is None or (method == "decision_function" and len(classes) == 2)
        found = reader.take(f"answers.{number}", np.float64, (n_rows, 1 if one else len(classes)))
        _require(not np.isinf(found).any(), "an answer is infinite")
        n_rows = len(found)
        stack._answers[name] = found


def _require(holds: Any, otherwise: str) -> None:
    if not holds:
        raise ModelFormatError(f"the stack: {otherwise}")
