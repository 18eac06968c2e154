r"""Theorem 4 of kifer2012 and what is said around it: gamma against Gaussian noise, exactly, over p and n.

Setting (Section 2.2.3): l = (y - <x, theta>)^2/2, ||x||_2 <= sqrt(p), |y| <= p, F = {||theta||_2 <= sqrt(p)}; hence
zeta = 2 p^{3/2}, lambda = p. theta_hat = (1/2, ..., 1/2), T = ||theta_hat||_2 = sqrt(p)/2, y = X theta_hat. Constants
under Theta(.) are 1. The rows choose Delta:

    theorem-4   zeta p log p/(epsilon T) (gamma noise),   zeta sqrt(p log(1/delta))/(epsilon T) (Gaussian noise),
    theorem-5   2 lambda/epsilon (either noise),
    stage-two   as Section 3.1 uses the theorems: p is the size s of a support, and the budget is (epsilon/2, delta).

Designs: `extremal` has X'X = Delta I and attains Theorem 4 (erratum K7), `hadamard` has X'X = n I and is benign. Both
are isotropic, so the mean excess risk is a double integral (`isotropic`), and every number here is exact but for the
rows `run`, which are Algorithm 1 itself. With B = ||b||, c the eigenvalue of X'X:

    excess_risk     E J(theta_priv) - J(theta_hat),
    noise_part      the same less its value at b = 0, which is c/2 (Delta T/(c + Delta))^2/n,
    bound           2 E B^2/(Delta n) + Delta T^2/(2 n): Lemma 3, in the mean,
    risk_ratio, noise_ratio    of gamma noise to Gaussian noise, in either quantity,
    over_nice       risk of theorem-4 (with the noise `variant`) on `extremal` over that of theorem-5 with Gaussian
                    noise on `hadamard`, at n = 100 p^2,
    crossover       the least p >= 8 from which on Gaussian noise has the smaller risk (theorem-4, extremal),
    noise_length    quantiles of B in units of zeta/epsilon,
    length_bound    in the same units, what the paper says B stays below with probability 1 - gamma.

Inequalities, as `excess` = measured minus bound, 0 or below where they hold:

    loose     After Theorem 4: a bound R >= T may replace T in Delta. Then by Lemma 3 the mean risk on `extremal` is at
              most zeta R sqrt(p log(1/delta))/(epsilon n) (2 (8 log(2/delta) + 4 epsilon)/log(1/delta) + 1/2). The
              excess is relative;
    distort   Section 1: on nice data objective perturbation distorts the minimiser less than output perturbation. With
              gamma noise b moves it by ||b||/(c + Delta), output perturbation by a vector of density proportional to
              exp(-epsilon Delta ||z||/zeta). Both lengths are Gamma(p, .), so their quotient has one value at all
              quantiles; as printed it is below 1 iff c > Delta. `gram_multiple` is c/Delta, and the excess that of
              the quotient over 1 where c > Delta, of 1 over the quotient elsewhere;
    lemma-17, lemma-27, lemma-28, d12-printed, d12-mended    logarithms of the tails in `noise_lengths`.

Neighbours: add/remove (Definition 1).
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.feasible import Region
from dperm.mechanisms import base, objective, output
from dperm_papers.kifer2012.theorem4 import isotropic, noise_lengths
from dperm_papers.kifer2012.theorem4.isotropic import Noise
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

NOISES = ("gamma", "gaussian")
QUANTILES = (0.01, 0.5, 0.99)
# The catalogue's benign rows: Theorem 5 asks for n >= p^2, and for noise that seldom leaves F, at every p.
_TIED = 100
# Where the crossover is sought; below, log p/p is no guide.
_LEAST, _MOST = 8, 2**20
# Rows of the table, and the designs they are measured on.
_MEASURED = (("theorem-4", "extremal"), ("theorem-4", "hadamard"), ("theorem-5", "hadamard"))


class Problem(NamedTuple):
    """Private linear regression in p dimensions at one budget, under one calibration."""

    p: int
    epsilon: float
    delta: float
    calibration: str
    neighbours: str

    @property
    def domain(self) -> Domain:
        return Domain(x_norm=math.sqrt(self.p), y_bound=float(self.p))

    @property
    def region(self) -> Region:
        return Region(radius=math.sqrt(self.p))

    @property
    def bounds(self) -> tuple[float, float]:
        """Zeta and lambda."""
        return base.bounds(losses.squared(), base.searched(self.domain, self.region, self.p))

    @property
    def length(self) -> float:
        """T = ||theta_hat||_2."""
        return math.sqrt(self.p) / 2

    def budget(self, noise: str) -> Budget:
        return Budget(self.epsilon, self.delta if noise == "gaussian" else 0.0)

    def curvature(self, row: str, noise: str, *, length: float | None = None) -> float:
        """Delta of a row; `length` stands in for T."""
        (zeta, lam), length = self.bounds, self.length if length is None else length
        if row == "theorem-5":
            return 2 * lam / self.epsilon
        spread = self.p * math.log(self.p) if noise == "gamma" else math.sqrt(self.p * math.log(1 / self.delta))
        return zeta * spread / (self.epsilon * length)

    def law(self, noise: str, curvature: float) -> tuple[Noise, str]:
        """The law of b, and what is proved of it."""
        return objective.calibrate(
            losses.squared(), base.searched(self.domain, self.region, self.p), self.budget(noise),
            curvature=curvature, calibration=self.calibration, neighbours=self.neighbours,
        )  # fmt: skip


class _Risk(NamedTuple):
    """Mean excess risk of one row, noise, design and n, with what it is held against."""

    risk: float
    noise: float
    bound: float
    guarantee: str


def run(cell: Cell, rows: Rows) -> None:
    """Measure one calibration: the metrics above; exact ones have the one repeat 0."""
    settings = cell.settings
    if cell.point["design"] != "isotropic":
        raise ConfigError(f"design={cell.point['design']!r}: the mean risk is exact on 'isotropic' designs alone")
    asked = (settings.epsilon, settings.delta, cell.calibration, cell.neighbours)
    rows = rows.at(
        epsilon=settings.epsilon, n=0, row="", sizing="", gamma=0.0, at=0.0, quantile=0.0, looseness=0.0,
        gram_multiple=0.0,
    )  # fmt: skip
    for p in settings.features:
        problem, here = Problem(int(p), *asked), rows.at(p=int(p))
        _add_risks(here, problem, [int(n) for n in settings.sizes])
        _add_ratios(here, problem)
        _add_over_nice(here, problem, "theorem-4", NOISES)
        _add_loose(here, problem, settings.looseness)
        _add_distortions(here, problem, settings.gram_multiples)
        _add_lengths(here, problem, settings.gammas)
        # Section 3.1's second stage has half of epsilon.
        halved = Problem(int(p), settings.epsilon / 2, *asked[1:])
        _add_over_nice(here, halved, "stage-two", ("gaussian",))
    least = crossover(*asked)
    rows.add("crossover", least, dataset="extremal", delta=settings.delta, p=least, row="theorem-4")
    for tail in noise_lengths.tails([1, *(int(p) for p in settings.wide_features)], settings.gammas):
        rows.add(
            "excess", tail.log_tail - tail.log_bound,
            dataset="no-data", p=tail.p, row=tail.row, gamma=tail.gamma, at=tail.at, delta=0.0,
        )  # fmt: skip
    for p in settings.run_features:
        _add_runs(rows.at(p=int(p)), cell, Problem(int(p), *asked))


def mean_risk(problem: Problem, row: str, noise: str, design: str, n: int, *, length: float | None = None) -> _Risk:
    """Return the mean risk; `length` stands in for T in Delta alone."""
    p, T = problem.p, problem.length
    curvature = problem.curvature(row, noise, length=length)
    if design == "extremal" and curvature > n:
        raise ConfigError(
            f"n={n} is below Delta={curvature:.4g} at p={p}, which the extremal design needs rows for; take larger "
            "sizes or smaller p"
        )
    eigenvalue = {"extremal": curvature, "hadamard": float(n)}[design]
    law, guarantee = problem.law(noise, curvature)
    mean, _ = isotropic.mean_distance(
        law, p, eigenvalue=eigenvalue, curvature=curvature, length=T, radius=problem.region.radius
    )
    still = (curvature * T / (eigenvalue + curvature)) ** 2
    bound = 2 * isotropic.second_moment(law, p) / (curvature * n) + curvature * T**2 / (2 * n)
    per_record = 0.5 * eigenvalue / n
    return _Risk(per_record * mean, per_record * (mean - still), bound, guarantee)


def _add_risks(rows: Rows, problem: Problem, sizes: list[int]) -> None:
    """Measure risks beside bounds, at each n that has enough rows for the extremal design, and at n = 100 p^2."""
    # Gamma noise asks for the largest Delta.
    enough = [n for n in sizes if n >= problem.curvature("theorem-4", "gamma")]
    tied = _TIED * problem.p**2
    for sizing, n in [*(("fixed", n) for n in enough), ("100 p^2", tied)]:
        for row, design in _MEASURED:
            for noise in NOISES:
                found = mean_risk(problem, row, noise, design, n)
                here = rows.at(
                    dataset=design, variant=noise, delta=problem.budget(noise).delta, n=n, row=row, sizing=sizing,
                    guarantee=found.guarantee,
                )  # fmt: skip
                here.add("excess_risk", found.risk)
                here.add("noise_part", found.noise)
                here.add("bound", found.bound)


def _add_ratios(rows: Rows, problem: Problem) -> None:
    """Measure what gamma noise costs, at n = 100 p^2."""
    n = _TIED * problem.p**2
    for row, design in _MEASURED:
        gamma, gauss = (mean_risk(problem, row, noise, design, n) for noise in NOISES)
        here = rows.at(
            dataset=design, variant="gamma over gaussian", delta=problem.delta, n=n, row=row, sizing="100 p^2",
            guarantee=gauss.guarantee,
        )  # fmt: skip
        here.add("risk_ratio", gamma.risk / gauss.risk)
        here.add("noise_ratio", gamma.noise / gauss.noise)


def _add_over_nice(rows: Rows, problem: Problem, row: str, noises: tuple[str, ...]) -> None:
    """Measure what data cost that are not nice, at n = 100 p^2."""
    n = _TIED * problem.p**2
    nice = mean_risk(problem, "theorem-5", "gaussian", "hadamard", n)
    for noise in noises:
        found = mean_risk(problem, "theorem-4", noise, "extremal", n)
        rows.add(
            "over_nice", found.risk / nice.risk,
            dataset="extremal", variant=noise, epsilon=problem.epsilon, delta=problem.delta, n=n, row=row,
            sizing="100 p^2", guarantee=found.guarantee,
        )  # fmt: skip


def _add_loose(rows: Rows, problem: Problem, ratios: list[float]) -> None:
    """Measure the relative excess over the bound where R = ratio T stands in for T."""
    n, (zeta, _), log_delta = _TIED * problem.p**2, problem.bounds, math.log(1 / problem.delta)
    for ratio in ratios:
        length = ratio * problem.length
        found = mean_risk(problem, "theorem-4", "gaussian", "extremal", n, length=length)
        factor = 2 * (8 * math.log(2 / problem.delta) + 4 * problem.epsilon) / log_delta + 0.5
        bound = zeta * length * math.sqrt(problem.p * log_delta) / (problem.epsilon * n) * factor
        here = rows.at(
            dataset="extremal", variant="gaussian", delta=problem.delta, n=n, row="loose", sizing="100 p^2",
            guarantee=found.guarantee, looseness=ratio,
        )  # fmt: skip
        here.add("excess_risk", found.risk)
        here.add("excess", found.risk / bound - 1)


def _add_distortions(rows: Rows, problem: Problem, multiples: list[float]) -> None:
    """Measure the length of objective perturbation's noise in theta over that of output perturbation."""
    eigenvalue, (zeta, lam) = _TIED * problem.p**2, problem.bounds
    for multiple in multiples:
        curvature = eigenvalue / multiple
        if curvature < 2 * lam / problem.epsilon:
            raise ConfigError(
                f"gram_multiples: {multiple:g} makes Delta={curvature:.4g} at p={problem.p}, below 2 lambda/epsilon; "
                "take smaller multiples"
            )
        law, guarantee = problem.law("gamma", curvature)
        released, _ = output.calibrate(zeta / curvature, Budget(problem.epsilon), calibration=problem.calibration)
        ratio = law.scale / (eigenvalue + curvature) / released.scale
        here = rows.at(
            dataset="hadamard", variant="gamma", delta=0.0, n=eigenvalue, row="distort", guarantee=guarantee,
            gram_multiple=multiple,
        )  # fmt: skip
        here.add("noise_ratio", ratio)
        here.add("excess", ratio - 1 if multiple > 1 else 1 - ratio)


def _add_lengths(rows: Rows, problem: Problem, gammas: list[float]) -> None:
    """Measure quantiles of B with Theorem 4's Delta, and the paper's bounds on it."""
    (zeta, _), p = problem.bounds, problem.p
    unit = zeta / problem.epsilon
    for noise in NOISES:
        law, guarantee = problem.law(noise, problem.curvature("theorem-4", noise))
        here = rows.at(
            dataset="no-data", variant=noise, delta=problem.budget(noise).delta, row="length", guarantee=guarantee
        )
        for share in QUANTILES:
            length = float(isotropic.length_quantile(law, p, share))
            here.add("noise_length", length / unit, quantile=share)
        bounds = {"lemma-27": lambda gamma: p * math.log(p / gamma)} if noise == "gamma" else {
            "d12-printed": lambda gamma: math.sqrt(noise_lengths.printed_square(p, gamma)),
            "d12-mended": lambda gamma: math.sqrt(noise_lengths.mended_square(p, gamma)),
        }  # fmt: skip
        for row, gamma in itertools.product(bounds, gammas):
            bound = law.scale * bounds[row](gamma)
            here.add("length_bound", bound / unit, row=row, gamma=gamma)


def crossover(epsilon: float, delta: float, calibration: str, neighbours: str) -> int:
    """Return the least p from which on Gaussian noise is better, by bisection: the ratio rises from p = 8 on."""

    def better(p: int) -> bool:
        problem, n = Problem(p, epsilon, delta, calibration, neighbours), _TIED * p**2
        gamma, gauss = (mean_risk(problem, "theorem-4", noise, "extremal", n).risk for noise in NOISES)
        return gauss < gamma

    low, high = _LEAST - 1, _LEAST
    while not better(high):
        low, high = high, 2 * high
        if high > _MOST:
            raise ConfigError(f"delta={delta:g}: Gaussian noise is not better at any p up to {_MOST}; raise delta")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if better(middle) else (middle, high)
    return high


def _add_runs(rows: Rows, cell: Cell, problem: Problem) -> None:
    """Measure the excess risks of Algorithm 1 itself on the extremal design."""
    p, n = problem.p, _TIED * problem.p**2
    theta_hat = np.full(p, 0.5)
    for noise in NOISES:
        curvature = problem.curvature("theorem-4", noise)
        released = objective.release_gram(
            curvature * np.eye(p), curvature * theta_hat, domain=problem.domain, region=problem.region,
            budget=problem.budget(noise), neighbours=problem.neighbours, calibration=problem.calibration,
            curvature=curvature, repeats=cell.settings.repeats,
            rng=cell.rng(problem.calibration, problem.neighbours, p, noise, "run"),
        )  # fmt: skip
        risks = 0.5 * curvature * ((released.theta - theta_hat) ** 2).sum(axis=1) / n
        rows.add(
            "run_risk", risks, released.converged,
            dataset="extremal", variant=noise, delta=problem.budget(noise).delta, n=n, row="run", sizing="100 p^2",
            guarantee=released.guarantee,
        )  # fmt: skip
