"""Checks of free memory before an allocation: Linux grants too much, then kills the process."""

import os
from pathlib import Path

_UNCHECKED = 2**24  # bytes allowed without a check, which takes 0.1 ms
_CGROUPS = (  # version 2, then 1: the folder, its limit, its use
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def require_memory(n_rows: int, n_cols: int, itemsize: int, *, what: str, instead: str) -> None:
    """Raise MemoryError if an array of (n_rows, n_cols) items does not fit into free memory.

    `itemsize` is in bytes. The message names the array by `what` and advises `instead`.
    """
    needed = int(n_rows) * int(n_cols) * int(itemsize)
    if needed <= _UNCHECKED:
        return
    free = free_bytes()
    if needed > free:
        raise MemoryError(
            f"{what} of {n_rows} x {n_cols} needs {needed} bytes ({needed / 2**30:.3g} GiB), but "
            f"{free} bytes ({free / 2**30:.3g} GiB) are free: {instead}."
        )


def free_bytes() -> int:
    """Return the bytes that machine, container and process limit leave to allocate."""
    return max(0, min(_free_on_machine(), _free_in_container(), _free_in_process()))


def _free_on_machine():
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:  # no /proc: installed memory is an upper bound
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**63


def _free_in_container():
    for folder, limit_name, used_name in _CGROUPS:
        try:
            limit = int((Path(folder) / limit_name).read_text())  # "max" is no limit
            used = int((Path(folder) / used_name).read_text())
        except (OSError, ValueError):
            continue
        return limit - used + _reclaimable(Path(folder) / "memory.stat")
    return 2**63


def _reclaimable(path):
    """Return the bytes of cached files, which count as used but are freed on demand."""
    try:
        fields = dict(line.split() for line in path.read_text().splitlines())
        return int(fields.get("inactive_file", 0))
    except (OSError, ValueError):
        return 0


def _free_in_process():
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return 2**63
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return limit - pages * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return 2**63
