"""
hornbeam's compiled core: encoding, growing, predicting. Use the estimators; this border may change.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


version: str = '0.1.0'

class Dataset:
    """A table encoded column by column as integer codes."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    def n_codes(self, feature: int) -> int: ...

    def codes(self, feature: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """The codes of a column; n_codes means missing."""

    def values(self, feature: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The distinct values of an exact column, or the inner edges of a binned one.
        """

    def is_constant(self, feature: int) -> bool:
        """Whether all rows agree, missing values counting as one value."""

    def has_missing(self, feature: int) -> bool:
        """Whether some row has no value."""

    def is_binned(self, feature: int) -> bool: ...

def encode_table(n_rows: int, columns: list, max_bins: int, n_threads: int, whole: Dataset | None = None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> Dataset:
    """
    Encodes columns given as tuples: (values,), (category codes, n_categories) or (row indices, values, None).

    An integer in the place of a tuple is the number of a numeric column of `whole`, encoded exactly before, whose `rows` are wanted. max_bins=0 asks for exact codes.
    """

def sampled_rows(n_rows: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """
    The rows that the bins of a table of so many rows are made from, ascending; at most 200,000.
    """

class DistinctNumbers:
    """
    The distinct values of a column, collected block by block in any order.
    """

    def __init__(self, max_bins: int) -> None: ...

    def add(self, block: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)]) -> None:
        """Takes the values of a block of rows; NaN is missing."""

    @property
    def has_missing(self) -> bool: ...

    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))] | None:
        """
        The distinct values, ascending; None if they are more than bins, or than 2048.
        """

def make_bins(sample: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], distinct: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)] | None, max_bins: int) -> tuple:
    """
    Values and whether they are edges of bins: the distinct values if they are few, else edges from the values of the sampled rows.
    """

def codes_in_bins(block: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], values: Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)], binned: bool) -> object:
    """
    The codes of a block of rows, in the narrowest type that has room for all of the column.
    """

def dataset_of_codes(n_rows: int, columns: list) -> Dataset:
    """
    A data set over codes that exist already, which stay where they are.

    A tuple per column: (codes, values, binned, has_missing) of numbers, (codes, n_categories, has_missing) of categories. Codes out of range are refused.
    """

def paths_to_leaves(trees: tuple[Tree, ...], leaves: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int) -> tuple:
    """
    The nodes on each row's way to its leaves, numbered on from tree to tree: indices and ends of sparse rows.
    """

class Tree:
    """
    Flat parallel arrays; nodes breadth-first, children of a node adjacent.
    """

    @property
    def n_outputs(self) -> int: ...

    @property
    def n_values(self) -> int:
        """Classes per output (of the output with most); 1 for real targets."""

    @property
    def node_count(self) -> int: ...

    @property
    def n_leaves(self) -> int: ...

    @property
    def max_depth(self) -> int: ...

    @property
    def gaps(self) -> str:
        """
        What becomes of a row without the value a test asks for: it takes one "branch"; all, as a "fractional" row; or none: only with "available" values the tree has an answer.
        """

    @property
    def first_child(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def n_branches(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def feature(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def threshold(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def category_begin(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def missing_branch(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def n_node_samples(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def weighted_n_node_samples(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def impurity(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def gain(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def category_words(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), writable=False)]: ...

    @property
    def surrogate_begin(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def surrogate_feature(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def surrogate_threshold(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def surrogate_low_branch(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), writable=False)]: ...

    @property
    def surrogate_category_begin(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), writable=False)]: ...

    @property
    def surrogate_agreement(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), writable=False)]: ...

    @property
    def surrogate_category_words(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), writable=False)]: ...

    @property
    def value(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), writable=False)]: ...

    @property
    def children_left(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def children_right(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def parent(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def depth(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    def branches_of_categories(self, node: int, n_categories: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Where each category goes at a node."""

    def surrogate_branches(self, surrogate: int, n_categories: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Where a surrogate sends each category."""

def sums_of_leaves(at_leaves: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_inner: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], node_counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Counts of the leaves of binary trees, as counts of all their nodes: the sums of their children.
    """

def steps_to_means(means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_inner: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], node_counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    How many floating-point numbers lie between the mean of each inner node and that of its children.
    """

def means_by_steps(at_leaves: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_inner: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], node_counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The way back: means of all nodes."""

def steps_to_impurities(impurities: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_inner: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], node_counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """The same for the impurity, by squared error."""

def impurities_by_steps(at_leaves: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], means: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_inner: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], node_counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The way back: impurities of all nodes."""

def make_tree(*, n_outputs: int, n_values: int, categories: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_child: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_branches: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], category_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], missing_branch: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_node_samples: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weighted_n_node_samples: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], impurity: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], value: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], category_words: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], surrogate_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, surrogate_feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, surrogate_threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, surrogate_low_branch: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, surrogate_category_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, surrogate_agreement: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, surrogate_category_words: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, gaps: str = 'branch') -> Tree:
    """
    A tree from arrays of unknown origin: everything is checked, ValueError says which node is wrong.

    `categories` holds the number of categories of every feature, 0 for numeric ones.
    """

def thread_was_refused() -> bool:
    """
    Whether the system refused a thread since the last time this was asked.
    """

def criteria() -> list[tuple[str, str, str, bool, list[str]]]:
    """
    The criteria: name, the impurity that is shown, the second step, '' if there is none, whether it is for classes, and other names for it.
    """

def has_lanes() -> bool:
    """
    Whether trees and stumps may grow by fast lanes; if not, they are the same and take longer.
    """

def grow_tree(data: Dataset, *, n_classes: Sequence[int], n_outputs: int, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, reals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], multiplicity: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, key: int, n_threads: int, **settings) -> tuple:
    """
    Grows one tree; returns it and the number of rows whose weight was too small to count.
    """

class Predictor:
    """Answers of many trees for many rows."""

    def __init__(self, trees: tuple[Tree, ...], adds_to: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, unseen_to_majority: bool, path: str = 'fastest', instructions: str = 'avx512') -> None:
        """
        `adds_to` names, for trees of one value, the column of the score that each tree adds to.

        `path` is for tests: "fastest", "plain", "compact", "sliced" or "one_row" where that can hold the trees; so is `instructions`, the widest set to use: "baseline", "avx2" or "avx512".
        """

    def can_take(self, path: str) -> bool:
        """
        Whether a path can serve these trees at all; "plain" serves every tree.
        """

    @property
    def n_trees(self) -> int: ...

    @property
    def n_outputs(self) -> int: ...

    @property
    def n_values(self) -> int:
        """Columns of the score, per output."""

    @property
    def features(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """The features that the trees test, ascending."""

    def leaves(self, columns: Sequence[Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)]], n_rows: int, begin: int, end: int, n_threads: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
        """The leaf of every row in every tree from `begin` to `end`."""

    def leaves_of_array(self, array: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], begin: int, end: int, n_threads: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
        """The same for the rows of a 2-D array of numbers."""

    def leaves_of_encoded(self, data: Dataset, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, n_threads: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
        """The same for rows of the data set that the trees were grown on."""

    def add(self, columns: Sequence[Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)]], n_rows: int, begin: int, end: int, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, hard_votes: bool, n_threads: int, stages: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')] | None = None) -> None:
        """
        Adds what the trees say to scores[row, output, value], one tree after the other, in float64.

        `stages` takes the scores on the way: [stage, row, output, value], after equal numbers of trees.
        """

    def add_array(self, array: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)], begin: int, end: int, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, hard_votes: bool, n_threads: int, stages: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')] | None = None) -> None:
        """The same for the rows of a 2-D array of numbers."""

    def add_encoded(self, data: Dataset, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], begin: int, end: int, scores: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, hard_votes: bool, n_threads: int, stages: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None, None), order='C', device='cpu')] | None = None) -> None:
        """The same for rows of the data set that the trees were grown on."""

def find_leaves(tree: Tree, columns: Sequence[Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)]], n_rows: int, unseen_to_majority: bool, n_threads: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The leaf of every row, by the plain walk."""

def bounds_without(said: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], members: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], errors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], low_rank: int, high_rank: int, n_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Of the mean answers to each row by the members that have not seen a training row, less and plus the error of that row, over all training rows: the values of two ranks.

    `said` is rows x members; the members without training row i are those from begin[i] to begin[i + 1].
    """

def smaller_errors_without(said: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], members: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], errors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tolerance: float, n_threads: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    For each row, how many training rows have an error below 1 less the mean answer of the members that have not seen it, and less a tolerance.
    """

class Explainer:
    """Shapley values of the columns in the sum of some trees, exactly."""

    def __init__(self, trees: tuple[Tree, ...], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], adds_to: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, votes: bool, unseen_to_majority: bool) -> None:
        """
        Tree t adds weights[t] times its values (with `votes`: times 1 for the largest) to the scores, or to score adds_to[t] alone.
        """

    @property
    def n_scores(self) -> int: ...

    @property
    def has_weights(self) -> bool:
        """Whether every tree knows the weight of the rows it was grown on."""

    def explain(self, columns: Sequence[Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)]], n_rows: int, background: Sequence[Annotated[NDArray, dict(shape=(None,), device='cpu', writable=False)]] | None, n_background: int, parts: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], base: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int) -> None:
        """
        Writes parts[row, column, score], or parts[row, column, column, score] for pairs, and base[row, score]; path-dependent without a background.
        """

def collapse(tree: Tree, nodes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Tree:
    """
    The tree with these nodes turned into leaves, renumbered breadth-first.
    """

def cost_complexity_path(tree: Tree, by_error: bool) -> dict:
    """
    The nested sequence of pruned trees, the whole tree first: alpha, cost and n_leaves per step;
    removed_at, per node the step from which it is no inner node (0 at leaves); and the log of the cuts.
    """

def prune_cost_complexity(tree: Tree, ccp_alpha: float, by_error: bool = False) -> Tree:
    """
    The smallest tree of the sequence whose alpha is at most ccp_alpha; 0 prunes nothing.
    """

def prune_reduced_error(tree: Tree, cost_as_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple:
    """
    Cuts, one by one, the node whose removal lowers the validation error most; returns the tree and the
    log. `cost_as_leaf` holds, per node, the error on the validation rows that reach it were it a leaf.
    """

def prune_pessimistic(tree: Tree, confidence: float = 0.25) -> tuple:
    """
    Cuts, bottom-up, where a leaf has no larger pessimistic error than its branch (C4.5); returns the tree
    and the log.
    """

def validation_sums(tree: Tree, leaves: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], *, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, reals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> dict:
    """
    What each node would cost as a leaf on the rows that reach it, given the leaf of each row: with weights
    w and errors e, the sums of w e, w^2 e and w^2 e^2. Targets are row by row.
    """

def upper_error_rate(errors: float, weight: float, confidence: float) -> float:
    """
    The error rate that pessimistic pruning assumes for a leaf: the upper confidence limit of a
    binomial rate.
    """

def grow_density_tree(columns: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], *, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_depth: int, min_samples_split: int, min_samples_leaf: int) -> Tree:
    """
    Grows a density tree; values are densities relative to the uniform one over the box [low, high].
    """

class BagDraws:
    """
    What the members of a bag draw their rows from: rows or groups, in strata.
    """

    def __init__(self, *, key: int, with_replacement: bool, n_rows: int, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, unit_begin: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, stratum_begin: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], draws_per_stratum: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], unit_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    def times(self, member: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """How often each row is in the sample of a member."""

    def unit_times(self, member: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        How often each unit (a row, or a group of rows) is in the sample of a member.
        """

def member_keys(key: int, first: int, count: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]:
    """The keys of all draws inside some members."""

def draw_features(key: int, member: int, n_features: int, n_wanted: int, with_replacement: bool) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
    """The features that a member may test, ascending."""

def grow_forest(data: Dataset, *, n_classes: Sequence[int], n_outputs: int, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, reals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, draws: BagDraws, first_member: int, member_keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], features_per_member: int, features_with_replacement: bool, min_weight_fraction: float, balance_classes: bool, n_threads: int, **settings) -> tuple:
    """
    Grows some members of a bag; returns their trees and the largest number of rows of a sample whose weight was too small to count.
    """

class Booster:
    """The state of a boosting fit between rounds."""

    def __init__(self, data: Dataset, *, y: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_scores: int, loss: str, loss_parameter: float, row_memory: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')] | None = None, keeps_derivatives: bool = True, y_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, **settings) -> None: ...

    @staticmethod
    def row_buffer_bytes(n_rows: int, n_scores: int, keeps_derivatives: bool) -> int:
        """
        How many bytes `row_memory` must have: memory mapped from a file, for what a fit keeps of its rows.
        """

    def scores(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """The scores of all rows, [score, row]: the booster's own memory."""

    def gradients(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
        """First derivatives, [score, row]: the booster's own memory."""

    def hessians(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
        """Second derivatives, [score, row]: the booster's own memory."""

    def compute_derivatives(self) -> None:
        """Derivatives of the loss at the scores."""

    def grow(self, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, features: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], shared: bool = False) -> list[Tree]:
        """
        Grows the trees of a round, one per score, and adds them to the scores of all rows. Trees that are shared have the same tests.
        """

    def refit(self, tree: Tree, leaves: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], score: int, share: float) -> Tree:
        """
        Gives a tree the values that all rows of its leaves ask for, and adds them to the scores.
        """

class PartRows:
    """Some of the rows of a boosting fit, the others being elsewhere."""

    def __init__(self, data: Dataset, *, y: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_scores: int, loss: str, loss_parameter: float, first_row: int, n_rows_of_all: int, **settings) -> None: ...

    def scores(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """The scores of the rows, [score, row]: the part's own memory."""

    def gradients(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
        """First derivatives, [score, row]: the part's own memory."""

    def hessians(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
        """Second derivatives, likewise; not set where every one is 1."""

    def compute_derivatives(self, delta: float) -> None: ...

    def share_tests(self, keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Grows the next tree on the sum of all scores' derivatives, with signs by the keys.
        """

    def choose_rows(self, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, first_place: int) -> int:
        """Chooses the rows that trees grow on; returns their number."""

    def spread(self, score: int, hessians: bool) -> tuple:
        """
        What the part adds to the spread of derivatives: numbers before, pieces, numbers after.
        """

    def begin_trees(self, roots: list) -> tuple:
        """
        Begins trees; returns the sums of their roots. A root is a score, a scale and whether sums are wanted.
        """

    def divide(self, tasks: list) -> tuple:
        """
        Divides the rows of nodes; returns the sums that are wanted of their children. A task is a score, a node and what `tasks` says of it.
        """

    def rows_by_code(self, score: int, node: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        How many rows of a node have each code: 256 numbers for each column of bytes.
        """

    def sum_leaves(self, score: int, leaves: tuple) -> tuple:
        """
        Sums over leaves: of whole blocks, and of a block that ends in a later part.
        """

    def end_block(self, score: int, n_leaves: int, lanes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Goes on with a block that an earlier part has begun."""

    def add_values(self, score: int, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Adds the values of the leaves that were summed last to the scores of their rows.
        """

    def leaf_sizes(self, score: int, leaves: tuple) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    def residuals(self, score: int, leaves: tuple) -> tuple:
        """y - score of the rows of leaves, leaf after leaf, and their weights."""

    def sizes(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """|y - score| of all rows."""

class TreeOfParts:
    """A boosted tree that grows from sums of rows in parts."""

    def __init__(self, n_rows: int, columns: list, categories: Sequence[Sequence[int]], loss: str, loss_parameter: float, **settings) -> None: ...

    def begin(self, scale: tuple, n_rows: int, roots: list, place: int, features: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, key: int) -> None: ...

    def tasks(self, most: int) -> list:
        """
        Nodes to divide next: node, feature, first_right, missing_branch, left_categories, wanted.
        """

    def answer(self, parts: list, first: int, count: int) -> None:
        """
        What each part says: sums of all tasks, those of this tree beginning with number `first`.
        """

    def questions(self) -> list[int]:
        """Nodes whose rows must be counted by code."""

    def answer_question(self, rows_by_code: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def leaves(self) -> tuple:
        """The leaves in the parts: nodes, the leaf of each, how many leaves."""

    def leaf_values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """What leaves add to scores, after `finish`."""

    def finish(self, blocks: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weighted: bool) -> Tree: ...

    def finish_residuals(self, blocks: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weighted: bool, residuals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], delta: float) -> Tree: ...

    def refit(self, tree: Tree, sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], residuals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], delta: float) -> Tree:
        """The tree with values from other rows, by what they add up to."""

rows_per_refit_block: int = 16384

def added_sums(parts: list) -> tuple:
    """What several parts say of the same nodes, added up."""

def spread_of_parts(parts: list, listed: bool) -> tuple:
    """
    The largest size and the sum of sizes of numbers that lie in several parts.
    """

def scale_of_parts(gradients: tuple, hessians: tuple | None, n_rows: int, weighted: bool) -> tuple:
    """How a tree turns derivatives into fixed point."""

def sum_of_lanes(lanes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """The sums of a block from those of its lanes."""

def facts_of_loss(name: str) -> tuple:
    """
    Whether every hessian is 1, and whether leaves are found from residuals.
    """

def rows_per_leaf_block(n_rows: int, n_leaves: int) -> int:
    """The rows whose sums over leaves are made together."""

def boosting_quantile(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: float) -> float:
    """
    The value below which lies a share of the weight, as boosting counts it.
    """

class NeighborIndex:
    """Points, ready to be searched for neighbours."""

    def __init__(self, points: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], metric: str, parameters: Sequence[float], structure: str, n_threads: int) -> None:
        """
        structure: 'blocks' (any metric), 'panels' (euclidean) or 'tree' (not cosine, not gower).
        """

    @property
    def n_points(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    def search(self, queries: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], k: int, n_threads: int) -> tuple:
        """
        The rows of the k nearest points of each query, nearest first, and their distances.
        """

    def all_distances(self, queries: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], n_threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        The distances of all points to each query; only of an index of the structure 'blocks'.
        """

def first_unusable(matrix: Annotated[NDArray, dict(shape=(None, None), order='C', device='cpu', writable=False)], limit: float, nan_allowed: bool, n_threads: int) -> int:
    """
    The flat place of the first number that is not finite or beyond +-limit; the size if there is none.
    """

class StumpSearch:
    """
    Finds the stump of least weighted error of one data set, under many weights.
    """

    def __init__(self, data: Dataset, classes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, n_threads: int) -> None: ...

    def best(self, weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int) -> tuple:
        """
        The tree; for every row whether it is wrong; and how many rows weigh too little to count.
        """

def sum_in_any_order(values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> float:
    """The sum of numbers, the same bits in whatever order they come."""

MOST_COMPARED_PAIRWISE: int = 128

def chi2_log_sf(statistic: float, dof: float) -> float:
    """ln P(X >= statistic) for a chi-square X."""

def f_log_sf(f: float, d1: float, d2: float) -> float:
    """ln P(X >= f) for an X with the F distribution."""

def merge_categories(cells: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_classes: int, level: float) -> list[int]:
    """
    The group of each category, given a weight per class or, for n_classes=0, weight, mean and sum of squares about it.
    """

def n_ways_to_group(n_categories: int, n_groups: int) -> float:
    """
    In how many ways categories can be put into so many groups, none of them empty.
    """
