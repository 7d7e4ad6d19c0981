"""Models of tables with dates: what they predict, show and save, for every estimator."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from model_files import tensors_of, with_tensors
from sklearn.base import clone

import hornbeam as hb
from hornbeam.cli.main import run
from hornbeam.data.dates import part_values
from hornbeam.errors import ExportError, ModelFormatError
from hornbeam.estimators.linear import linear_model
from hornbeam.inside.ask import Question, next_question
from hornbeam.serving.page import document_of_schema, page_of
from hornbeam.serving.rows import BadRequest, RowReader, schema_of
from hornbeam.warnings import DataWarning

matplotlib.use("Agg")


def prices(n: int = 1400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return daily prices with a trend, a season, dear weekends and noise of standard deviation 2."""
    draw = np.random.default_rng(seed)
    when = pd.date_range("2020-01-01", periods=n)
    rooms = draw.integers(1, 4, n)
    y = 60 + 0.01 * np.arange(n) + 25 * np.sin(2 * np.pi * when.day_of_year.to_numpy() / 365.25)
    y = y + 9 * (when.day_of_week.to_numpy() >= 4) + 5 * rooms + draw.normal(0, 2, n)
    X = pd.DataFrame({"rooms": rooms, "when": when, "city": draw.choice(["rome", "oslo"], n)})
    return X, np.asarray(y)


def as_texts(X: pd.DataFrame, form: str = "%Y-%m-%d") -> pd.DataFrame:
    return X.assign(when=X["when"].dt.strftime(form).astype(object))


def by_hand(X: pd.DataFrame) -> pd.DataFrame:
    days = (X["when"] - pd.Timestamp("1970-01-01")).dt.days.to_numpy(dtype=np.float64)
    parts = {part: part_values(days, part) for part in ("month", "day_of_year", "day", "weekday")}  # type: ignore[arg-type]
    return X.drop(columns="when").assign(days=days, **parts)


def rmse(model: Any, X: Any, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((np.asarray(model.predict(X)) - y) ** 2)))


def quiet_fit(model: Any, *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args)


SMALL = {"n_estimators": 4, "random_state": 0}
MODELS: dict[str, Any] = {
    "tree": hb.DecisionTreeRegressor(max_depth=4),
    "pruned tree": hb.DecisionTreeRegressor(prune="cost_complexity", cv=3, random_state=0),
    "surrogates": hb.DecisionTreeRegressor(missing="surrogate", max_depth=3),
    "forest": hb.RandomForestRegressor(**SMALL),
    "extra trees": hb.ExtraTreesRegressor(**SMALL),
    "bagging": hb.BaggingRegressor(**SMALL),
    "bagging of columns": hb.BaggingRegressor(max_features=2, **SMALL),
    "bagging of others": hb.BaggingRegressor(hb.KNeighborsRegressor(metric="gower"), **SMALL),
    "adaboost": hb.AdaBoostRegressor(**SMALL),
    "boosting": hb.GradientBoostingRegressor(n_estimators=20),
    "neighbours": hb.KNeighborsRegressor(metric="gower"),
    "linear": linear_model("regression"),
    "stack": hb.StackingRegressor(
        [[("tree", hb.DecisionTreeRegressor(max_depth=3)), ("linear", linear_model("regression"))]]
    ),
}


# ------------------------------------------------------------------------------------------------------------
# What they predict


@pytest.mark.parametrize("name", MODELS)
def test_texts_and_dates_give_the_same_model_which_is_saved_whole(name: str, tmp_path: Path) -> None:
    X, y = prices(600)
    model = clone(MODELS[name]).fit(X, y)
    assert model.n_features_in_ == 3
    if not hasattr(model, "steps"):
        assert model.feature_names_in_.tolist() == ["rooms", "when", "city"]
    expected = model.predict(X)
    assert rmse(model, X, y) < 0.7 * y.std()
    of_texts = quiet_fit(clone(MODELS[name]), as_texts(X, "%d/%m/%Y"), y)
    np.testing.assert_array_equal(of_texts.predict(as_texts(X, "%d/%m/%Y")), expected)
    np.testing.assert_array_equal(of_texts.predict(as_texts(X).iloc[:5]), expected[:5])
    np.testing.assert_array_equal(model.predict(pa.table(as_texts(X).iloc[:5])), expected[:5])
    hb.save(model, tmp_path / "model.hornbeam")
    loaded = hb.load(tmp_path / "model.hornbeam")
    np.testing.assert_array_equal(loaded.predict(X), expected)
    assert loaded.n_features_in_ == 3
    if hasattr(model, "feature_importances_"):
        shares = model.feature_importances_
        assert shares.shape == (3,)
        assert shares.argmax() == 1
        np.testing.assert_array_equal(loaded.feature_importances_, shares)


def test_boosting_on_daily_prices() -> None:
    """Split by time. Within the years it has seen a model knows the season; the mean misses by 20.

    Columns made by hand, in the same order, give the same model: draws of columns go by their places.
    """
    X, y = prices(1400)
    X, new, y, later = X.iloc[:1100], X.iloc[1100:], y[:1100], y[1100:]
    model = quiet_fit(hb.GradientBoostingRegressor(random_state=0), as_texts(X), y)
    columns = ["rooms", "days", "month", "day_of_year", "day", "weekday", "city"]
    hand = hb.GradientBoostingRegressor(random_state=0).fit(by_hand(X)[columns], y)
    np.testing.assert_array_equal(model.predict(as_texts(new)), hand.predict(by_hand(new)[columns]))
    error = rmse(model, as_texts(new), later)
    of_mean = float(np.sqrt(np.mean((later - y.mean()) ** 2)))
    assert of_mean > 15
    assert error < 0.35 * of_mean


def test_parts_are_the_columns_one_would_make_by_hand() -> None:
    X, y = prices(800)
    tree = hb.DecisionTreeRegressor(min_samples_leaf=5).fit(X, y)
    hand = by_hand(X)[["rooms", "days", "month", "day_of_year", "day", "weekday", "city"]]
    other = hb.DecisionTreeRegressor(min_samples_leaf=5).fit(hand, y)
    np.testing.assert_array_equal(tree.tree_.feature, other.tree_.feature)
    np.testing.assert_array_equal(tree.tree_.threshold, other.tree_.threshold)
    assert not hasattr(tree.tree_, "n_features")  # scikit-learn's kind would look for these columns in X
    shares = other.feature_importances_
    np.testing.assert_allclose(tree.feature_importances_, [shares[0], shares[1:6].sum(), shares[6]])
    counts = other.importance("count")
    np.testing.assert_allclose(tree.importance("count"), [counts[0], counts[1:6].sum(), counts[6]])


def test_density_of_dates(tmp_path: Path) -> None:
    X = prices(300)[0][["rooms", "when"]]
    tree = hb.DensityTree(random_state=0).fit(X)
    hb.save(tree, tmp_path / "m.hornbeam")
    np.testing.assert_array_equal(hb.load(tmp_path / "m.hornbeam").score_samples(X), tree.score_samples(X))
    assert tree.feature_importances_.shape == (2,)


def test_compare_and_tune_take_dates() -> None:
    X, y = prices(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DataWarning)
        with warnings.catch_warnings(record=True) as said:
            found = hb.compare(as_texts(X), y, cv=3, methods=["tree", "linear"], search=False, random_state=0)
        assert sum("is a date" in str(one.message) for one in said) <= 2  # the table, and the winner's fit
        warnings.simplefilter("ignore")
        assert rmse(found.best_, as_texts(X), y) < y.std()
        tuned = hb.tune(X, y, hb.DecisionTreeRegressor(), {"max_depth": [1, 5]}, cv=3)
    assert tuned.best_params_ == {"max_depth": 5}


# ------------------------------------------------------------------------------------------------------------
# What is given by column


def test_a_direction_holds_in_time_only() -> None:
    X, y = prices(900)
    for given in ({"when": 1}, [0, 1, 0]):
        for model in (
            hb.DecisionTreeRegressor(monotonic_cst=given),
            hb.GradientBoostingRegressor(n_estimators=30, monotonic_cst=given),
        ):
            fitted = model.fit(X, y)
            mean = fitted.effect(X, "when").mean
            assert np.all(np.diff(mean) >= -1e-9)
            season = fitted.effect(X, "when.day_of_year").mean
            assert np.ptp(season) > 5
            assert not np.all(np.diff(season) >= -1e-9)


def test_groups_hold_all_parts_together() -> None:
    X, y = prices(900)
    model = hb.GradientBoostingRegressor(n_estimators=30, interaction_cst=[["when"], ["rooms", "city"]])
    model.fit(X, y)
    source = dict(enumerate(model._model.schema.sources))
    for reading in model._readings():
        for _, path in reading.paths():
            tested = {source[feature] for feature in path}
            assert tested <= {1} or tested <= {0, 2}
    mixed = [
        {reading.schema.names[feature] for feature in path}
        for reading in model._readings()
        for _, path in reading.paths()
    ]
    assert any(len([name for name in path if name.startswith("when")]) > 1 for path in mixed)


def test_forced_columns_stay_categories() -> None:
    X, y = prices(60)
    tree = quiet_fit(hb.DecisionTreeRegressor(categorical_features=["when"], max_depth=2), X, y)
    assert tree._model.schema.kinds[1] == "categorical"
    assert tree._model.schema.categories[1][0] == "2020-01-01"
    np.testing.assert_array_equal(tree.predict(as_texts(X)), tree.predict(X))


def test_missing_dates_go_their_way_and_are_refused_where_asked() -> None:
    X, y = prices(400)
    X.loc[::5, "when"] = pd.NaT
    y = y + 100 * X["when"].isna().to_numpy()
    tree = hb.DecisionTreeRegressor(max_depth=3).fit(X, y)
    assert "when.day_of_year" in tree._model.schema.names
    assert re.search(r"when\S* .*missing|when is (missing|known)", tree.rules())
    assert rmse(tree, X, y) < 20
    with pytest.raises(ValueError, match="column 'when', row 0: the value is missing"):
        hb.DecisionTreeRegressor(missing="error").fit(X, y)


def test_bags_go_on_with_the_members_they_have() -> None:
    X, y = prices(100)
    bag = hb.BaggingRegressor(n_estimators=2, max_features=2, warm_start=True, random_state=0).fit(X, y)
    first = bag.estimators_[0].predict(X.iloc[:, bag.estimators_features_[0]])
    bag.set_params(n_estimators=4).fit(X, y)
    assert len(bag.estimators_) == 4
    np.testing.assert_array_equal(bag.estimators_[0].predict(X.iloc[:, bag.estimators_features_[0]]), first)
    with pytest.raises(ValueError, match="warm_start continues the last fit, with its estimator"):
        bag.set_params(n_estimators=6).fit(X.drop(columns="when"), y)


# ------------------------------------------------------------------------------------------------------------
# What they show


def test_rules_and_explanations_speak_of_dates() -> None:
    n = 730
    X = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=n)})
    weekend = X["when"].dt.day_of_week.to_numpy() >= 5
    y = 10.0 * (X["when"] >= "2021-03-02").to_numpy() + 100.0 * weekend
    tree = hb.DecisionTreeRegressor(max_depth=2).fit(X, y)
    rules = tree.rules()
    assert "when.weekday <= Friday" in rules
    assert "when > 2021-03-01" in rules
    assert set(tree.to_frame()["feature"].dropna()) == {"when", "when.weekday"}
    for row in (
        {"when": "2021-03-02"},
        {"when": pd.Timestamp("2021-03-02 08:00")},
        ["2.3.2021"],
        X.iloc[[426]],
    ):
        output = tree.explain(row)
        assert output.prediction == 10
        assert "when.weekday = Tuesday <= Friday" in output.text
        assert "when = 2021-03-02 > 2021-03-01" in output.text
    assert "when.weekday is missing" in tree.explain({"when": None}).text
    with pytest.raises(ValueError, match=r"value for 'when\.weekday', which is not a column of the fit"):
        tree.explain({"when.weekday": 3})
    assert "2021-03-01" in str(hb.export(tree, "dot"))
    assert any("2021-03-01" in text.get_text() for text in hb.plot.tree(tree).texts)


def test_contributions_are_those_of_the_users_columns() -> None:
    X, y = prices(500)
    model = hb.GradientBoostingRegressor(n_estimators=25).fit(X, y)
    found = model.contributions(X.iloc[:7])
    assert found.names == ("rooms", "when", "city")
    np.testing.assert_allclose(found.scores, model.predict(X.iloc[:7]))
    pairs = model.contributions(X.iloc[:7], interactions=True)
    np.testing.assert_allclose(pairs.values.sum(axis=2), found.values, atol=1e-9)
    parts, start = model.path_contributions(X.iloc[:7])
    assert parts.shape == (7, 3)
    np.testing.assert_allclose(parts.sum(axis=1) + start, model.predict(X.iloc[:7]))
    output = model.explain(X.iloc[3].to_dict()).text
    assert "when = 2020-01-04 (" in output
    bag = hb.BaggingRegressor(n_estimators=3, max_features=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(bag.contributions(X.iloc[:7]).scores, bag.predict(X.iloc[:7]))
    shuffled = hb.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    growth = shuffled.importance("permutation", X=X, y=y).importances_mean
    assert growth.shape == (3,)
    assert growth.argmax() == 1
    assert model.importance("contributions", X=X).shape == (3,)
    X = X.assign(copy=X["when"] + pd.Timedelta(days=1), when=X["when"].astype(object))
    both = hb.DecisionTreeRegressor(max_depth=4).fit(X, y).importance("gain", X=X, groups="alike")
    assert ("when", "copy") in both.columns


def test_counterfactuals_leave_dates_as_they_are() -> None:
    X, y = prices(300)
    model = hb.GradientBoostingRegressor(n_estimators=10).fit(X[["when", "rooms"]], y)
    row = {"when": "2020-05-01", "rooms": 1}
    said = model.predict(pd.DataFrame([row]))[0]
    found = model.counterfactual(row, X[["when", "rooms"]], wanted=(said + 1, None))
    assert set(found.changes) == {"rooms"}
    assert (
        model.predict(pd.DataFrame([{"when": "2020-05-01", "rooms": found.changes["rooms"][1]}]))[0]
        > said + 1
    )
    with pytest.raises(ValueError, match="Column 'when' is a date"):
        model.counterfactual(row, X[["when", "rooms"]], wanted=(said + 1, None), columns=["when"])


def test_boundaries_refuse_dates_by_name() -> None:
    X, y = prices(50)
    tree = hb.DecisionTreeRegressor(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="Column 'when' is a date; a boundary"):
        hb.plot.boundary(tree, X, y, features=("rooms", "when"))
    assert hb.plot.boundary(tree, X, y, features=("rooms", "city")).get_xlabel() == "rooms"


def test_stories_refuse_dates_by_name(tmp_path: Path) -> None:
    X, y = prices(100)
    tree = hb.DecisionTreeRegressor(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="Column 'when' is a date, which a story cannot show"):
        hb.story(tree, X, y, tmp_path / "story.html")


def test_effects_of_a_date_and_its_parts() -> None:
    X, y = prices(800)
    model = hb.GradientBoostingRegressor(n_estimators=25).fit(X, y)
    weekday = model.effect(X, "when.weekday")
    later = X.assign(when=X["when"])
    assert weekday.part.name == "weekday"
    assert weekday.mean[-1] - weekday.mean[0] > 5
    by_number = model.effect(later, 1)
    assert by_number.column == "when"
    assert model.effect(X, 2).column == "city"
    ax = hb.plot.effect(by_number)
    ax.figure.canvas.draw()
    assert re.fullmatch(r"20\d\d-\d\d-\d\d.*", ax.get_xticklabels()[1].get_text())
    for found in (
        hb.plot.effect(model.effect(X, "when", kind="ale")),
        hb.plot.effect(model.effect(X, ("when", "city"))),
        hb.plot.contributions(model.contributions(X), "dependence", column="when"),
        hb.plot.contributions(
            model.contributions(X.assign(when=X["when"].astype(str))), "dependence", column="when"
        ),
    ):
        found.figure.canvas.draw()
        assert re.fullmatch(r"20\d\d-\d\d-\d\d.*", found.get_xticklabels()[1].get_text())
    ax = hb.plot.contributions(model.contributions(X), "waterfall", row=3)
    assert f"when = {X['when'][3]:%Y-%m-%d}" in [tick.get_text() for tick in ax.get_yticklabels()]
    assert model.effect(X, ("when", "when.weekday"), kind="ale").columns == ("when", "when.weekday")
    with pytest.raises(ValueError, match=r"X has no column 'when\.hour'"):
        model.effect(X, "when.hour")


def test_exports_refuse_by_name_or_tell_the_recipe() -> None:
    X, y = prices(300)
    tree = hb.DecisionTreeRegressor(max_depth=3).fit(X, y)
    for form in ("sql", "c", "onnx"):  # SQL of no certain database
        with pytest.raises(ExportError, match="Column 'when' is a date"):
            hb.export(tree, form)  # type: ignore[arg-type]
    features = json.loads(hb.export(tree, "json"))["features"]
    assert {"name": "when.weekday", "kind": "numeric", "made_of": "when", "part": "weekday"} in features
    assert features[0] == {"name": "rooms", "kind": "numeric"}
    assert "when <= 20" in str(hb.export(tree, "text"))


def test_a_tree_asks_for_a_date() -> None:
    X, y = prices(400)
    tree = hb.DecisionTreeRegressor(max_depth=3).fit(X[["when"]], y)
    (reading,) = tree._readings()
    question = next_question(reading, {})
    assert isinstance(question, Question)
    assert question.feature == "when"
    assert "a date" in question.words
    answer = question.read(" 2020-05-01 ")
    way = next_question(reading, {"when": answer})
    assert way.prediction == tree.predict(pd.DataFrame({"when": ["2020-05-01"]}))[0]  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="soon is not a date"):
        question.read("soon")


def test_a_report_shows_dates(tmp_path: Path) -> None:
    X, y = prices(200)
    tree = hb.DecisionTreeRegressor(max_depth=3).fit(X, y)
    page = hb.report(tree, X, y, tmp_path / "report.html")
    text = Path(str(page) if isinstance(page, str | Path) else tmp_path / "report.html").read_text()
    assert "2020-01-01 to 2020-07-18" in text
    assert re.search(r"when &lt;= 2020-|when (<|\\u003c)= 2020-", text)


# ------------------------------------------------------------------------------------------------------------
# Files, commands, servers


def test_damaged_recipes_are_refused(tmp_path: Path) -> None:
    X, y = prices(100)
    path = tmp_path / "m.hornbeam"
    hb.save(hb.DecisionTreeRegressor(max_depth=2).fit(X, y), path)
    data = path.read_bytes()
    parts = tensors_of(data)["schema.date_parts"]
    assert parts.tolist() == [0, 1, 5, 6, 0]  # 100 days: the date, the day of the month, the weekday
    orders = tensors_of(data)["schema.date_orders"]
    for wrong in (
        {"schema__date_parts": np.array([0, 8, 5, 6, 0], dtype=np.uint8)},
        {"schema__date_parts": np.array([0, 0, 5, 6, 0], dtype=np.uint8)},
        {"schema__date_parts": np.array([0, 1, 5, 6, 1], dtype=np.uint8)},  # which has categories
        {"schema__date_parts": np.zeros(5, dtype=np.uint8)},
        {"schema__date_parts": parts[:4]},
        {"schema__date_parts": np.array([0, 1, 1, 6, 0], dtype=np.uint8)},  # one name too few
        {"schema__date_orders": orders + np.uint8(3)},
        {"schema__date_orders": np.array([0, 1, 2, 1, 0], dtype=np.uint8)},
        {"schema__date_orders": np.array([1, 0, 0, 0, 0], dtype=np.uint8)},
        {"schema__date_orders": None},
    ):
        path.write_bytes(with_tensors(data, **wrong))
        with pytest.raises(ModelFormatError):
            hb.load(path)


def test_models_without_names_keep_their_recipe(tmp_path: Path) -> None:
    X, y = prices(500)
    cells = X[["when"]].to_numpy()
    tree = hb.DecisionTreeRegressor(max_depth=3).fit(cells, y)
    hb.save(tree, tmp_path / "m.hornbeam")
    loaded = hb.load(tmp_path / "m.hornbeam")
    assert loaded._model.schema == tree._model.schema
    assert loaded.n_features_in_ == 1
    np.testing.assert_array_equal(loaded.predict(cells), tree.predict(cells))
    with pytest.raises(ValueError, match="Column 'x0' was one of dates in the fit and holds numbers now"):
        loaded.predict(np.array([[19_000.0]]))


def test_commands_read_dates_from_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = prices(300)
    data, model, out = (str(tmp_path / name) for name in ("d.csv", "m.hornbeam", "p.csv"))
    as_texts(X, "%m/%d/%Y").assign(price=y).to_csv(data, index=False)
    assert run(["fit", data, "--target", "price", "--method", "forest", "--out", model]) == 0
    assert "Every text is a date in column" in capsys.readouterr().err
    as_texts(X, "%m/%d/%Y").assign(when=lambda t: t["when"].where(t.index != 3)).to_csv(data, index=False)
    assert run(["predict", model, data, "--out", out]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = hb.load(model).predict(pd.read_csv(data))
    np.testing.assert_allclose(pd.read_csv(out).iloc[:, -1], expected)
    X.assign(when="soon").to_csv(data, index=False)
    capsys.readouterr()
    assert run(["predict", model, data, "--out", out, "--force"]) != 0
    assert "'soon' is not a date" in capsys.readouterr().err


def test_serving_takes_dates_as_texts() -> None:
    X, y = prices(400)
    model = hb.RandomForestRegressor(n_estimators=3, random_state=0).fit(X, y)
    schema = schema_of(model)
    reader = RowReader(schema)
    rows = reader.from_json(
        json.dumps([{"rooms": 2, "when": "2020-05-01T10:00:00Z", "city": "rome"}, [1, None, "oslo"]]).encode()
    )
    expected = pd.DataFrame(
        {"rooms": [2, 1], "when": pd.to_datetime(["2020-05-01", None]), "city": ["rome", "oslo"]}
    )
    np.testing.assert_array_equal(model.predict(rows.table), model.predict(expected))
    with pytest.raises(BadRequest, match='Row 0, field when: "soon" is not a date') as caught:
        reader.from_json(b'{"rooms": 2, "when": "soon", "city": "rome"}')
    assert caught.value.where == {"row": 0, "field": "when", "value": "soon"}
    with pytest.raises(BadRequest, match="field when: 7 is not a date"):
        reader.from_json(b'{"rooms": 2, "when": 7, "city": "rome"}')
    columns = document_of_schema(model, schema)["columns"]
    assert [column["name"] for column in columns] == ["rooms", "when", "city"]
    assert columns[1] == {"name": "when", "kind": "date"}
    assert "2024-03-31" in page_of(model, schema)
