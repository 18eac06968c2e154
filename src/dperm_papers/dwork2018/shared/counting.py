"""The least whole number of which a condition holds."""

from collections.abc import Callable


def least(enough: Callable[[int], bool], first: int = 1) -> int:
    """Return the least n >= 1 that is enough, as then all above it are: by doubling from `first`, and by halving."""
    low, high = 0, first
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
