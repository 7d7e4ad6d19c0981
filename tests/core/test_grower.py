"""The engine against the oracle, on thousands of small adversarial tables."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import naive
from reference.nodes import Missing, Rules
from reference.splits import branches_of, is_categorical, is_missing
from reference.tables import Table, tables

from core.growing import encode, grow, n_categories, same_bits
from hornbeam import _core
from hornbeam.model import TREE_ARRAYS

GROWTH = {"depth": "depth_first", "level": "level", "best": "best_first"}
SPLITS = ("subset", "one_vs_rest", "ordinal", "target_mean", "binary", "multiway", "merge")
CRITERIA = {
    "classes": ("gini", "entropy", "accuracy", "gain_ratio", "chi2"),
    "numbers": ("squared_error", "f_test"),
    "counts": ("poisson", "squared_error"),
}
READ_WEIGHTS_AS_COUNTS = ("chi2", "f_test")


@st.composite
def cases(draw: st.DrawFn, policy: Missing = "learn", **kinds: object) -> tuple[Table, Rules]:
    target = draw(st.sampled_from(("classes", "numbers", "counts")))
    table = draw(tables(target, **kinds))
    limits = {
        "max_depth": st.sampled_from([None, 1, 2, 5]),
        "min_samples_split": st.sampled_from([2, 2, 5]),
        "min_samples_leaf": st.sampled_from([1, 1, 2, 4]),
        "min_weight_leaf": st.sampled_from([0.0, 0.0, 2.0]),
        "min_impurity_decrease": st.sampled_from([0.0, 0.0, 0.01]),
        "max_leaf_nodes": st.sampled_from([None, None, 2, 4]),
        "max_nodes": st.sampled_from([None, None, 5]),
        "order": st.sampled_from(["depth", "level", "best"]),
        "max_surrogates": st.sampled_from([5, 5, 1, 0]),
        "criterion": st.sampled_from(CRITERIA[target]),
        "categorical_split": st.sampled_from(SPLITS),
        "merge_level": st.sampled_from([0.05, 0.3, 0.9]),
    }
    drawn = {name: draw(strategy) for name, strategy in limits.items()}
    if drawn["criterion"] in READ_WEIGHTS_AS_COUNTS:
        drawn["min_significance"] = draw(st.sampled_from([None, None, 0.05, 0.5]))
    if table.n_classes in (None, 2) and draw(st.integers(0, 3)) == 0:
        drawn["monotonic_cst"] = [
            0 if is_categorical(column) else draw(st.integers(-1, 1)) for column in table.columns
        ]
    return table, Rules(**drawn, missing=policy)


def grow_with(table: Table, rules: Rules, **more: object):
    return grow(
        table.columns,
        table.y,
        table.weights,
        n_classes=table.n_classes,
        criterion=rules.criterion,
        growth=GROWTH[rules.order],
        max_depth=rules.max_depth or 0,
        min_samples_split=rules.min_samples_split,
        min_samples_leaf=rules.min_samples_leaf,
        min_weight_leaf=rules.min_weight_leaf,
        min_impurity_decrease=rules.min_impurity_decrease,
        min_significance=rules.min_significance or 1.0,
        max_leaf_nodes=rules.max_leaf_nodes or 0,
        max_nodes=rules.max_nodes or 0,
        missing=rules.missing,
        max_surrogates=rules.max_surrogates,
        categorical_split=rules.categorical_split,
        merge_level=rules.merge_level,
        monotonic=rules.monotonic_cst or [],
        **more,
    )


def branch_of_each_row(tree, node, column):
    missing = tree.missing_branch[node]
    if tree.category_begin[node] < 0:
        return np.where(np.isnan(column), missing, np.where(column <= tree.threshold[node], 0, 1))
    table = tree.branches_of_categories(node, n_categories(column))
    return np.array([missing if code < 0 else table[code] for code in column])


def compare(tree, nodes, table: Table, rules: Rules) -> None:
    """Walk both trees together; below a node where another split is as good, the subtrees may differ."""
    limited = rules.max_leaf_nodes is not None or rules.max_nodes is not None
    if limited and any(naive.near_ties(n) or naive.near_order(n) for n in nodes if n.candidates):
        return  # which nodes the limit lets grow depends on ties
    pairs = [(0, 0)]
    while pairs:
        at, other = pairs.pop()
        node = nodes[other]
        assert tree.n_node_samples[at] == node.rows
        # Weights are whole numbers of a unit that comes from the total.
        assert tree.weighted_n_node_samples[at] == pytest.approx(node.weight, abs=1e-12 * nodes[0].weight)
        assert tree.impurity[at] == pytest.approx(node.impurity, rel=1e-9, abs=1e-9)
        assert tree.value[at] == pytest.approx(node.value, rel=1e-9, abs=1e-9)
        is_leaf = tree.first_child[at] == -1
        if naive.near_ties(node) or _near_the_limit(node, rules):
            continue
        assert is_leaf == (node.split is None)
        if is_leaf:
            continue
        assert tree.feature[at] == node.split.feature
        assert tree.n_branches[at] == node.split.n_branches
        column = table.columns[node.split.feature]
        ours = branch_of_each_row(tree, at, column)
        theirs = branches_of(node.split, column)
        if any(c.shadow for c in node.candidates) and (ours + theirs == 1)[node.origins].all():
            continue  # categories of equal mean in another order: the same partition, branches swapped
        missing = is_missing(column)
        tied = _heaviest_are_tied(table, node, theirs, missing)
        seen = node.origins if tied or rules.categorical_split == "subset" else np.arange(len(column))
        seen = seen[~missing[seen]] if tied else seen
        assert ours[seen].tolist() == theirs[seen].tolist()
        if tied and missing[node.origins].any():
            continue  # and its rows with it
        assert tied or tree.missing_branch[at] == node.split.missing_branch
        if node.split.threshold is not None:
            assert tree.threshold[at] == node.split.threshold
        decrease = tree.gain[at] / tree.weighted_n_node_samples[0]
        assert decrease == pytest.approx(node.decrease, rel=1e-6, abs=1e-9)
        compare_surrogates(tree, at, node, table)
        pairs += [(tree.first_child[at] + b, node.first_child + b) for b in range(node.split.n_branches)]


def compare_surrogates(tree, at, node, table: Table) -> None:
    begins = tree.surrogate_begin
    ours = range(*begins[at : at + 2].tolist()) if len(begins) else ()
    assert len(ours) == len(node.surrogates)
    for s, expected in zip(ours, node.surrogates, strict=True):
        assert tree.surrogate_feature[s] == expected.feature
        assert tree.surrogate_agreement[s] == pytest.approx(expected.agreement)
        if expected.branch_of_code is None:
            assert tree.surrogate_threshold[s] == expected.threshold
            assert tree.surrogate_low_branch[s] == expected.low_branch
        else:
            branches = tree.surrogate_branches(s, n_categories(table.columns[expected.feature]))
            otherwise = node.split.missing_branch
            expect = [expected.branch_of_code.get(code, otherwise) for code in range(len(branches))]
            assert branches.tolist() == expect


def _heaviest_are_tied(table: Table, node, branches, missing) -> bool:
    """Whether the two heaviest branches weigh the same but for rounding, which then says where gaps go.

    Weights of 1.3 on one side, 0.2 and 1.1 on the other: by the doubles' own values the second is heavier,
    and so says the engine; a sum that is rounded once, as here, makes them equal.
    """
    if table.weights is None or np.all(table.weights == np.round(table.weights)):
        return False  # sums of whole numbers are exact
    rows = node.origins[~missing[node.origins]]
    weights = np.bincount(branches[rows], table.weights[rows], minlength=node.split.n_branches)
    *_, second, first = np.sort(weights)
    return bool(first - second <= 1e-12 * table.weights.sum())


def _near_the_limit(node, rules: Rules) -> bool:
    return (
        node.decrease is not None
        and abs(node.decrease - rules.min_impurity_decrease) < 1e-9 < rules.min_impurity_decrease
    )


@settings(max_examples=1000)
@given(cases())
def test_the_engine_grows_the_oracles_tree(case):
    table, rules = case
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    compare(grow_with(table, rules), nodes, table, rules)


def test_branches_that_weigh_the_same_but_for_rounding():
    """By the doubles' own values 0.2 + 1.1 is more than 1.3; rounded, it is the same."""
    weights = np.array([1.3, 0.2, 1.1])
    assert Fraction(0.2) + Fraction(1.1) > Fraction(1.3)
    assert math.fsum(weights[1:]) == weights[0]
    table = Table([np.array([0.0, 1.0, 1.0])], np.array([2, 1, 0]), weights, 3)
    for criterion in CRITERIA["classes"]:
        rules = Rules(criterion=criterion, max_depth=1)
        nodes = naive.grow(table.columns, table.y, table.weights, n_classes=3, rules=rules)
        tree = grow_with(table, rules)
        compare(tree, nodes, table, rules)
        assert tree.missing_branch[0] == 1


@settings(max_examples=300)
@given(cases(weights=["none", "integers"], missing=False))
def test_whole_number_weights_are_like_repeated_rows(case):
    table, rules = case
    if rules.min_samples_leaf > 1 or rules.min_samples_split > 2 or table.weights is None:
        return
    times = table.weights.astype(int)
    repeated = Table(
        [np.repeat(c, times) for c in table.columns], np.repeat(table.y, times), None, table.n_classes
    )
    a, b = grow_with(table, rules), grow_with(repeated, rules)
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    if any(naive.near_ties(n, trust_ties=table.n_classes is not None) for n in nodes) or any(
        naive.near_order(n) for n in nodes
    ):
        return
    assert same_bits(a, b, ("first_child", "feature", "threshold", "category_words"))


@settings(max_examples=200)
@given(cases(), st.integers(-40, 40))
def test_weights_times_a_power_of_two_change_nothing(case, exponent):
    table, rules = case
    if rules.min_weight_leaf > 0 or rules.criterion in READ_WEIGHTS_AS_COUNTS:
        return
    if rules.categorical_split == "merge":
        return  # p-values read weights as numbers of rows
    weights = np.ones(len(table.y)) if table.weights is None else table.weights
    a = grow_with(Table(table.columns, table.y, weights, table.n_classes), rules)
    b = grow_with(Table(table.columns, table.y, np.ldexp(weights, exponent), table.n_classes), rules)
    fields = ("first_child", "feature", "threshold", "category_words", "impurity", "value", "missing_branch")
    assert same_bits(a, b, fields)
    assert (np.ldexp(a.weighted_n_node_samples, exponent) == b.weighted_n_node_samples).all()


@settings(max_examples=200)
@given(cases(), st.data())
def test_a_view_of_rows_is_like_a_copy_of_them(case, data):
    table, rules = case
    n = len(table.y)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    weights = None if table.weights is None else table.weights + 0.5
    if rules.criterion == "poisson" and not table.y[rows].any():
        return
    common = {
        "n_classes": table.n_classes,
        "criterion": rules.criterion,
        "growth": GROWTH[rules.order],
        "categorical_split": rules.categorical_split,
    }
    view = grow(encode(table.columns), table.y, weights, rows=rows, **common)
    # The copy keeps the category tables of the whole: codes must mean the same.
    columns = [c[rows] for c in table.columns]
    parts = encode_with_categories(columns, table.columns)
    copy = grow(
        parts, table.y[rows], None if weights is None else weights[rows], rows=np.arange(len(rows)), **common
    )
    assert same_bits(view, copy)


def encode_with_categories(columns, originals):
    parts = [
        (c.astype(np.int32), n_categories(o)) if np.issubdtype(c.dtype, np.integer) else (c,)
        for c, o in zip(columns, originals, strict=True)
    ]
    return _core.encode_table(len(columns[0]), parts, 0, 1)


@settings(max_examples=200)
@given(cases(weights=["none"]), st.data())
def test_multiplicities_are_like_weights(case, data):
    table, rules = case
    times = np.array(data.draw(st.lists(st.integers(1, 6), min_size=len(table.y), max_size=len(table.y))))
    common = {
        "n_classes": table.n_classes,
        "criterion": rules.criterion,
        "min_samples_leaf": rules.min_samples_leaf,
        "categorical_split": rules.categorical_split,
    }
    drawn = grow(table.columns, table.y, multiplicity=times, **common)
    weighted = grow(table.columns, table.y, times.astype(float), **common)
    nodes = naive.grow(
        table.columns,
        table.y,
        times.astype(float),
        n_classes=table.n_classes,
        rules=Rules(
            criterion=rules.criterion,
            min_samples_leaf=rules.min_samples_leaf,
            categorical_split=rules.categorical_split,
        ),
    )
    if any(naive.near_ties(n) for n in nodes):
        return
    assert same_bits(
        drawn, weighted, ("first_child", "feature", "threshold", "category_words", "n_node_samples")
    )


def test_the_three_ways_to_find_a_split_agree():
    """Nodes count codes, or sort rows, or find them in order: codes far apart, or subtrees, decide which."""
    rng = np.random.default_rng(3)
    n = 3000
    few = np.round(rng.normal(size=(n, 3)), 1)
    y = ((few[:, 0] > 0.3) ^ (few[:, 1] > -0.2) ^ (rng.random(n) < 0.2)).astype(int)
    columns = [few[:, j] for j in range(3)]
    counted = grow(columns, y, n_classes=2, subtree_rows=0)
    # The same rows inside a table with 200,000 other values per column: codes are far apart, so nodes sort.
    padding = np.sort(rng.normal(size=200_000))
    padded = encode([np.concatenate([c, padding]) for c in columns])
    target = np.concatenate([y, np.zeros(len(padding), dtype=int)])
    sorted_ = grow(padded, target, n_classes=2, rows=np.arange(n), subtree_rows=0)
    in_order = grow(padded, target, n_classes=2, rows=np.arange(n))
    assert same_bits(counted, sorted_)
    assert same_bits(counted, in_order)


@st.composite
def draws(draw: st.DrawFn) -> dict[str, object]:
    """What a forest asks of its trees."""
    return {
        "max_features": draw(st.integers(0, 3)),
        "random_splits": draw(st.booleans()),
        "key": draw(st.integers(0, 2**64 - 1)),
    }


@settings(max_examples=300)
@given(cases(), draws())
def test_growing_from_compacted_subtrees_changes_nothing(case, drawn):
    table, rules = case
    node_by_node = grow_with(table, rules, subtree_rows=0, **drawn)
    for subtree_rows in (4, 9, 65536):
        assert same_bits(grow_with(table, rules, subtree_rows=subtree_rows, **drawn), node_by_node)


@pytest.mark.parametrize("criterion", [*CRITERIA["classes"], "squared_error", "poisson", "f_test"])
@pytest.mark.parametrize("max_features", [0, 2])
@pytest.mark.parametrize("random_splits", [False, True])
def test_larger_subtrees_change_nothing(criterion, max_features, random_splits):
    """Enough rows for radix sorts and buckets; repeated, missing, few and categorical values."""
    rng = np.random.default_rng(7)
    n = 9000
    numbers = rng.normal(size=(n, 4))
    signal = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n)
    numbers[:, 1] = np.round(numbers[:, 1], 1)
    numbers[rng.random(n) < 0.1, 2] = np.nan
    numbers[:, 3] = np.round(numbers[:, 3])
    columns = [*numbers.T, rng.integers(-1, 12, size=n)]
    is_class = criterion in CRITERIA["classes"]
    y = np.digitize(signal, [-1, 1]) if is_class else np.round(np.exp(signal / 2), 2)
    data = encode(columns)

    def grown(times: np.ndarray | None, subtree_rows: int, **more: object):
        return grow(
            data,
            y,
            n_classes=3 if is_class else None,
            criterion=criterion,
            max_features=max_features,
            random_splits=random_splits,
            multiplicity=times,
            subtree_rows=subtree_rows,
            key=5,
            **more,
        )

    for times in (None, 1 + rng.poisson(0.6, size=n)):
        node_by_node = grown(times, 0)
        assert same_bits(grown(times, 65536), node_by_node)
        assert same_bits(grown(times, 500), node_by_node)
        assert same_bits(grown(times, 65536, n_threads=2), node_by_node)


@st.composite
def wide_tables(draw: st.DrawFn):
    """Enough features that a forest draws few of them, and rows for groups of several values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([2, 30, 65, 120, 400, 1500]))
    columns = []
    for _ in range(draw(st.integers(3, 9))):
        column = rng.normal(size=n) ** draw(st.sampled_from([1, 3]))
        digits = draw(st.sampled_from([0, 1, 2, 9]))
        column = np.round(column, digits)
        if draw(st.booleans()):
            column[rng.random(n) < draw(st.sampled_from([0.1, 0.9]))] = -2.0
        columns.append(column)
    signal = columns[0] + columns[1] * columns[2] + draw(st.sampled_from([0.1, 3.0])) * rng.normal(size=n)
    y = (signal > np.quantile(signal, draw(st.sampled_from([0.02, 0.5, 0.8])))).astype(int)
    times = 1 + rng.poisson(0.6, size=n) if draw(st.booleans()) else None
    return columns, y, times, draw(st.integers(1, len(columns) // 3))


# How large a branch must be: rows, each once, and their weight.
least_branches = st.fixed_dictionaries(
    {
        "min_samples_leaf": st.sampled_from([1, 1, 2, 5, 40]),
        "min_weight_leaf": st.sampled_from([0.0, 0.0, 1.7, 9.0]),
    }
)


@settings(max_examples=150)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from([0, 100, 65536]),
    st.sampled_from([0, 4]),
    least_branches,
)
def test_looking_at_groups_of_values_changes_nothing(table, key, subtree_rows, max_depth, limits):
    columns, y, times, max_features = table
    data = encode(columns)

    def grown(searches_groups: bool, n_threads: int = 1):
        return grow(
            data,
            y,
            n_classes=2,
            multiplicity=times,
            max_features=max_features,
            max_depth=max_depth,
            key=key,
            subtree_rows=subtree_rows,
            searches_groups=searches_groups,
            grows_blocks=False,
            n_threads=n_threads,
            **limits,
        )

    value_by_value = grown(False)
    assert same_bits(grown(True), value_by_value)
    assert same_bits(grown(True, n_threads=2), value_by_value)


def test_looking_at_groups_of_values_on_two_threads_changes_nothing():
    """Enough rows that the threads share the features of a node."""
    rng = np.random.default_rng(11)
    n = 60_000
    numbers = rng.normal(size=(n, 9))
    numbers[:, 1] = np.round(numbers[:, 1], 1)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n) > 0).astype(int)
    data = encode(list(numbers.T))
    value_by_value = grow(data, y, n_classes=2, max_features=3, key=5, max_depth=9, searches_groups=False)
    for n_threads in (1, 2):
        by_group = grow(data, y, n_classes=2, max_features=3, key=5, max_depth=9, n_threads=n_threads)
        assert same_bits(by_group, value_by_value)


def blocks_change_nothing(data, y, weights, **options):
    with_blocks, without = (
        grow(data, y, weights, n_classes=2, grows_blocks=grows, **options) for grows in (True, False)
    )
    return same_bits(with_blocks, without)


@settings(max_examples=200)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from([1, 3, 127, 128, 255]),
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_ranks_changes_nothing(
    table, key, most_times, subtree_rows, max_depth, min_samples_split, min_impurity_decrease, limits
):
    """Blocks hold rows that are drawn up to 127 times, and nodes of a limited weight."""
    columns, y, times, max_features = table
    data = encode(columns)
    if times is not None:
        times = np.minimum(times ** (7 if most_times > 3 else 1), most_times)
    weights = None if key % 2 else np.full(len(y), 0.3)

    assert blocks_change_nothing(
        data,
        y,
        weights,
        multiplicity=times,
        max_features=max_features,
        max_depth=max_depth,
        min_samples_split=min_samples_split,
        min_impurity_decrease=min_impurity_decrease,
        key=key,
        subtree_rows=subtree_rows,
        **limits,
    )


@pytest.mark.parametrize("digits", [1, 3, 9])
def test_growing_blocks_of_ranks_in_a_large_table_changes_nothing(digits):
    """More rows than a block holds; values that repeat a lot, here and there, or never."""
    rng = np.random.default_rng(13)
    n = 30_000
    numbers = np.round(rng.normal(size=(n, 12)), digits)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n) > 0).astype(int)
    data = encode(list(numbers.T))
    times = 1 + rng.poisson(0.6, size=n)

    def grown(**more: object):
        return grow(data, y, n_classes=2, multiplicity=times, max_features=3, key=7, **more)

    for limits in ({}, {"min_samples_leaf": 5}):
        node_by_node = grown(grows_blocks=False, searches_groups=False, **limits)
        assert same_bits(grown(**limits), node_by_node)
        assert same_bits(grown(n_threads=2, **limits), node_by_node)


def weights_of(rng: np.random.Generator, y: np.ndarray, kind: str) -> np.ndarray:
    if kind == "by class":
        return np.where(y == 1, 0.7, 1.9)
    if kind == "few":
        return rng.integers(1, 4, size=len(y)).astype(float)
    return np.exp(rng.normal(size=len(y)) * (3 if kind == "far apart" else 1))


kinds_of_weights = st.sampled_from(["by class", "few", "any", "far apart"])


@settings(max_examples=150)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    kinds_of_weights,
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_weighted_ranks_changes_nothing(
    table, key, kind, subtree_rows, max_depth, min_samples_split, min_impurity_decrease, limits
):
    columns, y, times, max_features = table
    assert blocks_change_nothing(
        encode(columns),
        y,
        weights_of(np.random.default_rng(key), y, kind),
        multiplicity=times,
        max_features=max_features,
        max_depth=max_depth,
        min_samples_split=min_samples_split,
        min_impurity_decrease=min_impurity_decrease,
        key=key,
        subtree_rows=subtree_rows,
        **limits,
    )


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5, "min_weight_leaf": 8.0}])
def test_growing_blocks_of_weighted_ranks_in_a_large_table_changes_nothing(digits, limits):
    """More rows than a block holds, on one thread and two."""
    rng = np.random.default_rng(13)
    n = 20_000
    numbers = np.round(rng.normal(size=(n, 12)), digits)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n) > 0).astype(int)
    data = encode(list(numbers.T))
    weights = weights_of(rng, y, "any")
    options = {"multiplicity": 1 + rng.poisson(0.6, size=n), "max_features": 3, "key": 7, **limits}

    node_by_node = grow(data, y, weights, n_classes=2, grows_blocks=False, **options)
    assert same_bits(grow(data, y, weights, n_classes=2, **options), node_by_node)
    assert same_bits(grow(data, y, weights, n_classes=2, n_threads=2, **options), node_by_node)


@settings(max_examples=200)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from([3, 7, 16, 17, 40, 64, 65]),
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_ranks_of_more_classes_changes_nothing(
    table, key, n_classes, subtree_rows, max_depth, min_samples_split, min_impurity_decrease, limits
):
    """Classes that fit a register and more; rows drawn up to 255 times; 65 classes are left to others."""
    columns, y, times, max_features = table
    rng = np.random.default_rng(key)
    many = np.where(rng.random(len(y)) < 0.7, y * (n_classes - 1), rng.integers(0, n_classes, len(y)))
    if key % 5 == 0:
        times = np.where(rng.random(len(y)) < 0.02, 255, 1)
    options = {
        "n_classes": n_classes,
        "multiplicity": times,
        "max_features": max_features,
        "max_depth": max_depth,
        "min_samples_split": min_samples_split,
        "min_impurity_decrease": min_impurity_decrease,
        "key": key,
        "subtree_rows": subtree_rows,
        **limits,
    }
    data = encode(columns)
    assert same_bits(grow(data, many, **options), grow(data, many, grows_blocks=False, **options))


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5, "min_weight_leaf": 8.0}])
@pytest.mark.parametrize(("n_classes", "max_features"), [(7, 3), (40, 12)])
def test_growing_blocks_of_ranks_of_more_classes_in_a_large_table_changes_nothing(
    digits, limits, n_classes, max_features
):
    """More rows than a block holds, on one thread and two."""
    rng = np.random.default_rng(13)
    n = 20_000
    numbers = np.round(rng.normal(size=(n, 12)), digits)
    signal = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n)
    y = np.digitize(signal, np.linspace(-2, 2, n_classes - 1))
    data = encode(list(numbers.T))
    options = {
        "n_classes": n_classes,
        "multiplicity": 1 + rng.poisson(0.6, size=n),
        "max_features": max_features,
        "key": 7,
        **limits,
    }

    node_by_node = grow(data, y, subtree_rows=0, **options)
    assert same_bits(grow(data, y, **options), node_by_node)
    assert same_bits(grow(data, y, n_threads=2, **options), node_by_node)


@settings(max_examples=200)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from(["no weights", "zeros", "any", "far apart"]),
    st.sampled_from([0, 1, 9]),
    st.booleans(),
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_ranks_of_numbers_changes_nothing(
    table, key, kind, digits, tries_all, subtree_rows, max_depth, min_impurity_decrease, limits
):
    """Numbers with ties and without, weights of all kinds, some features tried or all."""
    columns, y, times, max_features = table
    rng = np.random.default_rng(key)
    numbers = np.round(y + columns[0] + rng.exponential(size=len(y)), digits)
    weights = None if kind == "no weights" else weights_of(rng, y, kind)
    if kind == "zeros":
        weights = np.where(rng.random(len(y)) < 0.3, 0.0, weights)
        weights[0] = 1.0
        times = None
    options = {
        "multiplicity": times,
        "max_features": len(columns) if tries_all else max_features,
        "max_depth": max_depth,
        "min_impurity_decrease": min_impurity_decrease,
        "key": key,
        "subtree_rows": subtree_rows,
        **limits,
    }
    data = encode(columns)
    node_by_node = grow(data, numbers, weights, grows_blocks=False, **options)
    assert same_bits(grow(data, numbers, weights, **options), node_by_node)


@pytest.mark.parametrize("max_features", [3, 12])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5, "min_weight_leaf": 8.0}])
def test_growing_blocks_of_ranks_of_numbers_in_a_large_table_changes_nothing(max_features, limits):
    """More rows than a block holds, on one thread and two."""
    rng = np.random.default_rng(13)
    n = 20_000
    numbers = np.round(rng.normal(size=(n, 12)), 3)
    y = rng.poisson(np.exp(numbers[:, 0] * numbers[:, 1] * 0.3)) + numbers[:, 2].round()
    data = encode(list(numbers.T))
    options = {"multiplicity": 1 + rng.poisson(0.6, size=n), "max_features": max_features, "key": 7, **limits}

    node_by_node = grow(data, y, subtree_rows=0, **options)
    assert same_bits(grow(data, y, **options), node_by_node)
    assert same_bits(grow(data, y, n_threads=2, **options), node_by_node)


@settings(max_examples=100)
@given(wide_tables(), st.integers(0, 2**64 - 1), kinds_of_weights, st.booleans(), least_branches)
def test_a_class_without_rows_changes_no_tree_of_weighted_rows(table, key, kind, random_splits, limits):
    """Two classes have cells of their own; with a third one, which no row has, the general ones are used."""
    columns, y, times, max_features = table
    data = encode(columns)
    weights = weights_of(np.random.default_rng(key), y, kind)
    options = {"multiplicity": times, "max_features": max_features, "key": key, **limits}
    two, three = (grow(data, y, weights, n_classes=n, random_splits=random_splits, **options) for n in (2, 3))
    assert same_bits(two, three, tuple(name for name in TREE_ARRAYS if name != "value"))
    assert np.array_equal(np.array(two.value), np.array(three.value)[..., :2])


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_leaf_sizes_count_rows_and_not_how_often_they_were_drawn(criterion, n_classes):
    """Every leaf has at least so many rows, each once; drawing rows twice is weighing them twice."""
    rng = np.random.default_rng(5)
    n = 1200
    columns = list(np.round(rng.normal(size=(6, n)), 1))
    y = np.digitize(columns[0] + columns[1] + rng.normal(size=n), np.linspace(-1, 1, n_classes - 1))
    times = 1 + rng.poisson(0.6, size=n)
    options = {
        "n_classes": n_classes,
        "criterion": criterion,
        "min_samples_leaf": 7,
        "max_features": 2,
        "key": 3,
    }
    drawn = grow(columns, y, multiplicity=times, **options)
    leaves = drawn.first_child < 0
    assert drawn.n_node_samples[leaves].min() >= 7
    weighed = grow(columns, y, times.astype(float), **options)
    assert np.array_equal(drawn.feature, weighed.feature)
    assert np.array_equal(drawn.threshold, weighed.threshold, equal_nan=True)
    assert np.array_equal(drawn.n_node_samples, weighed.n_node_samples)


@st.composite
def narrow_tables(draw: st.DrawFn) -> tuple[list[np.ndarray], np.ndarray, np.ndarray | None, int]:
    """Columns of float32 with ties, constants, infinities and zeros of either sign, for two classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([1, 2, 3, 15, 16, 17, 33, 100, 700]))
    columns = []
    for _ in range(draw(st.sampled_from([1, 2, 3, 5, 9, 70]))):
        column = rng.normal(size=n) * draw(st.sampled_from([1.0, 1e-40, 1e38]))
        column = np.round(column, draw(st.sampled_from([0, 1, 45]))).clip(-3e38, 3e38).astype(np.float32)
        special = draw(st.sampled_from([np.nan, -0.0, np.inf, -np.inf, 2.0]))
        if not np.isnan(special):
            column[rng.random(n) < draw(st.sampled_from([0.1, 0.9, 1.0]))] = special
        columns.append(column)
    y = (rng.random(n) < draw(st.sampled_from([0.02, 0.5]))).astype(int)
    weights = np.full(n, draw(st.sampled_from([0.1, 3.0]))) if draw(st.booleans()) else None
    return columns, y, weights, draw(st.integers(1, len(columns)))


@settings(max_examples=300)
@given(
    narrow_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from([20, 65536]),
    st.sampled_from([0, 2, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_changes_nothing(
    table, key, subtree_rows, max_depth, min_samples_split, min_impurity_decrease, limits
):
    columns, y, weights, max_features = table
    data = encode(columns)

    assert blocks_change_nothing(
        data,
        y,
        weights,
        random_splits=True,
        max_features=max_features,
        max_depth=max_depth,
        min_samples_split=min_samples_split,
        min_impurity_decrease=min_impurity_decrease,
        key=key,
        subtree_rows=subtree_rows,
        **limits,
    )


@pytest.mark.parametrize(
    ("n", "n_features", "max_features"), [(70_000, 5, 4), (20_000, 70, 6), (20_000, 40, 4)]
)
def test_growing_blocks_of_many_rows_changes_nothing(n, n_features, max_features):
    """More rows than a block holds, and more than its counts of a stretch of them."""
    rng = np.random.default_rng(12)
    numbers = rng.normal(size=(n, n_features)).astype(np.float32)
    numbers[:, 1] = np.round(numbers[:, 1], 1)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n) > 0).astype(int)
    numbers[:, 3 : n_features // 2] = 0  # a node may draw nothing else at first
    data = encode(list(numbers.T))

    def grown(**more: object):
        return grow(data, y, n_classes=2, random_splits=True, max_features=max_features, key=7, **more)

    row_by_row = grown(grows_blocks=False)
    assert same_bits(grown(), row_by_row)
    assert same_bits(grown(n_threads=2), row_by_row)


@settings(max_examples=300)
@given(
    narrow_tables(),
    st.sampled_from([2, 3, 4, 8, 9, 33, 40, 64, 65, None]),
    st.sampled_from([False, False, True]),
    st.sampled_from(["each row once", "rows drawn again", "weights"]),
    st.integers(0, 2**64 - 1),
    st.sampled_from([20, 65536]),
    st.sampled_from([0, 2, 4]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_random_tests_of_all_kinds_of_rows_change_nothing(
    table, n_classes, other_criterion, how_often, key, subtree_rows, max_depth, min_impurity_decrease, limits
):
    """Classes that fit one word, several, or none; numbers; 32 and 64 bits; constants; weights of 0."""
    columns, _, _, max_features = table
    n = len(columns[0])
    rng = np.random.default_rng(key)
    y = rng.integers(0, n_classes, n) if n_classes else np.round(rng.exponential(size=n), 1)
    criteria = ("gini", "entropy") if n_classes else ("squared_error", "poisson")
    options = {
        "n_classes": n_classes,
        "criterion": criteria[other_criterion],
        "random_splits": True,
        "max_features": max_features,
        "max_depth": max_depth,
        "min_impurity_decrease": min_impurity_decrease,
        "key": key,
        **limits,
    }
    if how_often == "rows drawn again":
        options["multiplicity"] = 1 + rng.poisson(0.6, size=n)
    weights = rng.choice([0.0, 0.5, 1.0, 3.25], n) if how_often == "weights" else None
    if weights is not None:
        weights[0] = 1.0
    wide = [columns[0] * np.float64(1.1), *columns[1:]] if key % 4 == 0 else columns
    data = encode(wide)
    node_by_node = grow(data, y, weights, subtree_rows=0, **options)
    assert same_bits(grow(data, y, weights, subtree_rows=subtree_rows, **options), node_by_node)
    assert same_bits(grow(data, y, weights, grows_blocks=False, **options), node_by_node)


@pytest.mark.parametrize("how_often", ["each row once", "rows drawn again", "weights"])
@pytest.mark.parametrize(("n_classes", "max_features"), [(2, 4), (7, 4), (40, 12), (None, 4), (None, 12)])
def test_random_tests_of_many_rows_change_nothing(n_classes, max_features, how_often):
    """More rows than a block holds and than one sum of counts has room for; rows drawn 255 times."""
    rng = np.random.default_rng(21)
    n = 30_000
    numbers = rng.normal(size=(n, 12)).astype(np.float32)
    numbers[:, 1] = np.round(numbers[:, 1])
    numbers[:, 2] = 0
    signal = numbers[:, 0] * numbers[:, 1] + rng.normal(size=n)
    y = np.digitize(signal, np.linspace(-1, 1, n_classes - 1)) if n_classes else np.round(signal, 2)
    options = {
        "n_classes": n_classes,
        "random_splits": True,
        "max_features": max_features,
        "max_depth": 12,
        "key": 7,
    }
    if how_often == "rows drawn again":
        options["multiplicity"] = np.where(rng.random(n) < 0.5, 255, 1)
    weights = rng.gamma(2.0, size=n) if how_often == "weights" else None
    data = encode(list(numbers.T))
    node_by_node = grow(data, y, weights, subtree_rows=0, **options)
    assert same_bits(grow(data, y, weights, **options), node_by_node)
    assert same_bits(grow(data, y, weights, n_threads=2, **options), node_by_node)


@pytest.mark.parametrize("seed", range(6))
def test_poisson_scores_all_that_can_win(seed):
    """Where a feature has many values, only tests that a bound leaves in the race are scored exactly."""
    rng = np.random.default_rng(seed)
    n, scale = 150, (0.1, 1.0, 3.0)[seed % 3]  # from faint to strong signals
    columns = [rng.normal(size=n), rng.integers(0, 40, n).astype(float), rng.random(n).round(2)]
    y = rng.poisson(np.exp(scale * columns[0])).astype(float)
    y[0] = 1.0
    table = Table(columns, y, rng.integers(1, 4, n).astype(float) if seed % 2 else None, None)
    rules = Rules(criterion="poisson", max_depth=3)
    nodes = naive.grow(table.columns, table.y, table.weights, rules=rules)
    assert len(nodes) > 7
    compare(grow_with(table, rules), nodes, table, rules)
