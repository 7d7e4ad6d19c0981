"""What a fitted model knows about the columns it was fitted on, whatever kind of model it is."""

from typing import Any

from hornbeam.data.table import Schema

__all__ = ["schema_known"]


def schema_known(model: Any) -> Schema | None:
    """Return what a model knows about its columns; for a pipeline its first step does, for a stack a member.

    Trees that were fitted one by one are combined. None if nothing is known.
    """
    if hasattr(model, "steps"):
        return getattr(model.steps[0][1], "schema_", None)
    if hasattr(model, "first_level"):
        members = model.first_level().values()
        return next((found for member in members if (found := schema_known(member)) is not None), None)
    try:
        together = model._on_one_table() if hasattr(model, "_on_one_table") else model
        own: Schema | None = getattr(together._model, "schema", None)
    except (AttributeError, ValueError):  # members that are not trees, or that read a column differently
        return None
    return own
