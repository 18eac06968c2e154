"""Loops compiled by Numba, cached on disk under the digest of the code that they were made from.

Numba's own cache looks at the file of the outer function alone: an edit of a compiled function that it calls from
another file would go unnoticed. So the cache's folder is named after all of dperm's compiled code.
"""

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numba

_PACKAGE = Path(__file__).parent


@functools.cache
def _folder() -> Path:
    """Return the cache of this version of the code: under DPERM_NUMBA_CACHE, else the user's cache, else temporary."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if b"dperm.compiled" in text:
            digest.update(text)
    given = os.environ.get("DPERM_NUMBA_CACHE")
    base = Path(given) if given else Path.home() / ".cache" / "dperm" / "numba"
    folder = base / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home
        folder = Path(tempfile.gettempdir()) / f"dperm-numba-{digest.hexdigest()[:16]}"
        folder.mkdir(exist_ok=True)
    return folder


def compiled(function: Callable) -> Callable:
    """Return `function`, compiled at its first call and kept for the next process; IEEE arithmetic, one thread.

    Parameters
    ----------
    function : callable
        Of arrays and numbers only; may call other compiled functions.

    Returns
    -------
    callable
    """
    numba.config.CACHE_DIR = str(_folder())
    return numba.njit(cache=True, nogil=True)(function)
