"""Models of other libraries answer the same as what is made of them, on rows that neither has made."""

import io
import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble as ensembles
import sklearn.tree as trees
from sklearn.exceptions import NotFittedError

import hornbeam as hb
from hornbeam.errors import ImportedModelError
from hornbeam.imports import front, peers
from hornbeam.imports.thresholds import below_single, up_to_single
from hornbeam.imports.ubjson import read_ubjson
from hornbeam.warnings import UntestedExportWarning

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")

N = 300
draw = np.random.default_rng(0)
X = draw.normal(size=(N, 4))
X[::7, 0] = np.nan
X[:, 3] = draw.integers(0, 6, N)
TWO = (np.nan_to_num(X[:, 0]) + X[:, 1] > 0).astype(int)
THREE = TWO + (X[:, 2] > 0.5)
TEXTS = np.array(list("xyz"))[THREE]
NUMBERS = np.nan_to_num(X[:, 0]) * 2 + X[:, 1]
COUNTS = np.exp(X[:, 1]).round()
ODD = X[:, 3] % 2 == 1
FILLED = np.nan_to_num(X)
FRAME = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(
    k=pd.Categorical(np.array(list("pqrstu"))[X[:, 3].astype(int)])
)
# Drawn anew, and not representable in single precision.
FRESH = draw.normal(size=(400, 4))
FRESH[::11, 0] = np.nan
FRESH[:, 3] = draw.integers(0, 6, 400)

HIST, HIST_NUMBERS = ensembles.HistGradientBoostingClassifier, ensembles.HistGradientBoostingRegressor
LIGHT = {"n_estimators": 6, "verbose": -1, "n_jobs": 1}
GROUPS = {**LIGHT, "min_data_per_group": 5, "cat_smooth": 1}
EXTREME = {"n_estimators": 6, "n_jobs": 1}
DART = {**EXTREME, "booster": "dart", "rate_drop": 0.5, "one_drop": True}
CAT = {"iterations": 6, "verbose": 0, "allow_writing_files": False, "thread_count": 1}

MODELS = {
    "tree": lambda: trees.DecisionTreeClassifier(random_state=0).fit(X, THREE),
    "extra tree": lambda: trees.ExtraTreeRegressor(random_state=0).fit(FILLED, NUMBERS),
    "regression tree": lambda: trees.DecisionTreeRegressor(random_state=0).fit(X, NUMBERS),
    "forest": lambda: ensembles.RandomForestClassifier(8, random_state=0).fit(X, TEXTS),
    "forest of two outputs": lambda: ensembles.RandomForestClassifier(4, random_state=0).fit(
        X, np.stack([TWO, THREE], axis=1)
    ),
    "regression forest": lambda: ensembles.RandomForestRegressor(8, random_state=0).fit(X, NUMBERS),
    "extra trees": lambda: ensembles.ExtraTreesClassifier(8, random_state=0).fit(FILLED, THREE),
    "regression extra trees": lambda: ensembles.ExtraTreesRegressor(8, random_state=0).fit(FILLED, NUMBERS),
    "hist": lambda: HIST(max_iter=6).fit(X, TWO),
    "hist of three": lambda: HIST(max_iter=4).fit(X, TEXTS),
    "hist of categories": lambda: HIST(max_iter=6, categorical_features=[3]).fit(X, ODD),
    "hist of numbers": lambda: HIST_NUMBERS(max_iter=6).fit(X, NUMBERS),
    "hist of counts": lambda: HIST_NUMBERS(max_iter=6, loss="poisson").fit(X, COUNTS),
    "lightgbm": lambda: lightgbm.LGBMClassifier(**LIGHT).fit(X, TWO),
    "lightgbm of three": lambda: lightgbm.LGBMClassifier(**LIGHT).fit(X, TEXTS),
    "lightgbm of categories": lambda: lightgbm.LGBMClassifier(**GROUPS).fit(X, ODD, categorical_feature=[3]),
    "lightgbm of numbers": lambda: lightgbm.LGBMRegressor(**LIGHT).fit(X, NUMBERS),
    "lightgbm of counts": lambda: lightgbm.LGBMRegressor(objective="poisson", **LIGHT).fit(FILLED, COUNTS),
    "xgboost": lambda: xgboost.XGBClassifier(**EXTREME).fit(X, TWO),
    "xgboost of three": lambda: xgboost.XGBClassifier(**EXTREME).fit(X, THREE),
    "xgboost dart": lambda: xgboost.XGBClassifier(**DART).fit(X, TWO),
    "xgboost dart of three": lambda: xgboost.XGBClassifier(**DART).fit(X, THREE),
    "xgboost of numbers": lambda: xgboost.XGBRegressor(**EXTREME).fit(X, NUMBERS),
    "xgboost of counts": lambda: xgboost.XGBRegressor(objective="count:poisson", **EXTREME).fit(X, COUNTS),
    "catboost": lambda: catboost.CatBoostClassifier(**CAT).fit(X, TWO),
    "catboost of three": lambda: catboost.CatBoostClassifier(**CAT).fit(X, THREE),
    "catboost of numbers": lambda: catboost.CatBoostRegressor(grow_policy="Depthwise", **CAT).fit(X, NUMBERS),
}


def answers(model, rows):
    """Return class shares or numbers, side by side."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)
    return np.concatenate(said, axis=1) if isinstance(said, list) else np.asarray(said)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_the_same_answers(name, tmp_path):
    theirs = MODELS[name]()
    ours = hb.from_model(theirs)
    tolerance = 2e-5 if "xgboost" in name else 1e-7 if "catboost" in name else 1e-12
    np.testing.assert_allclose(answers(ours, FRESH), answers(theirs, FRESH), atol=tolerance, rtol=tolerance)
    if hasattr(ours, "classes_") and not isinstance(ours.classes_, list):
        assert ours.classes_.tolist() == np.asarray(theirs.classes_).tolist()
    hb.save(ours, tmp_path / "m.hornbeam")
    np.testing.assert_array_equal(answers(hb.load(tmp_path / "m.hornbeam"), FRESH), answers(ours, FRESH))


@pytest.mark.filterwarnings("ignore")
def test_categories_of_frames_keep_their_names():
    for theirs in (
        lightgbm.LGBMClassifier(**GROUPS).fit(FRAME, ODD),
        HIST(max_iter=6, categorical_features="from_dtype").fit(FRAME, ODD),
    ):
        ours = hb.from_model(theirs)
        assert ours._model.schema.categories[3] == tuple("pqrstu")
        np.testing.assert_allclose(answers(ours, FRAME), answers(theirs, FRAME), atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("one_hot", [1, 100])
def test_categories_of_xgboost_with_holes_and_numbers(one_hot, tmp_path):
    odd_names = dict(zip("pqrstu", ["a", "b c", "x,y", "'", "", '"'], strict=True))
    frame = FRAME.assign(
        n=pd.Categorical(X[:, 3].astype(int) * 10), odd=FRAME["k"].cat.rename_categories(odd_names)
    )
    frame.loc[::5, "k"] = None
    theirs = xgboost.XGBClassifier(enable_categorical=True, max_cat_to_onehot=one_hot, **EXTREME).fit(
        frame, ODD
    )
    ours = hb.from_model(theirs)
    assert ours._model.schema.categories[3] == tuple("pqrstu")
    assert ours._model.schema.categories[4] == (0, 10, 20, 30, 40, 50)
    assert any(len(tree.category_words) for tree in ours._model.trees)
    np.testing.assert_allclose(answers(ours, frame), answers(theirs, frame), atol=2e-5)
    for form in ("json", "ubj"):
        theirs.save_model(tmp_path / f"m.{form}")
        read = hb.from_model(tmp_path / f"m.{form}")
        np.testing.assert_array_equal(answers(read, frame), answers(ours, frame))


@pytest.mark.filterwarnings("ignore")
def test_names_beyond_ascii_are_whole_from_xgboost_3_4_on():
    theirs = xgboost.XGBClassifier(enable_categorical=True, **EXTREME).fit(FRAME, ODD)
    document = json.loads(bytes(theirs.get_booster().save_raw("json")))
    names = ["\u00e9a", "q", "\u65e5\u672c", "s", "t", "u"]  # in the places of p, ..., u
    data = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, data)]).tolist()
    signed = np.frombuffer(b"".join(data), dtype=np.int8).tolist()
    document["learner"]["gradient_booster"]["model"]["cats"]["enc"][3] = {"offsets": ends, "values": signed}
    for version in ([3, 3, 0], [3, 2, 0]):
        with pytest.raises(ImportedModelError, match=r"column 'k' .* XGBoost before 3\.4 cuts"):
            front.from_xgboost({**document, "version": version})
    ours = front.from_xgboost({**document, "version": [3, 4, 1]})
    assert ours._model.schema.categories[3] == tuple(names)
    renamed = FRAME.assign(k=FRAME["k"].cat.rename_categories(dict(zip("pqrstu", names, strict=True))))
    np.testing.assert_allclose(answers(ours, renamed), answers(theirs, FRAME), atol=2e-5)


@pytest.mark.filterwarnings("ignore")
def test_files_are_read(tmp_path):
    light, extreme = MODELS["lightgbm"](), MODELS["xgboost of three"]()
    cat = MODELS["catboost of three"]()
    light.booster_.save_model(tmp_path / "m.txt")
    extreme.save_model(tmp_path / "m.json")
    extreme.save_model(tmp_path / "m.ubj")
    cat.save_model(str(tmp_path / "c.json"), format="json")
    for file, theirs in (("m.txt", light), ("m.json", extreme), ("m.ubj", extreme), ("c.json", cat)):
        ours = hb.from_model(tmp_path / file, verify="required")
        np.testing.assert_allclose(answers(ours, FRESH), answers(theirs, FRESH), atol=2e-5)


@pytest.mark.filterwarnings("ignore")
def test_rounds_after_the_best_count_where_they_count_for_xgboost(tmp_path):
    stops = {**EXTREME, "n_estimators": 60, "learning_rate": 0.8, "early_stopping_rounds": 3}
    half = slice(N // 2), slice(N // 2, N)
    for y in (TWO, THREE):
        wrong = np.where(draw.random(N) < 0.4, y[::-1], y)
        theirs = xgboost.XGBClassifier(**stops)
        theirs.fit(X[half[0]], wrong[half[0]], eval_set=[(X[half[1]], wrong[half[1]])], verbose=0)
        booster = theirs.get_booster()
        assert theirs.best_iteration + 1 < booster.num_boosted_rounds()
        theirs.save_model(tmp_path / "m.json")
        for given in (theirs, tmp_path / "m.json"):  # an estimator answers by its best rounds
            ours = hb.from_model(given, verify="required")
            assert ours.n_iter_ == theirs.best_iteration + 1
            np.testing.assert_allclose(answers(ours, FRESH), answers(theirs, FRESH), atol=2e-5)
        booster.save_model(tmp_path / "b.ubj")
        for given in (booster, tmp_path / "b.ubj"):  # a booster by all
            ours = hb.from_model(given, verify="required")
            assert ours.n_iter_ == booster.num_boosted_rounds()


@pytest.mark.filterwarnings("ignore")
def test_an_imported_model_explains_itself_and_travels_on():
    ours = hb.from_model(MODELS["lightgbm of numbers"]())
    message = ours.explain(FRESH[0])
    assert sum(message.contributions.values()) + message.start == pytest.approx(message.score)
    assert ours.feature_importances_.sum() == pytest.approx(1.0)
    assert "Run in SQLite" in hb.export(ours, "sql", dialect="sqlite")


# ------------------------------------------------------------------------------------------------------------
# Differences are caught


def test_a_model_that_answers_otherwise_is_refused(monkeypatch):
    honest = peers.Peer.answers
    monkeypatch.setattr(peers.Peer, "answers", lambda self, rows, made: honest(self, rows, made) + 1e-6)
    with pytest.raises(ImportedModelError, match=r"the model answers .* so it was not kept\. The row is \["):
        hb.from_model(MODELS["regression tree"]())


def test_given_rows_are_compared():
    theirs = MODELS["tree"]()
    assert isinstance(hb.from_model(theirs, rows=X), hb.DecisionTreeClassifier)


def test_a_file_without_its_library_gives_a_warning(tmp_path, monkeypatch):
    MODELS["lightgbm"]().booster_.save_model(tmp_path / "m.txt")
    monkeypatch.setattr(front, "peer_of_file", lambda family, path: None)
    with pytest.warns(UntestedExportWarning, match="lightgbm is not installed"):
        hb.from_model(tmp_path / "m.txt")
    with pytest.raises(ImportedModelError, match="verify='required'"):
        hb.from_model(tmp_path / "m.txt", verify="required")


# ------------------------------------------------------------------------------------------------------------
# Single precision


@pytest.mark.parametrize("seed", range(5))
def test_rounded_comparisons_are_the_same_as_plain_ones(seed):
    generator = np.random.default_rng(seed)
    bits = generator.integers(0, 2**32, 4000, dtype=np.uint32)
    special = np.array([0.0, -0.0, 1.0, 1e-45, -1e-45, 3.4028235e38, -3.4028235e38, 1.5], dtype=np.float32)
    thresholds = np.concatenate([bits.view(np.float32), special])
    thresholds = thresholds[np.isfinite(thresholds)]
    with np.errstate(over="ignore"):
        up, down = (
            np.nextafter(thresholds, np.float32(side)).astype(np.float64) for side in (np.inf, -np.inf)
        )
        middle = [thresholds.astype(np.float64) / 2 + other / 2 for other in (up, down)]
    places = [thresholds.astype(np.float64), up, down, *middle]
    places += [np.nextafter(one, side) for one in middle for side in (np.inf, -np.inf)]
    for x in places:
        with np.errstate(over="ignore"):
            single = x.astype(np.float32)
        np.testing.assert_array_equal(x <= up_to_single(thresholds), single <= thresholds)
        np.testing.assert_array_equal(x <= below_single(thresholds), single < thresholds)


def test_thresholds_in_double_precision_are_met_exactly():
    thresholds = np.array([0.1, 1 / 3, 1e300, -1e300, 16777217.0, 1e-50])
    for x in (thresholds, np.nextafter(thresholds, np.inf), thresholds * 1.0000001):
        with np.errstate(over="ignore"):
            single = x.astype(np.float32).astype(np.float64)
        np.testing.assert_array_equal(x <= up_to_single(thresholds), single <= thresholds)


# ------------------------------------------------------------------------------------------------------------
# What is refused, by name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: lightgbm.LGBMClassifier(
                boosting_type="rf", bagging_freq=1, bagging_fraction=0.5, **LIGHT
            ).fit(X, TWO),
            "boosting='rf'",
        ),
        (lambda: lightgbm.LGBMRegressor(linear_tree=True, **LIGHT).fit(FILLED, NUMBERS), "linear_tree"),
        (lambda: lightgbm.LGBMRegressor(objective="cross_entropy_lambda", **LIGHT).fit(X, TWO), "objective"),
        (
            lambda: xgboost.XGBClassifier(booster="gblinear", **EXTREME).fit(FILLED, TWO),
            "booster='gblinear'",
        ),
        (lambda: xgboost.XGBRegressor(objective="binary:hinge", **EXTREME).fit(X, TWO), "binary:hinge"),
        (
            lambda: xgboost.XGBClassifier(missing=-999.0, **EXTREME).fit(np.nan_to_num(X, nan=-999.0), TWO),
            r"missing=-999\.0 of XGBoost",
        ),
        (
            lambda: xgboost.XGBClassifier(
                enable_categorical=True, feature_types=["q", "q", "q", "c"], **EXTREME
            ).fit(X, ODD),
            "categories of XGBoost need their names: .* column 'x3'",
        ),
        (
            lambda: catboost.CatBoostClassifier(**CAT).fit(FRAME, TWO, cat_features=["k"]),
            "categorical features",
        ),
    ],
)
def test_what_cannot_be_said_is_named(make, words):
    with pytest.raises(ImportedModelError, match=words):
        hb.from_model(make())


def test_other_things_are_named():
    with pytest.raises(TypeError, match=r"got sklearn\.ensemble\._gb\.GradientBoostingRegressor"):
        hb.from_model(ensembles.GradientBoostingRegressor(n_estimators=2).fit(FILLED, NUMBERS))
    with pytest.raises(TypeError, match="this DecisionTreeClassifier is one of hornbeam already"):
        hb.from_model(hb.DecisionTreeClassifier(max_depth=2).fit(X, TWO))


@pytest.mark.parametrize(
    "model",
    [
        ensembles.RandomForestClassifier(),
        HIST(),
        lightgbm.LGBMClassifier(),
        xgboost.XGBClassifier(),
        catboost.CatBoostClassifier(),
    ],
)
def test_what_is_not_fitted_says_so(model):
    with pytest.raises(NotFittedError, match=r"not fitted|need to call fit"):
        hb.from_model(model)


def test_a_pickle_is_never_opened(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "opened"), "w"))

    (tmp_path / "m.pkl").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ImportedModelError, match="a pickle is never opened"):
        hb.from_model(tmp_path / "m.pkl")
    assert not (tmp_path / "opened").exists()


def test_damaged_files_are_refused(tmp_path):
    theirs = MODELS["xgboost"]()
    theirs.save_model(tmp_path / "m.ubj")
    whole = (tmp_path / "m.ubj").read_bytes()
    for cut in range(2, len(whole) - 1, len(whole) // 40):
        with pytest.raises(ImportedModelError):
            front.from_xgboost(read_ubjson(whole[:cut]))
    document = json.loads(bytes(theirs.get_booster().save_raw("json")))
    document["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"][0] = 0
    with pytest.raises(ImportedModelError, match=r"form a cycle|cannot be used"):
        front.from_xgboost(document)
    assert read_ubjson(io.BytesIO(b"[$U#U\x03\x01\x02\x03").getvalue()) == [1, 2, 3]


def test_importing_hornbeam_imports_no_other_library():
    code = (
        "import sys, hornbeam, hornbeam.imports.front; "
        "print([name for name in ('lightgbm', 'xgboost', 'catboost') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
