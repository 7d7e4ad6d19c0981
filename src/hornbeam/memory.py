"""How much memory there is, asked before a lot of it is taken: an estimate in, nothing or a MemoryError out.

A system that runs out of memory ends some process, often this one, without a word. What can be known before
the work starts is refused here instead, with the figures.
"""

import os
from pathlib import Path

__all__ = ["available_memory", "refuse_beyond_memory"]


def refuse_beyond_memory(needed: int, *, what: str, way_out: str) -> None:
    """Raise MemoryError if `needed` bytes are more than there are; `what` needs them, as a plural."""
    available = available_memory()
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} would take about {_in_words(needed)}; {_in_words(available)} of memory are available. "
            f"{way_out}"
        )


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that can be had without swapping; None where the system does not tell."""
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        kibibytes = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(kibibytes) * 1024
    except (OSError, ValueError, StopIteration):
        return _free_pages()


def _free_pages() -> int | None:
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, macOS not these names
        return None
    return free if free > 0 else None


def _in_words(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:,.1f} GiB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:,.1f} MiB"
