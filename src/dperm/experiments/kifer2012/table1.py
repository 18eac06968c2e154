r"""Table 1 of kifer2012: excess empirical risk of private linear regression over p and n, beside its bounds.

Setting (Section 2.2.3): l = (y - <x, theta>)^2/2, ||x||_2 <= sqrt(p), |y| <= p, F = {||theta||_2 <= sqrt(p)}; hence
zeta = 2 p^{3/2}, lambda = p. The three rows of the table are three choices of noise and of Delta (constants under
Theta(.) are 1, T = ||theta_hat||_2):

    theorem-4.1   gamma noise,     Delta = zeta p log p/(epsilon T),
    theorem-4.2   Gaussian noise,  Delta = zeta sqrt(p log(1/delta))/(epsilon T),
    theorem-5     Gaussian noise,  Delta = 2 lambda/epsilon.

Designs: the squared loss knows the records by X'X and X'y alone, so nothing but these is ever made, whatever n is.

    extremal  X'X = Delta I (sqrt(Delta/p) of the rows along each axis, the others 0), y = X theta_hat with
              theta_hat = (1/2, ..., 1/2): the instance that attains Theorem 4 (erratum K7);
    hadamard  X'X = n I (stacked rows of a Hadamard matrix), the same theta_hat: benign, with minimum eigenvalue n.

On both theta_hat fits exactly, so the excess is (theta - theta_hat)'X'X(theta - theta_hat)/(2 n).

Bounds with beta = zeta sqrt(8 log(2/delta) + 4 epsilon)/epsilon, eta the least eigenvalue of X'X, each failing with
probability at most gamma:

    Theorem 26.1   8 zeta^2 p^2 log^2(p/gamma)/(n epsilon^2 Delta) + Delta T^2/(2 n),
    Theorem 26.2   4 p beta^2 log(1/gamma)/(n Delta) + Delta T^2/(2 n),
    Theorem 31     4 p beta^2 log(1/gamma)/(n (Delta + eta)) + Delta T^2/(2 n)             (for theorem-5).

Neighbours: add/remove (Definition 1).
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dperm import losses, seeds
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.feasible import Region
from dperm.mechanisms import base, objective


class _Case(NamedTuple):
    """One row of the table on one design: everything but the noise."""

    row: str
    design: str
    n: int
    p: int
    delta: float
    curvature: float
    eigenvalue: float
    sizing: str

    @property
    def theta_hat(self) -> np.ndarray:
        return np.full(self.p, 0.5)

    @property
    def length(self) -> float:
        """T = ||theta_hat||_2."""
        return math.sqrt(self.p) / 2


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of one calibration at one p: every row of the table, design and n, every repeat.

    Parameters
    ----------
    cell : mapping
        As `dperm.plan` made it.

    Returns
    -------
    DataFrame
        Metrics `excess_risk`; for each gamma `bound`, and `violated`, 1 where a repeat's excess is above it.
    """
    settings = cell["settings"]
    p, epsilon = int(cell["point"]["p"]), settings["epsilon"]
    domain, region = Domain(x_norm=math.sqrt(p), y_bound=float(p)), Region(radius=math.sqrt(p))
    loss, frames = losses.squared(), []
    zeta, lam = base.bounds(loss, base.searched(domain, region, p))
    for case in _cases(settings, p, zeta, lam):
        names = (cell["calibration"], cell["neighbours"], p, case.row, case.design, case.n)
        released = objective.release_gram(
            case.eigenvalue * np.eye(p), case.eigenvalue * case.theta_hat,
            domain=domain, region=region, budget=Budget(epsilon, case.delta), neighbours=cell["neighbours"],
            calibration=cell["calibration"], curvature=case.curvature, repeats=settings["repeats"],
            rng=seeds.generator(cell["seed"], cell["experiment"], *names),
        )  # fmt: skip
        away = released.theta - case.theta_hat
        excess = 0.5 * case.eigenvalue * np.einsum("rj,rj->r", away, away) / case.n
        head = {
            **{key: cell[key] for key in ("paper", "experiment", "mechanism", "calibration", "neighbours")},
            "variant": "gaussian" if case.delta else "gamma", "guarantee": released.guarantee, "dataset": case.design,
            "epsilon": epsilon, "delta": case.delta, "p": p, "n": case.n, "row": case.row, "sizing": case.sizing,
            "gamma": 0.0,
        }  # fmt: skip
        status = np.where(released.converged, "ok", "failed")
        frames.append(_frame(head, "excess_risk", excess, status))
        for gamma in settings["gammas"]:
            bound = _bound(case, epsilon, gamma, zeta)
            head["gamma"] = gamma
            frames.append(_frame(head, "bound", np.array([bound]), np.array(["ok"])))
            frames.append(_frame(head, "violated", (excess > bound).astype(float), status))
    return pd.concat(frames, ignore_index=True)


def _cases(settings: Mapping[str, Any], p: int, zeta: float, lam: float) -> Iterator[_Case]:
    epsilon, delta, length = settings["epsilon"], settings["delta"], math.sqrt(p) / 2
    curvatures = {
        "theorem-4.1": (0.0, zeta * p * math.log(p) / (epsilon * length)),
        "theorem-4.2": (delta, zeta * math.sqrt(p * math.log(1 / delta)) / (epsilon * length)),
        "theorem-5": (delta, 2 * lam / epsilon),
    }
    for row, (used, curvature) in curvatures.items():
        # Theorem 5 asks for n >= p^2, and for noise that seldom leaves F, at every p.
        sizes = [("fixed", n) for n in settings["sizes"]] + [("100 p^2", 100 * p * p)] * (row == "theorem-5")
        for sizing, n in sizes:
            if curvature > n:
                raise ConfigError(
                    f"sizes: n={n} is below Delta={curvature:.4g} at p={p}, which the extremal design needs rows for; "
                    "take larger sizes or smaller p"
                )
            for design in settings["designs"]:
                eigenvalue = {"extremal": curvature, "hadamard": float(n)}[design]
                yield _Case(row, design, int(n), p, used, curvature, eigenvalue, sizing)


def _bound(case: _Case, epsilon: float, gamma: float, zeta: float) -> float:
    """Return what the excess risk stays below with probability 1 - gamma, by the theorem of the row."""
    bias = case.curvature * case.length**2 / (2 * case.n)
    if case.delta == 0:
        spread = 8 * zeta**2 * case.p**2 * math.log(case.p / gamma) ** 2
        return spread / (case.n * epsilon**2 * case.curvature) + bias
    beta = zeta * math.sqrt(8 * math.log(2 / case.delta) + 4 * epsilon) / epsilon
    convexity = case.curvature + (case.eigenvalue if case.row == "theorem-5" else 0.0)
    return 4 * case.p * beta**2 * math.log(1 / gamma) / (case.n * convexity) + bias


def _frame(head: Mapping[str, Any], metric: str, values: np.ndarray, status: np.ndarray) -> pd.DataFrame:
    values = np.where(status == "ok", values, np.nan)
    return pd.DataFrame({**head, "repeat": np.arange(len(values)), "metric": metric, "value": values, "status": status})
