"""How values are shown in messages: always on one short line."""

from collections.abc import Iterable
from typing import Any

__all__ = ["joined", "listed", "shown"]


def shown(value: object, limit: int = 80) -> str:
    """Show a value in a message, shortened: names and texts may be a megabyte long."""
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(values: Iterable[Any]) -> str:
    """List values, the first few of them."""
    return joined(shown(value) for value in values)


def joined(texts: Iterable[str], limit: int = 5) -> str:
    """Join texts by commas, the first few of them."""
    texts = list(texts)
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more
