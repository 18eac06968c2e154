r"""Sparse linear regression in two stages: select a support, then perturb the objective on it (kifer2012, Algorithm 2).

    stage one   Gamma, s of p features: the exponential mechanism (Algorithm 4, `support.exp_mech`) or Samp-Agg
                (Algorithms 3, 5 and 6, `support.samp_agg`), epsilon_1 = support_share epsilon (printed: epsilon/2);
    stage two   theta = argmin_{supp theta in Gamma, |theta_j| <= B}  sum_i 1/2 (y_i - <x_i, theta>)^2
                        + Delta/2 ||theta||^2 + <b, theta>          (Algorithm 1, `objective`), (epsilon_2, delta) with
                epsilon_2 = epsilon - epsilon_1 and all of delta: Gaussian b, or the gamma law where delta = 0.

Public: s, B, the bound Y on |y|, and the bound r on the l2 norm of the s largest entries of a row, whichever they are
(Definition 2; the case study has r = sqrt(s), Y = s, B = 1). Whatever Gamma is, ||x_Gamma|| <= r and ||theta|| <=
sqrt(s) B, so one record of stage two has

    zeta = r (Y + r B sqrt(s)) = 2 s^1.5,      lambda = r^2 = s      (Lemma 39).

Targets beyond Y are moved to it (Algorithm 6, line 3), rows whose s largest entries v are longer than r are multiplied
by r/||v|| (line 4; it prints r/||x||, erratum K14). Both depend on that record alone.

Privacy (Theorem 38; "Sparse regression" in docs/privacy.md). For every fixed Gamma stage two is (epsilon_2, delta)-
private, because zeta and lambda do not depend on Gamma; its box is no smooth regularizer, and the limit theorem
(kifer2012, Theorem 1) carries the guarantee over to it. Stage one is epsilon_1-private and has coins of its own.
Adaptive basic composition: (Gamma, theta) is (epsilon_1 + epsilon_2, delta) = (epsilon, delta)-private, so stage two
may use the support that stage one chose, under add/remove and replace-one alike. Three conditions are easily missed:

- Delta >= 2 lambda/epsilon_2, which is 4 lambda/epsilon at the printed split: stage two has half of epsilon. At
  2 lambda/epsilon and delta = 0 it spends epsilon/4 + log(1 + epsilon/2), more than its epsilon/2 below epsilon = 5;
- one record may touch one block of Samp-Agg alone: printed blocks are not private under add/remove (erratum K6);
- the printed noise of Algorithm 1 is for add/remove; it proves nothing under replace-one (erratum K3).

calibration   stage one: exp_mech, samp_agg    a row above r    stage two
"paper"       printed, printed                 r/||v||, r/||x|| printed
"corrected"   printed, K6 mended               r/||v||          printed under add/remove; under replace-one as "tight"
"tight"       tight, K6 mended                 r/||v||          tight

The guarantee is the weaker one of the two stages': `none` for printed Samp-Agg under add/remove and for printed stage
two under replace-one. Stage one is `proved`: its scores' error is paid for, its votes need no exact lasso. Stage two is
`proved_exact`: what is released lies within the solver's certified error of the minimiser that the proof speaks of
(erratum K8); with `solver_share` noise hides that error, and it is `proved`.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dperm import losses
from dperm.domain import Budget, Calibration, Domain, Guarantee, Mended, Neighbours, number, one_of
from dperm.errors import DomainViolation, InvalidBudget
from dperm.feasible import Region
from dperm.mechanisms import objective
from dperm.mechanisms.base import Release, budget_event
from dperm.mechanisms.support import exp_mech, limits, samp_agg
from dperm.solvers import lasso
from dperm.solvers.moments import exact

CALIBRATIONS = ("paper", "corrected", "tight")

Support = Literal["exp_mech", "samp_agg"]


@dataclass(frozen=True)
class _Stages:
    """The calibration of each stage, and what a long row is divided by; by the calibration of the whole."""

    exp_mech: Calibration
    samp_agg: Calibration
    objective: dict[Neighbours, Calibration]
    divisor: dict[Support, limits.Divisor]


_ALWAYS_PART = {"exp_mech": "part", "samp_agg": "part"}
_STAGES = {
    "paper": _Stages(
        "paper", "paper", {"add_remove": "paper", "replace": "paper"}, {"exp_mech": "part", "samp_agg": "row"}
    ),
    "corrected": _Stages("paper", "corrected", {"add_remove": "paper", "replace": "tight"}, _ALWAYS_PART),
    "tight": _Stages("tight", "corrected", {"add_remove": "tight", "replace": "tight"}, _ALWAYS_PART),
}
# What a whole is worth whose parts are worth these: the least of them.
_WORTH: tuple[Guarantee, ...] = ("none", "claimed", "proved_exact", "proved")


@dataclass(frozen=True, kw_only=True)
class SparseRelease(Release):
    """What `release` returns; each row spends the budget.

    - theta: shape (repeats, p); 0 outside the support; with an intercept, which has the last column, (repeats, p + 1).
    - certificate: shape (repeats,); upper bound on the distance from stage two's minimiser on the support.
    - converged: shape (repeats,); whether both stages met their public targets; where not, nothing is promised of that
      row.
    - guarantee, event, mode: as in `Release`, of both stages together.
    - selection: dperm.mechanisms.support.exp_mech.Selection or dperm.mechanisms.support.samp_agg.Selection; what stage
      one found: `supports` is covered by the budget, the rest is not private and for science.
    """

    selection: exp_mech.Selection | samp_agg.Selection

    @property
    def supports(self) -> np.ndarray:
        """The supports, shape (repeats, s), ascending indices."""
        return self.selection.supports


def case_study(size: int) -> Domain:
    """Return the public bounds of the paper's case study: r = sqrt(s) and Y = s (Section 3.1; B = 1 beside them)."""
    return Domain(x_norm=math.sqrt(size), y_bound=float(size))


def split(budget: Budget, support_share: float) -> tuple[Budget, Budget]:
    """Return what the two stages may spend: (share epsilon, 0) and (epsilon - share epsilon, delta)."""
    remedy = "it is stage one's share of epsilon; the paper's is 0.5"
    support_share = number("support_share", support_share, 0, 1, error=InvalidBudget, remedy=remedy)
    first = budget.epsilon * support_share
    return Budget(first), Budget(budget.epsilon - first, budget.delta)


def stage_two(
    size: int,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    support_share: float = 0.5,
    bound: float = 1.0,
    curvature: float | None = None,
    solver_share: float = 0.0,
    tolerance: float | None = None,
    fit_intercept: bool = False,
) -> tuple[dict[str, Any], Release]:
    """Return how stage two calls `objective.release_gram`, whatever the support is, and its release of no data.

    What it refuses is refused here, without data: `release` asks before stage one starts.

    - arguments: all but the Gram matrix, the generator and the repeats.
    """
    one_of("calibration", calibration, Mended)
    one_of("neighbours", neighbours, Neighbours)
    features = limits.checked_size(size) + bool(fit_intercept)
    if domain.y_bound is None:
        raise DomainViolation("y_bound is missing: the squared loss needs the public bound on |y| (s in kifer2012)")
    bound = number("bound", bound, 0, math.inf, remedy="it is the public bound on the entries of theta")
    arguments = {
        "domain": Domain(math.hypot(domain.x_norm, float(bool(fit_intercept))), domain.y_bound),
        "budget": split(budget, support_share)[1],
        "neighbours": neighbours,
        "calibration": _STAGES[calibration].objective[neighbours],
        "curvature": curvature,
        "solver_share": solver_share,
        "tolerance": tolerance,
        "region": Region(low=-bound, high=bound),
    }
    nothing = np.zeros((features, features)), np.zeros(features)
    dry = objective.release_gram(*nothing, **arguments, rng=np.random.default_rng(0), repeats=0)
    return arguments, dry


def release(
    X: np.ndarray,
    y: np.ndarray,
    *,
    size: int,
    support: Support,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    support_share: float = 0.5,
    bound: float = 1.0,
    curvature: float | None = None,
    penalty: float | None = None,
    blocks: int | None = None,
    one_assignment: bool = False,
    divisor: limits.Divisor | None = None,
    solver_share: float = 0.0,
    tolerance: float | None = None,
    fit_intercept: bool = False,
    rng: np.random.Generator,
    repeats: int = 1,
) -> SparseRelease:
    """Release `repeats` independent sparse vectors, each for the whole budget.

    - X: shape (n, p); Samp-Agg's votes see it as it is (they are bounded whatever the data are); else long rows are
      scaled down.
    - y: shape (n,); likewise; else moved into [-Y, Y].
    - domain: `x_norm` is r, the bound on the s largest entries of a row; `y_bound` is Y. `theta_norm` is ignored.
    - support_share: in (0, 1): epsilon_1/epsilon.
    - bound: B: |theta_j| <= B, in both stages (Samp-Agg's lasso has no box, as printed).
    - curvature: Delta of stage two, of the sum of losses; by default 2 lambda/((1 - solver_share) epsilon_2). It may
      depend on n under replace-one only.
    - penalty: Lambda of Samp-Agg's lassos, of the sum of squares over a block; public, and needed for "samp_agg" alone.
    - blocks: k of Samp-Agg; by default floor(sqrt(n)), where n is public or the calibration is "paper".
    - one_assignment: as for `support.samp_agg.select`: repeats share one random assignment of records to blocks.
    - divisor: which norm of a long row it is divided by (erratum K14); by default the calibration's. Both are private.
    - solver_share, tolerance: of stage two: as for `objective.release`, `solver_share` is a share of (epsilon_2,
      delta).
    - fit_intercept: add a constant feature 1 to stage two: r becomes sqrt(r^2 + 1) and s + 1 replaces s there. It is in
      every support, in the box and under Delta like the rest, and stage one selects without it.
    - rng: stage one draws first, then stage two for one support after the other, in lexicographic order.
    """
    one_of("support", support, Support)
    on_support, dry = stage_two(
        size, domain=domain, budget=budget, neighbours=neighbours, calibration=calibration,
        support_share=support_share, bound=bound, curvature=curvature, solver_share=solver_share, tolerance=tolerance,
        fit_intercept=fit_intercept,
    )  # fmt: skip
    stages = _STAGES[calibration]
    divisor = stages.divisor[support] if divisor is None else divisor
    one_of("divisor", divisor, limits.Divisor)
    X, y = lasso.checked(X, y)
    p = X.shape[1]
    limits.checked_size(size, p)
    first, _ = split(budget, support_share)
    stage_one = {"size": size, "budget": first, "neighbours": neighbours, "rng": rng, "repeats": repeats}
    # Samp-Agg votes on the rows as they are.
    if support == "samp_agg":
        if penalty is None:
            raise ValueError("penalty is missing: Samp-Agg's lassos need a public Lambda; see samp_agg.paper_penalty")
        stage_one |= {"penalty": penalty, "blocks": blocks, "one_assignment": one_assignment}
        selection = samp_agg.select(X, y, calibration=stages.samp_agg, **stage_one)
    elif not (penalty is None and blocks is None):
        raise ValueError("penalty and blocks are Samp-Agg's alone; leave them out, or take support='samp_agg'")
    else:
        limits.checked_supports(size, p)
    # From here on rows are as long as any support allows, and targets within their bound.
    X = limits.bounded_parts(X, size, domain.x_norm, clip=True, divisor=divisor)
    y = losses.squared().targets_of(y, domain, clip=True)
    if support == "exp_mech":
        selection = exp_mech.select(X, y, calibration=stages.exp_mech, domain=domain, bound=bound, **stage_one)
    theta, certificate, converged = on_supports(X, y, selection.supports, on_support | {"rng": rng}, fit_intercept)
    if support == "exp_mech":
        converged &= selection.converged
    guarantee, event = min(selection.guarantee, dry.guarantee, key=_WORTH.index), budget_event(budget)
    return SparseRelease(theta, certificate, converged, guarantee, event, noise=dry.noise, selection=selection)


def on_supports(X, y, supports, on_support, fit_intercept) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return theta, certificate and converged of stage two: one Gram matrix, and for each support one batch."""
    repeats, p = len(supports), X.shape[1]
    union, places = np.unique(supports, return_inverse=True)
    columns = X[:, union]
    if fit_intercept:
        columns = np.column_stack([columns, np.ones(len(X))])
        union = np.append(union, p)
        places = np.column_stack([places.reshape(supports.shape), np.full(repeats, len(union) - 1)])
    moments = exact(np.column_stack([columns, y]))
    G, c = moments[:-1, :-1], moments[:-1, -1]
    theta = np.zeros((repeats, p + bool(fit_intercept)))
    certificate, converged = np.empty(repeats), np.empty(repeats, bool)
    chosen, group = np.unique(places.reshape(repeats, -1), axis=0, return_inverse=True)
    for which, Z in enumerate(chosen):
        rows = np.flatnonzero(group.ravel() == which)
        records = np.ascontiguousarray(columns[:, Z]), y
        found = objective.release_gram(G[np.ix_(Z, Z)], c[Z], **on_support, records=records, repeats=len(rows))
        theta[np.ix_(rows, union[Z])] = found.theta
        certificate[rows], converged[rows] = found.certificate, found.converged
    return theta, certificate, converged
