"""Predictions of a boosted model: scores of rows, and inspection of its trees.

The trees are added to the constant that the rounds started from; `recipes/boosting/losses.py` says what such
a score stands for. Fitting is in `rounds.py`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.table import Table
from hornbeam.data.target import read_offset
from hornbeam.estimators.base import TreeModel, paths_through
from hornbeam.estimators.first_members import copy_of, members_to_keep
from hornbeam.estimators.tree import DecisionTreeRegressor
from hornbeam.inside.ensembles import path_contributions
from hornbeam.inside.importance import shares_of_gain
from hornbeam.inside.shapley import ScoreSum, TreeSum
from hornbeam.inside.words import named
from hornbeam.model import RowsToPredict
from hornbeam.params import BoostingOptions, fitted, options_of, resolve_max_features
from hornbeam.recipes.boosting.losses import Loss, OwnLoss

__all__ = ["BoostingScores"]

FloatArray = npt.NDArray[np.float64]


class BoostingScores(TreeModel, BoostingOptions):
    """What predictions of both kinds of gradient boosting share."""

    _loss: Loss = fitted()
    _baseline: FloatArray = fitted()
    _key: int = fitted()
    settings_: dict[str, Any] = fitted()
    train_score_: FloatArray = fitted()
    validation_score_: FloatArray = fitted()

    # --- Predicting --------------------------------------------------------------------------------------

    def _start(self, rows: RowsToPredict, offset: Any) -> FloatArray:
        """Return the scores of rows before the first tree."""
        scores = np.empty((rows.n_rows, 1, self._loss.n_scores))
        scores[:] = self._baseline
        given = read_offset(offset, rows.n_rows, self._loss.n_scores)
        self._loss.check_offset(given)
        if given is not None:
            scores[:, 0, :] += given
        return scores

    def _scores(self, X: Any, offset: Any) -> FloatArray:
        """Return the scores of rows: rows x scores."""
        rows, n_threads = self._rows(X)
        return self._model.total(rows, n_threads=n_threads, onto=self._start(rows, offset))[:, 0, :]

    def _staged_scores(self, X: Any, offset: Any) -> Iterator[FloatArray]:
        """Yield the scores of rows after each round."""
        rows, n_threads = self._rows(X)
        start = self._start(rows, offset)
        for scores in self._model.stages(rows, n_threads=n_threads, step=self._trees_per_round, onto=start):
            yield scores[:, 0, :]

    def _score_sum(self) -> ScoreSum:
        """Return the sum of the trees and the constant that the rounds started from, without offsets."""
        n_scores = self._loss.n_scores
        trees = TreeSum(self._model, np.ones(len(self._model.trees)))
        if n_scores == 1:
            return ScoreSum((trees,), self._baseline, answers=self._answer_per_score)
        classes = tuple(getattr(self, "classes_", np.arange(n_scores)).tolist())
        return ScoreSum((trees,), self._baseline, (n_scores,), classes, self._answer_per_score)

    def _answer_per_score(self, scores: FloatArray) -> FloatArray:
        """Return what scores stand for: for two classes, the probability of the second."""
        if scores.shape[1] > 1 and isinstance(self._loss, OwnLoss) and hasattr(self._loss.given, "answers"):
            raise ValueError(
                "of='answer' needs the slopes of the predictions, which your loss does not give; use "
                "of='score'."
            )
        return np.reshape(self._answers(scores), (len(scores), -1))[:, -scores.shape[1] :]

    # --- Looking inside ----------------------------------------------------------------------------------

    @property
    def estimators_(self) -> npt.NDArray[np.object_]:
        """The members, rounds x scores, each a fitted regression tree of steps; made anew each time."""
        check_is_fitted(self)
        members = np.empty(len(self._model.trees), dtype=object)
        members[:] = [self._member(tree) for tree in self._model.trees]
        return members.reshape(-1, self._trees_per_round)

    def first(self, m: int) -> Self:
        """Return the model after its first `m` rounds."""
        check_is_fitted(self)
        step = self._trees_per_round
        m = members_to_keep(m, len(self._model.trees) // step, what="rounds")
        adds_to = None if self._model.adds_to is None else self._model.adds_to[: m * step]
        return copy_of(
            self,
            m,
            _model=replace(self._model, trees=self._model.trees[: m * step], adds_to=adds_to),
            n_iter_=m,
            best_iteration_=m,
            train_score_=self.train_score_[:m],
            validation_score_=self.validation_score_[:m],
            early_stopping=False,
        )

    @property
    def _trees_per_round(self) -> int:
        return int(self.settings_["n_members"]) * self._loss.n_scores

    def _member(self, tree: _core.Tree) -> DecisionTreeRegressor:
        member = DecisionTreeRegressor()
        shared = options_of(type(self)).keys() & options_of(DecisionTreeRegressor).keys() - {"random_state"}
        given = {**self.get_params(deep=False), **self.settings_, "categorical_split": "subset"}
        member.set_params(**{name: given[name] for name in shared})
        member._model = replace(self._model, trees=(tree,), adds_to=None)
        member._pruning = None
        member.n_outputs_ = 1
        member.max_features_ = resolve_max_features(
            self.settings_["max_features"], len(self._model.schema.names)
        )
        for name in ("n_features_in_", "feature_names_in_", "_missing_seen"):
            if hasattr(self, name):
                setattr(member, name, getattr(self, name))
        return member

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in the gains of all splits."""
        check_is_fitted(self)
        return shares_of_gain(self._model.trees, self._model.schema)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into in each tree: rows x trees."""
        return self._leaves(X)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Return the nodes each row passes, rows x nodes of all trees, sparse; and where each tree begins."""
        leaves = self.apply(X)
        return paths_through(self._model.trees, leaves, self.n_jobs)

    def _exact_score(self, table: Table) -> FloatArray:
        onto = np.array(self._baseline)[np.newaxis, np.newaxis, :]
        return np.asarray(self._model.total(table, n_threads=1, onto=onto)[0, 0])

    def _answer_of(self, score: FloatArray) -> tuple[Any, dict[Any, float] | None]:
        scores = score[np.newaxis, :]
        prediction = np.asarray(self._predictions(scores)[0]).item()
        if not hasattr(self, "classes_"):
            return prediction, None
        return prediction, dict(zip(self.classes_.tolist(), self._answers(scores)[0].tolist(), strict=True))

    def _members_say(self, table: Table) -> tuple[Any, ...]:
        return ()  # they add steps to a score; no single member predicts

    def _answer_labels(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.classes_,) if hasattr(self, "classes_") else ()

    def path_contributions(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Say how each score changes at the tests on each column, and where it starts.

        The first array is rows x columns, the second has a number per row; with three classes or more both
        have a further dimension. Every node knows the mean step of its rows. On its way down a row moves from
        mean to mean, and each move is attributed to the column of the test. Both sum to the score.
        """
        scores, leaves, n_scores = self._scores(X, None), self._leaves(X), self._loss.n_scores
        parts = np.zeros((len(scores), self.n_features_in_, n_scores))
        for k in range(n_scores):
            trees, own = self._model.trees[k::n_scores], leaves[:, k::n_scores]
            found, _ = path_contributions(trees, own, self._model.schema, scores[:, [k], np.newaxis])
            parts[:, :, k] = found[:, :, 0, 0] * len(trees)
        start = scores - parts.sum(axis=1)
        return (parts[:, :, 0], start[:, 0]) if n_scores == 1 else (parts, start)

    def _unit_of_scores(self) -> str:
        """Name the unit of scores; unknown for a user-defined loss."""
        classes = getattr(self, "classes_", None)
        likelier = "" if classes is None else named(classes[-1])
        return self._loss.unit_of_scores.format(likelier=likelier)

    def _facts_beside_trees(self) -> dict[str, Any]:
        """Return, as plain values, what a program needs besides the trees to predict like this model."""
        n_scores = self._loss.n_scores
        return {
            "loss": self._loss.name,
            "start": self._baseline.tolist(),
            "adds_to": [position % n_scores for position in range(len(self._model.trees))],
        }

    def _answers(self, scores: FloatArray) -> FloatArray:
        return self._loss.answers(scores)

    def _predictions(self, scores: FloatArray) -> npt.NDArray[Any]:
        raise NotImplementedError
