"""Options drawn from their declarations: every kind of value that is allowed, at its bounds and inside them.

What a declaration cannot say (how long a list must be, which columns there are) is drawn here by the name of
the option; a new option of a plain type is drawn without a word here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

import hornbeam as hb
from hornbeam.declare.kinds import Check, Choice, Flag, Instance, Kind, NoneKind, RealNumber, WholeNumber
from hornbeam.params import Option, options_of
from hostile.tables import Table

# Work grows with these, so they stay small; their bounds are tested elsewhere.
MOST = {"n_estimators": 9, "n_iter_no_change": 5, "cv": 4, "verbose": 0, "max_bins": 65535, "n_neighbors": 50}
LARGE = [2**31 - 1, 2**31, 2**63 - 1]

Draw = Callable[[np.random.Generator, Table, type], Any]


class OwnLoss:
    """Squared error, as a user would write it."""

    def gradient_hessian(self, y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return score - y, np.ones_like(y)


class OwnCriterion:
    """Minus the number of cells that are not zero."""

    def score(self, cells: np.ndarray) -> np.ndarray:
        return -np.count_nonzero(cells, axis=(1, 2)).astype(float)


def _column_list(rng: np.random.Generator, table: Table, cls: type) -> Any:
    chosen = np.flatnonzero(rng.random(len(table.names)) < 0.4)
    return [table.names[j] for j in chosen] if not table.is_numeric else chosen.tolist()


def _groups(rng: np.random.Generator, table: Table, cls: type) -> Any:
    n = len(table.names)
    return [rng.choice(n, size=int(rng.integers(1, n + 1)), replace=False).tolist() for _ in range(3)]


def _is_classifier(cls: type) -> bool:
    return cls.__name__.endswith("Classifier")


def _learner(rng: np.random.Generator, table: Table, cls: type) -> Any:
    if _is_classifier(cls):
        return rng.choice(
            np.array(
                [
                    hb.DecisionTreeClassifier(max_depth=2),
                    hb.DecisionTreeClassifier(missing="surrogate"),
                    hb.RandomForestClassifier(2),
                    hb.KNeighborsClassifier(1),
                    hb.GradientBoostingClassifier(2),
                ],
                dtype=object,
            )
        )
    return rng.choice(
        np.array(
            [hb.DecisionTreeRegressor(max_depth=2), hb.ExtraTreesRegressor(2), hb.KNeighborsRegressor(2)],
            dtype=object,
        )
    )


def _levels(rng: np.random.Generator, table: Table, cls: type) -> Any:
    levels = [[("a", _learner(rng, table, cls)), ("b", _learner(rng, table, cls))]]
    if rng.random() < 0.3:
        levels.append([("c", _learner(rng, table, cls))])
    return levels


def _members(rng: np.random.Generator, table: Table, cls: type) -> Any:
    return [("a", _learner(rng, table, cls)), ("b", _learner(rng, table, cls))]


def _final(rng: np.random.Generator, table: Table, cls: type) -> Any:
    if rng.random() < 0.5:
        return _learner(rng, table, cls)
    return LogisticRegression(max_iter=20) if _is_classifier(cls) else Ridge()


def _splits(rng: np.random.Generator, table: Table, cls: type) -> Any:
    if rng.random() < 0.5:
        return KFold(2)
    order = rng.permutation(table.n_rows)
    return [(order[::2], order[1::2]), (order[1::2], order[::2])]


def _class_weights(rng: np.random.Generator, table: Table, cls: type) -> Any:
    if table.y is None or table.y.ndim > 1:
        return "balanced"
    return {label: float(rng.choice([0.0, 1e-9, 1.0, 7.5])) for label in np.unique(table.y).tolist()}


BY_NAME: dict[str, Draw] = {
    "categorical_features": _column_list,
    "monotonic_cst": lambda rng, table, cls: rng.integers(-1, 2, size=len(table.names)).tolist(),
    "interaction_cst": _groups,
    "class_weight": _class_weights,
    "n_jobs": lambda rng, table, cls: int(rng.choice([1, 2, -1])),
    "cv": _splits,
    "estimator": _learner,
    "final_estimator": _final,
    "levels": _levels,
    "members": _members,
    "weights": lambda rng, table, cls: np.ones_like,
    "keep": lambda rng, table, cls: ["oob", "leaf_rows", "in_bag", ["oob", "in_bag"]][int(rng.integers(4))],
    "oob_score": lambda rng, table, cls: "neg_log_loss" if _is_classifier(cls) else "neg_mean_squared_error",
    "loss": lambda rng, table, cls: OwnLoss(),
    "criterion": lambda rng, table, cls: OwnCriterion(),
    "scoring": lambda rng, table, cls: "loss",
    "holdout_fractions": lambda rng, table, cls: [0.5, 0.5],
}


def _whole_number(rng: np.random.Generator, name: str, kind: WholeNumber, n_rows: int) -> int:
    low = int(kind.bounds.low or 0)
    high = int(kind.bounds.high) if kind.bounds.high is not None else LARGE[2]
    if name in MOST:
        return min(
            low + int(rng.integers(0, 9)) if name != "max_bins" else int(rng.integers(2, 400)),
            MOST[name],
            high,
        )
    near = [low, low + 1, low + 2, low + int(rng.integers(0, 30)), n_rows, high]
    chosen = int(rng.choice(near[:-1])) if rng.random() < 0.9 else int(rng.choice([high, *LARGE[:2]]))
    return max(low, min(chosen, high))


def _real_number(rng: np.random.Generator, name: str, kind: RealNumber) -> float:
    low = kind.bounds.low if kind.bounds.low is not None else -1e300
    high = kind.bounds.high if kind.bounds.high is not None else 1e300
    inside = [0.01, 0.1, 0.25, 0.5, 0.9, 1.0, 1.5, 10.0, low, high, 1e-300, 1e-9]
    fitting = [number for number in inside if kind.bounds.contain(number)]
    return float(rng.choice(fitting))


def _value(rng: np.random.Generator, option: Option, kind: Kind, table: Table, cls: type) -> Any:
    if isinstance(kind, NoneKind):
        return None
    if isinstance(kind, Choice):
        return str(rng.choice(kind.choices))
    if isinstance(kind, Flag):
        return bool(rng.random() < 0.5)
    if isinstance(kind, WholeNumber):
        return _whole_number(rng, option.name, kind, table.n_rows)
    if isinstance(kind, RealNumber):
        return _real_number(rng, option.name, kind)
    if isinstance(kind, Instance):
        return np.random.RandomState(3)
    assert isinstance(kind, Check)
    return BY_NAME[option.name](rng, table, cls)


def random_options(rng: np.random.Generator, cls: Any, table: Table) -> dict[str, Any]:
    """Draw some of the options of a class; the others keep their defaults, but members stay few."""
    share = float(rng.choice([0.05, 0.15, 0.4]))
    drawn: dict[str, Any] = {}
    for option in options_of(cls).values():
        if option.required or option.name == "n_estimators" or rng.random() < share:
            kind = option.kinds[int(rng.integers(len(option.kinds)))]
            drawn[option.name] = _value(rng, option, kind, table, cls)
    if drawn.get("n_estimators") == "auto" and table.n_rows > 100:
        finds_its_length = drawn.get("early_stopping", True) and not drawn.get("warm_start")
        drawn.update({"n_iter_no_change": 2} if finds_its_length else {"n_estimators": 5})
    drawn["random_state" if "random_state" in options_of(cls) else "n_jobs"] = 1
    return drawn
