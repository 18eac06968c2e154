r"""Theorems 7, 9, 35, 43 and 44 of kifer2012: the risk of both two-stage algorithms beside its bounds, over n and p.

F = {|theta_j| <= 1}, alpha = 4 s^2, zeta = 2 s^{3/2}, Delta = 4 s/epsilon, epsilon/2 a stage (`case_study`); s = 2 and
theta* = Phi (1, -1, 0, ...).

hadamard     Phi = 1/2, noise w of sd 0.05 in y, sigma = 0.1, n = k^2, whole Hadamard matrices in each block
             (`hadamard`): Psi = 1. Exp-mech everywhere; Samp-Agg where Lemma 41's n >= (16 sigma/(Psi Phi))^4 s^2
             log^2 p holds, without values where a block breaks Definition 2, of which each is checked.
rademacher   Phi = 1, entries +-1, noise of sd 0.25, y clipped to [-s, s]; Psi is the least eigenvalue of all X_Z'X_Z/n,
             |Z| = s.

Both stages: `excess_risk` = L(theta) - L(theta*) on one data set, and with c = 8 log(2/delta) + 2 epsilon and phi the
minimiser on the support selected what it stays below, but for a probability `gamma`:

    Theorem 35     16 s zeta^2 c log(2/g)/(n epsilon^2 (Delta + n Psi)) + 4 alpha s log(2p/g)/(n epsilon)
                   + Delta ||phi||^2/(2n),                                  gamma = g,
    Theorem 44     64 s^4 c log(1/g)/(n epsilon^2 (Delta + Psi)) + Delta ||phi||^2/(2n),
                                                                            gamma = g + p exp(-epsilon sqrt(n)/(8 s)).
      mended       Delta + n Psi in place of Delta + Psi (erratum K10).

noise-term     what b adds to the second stage's risk, over s, with |theta*_j| = 1/2 (inside F) and w = 0, by the
               moments of a clipped normal variable: Theorem 7 prints ~ s, its substitution gives s^4 (erratum K10).
given-right    the second stage's excess risk on the right support, at the largest n, over p (after Theorem 9: free of
               p). X_Z'X_Z = n I and s features are all that it sees: no p can enter, by construction.
given-votes    that of both stages of Samp-Agg there: p enters through the noisy votes.
single-stage   L(theta)/L(0) of the constrained lasso on all p features, p = 4 n and p = n^2 (`single_stage`).
earlier        that of the two techniques before the paper, at delta = 0, with two ridges each.

Neighbours: add/remove (Definition 1). Algorithm 5's partition by n proves nothing there (erratum K6); it is run as
printed.
"""

import math
from collections.abc import Mapping
from itertools import combinations, product

import numpy as np
from scipy import special

from dperm import losses
from dperm.mechanisms import base, objective
from dperm.mechanisms.support import noisy_top
from dperm.solvers import subsets
from dperm_papers.kifer2012.shared import case_study, designs, votes
from dperm_papers.kifer2012.shared.case_study import Moments, Spending
from dperm_papers.kifer2012.theorem9 import hadamard, single_stage
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

SIZE = hadamard.SIZE
# Of the design rademacher: larger ones would take longer than they tell.
_MOST_ENTRIES = 2**22
# Delta of the techniques before the paper, in units of Algorithm 1's 2 p/epsilon.
_RIDGES = (1, 100)


def run(cell: Cell, rows: Rows) -> None:
    """Measure one p.

    Columns: `sizing` is that of the bound (`printed`, `mended`), or p of a single stage (`4n`, `n^2`). Metrics:
    `excess_risk`; for each gamma `bound` (mean over repeats) and `violated`; `well_behaved` (share of Samp-Agg's
    blocks); `noise_risk`; `risk_right` and `risk_votes` (means over `draws`); `risk_ratio`.
    """
    settings, p = cell.settings, int(cell.point["p"])
    rows = rows.at(
        variant="gaussian", guarantee="proved_exact", epsilon=settings.epsilon, delta=settings.delta, p=p, gamma=0.0,
        sizing="", support="",
    )  # fmt: skip
    blocked = [int(n) for n in settings.sizes if hadamard.whole(int(n), p)]
    if blocked:
        benign = rows.at(dataset="hadamard", n=max(blocked))
        _both_stages(cell, rows, p, blocked)
        for size in map(int, settings.supports):
            risk = noise_risk(max(blocked), size, 0.5, Spending.of(cell))
            benign.add("noise_risk", risk, row="noise-term", s=size)
        _over_features(cell, benign, p, max(blocked))
    quarter, root = p // 4, math.isqrt(p)
    one = rows.at(dataset="rademacher", support="none", s=SIZE)
    if quarter in settings.single_stage and p == 4 * quarter:
        _single_stage(cell, one.at(n=quarter, sizing="4n"), quarter, p)
    if root in settings.wide_single_stage and p == root**2:
        _single_stage(cell, one.at(n=root, sizing="n^2"), root, p)


def bounds(
    n: int, p: int, size: int, gamma: float, phi: np.ndarray, psi: float, spending: Spending
) -> dict[tuple[str, str], tuple[float, np.ndarray]]:
    """Return (support, printed or mended) -> the probability with which the excess risk's bound may fail, the bound.

    `gamma` is g of the module's text, `phi` ||phi||^2 of each repeat, `psi` of the mean of losses.
    """
    epsilon, curvature = spending.epsilon, case_study.curvature(size, spending.epsilon)
    zeta, alpha = 2 * size**1.5, 4 * size**2
    c = 8 * math.log(2 / spending.delta) + 2 * epsilon
    bias = curvature * phi / (2 * n)
    noise = 16 * size * zeta**2 * c * math.log(2 / gamma) / (n * epsilon**2 * (curvature + n * psi))
    first = 4 * alpha * size * math.log(2 * p / gamma) / (n * epsilon)
    found = {("exp_mech", "printed"): (gamma, noise + first + bias)}
    for word, convexity in (("printed", curvature + psi), ("mended", curvature + n * psi)):
        noise = 64 * size**4 * c * math.log(1 / gamma) / (n * epsilon**2 * convexity)
        failing = gamma + p * math.exp(-epsilon * math.sqrt(n) / (8 * size))
        found["samp_agg", word] = (failing, noise + bias)
    return found


def _random(cell: Cell, kind: str, *names: str | int) -> np.random.Generator:
    # The data are the same under every calibration.
    release = () if kind == "data" else (cell.calibration, cell.neighbours)
    return cell.rng(kind, *release, int(cell.point["p"]), *names)


def _both_stages(cell: Cell, rows: Rows, p: int, blocked: list[int]) -> None:
    """Measure the excess risk of the whole algorithm, and how often it is above its bounds."""
    spending, settings = Spending.of(cell), cell.settings
    for design in settings.designs:
        benign = design == "hadamard"
        for n in blocked if benign else [int(n) for n in settings.sizes if n * p <= _MOST_ENTRIES]:
            if benign:
                blocks = hadamard.draw(n, p, _random(cell, "data", design, n))
                moments, psi, phi, behaved = blocks.moments, 1.0, hadamard.PHI, bool(blocks.well_behaved.all())
            else:
                X, y, _ = designs.rademacher(n, p, SIZE, _random(cell, "data", n))
                moments, phi, behaved = Moments.of(X, y), 1.0, True
                psi = least_eigenvalue(moments.G, SIZE) / n
            for support in ("exp_mech", "samp_agg") if benign and hadamard.enough(n, p) else ("exp_mech",):
                rng = _random(cell, "noise", design, n, support)
                here = rows.at(dataset=design, row="both-stages", support=support, s=SIZE, n=n)
                if support == "exp_mech":
                    supports = case_study.support_law(moments, SIZE, spending).draw(p, SIZE, settings.repeats, rng)
                else:
                    here = here.at(guarantee="none")
                    supports = _by_votes(blocks, spending, settings.repeats, rng)
                    here.add("well_behaved", blocks.well_behaved.mean())
                theta, ok = case_study.second_stage(moments, supports, spending, rng)
                ok &= behaved or support == "exp_mech"
                excess = excess_risk(moments, theta, supports, phi)
                here.add("excess_risk", excess, ok)
                squares = _minimisers(moments, supports)
                for gamma in settings.gammas:
                    found = bounds(n, p, SIZE, gamma, squares, psi, spending)
                    stated = {word: bound for (of, word), bound in found.items() if of == support}
                    _hold_against(stated, here, excess, ok)


def _by_votes(blocks: hadamard.Blocks, spending: Spending, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Draw supports by Samp-Agg."""
    scale = votes.printed_scale(len(blocks.c), SIZE, spending)
    return noisy_top.sample(hadamard.vote_shares(blocks), size=SIZE, scale=scale, rng=rng, repeats=repeats)


def excess_risk(moments: Moments, theta: np.ndarray, supports: np.ndarray, phi: float) -> np.ndarray:
    """Return L(theta) - L(theta*) of each row, theta* on the first features with |theta*_j| = phi."""
    at_star = moments.risk(hadamard.star(len(moments.G), phi)[None, :SIZE], np.arange(SIZE)[None])
    return moments.risk(theta, supports) - at_star


def _hold_against(
    stated: Mapping[str, tuple[float, np.ndarray]], rows: Rows, excess: np.ndarray, ok: np.ndarray
) -> None:
    for word, (failing, bound) in stated.items():
        # A bound that may always fail says nothing.
        if failing < 1:
            here = rows.at(gamma=failing, sizing=word)
            here.add("bound", bound.mean())
            here.add("violated", excess > bound, ok)


def _minimisers(moments: Moments, supports: np.ndarray) -> np.ndarray:
    """Return ||phi||^2 on each support."""
    distinct, which = np.unique(supports, axis=0, return_inverse=True)
    squares = [
        float(np.sum(subsets.coefficients(moments.G, moments.c, moments.yy, [int(j) for j in Z]) ** 2))
        for Z in distinct
    ]
    return np.array(squares)[which.ravel()]


def least_eigenvalue(G: np.ndarray, size: int) -> float:
    """Return the least eigenvalue of all principal submatrices of size s, with few enough subsets to look at each."""
    sets = np.array(list(combinations(range(len(G)), size)))
    return float(np.linalg.eigvalsh(G[sets[:, :, None], sets[:, None, :]])[:, 0].min())


def clipped_square(mean: np.ndarray, sd: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return E[min(max(Z, low), high)^2] for Z ~ N(mean, sd^2)."""
    a, b = (low - mean) / sd, (high - mean) / sd
    density_a, density_b = (np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) for z in (a, b))
    inside = special.ndtr(b) - special.ndtr(a)
    first, second = sd * (density_a - density_b), sd**2 * (a * density_a - b * density_b)
    within = (mean**2 + sd**2) * inside + 2 * mean * first + second
    return low**2 * special.ndtr(a) + high**2 * special.ndtr(-b) + within


def noise_risk(n: int, size: int, value: float, spending: Spending) -> float:
    """Return what the noise adds to the second stage's mean risk where X'X = n I, exactly; `value` is |theta*_j|.

    That is E L(theta) less L at the minimiser without noise. Features do not mix: theta_j = (n theta*_j - b_j)/(n +
    Delta), clipped to [-1, 1], and L - L(theta*) = sum_j (theta_j - theta*_j)^2/2.
    """
    curvature = case_study.curvature(size, spending.epsilon)
    law, _ = objective.calibrate(
        losses.squared(), base.searched(case_study.domain(size), case_study.BOX, size), spending.theta,
        curvature=curvature, calibration=spending.calibration, neighbours=spending.neighbours,
    )  # fmt: skip
    shrunk, sd = n * value / (n + curvature), law.scale / (n + curvature)
    with_noise = clipped_square(shrunk - value, sd, -1 - value, 1 - value)
    return float(size / 2 * (with_noise - (shrunk - value) ** 2))


def _over_features(cell: Cell, rows: Rows, p: int, n: int) -> None:
    """Measure the excess risk on the right support and on Samp-Agg's: means over many draws, for p's part is small."""
    spending, repeats, draws = Spending.of(cell), cell.settings.repeats, cell.settings.draws
    blocks = hadamard.draw(n, p, _random(cell, "data", "hadamard", n))
    supports, behaved = np.tile(np.arange(SIZE), (repeats * draws, 1)), np.True_
    measured = [("given-right", "right", "risk_right", "proved_exact")]
    if hadamard.enough(n, p):
        measured.append(("given-votes", "samp_agg", "risk_votes", "none"))
    for row, support, metric, guarantee in measured:
        rng = _random(cell, "noise", row, n)
        if support == "samp_agg":
            supports, behaved = _by_votes(blocks, spending, repeats * draws, rng), blocks.well_behaved.all()
        theta, ok = case_study.second_stage(blocks.moments, supports, spending, rng)
        risk = excess_risk(blocks.moments, theta, supports, hadamard.PHI).reshape(repeats, draws)
        ok = ok.reshape(repeats, draws).all(axis=1) & behaved
        rows.add(metric, risk.mean(axis=1), ok, row=row, support=support, guarantee=guarantee, s=SIZE)


def _single_stage(cell: Cell, rows: Rows, n: int, p: int) -> None:
    spending, data_sets = Spending.of(cell), range(cell.settings.data_sets)
    found = [single_stage.ratio(n, p, SIZE, spending, _random(cell, "single-stage", n, r)) for r in data_sets]
    rows.at(row="single-stage", mechanism="objective").add("risk_ratio", *map(np.array, zip(*found, strict=True)))
    for technique, multiple in product(("objective", "output"), _RIDGES):
        found = [
            single_stage.earlier(technique, n, p, SIZE, multiple, spending, _random(cell, "earlier", technique, n, r))
            for r in data_sets
        ]
        here = rows.at(row="earlier", mechanism=technique, variant=f"gamma-ridge-{multiple}", delta=0.0)
        here.add("risk_ratio", *map(np.array, zip(*found, strict=True)))
