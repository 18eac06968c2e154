r"""NAPP-ERM: noise-augmented privacy-preserving empirical risk minimisation (li2021).

Noise rows appended to the data stand for a tilt and a regularizer. As their number grows, an iteration solves

    theta^(t) = argmin_{theta in Theta} sum_i l(<x_i, theta>, y_i) + <tilt, theta> + sum_j w_j theta_j^2         (7)

with weights w_j >= Lambda0 made of theta^(t-1) (`scheme`), and a fixed point of it minimises

    sum_i l(<x_i, theta>, y_i) + <tilt, theta> + sum_j P(theta_j),    P'(u) = 2 max{Lambda + Lambda kappa u, Lambda0 u}

for lasso and elastic net with MOOR (the maximum of target and floor), and with their sum without it, which is the
existing DP-ERM (Claim 2, Eq 2). Variants: `erm` tilts by b; `vs` by b sgn(theta_j), that is b'|theta|; `vs_plus` the
same with b > 0.

calibration="paper" runs all of that as printed: weights that reach a lasso of 2 Lambda, the printed laws of b. What is
proved of it is DP-ERM with Gaussian noise under add/remove, bounds given; each other form has an obstacle (`validity`).

calibration="corrected", "tight" and "separate" are the same mechanisms in the forms that objective perturbation proves,
for the target Lambda R (`halved`), under add/remove or replace-one (docs/privacy.md):

    erm         min over Theta of sum l + Lambda R + Lambda0 ||theta||^2 + <b, theta>
    vs          the same, inside one orthant Theta only
    vs_plus     two-sided b, and beside Lambda R the lasso t sigma_b ||theta||_1
    MOOR        where P is 2 Lambda0 strongly convex by itself: ridge; elastic net with Lambda kappa >= Lambda0
    retrieval   ridge, whose modulus 2 max{Lambda, Lambda0} is public: another share r of epsilon, known beforehand

The exact minimiser is what proofs speak of (erratum K8): the certificate bounds the distance from it (`proved_exact`).
With `solver_share` > 0 that share of the budget pays for output noise that hides the solver's error, as in objective
perturbation: sensitivity 2 tau, tau = tolerance zeta1 zeta2/modulus. The whole release is then `proved`.

Modules: `scheme` (weights, penalty), `noise` (laws, Lambda0), `losses`, `limit` (the fixed point, solved directly),
`literal` (Algorithm 1 to the letter), `retrieval` (Algorithm 2), `arguments`, `validity`.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.domain import Budget, Calibration, Domain, Neighbours, number, one_of
from dperm.errors import InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms.base import Release, aimed, budget_event, checked_share, covered
from dperm.mechanisms.napp import limit, literal, losses
from dperm.mechanisms.napp import retrieval as retrieving
from dperm.mechanisms.napp.arguments import box_of, counts_of, truncation_of
from dperm.mechanisms.napp.certify import Composite, certified
from dperm.mechanisms.napp.noise import WHOLE, Absolute, Bounds, Law, Variant, calibrate, deviation, floor, lawful
from dperm.mechanisms.napp.scheme import Scheme, Target, convexity, slope
from dperm.mechanisms.napp.validity import Method, Obstacle, Retrieval, joined, obstacles, runnable
from dperm.mechanisms.vacuous import Noise

CALIBRATIONS = ("paper", "corrected", "tight", "separate")

# The relative gap at which Newton's last steps take over, where the problem is strongly convex.
_GAP = 1e-9


@dataclass(frozen=True)
class NappRelease(Release):
    """A `Release`, and what of it is not proved.

    - theta, certificate, converged, guarantee, event, mode: as of `Release`; the certificate is infinite where the
      problem is not known to be strongly convex.
    - retrieved: shape (repeats,); share of (1 - r) epsilon that was retrieved; not private unless the penalty is ridge.
    - obstacles: why the guarantee is `none`; empty if it is not.
    """

    retrieved: np.ndarray | None = None
    obstacles: tuple[Obstacle, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Everything about a release that does not depend on the data.

    - scheme: with the floor Lambda0.
    - extra_l1: weight of a public ||theta||_1 beside the scheme's penalty.
    - obstacles: what the proof does not cover; none where it covers the exact minimiser.
    - bend: the largest l'', whatever bounds the noise is made for; by those where the domain has none.
    - modulus: strong convexity of the penalty at the fixed point, 0 if it has none.
    - certified: whether the distance from the exact minimiser can be bounded.
    - credit: share of (1 - r) epsilon that a ridge's public modulus retrieves.
    - spent: what is claimed, the solver's share included.
    """

    scheme: Scheme
    law: Law
    extra_l1: float
    obstacles: tuple[Obstacle, ...]
    box: tuple[np.ndarray, np.ndarray]
    bounds: Bounds
    bend: float
    modulus: float
    certified: bool
    credit: float
    spent: Budget


def plan(
    loss: str,
    features: int,
    *,
    penalty: str,
    strength: float,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    variant: Variant = "erm",
    moor: bool = False,
    gamma: float | None = None,
    kappa: float | None = None,
    halved: bool | None = None,
    share: float = 0.5,
    truncation: float | None = None,
    eta_bound: float = math.inf,
    low: float | np.ndarray = -math.inf,
    high: float | np.ndarray = math.inf,
    bounds: Bounds | None = None,
    retrieval: Retrieval = "none",
    method: Method = "limit",
    solver_share: float = 0.0,
) -> Plan:
    """Return what `release` would do, and what is proved of it, without looking at any data."""
    for name, value, kind in (
        ("variant", variant, Variant), ("calibration", calibration, Calibration),
        ("neighbours", neighbours, Neighbours), ("retrieval", retrieval, Retrieval), ("method", method, Method),
    ):  # fmt: skip
        one_of(name, value, kind)
    one_of("penalty", penalty, Target)
    truncation_of(truncation, variant, calibration)
    whole, budget = budget, budget.share(1 - checked_share(solver_share))
    if method == "literal" and retrieval != "none":
        raise ValueError(
            f"method='literal' with retrieval={retrieval!r}: Algorithm 1 to the letter retrieves nothing; take "
            "method='limit', or retrieval='none'"
        )
    if penalty == "ridge" and retrieval == "return" and calibration in WHOLE:
        raise ValueError(
            f"retrieval='return' with calibration={calibration!r}: take retrieval='recycle', which spends on b what "
            "the ridge leaves of epsilon, or calibration='corrected'"
        )
    number("strength", strength, 0, 1e100, remedy="it is Lambda, the weight of the penalty beside the sum of losses")
    box = box_of(low, high, features)
    made = losses.make(loss, eta_bound)
    true_bounds = _true_bounds(made, domain, box, needed=bounds is None)
    bounds = true_bounds if bounds is None else bounds
    # Left out, gamma and kappa are those of the targets that do not ask for them.
    gamma = 1.0 if gamma is None and penalty != "bridge" else gamma
    kappa = 0.0 if kappa is None and penalty != "elastic_net" else kappa
    halved = calibration != "paper" if halved is None else halved
    scheme = Scheme(penalty, floor(bounds, budget.epsilon, share), moor, gamma, kappa, halved)
    fixed = {"calibration": calibration, "features": features, "neighbours": neighbours, "loss": made}
    # Ridge alone has a modulus that no data decide; Algorithm 2 is then another r, known beforehand.
    credit, spent, modulus = 0.0, budget, 2 * float(scheme.floor)
    if retrieval != "none" and penalty == "ridge":
        least = max(strength, float(scheme.floor))
        credit, modulus = 1 - float(scheme.floor) / least, 2 * least
        if retrieval == "return":
            spent = Budget(budget.epsilon * (1 - (1 - share) * credit), budget.delta)
        else:
            share = retrieving.left(bounds, budget.epsilon, strength, least)
    law, extra_l1, _ = calibrate(bounds, budget, share=share, variant=variant, modulus=modulus, **fixed)
    # Of the law that is released, for what is claimed; that a truncated one is not proved is said of the variant.
    untruncated = law.law if isinstance(law, Absolute) else law
    found = obstacles(
        scheme, strength, variant=variant, calibration=calibration, neighbours=neighbours, budget=budget,
        lawful=lawful(untruncated, bounds, spent, modulus=modulus, **fixed), box=box, bounds=bounds,
        true_bounds=true_bounds, method=method, retrieval=retrieval,
    )  # fmt: skip
    if found and calibration != "paper":
        raise ValueError(f"calibration={calibration!r} has no valid form here: {joined(found)}")
    runnable(scheme, method=method, retrieval=retrieval, box=box)
    strong = max(float(convexity(scheme, strength)), 0.0)
    # Not where the data choose the tilt's signs, nor of a run that is no fixed point of one problem.
    recycled = retrieval == "recycle" and penalty != "ridge"
    certified = strong > 0 and not recycled and method == "limit" and (variant != "vs" or calibration != "paper")
    if solver_share > 0 and not certified:
        raise InvalidBudget(
            f"solver_share={solver_share:g} hides the solver's error, and nothing bounds that for {penalty=}, "
            f"{variant=}, {moor=}, {method=}, {retrieval=}; leave it 0"
        )
    bend = max(known.zeta3 / known.zeta1**2 for known in (bounds, true_bounds or bounds))
    spent = whole if spent is budget else Budget(spent.epsilon + solver_share * whole.epsilon, whole.delta)
    return Plan(scheme, law, extra_l1, tuple(found), box, bounds, bend, strong, certified, credit, spent)


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: str,
    *,
    penalty: str,
    strength: float,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    rng: np.random.Generator,
    repeats: int = 1,
    variant: Variant = "erm",
    moor: bool = False,
    gamma: float | None = None,
    kappa: float | None = None,
    halved: bool | None = None,
    share: float = 0.5,
    truncation: float | None = None,
    eta_bound: float = math.inf,
    low: float | np.ndarray = -math.inf,
    high: float | np.ndarray = math.inf,
    bounds: Bounds | None = None,
    retrieval: Retrieval = "none",
    rounds: int = 1,
    method: Method = "limit",
    rows: int = 10_000,
    steps: int = 80,
    tolerance: float | None = None,
    solver_share: float = 0.0,
) -> NappRelease:
    """Release `repeats` independent estimates of NAPP-ERM from one data set.

    - y: shape (n,); real, counts, or labels -1 and +1, within the loss's domain of targets (|y| <= domain.y_bound),
      which is checked.
    - strength: Lambda, above 0, beside the sum of losses.
    - domain: x_norm and, for squared and Poisson, y_bound. Its `theta_norm` is ignored for that of the box.
    - halved: reach Lambda R and not 2 Lambda R (erratum N6); by default unless calibration="paper".
    - truncation: c of Eqs 9 and 10; the variant's own if left out.
    - eta_bound: |<x, theta>| beyond which the loss goes on linearly (erratum N10). Its bounds then hold for every
      theta.
    - low, high: shape (p,); theta.
    - bounds: the zetas to calibrate for, in place of those of the domain: for the settings of the paper.
    - rounds: of recycling, for penalties other than ridge.
    - method: the fixed point, or Algorithm 1 with `rows` noise rows and `steps` iterations (unconstrained).
    - rows, steps: n_e and T of the literal way.
    - tolerance: in [1e-12, 1]; the solver's public target: a distance of at most tolerance zeta1 zeta2/modulus from the
      minimiser. Default 1e-6, with a solver share 1e-9.
    - solver_share: in [0, 1): share of the budget that pays for noise against the solver's error; 0 adds none. The
      result is put back into the box; what is within reach of that noise of a wall, or of a lasso's 0, is there again.
      For forms that are certified (`Plan.certified`), as all proved ones are.
    - Source: li2021, Algorithms 1 and 2, Theorem 4; errata N1 to N8, N10, N11.
    """
    tolerance = aimed(tolerance, solver_share)
    counts_of(rows, steps, rounds)
    made = plan(
        loss, X.shape[1], penalty=penalty, strength=strength, domain=domain, budget=budget, neighbours=neighbours,
        calibration=calibration, variant=variant, moor=moor, gamma=gamma, kappa=kappa, halved=halved, share=share,
        truncation=truncation, eta_bound=eta_bound, low=low, high=high, bounds=bounds, retrieval=retrieval,
        method=method, solver_share=solver_share,
    )  # fmt: skip
    continued = losses.make(loss, eta_bound)
    y = continued.targets_of(y, domain)
    noise = made.law.sample((repeats, X.shape[1]), rng)
    if calibration != "paper":
        # Within one orthant b'|theta| is a linear tilt; b is two-sided and its law symmetric, so its own signs do.
        variant = "erm"
    if method == "literal":
        return _by_augmentation(made, loss, X, y, noise, strength, variant, rows, steps, eta_bound, rng)
    problems = limit.problems(loss, X[None], y[None], eta_bound=eta_bound)
    fixed = (problems, noise, made.scheme, np.array([strength]))
    solver = {"extra_l1": made.extra_l1, "box": made.box}
    gap = _GAP if made.certified else tolerance
    retrieved = np.full(repeats, made.credit)
    recycled = retrieval == "recycle" and penalty != "ridge"
    if recycled:
        runs = retrieving.recycle(
            *fixed, variant=variant, budget=budget, share=share, rounds=rounds, solver={**solver, "tolerance": gap}
        )
        found, retrieved = runs[-1], runs[-1].credit[:, 0]
    elif made.scheme.gamma in (0, 1):
        found = limit.path(*fixed, variant=variant, tolerance=gap, **solver)
    else:
        found = limit.reweighted(*fixed, variant=variant, steps=steps, **solver)
    theta, converged = found.theta[:, 0].copy(), found.converged[:, 0].copy()
    if retrieval == "return" and penalty != "ridge":
        retrieved = retrieving.retrieved(made.scheme, strength, theta)
    certificate = np.full(repeats, math.inf)
    if made.certified:
        aim = tolerance * made.bounds.zeta12
        tilt, added = (np.zeros_like(noise), noise) if variant == "vs_plus" else (noise, 0.0)
        composite = Composite(continued, X, y, tilt, added + made.extra_l1, made.scheme, strength, made.box)
        theta, known = certified(composite, theta, aim, made.bend)
        certificate, converged = known / made.modulus, known <= aim
    guarantee = "none" if made.obstacles else "proved_exact"
    if solver_share > 0:
        tau = tolerance * made.bounds.zeta12 / made.modulus
        sticky = [0.0] * bool(slope(made.scheme, strength, 0.0) + made.extra_l1 > 0) + [*made.box]
        theta = covered(theta, 2 * tau, budget.share(solver_share), rng, sticky=sticky)
        theta = np.clip(theta, *made.box)
        guarantee = "none" if made.obstacles else "proved"
    event = budget_event(made.spent)
    # Of a two-sided tilt alone.
    two_sided = not recycled and not isinstance(made.law, Absolute)
    known = Noise(deviation(made.law, X.shape[1]) / made.bounds.zeta12) if two_sided else None
    return NappRelease(
        theta, certificate, converged, guarantee, event, noise=known, retrieved=retrieved, obstacles=made.obstacles
    )


def _by_augmentation(made, loss, X, y, noise, strength, variant, rows, steps, eta_bound, rng) -> NappRelease:
    """Run Algorithm 1 for each b."""
    fixed = {"variant": variant, "rows": rows, "steps": steps, "rng": rng, "eta_bound": eta_bound}
    theta = np.array([literal.settled(literal.literal(loss, X, y, b, made.scheme, strength, **fixed)) for b in noise])
    certificate, converged = np.full(len(noise), math.inf), np.ones(len(noise), dtype=bool)
    event, credit = budget_event(made.spent), np.full(len(noise), made.credit)
    return NappRelease(theta, certificate, converged, "none", event, retrieved=credit, obstacles=made.obstacles)


def _true_bounds(loss: Loss, domain: Domain, box: tuple[np.ndarray, np.ndarray], *, needed: bool) -> Bounds | None:
    """Return the bounds that hold on the domain; None if there are none and none are needed."""
    corner = float(np.sqrt((np.maximum(np.abs(box[0]), np.abs(box[1])) ** 2).sum()))
    within = Domain(domain.x_norm, domain.y_bound, corner)
    if not needed and not all(map(math.isfinite, loss.suprema(within))):
        return None
    return losses.bounds(loss, within)
