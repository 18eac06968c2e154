r"""Exp-mech on sparse linear regression (kifer2012, Section 3.2, Algorithm 4): accuracy, its bounds, and its privacy.

Case study (Section 3.1): l = (y - <x, theta>)^2/2, the s largest entries of x of norm sqrt(s) at most, |y| <= s,
F = {||theta||_inf <= 1}. Algorithm 4 draws Gamma with probability proportional to exp(-w q(Gamma)),

    q(Gamma) = min_{theta in F_Gamma} sum_i l(theta; d_i),    w = epsilon/(2 alpha),    alpha = 4 s^2 as printed

(calibration paper); tight is w = epsilon/(2 s^2) under add/remove (erratum K5). Excess: (q(Gamma) - min q)/n. All laws
are exact; what is random is the data.

    Theorem 34   excess <= s log(p/gamma)/(w n) with probability 1 - gamma; 1/w = 2 alpha/epsilon as printed, where "="
                 stands for "<=",
    Theorem 6    mean excess = O(alpha s log p/(epsilon n)).

Designs:

    rademacher   x uniform on {-1, 1}^p, theta* = +-1 on s columns, noise of y with sd 1/4, y clipped; the records of a
                 smaller n are the first of those of a larger one;
    planted      m rows (e_j, 1) for each of s columns, the other n - s m rows 0. A column that is missed costs m/2 =
                 (2 alpha/epsilon) log(p/s), which attains Theorem 6: with C(s, t) C(p - s, t) sets that miss t columns,

                     P(t missed) ~ C(s, t) C(p - s, t) exp(-w t m/2)      for any p, nothing enumerated;

                 its mean excess has log(p/s) where Theorem 6 has log p: `over_log` is the mean excess over log(p/s);

    near-tie     2 m rows (e_j, 1) for each of s - 1 columns, m + 1 for the next, and for the column after that m, with
                 one of half the weight, (e_j, 1)/sqrt(2): without one record another subset is best (Abstract: stable
                 and accurate, which no deterministic algorithm is);
    tiny-domain  all pairs of neighbouring data sets of up to three records of {-1, 0, 1}^p x {-s, 0, s}, p <= 4:
                 Lemma 33, Theorem 32, and Section 3.2's weight exp(-epsilon q alpha) (erratum K4). See `tiny_domain`.

Neighbours: add/remove (Definition 1).
"""

import math

import numpy as np
from scipy.special import gammaln, logsumexp

from dperm import seeds
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms.support import exp_mech
from dperm.solvers import subsets
from dperm_papers.kifer2012.shared import case_study, designs
from dperm_papers.kifer2012.theorem6 import tiny_domain
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# P(right support) that counts as accurate, of the abstract's "stable and accurate".
ACCURATE = 0.95
# The tiny domain: largest p, and s. Rows of a column of the near tie.
TINY_FEATURES, TINY_SUPPORTS = (2, 3, 4), (1, 2)
_TIED = 100


def run(cell: Cell, rows: Rows) -> None:
    """Measure one calibration on one design: planted (with near-tie), rademacher or tiny-domain.

    Metrics, for each p, s, n and repeat: `excess_risk` (the mean), on `planted` `over_log` (the same over log(p/s),
    which is the column `log_p_over_s`), `right` (P(right support)); for each gamma `bound` (Theorem 34), `exceeded`
    (P(excess > bound)), `quantile` (the excess that is exceeded with probability gamma at most). `excess` is measured
    minus stated, of the statement named by `row`. ConfigError if the design is unknown, or n is too small for it.
    """
    design = cell.point["design"]
    measure = {"planted": _planted, "rademacher": _rademacher, "tiny-domain": _tiny}
    if design not in measure:
        raise ConfigError(f"unknown design {design!r}; known: {', '.join(sorted(measure))}")
    rows = rows.at(guarantee="proved", epsilon=cell.settings.epsilon, delta=0.0, gamma=0.0, row="", log_p_over_s=0.0)
    measure[design](cell, rows)


def missed_law(p: int, size: int, cost: float) -> np.ndarray:
    """Return log P(t of the s columns are missed), t = 0, .., min(s, p - s), on the design `planted`.

    `cost`, w m/2, is by how much the exponent falls for each column that is missed.
    """
    t = np.arange(min(size, p - size) + 1)
    logits = _log_binomial(size, t) + _log_binomial(p - size, t) - cost * t
    return logits - logsumexp(logits)


def planted_rows(p: int, size: int, epsilon: float) -> int:
    """Return m, so that m/2 is (2 alpha/epsilon) log(p/s) with the printed alpha = 4 s^2, rounded."""
    printed = exp_mech.exponent(
        exp_mech.largest_loss(size, case_study.domain(size)),
        Budget(epsilon),
        neighbours="add_remove",
        calibration="paper",
    )
    return max(1, round(2 / printed * math.log(p / size)))


def near_tie(p: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 200 s + 2 records of which the last one decides which subset is best (s < p).

    The first s columns are best by 1/4; without the last record, the first s - 1 and column s are, by as much.
    """
    columns = np.repeat(np.arange(size + 1), [2 * _TIED] * (size - 1) + [_TIED] * 2)
    y = np.ones(len(columns) + 2)
    y[-2] = math.sqrt(0.5)
    return np.eye(p)[[*columns, size, size - 1]] * y[:, None], y


def _planted(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    grid = [(int(p), int(s), int(n), False) for p in settings.features for s in settings.supports
            for n in settings.sizes]  # fmt: skip
    grid += [(int(p), int(s), int(n), True) for p in settings.wide_features for s in settings.wide_supports
             for n in settings.wide_sizes]  # fmt: skip
    for p, size, n, wide in grid:
        m = planted_rows(p, size, settings.epsilon)
        if size * m > n:
            if wide:
                raise ConfigError(f"wide_sizes: n={n} is below the {size * m} rows needed at p={p}, s={size}; raise it")
            continue
        weight = _weight(cell, size)
        law = np.exp(missed_law(p, size, weight * m / 2))
        values = np.arange(len(law)) * (m / 2) / n
        log_p_over_s = math.log(p / size)
        here = rows.at(p=p, s=size, n=n, log_p=math.log(p), log_p_over_s=log_p_over_s)
        here.add("excess_risk", law @ values)
        here.add("over_log", law @ values / log_p_over_s)
        here.add("right", law[0])
        # P(excess > value), from the tail up: no difference of near-equal numbers.
        above = np.append(np.cumsum(law[:0:-1])[::-1], 0.0)
        for gamma in settings.gammas:
            bound = _bound(p, size, gamma, weight, n)
            _add_tail(here, gamma, bound, float(law[values > bound].sum()))
            here.add("quantile", values[np.argmax(above <= gamma)], gamma=gamma)
    p, size = int(settings.features[0]), int(settings.supports[0])
    X, y = near_tie(p, size)
    whole, part = _select(cell, X, y, size), _select(cell, X[:-1], y[:-1], size)
    here = rows.at(dataset="near-tie", row="abstract", p=p, s=size, n=len(X), log_p=math.log(p))
    flips = whole.scores.argmin() != part.scores.argmin()
    sharp = all(_margin(found) > 2 * found.certificate for found in (whole, part))
    here.add("excess", 1.0 - (flips and sharp), variant="flips")
    here.add("excess", _unstable(cell, size, whole, part), variant="stable")


def _rademacher(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    sizes = sorted(int(n) for n in settings.sizes)
    points = [(int(p), int(s)) for p in settings.features for s in settings.supports]
    for (p, size), repeat in ((point, r) for point in points for r in range(settings.repeats)):
        names = (cell.experiment, "rademacher", p, size, repeat, "data")
        X, y, _ = designs.rademacher(sizes[-1], p, size, seeds.generator(cell.seed, *names))
        right, weight = subsets.rank(range(size)), _weight(cell, size)
        for n in sizes:
            found = _select(cell, X[:n], y[:n], size)
            law, excess = np.exp(found.log_probabilities), found.scores - found.scores.min()
            here = rows.at(
                p=p, s=size, n=n, log_p=math.log(p), repeat=repeat, guarantee="proved" if found.converged else "none"
            )
            here.add("excess_risk", law @ excess / n)
            here.add("right", law[right])
            for gamma in settings.gammas:
                bound = _bound(p, size, gamma, weight, n)
                # Exact scores lie within the certificate: this is the most that their tail can be.
                tail = law[excess > bound * n - 2 * found.certificate].sum() * math.exp(2 * weight * found.certificate)
                _add_tail(here, gamma, bound, float(tail))
            if n == sizes[-1]:
                accurate = ACCURATE - law[right] * math.exp(-2 * weight * found.certificate)
                here.add("excess", accurate, row="abstract", variant="accurate")
                unstable = _unstable(cell, size, found, _select(cell, X[1:n], y[1:n], size))
                here.add("excess", unstable, row="abstract", variant="stable")


def _tiny(cell: Cell, rows: Rows) -> None:
    epsilon, printed = cell.settings.epsilon, cell.calibration == "paper"
    for p, size in ((p, s) for p in TINY_FEATURES for s in TINY_SUPPORTS):
        # Algorithm 4's alpha bounds a loss; the printed one is twice the least.
        alpha = (2 if printed else 1) * exp_mech.largest_loss(size, case_study.domain(size))
        weights = {"theorem-32": _weight(cell, size), **({"section-3.2": epsilon * alpha} if printed else {})}
        found = tiny_domain.changes(p, size, tuple(weights.values()))
        here = rows.at(p=p, s=size, n=tiny_domain.RECORDS, log_p=math.log(p))
        lemma = here.at(row="lemma-33")
        # As printed a score may change by alpha either way; by K5 one record more can only raise it.
        for variant, value in (("rise", found.rise - alpha), ("fall", found.fall - alpha * printed)):
            lemma.add("excess", value, variant=variant)
            lemma.add("slack", 2 * found.gap, variant=variant)
        lemma.add("score_change", found.rise)
        for (row, weight), spent in zip(weights.items(), found.spent, strict=True):
            claim = here.at(row=row, guarantee="none" if row == "section-3.2" else "proved")
            claim.add("spent", spent)
            claim.add("excess", spent - epsilon)
            claim.add("slack", 4 * weight * found.gap)


def _weight(cell: Cell, size: int) -> float:
    """Return w of the cell's calibration."""
    alpha = exp_mech.largest_loss(size, case_study.domain(size))
    return exp_mech.exponent(
        alpha, Budget(cell.settings.epsilon), neighbours=cell.neighbours, calibration=cell.calibration
    )


def _select(cell: Cell, X: np.ndarray, y: np.ndarray, size: int) -> exp_mech.Selection:
    """Return Algorithm 4's law; the support that comes with it is not used."""
    return exp_mech.select(
        X, y, size=size, domain=case_study.domain(size), budget=Budget(cell.settings.epsilon),
        neighbours=cell.neighbours, calibration=cell.calibration, rng=np.random.default_rng(0),
    )  # fmt: skip


def _bound(p: int, size: int, gamma: float, weight: float, n: int) -> float:
    return size * math.log(p / gamma) / (weight * n)


def _add_tail(rows: Rows, gamma: float, bound: float, exceeded: float) -> None:
    """Add Theorem 34 at one gamma."""
    here = rows.at(gamma=gamma)
    here.add("bound", bound)
    here.add("exceeded", exceeded)
    here.add("excess", exceeded - gamma, row="theorem-34")


def _unstable(cell: Cell, size: int, whole: exp_mech.Selection, part: exp_mech.Selection) -> float:
    """Return by how much the log-ratio of two neighbours' laws can be above epsilon (below 0: stable)."""
    spent = float(np.abs(whole.log_probabilities - part.log_probabilities).max())
    # A score and the normaliser are off by the certificate each.
    spent += 2 * _weight(cell, size) * (whole.certificate + part.certificate)
    return spent - cell.settings.epsilon


def _margin(found: exp_mech.Selection) -> float:
    """Return by how much the best subset is better than the next."""
    best, second = np.partition(found.scores, 1)[:2]
    return float(second - best)


def _log_binomial(m: int, t: np.ndarray) -> np.ndarray:
    return gammaln(m + 1) - gammaln(t + 1) - gammaln(m - t + 1)
