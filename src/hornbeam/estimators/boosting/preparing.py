"""Prepares the first round of gradient boosting: divides rows, encodes columns, settles options.

Columns of many categories become means of the target (`recipes/category_means.py`), numbers become bins.
Rounds are judged on the parts that members leave out, on a share that is set aside, or on rows that the user
gives.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded, encode
from hornbeam.data.table import Schema, Table
from hornbeam.data.target import read_offset
from hornbeam.data.weights import unequal
from hornbeam.estimators.boosting.begun import BoostingData, BoostingFit
from hornbeam.estimators.boosting.interactions import interaction_groups
from hornbeam.estimators.boosting.judging import BoostingJudge
from hornbeam.estimators.boosting.rows import BoostingRows
from hornbeam.estimators.boosting.settings import BoostingPlan
from hornbeam.estimators.growth import rows_with_weight
from hornbeam.estimators.validation import read_validation
from hornbeam.model import Ensemble
from hornbeam.params import resolve_max_features
from hornbeam.recipes.bag import MemberFeatures, plan_draws
from hornbeam.recipes.boosting.boost import Boosting, BoostSettings, BoostTarget, RoundDraws
from hornbeam.recipes.boosting.boost_members import Member, MemberBoosting
from hornbeam.recipes.category_means import CategoryMeans, columns_of_many
from hornbeam.recipes.holdout import GivenRows, HeldOut, folds, hold_out, refuse_one_class
from hornbeam.threads import resolve_n_jobs

__all__ = ["BoostingPreparation"]

_MOST_CATEGORIES_IN_A_BYTE = 255  # one code is reserved for missing values
_LEAVES_OF_SYMMETRIC = 4  # as many as a tree has that grows best first
_FIRST_MEMBER_KEY = 2**40  # of the keys that follow from a fit's; rounds use those from 0 on


class BoostingPreparation(BoostingJudge):
    """Begins a fit."""

    def _begin(
        self, data: BoostingData, plan: BoostingPlan, key: int, former: Sequence[_core.Tree], baseline: Any
    ) -> BoostingFit:
        """Prepare everything that the first round needs."""
        n_threads = resolve_n_jobs(self.n_jobs)
        rows, judged = self._rows_to_grow_on(data, plan, key)
        means = self._category_means(rows, key)
        table = rows.table if means is None else means.table
        encoded = self._encoded(table, n_threads)
        settings = self._settings(plan, encoded, rows, means)
        target = BoostTarget.of(data.loss, rows.target, rows.weights, rows.offset, baseline)
        per_round = self.feature_sampling == "tree" and settings.max_features < encoded.n_features
        drawn = MemberFeatures(settings.max_features if per_round else 0)
        if self.feature_sampling == "tree":
            settings = replace(settings, max_features=0)
        shares_tests = plan.class_trees == "shared"
        members: list[Member] = []
        boosting: Boosting | MemberBoosting
        if plan.has_members:
            members = _members(plan, settings, rows, drawn, encoded, key=key)
            boosting = self._member_boosting(
                encoded, target, members, n_threads=n_threads, shares_tests=shares_tests
            )
        else:
            draws = _draws(plan, drawn, encoded, encoded.all_rows(), key)
            boosting = self._boosting(
                encoded,
                target,
                settings,
                draws,
                n_threads=n_threads,
                former=former,
                shares_tests=shares_tests,
            )
        seen = encoded.columns_with_gaps()
        fit = BoostingFit(
            table=data.rows.table,
            given=data.rows.target,
            target=target,
            settings=settings,
            rows_given=rows.table.row_numbers,
            n_rows_given=data.n_rows_given,
            missing_seen=seen if means is None else means.with_gaps(rows.table, seen),
            key=key,
            plan=plan,
            encoded=encoded,
            means=means,
            monotonic=bool(settings.monotonic),
            goes_on=bool(former),
            boosting=boosting,
        )
        return self._with_judges(fit, rows, judged, members, n_threads)

    def _encoded(self, table: Table, n_threads: int) -> Encoded:
        """Turn the columns into codes."""
        return encode(table, max_bins=self.max_bins, n_threads=n_threads)

    def _boosting(
        self,
        encoded: Encoded,
        target: BoostTarget,
        settings: BoostSettings,
        draws: RoundDraws,
        *,
        n_threads: int,
        former: Sequence[_core.Tree],
        shares_tests: bool,
    ) -> Boosting:
        """Prepare rounds that grow all trees on the same rows."""
        return Boosting(
            encoded,
            target,
            settings,
            draws,
            n_threads=n_threads,
            former=former,
            shares_tests=shares_tests,
        )

    def _member_boosting(
        self,
        encoded: Encoded,
        target: BoostTarget,
        members: Sequence[Member],
        *,
        n_threads: int,
        shares_tests: bool,
    ) -> MemberBoosting:
        """Prepare rounds that grow trees for several members, each without some rows."""
        return MemberBoosting(encoded, target, members, n_threads=n_threads, shares_tests=shares_tests)

    def _with_judges(
        self,
        fit: BoostingFit,
        rows: BoostingRows,
        judged: BoostingRows | None,
        members: Sequence[Member],
        n_threads: int,
    ) -> BoostingFit:
        """Add the functions that judge a round, if somebody needs the scores."""
        if isinstance(fit.boosting, MemberBoosting):
            return replace(
                fit,
                score_training=self._judge_training(fit.boosting.members[0], rows, members[0].grown_on),
                score_validation=self._judge_unseen(fit.boosting, rows),
            )
        judge = None
        if judged is not None:
            judge = self._judge_validation(judged, fit.target, fit.restored, n_threads)
        elif not self.verbose:
            return fit
        return replace(fit, score_training=self._judge_training(fit.boosting, rows), score_validation=judge)

    # --- Rows --------------------------------------------------------------------------------------------

    def _rows_to_grow_on(
        self, data: BoostingData, plan: BoostingPlan, key: int
    ) -> tuple[BoostingRows, BoostingRows | None]:
        """Return the rows to grow on, and those to judge by; members set aside rows of their own."""
        given = data.rows
        rows = rows_with_weight(given.table.n_rows, given.weights)
        judged = None
        if data.validation.is_given:
            judged = self._read_validation(data)
        elif plan.early_stopping and not plan.has_members:
            rows, held = hold_out(given.target, rows, plan.validation_fraction, key, given.groups)
            judged = given.take(held)
            refuse_one_class(
                HeldOut(judged.table, judged.target, judged.weights),
                what="The part set aside for early stopping",
                way_out="Give more rows, raise validation_fraction, or give X_val and y_val.",
            )
        return given if len(rows) == given.table.n_rows else given.take(rows), judged

    def _read_validation(self, data: BoostingData) -> BoostingRows:
        given, validation = data.rows, data.validation
        reading = Ensemble((), given.table.schema, self.unseen, missing_allowed=self.missing != "error")
        held = read_validation(
            validation,
            model=reading,
            target=given.target,
            class_weight=getattr(self, "class_weight", None),
            estimator_name=type(self).__name__,
        )
        table = held.rows
        if not isinstance(table, Table) or (given.offset is None) != (data.offset_val is None):
            raise ValueError("offset and offset_val go together: give both, or neither.")
        offset = read_offset(data.offset_val, table.n_rows, data.loss.n_scores, name="offset_val")
        data.loss.check_offset(offset, "offset_val")
        judged = BoostingRows(table, held.target, unequal(held.weights), offset, validation.X)
        data.loss.check(judged.y)
        return judged

    # --- Columns -----------------------------------------------------------------------------------------

    def _category_means(self, rows: BoostingRows, key: int) -> CategoryMeans | None:
        columns = self._columns_of_many(rows.table)
        return CategoryMeans.of(rows.table, rows.target, rows.weights, columns, key=key) if columns else None

    def _columns_of_many(self, table: Table) -> list[int]:
        """Find the columns that are replaced by means; a warm start keeps sets of categories."""
        return columns_of_many(table) if self.categorical_split == "auto" and not self.warm_start else []

    def _can_be_symmetric(self) -> bool:
        """Whether no option rules out one test for a whole level."""
        is_free = self.monotonic_cst is None and self.interaction_cst is None
        return is_free and self.categorical_split == "auto"

    def _settings(
        self, plan: BoostingPlan, encoded: Encoded, rows: BoostingRows, means: CategoryMeans | None
    ) -> BoostSettings:
        """Turn the parameters into numbers, now that the data are known."""
        n_rows = encoded.n_rows
        schema = rows.table.schema
        monotonic = self._checked_monotonic(schema, rows.target)
        if plan.growth in ("symmetric", "mixed"):
            self._refuse_what_symmetric_trees_cannot(encoded, plan.growth)
        interactions = _of_all_parts(interaction_groups(self.interaction_cst, schema.given_names), schema)
        # Limits far above the number of rows are cut: the core has fewer bits than Python.
        return BoostSettings(
            learning_rate=float(plan.learning_rate),
            growth="level" if plan.growth == "level" else "best_first",
            symmetric=plan.growth == "symmetric",
            max_depth=min(self.max_depth or 0, n_rows),
            max_leaf_nodes=min(plan.max_leaf_nodes or 0, n_rows + 1),
            min_samples_leaf=min(plan.min_samples_leaf, n_rows + 1),
            min_hessian_leaf=float(self.min_hessian_leaf),
            l1_regularization=float(self.l1_regularization),
            l2_regularization=float(plan.l2_regularization),
            min_split_gain=float(self.min_split_gain),
            max_features=resolve_max_features(plan.max_features, encoded.n_features),
            monotonic=monotonic if means is None else means.of_features(monotonic),
            interactions=interactions if means is None else means.of_groups(interactions),
            categorical_smoothing=float(self.categorical_smoothing),
            categorical_split="one_vs_rest" if self.categorical_split == "one_vs_rest" else "subset",
        )

    def _refuse_what_symmetric_trees_cannot(self, encoded: Encoded, growth: str) -> None:
        asked = {"monotonic_cst": self.monotonic_cst, "interaction_cst": self.interaction_cst}
        for name, value in asked.items():
            if value is not None:
                raise ValueError(
                    f"growth={growth!r} does not go with {name}: nodes of a level share a test. Use "
                    "growth='best_first'."
                )
        if self.categorical_split == "one_vs_rest":
            raise ValueError(
                f"growth={growth!r} does not go with categorical_split='one_vs_rest': use 'auto' or "
                "'subset', or growth='best_first'."
            )
        for feature, name in enumerate(encoded.schema.names):
            if encoded.codes.n_codes(feature) > _MOST_CATEGORIES_IN_A_BYTE:
                raise ValueError(
                    f"Column {name!r} has {encoded.codes.n_codes(feature):,} categories, and "
                    f"growth={growth!r} tests sets of at most {_MOST_CATEGORIES_IN_A_BYTE}. Use "
                    "categorical_split='auto', or growth='best_first'."
                )


def _of_all_parts(groups: tuple[tuple[int, ...], ...], schema: Schema) -> tuple[tuple[int, ...], ...]:
    """Extend groups of the user's columns to all columns derived from them."""
    sources = schema.sources
    return tuple(tuple(j for j, source in enumerate(sources) if source in group) for group in groups)


def _members(
    plan: BoostingPlan,
    settings: BoostSettings,
    rows: BoostingRows,
    drawn: MemberFeatures,
    encoded: Encoded,
    *,
    key: int,
) -> list[Member]:
    """Divide the rows into parts, of which each member leaves one out."""
    n_parts = plan.n_members if plan.n_members > 1 else max(2, round(1 / plan.validation_fraction))
    if rows.groups is not None:
        n_parts = min(n_parts, len(np.unique(rows.groups)))
    parts = folds(
        rows.target, encoded.all_rows(), n_parts, key, given=GivenRows(encoded.n_rows), groups=rows.groups
    )
    keys = _core.member_keys(key, _FIRST_MEMBER_KEY, plan.n_members)
    by_turns = (_symmetric(settings), settings) if plan.growth == "mixed" else (settings,)
    return [
        Member(
            outside,
            inside,
            _draws(plan, drawn, encoded, outside, int(own_key)),
            by_turns[number % len(by_turns)],
        )
        for number, ((outside, inside), own_key) in enumerate(zip(parts, keys, strict=False))
    ]


def _symmetric(settings: BoostSettings) -> BoostSettings:
    """Return the settings of symmetric trees among others: with more leaves, since nodes share a test."""
    return replace(settings, symmetric=True, max_leaf_nodes=_LEAVES_OF_SYMMETRIC * settings.max_leaf_nodes)


def _draws(
    plan: BoostingPlan,
    features: MemberFeatures,
    encoded: Encoded,
    rows: npt.NDArray[np.uint32],
    key: int,
) -> RoundDraws:
    """Plan the draws of each round."""
    share = float(plan.subsample)
    drawn = plan_draws(rows, encoded.n_rows, key=key, with_replacement=False, max_samples=share)
    return RoundDraws(drawn, features, encoded.n_features)
