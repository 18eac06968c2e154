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
single-stage   L(theta)/L(0) of the constrained lasso on all p = 4 n features (`single_stage`).

Neighbours: add/remove (Definition 1). Algorithm 5's partition by n proves nothing there (erratum K6); it is run as
printed.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dperm import losses, seeds
from dperm.mechanisms import base, objective
from dperm.mechanisms.support import noisy_top
from dperm.solvers import subsets
from dperm_papers.kifer2012.shared import case_study, designs, votes
from dperm_papers.kifer2012.shared.case_study import Moments, Spending
from dperm_papers.kifer2012.theorem9 import hadamard, single_stage

SIZE = hadamard.SIZE
# Of the design rademacher: larger ones would take longer than they tell.
_MOST_ENTRIES = 2**22


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of one p.

    - cell: as `dperm_pipeline.plan` made it.
    - Returns: columns p, n, s, row, support, gamma, sizing (`printed`, `mended`: of the bound). Metrics: `excess_risk`;
      for each gamma `bound` (mean over repeats) and `violated`; `well_behaved` (share of Samp-Agg's blocks);
      `noise_risk`; `risk_right` and `risk_votes` (means over `draws`); `risk_ratio`.
    """
    settings, p = cell["settings"], int(cell["point"]["p"])
    head = {
        **{key: cell[key] for key in ("paper", "experiment", "mechanism", "calibration", "neighbours")},
        "variant": "gaussian", "epsilon": settings["epsilon"], "delta": settings["delta"], "p": p, "gamma": 0.0,
        "sizing": "", "support": "", "guarantee": "proved_exact",
    }  # fmt: skip
    blocked = [int(n) for n in settings["sizes"] if hadamard.whole(int(n), p)]
    parts = []
    if blocked:
        most = max(blocked)
        parts += [_both_stages(cell, p, blocked), _noise_term(cell, most), _over_features(cell, p, most)]
    if 4 * (p // 4) == p and p // 4 in settings["single_stage"]:
        parts.append(_single_stage(cell, p))
    return pd.concat(
        [case_study.frame({**head, **own}, *values) for part in parts for own, *values in part], ignore_index=True
    )


def bounds(
    n: int, p: int, size: int, gamma: float, phi: np.ndarray, psi: float, spending: Spending
) -> dict[tuple[str, str], tuple[float, np.ndarray]]:
    """Return what the theorems say of the excess risk.

    - gamma: g of the module's text.
    - phi: shape (R,); ||phi||^2 of each repeat.
    - psi: psi, of the mean of losses.
    - Returns: (support, printed or mended) -> probability with which the bound may fail, and the bound, of shape (R,).
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


def _random(cell: Mapping[str, Any], kind: str, *names: str | int) -> np.random.Generator:
    own = () if kind == "data" else (cell["calibration"], cell["neighbours"])
    return seeds.generator(cell["seed"], cell["experiment"], kind, *own, int(cell["point"]["p"]), *names)


def _both_stages(cell: Mapping[str, Any], p: int, blocked: list[int]) -> Iterator[tuple]:
    """Excess risk of the whole algorithm, and how often it is above its bounds."""
    spending, repeats = Spending.of(cell), cell["settings"]["repeats"]
    for design in cell["settings"]["designs"]:
        benign = design == "hadamard"
        for n in blocked if benign else [int(n) for n in cell["settings"]["sizes"] if n * p <= _MOST_ENTRIES]:
            if benign:
                blocks = hadamard.draw(n, p, _random(cell, "data", design, n))
                moments, psi, phi, behaved = blocks.moments, 1.0, hadamard.PHI, bool(blocks.well_behaved.all())
            else:
                X, y, _ = designs.rademacher(n, p, SIZE, _random(cell, "data", n))
                moments, phi, behaved = Moments.of(X, y), 1.0, True
                psi = least_eigenvalue(moments.G, SIZE) / n
            for support in ("exp_mech", "samp_agg") if benign and hadamard.enough(n, p) else ("exp_mech",):
                rng = _random(cell, "noise", design, n, support)
                own = {"dataset": design, "row": "both-stages", "support": support, "s": SIZE, "n": n}
                if support == "exp_mech":
                    supports = case_study.support_law(moments, SIZE, spending).draw(p, SIZE, repeats, rng)
                else:
                    own["guarantee"] = "none"
                    supports = _by_votes(blocks, spending, repeats, rng)
                    yield own, "well_behaved", blocks.well_behaved.mean()
                theta, ok = case_study.second_stage(moments, supports, spending, rng)
                ok &= behaved or support == "exp_mech"
                excess = excess_risk(moments, theta, supports, phi)
                yield own, "excess_risk", excess, ok
                squares = _minimisers(moments, supports)
                for gamma in cell["settings"]["gammas"]:
                    found = bounds(n, p, SIZE, gamma, squares, psi, spending)
                    yield from _held_against({k[1]: v for k, v in found.items() if k[0] == support}, own, excess, ok)


def _by_votes(blocks: hadamard.Blocks, spending: Spending, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Draw supports by Samp-Agg."""
    scale = votes.printed_scale(len(blocks.c), SIZE, spending)
    return noisy_top.sample(hadamard.vote_shares(blocks), size=SIZE, scale=scale, rng=rng, repeats=repeats)


def excess_risk(moments: Moments, theta: np.ndarray, supports: np.ndarray, phi: float) -> np.ndarray:
    """Return L(theta) - L(theta*), theta* on the first features.

    - theta, supports: shape (R, s).
    - phi: |theta*_j|.
    - Returns: shape (R,).
    """
    at_star = moments.risk(hadamard.star(len(moments.G), phi)[None, :SIZE], np.arange(SIZE)[None])
    return moments.risk(theta, supports) - at_star


def _held_against(
    found: Mapping[str, tuple[float, np.ndarray]], own: dict[str, Any], excess: np.ndarray, ok: np.ndarray
) -> Iterator[tuple]:
    for word, (failing, bound) in found.items():
        # A bound that may always fail says nothing.
        if failing < 1:
            here = {**own, "gamma": failing, "sizing": word}
            yield here, "bound", bound.mean()
            yield here, "violated", excess > bound, ok


def _minimisers(moments: Moments, supports: np.ndarray) -> np.ndarray:
    """Return ||phi||^2 on each support."""
    distinct, which = np.unique(supports, axis=0, return_inverse=True)
    squares = [
        float(np.sum(subsets.coefficients(moments.G, moments.c, moments.yy, [int(j) for j in Z]) ** 2))
        for Z in distinct
    ]
    return np.array(squares)[which.ravel()]


def least_eigenvalue(G: np.ndarray, size: int) -> float:
    """Return the least eigenvalue of all principal submatrices of this size.

    - G: shape (p, p); symmetric.
    - size: s, with few enough subsets to look at each.
    """
    sets = np.array(list(combinations(range(len(G)), size)))
    return float(np.linalg.eigvalsh(G[sets[:, :, None], sets[:, None, :]])[:, 0].min())


def clipped_square(mean: np.ndarray, sd: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return E[min(max(Z, low), high)^2] for Z ~ N(mean, sd^2).

    - mean, sd, low, high: sd > 0, low < high.
    """
    a, b = (low - mean) / sd, (high - mean) / sd
    density_a, density_b = (np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) for z in (a, b))
    inside = special.ndtr(b) - special.ndtr(a)
    first, second = sd * (density_a - density_b), sd**2 * (a * density_a - b * density_b)
    within = (mean**2 + sd**2) * inside + 2 * mean * first + second
    return low**2 * special.ndtr(a) + high**2 * special.ndtr(-b) + within


def noise_risk(n: int, size: int, value: float, spending: Spending) -> float:
    """Return what the noise adds to the second stage's mean risk where X'X = n I, exactly.

    - size: s.
    - value: |theta*_j| on the support.
    - Returns: E L(theta) less L at the minimiser without noise. Features do not mix: theta_j = (n theta*_j - b_j)/(n +
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


def _noise_term(cell: Mapping[str, Any], n: int) -> Iterator[tuple]:
    for size in map(int, cell["settings"]["supports"]):
        own = {"dataset": "hadamard", "row": "noise-term", "s": size, "n": n}
        yield own, "noise_risk", noise_risk(n, size, 0.5, Spending.of(cell))


def _over_features(cell: Mapping[str, Any], p: int, n: int) -> Iterator[tuple]:
    """Excess risk on the right support and on that of Samp-Agg, means over many draws: p's part in it is small."""
    spending, repeats, draws = Spending.of(cell), cell["settings"]["repeats"], cell["settings"]["draws"]
    blocks = hadamard.draw(n, p, _random(cell, "data", "hadamard", n))
    own = {"dataset": "hadamard", "s": SIZE, "n": n}
    right = {**own, "row": "given-right", "support": "right"}
    voted = {**own, "row": "given-votes", "support": "samp_agg", "guarantee": "none"}
    for here, metric in ((right, "risk_right"), (voted, "risk_votes")):
        rng = _random(cell, "noise", here["row"], n)
        if here is right:
            supports, behaved = np.tile(np.arange(SIZE), (repeats * draws, 1)), True
        elif hadamard.enough(n, p):
            supports, behaved = _by_votes(blocks, spending, repeats * draws, rng), blocks.well_behaved.all()
        else:
            continue
        theta, ok = case_study.second_stage(blocks.moments, supports, spending, rng)
        risk = excess_risk(blocks.moments, theta, supports, hadamard.PHI).reshape(repeats, draws)
        yield here, metric, risk.mean(axis=1), ok.reshape(repeats, draws).all(axis=1) & behaved


def _single_stage(cell: Mapping[str, Any], p: int) -> Iterator[tuple]:
    spending, n = Spending.of(cell), p // 4
    found = [
        single_stage.ratio(n, p, SIZE, spending, _random(cell, "single-stage", n, r))
        for r in range(cell["settings"]["data_sets"])
    ]
    ratios, ok = map(np.array, zip(*found, strict=True))
    own = {"dataset": "rademacher", "row": "single-stage", "support": "none", "s": SIZE, "n": n}
    own["mechanism"] = "objective"
    yield own, "risk_ratio", ratios, ok
