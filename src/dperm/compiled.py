"""Loops compiled by Numba, cached on disk under the digest of the code that they were made from.

Numba's own cache looks at the file of the outer function alone: an edit of a compiled function that it calls from
another file would go unnoticed. So the cache's folder is named after all of dperm's compiled code.
"""

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import numba

from dperm.catalogue import OURS

_SRC = Path(__file__).parents[1]


@functools.cache
def cache_folder() -> Path:
    """Return the cache of this version of the code: under DPERM_NUMBA_CACHE, else the user's cache, else temporary.

    Numba reads its cache by pickle, which runs what it holds: a folder of ours is writable by its owner alone.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(path for package in OURS for path in (_SRC / package).rglob("*.py")):
        text = path.read_bytes()
        if b"dperm.compiled" in text:
            digest.update(text)
    given = os.environ.get("DPERM_NUMBA_CACHE")
    base = Path(given) if given else Path.home() / ".cache" / "dperm" / "numba"
    folder = base / digest.hexdigest()[:16]
    try:
        # Who gives the folder says who may write there.
        folder.mkdir(0o777 if given else 0o700, parents=True, exist_ok=True)
    except OSError:  # a read-only home
        folder = _private(Path(tempfile.gettempdir()) / f"dperm-numba-{os.getuid()}-{digest.hexdigest()[:16]}")
    return folder


def _private(folder: Path) -> Path:
    """Make a folder among everybody's; where somebody else was there first, one of another name, for this process."""
    with contextlib.suppress(OSError):
        folder.mkdir(0o700, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
            return folder
    return Path(tempfile.mkdtemp(prefix="dperm-numba-"))


def compiled(function: Callable) -> Callable:
    """Return `function`, compiled at its first call and kept for the next process; IEEE arithmetic, one thread.

    - function: of arrays and numbers only; may call other compiled functions.
    """
    numba.config.CACHE_DIR = str(cache_folder())
    return numba.njit(cache=True, nogil=True)(function)
