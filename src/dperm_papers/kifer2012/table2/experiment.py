r"""Table 2 of kifer2012: how many records the two ways to select a support need.

Setting (Section 3.1, Algorithms 3, 4, 6): F = {|theta_j| <= 1}, alpha = 4 s^2, zeta = 2 s^{3/2}, lambda = s,
k = floor(sqrt(n)) blocks, Lambda = 4 sigma n^{1/4} sqrt(log p), epsilon/2 a stage, Delta = 4 s/epsilon. Design: entries
+-1, theta* = +-1 on s columns, noise of sd 0.25, declared sigma = 0.5, y clipped to [-s, s]. True columns stand at
random places: ties fall to the feature that comes first.

recovery      `right` = P(support = supp theta* | data), exactly, over n: Algorithm 4's law, or Algorithm 5's given the
              votes; `wrong` = 1 - `right`. n runs through the sizes until the mean of `right` over repeats is SURE.
              `work`: subsets that were scored, or features times sweeps of coordinate descent (no sweep updates more).
consistency   `excess_risk` at n = ratio s^3 log p (Exp-mech) and ratio s^2 log^2 p (Samp-Agg), and of the non-private
              lasso at n = ratio s log p. Samp-Agg's at `magnitude` |theta*_j| = 1, a corner of F, and at 1/2 as well,
              with the same X, noise of y and streams.
comparison    Three settings, by the column `row`:
              near-copies    ten columns beside each true one that differ from it in a share 1/sqrt(n) of the records:
                             in about one record of a block. Exp-mech loses little by a copy, Samp-Agg's votes scatter.
              small-signal   |theta*_j| = Phi = 0.1, with the noise that Lemma 41 allows at this n: n = (16 sigma/(Psi
                             Phi))^4 s^2 log^2 p, Psi = 1. Against alpha = 4 s^2 such a column is little.
              clipping       y clipped to [-s, s] or raw, at three sds of the noise, with the same records and streams;
                             `risk` on the raw y, and (row `clipping-truncated`) on the clipped y.

`excess_risk` is L(theta) - min {L(theta'): theta' in F s-sparse}, which is at least 0. Of it, Exp-mech's share
sum_Z P(Z) (q(Z) - min q)/n is exact; the rest is a mean over `draws` runs. `risk` is L(theta) - L(theta*).
The lasso's is 1/2 ||theta - theta*||^2, its excess on new records, with Lambda = 4 sigma sqrt(n log p) (Lemma 42) and y
not clipped.

Algorithm 6, line 4 (erratum K14), by the column `divisor`: `row` divides a record by its whole norm, as printed, `part`
by that of its s largest entries. The former shrinks X by sqrt(s/p) and leaves y: theta* sqrt(p/s) fits best, and F cuts
it off at 1. Where |theta*_j| = 1 that is theta* itself, and nothing is seen of K14.

Neighbours: add/remove (Definition 1). Algorithm 5's partition by n proves nothing there (erratum K6); it is run as
printed.
"""

import itertools
import math

import numpy as np

from dperm.domain import Budget
from dperm.mechanisms import sparse
from dperm.mechanisms.support import limits, samp_agg
from dperm.solvers import lasso, subsets
from dperm_papers.kifer2012.shared import case_study, designs, votes
from dperm_papers.kifer2012.shared.case_study import Moments, Spending
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

SURE = 0.99
# What `n` of the consistency part is a multiple of, by the problem's name in the settings.
UNITS = {
    "exp-mech-risk": ("exp_mech", lambda p, s: s**3 * math.log(p)),
    "samp-agg-risk": ("samp_agg", lambda p, s: s**2 * math.log(p) ** 2),
    "lasso-risk": ("lasso", lambda p, s: s * math.log(p)),
}
# The comparisons: p, s, and n.
FEATURES, SIZE = 30, 2
COPIES, COPIES_N = 10, 4096
SIGNAL, SIGNAL_N = 0.1, 16384
CLIPPING_N, CLIPPING_NOISES = 4096, (0.25, 1.0, 4.0)
# On which y the risk is taken -> the name of its rows.
CLIPPING_ROWS = {"raw": "clipping", "clipped": "clipping-truncated"}
# What Algorithm 6, line 4 divides by, and |theta*_j|, of the selections that are not run in one way alone.
DIVISORS = {"exp_mech": ("part",), "samp_agg": ("row", "part")}
MAGNITUDES = {"samp_agg": (1.0, 0.5)}


def run(cell: Cell, rows: Rows) -> None:
    """Measure one part.

    Columns: `support` (`exp_mech`, `samp_agg`, `lasso`), `noise` (sd), `clipping`, `divisor`, `magnitude`. Metrics:
    `right`, `wrong` and `work` (subsets, or at most so many coordinate updates) of the recovery; `excess_risk`; `risk`.
    """
    rows = rows.at(
        variant="gaussian", dataset="rademacher", epsilon=cell.settings.epsilon, delta=cell.settings.delta, ratio=0.0,
        noise=designs.NOISE, clipping="clipped", divisor="part", magnitude=1.0,
    )  # fmt: skip
    parts = {"recovery": _recovery, "consistency": _consistency, "comparison": _comparison}
    parts[cell.point["part"]](cell, rows)


def _noise(cell: Cell, *names: str | int | float) -> np.random.Generator:
    return cell.rng("noise", cell.calibration, cell.neighbours, *cell.point.values(), *names)


def _at(rows: Rows, row: str, support: str, p: int, s: int, n: int) -> Rows:
    # Algorithm 5 as printed is not private under add/remove; the lasso is not private at all.
    guarantee = "proved_exact" if support == "exp_mech" else "none"
    return rows.at(row=row, support=support, p=p, s=s, n=n, guarantee=guarantee)


def _recovery(cell: Cell, rows: Rows) -> None:
    """Measure P(right support) over n, until it is almost sure."""
    spending, repeats = Spending.of(cell), cell.settings.repeats
    for support, measure in (("exp_mech", _right_by_law), ("samp_agg", _right_by_votes)):
        problem = cell.settings.problems[support.replace("_", "-")]
        features, supports, sizes = (problem[name] for name in ("p", "s", "n"))
        for p, s in itertools.product(features, supports):
            for n in sorted(sizes):
                found = [measure(n, p, s, spending, cell.rng("data", p, s, n, r)) for r in range(repeats)]
                right, work, converged = map(np.array, zip(*found, strict=True))
                here = _at(rows, "recovery", support, p, s, n)
                here.add("right", right, converged)
                here.add("wrong", np.maximum(1 - right, 0), converged)
                here.add("work", work, converged)
                if right.mean() >= SURE:
                    break


def _right_by_law(n: int, p: int, s: int, spending: Spending, rng: np.random.Generator) -> tuple[float, float, bool]:
    X, y, _ = designs.rademacher(n, p, s, rng)
    law = case_study.support_law(Moments.of(X, y), s, spending)
    # The first s features are the first of all subsets.
    return math.exp(law.log_probability[0]), float(math.comb(p, s)), True


def _right_by_votes(n: int, p: int, s: int, spending: Spending, rng: np.random.Generator) -> tuple[float, float, bool]:
    found = votes.rademacher(n, p, s, rng)
    scale = votes.printed_scale(math.isqrt(n), s, spending)
    # A sweep updates at most p coordinates.
    return votes.set_probability(found.shares, found.support, scale), float(found.sweeps * p), found.converged


def _consistency(cell: Cell, rows: Rows) -> None:
    """Measure the risk along n in units of what Table 2 asks for."""
    settings = cell.settings
    for name, (support, unit) in UNITS.items():
        features, supports, ratios = (settings.problems[name][key] for key in ("p", "s", "ratio"))
        for p, s, ratio in itertools.product(features, supports, ratios):
            n = round(ratio * unit(p, s))
            names = ("data", name, p, s, n)
            here = _at(rows, "consistency", support, p, s, n).at(ratio=float(ratio))
            if support == "lasso":
                found = [_lasso_risk(n, p, s, cell.rng(*names, r)) for r in range(settings.repeats)]
                excess, ok = map(np.array, zip(*found, strict=True))
                here = here.at(mechanism="nonprivate", calibration="", epsilon=math.inf, delta=0.0)
                here.add("excess_risk", excess, ok)
                continue
            for magnitude in MAGNITUDES.get(support, (1.0,)):
                found = []
                for r in range(settings.repeats):
                    X, y = signs(n, p, s, magnitude, cell.rng(*names, r))
                    found.append(_arms(cell, support, X, y, s, names=(name, p, s, n, r)))
                _add_by_divisor(here.at(magnitude=magnitude), found)


def signs(n: int, p: int, s: int, magnitude: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of `rad` with |theta*_j| = magnitude in (0, 1] and its columns in a random order.

    The records of another magnitude have the same X and the same noise.
    """
    X, y, theta = designs.rademacher(n, p, s, rng, noise=designs.NOISE / magnitude, clip=False)
    return case_study.shuffled(X, theta, rng)[0], np.clip(magnitude * y, -s, s)


def _arms(
    cell: Cell, support: str, X: np.ndarray, y: np.ndarray, s: int, *, names: tuple, **more: float
) -> dict[str, tuple[float, bool]]:
    """Return what `_two_stage` does on one data set with each divisor, by the same streams."""
    spending, draws, moments = Spending.of(cell), cell.settings.draws, Moments.of(X, y)
    return {
        divisor: _two_stage(support, X, y, s, spending, draws, _noise(cell, *names), moments, divisor=divisor, **more)
        for divisor in DIVISORS[support]
    }


def _add_by_divisor(rows: Rows, found: list[dict[str, tuple[float, bool]]]) -> None:
    for divisor in found[0]:
        excess, ok = map(np.array, zip(*(one[divisor] for one in found), strict=True))
        rows.add("excess_risk", excess, ok, divisor=divisor)


def _lasso_risk(n: int, p: int, s: int, rng: np.random.Generator) -> tuple[float, bool]:
    X, y, theta = designs.rademacher(n, p, s, rng, clip=False)
    found = lasso.minimise(X, y, l1=samp_agg.paper_penalty(designs.DECLARED, n, p))
    return 0.5 * float(np.sum((found.theta[0] - theta) ** 2)), bool(found.converged[0])


def _two_stage(
    support: str, X: np.ndarray, y: np.ndarray, s: int, spending: Spending, draws: int, rng: np.random.Generator,
    moments: Moments, *, divisor: limits.Divisor, sigma: float = designs.DECLARED,
) -> tuple[float, bool]:  # fmt: skip
    """Return the mean excess risk of Algorithm 2 on one data set, and whether all solvers converged."""
    penalty = samp_agg.paper_penalty(sigma, math.sqrt(len(y)), X.shape[1]) if support == "samp_agg" else None
    released = sparse.release(
        X, y, size=s, support=support, domain=sparse.case_study(s), budget=Budget(spending.epsilon, spending.delta),
        neighbours=spending.neighbours, calibration=spending.calibration, penalty=penalty, divisor=divisor, rng=rng,
        repeats=draws,
    )  # fmt: skip
    supports, converged = released.supports, bool(released.converged.all())
    risk = moments.risk(np.take_along_axis(released.theta, supports, axis=1), supports)
    if support == "exp_mech":
        law = case_study.Law(released.selection.log_probabilities, released.selection.scores)
        # What the first stage adds is known exactly; the draws show what the second adds to it.
        base, first = np.array([law.scores[subsets.rank(Z)] for Z in supports]) / moments.n, law.excess(moments.n)
    else:
        converged &= bool(released.selection.converged[0].all())
        base, first = subsets.search(*moments[:3], s).scores.min() / moments.n, 0.0
    return first + float(np.mean(risk - base)), converged


def _comparison(cell: Cell, rows: Rows) -> None:
    """Measure where one selection beats the other, and what clipping does."""
    spending, settings = Spending.of(cell), cell.settings
    for row, make, n in (("near-copies", near_copies, COPIES_N), ("small-signal", small_signal, SIGNAL_N)):
        found: dict[str, list] = {"exp_mech": [], "samp_agg": []}
        for r in range(settings.repeats):
            X, y, noise = make(n, cell.rng("data", row, r))
            for support, values in found.items():
                values.append(_arms(cell, support, X, y, SIZE, names=(row, support, r), sigma=2 * noise))
        magnitude = SIGNAL if row == "small-signal" else 1.0
        for support, values in found.items():
            here = _at(rows, row, support, FEATURES, SIZE, n)
            _add_by_divisor(here.at(noise=noise, magnitude=magnitude), values)
    for noise in CLIPPING_NOISES:
        found = {"clipped": [], "raw": []}
        for r in range(settings.repeats):
            X, y, theta = designs.rademacher(
                CLIPPING_N, FEATURES, SIZE, cell.rng("data", "clipping", noise, r), noise=noise, clip=False
            )
            moments = {"clipped": Moments.of(X, np.clip(y, -SIZE, SIZE)), "raw": Moments.of(X, y)}
            star = {name: one.risk(theta[None, :SIZE], np.arange(SIZE)[None]) for name, one in moments.items()}
            for clipping, values in found.items():
                seen = moments[clipping]
                rng = _noise(cell, "clipping", noise, r)
                supports = case_study.support_law(seen, SIZE, spending).draw(FEATURES, SIZE, settings.draws, rng)
                released, ok = case_study.second_stage(seen, supports, spending, rng)
                risks = (float(np.mean(moments[on].risk(released, supports) - star[on])) for on in CLIPPING_ROWS)
                values.append((*risks, bool(ok.all())))
        for clipping, values in found.items():
            *risks, ok = map(np.array, zip(*values, strict=True))
            for row, risk in zip(CLIPPING_ROWS.values(), risks, strict=True):
                here = _at(rows, row, "exp_mech", FEATURES, SIZE, CLIPPING_N).at(noise=noise, clipping=clipping)
                # Algorithm 1 promises nothing for records outside its domain.
                here.add("risk", risk, ok, guarantee="proved_exact" if clipping == "clipped" else "none")


def near_copies(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Return X, y and noise (sd) of `rad` with ten columns beside each true one, columns in a random order.

    A copy differs from its true column in a share 1/sqrt(n) of the records.
    """
    X, y, theta = designs.rademacher(n, FEATURES, SIZE, rng)
    for j in range(SIZE):
        copies = slice(SIZE + j * COPIES, SIZE + (j + 1) * COPIES)
        X[:, copies] = np.where(rng.random((n, COPIES)) < 1 / math.sqrt(n), -1.0, 1.0) * X[:, j, None]
    return case_study.shuffled(X, theta, rng)[0], y, designs.NOISE


def small_signal(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Return X, y and noise (sd) of `rad`, |theta*_j| = SIGNAL: Lemma 41 holds with equality at this n (Psi = 1)."""
    sigma = SIGNAL * (n / (SIZE * math.log(FEATURES)) ** 2) ** 0.25 / 16
    noise = sigma * designs.NOISE / designs.DECLARED
    X, y, theta = designs.rademacher(n, FEATURES, SIZE, rng, noise=noise / SIGNAL, clip=False)
    return case_study.shuffled(X, theta, rng)[0], SIGNAL * y, noise
