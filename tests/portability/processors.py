"""Make the processor at hand compute as one with fewer instructions does: other sums in another order."""

import functools
import platform
from pathlib import Path
from typing import NamedTuple

import pytest


class Processor(NamedTuple):
    """A set of instructions that processors have in common.

    Parameters
    ----------
    flags : set of str
        What Linux says of a processor that has them, beyond those of the one before.
    openblas : str
        Whose kernels OpenBLAS takes.
    numba : str
        For whom Numba compiles.
    numpy : set of str
        What NumPy calls them, in newer and in older releases, beyond those of the one before.
    libc : str
        What the C library leaves alone: its exp, log and sin have variants of their own.
    """

    flags: set[str]
    openblas: str
    numba: str
    numpy: set[str]
    libc: str


# Least first. Every processor of the last ten years has the second.
PROCESSORS = {
    "SSE4.2": Processor({"sse4_2"}, "Nehalem", "nehalem", set(), "-AVX2,-FMA,-FMA4"),
    "AVX2": Processor({"avx2", "fma"}, "Haswell", "haswell", {"X86_V3", "AVX", "F16C", "FMA3", "AVX2"}, "-FMA4"),
    "AVX-512": Processor(
        {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}, "SkylakeX", "skylake-avx512",
        {"X86_V4", "AVX512F", "AVX512CD", "AVX512_SKX"}, "-FMA4",
    ),
}  # fmt: skip


@functools.cache
def flags() -> frozenset[str]:
    """Return what the processor at hand can do; nothing where it is not one of Intel's or AMD's under Linux."""
    known = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not known.exists():
        return frozenset()
    return frozenset(next(line for line in known.read_text().splitlines() if line.startswith("flags")).split())


def settings(name: str) -> dict[str, str]:
    """Return the environment in which this machine computes as such a processor; skip where it has less itself."""
    from numpy._core import _multiarray_umath as umath

    levels = [*PROCESSORS][: [*PROCESSORS].index(name) + 1]
    if missing := set().union(*(PROCESSORS[level].flags for level in levels)) - flags():
        pytest.skip(f"the processor at hand has no {name} ({', '.join(sorted(missing))} missing)")
    kept = set().union(*(PROCESSORS[level].numpy for level in levels))
    others = [own for own in umath.__cpu_dispatch__ if umath.__cpu_features__[own] and own not in kept]
    return {
        "OPENBLAS_CORETYPE": PROCESSORS[name].openblas,
        "NUMBA_CPU_NAME": PROCESSORS[name].numba,
        "NUMBA_CPU_FEATURES": "",
        "NPY_DISABLE_CPU_FEATURES": " ".join(others),
        "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={PROCESSORS[name].libc}",
    }
