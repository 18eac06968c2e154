r"""Beyond aggregation: the records that ExpPW needs beside averages, beside private learning, and over k, exactly.

`needed` is n*, the least n at which the mean excess error over all samples is at most alpha; ExpPW has
T = ceil(2 ln(2/alpha)/eps).

    alpha    (`form`) over alpha on the flip law: ExpPW (`mean_walk`, k = 1) and averages of thresholds with the best
             split into shards (`flips`). `promised`: n of Theorem 5.3 with epsilon = min(epsilon, alpha/2), as printed
             with accuracy alpha, mended with alpha/2 (erratum D13), and n of Corollary 4.7 (erratum D8). `excess`: log
             of the former over NEARLY (1/alpha^2 + 1/(epsilon alpha)) ln(2/alpha) of Section 2.1. `crossing`:
             the alpha at which both need the same, interpolated in logarithms, where there is one;
    domain   over N, 2^4 to 2^60, on the law of two points c and c + 1, c = N/2, evenly, labels 1[x > c]. ExpPW itself
             is run on every count of the records at c: the rank of a query among equal points is uniform, and the
             points of [N] are doubles, the i-th one above a fixed one, so that they stay apart. The exponential
             mechanism over the N + 1 thresholds, weights e^{-eps errors/2}, has three groups of equal score: with n_c
             and n_{c+1} records at the points,

                 Pr[error 0] = 1/(1 + c e^{-eps n_c/2} + (N - c) e^{-eps n_{c+1}/2}),    else the error is 1/2.

             `spread` is the greatest n* of ExpPW over N, divided by the least, minus 1;
    ends     over k on alternating intervals, labels flipped with probability `flip`.

Neighbours: replace-one.
"""

import itertools
import math

import numpy as np
from scipy import stats
from scipy.special import expit

from dperm.mechanisms.prediction import exppw
from dperm_papers.dwork2018.agnostic import experiment as agnostic
from dperm_papers.dwork2018.averaging import experiment as averaging
from dperm_papers.dwork2018.beyond import mean_walk
from dperm_papers.dwork2018.beyond.settings import Settings
from dperm_papers.dwork2018.shared import alternating, flips
from dperm_papers.dwork2018.shared.counting import least
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# The double that the points of [N] are counted from: a normal number, far from the largest one.
_ORIGIN = 2**61
_NEGLIGIBLE = 1e-16
# Constant of ours, within which ExpPW is nearly optimal.
NEARLY = 100


def run(cell: Cell, rows: Rows) -> None:
    """Measure everything above."""
    cell.parts()
    rows = rows.at(
        guarantee="proved", calibration="tight", epsilon=0.0, delta=0.0, form="", alpha=0.0, beta=0.0, flip=0.0, n=0,
        r=0, m=0, k=1, log_domain=0,
    )  # fmt: skip
    _over_alpha(cell.settings, rows)
    _over_domain(cell.settings, rows)
    _over_ends(cell.settings, rows)


def walk_records(alpha: float, epsilon: float, flip: float, k: int = 1) -> int:
    """Return n* of ExpPW on alternating intervals with k ends and a share flip < 1/2 of wrong labels."""
    T = round(exppw.walk_bound(alpha, epsilon))
    return mean_walk.least_records(T, exppw.step(epsilon), flip, k, alpha)[0]


def walk_error(n: int, log_domain: int, alpha: float, epsilon: float) -> float:
    """Return the mean error of ExpPW on the law of two points, over samples, keys and queries; log2 N is at most 60."""
    T, c = exppw.walk_bound(alpha, epsilon), 2 ** (log_domain - 1)
    points = np.array([_ORIGIN + c, _ORIGIN + c + 1], dtype=np.int64).view(np.float64)
    found, chances = 0.0, stats.binom.pmf(np.arange(n + 1), n, 0.5)
    for first in np.flatnonzero(chances > _NEGLIGIBLE):
        counts = first, n - first
        x, y = np.repeat(points, counts), np.repeat([0, 1], counts)
        keys = np.concatenate([np.arange(1, count + 1) / (count + 1) for count in counts])
        walk = exppw.prepare(x, y, keys, T)
        for label, point, count in zip((0, 1), points, counts, strict=True):
            ranks = (np.arange(count + 1) + 0.5) / (count + 1)
            one = exppw.probability(exppw.value(walk, np.full(count + 1, point), ranks), epsilon)
            found += chances[first] / 2 * abs(label - one.mean())
    return float(found)


def exponential_error(n: int, log_domain: int, epsilon: float) -> float:
    """Return the mean error of the exponential mechanism over all thresholds, on the law of two points."""
    at_c = np.arange(n + 1)
    # c = N - c = N/2.
    others = (log_domain - 1) * math.log(2) - epsilon / 2 * np.stack([at_c, n - at_c])
    return float(stats.binom.pmf(at_c, n, 0.5) @ expit(np.logaddexp(*others)) / 2)


def _over_alpha(settings: Settings, rows: Rows) -> None:
    beta, needed = settings.gammas[0], {}
    rows = rows.at(form="alpha", dataset="flip", flip=flips.FLIP)
    for epsilon, alpha in itertools.product(settings.epsilons, settings.alphas):
        here = rows.at(epsilon=epsilon, alpha=alpha)
        walk = walk_records(alpha, epsilon, flips.FLIP)
        for calibration, variant in (("paper", "printed"), ("tight", "tight")):
            r, m = flips.best_split(alpha, epsilon, calibration)
            how = {"mechanism": "averaged", "calibration": calibration, "variant": variant}
            here.add("needed", walk, mechanism="exppw", variant=variant, n=walk)
            here.add("needed", r * m, **how, r=r, m=m, n=r * m)
            needed[variant, epsilon, alpha] = walk, r * m
        each = min(epsilon, alpha / 2)
        walks = {
            "printed": alternating.promised(1, alpha, each)[0],
            "mended": alternating.promised(1, alpha / 2, each)[1],
        }
        for variant, walk in walks.items():
            r, m, n = averaging.promised(alpha, beta, epsilon, variant)
            promised = here.at(variant=variant, beta=beta)
            promised.add("promised", walk, mechanism="exppw", n=walk)
            nearly = NEARLY * agnostic.rate(1, alpha, epsilon) * math.log(2 / alpha)
            promised.add("excess", math.log(walk / nearly), mechanism="exppw", n=walk)
            promised.add("promised", n, mechanism="averaged", calibration="paper", r=r, m=m, n=n)
    for variant, epsilon in itertools.product(("printed", "tight"), settings.epsilons):
        points = [(alpha, *needed[variant, epsilon, alpha]) for alpha in sorted(settings.alphas)]
        for alpha in crossings(points):
            rows.add("crossing", alpha, mechanism="exppw", variant=variant, epsilon=epsilon, alpha=alpha)


def crossings(points: list[tuple[float, int, int]]) -> list[float]:
    """Return where two curves cross, from points (x, first, second) above 0, x rising, interpolated in logarithms."""
    x, first, second = np.log(np.array(points, float)).T
    gap = first - second
    found = np.exp(x[gap == 0]).tolist()
    for i in np.flatnonzero(gap[1:] * gap[:-1] < 0):
        found.append(float(np.exp(x[i] + (x[i + 1] - x[i]) * gap[i] / (gap[i] - gap[i + 1]))))
    return sorted(found)


def _over_domain(settings: Settings, rows: Rows) -> None:
    alpha, epsilon, walks = settings.alpha, settings.epsilon, []
    rows = rows.at(form="domain", dataset="two-points", epsilon=epsilon, alpha=alpha)
    for log_domain in settings.log_domains:
        walks.append(least(lambda n, N=log_domain: walk_error(n, N, alpha, epsilon) <= alpha))
        learner = least(lambda n, N=log_domain: exponential_error(n, N, epsilon) <= alpha)
        rows.add("needed", walks[-1], mechanism="exppw", log_domain=log_domain, n=walks[-1])
        rows.add("needed", learner, mechanism="exp_mech", log_domain=log_domain, n=learner)
    rows.add("spread", max(walks) / min(walks) - 1, mechanism="exppw")


def _over_ends(settings: Settings, rows: Rows) -> None:
    alpha, epsilon = settings.alpha, settings.epsilon
    for flip, k in itertools.product(settings.flips, settings.ends):
        needed, promised = walk_records(alpha, epsilon, flip, k), alternating.promised(k, alpha, epsilon)[1]
        here = rows.at(form="ends", dataset="alternating", mechanism="exppw", epsilon=epsilon, alpha=alpha)
        here = here.at(flip=flip, k=k)
        here.add("needed", needed, n=needed)
        here.add("promised", promised, n=promised)
