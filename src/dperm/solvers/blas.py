"""One thread for linear algebra, so that the same input gives the same bytes on any number of cores."""

from contextlib import AbstractContextManager
from functools import cache

# threadpoolctl finds only what is loaded: NumPy and SciPy each bring a BLAS of their own, so both come first.
import numpy.linalg  # noqa: F401
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # The search for loaded libraries costs milliseconds, as much as a small batch of fits: once per process is enough.
    return ThreadpoolController()


def one_thread() -> AbstractContextManager:
    """Return a context in which NumPy's and SciPy's BLAS run with one thread, and which restores them on leaving."""
    return _controller().limit(limits=1, user_api="blas")
