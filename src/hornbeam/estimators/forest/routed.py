"""Metadata for the members of a bag when they predict, as scikit-learn routes it.

In: the keyword arguments that a method of the bag was given besides X. Out: those that the members have
requested, by `set_predict_request` and the like. Trees that grew on one table take none.
"""

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

__all__ = ["Calls", "calls_of_classifiers", "calls_of_regressors", "options_of_members", "router_of"]

# Which method of the members each method of the bag calls.
Calls = Mapping[str, str]


def calls_of_classifiers(*, hard_votes: bool) -> Calls:
    """Return the calls of a bag of classifiers, which asks for probabilities or for votes."""
    asked = "predict" if hard_votes else "predict_proba"
    return {
        "predict": asked,
        "predict_proba": asked,
        "predict_log_proba": asked,
        "decision_function": "decision_function",
    }


def calls_of_regressors() -> Calls:
    """Return the calls of a bag of regressors."""
    return {"predict": "predict"}


def router_of(bag: Any, template: Any, calls: Calls) -> MetadataRouter:
    """Tell scikit-learn what the bag itself requests, and which method of the members gets the rest."""
    mapping = MethodMapping()
    for caller, callee in calls.items():
        mapping.add(caller=caller, callee=callee)
    router = MetadataRouter(owner=type(bag).__name__).add_self_request(bag)
    return router.add(estimator=template, method_mapping=mapping)


def options_of_members(bag: Any, caller: str, metadata: Mapping[str, Any], calls: Calls) -> dict[str, Any]:
    """Return the part of a bag's metadata that its members' method gets; refuse what nobody has requested."""
    if not metadata:
        return {}
    if not get_config()["enable_metadata_routing"]:
        raise TypeError(
            f"{type(bag).__name__}.{caller} has no argument {next(iter(metadata))!r}. To pass it on to the "
            "members: sklearn.set_config(enable_metadata_routing=True), and "
            f"set_{calls[caller]}_request of the estimator."
        )
    routed = process_routing(bag, caller, **metadata)
    options: dict[str, Any] = routed["estimator"][calls[caller]]
    return options
