"""Small tables and rules of growth, drawn at random, and the core asked to grow by them."""

from hypothesis import strategies as st
from reference.nodes import Missing, Rules
from reference.splits import is_categorical
from reference.tables import Table, tables

from core.growing import grow

GROWTH = {"depth": "depth_first", "level": "level", "best": "best_first"}
SPLITS = ("subset", "one_vs_rest", "ordinal", "target_mean", "binary", "multiway", "merge")
CRITERIA = {
    "classes": ("gini", "entropy", "accuracy", "gain_ratio", "chi2"),
    "numbers": ("squared_error", "f_test"),
    "counts": ("poisson", "squared_error"),
}
READ_WEIGHTS_AS_COUNTS = ("chi2", "f_test")


@st.composite
def cases(draw: st.DrawFn, policy: Missing = "learn", **kinds: object) -> tuple[Table, Rules]:
    target = draw(st.sampled_from(("classes", "numbers", "counts")))
    table = draw(tables(target, **kinds))
    limits = {
        "max_depth": st.sampled_from([None, 1, 2, 5]),
        "min_samples_split": st.sampled_from([2, 2, 5]),
        "min_samples_leaf": st.sampled_from([1, 1, 2, 4]),
        "min_weight_leaf": st.sampled_from([0.0, 0.0, 2.0]),
        "min_impurity_decrease": st.sampled_from([0.0, 0.0, 0.01]),
        "max_leaf_nodes": st.sampled_from([None, None, 2, 4]),
        "max_nodes": st.sampled_from([None, None, 5]),
        "order": st.sampled_from(["depth", "level", "best"]),
        "max_surrogates": st.sampled_from([5, 5, 1, 0]),
        "criterion": st.sampled_from(CRITERIA[target]),
        "categorical_split": st.sampled_from(SPLITS),
        "merge_level": st.sampled_from([0.05, 0.3, 0.9]),
    }
    drawn = {name: draw(strategy) for name, strategy in limits.items()}
    if drawn["criterion"] in READ_WEIGHTS_AS_COUNTS:
        drawn["min_significance"] = draw(st.sampled_from([None, None, 0.05, 0.5]))
    if table.n_classes in (None, 2) and draw(st.integers(0, 3)) == 0:
        drawn["monotonic_cst"] = [
            0 if is_categorical(column) else draw(st.integers(-1, 1)) for column in table.columns
        ]
    return table, Rules(**drawn, missing=policy)


def grow_with(table: Table, rules: Rules, **more: object):
    return grow(
        table.columns,
        table.y,
        table.weights,
        n_classes=table.n_classes,
        criterion=rules.criterion,
        growth=GROWTH[rules.order],
        max_depth=rules.max_depth or 0,
        min_samples_split=rules.min_samples_split,
        min_samples_leaf=rules.min_samples_leaf,
        min_weight_leaf=rules.min_weight_leaf,
        min_impurity_decrease=rules.min_impurity_decrease,
        min_significance=rules.min_significance or 1.0,
        max_leaf_nodes=rules.max_leaf_nodes or 0,
        max_nodes=rules.max_nodes or 0,
        missing=rules.missing,
        max_surrogates=rules.max_surrogates,
        categorical_split=rules.categorical_split,
        merge_level=rules.merge_level,
        monotonic=rules.monotonic_cst or [],
        **more,
    )
