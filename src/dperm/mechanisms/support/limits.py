r"""What is public about a selection: how many features are taken, and how long the part of a row is that they see.

Once a support of s features is chosen, a mechanism sees x_Gamma, s entries of a row, whatever they are. Their l2 norm
is at most that of the s largest entries in size, v = x|_s (kifer2012, Definition 2): the public bound r on ||v|| bounds
every part, and is far below a bound on ||x|| where p is large (sqrt(s) against sqrt(p) for entries +-1).

A row with ||v|| > r is multiplied by r/||v|| (erratum K14), a number that depends on this record alone: neighbours stay
neighbours, under add/remove and replace-one alike. As printed (Algorithm 6, line 4) rows with ||v|| >= r, those that
meet the bound included, are multiplied by r/||x||: as private, and p/s times as short in square on a +-1 design.
"""

import math
from typing import Literal

import numpy as np

from dperm.domain import NORM_SLACK, integer, one_of, tame_rows
from dperm.errors import DomainViolation
from dperm.solvers import subsets

Divisor = Literal["part", "row"]
CHUNK_ENTRIES = 2**22


def checked_size(size: int, p: int | None = None) -> int:
    """Return s, or refuse it (p: number of features, at least s; left out before it is known)."""
    size = integer("size", size, 1, "it is how many features are taken")
    if p is not None and size > p:
        raise ValueError(f"size={size} is more than the p={p} features of X; take at most {p}")
    return size


def checked_supports(size: int, p: int) -> None:
    """Refuse more supports than can be gone through, before any work."""
    supports = math.comb(p, size)
    if supports > subsets.MOST_SUBSETS:
        raise ValueError(
            f"size={size} of {p} features makes {supports:,} supports, more than {subsets.MOST_SUBSETS:,}: too many "
            "subsets to go through; take a smaller size, fewer features (chosen without the data), or Samp-Agg"
        )


def bounded_parts(
    X: np.ndarray, size: int, x_norm: float, *, clip: bool = False, divisor: Divisor = "part"
) -> np.ndarray:
    """Return X with the s largest entries of every row within the public bound r on their l2 norm.

    - x_norm: r, in (0, inf).
    - clip: scale longer rows down instead of raising, and put the zero row for one that holds NaN or infinity
      (`dperm.domain.tame_rows`).
    - divisor: the norm that a row is divided by: of its s largest entries, or (as printed, from ||v|| = r on) of all of
      it.
    - Returns: shape (n, p); `X` itself if it is float64 and no row had to be scaled, else a copy.
    - Raises DomainViolation: if `clip` is False and a row holds NaN or infinity, or is longer than the bound. The
      message gives nothing of the data, nor how many rows there are.
    - Source: kifer2012, Algorithm 6, line 4; erratum K14.
    """
    one_of("divisor", divisor, Divisor)
    X = np.asarray(X, dtype=np.float64)
    X = tame_rows(X) if clip else X
    largest = np.maximum(X.max(axis=1), -X.min(axis=1))
    if not np.isfinite(largest).all():
        raise DomainViolation(
            "X has rows with NaN or infinity; drop or mend them first, or pass clip=True, which puts zero rows for them"
        )
    # Most rows of most designs need no sorting.
    longest = math.sqrt(size) * largest
    rows = np.flatnonzero((longest >= x_norm if divisor == "row" else longest > x_norm) & (largest > 0))
    part, whole = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, CHUNK_ENTRIES // X.shape[1])
    for low in range(0, len(rows), step):
        chunk = slice(low, low + step)
        # In units of the largest entry, so that no square overflows.
        squares = (X[rows[chunk]] / largest[rows[chunk], None]) ** 2
        whole[chunk] = np.sqrt(squares.sum(axis=1))
        part[chunk] = np.sqrt(np.partition(squares, X.shape[1] - size, axis=1)[:, X.shape[1] - size :].sum(axis=1))
    with np.errstate(over="ignore"):
        norm = largest[rows] * part
    if not clip and (norm > x_norm * (1 + NORM_SLACK)).any():
        raise DomainViolation(
            f"X has rows whose {size} largest entries are longer than x_norm={x_norm:g}; declare the larger public "
            "bound, or pass clip=True to scale such rows down"
        )
    meets = norm >= x_norm if divisor == "row" else norm > x_norm
    if not meets.any():
        return X
    divide = (whole if divisor == "row" else part)[meets]
    X, rows = X.copy(), rows[meets]
    # Rounding of a norm and of a product stays below this many ulps, so no scaled part ends above the bound.
    inward = 1 - (X.shape[1] + 8) * np.finfo(float).eps
    X[rows] *= (inward * x_norm / largest[rows] / divide)[:, None]
    return X
