"""Gradient boosting into a record and back: the start and the meaning of its scores, and its history."""

from typing import Any

import numpy as np

from hornbeam.errors import ModelFormatError
from hornbeam.estimators.boosting import GradientBoostingClassifier
from hornbeam.estimators.boosting.settings import CLASSICAL, plan_boosting
from hornbeam.io.ensemble import read_ensemble, write_ensemble
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.io.schema import read_classes, write_classes
from hornbeam.model import Ensemble
from hornbeam.recipes.boosting.losses import LOSSES, Loss, named_loss

__all__ = ["read_boosting", "write_boosting"]

_HISTORIES = ("train_score", "validation_score")


def write_boosting(model: Any, writer: RecordWriter) -> None:
    """Put in what `fit` has set; the scores of the rounds only on request."""
    if isinstance(model, GradientBoostingClassifier):
        write_classes([model.classes_], writer)
    loss: Loss = model._loss
    writer.facts["loss"] = loss.name
    writer.facts["loss_parameter"] = float(loss.parameter)
    writer.facts["key"] = model._key
    writer.facts["n_iter"] = model.n_iter_
    writer.facts["best_iteration"] = model.best_iteration_
    writer.facts["settings"] = model.settings_
    writer.put("baseline", model._baseline)
    writer.put("missing_seen", np.array(model._missing_seen, dtype=np.bool_))
    for name in _HISTORIES:
        history = getattr(model, f"{name}_")
        writer.put(name, history[:0] if writer.predict_only else history)
    write_ensemble(model._model, writer)


def read_boosting(model: Any, reader: RecordReader) -> None:
    """Take out what was put in, checked."""
    is_classifier = isinstance(model, GradientBoostingClassifier)
    if is_classifier:
        (model.classes_,) = _only_output(read_classes(reader))
        model.n_classes_ = len(model.classes_)
    ensemble = read_ensemble(reader)
    model._model = ensemble
    model._baseline = reader.take("baseline", np.float64, (None,))
    model._loss = _read_loss(reader, ensemble, model.n_classes_ if is_classifier else 0)
    if model._baseline.shape != (model._loss.n_scores,) or not np.isfinite(model._baseline).all():
        raise ModelFormatError("the constants that scores start from are not one finite number per score")
    model.settings_ = _read_settings(model, reader)
    _read_history(model, reader)
    n_features = len(ensemble.schema.names)
    model.n_features_in_ = len(ensemble.schema.given_names)
    if ensemble.schema.names_given:
        model.feature_names_in_ = np.array(ensemble.schema.given_names, dtype=object)
    model._missing_seen = tuple(reader.take("missing_seen", np.bool_, (n_features,)).tolist())


def _only_output(classes: list[Any]) -> list[Any]:
    if len(classes) != 1:
        raise ModelFormatError(f"gradient boosting has one output; there are classes of {len(classes)}")
    return classes


def _read_loss(reader: RecordReader, ensemble: Ensemble, n_classes: int) -> Loss:
    """Take out the loss; it must fit the classes and the trees."""
    name, parameter = reader.fact("loss", str), reader.fact("loss_parameter", float)
    of_classes = {1: {"only_class"}, 2: {"log_loss", "exponential"}}.get(n_classes, {"softmax"})
    of_numbers = LOSSES.keys() - {"only_class", "log_loss", "exponential", "softmax"}
    if name not in (of_classes if n_classes else of_numbers):
        raise ModelFormatError(f"the loss {name[:80]!r} does not go with the targets of the model")
    if not np.isfinite(parameter):
        raise ModelFormatError("the parameter of the loss is not finite")
    n_scores = n_classes if n_classes > 2 else 1
    n_trees = len(ensemble.trees)
    turns = np.zeros(n_trees, dtype=np.int32) if ensemble.adds_to is None else ensemble.adds_to
    if not np.array_equal(turns, np.arange(n_trees) % n_scores) or n_trees % n_scores:
        raise ModelFormatError("the trees do not take turns at the scores, round by round")
    if any(tree.value.shape[1:] != (1, 1) for tree in ensemble.trees):
        raise ModelFormatError("the trees of gradient boosting have one value per node")
    return named_loss(name, parameter=parameter, n_scores=n_scores)


def _read_settings(model: Any, reader: RecordReader) -> dict[str, Any]:
    """Take out the settings of the fit; files of 0.1 have all of them among the parameters instead."""
    if not reader.has_fact("settings"):
        plan = plan_boosting(
            model, n_rows=0, n_columns=1, n_scores=1, given_validation=False, can_judge=False
        )
        return plan.public
    settings = dict(reader.fact("settings", dict))
    known = CLASSICAL.public
    if not isinstance(model, GradientBoostingClassifier):
        del known["class_trees"]
    else:
        settings.setdefault("class_trees", "separate")  # files from before they could be shared
    if settings.keys() != known.keys():
        raise ModelFormatError("the settings of the fit are not those of gradient boosting")
    for name, value in settings.items():
        if not isinstance(value, bool | int | float | str | None):
            raise ModelFormatError(f"the setting {name!r} is not a plain value")
    n_members = settings["n_members"]
    n_trees = len(model._model.trees)
    if type(n_members) is not int or n_members < 1 or n_trees % (n_members * model._loss.n_scores):
        raise ModelFormatError("the number of members does not go with the number of trees")
    return settings


def _read_history(model: Any, reader: RecordReader) -> None:
    model._key = reader.fact("key", int)
    model.n_iter_ = reader.fact("n_iter", int)
    model.best_iteration_ = reader.fact("best_iteration", int)
    n_kept = len(model._model.trees) // model._trees_per_round
    if not (0 < model.best_iteration_ <= model.n_iter_ and n_kept in (model.best_iteration_, model.n_iter_)):
        raise ModelFormatError("the numbers of rounds do not go with the number of trees")
    if not 0 <= model._key < 2**64:
        raise ModelFormatError("the key of the random draws does not have 64 bits")
    for name in _HISTORIES:
        history = reader.take(name, np.float64, (None,))
        if len(history) > model.n_iter_:
            raise ModelFormatError(f"{name} has {len(history)} entries, with {model.n_iter_} rounds")
        setattr(model, f"{name}_", history)
