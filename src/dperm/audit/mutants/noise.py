"""Mistakes in the noise of objective and output perturbation: its size, its law, its independence."""

from dataclasses import replace

import numpy as np

from dperm import losses
from dperm.audit import linear_targets, pairs
from dperm.audit.mutants.mutant import Finite, Sampled, mutant, mutants_of
from dperm.audit.target import Target
from dperm.domain import Budget, Domain
from dperm.laws import tails
from dperm.noise import Gaussian, SphericalLaplace
from dperm.solvers import newton

ONE = Budget(1.0)
TOLERANCE = 1e-6


def tilted(case: pairs.Case, noise) -> Target:
    """Return objective perturbation of a case with the tilts that `noise(repeats, p, rng)` draws."""

    def draw(data, repeats, rng):
        X, y = data
        tilt = noise(repeats, X.shape[1], rng)
        return newton.minimise(case.loss, X, y, ridge=case.curvature, tilt=tilt, tolerance=TOLERANCE).theta

    return Target(draw=draw)


def shifted(case: pairs.Case, noise) -> Target:
    """Return output perturbation of a case with the noise that `noise(repeats, p, rng)` draws."""

    def centre(data):
        X, y = data
        return newton.minimise(case.loss, X, y, ridge=case.curvature, tolerance=TOLERANCE).theta[0]

    def draw(data, repeats, rng):
        return centre(data) + noise(repeats, data[0].shape[1], rng)

    return Target(draw=draw, centre=centre, noise=lambda outputs, data: outputs - centre(data))


def of_law(law):
    """Return the sampler of a noise law; (repeats, p, rng) -> ndarray, shape (repeats, p)."""
    return lambda repeats, p, rng: law.sample((repeats, p), rng)


@mutant("objective perturbation, half the noise", "a classic", "add_remove")
def half_noise(broken: bool) -> Sampled:
    """Objective perturbation, tight constants, with half of its noise."""
    case = pairs.saturating(neighbours="add_remove", budget=ONE)
    whole = _objective(case, ONE, "add_remove", "tight")
    scale = whole.law.scale / (2 if broken else 1)
    half = tilted(case, of_law(SphericalLaplace(scale)))
    return Sampled(replace(whole, draw=half.draw), case.data, case.neighbour)


@mutant("output perturbation with half of its Gaussian noise", "a classic", "replace", delta=1e-6)
def half_gaussian_noise(broken: bool) -> Sampled:
    """Output perturbation with half of its Gaussian noise: at delta = 1e-6 only the noise itself tells."""
    budget = Budget(1.0, 1e-6)
    case = pairs.linear(neighbours="replace", budget=budget, features=2)
    whole = linear_targets.target("output", **_problem(case), budget=budget, neighbours="replace", calibration="tight")
    half = shifted(case, of_law(Gaussian(whole.law.scale / (2 if broken else 1))))
    return Sampled(replace(half, law=whole.law), case.data, case.neighbour)


@mutant("length of spherical noise from Gamma(1, .) in five dimensions", "li2021, N1", "add_remove")
def gamma_shape(broken: bool) -> Sampled:
    """Spherical noise whose length is Gamma(1, 2 S/epsilon), as li2021 prints, in place of Gamma(p, S/epsilon)."""
    case = pairs.linear(neighbours="add_remove", budget=ONE, features=5)
    sensitivity = 1 / case.curvature

    def printed(repeats, p, rng):
        direction = rng.standard_normal((repeats, p))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return rng.gamma(1.0, 2 * sensitivity / ONE.epsilon, (repeats, 1)) * direction

    law = SphericalLaplace(sensitivity / ONE.epsilon)
    made = shifted(case, printed if broken else of_law(law))
    return Sampled(replace(made, law=law), case.data, case.neighbour)


@mutant("a mean's sensitivity divided by n twice", "a classic", "replace")
def over_n_squared(broken: bool) -> Sampled:
    """Output perturbation of a mean of losses whose sensitivity 2 zeta/(n Lambda) is divided by n once more."""
    n = 10
    case = pairs.linear(neighbours="replace", budget=ONE, records=n)
    law = SphericalLaplace(2 / case.curvature / ONE.epsilon)
    made = shifted(case, of_law(SphericalLaplace(law.scale / (n if broken else 1))))
    return Sampled(replace(made, law=law), case.data, case.neighbour)


@mutant("objective perturbation without its curvature", "kifer2012, K2", "add_remove")
def missing_curvature(broken: bool) -> Sampled:
    """Algorithm 1 of kifer2012 with a hundredth of the curvature that its noise counts on.

    The record's parabola, and with it det H, is then felt in full: log(1 + 50) in place of log(3/2).
    """
    least = 2 / ONE.epsilon
    curvature = least / (100 if broken else 1)
    # The parabola ends where b = 0, in the middle of the noise.
    record = np.ones((1, 1)), np.array([-1 - 1 / curvature])
    empty = np.zeros((0, 1)), np.zeros(0)
    case = pairs.Case("", losses.huber(1.0), pairs.UNIT, curvature, empty, record)
    return Sampled(tilted(case, of_law(SphericalLaplace(2 / ONE.epsilon))), case.data, case.neighbour)


@mutant("constants for add/remove used for replace-one", "kifer2012, K3", "replace")
def printed_as_replace(broken: bool) -> Sampled:
    """Algorithm 1's printed constants, which are for add/remove, under replace-one (erratum K3); the twin is tight."""
    calibration = "paper" if broken else "tight"
    case = pairs.knee(neighbours="replace", budget=ONE, calibration=calibration)
    return Sampled(_objective(case, ONE, "replace", calibration), case.data, case.neighbour)


@mutant("noise cut off at a point", "li2021, N2", "add_remove")
def truncated(broken: bool) -> Sampled:
    """Objective perturbation with tilts cut off below a point (li2021's NAPP-VS+): the support moves with the data."""
    case = pairs.linear(neighbours="add_remove", budget=ONE, records=2)
    law = SphericalLaplace(1 / ONE.epsilon)

    def above(repeats, p, rng):
        # Beyond the cut the law goes on as itself: given b > -1, by inversion of the distribution function.
        u = rng.uniform(0.5 * np.exp(-1 / law.scale), 1.0, (repeats, p))
        return -law.scale * np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5))

    base = _objective(case, ONE, "add_remove", "tight")
    made = tilted(case, above if broken else of_law(base.law))
    return Sampled(replace(made, noise=base.noise, law=law if broken else base.law), case.data, case.neighbour)


@mutant("two releases with the same noise", "li2021, N5", "add_remove")
def reused_noise(broken: bool) -> Sampled:
    """Two models, each worth epsilon/2, with the same noise: their difference has none."""
    case = pairs.linear(neighbours="add_remove", budget=ONE, records=4)
    law = SphericalLaplace(1 / case.curvature / (ONE.epsilon / 2))

    def draw(data, repeats, rng):
        X, y = data
        fits = [
            newton.minimise(case.loss, X, y, ridge=ridge, tolerance=TOLERANCE).theta[0]
            for ridge in (case.curvature, 2 * case.curvature)
        ]
        first = law.sample((repeats, 1), rng)
        second = first if broken else law.sample((repeats, 1), rng)
        return np.column_stack([fits[0] + first, fits[1] + second])

    return Sampled(draw, case.data, case.neighbour)


@mutant("R/4 charged for the Hessian's eigenvalue R^2/4, R = 10", "diffprivlib", "add_remove")
def curvature_not_squared(broken: bool) -> Sampled:
    """Objective perturbation that takes R/4 for the largest eigenvalue of a logistic record's Hessian, not R^2/4."""
    domain, loss = Domain(x_norm=10.0), losses.logistic()
    eigenvalue = domain.x_norm / 4 if broken else domain.x_norm**2 / 4
    # Half of epsilon for the determinant, the rest for the gradient.
    curvature = eigenvalue / np.expm1(ONE.epsilon / 2)
    record = np.array([[domain.x_norm]]), np.array([1.0])
    case = pairs.Case("", loss, domain, curvature, (np.zeros((0, 1)), np.zeros(0)), record)
    return Sampled(tilted(case, of_law(SphericalLaplace(domain.x_norm / (ONE.epsilon / 2)))), case.data, case.neighbour)


@mutant("logistic noise made for the force alone", "Theorem 4 without its curvature", "add_remove")
def forgotten_curvature(broken: bool) -> Finite:
    """Objective perturbation whose noise pays for a logistic slope, s zeta/scale, and not for log(1 + s (1 - s) q)."""
    return _pulled(1 / ONE.epsilon if broken else None)


@mutant("logistic noise made for the slope 1/2", "Theorem 4 where curvature is largest", "add_remove")
def half_slope(broken: bool) -> Finite:
    """Objective perturbation whose noise is enough for the logistic slope 1/2, where the curvature is largest."""
    # q = R^2/Delta = 2 epsilon at Delta = 2 lambda/epsilon.
    return _pulled(0.5 / (ONE.epsilon - np.log1p(0.25 * 2 * ONE.epsilon)) if broken else None)


@mutant("Laplace noise added in floating point", "numpy.random", "add_remove", raw=True)
def raw_laplace(broken: bool) -> Sampled:
    """NumPy's Laplace noise, added to a count in doubles; the twin adds whole multiples of 2^-10 to such a multiple."""
    step = 2.0**-10
    # P(k) proportional to e^{-epsilon step |k|}: the difference of two geometric numbers.
    stop = -np.expm1(-ONE.epsilon * step)

    def draw(data, repeats, rng):
        if broken:
            return data + rng.laplace(0.0, 1 / ONE.epsilon, repeats)
        return data + step * (rng.geometric(stop, repeats) - rng.geometric(stop, repeats))

    return Sampled(draw, 0.0, 1.0)


def _pulled(scale: float | None) -> Finite:
    """Return the pair that is pulled with noise of this scale, or the proved one, seen in pieces of the line."""
    case = pairs.pulled(neighbours="add_remove", budget=ONE)
    whole = _objective(case, ONE, "add_remove", "tight")
    problem = linear_targets.Problem(case.loss, case.domain, case.curvature, TOLERANCE)
    parts = linear_targets.tilted(problem, whole.law if scale is None else SphericalLaplace(scale))
    # Where the slope is 0.993 to 1/2.
    edges = np.linspace(-5.0, 0.0, 101)

    def law(data):
        lower = np.concatenate([[0.0], parts["cdf"](edges, data), [1.0]])
        upper = np.concatenate([[1.0], parts["sf"](edges, data), [0.0]])
        return tails.differences(lower, upper)

    return Finite(law, [(case.data, case.neighbour)])


def _objective(case: pairs.Case, budget: Budget, neighbours, calibration) -> Target:
    return linear_targets.target(
        "objective", **_problem(case), budget=budget, neighbours=neighbours, calibration=calibration
    )


def _problem(case: pairs.Case) -> dict:
    return {"loss": case.loss, "domain": case.domain, "curvature": case.curvature}


MUTANTS = mutants_of(globals())
