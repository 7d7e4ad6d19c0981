"""Hints for names that an estimator does not know: an unknown name comes in, a helpful sentence goes out.

Users arrive from other libraries with their names for the same thing, or misspell ours, or give an option of
one estimator to another. Each has an answer better than "unexpected keyword".
"""

from collections.abc import Mapping, Sequence

from hornbeam.declare.kinds import did_you_mean, joined

__all__ = ["hint"]

# What other libraries call an option of ours.
NAMES_ELSEWHERE: Mapping[str, str] = {
    foreign: ours
    for ours, names in {
        "alpha": "quantile",
        "categorical_features": "cat_features categorical_feature enable_categorical",
        "categorical_smoothing": "cat_smooth",
        "ccp_alpha": "cp",
        "class_weight": "class_weights auto_class_weights scale_pos_weight is_unbalance",
        "criterion": "split_criterion splitrule impurity",
        "cv": "nfold n_folds",
        "estimator": "base_estimator",
        "final_estimator": "meta_classifier meta_regressor",
        "growth": "grow_policy growing_strategy",
        "interaction_cst": "interaction_constraints",
        "l1_regularization": "reg_alpha lambda_l1",
        "l2_regularization": "reg_lambda lambda_l2 l2_leaf_reg lambda",
        "learning_rate": "eta shrinkage",
        "levels": "estimators classifiers regressors",
        "loss": "objective loss_function",
        "max_bins": "max_bin border_count nbins",
        "max_depth": "depth maxdepth",
        "max_features": "colsample_bytree colsample_bylevel colsample_bynode feature_fraction mtry rsm "
        "feature_fraction_bynode num_candidate_attributes",
        "max_leaf_nodes": "num_leaves max_leaves",
        "max_samples": "sample_fraction sampsize",
        "min_hessian_leaf": "min_child_weight min_sum_hessian_in_leaf",
        "min_impurity_decrease": "min_impurity_split",
        "min_samples_leaf": "min_child_samples min_data_in_leaf min_examples min_bucket minbucket nodesize",
        "min_samples_split": "min_node_size minsplit",
        "min_split_gain": "min_gain_to_split min_split_loss gamma",
        "missing": "nan_mode use_missing",
        "monotonic_cst": "monotone_constraints",
        "n_estimators": "max_iter n_rounds num_round num_boost_round num_iterations iterations num_trees "
        "ntree",
        "n_iter_no_change": "early_stopping_rounds early_stopping_round od_wait",
        "n_jobs": "nthread num_threads thread_count",
        "n_neighbors": "k",
        "random_state": "seed random_seed",
        "scoring": "eval_metric",
        "subsample": "bagging_fraction",
        "tweedie_power": "tweedie_variance_power",
        "validation_fraction": "validation_ratio",
    }.items()
    for foreign in names.split()
}

# What other libraries take in the constructor and hornbeam takes in `fit`.
PLACES_ELSEWHERE: Mapping[str, str] = {
    "callbacks": "Give callbacks to fit: fit(X, y, callbacks=...).",
    "eval_set": "Give validation data to fit: fit(X, y, X_val=..., y_val=...).",
    "sample_weight": "Give weights to fit: fit(X, y, sample_weight=...).",
}


def hint(name: str, *, known: Sequence[str], takers: Mapping[str, Sequence[str]]) -> str:
    """Say the most helpful thing about `name`, which is not among the `known` ones.

    `takers` lists for every option of the library the estimators that take it.
    """
    if name in PLACES_ELSEWHERE:
        return PLACES_ELSEWHERE[name]
    ours = NAMES_ELSEWHERE.get(name)
    if ours in known:
        return f"Here it is called {ours!r}."
    if ours is not None:
        where = (
            f"a parameter of {joined(takers[ours], 'and')}" if ours in takers else "which it does not take"
        )
        return f"Here it is called {ours!r}, {where}."
    if name in takers:
        return f"It is a parameter of {joined(takers[name], 'and')}."
    return did_you_mean(name, known) or f"Its parameters are: {', '.join(sorted(known)) or 'none'}."
