"""One thread of BLAS: until the outermost context is left, also by an error."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dperm.solvers.blas import one_thread


def limits() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def nested(error=None):
    """Return the limits in the inner context and after it."""
    found = []
    with one_thread():
        with one_thread():
            found.append(limits())
        found.append(limits())
        if error:
            raise error
    return found


def test_the_limit_lasts_until_the_outermost_context_is_left_and_is_then_restored():
    with threadpool_limits(2, "blas"):
        before = limits()
        assert nested() == [{1}, {1}]
        assert limits() == before
        with pytest.raises(ValueError, match="within"):
            nested(ValueError("within"))
        assert limits() == before
        assert nested() == [{1}, {1}]
