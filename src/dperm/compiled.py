"""Loops compiled by Numba, cached on disk under the digest of the code that they were made from.

Numba's own cache looks at the file of the outer function alone: an edit of a compiled function that it calls from
another file would go unnoticed. So the cache's folder is named after all of dperm's compiled code; in it, what is
compiled stands under the name of its package, where any copy of the same code finds it: Numba's own names, which are of
the path, would make every clone compile for minutes what another one has compiled.
Processes that need the same function at the same time take turns: one compiles it, the others load it.
"""

import contextlib
import fcntl
import functools
import hashlib
import logging
import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numba
from numba.core.caching import UserProvidedCacheLocator

from dperm.catalogue import OURS

_SRC = Path(__file__).parents[1]
# Seconds for which a process waits for another one that compiles the same function, and between two looks. The longest
# takes half a minute, and many times that on a busy machine.
_PATIENCE, _LOOK = 600.0, 0.05
_IN_VAIN = threading.Event()
# Who waits so many seconds for a compiler is told so.
_SILENCE = 2.0
_WAITING = threading.local()


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


class Locator(UserProvidedCacheLocator):
    """Where Numba keeps what it compiles: of our modules, in a folder named after their package."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file):
        """Return the name of the folder in the cache for the functions of a file."""
        path = Path(py_file)
        if not path.is_relative_to(_SRC):
            return super().get_suitable_cache_subpath(py_file)
        return ".".join(path.relative_to(_SRC).parent.parts)

    def get_source_stamp(self):
        """Return what tells one text of a file from another; to some versions of Numba it is the file's time."""
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()


def compiled(function: Callable) -> Callable:
    """Return `function`, compiled at its first call and kept for the next process; IEEE arithmetic, one thread.

    It is of arrays and numbers only, and may call other compiled functions: with np.int64(1) in the place of 1, which
    is a type of its own, and would be compiled for anew with all that is called from there.
    Entries are assigned one by one: in each process Numba takes two seconds to compile its first `a[i] = row`.
    """
    numba.config.CACHE_DIR = str(cache_folder())
    numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.{Locator.__name__}"
    made = numba.njit(cache=True, nogil=True)(function)
    if not numba.config.DISABLE_JIT:
        made.compile = _in_turn(made.compile, f"{function.__module__}.{function.__qualname__}")
    return made


def inlined(function: Callable) -> Callable:
    """Return `function` for the one place, or few, of compiled ones that call it: as if it were written there.

    A compiled function is optimised by itself and anew within each that calls it, however deep: half of the seconds
    that a first fit waits for. One that is called from Python, or from many places, is better `compiled`.
    """
    return numba.njit(inline="always", nogil=True)(function)


def _in_turn(compile_or_load: Callable, name: str) -> Callable:
    """Return Numba's method such that a process that waited finds in the cache what another one has compiled meanwhile.

    A function waits for those that it calls, never the other way round: so no two wait for each other. Threads of one
    process do not wait here, but for Numba's own lock.
    """

    @functools.wraps(compile_or_load)
    def turn(signature):
        with _told(), _alone(cache_folder() / f"{name}.lock"):
            return compile_or_load(signature)

    return turn


@contextlib.contextmanager
def _told():
    """Have it said what is being waited for, where that takes long; functions that the first one calls say nothing."""
    if getattr(_WAITING, "since_before", False):
        yield
        return
    _WAITING.since_before, timer = True, threading.Timer(_SILENCE, _say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _WAITING.since_before = False


def _say():
    """Log, and not warn: what is compiled hangs on the machine, and a user's filter may make an error of a warning.

    Where nobody looks on, as in a job, it is no more than information.
    """
    looks_on = hasattr(sys, "ps1") or (sys.stderr is not None and sys.stderr.isatty())
    logging.getLogger("dperm").log(
        logging.WARNING if looks_on else logging.INFO,
        "compiling a solver for this machine, which may take half a minute; the next process finds it in %s",
        cache_folder(),
    )


@contextlib.contextmanager
def _alone(path: Path):
    """Hold a lock that ends with this process and is not inherited; without locks, or without patience, go on.

    Who has waited in vain once, for a process that is stopped, does not wait again.
    """
    with contextlib.ExitStack() as held:
        # Where the folder may not be written, or its disk has no locks, all compile for themselves.
        with contextlib.suppress(OSError):
            file = held.enter_context(path.open("ab"))
            until = time.monotonic() + _PATIENCE
            while not _IN_VAIN.is_set():
                try:
                    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except (BlockingIOError, PermissionError):  # somebody else has it
                    time.sleep(_LOOK)
                if time.monotonic() > until:
                    _IN_VAIN.set()
        yield
