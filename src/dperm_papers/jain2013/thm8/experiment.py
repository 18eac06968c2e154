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
               whose z met Theorem 14's premise, numbered anew (`gamma` is beta);
    wide       S of paper and corrected over d far beyond, of fewer repeats;
    degrees    d = 2, kernels <x, v>^k, k = 1, 2, 3, in d_phi = k + 1 dimensions; z from a public net of the disc; S is
               taken on 2,000 directions (the error is homogeneous);
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
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dperm import seeds
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.losses import logistic
from dperm.mechanisms import cms11
from dperm.mechanisms.kernel import ball_law, constants, tdil
from dperm.mechanisms.kernel.constants import Setting
from dperm_papers.jain2013.thm8 import lengths

CALIBRATIONS = ("paper", "corrected", "tight")
# S that "needed" and "crossing" ask for.
_ACCURATE, _HALF = 0.1, 0.5
# What stands for ln(L_phi) as re-read, L_phi = 1.
_REREAD = 1 + math.log(2)
_SLACK = 0.05
_DRAWS, _BLOCKS, _DKW, _DISTANCE = 100_000, 100, 0.0043, 0.01
_DIRECTIONS, _NET = 2000, 0.05
_BLANK = {
    "degree": 1, "d_phi": 0, "concentration": 0.0, "bound": 0.0, "bound_reread": 0.0, "vacuous": 0, "idle": 0,
    "gamma": 0.0, "calibration": "paper", "guarantee": "none", "mechanism": "tdil", "total": 0.0,
}  # fmt: skip


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of one series, or of all.

    - cell: as `dperm_pipeline.plan` made it.
    - Returns: as the module says.
    - Raises ConfigError: if there is no such part.
    """
    part, settings = cell["point"]["part"], cell["settings"]
    if part not in (*_SERIES, "all"):
        raise ConfigError(f"part: {part!r} is none of jain2013-thm8; choose from {', '.join(_SERIES)}, all")
    frames = []
    for series in _SERIES if part == "all" else [part]:
        for found in _SERIES[series](cell):
            value = np.asarray(found["value"], float)
            frames.append(pd.DataFrame({**_BLANK, "series": series, **found, "repeat": np.arange(len(value))}))
    rows = pd.concat(frames, ignore_index=True)
    rows = pd.concat([rows, *_crossings(rows[rows["metric"] == "error"])], ignore_index=True)
    head = {key: cell[key] for key in ("paper", "experiment", "neighbours")}
    head |= {"dataset": "ball", "variant": "", "epsilon": settings["epsilon"], "delta": settings["delta"]}
    return rows.assign(**head, status=np.where(rows["value"].isna(), "unknown", "ok"))


def theorem8_bound(total: float, d: int, settings: Mapping[str, Any], logarithm: float) -> float:
    """Return the expression of Theorem 8 with the constant 1, R = L = lambda = 1, and `logarithm` for ln(L_phi).

    - total: n.
    - settings: `epsilon`, `delta` and `gammas`, whose first is beta.
    """
    logs = math.log(1 / settings["gammas"][0]) * math.log(1 / settings["delta"]) ** 2
    return d ** (1 / 3) * logarithm * logs / (total ** (2 / 3) * math.sqrt(settings["epsilon"]))


def _setting(total: float) -> Setting:
    exact = Setting(1.0, 1.0, total, 1.0)
    return Setting(1.0, 1.0, total, 1.0, slack=_SLACK * exact.shift)


def _told(settings: Mapping[str, Any], total: float, d: int) -> dict[str, Any]:
    reread = theorem8_bound(total, d, settings, _REREAD)
    return {
        "total": total, "d": d, "gamma": settings["gammas"][0], "bound": theorem8_bound(total, d, settings, 0.0),
        "bound_reread": reread,
    }  # fmt: skip


def _own(told: Mapping[str, Any], made: tdil.Constants) -> dict[str, Any]:
    """The columns of one calibration; `idle` where its constants alone are vacuous."""
    vacuous = int(made.vacuous or told["bound_reread"] >= 1)
    own = {"calibration": made.calibration, "guarantee": made.guarantee, "vacuous": vacuous, "idle": int(made.vacuous)}
    return {**told, **own}


def _made(settings: Mapping[str, Any], total: float, d: int, calibration: str) -> tdil.Constants:
    budget = Budget(settings["epsilon"], settings["delta"])
    return tdil.constants(
        _setting(total), budget, records=total, dimension=d, beta=settings["gammas"][0], calibration=calibration
    )


def _grid(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    settings, repeats = cell["settings"], cell["settings"]["repeats"]
    for total in map(float, settings["totals"]):
        for d in settings["features"]:
            told = _told(settings, total, d)
            for how in CALIBRATIONS:
                if how != "tight" or d <= settings["dimension"]:
                    yield from _learned(cell, total, d, how, told)
            rng = seeds.generator(cell["seed"], cell["experiment"], "others", total, d)
            for name, calibration, guarantee, values in _others(settings, total, d, rng, repeats):
                method = {"mechanism": name, "calibration": calibration, "guarantee": guarantee}
                yield {**told, **method, "metric": "error", "value": values}


def _learned(
    cell: Mapping[str, Any], total: float, d: int, how: str, told: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Give S of TDIL, and of the printed one what Theorem 14 says."""
    settings, repeats = cell["settings"], cell["settings"]["repeats"]
    rng = seeds.generator(cell["seed"], cell["experiment"], "grid", how, total, d)
    made = _made(settings, total, d, how)
    if how == "tight":
        found = tdil.run_linear(made, _setting(total), np.eye(1, d)[0], rng=rng, repeats=repeats)
        off, shortfall = np.linalg.norm(found.w - np.eye(1, d), axis=1), found.shortfall
    else:
        off, shortfall = lengths.run(made, 1.0, d, rng=rng, repeats=repeats)
    own = _own(told, made)
    yield {**own, "metric": "error", "value": off}
    beta = settings["gammas"][0]
    premise = d * _REREAD * math.log(1 / beta) * (1 / made.epsilon0) / total if how == "paper" else 0.0
    met = shortfall <= premise
    if how == "paper" and made.rounds and met.any():
        yield {**own, "metric": "violated", "value": (off[met] > theorem14_mu(made, total, d, settings)).astype(float)}


def theorem14_mu(made: tdil.Constants, total: float, d: int, settings: Mapping[str, Any]) -> float:
    """Return mu of Theorem 14 with 1 + ln(1 + L_phi) for ln(L_phi), R = L = lambda = L_phi = ||w*|| = 1.

    - made: give sigma.
    - total: n.
    - settings: `epsilon` and `gammas`, whose first is beta.
    """
    sigma, epsilon = made.threshold, settings["epsilon"]
    second = d * _REREAD * math.log(1 / settings["gammas"][0]) / (sigma**2 * total**2 * epsilon)
    return max(1 / (2 * sigma * epsilon), second)


def _others(
    settings: Mapping[str, Any], total: float, d: int, rng: np.random.Generator, repeats: int
) -> Iterator[tuple[str, str, str, np.ndarray]]:
    """Give mechanism, calibration, guarantee and S of what a user would pick instead."""
    sigma = constants.sigma(_setting(total), Budget(settings["epsilon"], settings["delta"]))
    yield "explicit_output", "tight", "proved", sigma * np.sqrt(rng.chisquare(d, repeats))
    made = cms11.calibrate(
        logistic(), Domain(x_norm=1.0), Budget(settings["epsilon"], 0.0), perturbation="output", curvature=total
    )
    yield "cms11", "paper", made.guarantee, rng.gamma(d, made.noise.scale, repeats)
    yield "trivial", "paper", "proved", np.ones(repeats)


def polynomial_map(points: np.ndarray, degree: int) -> np.ndarray:
    """Return phi with <phi(x), phi(v)> = <x, v>^degree in two dimensions.

    - points: shape (m, 2).
    - Returns: shape (m, degree + 1).
    """
    powers = [
        math.sqrt(math.comb(degree, a)) * points[:, 0] ** a * points[:, 1] ** (degree - a) for a in range(degree + 1)
    ]
    return np.column_stack(powers)


def _degrees(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    settings, net = cell["settings"], tdil.net(2, _NET)
    angles = math.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    for degree in settings["degrees"]:
        features, surface = polynomial_map(net, degree), polynomial_map(circle, degree)
        target = np.full(degree + 1, (degree + 1) ** -0.5)
        for total in map(float, settings["net_totals"]):
            told = {**_told(settings, total, 2), "degree": degree, "d_phi": degree + 1, "metric": "error"}
            for how in CALIBRATIONS:
                made = _made(settings, total, 2, how)
                rng = seeds.generator(cell["seed"], cell["experiment"], "degrees", how, total, degree)
                found = tdil.run(
                    made, _setting(total), features, features @ target, rng=rng, repeats=settings["repeats"]
                )
                worst = np.abs((found.w - target) @ surface.T).max(axis=1)
                yield {**_own(told, made), "value": worst}


def _wide(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    settings = cell["settings"]
    for total in map(float, settings["wide_totals"]):
        for d in settings["wide_features"]:
            for how in ("paper", "corrected"):
                rng = seeds.generator(cell["seed"], cell["experiment"], "wide", how, total, d)
                made = _made(settings, total, d, how)
                off, _ = lengths.run(made, 1.0, d, rng=rng, repeats=settings["side_repeats"])
                yield {**_own(_told(settings, total, d), made), "metric": "error", "value": off}


def _sampler(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for d in cell["settings"]["features"]:
        for concentration in map(float, cell["settings"]["concentrations"]):
            rng = seeds.generator(cell["seed"], cell["experiment"], "sampler", d, concentration)
            s, proposals = ball_law.heights(np.full(_DRAWS, concentration), d, rng)
            told = {"d": d, "concentration": concentration, "guarantee": "proved"}
            yield {**told, "metric": "proposals", "value": proposals.reshape(_BLOCKS, -1).mean(axis=1)}
            yield {**told, "metric": "ks_excess", "value": [distance(s, concentration, d) + _DKW - _DISTANCE]}


def distance(s: np.ndarray, concentration: float, d: int) -> float:
    """Return the greatest distance between the empirical law of s = 1 - |t| and its law.

    - s: shape (m,); in (0, 1].
    - concentration: c.
    - d: 2 or above.
    - Returns: by the trapezoid rule on a grid that is fine where the density, e^{-c s} (s (2 - s))^{(d - 1)/2}, is.
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


def _net(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    settings = cell["settings"]
    for total in map(float, settings["totals"]):
        for d in settings["features"]:
            nu = _made(settings, total, d, "paper").radius
            yield {"total": total, "d": d, "metric": "net_digits", "value": [d * math.log10(4 / nu)]}


_SERIES = {"grid": _grid, "wide": _wide, "degrees": _degrees, "sampler": _sampler, "net": _net}


def _crossings(error: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Give, for each repeat, the n lambda at which S falls to 0.1 and the d at which it rises to 0.5."""
    grid = error[(error["series"] == "grid") & (error["mechanism"] != "trivial")]
    learned = grid["mechanism"] == "tdil"
    exact = grid[~learned & (grid["total"] == grid["total"].min())]
    if len(exact):
        yield exact.assign(series="needed", metric="needed", value=exact["total"] * exact["value"] / _ACCURATE)
    yield from _crossed(grid[learned], "needed", "d", "total", _ACCURATE, -1)
    tight = grid[learned & (grid["calibration"] == "tight")]
    wide = error[(error["series"] == "wide") & (error["idle"] == 0)]
    yield from _crossed(pd.concat([tight, wide]), "crossing", "total", "d", _HALF, 1)


def _crossed(
    error: pd.DataFrame, metric: str, over: str, along: str, level: float, sign: int
) -> Iterator[pd.DataFrame]:
    """Give where S crosses a level along one column, for each value of another at which all repeats cross it."""
    for _, own in error.groupby("calibration", sort=True):
        crossed = []
        for _, part in own.groupby(over, sort=True):
            table = part.pivot(index="repeat", columns=along, values="value")
            found = crossing(np.log(table.columns.to_numpy(float)), sign * np.log(table.to_numpy() / level))
            first = part[part[along] == part[along].min()].assign(series=metric, metric=metric, vacuous=0)
            crossed.append((first, np.exp(found)))
        # Where some repeats stay on one side of the level the others' mean is not that of all.
        whole = [(first, found) for first, found in crossed if np.isfinite(found).all()]
        for first, found in whole or [(first, np.nan) for first, _ in crossed]:
            yield first.assign(value=found)


def crossing(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where each row last comes from below 0 to 0 or above, linear between grid points.

    - x: shape (m,); rising.
    - values: shape (repeats, m).
    - Returns: shape (repeats,); NaN where a row does not end at 0 or above, or is never below.
    """
    found = np.full(len(values), math.nan)
    for k, row in enumerate(values):
        below = np.flatnonzero(row < 0)
        if len(below) and below[-1] < len(x) - 1:
            j = below[-1]
            found[k] = x[j] + (x[j + 1] - x[j]) * -row[j] / (row[j + 1] - row[j])
    return found
