"""One way to look inside everything made of our trees: the same questions, answered by every model."""

import json
import re

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris

import hornbeam as hb
from hornbeam.cli.main import run

MODELS = [
    hb.DecisionTreeClassifier(max_depth=3),
    hb.RandomForestClassifier(5, max_depth=3, random_state=0),
    hb.DecisionTreeRegressor(max_depth=3),
    hb.RandomForestRegressor(4, max_depth=3, random_state=0),
    hb.ExtraTreesClassifier(4, max_depth=3, random_state=0),
    hb.ExtraTreesRegressor(4, max_depth=3, random_state=0),
    hb.BaggingClassifier(n_estimators=4, random_state=0),
    hb.BaggingClassifier(hb.DecisionTreeClassifier(max_bins=9), n_estimators=4, random_state=0),
    hb.BaggingRegressor(hb.DecisionTreeRegressor(max_bins=9), n_estimators=4, max_features=2, random_state=0),
    hb.AdaBoostClassifier(n_estimators=4),
    hb.AdaBoostRegressor(n_estimators=4, random_state=0),
    hb.AdaBoostClassifier(hb.DecisionTreeClassifier(max_depth=3, prune="pessimistic"), n_estimators=4),
    hb.AdaBoostRegressor(
        hb.DecisionTreeRegressor(max_depth=3, prune="cost_complexity"), n_estimators=4, random_state=0
    ),
    hb.GradientBoostingClassifier(n_estimators=4),
    hb.GradientBoostingRegressor(n_estimators=4),
]


@pytest.fixture(
    scope="module", params=MODELS, ids=[f"{type(one).__name__}{k}" for k, one in enumerate(MODELS)]
)
def model(request):
    X, y = load_iris(return_X_y=True, as_frame=True)
    return clone(request.param).fit(X, np.array(["a", "b", "c"])[y] if is_classifier(request.param) else y)


@pytest.fixture(name="X")
def table():
    return load_iris(return_X_y=True, as_frame=True)[0]


def test_trees_are_shown_in_every_form(model, X):
    assert "petal" in model.rules(member=0)
    assert "petal" in str(model.rules())
    frame = model.to_frame(0)
    assert {"feature", "gain", "rows"} <= set(frame.columns)
    assert hb.plot.tree(model).texts
    assert "petal" in hb.export(model, "text")
    assert hb.export(model, "dot").startswith("digraph")
    assert len(model.apply(X)) == len(X)
    with pytest.raises(IndexError, match="member=9999"):
        model.rules(member=9999)


def test_importances_of_every_kind(model, X):
    for kind in ("gain", "count"):
        shares = model.importance(kind)
        assert shares.shape == (4,)
        assert shares.sum() == pytest.approx(1)
    np.testing.assert_array_equal(model.importance(), model.feature_importances_)
    sizes = model.importance("contributions", X=X)
    assert sizes.shape == (4,) and sizes[2:].sum() > sizes[:2].sum()
    with pytest.raises(ValueError, match="got 'shap'"):
        model.importance("shap")
    with pytest.raises(ValueError, match="give X"):
        model.importance("contributions")


def test_a_row_is_explained_in_two_sentences(model, X):
    message = model.explain(dict(X.iloc[77]))
    assert message.prediction == model.predict(X.iloc[[77]])[0]
    assert message.text.count(". ") == 1 and message.text.endswith(".")
    assert "petal" in message.text
    if isinstance(model, hb.DecisionTreeClassifier | hb.DecisionTreeRegressor):
        return  # which tell the way of the row
    found = model.contributions(X.iloc[[77]])
    for j, name in enumerate(X.columns):
        np.testing.assert_allclose(message.contributions[name], found[0, j])
    if is_classifier(model):
        shares = dict(zip(model.classes_, model.predict_proba(X.iloc[[77]])[0], strict=True))
        assert message.shares == pytest.approx(shares)


@pytest.mark.parametrize("named", [True, False])
def test_a_bag_of_trees_by_hand_explains_a_row_in_every_form(X, named):
    y = load_iris(return_X_y=True)[1]
    bag = hb.BaggingRegressor(
        hb.DecisionTreeRegressor(max_bins=9), n_estimators=4, max_features=2, random_state=0
    ).fit(X if named else X.to_numpy(), y)
    row = X.iloc[[77]] if named else X.to_numpy()[[77]]
    message = bag.explain(row)
    assert message.prediction == bag.predict(row)[0]
    sum_of_parts = message.start + sum(message.contributions.values())
    np.testing.assert_allclose(sum_of_parts, message.prediction)
    parts = [one.predict(row.iloc[:, f] if named else row[:, f])[0] for one, f in members_of(bag)]
    assert message.members == tuple(parts)
    assert bag.explain(X.iloc[77].tolist()) == message
    if named:
        assert bag.explain(dict(X.iloc[77])) == message and bag.explain(X.iloc[77]) == message
        with pytest.raises(ValueError, match="no value for column 'petal width"):
            bag.explain(dict(X.iloc[77, :3]))
    with pytest.raises(ValueError, match="takes one row; this table has 2"):
        bag.explain(X.iloc[:2] if named else X.to_numpy()[:2])
    with pytest.raises(ValueError, match="has 3 values, but the fit had 4"):
        bag.explain([1, 2, 3])


def members_of(bag):
    return zip(bag.estimators_, bag.estimators_features_, strict=True)


def test_the_sentences_of_a_model_by_hand():
    # An unknown row has (1 + 1 + 1 + 5) / 4 = 2; the first column says 5.
    forest = hb.RandomForestRegressor(1, bootstrap=False, max_features=None, random_state=0)
    forest.fit([[0.0, 9], [0, 9], [0, 9], [1, 9]], [1.0, 1, 1, 5])
    assert forest.explain([1, 7]).text == (
        "The model predicts 5; for a row it knows nothing about, it would say 2. Most upwards: x0 = 1 (+3)."
    )
    assert forest.explain([0, 7]).text == (
        "The model predicts 1; for a row it knows nothing about, it would say 2. Most downwards: x0 = 0 (-1)."
    )


def test_reasons_of_no_points_are_not_given():
    """The least of the reasons were often "workclass = Private (-0.0 points)"."""
    X = np.random.default_rng(0).normal(size=(300, 6))
    model = hb.GradientBoostingClassifier(30, random_state=0).fit(X, X[:, 0] + 0.1 * X[:, 1] > 0)
    told = [model.explain(row).text for row in X[:20]]
    assert not [text for text in told if re.search(r"[+-]0\.0 points", text)]
    assert all(re.search(r"[+-][\d.]+ points", text) for text in told)


def test_a_share_near_one_is_said_in_words():
    X, y = load_iris(return_X_y=True)
    message = (
        hb.GradientBoostingClassifier(n_estimators=100, min_samples_leaf=1)
        .fit(X[:100], y[:100])
        .explain(X[0])
    )
    assert message.shares[0] > 0.999
    assert message.text.startswith(
        "The model predicts 0 with a probability of more than 99.9 %; for a row it "
    )
    assert message.lines[0] == "answer: 0, probability >99.9 %"


def test_paths_share_out_what_every_model_says(model, X):
    if not hasattr(model, "path_contributions"):
        pytest.skip("bags and AdaBoost share out by Shapley values alone")
    found, start = model.path_contributions(X)
    score = model.contributions(X).scores
    np.testing.assert_allclose(found.sum(axis=1) + start, score, atol=1e-9)


def test_members_that_are_no_trees_say_so(X):
    y = load_iris(return_X_y=True)[1]
    bag = hb.BaggingClassifier(hb.KNeighborsClassifier(), n_estimators=2).fit(X, y)
    for ask in (bag.rules, bag.to_frame, lambda: bag.importance("count")):
        with pytest.raises(ValueError, match="are not trees of hornbeam"):
            ask()
    assert not hasattr(bag, "apply")
    with pytest.raises(TypeError, match=r"plot\.tree draws models made of hornbeam's trees"):
        hb.plot.tree(hb.KNeighborsClassifier().fit(X, y))


def test_a_stack_is_looked_into_member_by_member(X):
    y = load_iris(return_X_y=True)[1]
    members = [("near", hb.KNeighborsClassifier()), ("forest", hb.RandomForestClassifier(3, random_state=0))]
    stack = hb.StackingClassifier([members]).fit(X, y)
    forest = stack.named_estimators_["forest"]
    assert stack.rules() == {"forest": forest.rules()}
    np.testing.assert_array_equal(stack.importance()["forest"], forest.feature_importances_)
    np.testing.assert_array_equal(stack.contributions(X)["forest"], forest.contributions(X))
    assert stack.to_frame(1)["forest"].equals(forest.to_frame(1))
    assert stack.explain(X.iloc[[3]])["forest"].text == forest.explain(X.iloc[[3]]).text
    np.testing.assert_array_equal(stack.apply(X)["forest"], forest.apply(X))
    for refused in (
        lambda: hb.plot.tree(stack),
        lambda: hb.plot.importance(stack),
        lambda: hb.export(stack, "text"),
        lambda: hb.export(stack, "json"),
        lambda: hb.export(stack, "python"),
    ):
        with pytest.raises(TypeError, match=r"Stacking.*named_estimators_\['forest'\]"):
            refused()
    with pytest.raises(TypeError, match=r"contributions\(X\)\['forest'\]"):
        hb.plot.contributions(stack.contributions(X))
    np.testing.assert_array_equal(stack.effect(X, 2)["forest"].mean, forest.effect(X, 2).mean)
    with pytest.raises(TypeError, match=r"made of its members' answers.*named_estimators_\['forest'"):
        stack.counterfactual(X[:1], X)
    with pytest.raises(ValueError, match="made of hornbeam's trees"):
        hb.StackingClassifier([members[:1]]).fit(X, y).rules()


def test_the_commands_explain_a_stack_member_by_member(X, tmp_path, capsys):
    y = load_iris(return_X_y=True)[1]
    members = [("one", hb.RandomForestClassifier(3, random_state=0)), ("two", hb.DecisionTreeClassifier())]
    stack = hb.StackingClassifier([members]).fit(X, y)
    hb.save(stack, tmp_path / "s.hornbeam")
    X.to_csv(tmp_path / "x.csv", index=False)
    message = stack.explain(X.iloc[[6]])
    where = [str(tmp_path / "s.hornbeam"), str(tmp_path / "x.csv"), "--row", "7"]
    assert run(["explain", *where]) == 0
    said = capsys.readouterr().out
    assert f"one: {message['one'].text}" in said and f"two: {message['two'].text}" in said
    assert run(["explain", *where, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["members"]["one"]["text"] == message["one"].text and facts["row"] == 7
    assert run(["show", where[0], "--explain", *where[1:]]) == 0
    assert message["one"].text in capsys.readouterr().out


# --- Every question to every model -----------------------------------------------------------------------


@pytest.mark.parametrize("question", [
    "rules", "to_frame", "apply", "importance", "contributions", "effect", "ale", "counterfactual",
    "export text", "export json", "plot.tree", "plot.importance", "plot.contributions", "show", "show --tree",
])  # fmt: skip
def test_every_model_answers_every_question(model, X, question, tmp_path, capsys):
    def show(*more):
        hb.save(model, tmp_path / "m.hornbeam")
        assert run(["show", str(tmp_path / "m.hornbeam"), *more]) == 0
        return capsys.readouterr().out

    wanted = None if is_classifier(model) else (float(model.predict(X).max()), None)
    asked = {
        "rules": lambda: str(model.rules("list", member=0)),
        "to_frame": lambda: model.to_frame(0).to_string(),
        "apply": lambda: model.apply(X).shape[0] == 150 and "petal",
        "importance": lambda: str(model.importance("permutation", X=X, y=model.predict(X), n_repeats=1)),
        "contributions": lambda: " ".join(map(str, model.contributions(X.iloc[:40]).names)),
        "effect": lambda: repr(model.effect(X, 2)),
        "ale": lambda: repr(model.effect(X, (2, 3), kind="ale")),
        "counterfactual": lambda: model.counterfactual(X.iloc[[0]], X, wanted=wanted).text,
        "export text": lambda: hb.export(model, "text"),
        "export json": lambda: hb.export(model, "json"),
        "plot.tree": lambda: " ".join(text.get_text() for text in hb.plot.tree(model).texts),
        "plot.importance": lambda: str(hb.plot.importance(model).get_yticklabels()),
        "plot.contributions": lambda: str(
            hb.plot.contributions(
                model.contributions(X), output=getattr(model, "classes_", [None])[0]
            ).get_yticklabels()
        ),
        "show": show,
        "show --tree": lambda: show("--tree", "0"),
    }[question]
    assert "petal" in asked()
    pyplot.close("all")
