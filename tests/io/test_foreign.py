"""Members of scikit-learn in model files: those of the closed list come back exactly, others are refused."""

import numpy as np
import pandas as pd
import pytest
from model_files import edited, with_tensors
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

import hornbeam as hb
from hornbeam.errors import ModelFormatError
from hornbeam.estimators.linear import linear_model

CLASSIFIERS = [
    LogisticRegression(max_iter=1000),
    LogisticRegression(C=0.1, class_weight={0: 1.0, 1: 2.0, 2: 1.5}, max_iter=1000),
    LogisticRegression(solver="newton-cg", fit_intercept=False, max_iter=1000),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(with_mean=False), hb.KNeighborsClassifier(3)),
]
REGRESSORS = [
    LinearRegression(),
    LinearRegression(positive=True),
    Ridge(alpha=0.3),
    RidgeCV(alphas=[0.1, 1.0]),
    RidgeCV(),
    make_pipeline(StandardScaler(with_std=False), StandardScaler(), Ridge(random_state=3, solver="sag")),
]


def stack_of(member, data, **options):
    kind = hb.StackingClassifier if hasattr(member, "predict_proba") else hb.StackingRegressor
    tree = hb.DecisionTreeClassifier if kind is hb.StackingClassifier else hb.DecisionTreeRegressor
    X, y = data(return_X_y=True)
    return kind([[("foreign", member), ("tree", tree(max_depth=2))]], cv=3, **options).fit(X, y), X


def save_and_load(model, folder):
    hb.save(model, folder / "m")
    return hb.load(folder / "m")


@pytest.mark.parametrize("member", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_classifiers_come_back_bit_by_bit(member, dtype, tmp_path):
    model, X = stack_of(member, load_iris)
    model.fit(X.astype(dtype), load_iris().target)
    loaded = save_and_load(model, tmp_path)
    for method in ("predict_proba", "decision_function", "transform"):
        one, other = (getattr(stack, method)(X.astype(dtype)) for stack in (model, loaded))
        assert one.tobytes() == other.tobytes()
    assert repr(loaded.levels[0][0][1]) == repr(member)
    assert loaded.oof_predictions_.equals(model.oof_predictions_)
    assert loaded.member_scores_ == model.member_scores_
    again = loaded.fit(X.astype(dtype), load_iris().target)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("member", REGRESSORS, ids=str)
def test_regressors_come_back_bit_by_bit(member, tmp_path):
    model, X = stack_of(member, load_diabetes)
    loaded = save_and_load(model, tmp_path)
    for method in ("predict", "transform"):
        assert getattr(model, method)(X).tobytes() == getattr(loaded, method)(X).tobytes()


def test_two_classes_and_names(tmp_path):
    frame, y = load_iris(return_X_y=True, as_frame=True)
    members = [
        ("line", LogisticRegression(max_iter=1000)),
        ("scaled", make_pipeline(StandardScaler(), Ridge())),
    ]
    model = hb.StackingClassifier([members[:1]], final_estimator=LogisticRegression()).fit(frame, y > 0)
    loaded = save_and_load(model, tmp_path)
    assert loaded.named_estimators_.line.feature_names_in_.tolist() == frame.columns.tolist()
    assert loaded.predict_proba(frame).tobytes() == model.predict_proba(frame).tobytes()
    numbers = hb.StackingRegressor([members[1:]], passthrough=True).fit(frame, y)
    loaded = save_and_load(numbers, tmp_path)
    assert loaded.predict(frame).tobytes() == numbers.predict(frame).tobytes()


def test_bags_of_linear_models(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = hb.BaggingClassifier(LogisticRegression(max_iter=1000), n_estimators=3, random_state=0).fit(X, y)
    loaded = save_and_load(model, tmp_path)
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (SVC(), "levels is a SVC: .*skops"),
        (GaussianNB(), "levels is a GaussianNB"),
        (make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=1000)), "is a MinMaxScaler"),
        (
            make_pipeline(StandardScaler(), LogisticRegression(), memory="cache"),
            "Pipeline with memory='cache'",
        ),
    ],
    ids=str,
)
def test_others_are_refused_by_name(member, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = hb.StackingClassifier([[("odd", member)]], cv=3).fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match=message):
        hb.save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_own_classes_are_refused(tmp_path):
    class LogisticRegression(LinearRegression):
        """Called like one that is known."""

    model = hb.StackingRegressor([[("own", LogisticRegression())]]).fit(*load_diabetes(return_X_y=True))
    with pytest.raises(ValueError, match="is a LogisticRegression: a model file holds"):
        hb.save(model, tmp_path / "m")


def test_splitters_are_refused(tmp_path):
    model, _ = stack_of(Ridge(), load_diabetes)
    model.set_params(cv=KFold(3))
    with pytest.raises(ValueError, match=r"cv is KFold.*cannot hold"):
        hb.save(model, tmp_path / "m")


def damaged(model, folder, change):
    hb.save(model, folder / "m")
    data = change((folder / "m").read_bytes())
    (folder / "m").write_bytes(data)
    return folder / "m"


@pytest.mark.parametrize(
    ("tensor", "value", "message"),
    [
        ("coef_", np.zeros((3, 5)), "do not fit its features and classes"),
        ("coef_", np.full((3, 4), np.nan), "not finite numbers"),
        ("coef_", np.full((3, 4), 1e200), "not finite numbers"),
        ("intercept_", np.zeros(2), "do not fit"),
        ("intercept_", None, "is missing"),
        ("coef_", np.zeros((3, 4), dtype=np.bool_), "not finite numbers"),
    ],
    ids=str,
)
def test_wrong_numbers_are_refused(tensor, value, message, tmp_path):
    model, _ = stack_of(LogisticRegression(max_iter=1000), load_iris)
    path = damaged(model, tmp_path, lambda data: with_tensors(data, **{f"members__0__{tensor}": value}))
    with pytest.raises(ModelFormatError, match=message):
        hb.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda child: child.update(estimator="sklearn.SVC"), "does not know"),
        (lambda child: child.update(estimator="sklearn.linear_model.LogisticRegression"), "does not know"),
        (lambda child: child.update(estimator="os.system"), "does not know"),
        (lambda child: child["parameters"].update(verbose=3), "no parameter 'verbose'"),
        (lambda child: child["parameters"].update(memory="/tmp"), "no parameter 'memory'"),
        (lambda child: child["facts"].update(present=["__class__"]), "attributes other than"),
        (lambda child: child["facts"].update(scalars=["predict"]), "attributes other than"),
        (lambda child: child["facts"].update(n_features=7), "has 7 features|do not fit"),
    ],
)
def test_wrong_descriptions_are_refused(change, message, tmp_path):
    model, _ = stack_of(LogisticRegression(max_iter=1000), load_iris)

    def edit(header):
        change(header["__metadata__"]["model"]["children"]["members.0"])

    with pytest.raises(ModelFormatError, match=message):
        hb.load(damaged(model, tmp_path, lambda data: edited(data, edit)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda model: model["facts"].update(level_sizes=[1]), "other sizes"),
        (lambda model: model["facts"].update(methods=["fit", "fit"]), "methods"),
        (
            lambda model: model["facts"].update(methods=["predict", "predict"]),
            "does not take 2 columns|shape",
        ),
        (lambda model: model["parameters"].update(passthrough=True), "does not take"),
        (
            lambda model: model["children"].update(final=model["children"]["members.1"]),
            "missing|not known|does not",
        ),
    ],
)
def test_wrong_stacks_are_refused(change, message, tmp_path):
    model, _ = stack_of(LogisticRegression(max_iter=1000), load_iris)

    def edit(header):
        change(header["__metadata__"]["model"])

    with pytest.raises(ModelFormatError, match=message):
        hb.load(damaged(model, tmp_path, lambda data: edited(data, edit)))


def test_a_linear_model_alone_is_no_model_of_ours(tmp_path):
    model, _ = stack_of(LogisticRegression(max_iter=1000), load_iris)

    def only_the_member(header):
        header["__metadata__"]["model"] = header["__metadata__"]["model"]["children"]["members.0"]

    with pytest.raises(ModelFormatError, match="only known as a part of others"):
        hb.load(damaged(model, tmp_path, lambda data: edited(data, only_the_member)))


# ------------------------------------------------------------------------------------------------------------
# The linear model of a comparison: a pipeline that begins with a preparation of ours


@pytest.fixture
def mixed():
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "size": np.where(np.arange(60) % 7 == 0, np.nan, generator.normal(5, 2, 60)),
            "constant": np.ones(60),
            "colour": pd.Categorical(generator.choice(["red", "green", "blue"], 60)),
            "grade": pd.Categorical(generator.choice(["low", "high"], 60), ["low", "high"], ordered=True),
        }
    )
    return frame, frame["size"].fillna(4) + (frame["colour"] == "red")


@pytest.mark.parametrize("names", [True, False])
def test_linear_models_come_back_bit_by_bit(names, mixed, tmp_path):
    X, y = mixed
    X = X if names else X[["size", "constant"]].to_numpy()
    labels = np.array(["few", "many", "more"])[np.digitize(y, [4, 6])]
    for model in (linear_model("classification").fit(X, labels), linear_model("regression").fit(X, y)):
        loaded = save_and_load(model, tmp_path)
        assert loaded.predict(X).tolist() == model.predict(X).tolist()
        assert repr(loaded) == repr(model)
        assert hasattr(loaded, "feature_names_in_") == names
        assert loaded.steps[0][1].columns_out() == model.steps[0][1].columns_out()
        data = (tmp_path / "m").read_bytes()
        hb.save(loaded, tmp_path / "m")
        assert (tmp_path / "m").read_bytes() == data
    assert loaded.steps[0][1].n_features_out_ == len(loaded.steps[-1][1].coef_)


def test_linear_models_are_members_too(mixed, tmp_path):
    X, y = mixed
    members = [("line", linear_model("regression")), ("tree", hb.DecisionTreeRegressor(max_depth=2))]
    model = hb.StackingRegressor([members], cv=3).fit(X, y)
    assert save_and_load(model, tmp_path).predict(X).tobytes() == model.predict(X).tobytes()


@pytest.mark.parametrize(
    ("tensor", "value", "message"),
    [
        ("numbers__deviation", np.array([1.0, 0.0, 1.0]), "not scaled by finite numbers"),
        ("numbers__deviation", np.array([1.0, -1.0, 1.0]), "not scaled by finite numbers"),
        ("numbers__mean", np.array([np.nan, 0.0, 1.0]), "not scaled by finite numbers"),
        ("numbers__middle", np.zeros(2), "shape"),
        ("numbers__has_gaps", np.array([True, True, False]), "not what its parameters say"),
        ("numbers__has_gaps", None, "is missing"),
        ("marks__counts", np.array([2]), "do not add up"),
        ("marks__counts", np.array([-1]), "do not add up"),
        ("marks__codes", np.array([0, 1, 3]), "not one of its column"),
        ("marks__codes", np.array([-1, 1, 2]), "not one of its column"),
        ("marks__codes", np.array([0, 2, 1]), "not in order"),
        ("schema__kinds", np.array([0, 0, 2, 2], dtype=np.uint8), "shape"),
    ],
    ids=str,
)
def test_wrong_preparations_are_refused(tensor, value, message, mixed, tmp_path):
    model = linear_model("regression").fit(*mixed)
    path = damaged(model, tmp_path, lambda data: with_tensors(data, **{f"steps__0__{tensor}": value}))
    with pytest.raises(ModelFormatError, match=message):
        hb.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda steps: steps.reverse(), "not made of scalers"),
        (lambda steps: steps.pop(), "not made of scalers"),
        (lambda steps: steps.insert(0, ["x", steps[0][1]]), "not made of scalers"),
        (lambda steps: steps.append(["x", steps[0][1]]), "not made of scalers"),
        (lambda steps: steps[0][1].update(estimator="hornbeam.Scale"), "does not know"),
        (lambda steps: steps[0][1].update(estimator="sklearn.Design"), "does not know"),
        (lambda steps: steps[0][1]["parameters"].update(x=1), "no parameter 'x'"),
    ],
)
def test_wrong_steps_are_refused(change, message, mixed, tmp_path):
    def edit(header):
        change(header["__metadata__"]["model"]["parameters"]["steps"])

    with pytest.raises(ModelFormatError, match=message):
        hb.load(damaged(linear_model("regression").fit(*mixed), tmp_path, lambda data: edited(data, edit)))


def test_a_preparation_alone_is_no_model(mixed, tmp_path):
    with pytest.raises(TypeError, match="takes the estimators of hornbeam"):
        hb.save(linear_model("regression").fit(*mixed).steps[0][1], tmp_path / "m")


def test_columns_beyond_all_measure_are_refused(mixed, tmp_path):
    X, y = mixed
    model = linear_model("regression").fit(X, y)
    model.steps[0][1].numbers_[0].mean = 1e200
    with pytest.raises(ValueError, match="The mean of a column is beyond"):
        hb.save(model, tmp_path / "m")


def test_predict_only_leaves_the_answers_out(tmp_path):
    model, X = stack_of(Ridge(), load_diabetes)
    hb.save(model, tmp_path / "m", predict_only=True)
    loaded = hb.load(tmp_path / "m")
    assert loaded.predict(X).tobytes() == model.predict(X).tobytes()
    with pytest.raises(AttributeError, match="predict_only=True"):
        _ = loaded.oof_predictions_
