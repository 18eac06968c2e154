r"""Table 1 of kifer2012: excess empirical risk of private linear regression over p and n, beside its bounds.

Setting (Section 2.2.3): l = (y - <x, theta>)^2/2, ||x||_2 <= sqrt(p), |y| <= p, F = {||theta||_2 <= sqrt(p)}; hence
zeta = 2 p^{3/2}, lambda = p. The three rows of the table are three choices of noise and of Delta (constants under
Theta(.) are 1, T = ||theta_hat||_2):

    theorem-4.1   gamma noise,     Delta = zeta p log p/(epsilon T),
    theorem-4.2   Gaussian noise,  Delta = zeta sqrt(p log(1/delta))/(epsilon T),
    theorem-5     Gaussian noise,  Delta = 2 lambda/epsilon.

Designs: the squared loss knows the records by X'X and X'y alone, so nothing but these is ever kept, whatever n is.

    extremal    X'X = Delta I (sqrt(Delta/p) of the rows along each axis, the others 0), y = X theta_hat with
                theta_hat = (1/2, ..., 1/2): the instance that attains Theorem 4 (erratum K7);
    hadamard    X'X = n I (stacked rows of a Hadamard matrix), the same theta_hat: benign, with minimum eigenvalue n;
    rademacher  records that are really drawn, at the smallest n: x uniform on {-1, 1}^p, theta* = +-1 on p/4 columns
                (so ||theta*|| = sqrt(p)/2, as above), y = <x, theta*> + noise, clipped to [-p, p].

T = sqrt(p)/2 sets Delta; the bounds take each design's own T. With d = theta - theta_hat the excess is
(d'X'X d/2 + d'(X'X theta_hat - X'y))/n, whose second part is 0 where theta_hat is inside F.

Bounds with beta = zeta sqrt(8 log(2/delta) + 4 epsilon)/epsilon, eta the least eigenvalue of X'X, each failing with
probability at most gamma:

    Theorem 26.1   8 zeta^2 p^2 log^2(p/gamma)/(n epsilon^2 Delta) + Delta T^2/(2 n),
    Theorem 26.2   4 p beta^2 log(1/gamma)/(n Delta) + Delta T^2/(2 n),
    Theorem 31     4 p beta^2 log(1/gamma)/(n (Delta + eta)) + Delta T^2/(2 n)             (for theorem-5).

Neighbours: add/remove (Definition 1).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError, SolverError
from dperm.feasible import Region
from dperm.mechanisms import base, objective
from dperm.solvers import ball
from dperm_papers.kifer2012.shared import designs
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Share of the columns with an effect in the design rademacher: its ||theta*|| is then that of the other designs.
_EFFECTS = 4
# Rows of it that are drawn at once, and how near its theta_hat has to be certified, relative to the ball's radius.
_BLOCK, _NEAR = 2**15, 1e-9


class _Data(NamedTuple):
    """What the squared loss knows of n records, with its minimiser over F and the least eigenvalue of X'X."""

    n: int
    gram: np.ndarray
    moment: np.ndarray
    theta_hat: np.ndarray
    eigenvalue: float

    @property
    def length(self) -> float:
        """T = ||theta_hat||_2."""
        return float(np.linalg.norm(self.theta_hat))


class _Case(NamedTuple):
    """One row of the table on one design: everything but the noise."""

    row: str
    design: str
    data: _Data
    delta: float
    curvature: float
    sizing: str


def run(cell: Cell, rows: Rows) -> None:
    """Measure one calibration at one p: every row of the table, design and n, every repeat.

    Metrics `excess_risk`; for each gamma `bound`, and `violated`, 1 where a repeat's excess is above it.
    """
    settings = cell.settings
    p, epsilon = int(cell.point["p"]), settings.epsilon
    domain, region = Domain(x_norm=math.sqrt(p), y_bound=float(p)), Region(radius=math.sqrt(p))
    loss = losses.squared()
    zeta, lam = base.bounds(loss, base.searched(domain, region, p))
    for case in _cases(cell, p, zeta, lam):
        data = case.data
        released = objective.release_gram(
            data.gram, data.moment,
            domain=domain, region=region, budget=Budget(epsilon, case.delta), neighbours=cell.neighbours,
            calibration=cell.calibration, curvature=case.curvature, repeats=settings.repeats,
            rng=cell.rng(cell.calibration, cell.neighbours, p, case.row, case.design, data.n),
        )  # fmt: skip
        away = released.theta - data.theta_hat
        slope = data.gram @ data.theta_hat - data.moment
        excess = (0.5 * np.einsum("rj,rj->r", away @ data.gram, away) + away @ slope) / data.n
        here = rows.at(
            variant="gaussian" if case.delta else "gamma", guarantee=released.guarantee, dataset=case.design,
            epsilon=epsilon, delta=case.delta, p=p, n=data.n, row=case.row, sizing=case.sizing,
        )  # fmt: skip
        here.add("excess_risk", excess, released.converged, gamma=0.0)
        for gamma in settings.gammas:
            bound = _bound(case, epsilon, gamma, zeta)
            here.add("bound", bound, gamma=gamma)
            here.add("violated", (excess > bound).astype(float), released.converged, gamma=gamma)


def _cases(cell: Cell, p: int, zeta: float, lam: float) -> Iterator[_Case]:
    settings = cell.settings
    epsilon, delta, length = settings.epsilon, settings.delta, math.sqrt(p) / 2
    curvatures = {
        "theorem-4.1": (0.0, zeta * p * math.log(p) / (epsilon * length)),
        "theorem-4.2": (delta, zeta * math.sqrt(p * math.log(1 / delta)) / (epsilon * length)),
        "theorem-5": (delta, 2 * lam / epsilon),
    }
    drawn = None
    if "rademacher" in settings.designs:
        n = min(settings.sizes)
        drawn = _rademacher(n, p, cell.rng("data", p, "rademacher", n))
    for row, (used, curvature) in curvatures.items():
        # Theorem 5 asks for n >= p^2, and for noise that seldom leaves F, at every p.
        sizes = [("fixed", n) for n in settings.sizes] + [("100 p^2", 100 * p * p)] * (row == "theorem-5")
        for sizing, n in sizes:
            if curvature > n:
                raise ConfigError(
                    f"sizes: n={n} is below Delta={curvature:.4g} at p={p}, which the extremal design needs rows for; "
                    "take larger sizes or smaller p"
                )
            for design in settings.designs:
                if design == "rademacher" and (sizing, n) != ("fixed", drawn.n):
                    continue
                scale = {"extremal": curvature, "hadamard": float(n)}
                data = drawn if design == "rademacher" else _isotropic(int(n), p, scale[design])
                yield _Case(row, design, data, used, curvature, sizing)


def _isotropic(n: int, p: int, eigenvalue: float) -> _Data:
    theta_hat = np.full(p, 0.5)
    return _Data(n, eigenvalue * np.eye(p), eigenvalue * theta_hat, theta_hat, eigenvalue)


def _rademacher(n: int, p: int, rng: np.random.Generator) -> _Data:
    """Draw n records and keep their sums of products, which are exact: the entries are whole numbers."""
    gram, moment = np.zeros((p, p)), np.zeros(p)
    for low in range(0, n, _BLOCK):
        X, y, _ = designs.rademacher(min(_BLOCK, n - low), p, max(1, p // _EFFECTS), rng, clip=False)
        gram += X.T @ X
        moment += X.T @ np.clip(y, -p, p)
    eigenvalue = float(np.linalg.eigvalsh(gram)[0])
    found = ball.minimise(gram, moment[None], radius=math.sqrt(p), modulus=eigenvalue)
    if not found.certificate[0] <= _NEAR * math.sqrt(p):
        raise SolverError(f"theta_hat at n={n}, p={p} is certified to {found.certificate[0]:g} only; take more records")
    return _Data(n, gram, moment, found.theta[0], eigenvalue)


def _bound(case: _Case, epsilon: float, gamma: float, zeta: float) -> float:
    """Return what the excess risk stays below with probability 1 - gamma, by the theorem of the row."""
    data, p = case.data, len(case.data.theta_hat)
    bias = case.curvature * data.length**2 / (2 * data.n)
    if case.delta == 0:
        spread = 8 * zeta**2 * p**2 * math.log(p / gamma) ** 2
        return spread / (data.n * epsilon**2 * case.curvature) + bias
    beta = zeta * math.sqrt(8 * math.log(2 / case.delta) + 4 * epsilon) / epsilon
    convexity = case.curvature + (data.eigenvalue if case.row == "theorem-5" else 0.0)
    return 4 * p * beta**2 * math.log(1 / gamma) / (data.n * convexity) + bias
