"""Boosting on parts of the rows against boosting on all of them: the same trees, bit for bit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data.encode import encode
from hornbeam.data.table import read_table
from hornbeam.data.target import read_classes, read_numbers
from hornbeam.model import EncodedRows, Ensemble, tree_to_arrays
from hornbeam.recipes.bag import MemberFeatures, plan_draws
from hornbeam.recipes.boosting.boost import Boosting, BoostSettings, BoostTarget, RoundDraws
from hornbeam.recipes.boosting.boost_part import CoreColumn, Part, specs_of_parts
from hornbeam.recipes.boosting.boost_parts import LocalParts, PartsBoosting
from hornbeam.recipes.boosting.boost_parts_own import OwnLossPartsBoosting
from hornbeam.recipes.boosting.losses import OwnLoss, named_loss

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")

PLAIN = BoostSettings(
    learning_rate=0.3,
    growth="best_first",
    max_depth=0,
    max_leaf_nodes=9,
    min_samples_leaf=2,
    min_hessian_leaf=0.0,
    l1_regularization=0.0,
    l2_regularization=0.5,
    min_split_gain=0.0,
    max_features=0,
    monotonic=(),
    interactions=(),
    categorical_smoothing=1.0,
    categorical_split="subset",
    symmetric=False,
)
REGRESSION = {
    "squared_error": 0.0,
    "absolute_error": 0.0,
    "huber": 0.8,
    "quantile": 0.3,
    "poisson": 0.0,
    "gamma": 0.0,
    "tweedie": 1.5,
}


def core_columns(encoded):
    columns, codes = [], []
    for j, kind in enumerate(encoded.schema.kinds):
        own = encoded.codes.codes(j)
        n_codes, has_missing = encoded.codes.n_codes(j), encoded.codes.has_missing(j)
        width = np.uint8 if n_codes <= 0xFF else np.uint16 if n_codes <= 0xFFFF else np.uint32
        codes.append(own.astype(width))
        if kind == "categorical":
            present = np.setdiff1d(own, [n_codes]).astype(np.uint32)
            columns.append(CoreColumn(has_missing, n_categories=n_codes, present=present))
        else:
            columns.append(
                CoreColumn(has_missing, np.array(encoded.codes.values(j)), encoded.codes.is_binned(j))
            )
    return columns, codes


def both_ways(encoded, target, options, draws, cuts, *, shares_tests=False, n_threads=1, calls_at_once=1):
    columns, codes = core_columns(encoded)
    first_rows = sorted({0, *cuts})
    specs = specs_of_parts(columns, encoded.schema, target, options, first_rows, n_threads=n_threads)
    specs = [
        replace(spec, codes=tuple(c[spec.first_row : spec.first_row + spec.n_rows] for c in codes))
        for spec in specs
    ]
    whole = Boosting(encoded, target, options, draws, n_threads=1, shares_tests=shares_tests)
    parts = (OwnLossPartsBoosting if isinstance(target.loss, OwnLoss) else PartsBoosting)(
        LocalParts(specs, calls_at_once=calls_at_once),
        columns,
        target,
        options,
        draws,
        schema=encoded.schema,
        shares_tests=shares_tests,
        n_threads=n_threads,
    )
    return whole, parts


def grown_both_ways(*problem, n_rounds=3, **how):
    whole, parts = both_ways(*problem, **how)
    return [(whole.add_round(number), parts.add_round(number)) for number in range(n_rounds)]


def assert_same(rounds):
    for number, (expected, found) in enumerate(rounds):
        for a, b in zip(expected, found, strict=True):
            ours, theirs = tree_to_arrays(a), tree_to_arrays(b)
            for name, array in ours.items():
                assert np.array_equal(array, theirs[name]), (number, name, array, theirs[name])


def draws_of(encoded, *, share=1.0, n_features=0, key=7):
    rows = plan_draws(encoded.all_rows(), encoded.n_rows, key=key, with_replacement=False, max_samples=share)
    return RoundDraws(rows, MemberFeatures(n_features), encoded.n_features)


def frame_of(rng, n_rows, kinds):
    frame = {}
    for j, kind in enumerate(kinds):
        if kind == "category":
            frame[f"c{j}"] = pd.Categorical(rng.integers(0, rng.integers(2, 9), n_rows).astype(str))
        elif kind == "many":
            frame[f"c{j}"] = pd.Categorical(np.char.add("k", rng.integers(0, 400, n_rows).astype(str)))
        elif kind == "few":
            frame[f"n{j}"] = rng.integers(0, 4, n_rows).astype(np.float64)
        else:
            frame[f"n{j}"] = rng.normal(size=n_rows)
    frame = pd.DataFrame(frame)
    for name in frame:
        if rng.random() < 0.5:
            frame.loc[rng.random(n_rows) < 0.15, name] = None
    return frame


def target_of(rng, loss, n_rows, weights=None, offset=None):
    if loss in REGRESSION:
        y = (
            rng.gamma(2.0, size=n_rows) + 0.01
            if loss in {"poisson", "gamma", "tweedie"}
            else rng.normal(size=n_rows)
        )
        given_y = read_numbers(y, n_rows, rows=None, multi_output=False, estimator_name="it")
        return BoostTarget.of(named_loss(loss, parameter=REGRESSION[loss]), given_y, weights, offset)
    n_classes = 3 if loss == "softmax" else 2
    y = rng.integers(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    given_y = read_classes(y, n_rows, rows=None, multi_output=False, estimator_name="it")
    return BoostTarget.of(
        named_loss(loss, n_scores=n_classes if n_classes > 2 else 1), given_y, weights, offset
    )


@st.composite
def problems(draw, most_categories=True):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(6, 300))
    some = ["category", "few", "number", *(["many"] if most_categories else [])]
    kinds = draw(st.lists(st.sampled_from(some), min_size=1, max_size=5))
    encoded = encode(
        read_table(frame_of(rng, n_rows, kinds)), max_bins=draw(st.sampled_from([8, 255])), n_threads=1
    )
    weights = rng.random(n_rows) + 0.1 if draw(st.booleans()) else None
    loss = draw(st.sampled_from([*REGRESSION, "log_loss", "exponential", "softmax"]))
    target = target_of(rng, loss, n_rows, weights)
    numeric = [kind != "categorical" for kind in encoded.schema.kinds]
    monotonic = tuple(int(rng.integers(-1, 2)) if n else 0 for n in numeric) if draw(st.booleans()) else ()
    options = replace(
        PLAIN,
        growth=draw(st.sampled_from(["best_first", "level"])),
        max_leaf_nodes=draw(st.sampled_from([0, 2, 9, 31])),
        max_depth=draw(st.sampled_from([0, 1, 3])),
        min_samples_leaf=draw(st.sampled_from([1, 2, 5, 20])),
        l1_regularization=draw(st.sampled_from([0.0, 0.2])),
        max_features=draw(st.sampled_from([0, 1, 2])),
        monotonic=monotonic,
        interactions=((0,), tuple(range(1, len(kinds)))) if len(kinds) > 1 and draw(st.booleans()) else (),
        categorical_split=draw(st.sampled_from(["subset", "one_vs_rest"])),
    )
    draws = draws_of(encoded, share=draw(st.sampled_from([1.0, 0.5])))
    cuts = draw(st.lists(st.integers(1, n_rows - 1), max_size=6))
    return encoded, target, options, draws, cuts


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from([1, 2, 3]))
def test_parts_grow_the_trees_of_all_rows(problem, calls_at_once):
    assert_same(grown_both_ways(*problem, calls_at_once=calls_at_once))


def symmetric_problem(problem, *, leaves=16):
    """The same rows for trees that have one test per level, with what these take."""
    encoded, target, options, draws, cuts = problem
    limits = {"monotonic": (), "interactions": (), "categorical_split": "subset", "max_leaf_nodes": leaves}
    return encoded, target, replace(options, symmetric=True, **limits), draws, cuts


@settings(max_examples=60, deadline=None)
@given(problems(most_categories=False), st.sampled_from([2, 3, 8, 64]), st.sampled_from([1, 2]))
def test_parts_grow_the_symmetric_trees_of_all_rows(problem, leaves, calls_at_once):
    problem = symmetric_problem(problem, leaves=leaves)
    assert_same(grown_both_ways(*problem, calls_at_once=calls_at_once))


@settings(max_examples=20, deadline=None)
@given(problems(most_categories=False))
def test_classes_share_symmetric_trees_on_parts(problem):
    encoded, _, options, draws, cuts = symmetric_problem(problem)
    target = target_of(np.random.default_rng(len(cuts)), "softmax", encoded.n_rows)
    assert_same(grown_both_ways(encoded, target, options, draws, cuts, shares_tests=True))


class LogCosh:
    """Next to no curvature where rows are far off, so that steps have to be shortened."""

    def gradient_hessian(self, y, score):
        slope = np.tanh(score - y)
        return slope, 1 - slope**2


class Softmax:
    """Of three classes."""

    def gradient_hessian(self, y, score):
        shares = np.exp(score - score.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares - np.eye(3)[y.astype(int)], shares * (1 - shares)


def own_target(rng, n_rows, n_scores, weights):
    given = {1: LogCosh(), 3: Softmax()}[n_scores]
    loss = OwnLoss(n_scores=n_scores, given=given, n_classes=n_scores if n_scores > 1 else 0)
    if n_scores > 1:
        y = np.append(np.arange(n_scores), rng.integers(0, n_scores, n_rows - n_scores))
        given_y = read_classes(y, n_rows, rows=None, multi_output=False, estimator_name="it")
    else:
        y = 8 * rng.normal(size=n_rows)
        given_y = read_numbers(y, n_rows, rows=None, multi_output=False, estimator_name="it")
    offset = rng.normal(size=(n_rows, n_scores)) if rng.random() < 0.3 else None
    return BoostTarget.of(loss, given_y, weights, offset)


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from([1, 3]), st.booleans())
def test_a_loss_of_ones_own_grows_the_same_trees_on_parts(problem, n_scores, shares_tests):
    encoded, former, options, draws, cuts = problem
    rng = np.random.default_rng(encoded.n_rows + len(cuts))
    target = own_target(rng, encoded.n_rows, n_scores, former.weights)
    how = {"shares_tests": shares_tests and n_scores > 1, "calls_at_once": 2}
    if options.monotonic and n_scores > 1:
        options = replace(options, monotonic=())
    whole, parts = both_ways(encoded, target, options, draws, cuts, **how)
    every_row = encoded.all_rows()
    for number in range(3):
        assert_same([(whole.add_round(number), parts.add_round(number))])
        assert np.array_equal(parts.scores(every_row), whole.scores(every_row))


@pytest.mark.parametrize("n_scores", [1, 3])
def test_a_loss_of_ones_own_gives_trees_new_values_and_goes_on(n_scores):
    encoded, _, options, draws, cuts = large_problem(share=0.5)
    rng = np.random.default_rng(3)
    target = own_target(rng, encoded.n_rows, n_scores, rng.random(encoded.n_rows) + 0.1)
    whole, parts = both_ways(encoded, target, options, draws, cuts)
    rounds = [whole.add_round(number) for number in range(2)]
    parts.go_on_after([tree for trees in rounds for tree in trees])
    assert np.array_equal(parts.scores(encoded.all_rows()), whole.scores())
    assert_same([(whole.add_round(2), parts.add_round(2))])
    whole, parts = both_ways(encoded, target, options, draws, cuts)
    rows = EncodedRows(encoded.codes, encoded.all_rows())
    for trees in rounds:
        leaves = Ensemble(tuple(trees), encoded.schema).leaves(rows, n_threads=1)
        assert_same([(whole.refit_round(trees, leaves, 0.5), parts.refit_round(trees, 0.5))])
    assert np.array_equal(parts.scores(encoded.all_rows()), whole.scores())


def large_problem(loss="squared_error", *, share=1.0, weighted=False, **options):
    rng = np.random.default_rng(2)
    encoded = encode(read_table(frame_of(rng, 3_000, ["number"] * 4)), max_bins=255, n_threads=1)
    weights = rng.random(3_000) + 0.1 if weighted else None
    target = target_of(rng, loss, 3_000, weights)
    chosen = replace(PLAIN, min_samples_leaf=1, **options)
    return encoded, target, chosen, draws_of(encoded, share=share), [700, 2_100]


def calls_to(parts):
    """Note the calls whose sums are asked for, and what they ask about."""
    calls, send = [], parts._parts.send_for_sums

    def noted(call, arguments):
        calls.append((call, arguments[0]))
        send(call, arguments)

    parts._parts.send_for_sums = noted
    return calls


def test_a_level_of_symmetric_trees_is_one_call_to_the_parts():
    parts = both_ways(*large_problem(symmetric=True, max_leaf_nodes=64))[1]
    calls = calls_to(parts)
    assert parts.add_round(0)[0].max_depth == 6
    assert [call for call, _ in calls] == ["begin_trees", *["divide"] * 6]


def test_a_tree_takes_hardly_more_calls_than_it_has_levels():
    # Below a node whose turn has not come, nodes are divided too: else a call would wait for each turn.
    parts = both_ways(*large_problem(max_leaf_nodes=64))[1]
    calls = calls_to(parts)
    for number in range(5):
        [tree] = parts.add_round(number)
        divisions = [tasks for call, tasks in calls if call == "divide"]
        calls.clear()
        assert tree.node_count == 127
        assert tree.max_depth <= len(divisions) <= tree.max_depth + 2
        assert 63 <= sum(map(len, divisions)) < 126  # some in vain, of noise more than elsewhere


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_below_which_nodes_were_divided_in_vain(loss, weighted):
    # The parts have written over their rows: such a leaf is the nodes below it. With residuals, in what order
    # the rows come matters.
    problem = large_problem(loss, weighted=weighted, max_leaf_nodes=20)
    whole, parts = both_ways(*problem, n_threads=2)
    listed, sum_leaves = [], Part.sum_leaves

    def noted(self, leaves):
        listed.extend(len(nodes) - n_leaves for nodes, _, n_leaves in leaves)
        return sum_leaves(self, leaves)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Part, "sum_leaves", noted)
        assert_same([(whole.add_round(number), parts.add_round(number)) for number in range(6)])
    assert max(listed) > 0


def test_trees_begin_with_the_call_that_finds_their_scale_unless_it_has_changed():
    # Steps that are as long as residuals halve these soon, and with them what fixed point can hold.
    whole, parts = both_ways(*large_problem(learning_rate=1.0, max_leaf_nodes=1_500))
    calls, rounds, begun = calls_to(parts), [], []
    for number in range(8):
        rounds.append((whole.add_round(number), parts.add_round(number)))
        begun.append(sum(call == "begin_trees" for call, _ in calls))
        calls.clear()
    assert_same(rounds)
    assert begun[0] == 1  # nothing to guess from
    assert set(begun[1:]) == {0, 1}
    assert sum(begun) < 8


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_rows_that_grew_a_tree_get_its_values_without_being_asked_for_their_leaves(monkeypatch, share):
    whole, parts = both_ways(*large_problem(share=share))
    asked, leaves = [], Ensemble.leaves

    def noted(self, rows, **how):
        asked.append(len(rows.rows))
        return leaves(self, rows, **how)

    monkeypatch.setattr(Ensemble, "leaves", noted)
    assert_same([(whole.add_round(number), parts.add_round(number)) for number in range(3)])
    assert sum(asked) == (0 if share == 1.0 else 2 * 1_500)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_threads_share_the_blocks_of_a_part(share):
    # Blocks of 32,768 rows in parts, some of which are cut by the end of a part.
    rng = np.random.default_rng(4)
    encoded = encode(read_table(frame_of(rng, 150_000, ["number"] * 2)), max_bins=255, n_threads=1)
    weights = rng.random(150_000) + 0.1
    target = target_of(rng, "log_loss", 150_000, weights)
    problem = encoded, target, PLAIN, draws_of(encoded, share=share), [70_001]
    assert_same(grown_both_ways(*problem, n_threads=2))


def test_as_many_parts_as_add_on_the_way_do_not_begin_trees_at_once(monkeypatch):
    whole, parts = both_ways(*large_problem())
    parts._parts.adds_on_the_way = True
    calls = calls_to(parts)
    assert_same([(whole.add_round(number), parts.add_round(number)) for number in range(3)])
    assert sum(call == "begin_trees" for call, _ in calls) == 3


def test_nodes_that_a_level_leaves_whole_wait_for_the_next_one():
    # Rows of a weight of 9 have hessian enough for a leaf, but are not rows enough.
    rng = np.random.default_rng(3)
    encoded = encode(read_table(frame_of(rng, 2_000, ["number"] * 4)), max_bins=255, n_threads=1)
    weights = np.where(rng.random(2_000) < 0.05, 9.0, 0.1)
    target = target_of(rng, "log_loss", 2_000, weights)
    options = replace(PLAIN, symmetric=True, max_leaf_nodes=64, min_samples_leaf=60)
    problem = (encoded, target, options, draws_of(encoded), [700, 1_300])
    assert_same(grown_both_ways(*problem))
    parts = both_ways(*problem)[1]
    calls = calls_to(parts)
    parts.add_round(0)
    divided = [task[1] for call, tasks in calls if call == "divide" for task in tasks]
    assert len(set(divided)) < len(divided)


@pytest.mark.parametrize("grows_symmetric", [False, True])
@pytest.mark.parametrize("n_parts", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    ("loss", "weighted"), [("log_loss", False), ("squared_error", True), ("softmax", False)]
)
def test_blocks_and_pieces_lie_across_parts(n_parts, loss, weighted, grows_symmetric):
    # Blocks of leaves have n / 8 rows, pieces of a spread 4,096: no part begins with either.
    n_rows = 41_234
    rng = np.random.default_rng(3)
    encoded = encode(
        read_table(frame_of(rng, n_rows, ["number", "few", "category"])), max_bins=255, n_threads=1
    )
    target = target_of(rng, loss, n_rows, rng.random(n_rows) + 0.1 if weighted else None)
    cuts = [n_rows * k // n_parts + 17 * (k % 3) for k in range(1, n_parts)]
    options = replace(PLAIN, max_leaf_nodes=32, min_samples_leaf=20, symmetric=grows_symmetric)
    assert_same(grown_both_ways(encoded, target, options, draws_of(encoded, share=0.7), cuts, n_rounds=2))
    assert_same(grown_both_ways(encoded, target, options, draws_of(encoded), cuts, n_rounds=2))


def test_many_small_parts_within_one_block():
    rng = np.random.default_rng(5)
    encoded = encode(read_table(frame_of(rng, 9_000, ["number", "number"])), max_bins=255, n_threads=1)
    target = target_of(rng, "log_loss", 9_000)
    cuts = np.unique(rng.integers(1, 9_000, 60)).tolist()
    assert_same(grown_both_ways(encoded, target, PLAIN, draws_of(encoded), cuts))


@pytest.mark.parametrize("grows_symmetric", [False, True])
def test_more_rows_than_packed_cells_hold(grows_symmetric):
    # Beyond 65,536 rows cells are wide; the children of such nodes are packed again.
    n_rows = 70_001
    rng = np.random.default_rng(8)
    encoded = encode(read_table(frame_of(rng, n_rows, ["number", "few"])), max_bins=63, n_threads=1)
    target = target_of(rng, "squared_error", n_rows)
    options = replace(PLAIN, symmetric=grows_symmetric)
    assert_same(grown_both_ways(encoded, target, options, draws_of(encoded), [20_000, 68_000], n_rounds=2))


@settings(max_examples=30, deadline=None)
@given(problems())
def test_classes_share_tests_on_parts_as_on_all_rows(problem):
    encoded, _, options, draws, cuts = problem
    target = target_of(np.random.default_rng(len(cuts)), "softmax", encoded.n_rows)
    options = replace(options, categorical_split="subset")
    assert_same(grown_both_ways(encoded, target, options, draws, cuts, shares_tests=True))


def refitted_both_ways(problem, *, share=0.25, **how):
    """Give trees of three rounds values from all rows, and go on from there."""
    encoded, target, options, draws, cuts = problem
    grown = both_ways(encoded, target, options, draws, cuts, **how)[0]
    rounds = [grown.add_round(number) for number in range(3)]
    whole, parts = both_ways(encoded, target, options, draws, cuts, **how)
    for trees in rounds:
        rows = EncodedRows(encoded.codes, encoded.all_rows())
        leaves = Ensemble(tuple(trees), encoded.schema).leaves(rows, n_threads=1)
        yield whole.refit_round(trees, leaves, share), parts.refit_round(trees, share)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_leaves_get_values_from_parts_as_from_all_rows(problem):
    assert_same(refitted_both_ways(problem))


@pytest.mark.parametrize(("loss", "weighted"), [("huber", True), ("softmax", False), ("log_loss", True)])
def test_blocks_of_new_values_lie_across_parts(loss, weighted):
    # Blocks have 16,384 rows: some parts begin and end within one, one begins with one.
    n_rows = 41_234
    rng = np.random.default_rng(4)
    encoded = encode(read_table(frame_of(rng, n_rows, ["number", "category"])), max_bins=255, n_threads=1)
    target = target_of(rng, loss, n_rows, rng.random(n_rows) + 0.1 if weighted else None)
    cuts = [100, 9_000, 16_384, 20_001, 41_233]
    problem = (encoded, target, PLAIN, draws_of(encoded), cuts)
    assert_same(refitted_both_ways(problem, shares_tests=loss == "softmax"))


def test_scores_go_on_after_trees_of_another_process():
    rng = np.random.default_rng(6)
    encoded = encode(read_table(frame_of(rng, 500, ["number", "few"])), max_bins=255, n_threads=1)
    target = target_of(rng, "squared_error", 500)
    problem = (encoded, replace(target, unit=2.0**70), PLAIN, draws_of(encoded), [100, 333])
    whole, parts = both_ways(*problem)
    first = [tree for number in range(2) for tree in whole.add_round(number)]
    parts.go_on_after(first)
    assert_same([(whole.add_round(2), parts.add_round(2))])
    some = np.array([3, 99, 100, 420], dtype=np.uint32)
    assert np.array_equal(parts.scores(some), whole.scores(some))
    start = np.ones((4, 1))
    rows = EncodedRows(encoded.codes, some)
    expected = Ensemble(tuple(first), encoded.schema).total(
        rows, n_threads=1, onto=start[:, np.newaxis].copy()
    )
    assert np.array_equal(parts.scores_from(first, some, start), expected[:, 0])
