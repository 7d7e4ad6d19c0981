"""Looking inside forests: contributions that add up, explanations, rules, importances."""

import numpy as np
import pandas as pd
import pytest
from model_files import trees_of
from sklearn.datasets import make_friedman1

import hornbeam as hb


def problem() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = make_friedman1(120, n_features=6, random_state=0)
    return pd.DataFrame(X, columns=[*"abcdef"]), y


def slow_contributions(tree: object, x: np.ndarray, n_features: int) -> np.ndarray:
    """Walk one row down one tree, and note what changes."""
    found = np.zeros((n_features, *tree.value.shape[1:]))
    node = 0
    while tree.first_child[node] >= 0:
        feature = tree.feature[node]
        child = tree.first_child[node] + int(x[feature] > tree.threshold[node])
        found[feature] += tree.value[child] - tree.value[node]
        node = child
    return found


def test_path_contributions_of_numbers() -> None:
    X, y = problem()
    forest = hb.RandomForestRegressor(20, random_state=0).fit(X, y)
    found, start = forest.path_contributions(X[:10])
    assert found.shape == (10, 6) and start.shape == (10,)
    np.testing.assert_allclose(start + found.sum(axis=1), forest.predict(X[:10]), rtol=1e-15)
    np.testing.assert_allclose(start, np.mean([tree.value[0, 0, 0] for tree in trees_of(forest)]))
    for row in range(10):
        slow = [slow_contributions(tree, X.to_numpy()[row], 6) for tree in trees_of(forest)]
        np.testing.assert_allclose(found[row], np.mean(slow, axis=0)[:, 0, 0], atol=1e-12)


def test_path_contributions_of_classes() -> None:
    X, y = problem()
    labels = np.array(["low", "mid", "top"])[np.searchsorted([12, 16], y)]
    forest = hb.RandomForestClassifier(20, random_state=0).fit(X, labels)
    found, start = forest.path_contributions(X[:10])
    assert found.shape == (10, 6, 3)
    np.testing.assert_allclose(start + found.sum(axis=1), forest.predict_proba(X[:10]), atol=1e-15)
    two = hb.ExtraTreesClassifier(5, random_state=0).fit(X, np.stack([labels, labels], axis=1))
    found, start = two.path_contributions(X[:10])
    assert found.shape == (10, 6, 2, 3)
    np.testing.assert_allclose((start + found.sum(axis=1))[:, 1], two.predict_proba(X[:10])[1], atol=1e-15)
    with pytest.raises(ValueError, match="need voting='soft'"):
        forest.set_params(voting="hard").path_contributions(X)


def test_explanation() -> None:
    X, y = problem()
    forest = hb.RandomForestRegressor(20, random_state=0).fit(X, y)
    message = forest.explain(X.iloc[[3]])
    assert message.prediction == pytest.approx(forest.predict(X.iloc[[3]])[0])
    assert message.start + sum(message.contributions.values()) == pytest.approx(message.prediction, rel=1e-14)
    assert len(message.members) == 20 and np.mean(message.members) == pytest.approx(message.prediction)
    assert str(message).startswith("answer: ")
    strongest = max(message.contributions, key=lambda name: abs(message.contributions[name]))
    assert str(message).splitlines()[2].strip().startswith(f"{strongest} = ")
    labels = np.where(y > 14, "top", "low")
    voters = hb.RandomForestClassifier(20, random_state=0).fit(X, labels).explain(dict(X.iloc[3]))
    assert voters.prediction in ("top", "low")
    assert set(voters.members) <= {"top", "low"}
    assert f"{voters.members.count(voters.prediction)} of 20 members say" in str(voters)
    assert voters.shares[voters.prediction] == pytest.approx(
        voters.start[["low", "top"].index(voters.prediction)]
        + sum(each[["low", "top"].index(voters.prediction)] for each in voters.contributions.values())
    )


def test_rules_and_frames_of_members() -> None:
    X, y = problem()
    forest = hb.RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, y)
    rules = forest.rules()
    assert len(rules) == 3
    for number, member in enumerate(forest.estimators_):
        assert forest.rules(member=number) == rules[number] == member.rules()
        assert forest.to_frame(number).equals(member.to_frame())
    assert forest.rules("lines", member=-1) == forest.estimators_[2].rules("lines")
    with pytest.raises(IndexError, match="There are 3 trees; got member=3"):
        forest.rules(member=3)


def test_importances() -> None:
    X, y = problem()
    forest = hb.RandomForestRegressor(60, random_state=0).fit(X, y)
    assert np.array_equal(forest.importance(), forest.feature_importances_)
    counts = forest.importance("count")
    tests = np.concatenate([tree.feature[tree.feature >= 0] for tree in trees_of(forest)])
    np.testing.assert_allclose(counts, np.bincount(tests, minlength=6) / len(tests))
    found = forest.importance("permutation", X=X, y=y)
    assert found.importances.shape == (6, 60)
    np.testing.assert_allclose(found.importances_mean, found.importances.mean(axis=1))
    np.testing.assert_allclose(found.importances_std, found.importances.std(axis=1, ddof=1) / np.sqrt(60))
    # The last column is noise, the others are not.
    assert found.importances_mean[5] < 4 * found.importances_std[5]
    assert np.all(found.importances_mean[[0, 1, 3]] > 5 * found.importances_std[[0, 1, 3]])
    again = forest.importance("permutation", X=X, y=y)
    assert np.array_equal(found.importances, again.importances)
    with pytest.raises(ValueError, match="give X and y of the fit"):
        forest.importance("permutation")
    with pytest.raises(ValueError, match="X has 50 rows, but the fit had 120"):
        forest.importance("permutation", X=X[:50], y=y[:50])
    with pytest.raises(ValueError, match="kind must be"):
        forest.importance("weight")


def test_permutation_importance_of_classes_with_categories() -> None:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 200)
    X = pd.DataFrame({"colour": pd.Categorical(colour), "noise": rng.normal(size=200)})
    forest = hb.RandomForestClassifier(30, random_state=0).fit(X, colour == "red")
    found = forest.importance("permutation", X=X, y=colour == "red")
    assert found.importances_mean[0] > 0.2
    assert abs(found.importances_mean[1]) < 0.02
    with pytest.raises(ValueError, match="other classes"):
        forest.importance("permutation", X=X, y=colour)
