"""One thread for linear algebra, so that the same input gives the same bytes on any number of cores."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

# threadpoolctl finds only what is loaded: NumPy and SciPy each bring a BLAS of their own, so both come first.
import numpy.linalg  # noqa: F401
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

# Whether the thread at hand is within the context already.
_here = threading.local()


@cache
def _controller() -> ThreadpoolController:
    # The search for loaded libraries costs milliseconds, as much as a small batch of fits: once per process is enough.
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Return a context in which NumPy's and SciPy's BLAS run with one thread, and which restores them on leaving.

    Within another one of the same thread it costs nothing: to set the limit takes as long as to fit a few records.
    """
    if getattr(_here, "limited", False):
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        _here.limited = True
        try:
            yield
        finally:
            _here.limited = False
