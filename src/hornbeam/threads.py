"""How many threads a fit may use, by `n_jobs` and the environment.

The answer never exceeds the cores this process may really use: a container with a quota of two cores on a
machine of 64 shows 64 to `os.cpu_count`, and 64 threads there are slower than two.
"""

import contextlib
import math
import numbers
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from hornbeam.warnings import ThreadsWarning, warn

__all__ = ["in_threads_or_in_turn", "resolve_n_jobs", "share_of_threads", "usable_cores"]

T = TypeVar("T")

_share = threading.local()


@contextlib.contextmanager
def share_of_threads(n_threads: int) -> Iterator[None]:
    """Limit the threads of fits in this thread, which runs beside others."""
    former = getattr(_share, "n_threads", None)
    _share.n_threads = n_threads if former is None else min(n_threads, former)
    try:
        yield
    finally:
        _share.n_threads = former


def in_threads_or_in_turn(in_threads: Callable[[], list[T]], in_turn: Callable[[], list[T]]) -> list[T]:
    """Do work in threads of Python, or without where the system refuses one, before any of it is done."""
    try:
        return in_threads()
    except RuntimeError as error:
        if str(error) != "can't start new thread":  # Python has no class for it
            raise
    warn(
        "The system refused a thread; the members are fitted one after the other. Raise the limit "
        "(ulimit -v, ulimit -u), or set n_jobs=1.",
        ThreadsWarning,
    )
    return in_turn()


OWN_VARIABLE = "HORNBEAM_NUM_THREADS"
OPENMP_VARIABLE = "OMP_NUM_THREADS"


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Turn `n_jobs` into a number of threads, at least 1 and at most the usable cores.

    None asks HORNBEAM_NUM_THREADS, then OMP_NUM_THREADS (which joblib sets in its workers, so that parallel
    fits do not fight for cores), then takes all usable cores. -1 means all usable cores, -2 all but one, as
    in joblib. More than the usable cores are cut down to them, with a ThreadsWarning. Inside
    `share_of_threads` there are no more than the share.
    """
    threads = _threads_wanted(n_jobs)
    share = getattr(_share, "n_threads", None)
    return threads if share is None else min(threads, share)


def _threads_wanted(n_jobs: int | None) -> int:
    usable = usable_cores()
    if n_jobs is None:
        return _threads_from_environment(usable)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0 (-1 for all usable cores); got {n_jobs!r}."
        )
    wanted = int(n_jobs)
    if wanted < 0:
        return max(1, usable + 1 + wanted)
    return _at_most_usable(wanted, usable, asked=f"n_jobs={wanted}")


def usable_cores() -> int:
    """Count the cores this process may use: its affinity mask, cut by the CPU quota of its control groups."""
    cores = _cores_by_affinity()
    quota = _quota_in_cores()
    return cores if quota is None else max(1, min(cores, math.ceil(quota)))


def _threads_from_environment(usable: int) -> int:
    own = os.environ.get(OWN_VARIABLE, "").strip()
    if own:
        wanted = _positive_whole_number(own)
        if wanted is None:
            raise ValueError(f"{OWN_VARIABLE} must be a whole number >= 1; got {own!r}. Unset or correct it.")
        return _at_most_usable(wanted, usable, asked=f"{OWN_VARIABLE}={wanted}")
    # OpenMP allows a list, one number per nesting level; only the outermost level concerns us. The variable
    # is not ours and often set for a whole machine, so a strange or too large value is no reason to complain.
    openmp = _positive_whole_number(os.environ.get(OPENMP_VARIABLE, "").partition(",")[0])
    return usable if openmp is None else min(openmp, usable)


def _positive_whole_number(text: str) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return None
    return number if number >= 1 else None


def _at_most_usable(wanted: int, usable: int, *, asked: str) -> int:
    if wanted <= usable:
        return wanted
    warn(
        f"{asked} is more than the {usable} core(s) this process may use; using {usable}. "
        "Set n_jobs=-1 for all usable cores.",
        ThreadsWarning,
    )
    return usable


def _cores_by_affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS and Windows have no affinity mask that Python can read


def _quota_in_cores(root: Path = Path("/")) -> float | None:
    """Read the smallest CPU quota along this process's control groups, in cores; None where there is none.

    `root` is the folder that holds `proc` and `sys`.
    """
    quotas = [quota for folder in _cgroup_folders(root) if (quota := _quota_of_folder(folder)) is not None]
    return min(quotas, default=None)


def _cgroup_folders(root: Path) -> Iterator[Path]:
    """Yield the folders whose quotas bind this process: its own group's and those of all groups above it.

    Inside a container the path in /proc may be the host's, absent from the container's own mount. Walking up
    to the top of the mount then still finds the container's quota there.
    """
    hierarchy = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            top = hierarchy  # version 2: one hierarchy for all controllers
        elif "cpu" in controllers.split(","):
            top = hierarchy / "cpu"  # version 1: a hierarchy per controller; "cpu" links to combined ones
        else:
            continue
        folder = top / group.strip("/")
        yield folder
        while folder != top:
            folder = folder.parent
            yield folder


def _quota_of_folder(folder: Path) -> float | None:
    quota, _, period = _text(folder / "cpu.max").partition(" ")  # version 2: "200000 100000"
    if not quota:
        quota = _text(folder / "cpu.cfs_quota_us")
        period = _text(folder / "cpu.cfs_period_us")
    used, every = _positive_whole_number(quota), _positive_whole_number(period)
    if used is None or every is None:  # "no quota" is written as "max" in version 2, as -1 in version 1
        return None
    return used / every


def _text(path: Path) -> str:
    """Read a small file of the kernel; a missing or forbidden one counts as empty."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
