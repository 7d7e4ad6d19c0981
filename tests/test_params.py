"""The declared hyperparameters: signature, checks, documentation and scikit-learn agree about every one."""

import inspect
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from hypothesis import given
from hypothesis import strategies as st
from mypy import api
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import estimator_checks

from hornbeam.declare.kinds import RealNumber, WholeNumber
from hornbeam.params import (
    ClassifierTreeOptions,
    Declared,
    Option,
    RegressorTreeOptions,
    documentation,
    options_of,
    resolve_count,
    resolve_max_features,
    resolve_random_key,
    validate,
)
from hornbeam.sklearn_bases import ClassifierMixin, RegressorMixin


class DemoClassifier(ClassifierMixin, ClassifierTreeOptions):
    """A classifier that only checks its parameters.

    {parameters}

    Attributes
    ----------
    none
    """

    def fit(self, X: Any, y: Any) -> Self:
        validate(self)
        return self


class DemoRegressor(RegressorMixin, RegressorTreeOptions):
    def fit(self, X: Any, y: Any) -> Self:
        validate(self)
        return self


DEMOS: tuple[type[Declared], ...] = (DemoClassifier, DemoRegressor)
EVERY_OPTION = [
    pytest.param(cls, declared, id=f"{cls.__name__}-{name}")
    for cls in DEMOS
    for name, declared in options_of(cls).items()
]


def check(cls: type[Declared], name: str, value: object) -> None:
    validate(cls(**{name: value}))


# Written down once more, by hand, so that a slip in a declaration cannot approve itself.
GOOD_AND_BAD: dict[str, tuple[list[Any], list[Any]]] = {
    "criterion": ([], ["mse", "", None, 1, b"gini"]),
    "splitter": (["best", "random"], ["Best", None, 0]),
    "max_depth": ([None, 1, 3, 10**6, np.int8(3), np.uint64(9)], [0, -3, 1.0, 2.5, True, "3", math.nan, [3]]),
    "min_samples_split": ([2, 100, 1.0, 0.5, 1e-9, np.float32(0.5)], [1, 0, -1, 0.0, 1.5, True, None, "2"]),
    "min_samples_leaf": ([1, 100, 0.5, 1e-9, np.int64(5)], [0, -1, 0.0, 1.0, 1.5, True, None, "1"]),
    "min_weight_fraction_leaf": ([0, 0.0, 0.25, 0.5], [-0.01, 0.51, 1, math.nan, None, "0", False]),
    "max_features": ([None, "sqrt", "log2", 1, 7, 0.1, 1.0], [0, -1, 0.0, 1.01, "auto", True, math.nan, [1]]),
    "max_leaf_nodes": ([None, 2, 31], [1, 0, -1, 2.0, "31", True]),
    "max_nodes": ([None, 1, 31], [0, -1, 2.0, "31", True]),
    "leaf_value": (["mean", "median"], ["Median", None, 0]),
    "min_significance": ([None, 0.05, 1.0, 1], [0, -0.1, 1.01, math.nan, "0.05", True]),
    "min_impurity_decrease": ([0, 0.0, 0.5, 10, 1e300], [-1e-9, math.inf, math.nan, 10**400, None, "0"]),
    "ccp_alpha": ([0, 0.0, 0.5, 10], [-1e-9, math.inf, -math.inf, math.nan, None, "0", True]),
    "prune": ([None, "reduced_error", "cost_complexity", "pessimistic"], ["", "rep", True, 1]),
    "prune_select": (["cv", "cv_1se", "validation"], ["1se", None, 5]),
    "prune_cost": (["impurity", "error"], ["gini", None, 0]),
    "prune_confidence": ([0.25, 0.01, 0.9], [0, 1, -0.1, math.nan, None, "0.25"]),
    "cv": (
        [2, 10, np.int64(5), KFold(3), [([0, 1], [2])], [(np.arange(3), np.arange(3, 5))]],
        [1, 0, 2.0, True, None, "5", [], [3], [([0], [1], [2])], np.array(1)],
    ),
    "validation_fraction": ([0.1, 0.5, 0.99], [0, 0.0, 1, 1.0, -0.1, math.nan, None, "0.2", True]),
    "monotonic_cst": (
        [None, [], [0, 1, -1], (1,), np.array([1, 0, -1], dtype=np.int8), {"age": -1}, pd.Series([0, 1])],
        ["age", 1, [2], [0.5], [True], ["1"], {"age": 2}, {0: 1}, np.array(1), [[1]]],
    ),
    "categorical_features": (
        [
            *("from_dtype", None, [], ["a", "b"], [0, 2], (True, False), {"a"}),
            *(np.array([False, True]), np.array([1, 2], dtype=np.uint8), pd.Index(["a", "b"])),
        ],
        ["from_dtypes", "a", 3, ["a", 0], [True, 1], [0, True], [-1], [0.5], {"a": 1}, [None], np.array("a")],
    ),
    "categorical_split": (
        ["subset", "one_vs_rest", "multiway", "merge", "target_mean", "ordinal", "binary"],
        ["sub", None, 1, "one_hot"],
    ),
    "merge_level": ([0.05, 0.01, 0.99], [0, 1, -0.1, math.nan, None, "0.05"]),
    "missing": (
        ["learn", "surrogate", "fractional", "majority", "available", "error"],
        ["surrogates", None, True],
    ),
    "max_surrogates": ([0, 1, 5, 100], [-1, 2.0, "5", None, True]),
    "unseen": (["missing", "majority", "error"], ["ignore", None]),
    "max_bins": ([None, 2, 255, 65535], [1, 0, 65536, 255.0, True, "255"]),
    "random_state": (
        [None, 0, 42, 2**32 - 1, np.random.RandomState(0)],
        [-1, 2**64, 1.0, "0", True, np.random.default_rng(0)],
    ),
    "n_jobs": ([None, 1, -1, -2, 131072, np.int32(2)], [0, "auto", 1.0, True]),
    "class_weight": (
        [None, "balanced", {}, {"a": 1, "b": 0.5}, {0: 0}, [{0: 1.0}, {1: 2.0}]],
        ["balance", 1.0, {"a": -1}, {"a": math.nan}, {"a": "1"}, {"a": None}, [], [1.0], [{0: 1}, {1: -1}]],
    ),
}


def label(value: object) -> str:
    """Name a value in a test's name, without the address that some objects print."""
    return f"{value!r:.30}".partition(" at 0x")[0]


def good_values() -> Iterator[Any]:
    for cls in DEMOS:
        for name in options_of(cls):
            for value in GOOD_AND_BAD[name][0]:
                yield pytest.param(cls, name, value, id=f"{cls.__name__}-{name}-{label(value)}")


def bad_values() -> Iterator[Any]:
    for cls in DEMOS:
        for name in options_of(cls):
            for value in GOOD_AND_BAD[name][1]:
                shown = "10**400" if value == 10**400 else label(value)
                yield pytest.param(cls, name, value, id=f"{cls.__name__}-{name}-{shown}")


def test_every_option_has_examples() -> None:
    assert set(GOOD_AND_BAD) == set(options_of(DemoClassifier)) | set(options_of(DemoRegressor))


@pytest.mark.parametrize(("cls", "name", "value"), list(good_values()))
def test_good_values_pass(cls: type[Declared], name: str, value: object) -> None:
    check(cls, name, value)


@pytest.mark.parametrize(("cls", "name", "value"), list(bad_values()))
def test_bad_values_raise_with_class_parameter_and_value(
    cls: type[Declared], name: str, value: object
) -> None:
    with pytest.raises(ValueError) as caught:
        check(cls, name, value)
    text = str(caught.value)
    assert text.startswith(f"{cls.__name__}: {name} must be {options_of(cls)[name].allowed}; got ")
    assert "\n" not in text
    if value != 10**400 and len(repr(value)) < 60:
        assert f"got {value!r}" in text


@pytest.mark.parametrize(
    ("cls", "choices"),
    [
        (
            DemoClassifier,
            ("gini", "entropy", "log_loss", "accuracy", "misclassification", "gain_ratio", "chi2"),
        ),
        (DemoRegressor, ("squared_error", "friedman_mse", "absolute_error", "poisson", "f_test")),
    ],
)
def test_criterion_belongs_to_the_task(cls: type[Declared], choices: tuple[str, ...]) -> None:
    assert options_of(cls)["criterion"].choices == choices
    for choice in choices:
        check(cls, "criterion", choice)
    other = DEMOS[cls is DemoClassifier]
    with pytest.raises(ValueError, match="criterion must be"):
        check(cls, "criterion", options_of(other)["criterion"].default)


def edges(declared: Option) -> Iterator[tuple[Any, bool]]:
    """Yield the last value inside and the first outside, at every bound of a number."""
    for kind in declared.kinds:
        if isinstance(kind, WholeNumber):
            if kind.bounds.low is not None:
                yield int(kind.bounds.low), True
                yield int(kind.bounds.low) - 1, False
            if kind.bounds.high is not None:
                yield int(kind.bounds.high), True
                yield int(kind.bounds.high) + 1, False
        elif isinstance(kind, RealNumber):
            for bound, is_open, outward in (
                (kind.bounds.low, kind.bounds.low_open, -math.inf),
                (kind.bounds.high, kind.bounds.high_open, math.inf),
            ):
                if bound is not None:
                    yield math.nextafter(bound, -outward if is_open else bound), True
                    yield (float(bound) if is_open else math.nextafter(bound, outward)), False


@pytest.mark.parametrize(("cls", "declared"), EVERY_OPTION)
def test_bounds_hold_to_the_last_bit(cls: type[Declared], declared: Option) -> None:
    for value, inside in edges(declared):
        if inside:
            check(cls, declared.name, value)
        else:
            with pytest.raises(ValueError, match=re.escape(f"{declared.name} must be")) as caught:
                check(cls, declared.name, value)
            assert f"got {value!r}." in str(caught.value)


@pytest.mark.parametrize(("cls", "declared"), EVERY_OPTION)
def test_signature_attribute_and_documentation_agree(cls: type[Declared], declared: Option) -> None:
    parameter = inspect.signature(cls).parameters[declared.name]
    assert parameter.default is declared.default
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    assert getattr(cls(), declared.name) is declared.default
    entry = f"\n{declared.name} : {declared.allowed}, default={declared.default!r}\n    {declared.help}"
    assert entry in documentation(cls)


@pytest.mark.parametrize("cls", DEMOS)
def test_signature_has_the_options_and_nothing_else(cls: type[Declared]) -> None:
    assert list(inspect.signature(cls).parameters) == list(options_of(cls))


@pytest.mark.parametrize(("cls", "declared"), EVERY_OPTION)
def test_help_is_one_sentence_on_one_line(cls: type[Declared], declared: Option) -> None:
    assert declared.help.endswith(".")
    assert "\n" not in declared.help
    assert len(declared.help) <= 160


def test_class_docstring_holds_the_parameters_at_its_indentation() -> None:
    text = inspect.getdoc(DemoClassifier)
    assert text is not None
    assert documentation(DemoClassifier) in text
    assert "{parameters}" not in text
    assert text.startswith("A classifier that only checks its parameters.\n\nParameters\n----------\n")
    assert text.endswith("\n\nAttributes\n----------\nnone")


@pytest.mark.parametrize(
    ("cls", "twin"),
    [
        (DemoClassifier, sklearn.tree.DecisionTreeClassifier),
        (DemoRegressor, sklearn.tree.DecisionTreeRegressor),
    ],
)
def test_defaults_and_names_equal_scikit_learns(cls: type[Declared], twin: Any) -> None:
    ours, theirs = cls().get_params(), twin().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert ours.keys() - theirs.keys() == {
        *(
            "max_nodes",
            "min_significance",
            "max_surrogates",
            "categorical_features",
            "categorical_split",
            "merge_level",
            "missing",
            "unseen",
            "max_bins",
            "n_jobs",
        ),
        *("prune", "prune_select", "prune_cost", "prune_confidence", "cv", "n_jobs"),
        "validation_fraction",
        *(["leaf_value"] if cls is DemoRegressor else []),
    }


@pytest.mark.parametrize("cls", DEMOS)
@pytest.mark.parametrize(
    "name",
    [
        "check_parameters_default_constructible",
        "check_no_attributes_set_in_init",
        "check_get_params_invariance",
        "check_set_params",
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_do_not_raise_errors_in_init_or_set_param",
    ],
)
def test_scikit_learns_checks_of_constructors(cls: type[Declared], name: str) -> None:
    # The last check changed its spelling between the versions of scikit-learn that we support.
    run = getattr(estimator_checks, name, None) or getattr(estimator_checks, f"{name}s")
    run(cls.__name__, cls())


def test_clone_and_parameters_round_trip() -> None:
    values: dict[str, Any] = {
        "max_depth": 4,
        "min_samples_leaf": 0.1,
        "class_weight": {"a": 2.0},
        "random_state": np.random.RandomState(1),
        "categorical_features": np.array([True, False]),
    }
    tree = DemoClassifier(**values)
    for name, value in values.items():
        assert tree.get_params()[name] is value  # stored as given, neither copied nor converted
    copy = clone(tree)
    assert copy is not tree
    assert copy.get_params()["class_weight"] == {"a": 2.0}
    assert copy.set_params(**tree.get_params()) is copy
    assert copy.get_params() == tree.get_params()
    assert repr(DemoClassifier(max_depth=4)) == "DemoClassifier(max_depth=4)"


def test_constructor_and_set_params_accept_anything_until_fit() -> None:
    tree = DemoClassifier(max_depth=-3)  # as in scikit-learn, so that searches can build before they check
    tree.set_params(min_samples_leaf="many")
    with pytest.raises(
        ValueError, match=r"^DemoClassifier: max_depth must be None or a whole number >= 1; got -3\.$"
    ):
        tree.fit([[0]], [0])
    tree.set_params(max_depth=None)
    with pytest.raises(ValueError, match=r"min_samples_leaf must be .*; got 'many'\.$"):
        tree.fit([[0]], [0])


def test_type_checker_sees_the_true_constructor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "\n".join(
            [
                "from hornbeam.params import ClassifierTreeOptions, RegressorTreeOptions, fitted",
                "from hornbeam.sklearn_bases import ClassifierMixin",
                "class Tree(ClassifierMixin, ClassifierTreeOptions):",
                "    tree_: int = fitted()",
                "Tree()",
                "Tree(max_depth=3, max_features='sqrt', class_weight={'a': 1.0}, categorical_features=['b'])",
                "Tree(max_features=0.5, min_samples_leaf=2, monotonic_cst={'a': -1}, random_state=None)",
                "RegressorTreeOptions(criterion='poisson')",
                "Tree(max_dept=3)  # wrong: call-arg",
                "Tree(max_depth='deep')  # wrong: arg-type",
                "Tree(criterion='poisson')  # wrong: arg-type",
                "RegressorTreeOptions('squared_error')  # wrong: call-arg",
                "Tree(tree_=1)  # wrong: call-arg",
                "RegressorTreeOptions(class_weight=None)  # wrong: call-arg",
                "Tree().no_such_attribute  # wrong: attr-defined",
            ]
        )
    )
    monkeypatch.setenv("MYPYPATH", str(Path(__file__).parents[1] / "src"))
    options = ["--strict", "--follow-imports=silent", "--ignore-missing-imports", "--config-file="]
    output, errors, _ = api.run([*options, f"--cache-dir={tmp_path / 'cache'}", str(snippet)])
    complaints = re.findall(r"snippet\.py:(\d+): error: .*\[([a-z-]+)\]", output)
    first_of_each_line = dict(reversed(complaints))
    expected = {
        str(number): line.partition("# wrong: ")[2]
        for number, line in enumerate(snippet.read_text().splitlines(), start=1)
        if "# wrong: " in line
    }
    assert (first_of_each_line, errors) == (expected, "")


# --- Values that depend on the data ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "n_rows", "at_least", "count"),
    [
        (5, 100, 1, 5),
        (np.int64(500), 100, 1, 500),
        (0.1, 95, 1, 10),
        (0.5, 1, 1, 1),
        (1e-9, 100, 1, 1),
        (1e-9, 100, 2, 2),
        (1.0, 100, 2, 100),
        (np.float32(0.25), 10, 1, 3),
    ],
)
def test_resolve_count(value: float, n_rows: int, at_least: int, count: int) -> None:
    result = resolve_count(value, n_rows, at_least=at_least)
    assert result == count
    assert type(result) is int


@given(st.floats(min_value=0, max_value=1, exclude_min=True), st.integers(min_value=1, max_value=10**9))
def test_a_fraction_of_rows_is_rounded_up(fraction: float, n_rows: int) -> None:
    count = resolve_count(fraction, n_rows)
    assert 1 <= count <= n_rows
    assert count - 1 < fraction * n_rows <= count or count == 1


@pytest.mark.parametrize("value", [None, "sqrt", "log2", 1, 3, 1.0, 0.5, 0.34, 1e-6])
@pytest.mark.parametrize("n_features", [3, 4, 5, 15, 16, 17, 31])
def test_resolve_max_features_equals_scikit_learn(value: Any, n_features: int) -> None:
    X = np.arange(2.0 * n_features).reshape(2, n_features)
    theirs = sklearn.tree.DecisionTreeClassifier(max_features=value).fit(X, [0, 1]).max_features_
    assert resolve_max_features(value, n_features) == theirs


def test_more_features_than_there_are_is_an_error() -> None:
    assert resolve_max_features(4, 4) == 4
    with pytest.raises(ValueError, match=r"max_features is 5, but X has only 4 feature\(s\)"):
        resolve_max_features(5, 4)


def test_random_key_is_a_function_of_the_seed() -> None:
    keys = [resolve_random_key(seed) for seed in range(200)]
    assert keys == [resolve_random_key(seed) for seed in range(200)]
    assert len(set(keys)) == 200
    assert all(0 <= key < 2**64 for key in keys)
    assert max(keys) > 2**63 > min(keys)  # all 64 bits are used


def test_random_state_instance_and_global_state_move_on() -> None:
    first, second = np.random.RandomState(7), np.random.RandomState(7)
    assert resolve_random_key(first) == resolve_random_key(7)
    assert resolve_random_key(first) != resolve_random_key(second)
    state = np.random.get_state()
    try:
        np.random.seed(7)
        assert resolve_random_key(None) == resolve_random_key(7)
        assert resolve_random_key(None) != resolve_random_key(7)
    finally:
        np.random.set_state(state)
