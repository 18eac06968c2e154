r"""Samp-Agg (kifer2012, Section 3.3, Algorithm 5): recovery over k blocks, and what the blocks' lassos do.

Algorithm 5 adds Lap(2 s/(k epsilon)) to the shares of the blocks' votes and takes the s largest. Designs:

    votes       no records. All blocks vote for the right set: P(right) exactly, by quadrature, beside
                    Theorem 8      P(right) >= 1 - p exp(-epsilon k/(4 s));
                and noisy scores on a lattice, q in Dq {0, 1, 2, 3, 12, 13, 14}^p with noise Lap(2 s Dq/epsilon), for
                    Theorem 37     every set has |log P(O; q) - log P(O; q')| <= epsilon where |q_j - q'_j| <= Dq;
    hadamard    blocks of b stacked Hadamard rows (X'X = b I, so Psi = 1), theta* = +-Phi on s columns, Phi = 1/2,
                sigma = 1/2 declared, y in [-s, s]:
                    Lemma 42       ||theta_hat - theta*||^2 <= 64 sigma^2 s log p/(Psi^2 b) with Lambda = 4 sigma sqrt(b
                                   log p), at b = p 4^i below Lemma 41's own;
                    Lemma 41       every one of sqrt(n) = b blocks finds the support if b >= (16 sigma/(Psi Phi))^2 s
                                   log p;
    rademacher  x uniform on {-1, 1}^p, theta* = +-1 on s columns, noise of sd 1/4, y clipped; k = floor(sqrt(n)).
                P(right) is exact given the votes. Coordinate updates are at most p times the sweeps:
                    Table 2        Samp-Agg is polynomial in p (local slope <= 2), Exp-mech is not: C(p, p/2) >=
                                   2^{p/2}.

The noise of `hadamard`, of which Definition 2 asks ||X'w||_inf <= 2 sigma sqrt(b log p) alone:

    gaussian    sd 1/4, half of sigma, and y clipped to [-s, s], so that w = y - X theta*: checked block by block;
    worst       w = X u, u_j = -+2 sigma sqrt(log p/b) against theta* on its support, and on one column more: the
                condition with equality where it hurts.

Neighbours: the relation in which one record touches one block, replace-one for Algorithm 5's partition (erratum K6).
"""

import itertools
import math

import numpy as np

from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms.support import noisy_top, samp_agg
from dperm.solvers import lasso, subsets
from dperm_papers.kifer2012.shared import designs, votes
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Of `hadamard`: |theta*_j|, and a gap of the lasso (in ||y||^2/2) that leaves the distances six digits.
PHI = 0.5
_TOLERANCE = 1e-12
# Entries of y, and of the reduced X, that stand in memory at once.
_ENTRIES = 2**22
# How often Lemma 42's b is p, 4 p, 16 p, and with how many draws of the noise each.
_MULTIPLES, _DRAWS = (1, 4, 16), 100
# Bases of the lattice of Theorem 37: near each other, and far apart.
_LATTICE, _LATTICE_FEATURES = (1, 2, 13), (2, 3, 4)
# Table 2: the p of which the supports of half the size are counted, and of which all are scored as well; the lassos.
_COUNTED, _SCORED, _POLYNOMIAL = range(2, 201, 2), 8, (32, 64, 128, 256, 512, 1024)
_POLYNOMIAL_N, _POLYNOMIAL_S = 1024, 2


def run(cell: Cell, rows: Rows) -> None:
    """Measure one design: votes, hadamard or rademacher; ConfigError if it is none of them.

    Metrics: `recovery` (P(right)), `recovery_bound` (Theorem 8), `log_failure` and `log_failure_bound`; `blocks_right`,
    `well_behaved` (shares of blocks), `work` (coordinate updates at most, or subsets). `excess` is measured minus
    stated, of the statement named by `row`, and `slack` what the solver leaves open.
    """
    design = cell.point["design"]
    measure = {"votes": _votes, "hadamard": _hadamard, "rademacher": _rademacher}
    if design not in measure:
        raise ConfigError(f"unknown design {design!r}; known: {', '.join(sorted(measure))}")
    guarantee = "proved" if cell.neighbours == "replace" else "none"
    measure[design](cell, rows.at(guarantee=guarantee, epsilon=cell.settings.epsilon, delta=0.0, row="", n=0, k=0))


def _scale(cell: Cell, p: int, size: int, blocks: int) -> float:
    """Return the scale of Algorithm 5's noise, in units of the shares."""
    how = {"neighbours": cell.neighbours, "calibration": cell.calibration}
    return samp_agg.calibrate(p, size=size, blocks=blocks, budget=Budget(cell.settings.epsilon), **how)[0]


def _votes(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for p, size, blocks in itertools.product(settings.wide_features, settings.supports, settings.blocks):
        here = rows.at(row="theorem-8", p=int(p), s=int(size), k=int(blocks))
        failure, stated = _add_unanimous(here, cell, int(p), int(size), int(blocks))
        here.add("excess", failure - stated)
    for p in _LATTICE_FEATURES:
        for size in range(1, p):
            spent = lattice_spent(p, size, settings.epsilon)
            here = rows.at(row="theorem-37", p=p, s=size)
            here.add("spent", spent)
            here.add("excess", spent - settings.epsilon)


def _add_unanimous(rows: Rows, cell: Cell, p: int, size: int, blocks: int) -> tuple[float, float]:
    """Add what Theorem 8 bounds, all blocks voting for the right set; return log P(failure) and the bound on it."""
    success, failure = noisy_top.log_separation(p, size=size, gap=1 / _scale(cell, p, size, blocks))
    stated = math.log(p) - cell.settings.epsilon * blocks / (4 * size)
    rows.add("recovery", math.exp(success))
    rows.add("recovery_bound", -math.expm1(stated))
    rows.add("log_failure", failure)
    rows.add("log_failure_bound", stated)
    return failure, stated


def lattice_spent(p: int, size: int, epsilon: float) -> float:
    """Return the largest |log P(O; q) - log P(O; q')| over a lattice of scores, noise Lap(2 s Dq/epsilon), s < p.

    Over all q in Dq {1, 2, 13}^p, all q' with every q'_j - q_j in {-Dq, Dq} (what lies between is no worse: the
    ratio is monotone in each score), and all sets O of size s.
    """
    scale, laws, worst = 2 * size / epsilon, {}, 0.0

    def law(scores: tuple[int, ...]) -> np.ndarray:
        key = tuple(value - min(scores) for value in scores)
        if key not in laws:
            laws[key] = noisy_top.set_log_probabilities(np.array(key, dtype=float), size=size, scale=scale)[1]
        return laws[key]

    # Which feature has which score changes names alone.
    for base in itertools.combinations_with_replacement(_LATTICE, p):
        for signs in itertools.product((-1, 1), repeat=p):
            moved = tuple(value + sign for value, sign in zip(base, signs, strict=True))
            worst = max(worst, float(np.abs(law(base) - law(moved)).max()))
    return worst


def needed_rows(p: int, size: int) -> int:
    """Return the least multiple b of p with b^2 = n >= (16 sigma/(Psi Phi))^4 s^2 log^2 p, Psi = 1 (Lemma 41)."""
    return p * math.ceil((16 * designs.DECLARED / PHI) ** 2 * size * math.log(p) / p)


def _hadamard(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for p, size in ((int(p), int(s)) for p in settings.hadamard_features for s in settings.supports):
        least = needed_rows(p, size)
        grid = [(p * times, _DRAWS) for times in _MULTIPLES] + [(least, least)]
        for (n, count), noise in itertools.product(grid, ("gaussian", "worst")):
            count = count if noise == "gaussian" else 1
            rng = cell.rng("hadamard", p, size, n, noise, "data")
            here = rows.at(variant=noise, p=p, s=size, n=n, k=count, guarantee="none")
            _add_blocks(here, p, size, n, count, noise, rng, lemma_41=n == least)


def _add_blocks(
    rows: Rows, p: int, size: int, n: int, count: int, noise: str, rng: np.random.Generator, *, lemma_41: bool
) -> None:
    """Measure `count` blocks of n records: the largest distance from theta*, and whether all found its support."""
    theta = np.zeros(p)
    # Last, because a tie falls to the feature that comes first.
    theta[-size:] = PHI * np.where(np.arange(size) % 2, -1.0, 1.0)
    stated = 64 * designs.DECLARED**2 * size * math.log(p) / n
    worst, slack, behaved, right, converged = -math.inf, 0.0, 0, 0, True
    at_once = max(1, _ENTRIES // max(n, p * p))
    for first in range(0, count, at_once):
        found, well = hadamard_blocks(theta, n, min(at_once, count - first), noise, rng)
        chosen = noisy_top.top(np.abs(found.theta), size)
        distance = np.linalg.norm(found.theta - theta, axis=1)
        # b/2 ||theta_hat - found||^2 <= gap.
        off = np.sqrt(2 * found.gap / n)
        place = distance.argmax()
        if distance[place] ** 2 / stated - 1 > worst:
            worst = float(distance[place] ** 2 / stated - 1)
        slack = max(slack, float((off * (2 * distance + off)).max() / stated))
        right += int((chosen == np.flatnonzero(theta)).all(axis=1).sum())
        behaved, converged = behaved + int(well.sum()), converged and bool(found.converged.all())
    # Where the premise or the solver failed there is no value.
    ok = converged and behaved == count
    lemma = rows.at(row="lemma-42")
    lemma.add("well_behaved", behaved / count)
    lemma.add("excess", worst, ok)
    lemma.add("slack", slack, ok)
    if lemma_41:
        lemma = rows.at(row="lemma-41")
        lemma.add("blocks_right", right / count)
        lemma.add("excess", 1 - right / count, ok)


def hadamard_blocks(
    theta: np.ndarray, rows: int, count: int, noise: str, rng: np.random.Generator
) -> tuple[lasso.Solution, np.ndarray]:
    """Solve the lasso of `count` blocks of b stacked Hadamard rows with Lambda = 4 sigma sqrt(b log p).

    The second array: whether ||X'w||_inf <= 2 sigma sqrt(b log p) and |y| <= s, up to rounding; the other
    conditions hold always.
    """
    p, copies = len(theta), rows // len(theta)
    H, support = designs.hadamard_rows(p), np.flatnonzero(theta)
    clean, limit = H @ theta, 2 * designs.DECLARED * math.sqrt(rows * math.log(p))
    if noise == "gaussian":
        y = clean + designs.NOISE * rng.standard_normal((count, copies, p))
        y = np.clip(y, -len(support), len(support))
    else:
        u = -np.sign(theta)
        u[support[0] - 1] = 1.0
        y = np.broadcast_to(clean + H @ (u * limit / rows), (count, copies, p))
    # Copies of a row enter the sum of squares by the mean of their y, but for a constant: the same minimiser.
    mean = y.mean(axis=1)
    well_behaved = np.abs((mean - clean) @ H).max(axis=1) * copies <= limit * (1 + 1e-9)
    well_behaved &= np.abs(y).max(axis=(1, 2)) <= len(support)
    weight = math.sqrt(copies)
    solution = lasso.minimise(
        np.tile(weight * H, (count, 1)), weight * mean.ravel(), l1=samp_agg.paper_penalty(designs.DECLARED, rows, p),
        block=np.repeat(np.arange(count), p), blocks=count, tolerance=_TOLERANCE,
    )  # fmt: skip
    return solution, well_behaved


def _rademacher(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    grid = [(int(p), int(s), int(n)) for p in settings.features for s in settings.supports
            for n in settings.sizes]  # fmt: skip
    for p, size, n in grid:
        blocks = math.isqrt(n)
        scale = _scale(cell, p, size, blocks)
        here = rows.at(p=p, s=size, n=n, k=blocks)
        _add_unanimous(here.at(row="unanimous"), cell, p, size, blocks)
        for repeat in range(settings.repeats):
            found = votes.rademacher(n, p, size, cell.rng("rademacher", p, size, n, repeat, "data"))
            ran = here.at(row="run", repeat=repeat)
            ran.add("recovery", votes.set_probability(found.shares, found.support, scale), found.converged)
            ran.add("votes", found.shares[found.support].min(), found.converged)
            ran.add("work", p * found.sweeps, found.converged)
    _polynomial(cell, rows.at(row="table-2"))


def _polynomial(cell: Cell, rows: Rows) -> None:
    """Measure Table 2's running times, in counts."""
    work = []
    for p in _POLYNOMIAL:
        rngs = (cell.rng("rademacher", "work", p, r, "data") for r in range(3))
        work.append(p * sum(votes.rademacher(_POLYNOMIAL_N, p, _POLYNOMIAL_S, rng).sweeps for rng in rngs) / 3)
        here = rows.at(variant="samp-agg", p=p, s=_POLYNOMIAL_S, n=_POLYNOMIAL_N)
        here.add("work", work[-1])
        if len(work) > 1:
            here.add("excess", math.log2(work[-1] / work[-2]) - 2)
    for p in _COUNTED:
        size, log_count = p // 2, math.log(subsets.count(p, p // 2))
        if p <= _SCORED:
            scored = subsets.search(np.eye(p), np.ones(p), float(p), size).scores
            log_count = math.log(len(scored))
        here = rows.at(variant="exp-mech", p=p, s=size)
        here.add("log_work", log_count)
        here.add("excess", size * math.log(2) - log_count)
