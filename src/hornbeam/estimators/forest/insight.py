"""Looking inside a forest: importances, paths, rules of each tree, and why a row gets its answer."""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.estimators.base import paths_through
from hornbeam.estimators.explained import mean_of_trees
from hornbeam.estimators.forest.intervals import ErrorBars
from hornbeam.inside.ensembles import EnsembleExplanation, explain_members, path_contributions
from hornbeam.inside.explain import read_row
from hornbeam.inside.frame import tree_frame
from hornbeam.inside.importance import shares_of_gain, shares_of_tests
from hornbeam.inside.rules import RuleStyle, write_rules
from hornbeam.inside.shapley import ScoreSum
from hornbeam.model import refuse_missing
from hornbeam.recipes.shuffle import error_growth
from hornbeam.threads import resolve_n_jobs

__all__ = ["Insight"]


class Insight(ErrorBars):
    """What can be asked about a fitted forest besides predictions."""

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The share of each feature in the impurity decrease of a tree, averaged over trees that split."""
        check_is_fitted(self)
        splitting = [tree for tree in self._model.trees if tree.node_count > 1]
        if not splitting:
            return np.zeros(self.n_features_in_)
        mean: npt.NDArray[np.float64] = np.mean(
            [shares_of_gain([tree], self.n_features_in_) for tree in splitting], axis=0
        )
        return mean / mean.sum() if mean.sum() > 0 else mean

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into in each tree: rows x trees."""
        return self._leaves(X)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Return the nodes each row passes, rows x nodes of all trees, sparse; and where each tree begins."""
        return paths_through(self._model.trees, self.apply(X))

    def _score_sum(self) -> ScoreSum:
        return mean_of_trees(self._model, self._class_labels(), votes=self._votes_are_hard())

    def path_contributions(self, X: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Say how each prediction changes at the tests on each column, and where it starts.

        On its way down a tree the answer for a row changes from node to node; each change is put down to the
        column of the test. That is quick and easy to follow, but later tests get more than earlier ones of
        the same kind; `contributions` shares out fairly.

        The first array is rows x columns, the second has a number per row; with several classes or outputs
        both have further dimensions for these. Start and contributions sum to the predicted number, or to
        the share of each class under soft voting.
        """
        if self._votes_are_hard():
            raise ValueError("Votes are no sums of contributions; path_contributions need voting='soft'.")
        means = self._values(X)
        found, start = path_contributions(self._model.trees, self._leaves(X), self.n_features_in_, means)
        if self.n_outputs_ == 1:
            found, start = found[:, :, 0], start[:, 0]
        if not self._class_labels():
            found, start = found[..., 0], start[..., 0]
        return found, start

    def explain(self, row: Any) -> EnsembleExplanation:
        """Say why one row gets its answer: what the members say, and what each column contributes.

        `row` is a table of one row, a dict or Series by column name, or a sequence in the order of the
        columns.
        """
        check_is_fitted(self)
        if self.n_outputs_ > 1:
            raise ValueError("explain takes one output; look at contributions(X) for several.")
        name = type(self).__name__
        schema = self._model.schema
        given = read_row(row, schema, unseen=self._model.unseen, estimator_name=name)
        if not self._model.missing_allowed:
            refuse_missing(given.table, name)
        leaves = self._model.leaves(given.table, n_threads=1)
        trees = self._model.trees
        said = np.stack([tree.value[leaf, 0] for tree, leaf in zip(trees, leaves[0], strict=True)])
        mean = self._model.mean(given.table, n_threads=1)
        found, start = path_contributions(trees, leaves, self.n_features_in_, mean)
        classes = self._class_labels()[0] if self._class_labels() else None
        return explain_members(
            schema.names,
            classes,
            contributions=found[0, :, 0],
            start=start[0, 0],
            mean=mean[0, 0],
            said=said,
        )

    def rules(self, style: RuleStyle = "text", member: int | None = None) -> Any:
        """Return the trees as rules: those of one member, or a list with the rules of every member.

        The styles are those of a single tree: "text", "list", "lines" or "formula".
        """
        check_is_fitted(self)
        trees = self._model.trees
        if member is None:
            return [write_rules(self._reading(tree), style) for tree in trees]
        if not -len(trees) <= member < len(trees):
            raise IndexError(f"There are {len(trees)} members; got member={member}.")
        return write_rules(self._reading(trees[member]), style)

    def to_frame(self, member: int = 0) -> Any:
        """Return the tree of a member as a pandas DataFrame, a row per node."""
        return tree_frame(self._reading(self._model.trees[member]))

    def importance(
        self,
        kind: Literal["gain", "count", "permutation"] = "gain",
        *,
        X: Any = None,
        y: Any = None,
        n_repeats: int = 1,
    ) -> Any:
        """Say how much each column matters.

        "gain" is `feature_importances_`; "count" the share of all tests that ask for the column;
        "permutation" how much the error of the trees grows on rows they have not seen if the column is
        shuffled there. The last needs the X and y of the fit, and returns a Bunch of `importances_mean`,
        `importances_std` (the standard error of the mean over the trees) and `importances` (columns x trees).
        """
        check_is_fitted(self)
        if kind == "gain":
            return self.feature_importances_
        if kind == "count":
            return shares_of_tests(self._model.trees, self.n_features_in_)
        if kind != "permutation":
            raise ValueError(f"kind must be 'gain', 'count' or 'permutation'; got {kind!r}.")
        if X is None or y is None:
            raise ValueError(
                "kind='permutation' looks at rows the trees have not seen: give X and y of the fit."
            )
        self._require_draws("importance(kind='permutation')")
        return self._permutation_importance(X, y, n_repeats)

    def _permutation_importance(self, X: Any, y: Any, n_repeats: int) -> Bunch:
        table = self._model.read(X, estimator_name=type(self).__name__)
        if table.n_rows != self._n_rows_given:
            raise ValueError(
                f"X has {table.n_rows} rows, but the fit had {self._n_rows_given}: give the X of the fit."
            )
        target = self._target_of(y, table.n_rows)
        rows_given = np.arange(table.n_rows) if self._rows_given is None else self._rows_given
        n_threads = resolve_n_jobs(self.n_jobs)
        growth = np.zeros((self.n_features_in_, len(self._model.trees)))
        for member, tree in enumerate(self._model.trees):
            rows = rows_given[self._plan.rows_left_out(member)]
            if len(rows):
                model = replace(self._model, trees=(tree,))
                growth[:, member] = error_growth(
                    model,
                    table,
                    rows,
                    target,
                    key=(self._plan.key, member),
                    n_repeats=n_repeats,
                    n_threads=n_threads,
                )
        return Bunch(
            importances_mean=growth.mean(axis=1),
            importances_std=growth.std(axis=1, ddof=min(1, len(self._model.trees) - 1))
            / np.sqrt(len(self._model.trees)),
            importances=growth,
        )

    def _target_of(self, y: Any, n_rows: int) -> ClassTarget | RegressionTarget:
        raise NotImplementedError
