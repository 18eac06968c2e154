r"""kifer2012's bounds on one private fit, measured fit by fit: Lemmas 3 and 24, Corollary 25, Theorems 26, 30 and 31.

With J = (1/n)(sum of losses + r), J# = J + Delta/(2n) ||theta||^2, and theta_hat, theta# and theta_priv the minimisers
of J, J# and J# + <b, theta>/n over F; T = ||theta_hat||, B = ||b||:

    Lemma 24       ||theta# - theta_priv||       <= 2 B/Delta,
    Corollary 25   J#(theta_priv) - J#(theta#)   <= 2 B^2/(Delta n),
    Lemma 3        J(theta_priv) - J(theta_hat)  <= 2 B^2/(Delta n) + Delta T^2/(2 n),

always; and with beta = zeta sqrt(8 log(2/delta) + 4 epsilon)/epsilon, eta the least eigenvalue of the Hessian of the
sum of losses, N the bound of D.1.2 on B, with probability 1 - gamma

    Theorem 26.1   J(theta_priv) - J(theta_hat)  <= 8 (zeta p log(p/gamma))^2/(n epsilon^2 Delta) + Delta T^2/(2 n),
    Theorem 26.2   J(theta_priv) - J(theta_hat)  <= 4 p beta^2 log(1/gamma)/(n Delta) + Delta T^2/(2 n),
    Theorem 30 a   ||theta_priv - theta#||       <= N/(Delta + eta),
    Theorem 30 b   ||theta_priv - theta_hat||    <= N/(Delta + eta) + T sqrt(Delta/(Delta + eta)),
    Theorem 31     J(theta_priv) - J(theta_hat)  <= 4 p beta^2 log(1/gamma)/(n (Delta + eta)) + Delta T^2/(2 n).

Printed: N = beta sqrt(2 p log(1/gamma)); mended (erratum K12): N = beta sqrt(2 p + 4 log(1/gamma)). Theorem 31 with the
constants of its proof, as in Table 1. Neighbours: add/remove (Definition 1).

Problems, each with both noises and with Delta = m lambda/epsilon for every m of `ridge_multiples`:

    ball      squared loss, F = {||theta||_2 <= sqrt(p)}, r = 0, on the designs of Table 1: extremal (X'X = Delta I),
              hadamard (X'X = n I), rademacher (records that are really drawn, s = p/4);
    lasso     squared loss, F = [-1, 1]^p, r = Lambda ||theta||_1, rademacher;
    logistic  logistic loss, F = R^p, r = Lambda ||theta||_1 + ||theta||^2/2, rademacher; y is the sign of its noisy y.

Lambda = 4 sigma sqrt(n log p) (Lemma 42). Section 2.2: where r is strongly convex of modulus m, (Delta - m)_+ is added;
Lemma 24, Corollary 25 and Lemma 3 are held against Delta all the same. Row section-2.2: the minimiser of the program as
printed, losses + m/2 ||theta||^2 + (Delta - m)_+/2 ||theta||^2 + <b, theta>, by cvxpy, beside the mechanism's with that
ridge and the mechanism's without, at curvature max(Delta, m); logistic loss, the same b.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.feasible import Region, Regularizer
from dperm.losses import Loss
from dperm.mechanisms import base, objective
from dperm.solvers import composite
from dperm_papers.kifer2012.bounds.settings import Settings
from dperm_papers.kifer2012.shared import designs
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# The solvers' target, in units of zeta; what they certify is the `slack` of a measurement.
TOLERANCE = 1e-8
# Moduli of r that are credited against Delta, in units of Delta, and how many fits each is tried on (cvxpy is slow).
_CREDITED, _CREDITED_FITS = (0.5, 1.0, 2.0), 5


class _Problem(NamedTuple):
    """A convex program without noise and without Delta: the sum of losses, r and F."""

    name: str
    design: str
    n: int
    loss: Loss
    domain: Domain
    regularizer: Regularizer
    region: Region
    eigenvalue: float
    minimise: Callable[[float, np.ndarray], Any]
    risk: Callable[[np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray], np.ndarray]

    def total(self, theta: np.ndarray, added: float = 0.0) -> np.ndarray:
        """Return n J, with added/2 ||theta||^2; shape (R,)."""
        squares = 0.5 * (self.regularizer.l2 + added) * np.einsum("rj,rj->r", theta, theta)
        return self.risk(theta) + self.regularizer.l1 * np.abs(theta).sum(axis=1) + squares

    def steepness(self, theta: np.ndarray, added: float = 0.0) -> np.ndarray:
        """Return a bound on the subgradients of `total`; shape (R,)."""
        smooth = self.gradient(theta) + (self.regularizer.l2 + added) * theta
        return np.linalg.norm(smooth, axis=1) + self.regularizer.l1 * math.sqrt(theta.shape[1])


def measure(cell: Cell, rows: Rows, p: int) -> None:
    """Measure the fits at one p, which is a power of two.

    Metrics `excess` (measured/bound - 1) with `slack`, what the solvers' certificates leave open; where gamma is above
    0 `ratio` (measured/bound) and `violated`.
    """
    settings = cell.settings
    rng = cell.rng("data", p, "rademacher", settings.records)
    X, y, _ = designs.rademacher(settings.records, p, max(1, p // 4), rng, clip=False)
    for multiple in settings.ridge_multiples:
        for problem in _problems(X, y, settings, multiple):
            for delta in (0.0, settings.delta):
                _add_fits(cell, rows, p, problem, multiple, delta)
    add_credited(cell, rows, X, y)


def _problems(X: np.ndarray, y: np.ndarray, settings: Settings, multiple: float) -> Iterator[_Problem]:
    (n, p), labels = X.shape, np.where(y >= 0, 1.0, -1.0)
    root = math.sqrt(p)
    y = np.clip(y, -p, p)
    # Of every design ||x|| <= sqrt(p) and |y| <= p: lambda = p.
    curvature, half = multiple * p / settings.epsilon, np.full(p, 0.5)
    # Of the designs that are never written out.
    size = settings.sizes[0]
    moments = {
        "extremal": (size, curvature * np.eye(p), curvature * half),
        "hadamard": (size, size * np.eye(p), size * half),
        "rademacher": (n, X.T @ X, X.T @ y),
    }
    squared, domain = losses.squared(), Domain(x_norm=root, y_bound=float(p))
    for design, (records, G, c) in moments.items():
        yield _quadratic("ball", design, records, squared, domain, Regularizer(), Region(radius=root), G, c)
    l1 = 4 * designs.NOISE * math.sqrt(n * math.log(p))
    *_, G, c = moments["rademacher"]
    box = Region(low=-1.0, high=1.0)
    yield _quadratic("lasso", "rademacher", n, squared, domain, Regularizer(l1=l1), box, G, c)
    net = Regularizer(l1=l1, l2=1.0)
    yield _on_records("logistic", "rademacher", losses.logistic(), Domain(x_norm=root), net, Region(), X, labels)


def _quadratic(name, design, n, loss, domain, regularizer, region, G, c) -> _Problem:
    """Return the squared loss on a design with X'X = G and X'y = c."""
    eigenvalue = float(np.linalg.eigvalsh(G)[0]) * (1 - 1e-12)
    rest = G - eigenvalue * np.eye(len(G))
    target = TOLERANCE * base.bounds(loss, base.searched(domain, region, len(G)))[0]

    def minimise(added, tilt):
        # The least eigenvalue is handed over as curvature, so that the certificate makes use of it.
        return composite.minimise_quadratic(
            rest, c, ridge=eigenvalue + added, tolerance=target, tilt=tilt, regularizer=regularizer, region=region
        )

    def risk(theta):
        return 0.5 * np.einsum("rj,rj->r", theta @ G, theta) - theta @ c

    return _Problem(
        name, design, n, loss, domain, regularizer, region, eigenvalue, minimise, risk, lambda theta: theta @ G - c
    )


def _on_records(name, design, loss, domain, regularizer, region, X, y) -> _Problem:
    """Return a GLM loss on records; its Hessian has no curvature that could be vouched for."""
    target = TOLERANCE * base.bounds(loss, base.searched(domain, region, X.shape[1]))[0]

    def minimise(added, tilt):
        return composite.minimise(
            loss, X, y, ridge=added, tolerance=target, tilt=tilt, regularizer=regularizer, region=region
        )

    def risk(theta):
        return loss.value(X @ theta.T, y[:, None]).sum(axis=0)

    def gradient(theta):
        return loss.derivative(X @ theta.T, y[:, None]).T @ X

    return _Problem(name, design, len(y), loss, domain, regularizer, region, 0.0, minimise, risk, gradient)


def _add_fits(cell: Cell, rows: Rows, p: int, problem: _Problem, multiple: float, delta: float) -> None:
    """Run Algorithm 1 on one problem with one noise and hold every bound against it."""
    n, epsilon = problem.n, cell.settings.epsilon
    domain = base.searched(problem.domain, problem.region, p)
    zeta, lam = base.bounds(problem.loss, domain)
    curvature = multiple * lam / epsilon
    noise, guarantee = objective.calibrate(
        problem.loss, domain, Budget(epsilon, delta), curvature=curvature, calibration=cell.calibration,
        neighbours=cell.neighbours,
    )  # fmt: skip
    names = (cell.calibration, cell.neighbours, p, problem.name, problem.design, float(multiple), float(delta))
    tilt = noise.sample((cell.settings.repeats, p), cell.rng(*names))
    added = max(curvature - problem.regularizer.l2, 0.0)
    still = np.zeros((1, p))
    hat, sharp, private = (problem.minimise(*of) for of in ((0.0, still), (added, still), (added, tilt)))
    length, near = float(np.linalg.norm(hat.theta)), float(hat.certificate[0])
    norms = np.linalg.norm(tilt, axis=1)
    moved = np.linalg.norm(private.theta - sharp.theta, axis=1)
    gap = (problem.total(private.theta, added) - problem.total(sharp.theta, added)) / n
    risk = (problem.total(private.theta) - problem.total(hat.theta)) / n
    bias = curvature * length**2 / (2 * n)
    # By convexity a point within c of another lies at most (its subgradient) c above it.
    certificate = private.certificate
    above = [problem.steepness(private.theta, extra) * certificate / n for extra in (added, 0.0)]
    here = rows.at(
        dataset=problem.design, n=n, problem=problem.name, ridge_multiple=float(multiple), delta=delta,
        variant="gaussian" if delta else "gamma", guarantee=guarantee,
    )  # fmt: skip
    always = {
        "lemma-24": (moved, 2 * norms / curvature, certificate + sharp.certificate),
        "corollary-25": (gap, 2 * norms**2 / (curvature * n), above[0]),
        "lemma-3": (
            risk, 2 * norms**2 / (curvature * n) + bias, above[1] + curvature * (2 * length + near) * near / (2 * n)
        ),
    }  # fmt: skip
    for row, (found, bound, slack) in always.items():
        here.add("excess", found / bound - 1, row=row)
        here.add("slack", slack / bound, row=row)
    found = {"moved": moved, "away": np.linalg.norm(private.theta - hat.theta, axis=1), "risk": risk}
    for gamma in cell.settings.gammas:
        limits = _gamma_noise if delta == 0 else _gaussian_noise
        for row, form, name, bound in limits(problem, Budget(epsilon, delta), gamma, (zeta, curvature, length, p)):
            claim = here.at(row=row, form=form, gamma=gamma)
            claim.add("ratio", found[name] / bound)
            claim.add("violated", found[name] > bound)


def _gamma_noise(problem: _Problem, budget: Budget, gamma: float, scales: tuple) -> Iterator[tuple]:
    """Give row, form, what is bounded, and the bound; `scales` are zeta, Delta, T and p."""
    zeta, curvature, length, p = scales
    spread = 8 * zeta**2 * p**2 * math.log(p / gamma) ** 2 / (problem.n * budget.epsilon**2 * curvature)
    yield "theorem-26.1", "printed", "risk", spread + curvature * length**2 / (2 * problem.n)


def _gaussian_noise(problem: _Problem, budget: Budget, gamma: float, scales: tuple) -> Iterator[tuple]:
    """As `_gamma_noise`."""
    zeta, curvature, length, p = scales
    n, bias = problem.n, curvature * length**2 / (2 * problem.n)
    beta = zeta * math.sqrt(8 * math.log(2 / budget.delta) + 4 * budget.epsilon) / budget.epsilon
    squares = {"printed": 2 * p * math.log(1 / gamma), "mended": 2 * p + 4 * math.log(1 / gamma)}
    yield "theorem-26.2", "printed", "risk", 2 * beta**2 * squares["printed"] / (n * curvature) + bias
    if problem.name != "ball":
        return
    convexity = curvature + problem.eigenvalue
    for form, square in squares.items():
        noise = beta * math.sqrt(square) / convexity
        yield "theorem-30-a", form, "moved", noise
        yield "theorem-30-b", form, "away", noise + length * math.sqrt(curvature / convexity)
    yield "theorem-31", "printed", "risk", 2 * beta**2 * squares["printed"] / (n * convexity) + bias


def add_credited(cell: Cell, rows: Rows, X: np.ndarray, y: np.ndarray) -> None:
    """Hold Algorithm 1 with a public ridge of modulus m, and without at curvature max(Delta, m), against cvxpy."""
    (n, p), y, epsilon = X.shape, np.where(y >= 0, 1.0, -1.0), cell.settings.epsilon
    loss, domain = losses.logistic(), Domain(x_norm=math.sqrt(p))
    curvature = objective.default_curvature(loss, base.searched(domain, objective.EVERYWHERE, p), epsilon)
    repeats = min(_CREDITED_FITS, cell.settings.repeats)
    for delta in (0.0, cell.settings.delta):
        for share in _CREDITED:
            ridge = share * curvature
            fixed = {"calibration": cell.calibration, "neighbours": cell.neighbours}

            def rng(share=share, delta=delta):
                return cell.rng("credited", cell.calibration, cell.neighbours, p, share, float(delta))

            def release(regularizer, curvature, rng=rng, fixed=fixed, delta=delta):
                return objective.release(
                    X, y, loss, domain=domain, budget=Budget(epsilon, delta), curvature=curvature, rng=rng(),
                    regularizer=regularizer, repeats=repeats, tolerance=TOLERANCE, **fixed,
                )  # fmt: skip

            noise, _ = objective.calibrate(
                loss, domain, Budget(epsilon, delta), curvature=max(curvature, ridge), **fixed
            )
            tilt = noise.sample((repeats, p), rng())
            theta, error = _as_printed(X, y, ridge, max(curvature - ridge, 0.0), tilt)
            released = (release(Regularizer(l2=ridge), curvature), release(Regularizer(), max(curvature, ridge)))
            size = np.linalg.norm(theta, axis=1)
            excess = np.max([np.linalg.norm(found.theta - theta, axis=1) for found in released], axis=0)
            slack = np.max([found.certificate for found in released], axis=0) + error
            here = rows.at(
                dataset="rademacher", n=n, problem="logistic", row="section-2.2", delta=delta,
                variant="gaussian" if delta else "gamma", guarantee=released[0].guarantee, ridge_multiple=share,
            )  # fmt: skip
            here.add("excess", excess / size)
            here.add("slack", slack / size)


def _as_printed(
    X: np.ndarray, y: np.ndarray, ridge: float, added: float, tilt: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimisers of Section 2.2's program by cvxpy, r and the added term apart, and how far off they are."""
    import cvxpy as cp

    theta, b = cp.Variable(X.shape[1]), cp.Parameter(X.shape[1])
    risk = cp.sum(cp.logistic(cp.multiply(-y, X @ theta)))
    regularizer, extra = ridge / 2 * cp.sum_squares(theta), added / 2 * cp.sum_squares(theta)
    program = cp.Problem(cp.Minimize(risk + regularizer + extra + b @ theta))
    found, error = np.empty_like(tilt), np.empty(len(tilt))
    for k, b.value in enumerate(tilt):
        with warnings.catch_warnings():
            # "May be inaccurate": by how much is `error`.
            warnings.simplefilter("ignore", UserWarning)
            program.solve(solver=cp.CLARABEL)
        found[k] = theta.value
        gradient = -X.T @ (y * special.expit(-y * (X @ found[k]))) + (ridge + added) * found[k] + tilt[k]
        # The program is (ridge + added)-strongly convex.
        error[k] = np.linalg.norm(gradient) / (ridge + added)
    return found, error
