"""Scores of rows that lack some of the classes: out of bag, and where rounds of boosting are judged."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

import hornbeam as hb

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.OutOfBagWarning")


def one_row_of_a_class(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes - 1, size=40)
    y[7] = n_classes - 1
    return rng.normal(size=(40, 2)), y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("forest", [hb.RandomForestClassifier, hb.BaggingClassifier])
def test_out_of_bag_rows_may_lack_a_class(forest: type, n_classes: int) -> None:
    X, y = one_row_of_a_class(n_classes)
    lacking = 0
    for seed in range(8):
        model = forest(n_estimators=2, oob_score="neg_log_loss", random_state=seed).fit(X, y)
        shares = model.oob_decision_function_
        rows = ~np.isnan(shares[:, 0])
        lacking += n_classes - 1 not in y[rows]
        expected = -log_loss(y[rows], shares[rows], labels=list(range(n_classes)))
        assert model.oob_score_ == pytest.approx(expected)
    assert lacking


def test_a_metric_that_needs_all_classes_is_refused_by_the_name_of_the_option() -> None:
    X, y = one_row_of_a_class()
    model = hb.RandomForestClassifier(2, oob_score="roc_auc_ovr")
    says = r"^oob_score='roc_auc_ovr' cannot judge the \d+ rows .*, of 2 of the 3 classes: "
    with pytest.raises(ValueError, match=says):
        for seed in range(8):
            model.set_params(random_state=seed).fit(X, y)


def test_rows_that_judge_rounds_may_lack_a_class() -> None:
    X, y = one_row_of_a_class()
    seen = y < 2
    model = hb.GradientBoostingClassifier(3, scoring="neg_log_loss", min_samples_leaf=1)
    model.fit(X, y, X_val=X[seen], y_val=y[seen], callbacks=[lambda at: None])
    expected = -log_loss(y[seen], model.predict_proba(X[seen]), labels=[0, 1, 2])
    assert model.validation_score_[-1] == pytest.approx(expected)
