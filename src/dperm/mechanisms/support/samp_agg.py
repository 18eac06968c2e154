r"""Samp-Agg: each block of the data votes for a support, noise is added to the shares, the s largest win.

    V_b = the s largest |theta_b|,  theta_b = argmin 1/2 ||y_b - X_b theta||^2 + Lambda ||theta||_1,      b = 1..k,
    output = the s largest of  1/k sum_b V_b + Laplace(scale).

If a record touches one block alone, one vote changes, and epsilon follows with (`noisy_top`)

    scale = 2 s/(k epsilon)  as printed,      2 min(s, p - s)/(k epsilon)  suffices and is tight.

Erratum K6: that a record touches one block alone is what has to be seen to.

calibration="paper": k = floor(sqrt(n)) blocks of consecutive records, as printed (kifer2012, Algorithm 5). Under
add/remove one more record moves the ends of all blocks, and k itself: every vote may change, and the statement is
`none`. Under replace-one, where n is public, record i is always in the same block: `proved`.

calibration="corrected", replace: the same partition, k public. add_remove: k public, and each record draws its block
uniformly by itself. Given the draws of all other records, two neighbours differ in the block of the one record that
only one of them has; so the output is, for each value of those draws and of its own, epsilon-close, and so are the
mixtures over them (which have the same weights).

Nothing is asked of the votes but that each is a function of its own block and of public things. So it does not matter
how near the lasso's solver came to its minimiser, and the statement is `proved`, not `proved_exact` (erratum K8). For
the same reason Lambda is a public number: sqrt(n) times anything would carry a private n into all blocks. Ties among
|theta| (features that the lasso left at 0) fall to the feature that comes first.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dperm.domain import Budget, Guarantee, Neighbours, number, one_of
from dperm.errors import DataError, InvalidBudget
from dperm.mechanisms.base import budget_event, representable
from dperm.mechanisms.support import limits, noisy_top
from dperm.solvers import lasso

CALIBRATIONS = ("paper", "corrected")

# Each has a theta and a vote.
MOST_BLOCKS = 10**7
# There are no constants of modern accounting to offer: "corrected" is tight.
Offered = Literal["paper", "corrected"]


@dataclass(frozen=True)
class Selection:
    """What `select` returns. Only `supports` is private; the rest is for science.

    - supports: shape (repeats, s); ascending indices. Each repeat spends the budget.
    - votes: shape (repeats, p); share of the blocks that voted for each feature, before noise: not private.
    - certificate: shape (repeats, k); duality gap of each block's lasso, in units of y squared: not private, and
      privacy does not rest on it.
    - converged: shape (repeats, k); whether that gap is within the solver's target.
    - scale: of the Laplace noise, in units of the shares.
    """

    supports: np.ndarray
    votes: np.ndarray
    certificate: np.ndarray
    converged: np.ndarray
    scale: float
    blocks: int
    guarantee: Guarantee
    event: tuple[str, dict[str, float]]


def sensitivity(p: int, size: int, blocks: int) -> float:
    """Return the largest l1 change of the shares when one block's vote changes: 2 min(s, p - s)/k.

    Under add/remove (with `assign`) and under replace-one (with `partition`) alike: either way one vote changes.

    - Returns: 0 for s = p, where there is nothing to choose.
    """
    return 2 * min(size, p - size) / blocks


def calibrate(
    p: int, *, size: int, blocks: int, budget: Budget, neighbours: Neighbours, calibration: Offered
) -> tuple[float, Guarantee]:
    """Return the scale of the shares' Laplace noise, and whether it is proved (Algorithm 5, Theorem 36; erratum K6)."""
    one_of("neighbours", neighbours, Neighbours)
    one_of("calibration", calibration, Offered)
    number("size", size, 1, p, ends="[]", remedy="it is how many of the p features are taken")
    number("blocks", blocks, 1, math.inf, ends="[)", remedy="it is the public number k of blocks")
    if budget.delta > 0:
        raise InvalidBudget(f"delta={budget.delta:g} must be 0: the vote spends epsilon alone; keep delta for the rest")
    if calibration == "paper":
        scale, guarantee = 2 * size / blocks / budget.epsilon, "none" if neighbours == "add_remove" else "proved"
    else:
        scale, guarantee = sensitivity(p, size, blocks) / budget.epsilon, "proved"
    return representable(scale, budget), guarantee


def paper_penalty(sigma: float, rows: float, p: int) -> float:
    """Return Lambda = 4 sigma sqrt(rows log p) of Lemmas 41 and 42, for the sum of squares over a block.

    - sigma: public bound on the noise of y, in (0, inf).
    - rows: public (or expected) number of rows of a block: sqrt(n) in the paper, where n is public.
    - Source: kifer2012, Lemma 42; Theorem 9 writes it sigma n^(1/4) sqrt(log p).
    """
    number("sigma", sigma, 0, math.inf, remedy="it is the public bound on the noise of y")
    number("rows", rows, 0, math.inf, remedy="it is the public number of rows of a block")
    number("p", p, 2, math.inf, ends="[)", remedy="one feature leaves nothing to select")
    return 4 * sigma * math.sqrt(rows * math.log(p))


def partition(n: int, blocks: int) -> np.ndarray:
    """Return the block of each of n consecutive records; one more record moves the ends of all blocks."""
    return np.arange(n) * blocks // max(n, 1)


def assign(n: int, blocks: int, rng: np.random.Generator) -> np.ndarray:
    """Return the block of each of n records, drawn by each for itself: the first entries do not depend on n."""
    return rng.integers(blocks, size=n)


def checked_blocks(blocks: int, n: int, neighbours: Neighbours, *, empty: bool) -> None:
    """Refuse more blocks than there are records.

    Under replace-one n is public, and the refusal tells nothing. Under add/remove n is private, and to refuse is an
    output that depends on it: there the law itself needs no refusal, for a block may be without records for any n, and
    then votes for the first s features.

    - empty: under add/remove: let blocks be empty, so that nothing here depends on n.
    """
    if blocks <= n or (empty and neighbours == "add_remove"):
        return
    remedy = "a block without records has nothing to vote on; take fewer blocks (about sqrt(n) in kifer2012)"
    if neighbours == "replace":
        raise DataError(f"blocks={blocks} is more than the n_samples={n} records: {remedy}")
    raise DataError(
        f"blocks={blocks} is more than there are records: {remedy}, or pass clip=True to let empty blocks vote for the "
        "first features (under add/remove n is private, and this refusal tells something about it)"
    )


def block_votes(
    X: np.ndarray,
    y: np.ndarray,
    block: np.ndarray,
    *,
    blocks: int,
    size: int,
    penalty: float,
    tolerance: float = 1e-6,
    max_sweeps: int = 10_000,
) -> tuple[np.ndarray, lasso.Solution]:
    """Return the vote of each block: the features of the s largest |theta| of its lasso.

    - votes: shape (blocks, s); ascending; a block without records votes for the first s.
    - Source: kifer2012, Algorithm 6, line 1.
    """
    solution = lasso.minimise(X, y, l1=penalty, block=block, blocks=blocks, tolerance=tolerance, max_sweeps=max_sweeps)
    return noisy_top.top(np.abs(solution.theta), size), solution


def select(
    X: np.ndarray,
    y: np.ndarray,
    *,
    size: int,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Offered,
    penalty: float,
    rng: np.random.Generator,
    blocks: int | None = None,
    repeats: int = 1,
    one_assignment: bool = False,
    tolerance: float = 1e-6,
    max_sweeps: int = 10_000,
) -> Selection:
    """Select `repeats` supports of s features (kifer2012, Algorithm 5 with the lasso of Algorithm 6, line 1).

    - X: shape (n, p); any finite values: the votes are bounded whatever the data are.
    - penalty: Lambda in [1e-30, 1e30], of the sum of squares over a block; public. Under add/remove it may not be made
      of n.
    - blocks: k, public. By default floor(sqrt(n)), which "corrected" refuses under add/remove, where n is private.
    - one_assignment: of corrected add/remove: let all repeats share one random assignment (and its lassos). Each of
      them then has the right law, but they are not independent of each other.
    """
    X, y = lasso.checked(X, y)
    n, p = X.shape
    limits.checked_size(size, p)
    random = calibration == "corrected" and neighbours == "add_remove"
    if blocks is None:
        if random:
            raise ValueError("blocks is missing: under add/remove n is private, and so is sqrt(n); give a public k")
        blocks = max(1, math.isqrt(n))
    scale, guarantee = calibrate(
        p, size=size, blocks=blocks, budget=budget, neighbours=neighbours, calibration=calibration
    )
    checked_blocks(blocks, n, neighbours, empty=True)
    number("repeats", repeats, 1, math.inf, ends="[)")
    assignments = repeats if random and not one_assignment else 1
    votes, gap = np.empty((assignments, p)), np.empty((assignments, blocks))
    converged = np.empty((assignments, blocks), bool)
    for row in range(assignments):
        block = assign(n, blocks, rng) if random else partition(n, blocks)
        chosen, solution = block_votes(
            X, y, block, blocks=blocks, size=size, penalty=penalty, tolerance=tolerance, max_sweeps=max_sweeps
        )
        votes[row] = np.bincount(chosen.ravel(), minlength=p) / blocks
        gap[row], converged[row] = solution.gap, solution.converged
    votes, gap, converged = (np.broadcast_to(a, (repeats, a.shape[1])) for a in (votes, gap, converged))
    supports = noisy_top.sample(votes, size=size, scale=scale, rng=rng)
    return Selection(supports, votes, gap, converged, scale, blocks, guarantee, budget_event(budget))
