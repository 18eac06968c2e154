r"""Theorem 8 of jain2013 measured: the error of TDIL over the whole input ball, over n lambda and d.

w* is fixed, ||w*|| = C = 1, R = L = L_phi = 1, lambda = 1, so n = n lambda; no record is drawn. For a linear kernel

    S = sup_{||z|| <= 1} |<w^ - w*, z>| = ||w^ - w*||.

Theorem 8 promises, w.p. 1 - beta, S <= c R d^{1/3} L^{8/3} ln(L_phi) log(1/beta) log^2(1/delta)/((lambda^2 n)^{2/3}
sqrt(epsilon)); ln(L_phi) = 0 here, so the column `bound` (as printed) is 0, and `bound_reread` has 1 + ln(1 + L_phi)
for it (erratum J16). Theorem 14: if every z_t is within d L R^2 (1 + ln(1 + L_phi)) ln(1/beta)/(lambda eps0 n) of the
best, S is at most mu = max(||w*|| R/(2 sigma epsilon), d L^2 R^6 (1 + ln(1 + L_phi)) ln(1/beta) ||w*||^2/(sigma^2
lambda^2 n^2 epsilon)).

Series, by the column `series`:

    grid       S over n lambda and d, linear kernel: `tdil` (paper, corrected: the chain of `lengths`; tight: as it
               runs, to the d whose kernel ridge is affordable), `explicit_output` (||N(0, sigma^2 I)||), `cms11`
               (Algorithm 1 there: ||b||, Gamma of shape d), `trivial` (w = 0). `violated`: S above mu, of the repeats
               whose z met Theorem 14's premise, numbered anew (`gamma` is beta; of `premise_repeats` more if few do);
    wide       S of paper and corrected over d far beyond, of fewer repeats;
    degrees    d = 2, kernels <x, v>^k, k = 1, 2, 3, in d_phi = k + 1 dimensions; z from a public net of the disc; S is
               taken on 2,000 directions (the error is homogeneous);
    spaces     the same of paper and corrected at degrees of which d_phi is large, with a net of directions (the score
               is largest on the circle) and w* proportional to the sum of phi at four of them, 45 degrees apart;
    needed     the n lambda at which S falls to 0.1, of each repeat, by interpolation of log S; noise that is exactly
               inverse to n lambda needs no grid; `crossing`: the d at which S rises to 0.5, likewise, from `wide`, of
               tight from `grid`. They stand where every repeat crosses; elsewhere the rows are `unknown`;
    sampler    Section 6.2's sampler of exp(c |<z, u>|): `proposals` a draw (means of 1,000), and `ks_excess`, the upper
               end D + 0.0043 of the distance of 100,000 draws of t from its law, less 0.01 (0.0043: Dvoretzky, Kiefer &
               Wolfowitz with Massart's constant at 5 %);
    net        `net_digits`, log10 (4/nu)^d with the printed nu.

`vacuous` is 1 where TDIL's B < 1 or sigma >= C R/2, or `bound_reread` is at least C R L. `crossing` asks for S = C R/2,
where Theorem 8 says nothing any more: there B and sigma alone count, which of tight, whose sigma grows with d, are left
aside. Neighbours: replace-one.

References
----------
jain2013, Section 6.2, Algorithm 3, Theorems 8 and 14; errata J1, J16, J17.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dperm.domain import Budget, Domain
from dperm.losses import logistic
from dperm.mechanisms import cms11
from dperm.mechanisms.kernel import ball_law, constants, tdil
from dperm.mechanisms.kernel.constants import Setting
from dperm_papers.jain2013.thm8 import lengths
from dperm_papers.jain2013.thm8.settings import Settings
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

CALIBRATIONS = ("paper", "corrected", "tight")
# S that "needed" and "crossing" ask for.
_ACCURATE, _HALF = 0.1, 0.5
# What stands for ln(L_phi) as re-read, L_phi = 1.
_REREAD = 1 + math.log(2)
_SLACK = 0.05
_DRAWS, _BLOCKS, _DKW, _DISTANCE = 100_000, 100, 0.0043, 0.01
_DIRECTIONS, _NET = 2000, 0.05
# Degrees at which d_phi is large beside d = 2.
_LARGE = (7, 31, 63)


def run(cell: Cell, rows: Rows) -> None:
    """Measure one series, or all."""
    settings = cell.settings
    rows = rows.at(
        mechanism="tdil", calibration="paper", dataset="ball", epsilon=settings.epsilon, delta=settings.delta,
        degree=1, d_phi=0, concentration=0.0, bound=0.0, bound_reread=0.0, vacuous=0, idle=0, gamma=0.0, total=0.0,
    )  # fmt: skip
    for series in cell.parts(*_SERIES):
        _SERIES[series](cell, rows.at(series=series))
    found = rows.frame()
    _crossings(rows, found[found["metric"] == "error"])


def theorem8_bound(total: float, d: int, settings: Settings, logarithm: float) -> float:
    """Return the expression of Theorem 8 with the constant 1, R = L = lambda = 1, and `logarithm` for ln(L_phi)."""
    logs = math.log(1 / settings.gammas[0]) * math.log(1 / settings.delta) ** 2
    return d ** (1 / 3) * logarithm * logs / (total ** (2 / 3) * math.sqrt(settings.epsilon))


def _setting(total: float) -> Setting:
    exact = Setting(1.0, 1.0, total, 1.0)
    return Setting(1.0, 1.0, total, 1.0, slack=_SLACK * exact.shift)


def _at(rows: Rows, settings: Settings, total: float, d: int, made: tdil.Constants | None = None) -> Rows:
    """Return rows at a grid point, of one calibration; `idle` is 1 where its constants alone are vacuous."""
    bound, reread = (theorem8_bound(total, d, settings, logarithm) for logarithm in (0.0, _REREAD))
    rows = rows.at(total=total, d=d, gamma=settings.gammas[0], bound=bound, bound_reread=reread)
    if made is None:
        return rows
    vacuous = int(_vacuous(settings, total, d, made))
    return rows.at(calibration=made.calibration, guarantee=made.guarantee, vacuous=vacuous, idle=int(made.vacuous))


def _vacuous(settings: Settings, total: float, d: int, made: tdil.Constants) -> bool:
    return made.vacuous or theorem8_bound(total, d, settings, _REREAD) >= 1


def _made(settings: Settings, total: float, d: int, calibration: str) -> tdil.Constants:
    budget = Budget(settings.epsilon, settings.delta)
    return tdil.constants(
        _setting(total), budget, records=total, dimension=d, beta=settings.gammas[0], calibration=calibration
    )


def _grid(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for total in map(float, settings.totals):
        for d in settings.features:
            for how in CALIBRATIONS:
                if how != "tight" or d <= settings.dimension:
                    _learned(cell, rows, total, d, how)
            rng = cell.rng("others", total, d)
            for name, calibration, guarantee, values in _others(settings, total, d, rng):
                here = _at(rows, settings, total, d).at(mechanism=name, calibration=calibration, guarantee=guarantee)
                here.add("error", values)


def _learned(cell: Cell, rows: Rows, total: float, d: int, how: str) -> None:
    """Measure S of TDIL, and of the printed one what Theorem 14 says."""
    settings, repeats = cell.settings, cell.settings.repeats
    rng, made = cell.rng("grid", how, total, d), _made(settings, total, d, how)
    if how == "tight":
        found = tdil.run_linear(made, _setting(total), np.eye(1, d)[0], rng=rng, repeats=repeats)
        off, shortfall = np.linalg.norm(found.w - np.eye(1, d), axis=1), found.shortfall
    else:
        off, shortfall = lengths.run(made, 1.0, d, rng=rng, repeats=repeats)
    here = _at(rows, settings, total, d, made)
    here.add("error", off)
    if how == "paper" and made.rounds:
        premise = d * _REREAD * math.log(1 / settings.gammas[0]) * (1 / made.epsilon0) / total
        kept = off[shortfall <= premise]
        if 0 < len(kept) < repeats / 2 and not _vacuous(settings, total, d, made):
            # The theorem speaks of runs that meet its premise: there have to be enough of them.
            more = cell.rng("premise", total, d)
            off, shortfall = lengths.run(made, 1.0, d, rng=more, repeats=settings.premise_repeats)
            kept = np.concatenate([kept, off[shortfall <= premise]])
        if len(kept):
            here.add("violated", kept > theorem14_mu(made, total, d, settings))


def theorem14_mu(made: tdil.Constants, total: float, d: int, settings: Settings) -> float:
    """Return mu of Theorem 14 with 1 + ln(1 + L_phi) for ln(L_phi), R = L = lambda = L_phi = ||w*|| = 1."""
    sigma, epsilon = made.threshold, settings.epsilon
    second = d * _REREAD * math.log(1 / settings.gammas[0]) / (sigma**2 * total**2 * epsilon)
    return max(1 / (2 * sigma * epsilon), second)


def _others(
    settings: Settings, total: float, d: int, rng: np.random.Generator
) -> Iterator[tuple[str, str, str, np.ndarray]]:
    """Give mechanism, calibration, guarantee and S of what a user would pick instead."""
    sigma = constants.sigma(_setting(total), Budget(settings.epsilon, settings.delta))
    yield "explicit_output", "tight", "proved", sigma * np.sqrt(rng.chisquare(d, settings.repeats))
    made = cms11.calibrate(
        logistic(), Domain(x_norm=1.0), Budget(settings.epsilon, 0.0), perturbation="output", curvature=total
    )
    yield "cms11", "paper", made.guarantee, rng.gamma(d, made.noise.scale, settings.repeats)
    yield "trivial", "paper", "proved", np.ones(settings.repeats)


def polynomial_map(points: np.ndarray, degree: int) -> np.ndarray:
    """Return phi, shape (m, degree + 1), of points of the plane, with <phi(x), phi(v)> = <x, v>^degree."""
    powers = [
        math.sqrt(math.comb(degree, a)) * points[:, 0] ** a * points[:, 1] ** (degree - a) for a in range(degree + 1)
    ]
    return np.column_stack(powers)


def _degrees(cell: Cell, rows: Rows) -> None:
    settings, net = cell.settings, tdil.net(2, _NET)
    for degree in settings.degrees:
        features, surface = polynomial_map(net, degree), polynomial_map(_circle(), degree)
        target = np.full(degree + 1, (degree + 1) ** -0.5)
        for total in map(float, settings.net_totals):
            for how in CALIBRATIONS:
                made, rng = _made(settings, total, 2, how), cell.rng("degrees", how, total, degree)
                answers = features @ target
                found = tdil.run(made, _setting(total), features, answers, rng=rng, repeats=settings.repeats)
                worst = np.abs((found.w - target) @ surface.T).max(axis=1)
                _at(rows, settings, total, 2, made).add("error", worst, degree=degree, d_phi=degree + 1)


def _spaces(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for degree in _LARGE:
        surface = polynomial_map(_circle(), degree)
        target = surface[:: _DIRECTIONS // 4].sum(axis=0)
        target /= np.linalg.norm(target)
        features = surface[::4]
        for total in map(float, settings.net_totals):
            for how in ("paper", "corrected"):
                made, rng = _made(settings, total, 2, how), cell.rng("spaces", how, total, degree)
                answers, repeats = features @ target, settings.side_repeats
                found = tdil.run(made, _setting(total), features, answers, rng=rng, repeats=repeats)
                worst = np.abs((found.w - target) @ surface.T).max(axis=1)
                _at(rows, settings, total, 2, made).add("error", worst, degree=degree, d_phi=degree + 1)


def _circle() -> np.ndarray:
    angles = math.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _wide(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for total in map(float, settings.wide_totals):
        for d in settings.wide_features:
            for how in ("paper", "corrected"):
                made, rng = _made(settings, total, d, how), cell.rng("wide", how, total, d)
                off, _ = lengths.run(made, 1.0, d, rng=rng, repeats=settings.side_repeats)
                _at(rows, settings, total, d, made).add("error", off)


def _sampler(cell: Cell, rows: Rows) -> None:
    for d in cell.settings.features:
        for concentration in map(float, cell.settings.concentrations):
            rng = cell.rng("sampler", d, concentration)
            s, proposals = ball_law.heights(np.full(_DRAWS, concentration), d, rng)
            here = rows.at(d=d, concentration=concentration, guarantee="proved")
            here.add("proposals", proposals.reshape(_BLOCKS, -1).mean(axis=1))
            here.add("ks_excess", distance(s, concentration, d) + _DKW - _DISTANCE)


def distance(s: np.ndarray, concentration: float, d: int) -> float:
    """Return the greatest distance between the empirical law of s = 1 - |t|, in (0, 1], and its law.

    By the trapezoid rule on a grid that is fine where the density, e^{-c s} (s (2 - s))^{(d - 1)/2}, is.
    """
    a, ordered = 0.5 * (d - 1), np.sort(s)
    # A grid of the draws' own range, well beyond on either side, and as fine at 0, where s may be tiny.
    low, high = max(ordered[0] / 1e3, 1e-300), min(1.0, 4 * ordered[-1])
    nodes = np.unique(np.concatenate([np.geomspace(low, high, 200_001), np.linspace(low, high, 200_001)]))
    log_density = -concentration * nodes + a * np.log(nodes * (2 - nodes))
    density = np.exp(log_density - log_density.max())
    mass = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(nodes))])
    law, m = np.interp(ordered, nodes, mass / mass[-1]), len(ordered)
    return float(max((np.arange(1, m + 1) / m - law).max(), (law - np.arange(m) / m).max()))


def _net(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for total in map(float, settings.totals):
        for d in settings.features:
            rows.add("net_digits", d * math.log10(4 / _made(settings, total, d, "paper").radius), total=total, d=d)


_SERIES = {"grid": _grid, "wide": _wide, "degrees": _degrees, "spaces": _spaces, "sampler": _sampler, "net": _net}


def _crossings(rows: Rows, error: pd.DataFrame) -> None:
    """Add, for each repeat, the n lambda at which S falls to 0.1 and the d at which it rises to 0.5."""
    grid = error[(error["series"] == "grid") & (error["mechanism"] != "trivial")]
    learned = grid["mechanism"] == "tdil"
    exact = grid[~learned & (grid["total"] == grid["total"].min())]
    for _, part in exact.groupby(["d", "mechanism"], sort=False):
        reached = (part["total"] * part["value"] / _ACCURATE).to_numpy()
        rows.at(**_columns(part)).add("needed", reached, series="needed")
    _crossed(rows, grid[learned], "needed", "d", "total", _ACCURATE, -1)
    tight = grid[learned & (grid["calibration"] == "tight")]
    wide = error[(error["series"] == "wide") & (error["idle"] == 0)]
    _crossed(rows, pd.concat([tight, wide]), "crossing", "total", "d", _HALF, 1)


def _crossed(rows: Rows, error: pd.DataFrame, metric: str, over: str, along: str, level: float, sign: int) -> None:
    """Add where S crosses a level along one column, for each value of another at which all repeats cross it."""
    for _, own in error.groupby("calibration", sort=True):
        crossed = []
        for _, part in own.groupby(over, sort=True):
            table = part.pivot(index="repeat", columns=along, values="value")
            found = crossing(np.log(table.columns.to_numpy(float)), sign * np.log(table.to_numpy() / level))
            first = part[part[along] == part[along].min()]
            crossed.append((rows.at(**_columns(first)).at(series=metric, vacuous=0), np.exp(found)))
        # Where some repeats stay on one side of the level the others' mean is not that of all.
        whole = [(here, found) for here, found in crossed if np.isfinite(found).all()]
        for here, found in whole or [(here, np.full(len(found), np.nan)) for here, found in crossed]:
            here.add(metric, found)


def _columns(part: pd.DataFrame) -> dict[str, Any]:
    return part.drop(columns=["repeat", "metric", "value", "status"]).iloc[0].to_dict()


def crossing(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where each row of values last comes from below 0 to 0 or above, linear between grid points x.

    NaN where a row does not end at 0 or above, or is never below.
    """
    found = np.full(len(values), math.nan)
    for k, row in enumerate(values):
        below = np.flatnonzero(row < 0)
        if len(below) and below[-1] < len(x) - 1:
            j = below[-1]
            found[k] = x[j] + (x[j + 1] - x[j]) * -row[j] / (row[j + 1] - row[j])
    return found
