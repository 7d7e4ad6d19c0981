"""Gradient boosting: `GradientBoostingClassifier` and `GradientBoostingRegressor`.

A fit reads X and y, sets validation rows aside if it is to stop early, encodes the rest into bins and has
`recipes/boost.py` add trees round by round. A prediction adds the trees up, on top of the constant that the
rounds started from, and `recipes/losses.py` says what such a score stands for.
"""

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.encode import Encoded, encode
from hornbeam.data.table import Table
from hornbeam.data.target import (
    ClassTarget,
    RegressionTarget,
    class_weights,
    read_classes,
    read_numbers,
    read_offset,
)
from hornbeam.estimators.base import TreeModel, paths_through
from hornbeam.estimators.growth import rows_with_weight, warn_of_constant_columns
from hornbeam.estimators.recorded import RecordedClasses, RecordedNumbers
from hornbeam.estimators.tree import DecisionTreeRegressor
from hornbeam.estimators.validation import Validation, read_validation
from hornbeam.inside.contributions import Contributions, contributions_of
from hornbeam.inside.explain import read_row
from hornbeam.inside.importance import shares_of_gain, shares_of_tests
from hornbeam.model import Ensemble, RowsToPredict, refuse_missing
from hornbeam.params import (
    BoostingOptions,
    ClassifierBoostingOptions,
    RegressorBoostingOptions,
    fitted,
    options_of,
    resolve_max_features,
    resolve_random_key,
)
from hornbeam.recipes.bag import MemberFeatures, plan_draws
from hornbeam.recipes.boost import Boosting, BoostSettings, BoostTarget, RoundDraws, turns
from hornbeam.recipes.holdout import HeldOut, hold_out, refuse_one_class, taken
from hornbeam.recipes.listen import listening
from hornbeam.recipes.losses import Loss, OwnLoss, named_loss
from hornbeam.recipes.rounds import EarlyStopping, UserCodeError, Watch
from hornbeam.recipes.scikit_callbacks import passed_on
from hornbeam.sklearn_bases import CallbackSupportMixin, ClassifierMixin, RegressorMixin, with_callbacks
from hornbeam.threads import resolve_n_jobs
from hornbeam.warnings import WarmStartWarning

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]

FloatArray = npt.NDArray[np.float64]
Target = ClassTarget | RegressionTarget

_MOST_JUDGED_ROWS = 100_000  # of the training rows; to judge them all would take longer than to learn


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a fit: to grow on, or to judge by."""

    table: Table
    target: Target
    weights: FloatArray | None
    offset: FloatArray | None
    X: Any  # as the user gave it, for scorers of the user's own

    @property
    def y(self) -> FloatArray:
        """The targets as losses take them: numbers, or the codes of classes."""
        return numbers_of(self.target)

    def take(self, chosen: npt.NDArray[np.uint32]) -> "_Rows":
        """Keep some rows, in ascending order."""
        from sklearn.utils import _safe_indexing  # noqa: PLC0415 - here and in tests of scikit-learn only

        rows = chosen.astype(np.int64)
        table = self.table.take(rows)
        return _Rows(
            table=table,
            target=taken(self.target, rows),
            weights=None if self.weights is None else self.weights[rows],
            offset=None if self.offset is None else self.offset[rows],
            X=_safe_indexing(self.X, rows if table.row_numbers is None else table.row_numbers),
        )


class _Boosting(CallbackSupportMixin, TreeModel, BoostingOptions):
    """What the two kinds of gradient boosting share."""

    n_iter_: int = fitted()
    best_iteration_: int = fitted()
    train_score_: FloatArray = fitted()
    validation_score_: FloatArray = fitted()
    _loss: Loss = fitted()
    _baseline: FloatArray = fitted()
    _key: int = fitted()

    # --- Fitting -----------------------------------------------------------------------------------------

    def _fit_rounds(
        self,
        given: _Rows,
        loss: Loss,
        validation: Validation,
        offset_val: Any,
        callbacks: Sequence[Any],
    ) -> None:
        n_threads = resolve_n_jobs(self.n_jobs)
        loss.check(given.y)
        self._check_stopping(loss, validation)
        draws_something = self._draws_rounds(len(given.table.columns)) or self._sets_rows_aside(validation)
        key = self._key if self._continues() else resolve_random_key(self.random_state) * draws_something
        former = self._former_trees(given, loss)
        grown_on, judged = self._set_aside(given, loss, validation, offset_val, key)
        encoded = encode(grown_on.table, max_bins=self.max_bins, n_threads=n_threads)
        settings = self._settings(encoded, grown_on.target)
        baseline = self._baseline if self._continues() else None
        target = BoostTarget.of(loss, grown_on.y, grown_on.weights, grown_on.offset, baseline)
        draws = self._draws(encoded, settings, key)
        if self.feature_sampling == "tree":
            settings = replace(settings, max_features=0)
        boosting = Boosting(encoded, target, settings, draws, n_threads=n_threads, former=former)
        fit = _Fit(given.table, given.target, target, encoded.columns_with_gaps(), key, goes_on=bool(former))
        n_former = len(former) // loss.n_scores
        fault: BaseException | None = None
        with listening(self.verbose, type(self).__name__) as listener:
            watch = Watch(
                n_rounds=self.n_estimators,
                listener=listener,
                model=lambda trees: copy.copy(self)._remember_rounds(fit, trees, None),
                callbacks=callbacks,
                score_training=self._judge_training(boosting, grown_on) if judged or self.verbose else None,
                score_validation=self._judge_validation(judged, target, n_threads) if judged else None,
                stopping=EarlyStopping(self.n_iter_no_change, self.tol) if self.early_stopping else None,
            )
            watch.begin_after(former, n_former)
            try:
                boosting.run(range(n_former, self.n_estimators), watch)
            except UserCodeError as wrapped:
                fault = wrapped.__cause__
        if fault is not None and len(boosting.trees) == len(former):
            raise fault
        if boosting.trees[0].node_count == 1 and np.ptp(grown_on.y) > 0:
            warn_of_constant_columns(encoded, stacklevel=5)
        self._remember_rounds(fit, boosting.trees, watch)
        if fault is not None:  # the rounds before it are kept
            raise fault

    def _check_stopping(self, loss: Loss, validation: Validation) -> None:
        judges = self.early_stopping or validation.is_given
        if judges and self.scoring == "loss" and isinstance(loss, OwnLoss) and not loss.has_value:
            raise ValueError(
                "scoring='loss' needs the value of the loss: give your loss a method loss(y, score, "
                "sample_weight), or use a scorer, for example scoring='r2'."
            )

    def _sets_rows_aside(self, validation: Validation) -> bool:
        return self.early_stopping and not validation.is_given

    def _set_aside(
        self, given: _Rows, loss: Loss, validation: Validation, offset_val: Any, key: int
    ) -> tuple[_Rows, _Rows | None]:
        """Return the rows to grow on, and those to judge by, if any."""
        rows = rows_with_weight(given.table.n_rows, given.weights)
        judged = None
        if self._sets_rows_aside(validation):
            rows, held = hold_out(given.target, rows, self.validation_fraction, key)
            judged = given.take(held)
            refuse_one_class(
                HeldOut(judged.table, judged.target, judged.weights),
                what="The part set aside for early stopping",
                way_out="Give more rows, raise validation_fraction, or give X_val and y_val.",
            )
        elif validation.is_given:
            judged = self._read_validation(given, loss, validation, offset_val)
        if len(rows) < given.table.n_rows:
            given = given.take(rows)
        return given, judged

    def _read_validation(self, given: _Rows, loss: Loss, validation: Validation, offset_val: Any) -> _Rows:
        reading = Ensemble((), given.table.schema, self.unseen, missing_allowed=self.missing != "error")
        held = read_validation(
            validation,
            model=reading,
            target=given.target,
            class_weight=getattr(self, "class_weight", None),
            estimator_name=type(self).__name__,
        )
        table = held.rows
        if not isinstance(table, Table) or (given.offset is None) != (offset_val is None):
            raise ValueError("offset and offset_val go together: give both, or neither.")
        offset = read_offset(offset_val, table.n_rows, loss.n_scores, name="offset_val")
        judged = _Rows(table, held.target, held.weights, offset, validation.X)
        loss.check(judged.y)
        return judged

    def _settings(self, encoded: Encoded, target: Target) -> BoostSettings:
        """Turn the parameters into numbers, now that the data are known."""
        n_rows = encoded.n_rows
        # Limits far beyond the rows say no more than these; the core counts with fewer bits than Python.
        return BoostSettings(
            learning_rate=float(self.learning_rate),
            best_first=self.growth == "best_first",
            max_depth=min(self.max_depth or 0, n_rows),
            max_leaf_nodes=min(self.max_leaf_nodes or 0, n_rows + 1),
            min_samples_leaf=min(self.min_samples_leaf, n_rows + 1),
            min_hessian_leaf=float(self.min_hessian_leaf),
            l1=float(self.l1_regularization),
            l2=float(self.l2_regularization),
            min_split_gain=float(self.min_split_gain),
            max_features=resolve_max_features(self.max_features, encoded.n_features),
            monotonic=self._checked_monotonic(encoded.schema, target),
            interactions=interaction_groups(self.interaction_cst, encoded.schema.names),
            category_smoothing=float(self.categorical_smoothing),
            one_vs_rest=self.categorical_split == "one_vs_rest",
        )

    def _draws_rounds(self, n_features: int) -> bool:
        return self.subsample < 1 or resolve_max_features(self.max_features, n_features) < n_features

    def _draws(self, encoded: Encoded, settings: BoostSettings, key: int) -> RoundDraws:
        plan = plan_draws(
            encoded.all_rows(),
            encoded.n_rows,
            key=key,
            with_replacement=False,
            max_samples=float(self.subsample),
        )
        per_round = self.feature_sampling == "tree" and settings.max_features < encoded.n_features
        return RoundDraws(plan, MemberFeatures(settings.max_features if per_round else 0), encoded.n_features)

    # --- Rounds on top of rounds -------------------------------------------------------------------------

    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_model")

    def _former_trees(self, given: _Rows, loss: Loss) -> tuple[_core.Tree, ...]:
        """Return the trees that a warm start goes on with; raise if the new rounds cannot go with them."""
        if not self._continues():
            return ()
        if given.table.schema != self._model.schema or not self._same_answers(given.target, loss):
            raise ValueError(
                "warm_start goes on with the columns, classes and loss of the fit before; they have changed. "
                "Give the same, or set warm_start=False."
            )
        n_former = len(self._model.trees) // loss.n_scores
        if self.n_estimators < n_former:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {n_former} rounds there "
                "are when warm_start==True."
            )
        if self.n_estimators == n_former:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not add rounds.",
                WarmStartWarning,
                stacklevel=4,
            )
        return self._model.trees

    def _same_answers(self, target: Target, loss: Loss) -> bool:
        return loss == self._loss

    def _remember_rounds(self, fit: "_Fit", trees: Sequence[_core.Tree], watch: Watch | None) -> Self:
        """Store what a fit has made; called when nothing can fail any more."""
        loss = fit.target.loss
        n_rounds = len(trees) // loss.n_scores
        best = n_rounds if watch is None else min(watch.best_round, n_rounds)
        kept = trees[: best * loss.n_scores] if self.early_stopping else trees
        self._remember_columns(fit.table, fit.missing_seen)
        self.n_iter_ = n_rounds
        self.best_iteration_ = best
        self._remember_scores(watch, goes_on=fit.goes_on)
        self._loss, self._baseline, self._key = loss, fit.target.baseline, fit.key
        self._model = Ensemble(
            trees=tuple(kept),
            schema=fit.table.schema,
            unseen=self.unseen,
            missing_allowed=self.missing != "error",
            adds_to=turns(len(kept), loss.n_scores),
        )
        return self

    def _remember_scores(self, watch: Watch | None, *, goes_on: bool) -> None:
        for name, scores in (
            ("train_score_", watch.train_scores if watch else []),
            ("validation_score_", watch.validation_scores if watch else []),
        ):
            former = getattr(self, name, np.empty(0)) if goes_on else np.empty(0)
            setattr(self, name, np.concatenate([former, scores]))

    # --- Judging rounds ----------------------------------------------------------------------------------

    def _judge_training(self, boosting: Boosting, rows: _Rows) -> Callable[[], float]:
        some = slice(None, None, -(-rows.table.n_rows // _MOST_JUDGED_ROWS))
        if some.step > 1:
            rows = rows.take(np.arange(rows.table.n_rows, dtype=np.uint32)[some])
        judge = self._judge(boosting.target.loss, rows)
        return lambda: judge(boosting.scores(some))

    def _judge_validation(
        self, rows: _Rows, target: BoostTarget, n_threads: int
    ) -> Callable[[Sequence[_core.Tree]], float]:
        """Return a function that adds new trees to the scores of the rows and judges these."""
        judge = self._judge(target.loss, rows)
        start = BoostTarget(target.loss, rows.y, None, target.baseline, rows.offset).start
        scores = np.array(start, order="C")[:, np.newaxis, :]

        def judge_with(new: Sequence[_core.Tree]) -> float:
            model = Ensemble(
                tuple(new), rows.table.schema, self.unseen, adds_to=turns(len(new), target.loss.n_scores)
            )
            model.total(rows.table, n_threads=n_threads, onto=scores)
            return judge(scores[:, 0, :])

        return judge_with

    def _judge(self, loss: Loss, rows: _Rows) -> Callable[[FloatArray], float]:
        """Return a function from scores to how good they are, the higher the better."""
        y, weights, scoring = rows.y, rows.weights, self.scoring
        if scoring == "loss":
            return lambda scores: -loss.mean(y, scores, weights)
        truth = labels_of(rows.target)
        if callable(scoring):
            own = scoring
            return lambda scores: float(own(self._recorded(loss, scores, rows.target), rows.X, truth))
        from sklearn.metrics import get_scorer  # noqa: PLC0415 - slow to import, and seldom needed

        scorer = get_scorer(scoring)
        options = {} if weights is None else {"sample_weight": weights}
        stand_in = np.zeros((len(y), 1))  # a scorer by name looks at answers only
        return lambda scores: float(
            scorer(self._recorded(loss, scores, rows.target), stand_in, truth, **options)
        )

    def _recorded(self, loss: Loss, scores: FloatArray, target: Any) -> Any:
        raise NotImplementedError

    # --- Predicting --------------------------------------------------------------------------------------

    def _start(self, rows: RowsToPredict, offset: Any) -> FloatArray:
        """Return the scores of rows that the first tree is added to."""
        scores = np.empty((rows.n_rows, 1, self._loss.n_scores))
        scores[:] = self._baseline
        given = read_offset(offset, rows.n_rows, self._loss.n_scores)
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
        for scores in self._model.stages(rows, n_threads=n_threads, step=self._loss.n_scores, onto=start):
            yield scores[:, 0, :]

    # --- Looking inside ----------------------------------------------------------------------------------

    @property
    def estimators_(self) -> npt.NDArray[np.object_]:
        """The members, rounds x scores, each a fitted regression tree of steps; made anew each time."""
        check_is_fitted(self)
        members = np.empty(len(self._model.trees), dtype=object)
        members[:] = [self._member(tree) for tree in self._model.trees]
        return members.reshape(-1, self._loss.n_scores)

    def _member(self, tree: _core.Tree) -> DecisionTreeRegressor:
        member = DecisionTreeRegressor()
        shared = options_of(type(self)).keys() & options_of(DecisionTreeRegressor).keys() - {"random_state"}
        member.set_params(**{name: getattr(self, name) for name in shared})
        member._model = replace(self._model, trees=(tree,), adds_to=None)
        member._pruning = None
        member.n_outputs_ = 1
        member.max_features_ = resolve_max_features(self.max_features, self.n_features_in_)
        for name in ("n_features_in_", "feature_names_in_", "_missing_seen"):
            if hasattr(self, name):
                setattr(member, name, getattr(self, name))
        return member

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in what the splits of all trees have gained."""
        check_is_fitted(self)
        return shares_of_gain(self._model.trees, self.n_features_in_)

    def importance(
        self,
        kind: Literal["gain", "count", "permutation"] = "gain",
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        n_repeats: int = 5,
        scoring: Any = None,
    ) -> Any:
        """Say how much each column matters.

        "gain" is `feature_importances_`; "count" the share of all tests that ask for the column;
        "permutation" how much the score falls if the column is shuffled: scikit-learn's
        `permutation_importance`, and what it returns. The last needs X and y, best of rows that the fit has
        not seen.
        """
        check_is_fitted(self)
        if kind == "gain":
            return self.feature_importances_
        if kind == "count":
            return shares_of_tests(self._model.trees, self.n_features_in_)
        if kind != "permutation":
            raise ValueError(f"kind must be 'gain', 'count' or 'permutation'; got {kind!r}.")
        if X is None or y is None:
            raise ValueError("kind='permutation' shuffles columns of rows: give X and y, at best unseen.")
        from sklearn.inspection import permutation_importance  # noqa: PLC0415 - slow to import

        return permutation_importance(
            self,
            X,
            y,
            sample_weight=sample_weight,
            n_repeats=n_repeats,
            scoring=scoring,
            random_state=np.random.RandomState(self._key % 2**32),
        )

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into in each tree: rows x trees."""
        return self._leaves(X)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Return the nodes each row passes, rows x nodes of all trees, sparse; and where each tree begins."""
        leaves = self.apply(X)
        return paths_through(self._model.trees, leaves)

    def explain(self, row: Any) -> Contributions:
        """Say what each feature has added to the score of one row; the parts sum to the score.

        `row` is a table of one row, a dict or Series by column name, or a sequence in the order of the
        columns.
        """
        check_is_fitted(self)
        model, name = self._model, type(self).__name__
        given = read_row(row, model.schema, unseen=model.unseen, estimator_name=name)
        if not model.missing_allowed:
            refuse_missing(given.table, name)
        leaves = model.leaves(given.table, n_threads=1)[0]
        start, parts = contributions_of(
            model.trees, model.adds_to, leaves, start=self._baseline, n_features=self.n_features_in_
        )
        onto = np.array(self._baseline)[np.newaxis, np.newaxis, :]
        scores = model.total(given.table, n_threads=1, onto=onto)[:, 0, :]
        single = self._loss.n_scores == 1
        return Contributions(
            start=float(start[0]) if single else start,
            by_feature={
                feature: float(part[0]) if single else part
                for feature, part in zip(model.schema.names, parts, strict=True)
            },
            score=float(scores[0, 0]) if single else scores[0],
            prediction=self._predictions(scores)[0],
        )

    def _facts_beside_trees(self) -> dict[str, Any]:
        """Return what a program needs besides the trees to predict as this model does, as plain values."""
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


@dataclass(frozen=True, eq=False)
class _Fit:
    """What of a fit is remembered besides its trees."""

    table: Table
    given: Target
    target: BoostTarget
    missing_seen: tuple[bool, ...]
    key: int
    goes_on: bool


class GradientBoostingClassifier(ClassifierMixin, _Boosting, ClassifierBoostingOptions):
    """Gradient boosting that predicts classes: each tree lowers the loss that the trees before have left.

    {parameters}

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    n_classes_ : int
        How many there are.
    estimators_ : array of DecisionTreeRegressor
        The members, rounds x scores: trees of steps of the score.
    n_iter_ : int
        Rounds that were run.
    best_iteration_ : int
        The round with the best validation score; early stopping keeps the rounds up to it.
    train_score_, validation_score_ : array
        Scores after each round, the higher the better; empty if there are no validation rows.
    feature_importances_ : array
        The share of each feature in what the splits have gained.
    """

    classes_: npt.NDArray[Any] = fitted()
    n_classes_: int = fitted()

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset_val: Any = None,
        callbacks: Sequence[Any] | None = None,
    ) -> Self:
        """Boost on rows X with labels y.

        `offset` is what is known of each row's score beforehand: the rounds start from it, and predictions
        take it again. Validation rows are X_val and y_val or, with `early_stopping`, a share of the rows.
        `callbacks` are called between rounds (`hornbeam.recipes.rounds`); so are those of `set_callbacks`,
        scikit-learn's own kind.
        """
        training = self._begin_fit(X, sample_weight)
        target = read_classes(
            y,
            training.n_rows_given,
            rows=training.rows,
            multi_output=False,
            estimator_name=type(self).__name__,
        )
        factors = class_weights(self.class_weight, target, training.weights)
        weights = training.weights
        if factors is not None:
            weights = factors if weights is None else weights * factors
        loss = self._loss_of(len(target.classes[0]))
        known = read_offset(offset, training.n_rows_given, loss.n_scores, rows=training.rows)
        given = _Rows(training.table, target, weights, known, X)
        validation = Validation(X_val, y_val, sample_weight_val)
        with passed_on(self, X, y, sample_weight) as more_callbacks:
            self._fit_rounds(given, loss, validation, offset_val, [*(callbacks or ()), *more_callbacks])
        return self

    def _loss_of(self, n_classes: int) -> Loss:
        n_scores = 1 if n_classes <= 2 else n_classes
        if n_classes == 1:
            return named_loss("only_class")
        if not isinstance(self.loss, str):
            return OwnLoss(n_scores=n_scores, given=self.loss, n_classes=n_classes)
        if self.loss == "exponential" and n_classes > 2:
            raise ValueError(f"loss='exponential' takes two classes; y has {n_classes}. Use loss='log_loss'.")
        return named_loss("softmax" if n_classes > 2 else self.loss, n_scores=n_scores)

    def _same_answers(self, target: Target, loss: Loss) -> bool:
        same = isinstance(target, ClassTarget) and np.array_equal(target.classes[0], self.classes_)
        return same and super()._same_answers(target, loss)

    def _remember_rounds(self, fit: _Fit, trees: Sequence[_core.Tree], watch: Watch | None) -> Self:
        super()._remember_rounds(fit, trees, watch)
        if isinstance(fit.given, ClassTarget):
            self.classes_ = fit.given.classes[0]
            self.n_classes_ = len(self.classes_)
        return self

    def _facts_beside_trees(self) -> dict[str, Any]:
        return {**super()._facts_beside_trees(), "labels": self.classes_.tolist()}

    def _recorded(self, loss: Loss, scores: FloatArray, target: Any) -> RecordedClasses:
        shares = loss.answers(scores)
        return RecordedClasses(target.classes[0][shares.argmax(axis=1)], shares, target.classes[0])

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the scores: one per row for two classes, above 0 for the second; else rows x classes."""
        return self._decision(self._scores(X, offset))

    def predict_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the probability of each class: rows x classes."""
        return self._answers(self._scores(X, offset))

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset))

    def predict(self, X: Any, *, offset: Any = None) -> npt.NDArray[Any]:
        """Return the most probable class; the first of equals."""
        return self._predictions(self._scores(X, offset))

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield what `decision_function` returns after each round."""
        return map(self._decision, self._staged_scores(X, offset))

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield what `predict_proba` returns after each round."""
        return map(self._answers, self._staged_scores(X, offset))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[npt.NDArray[Any]]:
        """Yield what `predict` returns after each round."""
        return map(self._predictions, self._staged_scores(X, offset))

    def _decision(self, scores: FloatArray) -> FloatArray:
        return scores[:, 0] if self._loss.n_scores == 1 else scores

    def _predictions(self, scores: FloatArray) -> npt.NDArray[Any]:
        # A score just above 0 may round to a probability of exactly one half; the score decides.
        scores_decide = self.n_classes_ > 1 and not isinstance(self._loss, OwnLoss)
        if scores_decide:
            codes = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
        else:
            codes = self._answers(scores).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[codes]
        return labels


class GradientBoostingRegressor(RegressorMixin, _Boosting, RegressorBoostingOptions):
    """Gradient boosting that predicts numbers: each tree lowers the loss that the trees before have left.

    {parameters}

    Attributes
    ----------
    estimators_ : array of DecisionTreeRegressor
        The members, rounds x 1: trees of steps of the score.
    n_iter_ : int
        Rounds that were run.
    best_iteration_ : int
        The round with the best validation score; early stopping keeps the rounds up to it.
    train_score_, validation_score_ : array
        Scores after each round, the higher the better; empty if there are no validation rows.
    feature_importances_ : array
        The share of each feature in what the splits have gained.
    """

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset_val: Any = None,
        callbacks: Sequence[Any] | None = None,
    ) -> Self:
        """Boost on rows X with targets y.

        `offset` is what is known of each row's score beforehand, for example the logarithm of an exposure:
        the rounds start from it, and predictions take it again. Validation rows are X_val and y_val or, with
        `early_stopping`, a share of the rows. `callbacks` are called between rounds
        (`hornbeam.recipes.rounds`); so are those of `set_callbacks`, scikit-learn's own kind.
        """
        training = self._begin_fit(X, sample_weight)
        target = read_numbers(
            y,
            training.n_rows_given,
            rows=training.rows,
            multi_output=False,
            estimator_name=type(self).__name__,
        )
        loss = self._loss_of()
        known = read_offset(offset, training.n_rows_given, loss.n_scores, rows=training.rows)
        given = _Rows(training.table, target, training.weights, known, X)
        validation = Validation(X_val, y_val, sample_weight_val)
        with passed_on(self, X, y, sample_weight) as more_callbacks:
            self._fit_rounds(given, loss, validation, offset_val, [*(callbacks or ()), *more_callbacks])
        return self

    def _loss_of(self) -> Loss:
        if not isinstance(self.loss, str):
            return OwnLoss(given=self.loss)
        parameters = {"huber": self.alpha, "quantile": self.alpha, "tweedie": self.tweedie_power}
        return named_loss(self.loss, parameter=float(parameters.get(self.loss, 0.0)))

    def _recorded(self, loss: Loss, scores: FloatArray, target: Any) -> RecordedNumbers:
        return RecordedNumbers(loss.answers(scores))

    def predict(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the predicted number of each row."""
        return self._predictions(self._scores(X, offset))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield what `predict` returns after each round."""
        return map(self._predictions, self._staged_scores(X, offset))

    def _predictions(self, scores: FloatArray) -> FloatArray:
        return self._answers(scores)


# ------------------------------------------------------------------------------------------------------------


def interaction_groups(given: Any, names: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Spell `interaction_cst` out as groups of column numbers; empty if every column may meet every other."""
    columns = range(len(names))
    if given is None:
        return ()
    if isinstance(given, str):
        size = 2 if given == "pairwise" and len(names) > 1 else 1
        return tuple(combinations(columns, size))
    groups = [tuple(_column_number(column, names) for column in group) for group in given]
    left_over = tuple(sorted(set(columns).difference(*groups)))
    return tuple([*groups, left_over] if left_over else groups)


def _column_number(column: Any, names: tuple[str, ...]) -> int:
    """Find a column of `interaction_cst`, given by name or number."""
    if not isinstance(column, str):
        if column >= len(names):
            raise ValueError(f"interaction_cst has column {column}, but X has only {len(names)} column(s).")
        return int(column)
    if column not in names:
        raise ValueError(
            f"interaction_cst names {column!r}, which is not a column of X; columns are "
            f"{', '.join(map(repr, names[:10]))}."
        )
    return names.index(column)


def numbers_of(target: Target) -> FloatArray:
    """Return one number per row: the target, or the code of the class."""
    values: npt.NDArray[Any] = target.codes if isinstance(target, ClassTarget) else target.values
    return values[:, 0].astype(np.float64)


def labels_of(target: Target) -> npt.NDArray[Any]:
    """Return the targets as they were given."""
    return target.labels(0) if isinstance(target, ClassTarget) else target.values[:, 0]
