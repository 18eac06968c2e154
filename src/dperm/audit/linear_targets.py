r"""The registered mechanisms as targets of the auditor: their own `release`, and what is known of its law.

What is drawn is the mechanism's real code. What the attacks know besides is written here, apart from that code:

    objective   b = B_D(theta) = -(sum_i l'(<x_i, theta>, y_i) x_i + Delta theta),
                log f_D(theta) = log nu(B_D(theta)) + log det H_D(theta)          (docs/privacy.md, Lemma 1)
                p = 1: B_D decreases, so P(theta* <= t) = P(b >= B_D(t)) = F(-B_D(t)), F the noise's symmetric law
    output      z = theta - theta_D,   log f_D(theta) = log nu(z),
                p = 1: P(theta <= t) = F(t - theta_D)

with nu the density that the mechanism's `calibrate` names. Objective perturbation's formulas are those of the exact
minimiser; the released one is off by the solver's tolerance, tolerance zeta in units of b. Neighbouring relation: the
one that is asked for sets the noise; which data sets are compared is up to the caller.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dperm.audit.target import Target
from dperm.domain import Budget, Calibration, Domain, Neighbours, bounded_rows, changed_gradients
from dperm.errors import DomainViolation, SolverError
from dperm.laws.tails import lower_tail
from dperm.losses import Loss
from dperm.mechanisms import base, objective, output
from dperm.noise import Gaussian, SphericalLaplace
from dperm.solvers import newton
from dperm.solvers.blas import one_thread

# Entries of a work array: its few kin fit the cache together.
ENTRIES = 2**17
# So few records are not worth sorting.
_FEW = 16
# Results kept for as many data sets: an audit works on two, a search on a few.
_KEPT = 16

LinearData = tuple[np.ndarray, np.ndarray]


def repeated(x: Sequence[float], y: float, times: int) -> LinearData:
    """Return one record so many times."""
    return np.tile(np.array(x, float), (times, 1)), np.full(times, float(y))


def joined(data: LinearData, more: LinearData) -> LinearData:
    """Return the records of both, of as many features."""
    return np.concatenate([data[0], more[0]]), np.concatenate([data[1], more[1]])


def with_record(data: LinearData, x: Sequence[float], y: float) -> LinearData:
    """Return the data and one record more."""
    return joined(data, repeated(x, y, 1))


def target(
    mechanism: str,
    *,
    loss: Loss,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    curvature: float | None = None,
    tolerance: float = 1e-6,
) -> Target:
    """Return a registered mechanism as a target; its data are (X, y), within the domain.

    The noise is made for the relation `neighbours`. `curvature` is Delta, of the sum of losses, by default 2
    lambda/epsilon; the solver's target is ||gradient||_2 <= tolerance zeta. Every part is there; `cdf` and `sf`
    serve data of one feature. `draw` raises SolverError if a row did not converge, and everything raises
    DomainViolation for data outside the domain: nothing is promised there. ValueError if the mechanism is not in
    the table; as its `calibrate` otherwise.
    """
    if mechanism not in _MAKERS:
        raise ValueError(f"mechanism={mechanism!r} is not one that the auditor knows: {', '.join(sorted(_MAKERS))}")
    curvature = base.curvature_or_default(curvature, loss, domain, budget.epsilon)
    module, make = _MAKERS[mechanism]
    arguments = {"domain": domain, "budget": budget, "neighbours": neighbours, "calibration": calibration}
    arguments |= {"curvature": curvature, "tolerance": tolerance}
    law, parts = make(Problem(loss, domain, curvature, base.target(tolerance)), budget, neighbours, calibration)

    def draw(data, repeats, rng):
        X, y = checked(data, loss, domain)
        release = module.release(X, y, loss, **arguments, rng=rng, repeats=repeats)
        failed = int((~release.converged).sum())
        if failed:
            raise SolverError(
                f"{failed} of {repeats} draws of {mechanism} missed the solver's target (tolerance={tolerance:g} "
                "of zeta): raise the tolerance or the curvature, for an audit of unconverged rows is one of no theorem"
            )
        return release.theta

    return Target(draw=draw, law=law, **parts)


class Problem(NamedTuple):
    """The risk that both mechanisms minimise, sum_i l(<x_i, theta>, y_i) + curvature/2 ||theta||^2.

    Curvature is Delta, of the sum of losses; the solver's target is `tolerance` zeta.
    """

    loss: Loss
    domain: Domain
    curvature: float
    tolerance: float

    def minimiser(self, data: LinearData) -> np.ndarray:
        """Return what the mechanisms' own solver finds without noise; shape (p,)."""
        X, y = checked(data, self.loss, self.domain)
        zeta, _ = base.bounds_everywhere(self.loss, self.domain)
        return newton.minimise(self.loss, X, y, ridge=self.curvature, tolerance=self.tolerance * zeta).theta[0]


def _objective(problem: Problem, budget: Budget, neighbours: Neighbours, calibration: Calibration):
    law, _ = objective.calibrate(
        problem.loss,
        problem.domain,
        budget,
        curvature=problem.curvature,
        calibration=calibration,
        neighbours=neighbours,
    )
    return law, tilted(problem, law)


def tilted(problem: Problem, law: Gaussian | SphericalLaplace) -> dict[str, Callable]:
    """Return what is known of the exact minimiser of the risk plus <b, theta>, as parts of a `Target`; `law` is b's."""

    # A law on a line asks for the tilts of the same data a thousand times.
    records = _remembered(lambda data: _distinct(*checked(data, problem.loss, problem.domain)))

    def tilts(outputs, data):
        return _tilts(problem, records(data), _rows(outputs, data), dets=False)[0]

    def log_density(outputs, data):
        b, log_dets = _tilts(problem, records(data), _rows(outputs, data), dets=True)
        return log_noise_density(law, b) + log_dets

    def standard(points, data):
        """Return -B_D(t)/scale, which increases in t."""
        _one_feature(data)
        return -tilts(points, data)[:, 0] / law.scale

    return {
        "log_density": log_density,
        "noise": tilts,
        "centre": problem.minimiser,
        "cdf": lambda points, data: lower_tail(law, standard(points, data)),
        "sf": lambda points, data: lower_tail(law, -standard(points, data)),
    }


def _output(problem: Problem, budget: Budget, neighbours: Neighbours, calibration: Calibration):
    zeta, _ = base.bounds_everywhere(problem.loss, problem.domain)
    tau = problem.tolerance * zeta / problem.curvature
    sensitivity = changed_gradients(neighbours) * zeta / problem.curvature + 2 * tau
    law, _ = output.calibrate(sensitivity, budget, calibration=calibration)
    return law, shifted(problem, law)


def shifted(problem: Problem, law: Gaussian | SphericalLaplace) -> dict[str, Callable]:
    """Return what is known of the minimiser plus noise, as parts of a `Target` (law: of the noise); as `tilted`."""
    kept = _remembered(problem.minimiser)

    def centre(data):
        return kept(data).copy()

    def noise(outputs, data):
        middle = centre(data)
        return _rows(outputs, data) - middle

    def standard(points, data):
        _one_feature(data)
        return noise(points, data)[:, 0] / law.scale

    return {
        "log_density": lambda outputs, data: log_noise_density(law, noise(outputs, data)),
        "noise": noise,
        "centre": centre,
        "cdf": lambda points, data: lower_tail(law, standard(points, data)),
        "sf": lambda points, data: lower_tail(law, -standard(points, data)),
    }


# By the mechanism's registered name: its module, and what makes the law and the other parts of its target.
_MAKERS = {
    "objective": (objective, _objective),
    "output": (output, _output),
}


def log_noise_density(law: Gaussian | SphericalLaplace, noise: np.ndarray) -> np.ndarray:
    """Return the log-density of a spherical noise law at each row, up to its constant."""
    squares = np.einsum("ij,ij->i", noise, noise) / law.scale**2
    return -0.5 * squares if isinstance(law, Gaussian) else -np.sqrt(squares)


def _tilts(problem: Problem, records: tuple[np.ndarray, np.ndarray, np.ndarray], theta: np.ndarray, *, dets: bool):
    """Return B_D of every output, and if `dets` log det H_D; `records` as `_distinct` returns them."""
    X, y, counts = records
    m, p = theta.shape
    tilts, log_dets = np.empty((m, p)), np.empty(m) if dets else None
    pairs = X[:, np.triu_indices(p)[0]] * X[:, np.triu_indices(p)[1]] if dets else None
    size = max(1, ENTRIES // max(len(X), p * p))
    with one_thread():
        for low in range(0, m, size):
            part = slice(low, low + size)
            margins = X @ theta[part].T
            forces = problem.loss.derivative(margins, y) * counts
            tilts[part] = -(forces.T @ X + problem.curvature * theta[part])
            if dets:
                weights = problem.loss.second(margins, y) * counts
                log_dets[part] = _log_det(weights.T @ pairs, p, problem.curvature)
    return tilts, log_dets


def _log_det(entries: np.ndarray, p: int, curvature: float) -> np.ndarray:
    """Return log det of matrices given by their upper triangles, shape (m, p (p + 1)/2), plus curvature times I."""
    if p == 1:
        return np.log(entries[:, 0] + curvature)
    first, second = np.triu_indices(p)
    hessian = np.empty((len(entries), p, p))
    hessian[:, first, second] = entries
    hessian[:, second, first] = entries
    hessian[:, range(p), range(p)] += curvature
    # Positive definite, so the sign is 1.
    return np.linalg.slogdet(hessian)[1]


def _distinct(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct records, y and their numbers as columns: worst cases repeat a few records many times."""
    if len(X) <= _FEW:
        return X, y[:, None], np.ones((len(X), 1))
    records, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    return np.ascontiguousarray(records[:, :-1]), records[:, -1:], counts[:, None].astype(float)


def _rows(outputs: np.ndarray, data: LinearData) -> np.ndarray:
    """Return outputs as (m, p), also those of one feature that come as (m,)."""
    return np.asarray(outputs, dtype=float).reshape(-1, np.shape(data[0])[1])


def _one_feature(data: LinearData) -> None:
    p = np.shape(data[0])[1]
    if p != 1:
        raise ValueError(f"X has {p} features: only outputs on a line (1 feature) have a distribution function here")


# Of each kind of target: what y must be, and in words.
_KINDS = {
    "binary": (lambda y: np.abs(y) == 1, "-1 or 1"),
    "count": (lambda y: (y >= 0) & np.isfinite(y), "0 or above"),
    "real": (np.isfinite, "finite"),
}


def checked(data: LinearData, loss: Loss, domain: Domain) -> LinearData:
    """Return X and y as arrays of doubles, or refuse what no promise covers.

    DomainViolation if a record is outside the domain, ValueError if the shapes do not fit.
    """
    X, y = (np.asarray(part, dtype=float) for part in data)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"data are (X, y) of the shapes (n, p) and (n,), not {X.shape} and {y.shape}")
    X = bounded_rows(X, domain.x_norm)
    allowed, words = _KINDS[loss.targets]
    bad = int((~allowed(y)).sum())
    if bad:
        raise DomainViolation(f"{bad} of {len(y)} targets are not {words}, as the {loss.name} loss needs")
    if domain.y_bound is not None and (np.abs(y) > domain.y_bound).any():
        raise DomainViolation(f"targets exceed y_bound={domain.y_bound:g}: an audit outside the domain proves nothing")
    return X, y


def _remembered(function: Callable[[LinearData], Any]) -> Callable[[LinearData], Any]:
    """Return the function with its last results kept by the content of the data, which may change in place.

    What it gives is kept, and not to be written to.
    """
    known: dict[bytes, Any] = {}

    def remembered(data):
        X, y = (np.ascontiguousarray(part, dtype=float) for part in data)
        key = hashlib.sha256(repr((X.shape, y.shape)).encode() + X.tobytes() + y.tobytes()).digest()
        if key not in known:
            if len(known) >= _KEPT:
                del known[next(iter(known))]
            known[key] = function(data)
        return known[key]

    return remembered
