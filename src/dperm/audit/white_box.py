r"""White-box tests: is the noise that made these outputs the noise that was promised?

The tests look at m recovered noise vectors b_1, ..., b_m in R^p (objective perturbation: b = -(gradient + penalty's
gradient)). A few dozen of them are enough to detect noise of half the size, where an attack on the outputs needs tens
of thousands. Such a test refutes an implementation, not a privacy claim: other noise than promised may still be
private.

Null hypothesis: the b_i are independent with the stated law. Every p-value below is exact or an upper bound of the
exact one, at any m (s the scale, r_i = ||b_i||, u_i = b_i/r_i, F the law of r):

    scale        sum r_i/s ~ Gamma(mp) (spherical Laplace), sum r_i^2/s^2 ~ chi^2(mp) (Gaussian); two-sided
    norm         Kolmogorov-Smirnov distance of the r_i from F
    short, long  -sum log F(r_i) ~ Gamma(m), -sum log (1 - F(r_i)) ~ Gamma(m): Fisher's sums, which look at either end
                 of the law; two-sided
    axis         <u_i, e>^2 ~ Beta(1/2, (p-1)/2) along the first axis and along a diagonal, Kolmogorov-Smirnov (p > 1)
    mean         W = p ||sum u_i||^2/m. E e^{tW} is at most that of chi^2_p, as <u, g> is sub-Gaussian with variance
                 ||g||^2/p, hence P(W >= w) <= (w/p)^{p/2} e^{(p-w)/2} for w >= p       (p > 1)
    sign         number of positive b_i ~ Binomial(m, 1/2)       (p = 1)
    order        2 min(d, 1 - d) ~ Uniform for d = F(r_{i+1}) - F(r_i) mod 1, independent over i: norms that repeat
    turn         (1 + <u_i, u_{i+1}>)/2 ~ Beta((p-1)/2, (p-1)/2), independent over i: directions that repeat or
                 alternate. (p = 1: the number of equal signs is Binomial(m - 1, 1/2).)
    repeats      the least distance t of two vectors: P(some two within t) <= m(m-1)/2 sup nu vol(ball of radius t). A
                 solver returns reused noise only to within its tolerance; t says how near, no grid decides.

Independent Laplace coordinates are tested as mp numbers (scale, norm, short, long, sign) and by the law Gamma(p) of
their sum of absolute values (sum). All p-values are combined by Bonferroni: p = number of tests times the least.

What is found from how many outputs: `tests/dperm/audit/test_white_box.py`. Neighbouring relation: none; noise is noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special, stats
from scipy.spatial import KDTree

from dperm.noise import Gaussian, Laplace, SphericalLaplace

# Outcomes that are expected less often are put together.
_EXPECTED = 5.0
# What each test says when it is the one that fails.
_WORDS = {
    "scale": "the noise's size is {ratio:.3g} of what is promised",
    "norm": "the lengths of the noise do not have the promised law",
    "short": "short noise is not as frequent as promised",
    "long": "long noise is not as frequent as promised",
    "sum": "the coordinates of the noise are not independent",
    "axis": "the noise favours or avoids an axis",
    "mean": "the noise has a preferred direction",
    "sign": "one sign of the noise is preferred",
    "order": "the lengths of successive noise depend on each other",
    "turn": "the directions of successive noise depend on each other",
    "repeats": "noise was used more than once",
}


@dataclass(frozen=True)
class NoiseTest:
    """What the white-box tests say.

    Parameters
    ----------
    p_value : float
        Of all tests together: under the promised law it is below any level with at most that probability.
    words : str
        What is wrong, by the test of the least p-value; or that nothing is.
    tests : dict of str to float
        p-value of each test.
    """

    p_value: float
    words: str
    tests: dict[str, float]


def noise_test(noise: np.ndarray, law: Gaussian | SphericalLaplace | Laplace) -> NoiseTest:
    """Test recovered noise against the law it is said to be drawn from.

    Parameters
    ----------
    noise : ndarray, shape (m, p) or (m,)
        One row per output, in the order of the draws; m at least 2.
    law : Gaussian, SphericalLaplace or Laplace
        With a scale above 0.

    Raises
    ------
    ValueError
        If there are fewer than two rows, an entry is not finite, or the law is not one of these or has no scale.
    """
    b = np.asarray(noise, dtype=float)
    b = b[:, None] if b.ndim == 1 else b
    if b.ndim != 2 or len(b) < 2 or b.shape[1] < 1:
        raise ValueError(f"noise has the shape {np.shape(noise)}: give at least 2 rows of one vector each, (m, p)")
    if not np.isfinite(b).all():
        raise ValueError("noise holds values that are not finite: every output must have a noise that made it")
    if type(law) not in _TESTS:
        known = ", ".join(sorted(kind.__name__ for kind in _TESTS))
        raise ValueError(f"law={law!r} is not one of those known here: {known}")
    if law.scale == 0:
        raise ValueError(f"law={law!r} has scale 0: without noise there is nothing to test")
    b = b / law.scale
    tests, ratio = _TESTS[type(law)](b)
    tests["repeats"] = _repeats(b, type(law))
    tests = {name: min(1.0, float(value)) for name, value in tests.items()}
    worst = min(tests, key=tests.get)
    together = min(1.0, len(tests) * tests[worst])
    words = f"{_WORDS[worst].format(ratio=ratio)} (p = {tests[worst]:.2g})"
    return NoiseTest(together, words if together <= 0.05 else "nothing speaks against the promised noise", tests)


@cache
def _law(name: str, *shape: float):
    """Return a law of scipy.stats; to make one costs more than to use it."""
    return getattr(stats, name)(*shape)


def pooled(seen: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return counts for a chi-square test, outcomes that are expected less than five times put together as the last."""
    rare = expected < _EXPECTED
    if not rare.any():
        return seen, expected
    return tuple(np.append(counts[~rare], counts[rare].sum()) for counts in (seen, expected))


def _two_sided(law, value: float) -> float:
    return min(1.0, 2 * min(law.cdf(value), law.sf(value)))


def _of_lengths(r: np.ndarray, law) -> dict[str, float]:
    """Test lengths against their law: as a whole, and at either end."""
    m = len(r)
    return {
        "norm": stats.kstest(r, law.cdf).pvalue,
        "short": _two_sided(_law("gamma", m), -law.logcdf(r).sum()),
        "long": _two_sided(_law("gamma", m), -law.logsf(r).sum()),
    }


def _spherical(b: np.ndarray, lengths, power: int, total) -> tuple[dict[str, float], float]:
    """Test a spherical law: `lengths` is that of ||b||, `total` that of the sum of ||b||^power."""
    p = b.shape[1]
    r = np.linalg.norm(b, axis=1)
    size = (r**power).sum()
    tests = {"scale": _two_sided(total, size)} | _of_lengths(r, lengths)
    places = lengths.cdf(r)
    step = np.diff(places) % 1.0
    tests["order"] = stats.kstest(2 * np.minimum(step, 1 - step), "uniform").pvalue
    # A vector of zeros has no direction; it counts as the first axis, and as a repeat if there are two.
    u = np.where(r[:, None] > 0, b / np.where(r > 0, r, 1.0)[:, None], np.eye(p)[0])
    tests |= _on_a_line(u[:, 0]) if p == 1 else _directions(u)
    return tests, float((size / total.mean()) ** (1 / power))


def _on_a_line(u: np.ndarray) -> dict[str, float]:
    """Test signs: fair, and a fair coin decides whether the next is the same."""
    m = len(u)
    return {
        "sign": stats.binomtest(int((u > 0).sum()), m).pvalue,
        "turn": stats.binomtest(int((u[1:] * u[:-1] > 0).sum()), m - 1).pvalue,
    }


def _directions(u: np.ndarray) -> dict[str, float]:
    m, p = u.shape
    square = _law("beta", 0.5, (p - 1) / 2)
    diagonal = np.full(p, p**-0.5)
    along = (np.clip(projected**2, 0, 1) for projected in (u[:, 0], u @ diagonal))
    w = p * float((u.sum(axis=0) ** 2).sum()) / m
    turns = np.einsum("ij,ij->i", u[1:], u[:-1])
    half = _law("beta", (p - 1) / 2, (p - 1) / 2)
    return {
        "axis": 2 * min(stats.kstest(values, square.cdf).pvalue for values in along),
        "mean": float(np.exp(0.5 * (p * np.log(w / p) + p - w))) if w > p else 1.0,
        "turn": stats.kstest(np.clip((1 + turns) / 2, 0, 1), half.cdf).pvalue,
    }


def _spherical_laplace(b: np.ndarray) -> tuple[dict[str, float], float]:
    m, p = b.shape
    return _spherical(b, _law("gamma", p), 1, _law("gamma", m * p))


def _gaussian(b: np.ndarray) -> tuple[dict[str, float], float]:
    m, p = b.shape
    return _spherical(b, _law("chi", p), 2, _law("chi2", m * p))


def _laplace(b: np.ndarray) -> tuple[dict[str, float], float]:
    m, p = b.shape
    flat, sums = np.abs(b).ravel(), np.abs(b).sum(axis=1)
    total = _law("gamma", m * p)
    tests = {"scale": _two_sided(total, flat.sum())} | _of_lengths(flat, _law("expon"))
    if p > 1:
        tests["sum"] = stats.kstest(sums, _law("gamma", p).cdf).pvalue
    step = np.diff(_law("gamma", p).cdf(sums)) % 1.0
    tests["order"] = stats.kstest(2 * np.minimum(step, 1 - step), "uniform").pvalue
    tests["sign"] = stats.binomtest(int((b > 0).sum()), m * p).pvalue
    tests["turn"] = stats.binomtest(int((b[1:] * b[:-1] > 0).sum()), (m - 1) * p).pvalue
    return tests, float(flat.sum() / total.mean())


_TESTS: dict[type, Callable[[np.ndarray], tuple[dict[str, float], float]]] = {
    SphericalLaplace: _spherical_laplace,
    Gaussian: _gaussian,
    Laplace: _laplace,
}


def _log_mode(law: type, p: int) -> float:
    """Return the log of the largest density of the law at scale 1."""
    if law is Gaussian:
        return -0.5 * p * np.log(2 * np.pi)
    if law is Laplace:
        return -p * np.log(2)
    # 1/(area of the unit sphere times Gamma(p)).
    return special.gammaln(p / 2) - np.log(2) - 0.5 * p * np.log(np.pi) - special.gammaln(p)


def _repeats(b: np.ndarray, law: type) -> float:
    """Bound the probability that the nearest two of m vectors are as near as here."""
    m, p = b.shape
    nearest = float(KDTree(b).query(b, k=2)[0][:, 1].min())
    if nearest == 0:
        return 0.0
    log_ball = 0.5 * p * np.log(np.pi) - special.gammaln(p / 2 + 1) + p * np.log(nearest)
    return float(np.exp(min(0.0, np.log(0.5 * m * (m - 1)) + _log_mode(law, p) + log_ball)))
