"""The members of a bag: how they are fitted on samples of the rows, and their joint predictions.

If the estimator is one of our trees, the members grow in one call on one encoded table, and predict exactly
what copies of the tree would predict if they were fitted one by one on their samples.
"""

import copy
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from hornbeam import _core
from hornbeam.data.encode import encode
from hornbeam.data.pass_on import NotedColumns, table_to_pass_on
from hornbeam.data.sources import OpenSource
from hornbeam.data.target import (
    ClassTarget,
    RegressionTarget,
)
from hornbeam.data.units import unit_of
from hornbeam.data.unseen import said_once
from hornbeam.data.weights import rows_that_count
from hornbeam.estimators.explained import mean_of_trees
from hornbeam.estimators.first_members import members_to_keep
from hornbeam.estimators.forest.bag_insight import (
    mean_importances,
    on_one_table,
    share_of_tests,
    sum_of_member,
)
from hornbeam.estimators.forest.resampling import BagModel, warn_of_equal_trees
from hornbeam.estimators.forest.routed import Calls, options_of_members, router_of
from hornbeam.estimators.growth import rows_with_weight, warn_of_a_lone_leaf
from hornbeam.estimators.inspection import Inspectable
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.inside.explain import row_as_table
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.shapley import ScoreSum
from hornbeam.model import Ensemble
from hornbeam.params import (
    BaggingOptions,
    fitted,
    resolve_max_features,
    resolve_random_key,
    validate,
)
from hornbeam.recipes.bag import BagPlan, GivenPlan, MemberFeatures, TreeBag
from hornbeam.recipes.members import AnyBag, answers_of, seeds_of
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.threads import resolve_n_jobs

__all__ = ["Bagging", "Target", "Tree"]

FloatArray = npt.NDArray[np.float64]
Target = ClassTarget | RegressionTarget
Tree = DecisionTreeClassifier | DecisionTreeRegressor


F = TypeVar("F", bound=Callable[..., Any])


def _where_members_are_trees(method: F) -> F:
    """Offer a method only where the members are trees, as far as is known before a fit."""
    method.__qualname__ = f"Bagging.{method.__name__}"  # so that the error does not name a private class
    offered: Callable[[F], F] = available_if(lambda bag: bag._has_trees())
    return offered(method)


class Bagging(Inspectable, BagModel, BaggingOptions):
    """What bagging of classifiers and of regressors share.

    `_grown` is the tree that members are copies of, with the columns of the fit and all trees in its model,
    if they grew on one encoding; otherwise it is None and `_fitted_members` holds the members.
    """

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()
    estimator_: Any = fitted()
    _grown: Any = fitted()
    _fitted_members: tuple[Any, ...] = fitted()
    _features: MemberFeatures = fitted()

    _tree: ClassVar[type[Tree]]

    # --- Fitting -----------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, samples: Any = None) -> Target:
        validate(self)
        template = self._tree() if self.estimator is None else self.estimator
        if samples is not None and (groups is not None or self.warm_start):
            raise ValueError("samples cannot be combined with groups or with warm_start=True.")
        if self._continues() and isinstance(self._plan, GivenPlan):
            raise ValueError(
                "warm_start draws samples, but the last fit was given its own; set warm_start=False."
            )
        shared = samples is None and type(template) is self._tree and self._shares_encoding(template)
        if type(template) is self._tree and template.missing == "available" and not shared:
            raise ValueError(
                "Trees with missing='available' are bagged on one table: without max_bins, pruning, "
                "unseen='majority', shares in min_samples_*, classes of weight 0, and random splits on "
                "columns of their own."
            )
        if shared:
            return self._fit_trees(clone(template), X, y, sample_weight, groups)
        return self._fit_any(template, X, y, sample_weight, groups=groups, samples=samples)

    def _shares_encoding(self, tree: Any) -> bool:
        """Whether trees that share one encoding of all rows equal trees that encode their own sample.

        Not always: fractions refer to the rows of the sample, bins to its values, and pruning holds out some
        of its rows. Categories that a sample lacks are unseen by its own tree, but known to a tree on the
        shared encoding. Classes of weight 0 are drawn, too. A member with a subset of the features numbers
        them anew, and random draws depend on these numbers.
        """
        by_share = [tree.min_samples_leaf, tree.min_samples_split]
        if tree.max_bins is not None or tree.prune is not None or tree.unseen == "majority":
            return False
        if tree.missing in ("surrogate", "fractional"):
            return False
        if not all(isinstance(value, numbers.Integral) for value in by_share):
            return False
        class_weight = getattr(tree, "class_weight", None)
        if isinstance(class_weight, Mapping) and 0 in class_weight.values():
            return False
        all_features = self.max_features == 1.0 and not isinstance(self.max_features, numbers.Integral)
        if all_features and not self.bootstrap_features:
            return True
        plain = tree.monotonic_cst is None and tree.categorical_features in ("from_dtype", None)
        return bool(plain and tree.splitter == "best" and tree.max_features is None)

    def _refuse_other_members(self, *, grown: bool) -> None:
        """Refuse a warm start with members of another kind than those of the last fit."""
        if self._continues() and grown != (self._grown is not None):
            raise ValueError("warm_start continues the last fit, with its estimator; set warm_start=False.")

    def _member_features(self, n_features: int) -> MemberFeatures:
        n_wanted = resolve_max_features(self.max_features, n_features)
        if n_wanted == n_features and not self.bootstrap_features:
            return MemberFeatures()
        return MemberFeatures(n_wanted, self.bootstrap_features)

    def _fit_trees(self, tree: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> Target:
        """Grow all members on one encoding."""
        training = tree._begin_fit(X, sample_weight)
        # Members draw from the user's columns, which category means and dates replace by others.
        features = self._member_features(len(training.table.schema.given_names))
        if features.n_wanted and training.table.schema.parts:
            container = X.container if isinstance(X, OpenSource) else X
            return self._fit_any(tree, container, y, sample_weight, groups=groups, samples=None)
        self._refuse_other_members(grown=True)
        tree._check_available()
        target = self._read_target(y, training.n_rows_given, training.rows)
        self._check_target(tree, target)
        weights, balance = self._tree_weights(tree, target, training.weights)
        n_threads = resolve_n_jobs(self.n_jobs)
        members = self._members_to_add(training.table.n_rows)
        key = self._key_of_fit()
        means = None if features.n_wanted else tree._category_means(training, target, weights, key=key)
        table = training.table if means is None else means.table
        encoded = encode(table, max_bins=None, n_threads=n_threads)
        settings = tree._settings(
            encoded,
            target,
            weights,
            criterion=tree.criterion,
            random_splits=tree.splitter == "random",
            means=means,
        )
        plan = self._make_plan(
            rows_with_weight(encoded.n_rows, weights),
            encoded.n_rows,
            groups=self._read_groups(groups, training.n_rows_given, training.rows),
            strata=self._strata(target),
            key=key,
        )

        def keys_of(some: range) -> npt.NDArray[np.uint64]:
            # The draws that a copy of the tree would make from its seed.
            return np.array([resolve_random_key(int(s)) for s in seeds_of(plan.key, some)], dtype=np.uint64)

        bag = TreeBag(
            encoded=encoded,
            target=target,
            weights=weights,
            settings=replace(settings, max_features=0) if features.n_wanted else settings,
            plan=plan,
            keys_of=keys_of,
            features=features,
            min_weight_fraction=tree.min_weight_fraction_leaf,
            balance_classes=balance,
            ccp_alpha=tree.ccp_alpha,
            hard_votes=self._votes_are_hard(),
            n_threads=n_threads,
        )
        out_of_bag = OutOfBag(target) if self._wants_out_of_bag() else None
        former = self._grown._model.trees if self._continues() and self._grown is not None else ()
        trees = tuple(self._fill(bag, members, former, out_of_bag))
        warn_of_a_lone_leaf(trees[0], encoded)
        if bag.trees_are_alike and len(trees) > 1:
            warn_of_equal_trees(type(self).__name__, len(trees), weighted=sample_weight is not None)
        kept = self._out_of_bag_facts(target, out_of_bag, training.n_rows_given, training.rows)
        tree._remember_growth(training, target, settings, trees, means)
        tree._pruning = None
        self._remember_members(clone(tree), tree, tree, (), features)
        self._remember_draws(plan, training.n_rows_given, training.rows, kept)
        return target

    def _fit_any(
        self, template: Any, X: Any, y: Any, sample_weight: Any, *, groups: Any, samples: Any
    ) -> Target:
        """Fit copies of an estimator one by one."""
        self._refuse_other_members(grown=False)
        columns = NotedColumns()
        X = table_to_pass_on(columns, X, reset=True)
        n_given = X.shape[0]
        rows, weights = rows_that_count(sample_weight, n_given)
        target = self._read_target(y, n_given, rows)
        labels = target.labels(0) if isinstance(target, ClassTarget) else target.values[:, 0]
        if rows is not None:
            X = _safe_indexing(X, rows)
        takes_weights = has_fit_parameter(template, "sample_weight")
        if samples is not None and (rows is not None or (weights is not None and not takes_weights)):
            raise ValueError(
                "samples number the rows of X: leave rows of weight 0 out of X, and give no weights to "
                f"{type(template).__name__} if it takes none."
            )
        drawn_by_weight = weights is not None and not takes_weights
        if drawn_by_weight and not self.bootstrap:
            raise ValueError(
                f"{type(template).__name__} takes no sample_weight in fit, so rows are drawn in proportion "
                "to their weight, which needs bootstrap=True."
            )
        if samples is not None:
            plan: BagPlan = GivenPlan.of(samples, len(labels), self._key_of_fit())
            members = range(len(samples))
        else:
            members = self._members_to_add(len(labels))
            plan = self._make_plan(
                np.arange(len(labels), dtype=np.uint32),
                len(labels),
                groups=self._read_groups(groups, n_given, rows),
                strata=self._strata(target),
                weights=weights if drawn_by_weight else None,
                key=self._key_of_fit(),
            )
        features = self._member_features(X.shape[1])
        bag = AnyBag(
            estimator=template,
            X=X,
            y=labels,
            weights=None if drawn_by_weight else weights,
            classes=target.classes[0] if isinstance(target, ClassTarget) else None,
            plan=plan,
            features=features,
            n_features=X.shape[1],
            hard_votes=self._votes_are_hard(template),
            n_threads=resolve_n_jobs(self.n_jobs),
        )
        out_of_bag = OutOfBag(target) if self._wants_out_of_bag() else None
        former = self._fitted_members if self._continues() else ()
        made = tuple(self._fill(bag, members, former, out_of_bag))
        kept = self._out_of_bag_facts(target, out_of_bag, n_given, rows)
        self._remember_members(clone(template), columns, None, made, features)
        self._remember_draws(plan, n_given, rows, kept)
        return target

    def _remember_members(
        self, template: Any, columns: Any, grown: Any, made: tuple[Any, ...], features: MemberFeatures
    ) -> None:
        """Store the members, and the columns that `columns` has noted."""
        self.estimator_ = template
        self._grown = grown
        self._fitted_members = made
        self._features = features
        self.n_features_in_ = columns.n_features_in_
        vars(self).pop("feature_names_in_", None)
        if hasattr(columns, "feature_names_in_"):
            self.feature_names_in_ = columns.feature_names_in_

    # --- What classes and numbers differ in --------------------------------------------------------------

    def _read_target(self, y: Any, n_rows: int, rows: Any) -> Target:
        raise NotImplementedError

    def _check_target(self, tree: Any, target: Any) -> None:
        """Refuse targets that the tree's criterion does not accept."""

    def _strata(self, target: Any) -> npt.NDArray[np.int32] | None:
        return None

    def _tree_weights(
        self, tree: Any, target: Any, weights: FloatArray | None
    ) -> tuple[FloatArray | None, bool]:
        return weights, False

    def _votes_are_hard(self, member: Any = None) -> bool:
        """Whether predicted classes are counted: by choice, or because a member has no probabilities."""
        return False

    def _out_of_bag_facts(
        self, target: Any, out_of_bag: OutOfBag | None, n_rows_given: int, rows: Any
    ) -> dict[str, Any]:
        if out_of_bag is None:
            return {}
        out_of_bag.warn_of_unanswered_rows()
        return {"oob_curve_": np.array(out_of_bag.curve)}

    # --- Metadata ----------------------------------------------------------------------------------------

    def _calls(self, template: Any) -> Calls:
        """Return which method of the members each method of the bag calls."""
        raise NotImplementedError

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn which members' method gets the metadata passed to each method of the bag."""
        template = self._tree() if self.estimator is None else self.estimator
        return router_of(self, template, self._calls(template))

    def _options_of_members(self, caller: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return options_of_members(self, caller, metadata, self._calls(self.estimator_))

    # --- Members and answers -----------------------------------------------------------------------------

    @property
    def _n_members(self) -> int:
        return len(self._fitted_members) if self._grown is None else len(self._grown._model.trees)

    @property
    def estimators_(self) -> list[Any]:
        """The members."""
        check_is_fitted(self)
        if self._grown is None:
            return list(self._fitted_members)
        return [self._tree_member(tree) for tree in self._grown._model.trees]

    def _tree_member(self, tree: _core.Tree) -> Any:
        member = copy.copy(self._grown)
        member._model = replace(self._grown._model, trees=(tree,))
        return member

    def first(self, m: int) -> Self:
        """Return the bag of the first `m` members, as a fit with n_estimators=m would have made it."""
        check_is_fitted(self)
        m = members_to_keep(m, self._n_members, what="members")
        if self._grown is None:
            return self._with_members(m, _fitted_members=self._fitted_members[:m])
        grown = copy.copy(self._grown)
        grown._model = replace(grown._model, trees=grown._model.trees[:m])
        return self._with_members(m, _grown=grown)

    @property
    def estimators_features_(self) -> list[npt.NDArray[np.int32]]:
        """The features that each member may use; drawn again at each access."""
        check_is_fitted(self)
        return [self._features_of(member) for member in range(self._n_members)]

    def _features_of(self, member: int) -> npt.NDArray[np.int32]:
        if not self._features.n_wanted:
            return np.arange(self.n_features_in_, dtype=np.int32)
        return self._features.of(self._plan, member, self.n_features_in_)

    @property
    def _model(self) -> Ensemble:
        """The trees, where all members grew on one encoding."""
        if self._grown is None:
            raise AttributeError("the members are not trees grown on one encoding")
        model: Ensemble = self._grown._model
        return model

    def _class_labels(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the classes; nothing if the members predict numbers."""
        return (self.classes_,) if hasattr(self, "classes_") else ()

    def _readings(self) -> list[TreeReading]:
        if self._grown is not None:
            readings: list[TreeReading] = self._grown._readings()
            return readings
        members = self._fitted_members
        are_trees = all(isinstance(one, DecisionTreeClassifier | DecisionTreeRegressor) for one in members)
        return [one._reading(one._own_tree()) for one in members] if are_trees else []

    @property
    def feature_importances_(self) -> FloatArray:
        """The mean of the members' feature importances."""
        check_is_fitted(self)
        return mean_importances(self)

    def _has_trees(self) -> bool:
        """Whether members are trees, as far as is known before a fit."""
        return not hasattr(self, "_features") or bool(self._readings())

    @_where_members_are_trees
    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf of each row in each member, if these are trees: rows x members."""
        self._reading_of(0)
        if self._grown is not None:
            leaves: npt.NDArray[np.int32] = self._grown._leaves(X)
            return leaves
        X = table_to_pass_on(self, X, reset=False)
        found = []
        for number, member in enumerate(self._fitted_members):
            features = self._features_of(number) if self._features.n_wanted else None
            found.append(member.apply(X if features is None else _safe_indexing(X, features, axis=1)))
        return np.stack(found, axis=1)

    def _share_of_tests(self) -> FloatArray:
        return share_of_tests(self)

    def _trees_to_explain(self) -> Ensemble:
        if self._grown is None:
            raise ValueError(f"The members of this {type(self).__name__} are not trees of hornbeam.")
        return self._model

    def _on_one_table(self) -> Self:
        check_is_fitted(self)
        return on_one_table(self) if self._grown is None else self

    def _row_to_explain(self, row: Any) -> tuple[Any, Sequence[Any]]:
        if self._grown is not None:
            return super()._row_to_explain(row)
        return row_as_table(row, self._column_names(), names_given=hasattr(self, "feature_names_in_"))

    def _members_say(self, table: Any) -> tuple[Any, ...]:
        if self._grown is not None:
            return super()._members_say(table)
        table = table_to_pass_on(self, table, reset=False)
        said = []
        for number, member in enumerate(self._fitted_members):
            features = self._features_of(number) if self._features.n_wanted else None
            said += member.predict(
                table if features is None else _safe_indexing(table, features, axis=1)
            ).tolist()
        return tuple(said)

    def _exact_score(self, table: Any) -> FloatArray:
        if self._grown is None:
            labels = self._class_labels()
            mean: FloatArray = self._mean_answer(table, labels[0] if labels else None)
            return np.asarray(mean[0])
        mean = self._model.mean(table, n_threads=1, hard_votes=self._votes_are_hard())
        return np.asarray(mean[0, 0])

    def _score_sum(self) -> ScoreSum:
        """Return the mean of the members, each of them trees."""
        labels, votes = self._class_labels(), self._votes_are_hard()
        if self._grown is not None:
            return mean_of_trees(self._grown._model, labels, votes=votes)
        n_scores = len(labels[0]) if labels else 1
        sums = [sum_of_member(self, number, votes=votes) for number in range(self._n_members)]
        shape, outputs = ((n_scores,), tuple(labels[0].tolist())) if labels else ((), ())
        return ScoreSum(tuple(sums), np.zeros(n_scores), shape, outputs)

    def _mean_answer(self, X: Any, classes: Any, **options: Any) -> FloatArray:
        """Average the members' predictions, made with `options`: rows x classes, or rows x 1 for numbers."""
        check_is_fitted(self)
        if self._grown is not None:
            return self._mean_of_trees(X)
        X = table_to_pass_on(self, X, reset=False)
        total: Any = 0.0
        unit = 0.0  # in which the sum of far numbers is finite
        with said_once():
            for number, member in enumerate(self._fitted_members):
                features = self._features_of(number) if self._features.n_wanted else None
                hard_votes = self._votes_are_hard(member)
                said = answers_of(member, X, features, classes, hard_votes=hard_votes, options=options)
                unit = unit or unit_of(said)
                total = total + (said if unit == 1.0 else said / unit)
        mean: FloatArray = total / len(self._fitted_members)
        return mean if unit == 1.0 else mean * unit

    def _mean_of_trees(self, X: Any) -> FloatArray:
        model: Ensemble = self._grown._model
        table = model.read(X, estimator_name=type(self).__name__)
        n_threads = resolve_n_jobs(self.n_jobs)
        return model.mean(table, n_threads=n_threads, hard_votes=self._votes_are_hard())[:, 0, :]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what X may hold: what the members accept."""
        tags = super().__sklearn_tags__()
        template = self._tree() if self.estimator is None else self.estimator
        inner = get_tags(template).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.categorical = inner.categorical
        tags.input_tags.string = inner.string
        return tags
