"""Where a number in the code decides how something is done: the same answers on both sides, at its real size.

Early stopping (100,000 judged rows) is in boosting/test_boosting.py, the bandwidth of neighbours (1,000 rows)
in estimators/test_order_and_company.py, batches of files in cli/test_tables.py, how a tree is grown in
grow/test_lane_sizes.py.
"""

import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import hornbeam as hb
from hornbeam.bootstrap import bootstrap
from hornbeam.cli.main import run
from hornbeam.data.class_weight import class_weights
from hornbeam.data.target import read_classes
from hornbeam.data.task import task_of
from hornbeam.estimators.linear import Design
from hornbeam.recipes.boosting.boost_sums import added
from hornbeam.report.facts import gather
from hornbeam.report.viewer import viewer_data


@pytest.mark.parametrize("most", [65_534, 65_535, 65_536])
@pytest.mark.parametrize("least", [0, -7])
def test_labels_that_span_65536_whole_numbers(most, least):
    """Up to 65,536 different numbers labels are counted, beyond that sorted."""
    y = np.array([most + least, least, least + 3, most + least, least + 3])
    target = read_classes(y, 5)
    classes, codes = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(target.classes[0], classes)
    np.testing.assert_array_equal(target.codes[:, 0], codes)


@pytest.mark.parametrize(("n_values", "task"), [(20, "classification"), (21, "regression")])
def test_whole_numbers_are_classes_up_to_20(n_values, task):
    assert task_of(np.arange(100) % n_values) == task


@pytest.mark.parametrize("n_rows", [250_000, 250_004])
def test_bins_of_folds_of_200000_rows_are_those_of_a_fit_on_them(n_rows):
    """Folds of up to 200,000 rows take their bins from the ranks of all rows, larger ones from a sample."""
    x = np.random.default_rng(0).permutation(n_rows).astype(float)
    X = np.column_stack([x, x**2 % 1001])
    y = np.sin(x / n_rows * 20)
    model = hb.GradientBoostingRegressor(2, max_leaf_nodes=64)
    folds = [(np.arange(n_rows)[n_rows // 5 :], np.arange(n_rows)[: n_rows // 5])]
    ours = hb.tune(X, y, model, {"learning_rate": [0.5]}, cv=folds)
    theirs = GridSearchCV(clone(model), {"learning_rate": [0.5]}, cv=folds, refit=False).fit(X, y)
    np.testing.assert_array_equal(
        ours.cv_results_["split0_test_score"], theirs.cv_results_["split0_test_score"]
    )


@pytest.mark.parametrize("n_rows", [499, 500, 501])
@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_5000_answers_by_one_thread_or_several(n_rows, n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    forest = hb.RandomForestRegressor(10, random_state=0, n_jobs=n_jobs).fit(X[:200], X[:200, 0])
    alone = np.concatenate([forest.predict(X[i : i + 1]) for i in range(0, n_rows, 50)])
    np.testing.assert_array_equal(forest.predict(X)[::50], alone)


@pytest.mark.parametrize("n_trees", [15, 16, 17, 33])
def test_trees_that_abstain_are_counted_16_at_a_time(n_trees):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    y = (np.nan_to_num(X[:, 0]) > 0).astype(int)
    forest = hb.RandomForestClassifier(n_trees, missing="available", smoothing=0, random_state=0).fit(X, y)
    some = X[~np.isnan(X).any(axis=1)][:20]
    by_member = np.mean([member.predict_proba(some) for member in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict_proba(some), by_member, atol=1e-12)


@pytest.mark.parametrize("n_rows", [41_943, 41_944])
def test_stages_that_fill_32_mib(n_rows):
    """100 stages of 41,943 rows are the most that fit: 32 MiB of float64."""
    x = np.arange(n_rows, dtype=float)[:, np.newaxis]
    model = hb.GradientBoostingRegressor(101, max_leaf_nodes=3).fit(x[::50], np.sin(x[::50, 0] / 5000))
    last = None
    for stage in model.staged_predict(x):
        last = stage
    np.testing.assert_array_equal(last, model.predict(x))


@pytest.mark.parametrize("n_queries", [4096, 4097])
def test_distances_that_fill_four_million_cells(n_queries):
    """1,024 rows x 4,096 queries are measured at once, one query more in two parts."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(1024, 2)), rng.normal(size=(n_queries, 2))
    model = hb.KNeighborsRegressor(None, weights="gaussian", bandwidth=0.3).fit(X, X[:, 0])
    ends = np.concatenate([queries[:5], queries[-5:]])
    together = model.predict(queries)
    np.testing.assert_array_equal(np.concatenate([together[:5], together[-5:]]), model.predict(ends))


@pytest.mark.parametrize("n_queries", [4096, 4097])
def test_uncertainties_that_fill_four_million_cells(n_queries):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1024, 2))
    queries = rng.normal(size=(n_queries, 2))
    forest = hb.RandomForestRegressor(20, random_state=0).fit(X, X[:, 0])
    together = forest.predict_std(queries)
    ends = np.concatenate([queries[:5], queries[-5:]])
    np.testing.assert_allclose(
        np.concatenate([together[:5], together[-5:]]), forest.predict_std(ends), rtol=1e-9
    )


@pytest.mark.parametrize("n_categories", [100, 101])
def test_a_linear_model_marks_the_100_most_frequent_categories(n_categories):
    counts = np.arange(n_categories, 0, -1)
    table = pd.DataFrame({"c": np.repeat([f"k{j:03}" for j in range(n_categories)], counts)})
    marks = Design().fit(table).transform(table)
    assert marks.shape == (counts.sum(), 100)
    np.testing.assert_array_equal(np.asarray(marks.sum(axis=0)).ravel(), counts[:100])


@pytest.mark.parametrize("n_rows", [200, 201])
def test_200_blocks_of_the_jackknife(n_rows):
    """Of a mean, the corrected interval of few blocks is close to that of single rows."""
    values = np.random.default_rng(0).exponential(size=n_rows)
    found = bootstrap(np.mean, values, n=400, random_state=0)
    assert found.bca[0] < found.value < found.bca[1]
    assert found.standard_error == pytest.approx(values.std() / np.sqrt(n_rows), rel=0.15)


@pytest.mark.parametrize(
    ("n_rows", "n_columns"), [(3_000, 2), (3_001, 2), (20_000, 2), (20_001, 2), (300, 80), (300, 81)]
)
def test_reports_of_tables_at_their_limits(n_rows, n_columns):
    """Beyond 3,000 rows and 80 columns some are shuffled, beyond 20,000 rows some are learned from."""
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    y = (X[:, 0] > 0).astype(int)
    model = hb.DecisionTreeClassifier(max_depth=2).fit(X, y)
    facts = gather(model, X, y, X_train=None, y_train=None, cv=None, target_name="y", seed=0)
    assert facts.scores.scores[0].model == 1.0
    assert len(viewer_data(facts)["rows"]) == 60


@pytest.mark.parametrize("n_leaves", [10_000, 10_001])
def test_the_viewer_shows_20000_nodes(n_leaves):
    x = np.arange(10_001.0)[:n_leaves, np.newaxis]
    model = hb.DecisionTreeRegressor().fit(x, x[:, 0])
    facts = gather(model, x, x[:, 0], X_train=None, y_train=None, cv=None, target_name="y", seed=0)
    (tree,) = viewer_data(facts)["members"]
    assert model.tree_.node_count == 2 * n_leaves - 1
    assert len(tree["node"]) == (2 * n_leaves - 1 if n_leaves == 10_000 else 19_999)
    assert bool(tree["cut"]) == (n_leaves > 10_000)


@pytest.mark.parametrize("n_members", [200, 201])
def test_the_viewer_shows_200_members(n_members):
    x = np.arange(20.0)[:, np.newaxis]
    model = hb.GradientBoostingRegressor(n_members, min_samples_leaf=5).fit(x, x[:, 0])
    facts = gather(model, x, x[:, 0], X_train=None, y_train=None, cv=None, target_name="y", seed=0)
    data = viewer_data(facts)
    assert len(data["members"]) == 200 and data["total"] == n_members


@pytest.mark.parametrize("n_first", [2**16 - 8, 2**16, 2**16 + 8])
@pytest.mark.parametrize("by", ["file", "pipe"])
def test_a_text_after_the_first_64_kib_makes_a_column_of_texts(n_first, by, tmp_path, capsys, monkeypatch):
    """Types are guessed from the first 65,536 bytes; what comes later may overrule them."""
    rows = n_first // 8
    text = "x,y\n" + "1234,no\n" * rows + "many,ye\n" * 5
    path, model = tmp_path / "d.csv", tmp_path / "m.hornbeam"
    path.write_text(text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    source = str(path) if by == "file" else "-"
    assert run(["fit", source, "--target", "y", "--method", "tree", "-o", str(model), "--json"]) == 0
    printed = capsys.readouterr()
    assert "Column x is taken as text, because of 'many'" in printed.err
    assert json.loads(printed.out)["rows"] == rows + 5
    assert hb.load(model)._model.schema.categories[0] == ("1234", "many")


@pytest.mark.parametrize("least", [2.0**-400, 2.0**-401, 2.0**-402])
def test_a_class_weighs_2_to_the_400_times_as_much_at_most(least):
    """Balanced: half of all weight over that of the class, which products with weights could not hold."""
    found = class_weights("balanced", read_classes(np.array([0, 1]), 2), sample_weight=np.array([1.0, least]))
    assert found.tolist() == [0.5, min(0.5 / least, 2.0**400)]


@pytest.mark.parametrize("largest", [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**52])
def test_sums_that_fit_32_bits_are_sent_in_them(largest):
    """A node: rows on the left, two sums of all rows, one cell, whether in 32 bits; then the cell's bytes."""
    cell = np.array([1, largest], dtype=np.int64)
    sent = added([(np.array([3, 5, 7, 1, 0]), np.frombuffer(cell.tobytes(), np.uint8), [[]], [])])
    fits = -(2**31) <= largest < 2**31
    assert np.ravel(sent[0]).tolist() == [3, 5, 7, 1, fits]
    assert np.frombuffer(bytes(sent[1]), np.int32 if fits else np.int64).tolist() == cell.tolist()
    heads, cells, *_ = added([sent, sent])
    assert np.ravel(heads).tolist()[:4] == [6, 10, 14, 1]
    narrow = np.ravel(heads)[4]
    assert narrow == (-(2**31) <= 2 * largest < 2**31)
    assert np.frombuffer(bytes(cells), np.int32 if narrow else np.int64).tolist() == [2, 2 * largest]


@pytest.mark.parametrize("n_columns", [13, 14])
def test_a_median_of_trees_of_14_columns(n_columns):
    """Of 14 columns and ten trees, the sets of 12 rows are 2^21 numbers, which are worked on at once."""
    X = np.random.default_rng(0).normal(size=(200, n_columns))
    median = hb.AdaBoostRegressor(hb.DecisionTreeRegressor(), n_estimators=10, random_state=0)
    found = median.fit(X, X.sum(axis=1)).contributions(X[:13])
    np.testing.assert_allclose(found.scores, median.predict(X[:13]), atol=1e-9)
    for row in (0, 11, 12):
        alone = median.contributions(X[row : row + 1])
        np.testing.assert_array_equal(alone.values[0], found.values[row])


@pytest.mark.parametrize("n_steps", [149, 150, 151])
@pytest.mark.parametrize("n_rows", [15, 16])
def test_a_report_moves_a_column_to_150_places_and_draws_15_rows(n_rows, n_steps):
    """A tree of so many leaves has a threshold less, and a place beyond the last."""
    x = np.arange(float(n_steps))[:, np.newaxis]
    model = hb.DecisionTreeRegressor().fit(x, x[:, 0])
    facts = gather(
        model, x[:n_rows], x[:n_rows, 0], X_train=None, y_train=None, cv=None, target_name="y", seed=0
    )
    (drawn,) = facts.dependences
    assert len(drawn.places) == min(n_steps, 150)
    assert len(drawn.lines) == 15
