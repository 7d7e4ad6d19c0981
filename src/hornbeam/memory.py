"""How much memory there is, asked before a lot of it is taken: an estimate in, nothing or a MemoryError out.

A system that runs out of memory ends some process, often this one, without a word. What can be known before
the work starts is refused here instead, with the figures.
"""

import os
import re
from pathlib import Path

__all__ = ["available_memory", "in_words", "parse_bytes", "refuse_beyond_memory"]

_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def parse_bytes(amount: str | int) -> int:
    """Read an amount of memory: a number of bytes, or a text such as "4GB", "512 MB" or "1.5GiB"."""
    if isinstance(amount, str) and (found := _AMOUNT.fullmatch(amount)):
        number, prefix, binary = found.groups()
        power = " kmgt".index(prefix.lower()) if prefix else 0
        amount = int(float(number) * (1024 if binary else 1000) ** power)
    if not isinstance(amount, int) or isinstance(amount, bool) or amount < 1:
        raise ValueError(f"max_memory must be an amount such as '4GB' or a number of bytes; got {amount!r}.")
    return amount


def refuse_beyond_memory(needed: int, *, what: str, way_out: str) -> None:
    """Raise MemoryError if `needed` bytes are not available; `what` names what needs them, as a plural."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} would take about {in_words(needed)}; {in_words(available)} of memory are available. "
            f"{way_out}"
        )


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes available without swapping; None if the system does not say."""
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        kibibytes = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(kibibytes) * 1024
    except (OSError, ValueError, StopIteration):
        return _free_pages()


def _free_pages() -> int | None:
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, and macOS lacks these names
        return None
    return free if free > 0 else None


def in_words(n_bytes: int) -> str:
    """Say an amount of memory."""
    return f"{n_bytes / 2**30:,.1f} GiB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:,.1f} MiB"
