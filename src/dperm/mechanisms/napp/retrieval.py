r"""Privacy budget retrieval and recycling (li2021, 3.7: Proposition 6, Equations 13 to 15, Algorithm 2).

Of epsilon, r epsilon pays for the noise and (1 - r) epsilon for the Jacobian, for which a modulus of 2 Lambda0 is
enough. At the fixed point theta the weights w_j = n_e l''(0) V_j/2 (`scheme`) may all be above Lambda0. li2021 calls

    Delta = (1 - r) epsilon (1 - Lambda0/min_j w_j)                                                            (13)

retrievable. It may be returned (the run then claims epsilon - Delta), or recycled: the floor is raised to min_j w_j
(15), the noise is rescaled to what rounds of budget r epsilon + Delta would have drawn,

    delta = 0: b r epsilon/(r epsilon + Delta),    delta > 0: b sigma(r epsilon + Delta)/sigma(r epsilon),     (14)
    sigma(a)^2 ~ (a - log delta)/a^2,

and the problem is solved again; and so on, as long as anything is retrieved.

As printed none of this runs. What stands for it here, and what remains as an option:

    N5    Eq 13 prints min{0, .}, which is never above 0, and 1 - Lambda0/(n_e l'' V) = 1 - Lambda0/(2 w), which is at
          least 1/2 for whatever data. Here: max, and the 2. `form`: "without_two" keeps the max alone, "printed" both.
    N13   The example of 3.7 takes the minimum over J = {j: w_j without the floor > Lambda0}. Here: over all j, as
          Eq 13. `among="exceeding"`: over J; nothing if J is empty.
    N14   Line 10 of Algorithm 2 updates Lambda0 before line 11 divides by it, so that it stops after one round. Here
          line 11 divides by the floor that the round was run with. Then budgets telescope: after any round (1 - r)
          epsilon Lambda0/min_j w_j remains with the Jacobian, which is what Proposition 6 charges. (Line 7, read as it
          stands, would divide by the first Lambda0 in the second round and count the same modulus twice.)
          Line 6 multiplies by r epsilon/(r epsilon + Delta) what it has multiplied before, and that is not Eq 14's
          scale for Gaussian b. Here: the first b, Eq 14's scale. `algorithm="printed"` keeps lines 6, 10 and 11.

What it is worth. The charge (1 - r) epsilon Lambda0/w is right if w is a modulus for all data. For ridge
w = max{Lambda, Lambda0} is; then Delta is public, and the two budgets are nothing but another choice of r (`split`).
For every other target min_j w_j depends on theta, hence on the data and on the very b that is used again: `return`
makes a claim after the fact, `recycle` calibrates noise by a private number, and nothing is proved of either (erratum
N5; with MOOR an audit refutes recycling). Only `split` is proved.

Neighbours: add/remove.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from dperm.domain import Budget, number, one_of
from dperm.errors import InvalidBudget
from dperm.mechanisms.napp import limit
from dperm.mechanisms.napp.noise import Bounds
from dperm.mechanisms.napp.scheme import Scheme, weights

Among = Literal["all", "exceeding"]
Form = Literal["repaired", "without_two", "printed"]
Algorithm = Literal["repaired", "printed"]

# 1 - Lambda0/w to what the form prints.
_FORMS = MappingProxyType(
    {
        "repaired": lambda ratio: np.maximum(0.0, 1 - ratio),
        "without_two": lambda ratio: np.maximum(0.0, 1 - ratio / 2),
        "printed": lambda ratio: np.minimum(0.0, 1 - ratio / 2),
    }
)


@dataclass(frozen=True)
class Round:
    """One run of Algorithm 2, the first one without recycling included.

    - floors: shape (R, L); Lambda0 of this run; infinite where the run before it set every coefficient to 0.
    - credit: shape (R, L); Delta/((1 - r) epsilon) in [0, 1]: what all runs before it have retrieved.
    - share: shape (R, L); what this run retrieves, in the same unit.
    - factor: shape (R, L); of the noise, over the first run's.
    - gap: shape (R, L); the solver's certificate, relative to the objective.
    """

    theta: np.ndarray
    floors: np.ndarray
    credit: np.ndarray
    share: np.ndarray
    factor: np.ndarray
    gap: np.ndarray
    converged: np.ndarray


def retrieved(
    scheme: Scheme,
    strengths: np.ndarray,
    theta: np.ndarray,
    *,
    among: Among = "all",
    form: Form = "repaired",
) -> np.ndarray:
    """Return the retrievable share of (1 - r) epsilon at a fixed point: Equation 13 over (1 - r) epsilon.

    - scheme: its `floor` is Lambda0, a number or of the shape of `strengths` broadcast against theta without its last
      axis.
    - strengths: shape (L,) or any that broadcasts against theta[..., 0]; Lambda.
    - theta: shape (..., p); exact zeros have an infinite weight (but not with ridge).
    - among: over which j the minimum is: erratum N13.
    - form: Erratum N5. "printed" is 0 or below.
    - Returns: shape (...); in [0, 1]; 1 where every weight is infinite.
    - Source: li2021, Proposition 6 and the example after it.
    """
    one_of("among", among, Among)
    one_of("form", form, Form)
    floor = np.broadcast_to(np.asarray(scheme.floor, float), np.shape(theta)[:-1])
    return _FORMS[form](_ratio(scheme, floor, strengths, theta, among))


def noise_factor(budget: Budget, share: float, credit: np.ndarray) -> np.ndarray:
    """Return Equation 14's factor of noise that gets r epsilon + credit (1 - r) epsilon, credit in [0, 1]."""
    _check_share(share)
    first = share * budget.epsilon
    spent = first + np.asarray(credit) * (1 - share) * budget.epsilon
    if budget.delta == 0:
        return first / spent
    least = -math.log(budget.delta)
    return first / spent * np.sqrt((spent + least) / (first + least))


def recycle(
    problems: limit.Problems,
    noise: np.ndarray,
    scheme: Scheme,
    strengths: np.ndarray,
    *,
    variant: str,
    budget: Budget,
    share: float,
    rounds: int = 1,
    among: Among = "all",
    form: Form = "repaired",
    algorithm: Algorithm = "repaired",
    solver: Mapping[str, Any] = MappingProxyType({}),
) -> list[Round]:
    """Run Algorithm 2 with the choice `recycle`, for every data set and strength, in the limit n_e -> infinity.

    - noise: shape (R, p) or (R, L, p); b of the first run, calibrated to `share` of the budget.
    - scheme: its floor is the first Lambda0.
    - rounds: re-runs at most, 0 or above; a problem that retrieves nothing keeps its last run.
    - algorithm: Erratum N14. "printed" stops after one re-run whatever `rounds` says, and rescales by line 6.
    - Returns: the first run and `rounds` re-runs ("printed": at most one). The last one's `credit` + `share` is what
      `return` would return.
    - Source: li2021, Algorithm 2, Equations 14 and 15.
    """
    one_of("algorithm", algorithm, Algorithm)
    _check_share(share)
    number("rounds", rounds, 0, math.inf, ends="[)", remedy="0 is the run without recycling")
    if not (scheme.moor or scheme.target == "ridge"):
        raise ValueError("moor=False adds the floor; Equation 15 takes the maximum, so recycle with moor=True")
    strengths = np.asarray(strengths, float)
    first = limit.path(problems, noise, scheme, strengths, variant=variant, **solver)
    shape = first.theta.shape[:2]
    floor = np.broadcast_to(np.asarray(scheme.floor, float), shape)
    noise = np.broadcast_to(noise if np.ndim(noise) == 3 else noise[:, None], first.theta.shape)

    def finished(theta, floors, credit, factor, gap, converged) -> Round:
        own = _FORMS[form](_ratio(scheme, floors, strengths, theta, among))
        return Round(theta, floors, credit, (1 - credit) * np.maximum(own, 0.0), factor, gap, converged)

    done = [finished(first.theta, floor, np.zeros(shape), np.ones(shape), first.gap, first.converged)]
    for _ in range(min(int(rounds), 1) if algorithm == "printed" else int(rounds)):
        last = done[-1]
        again = last.share > 0
        credit = last.credit + last.share
        # Eq 15: the weights' minimum is the new floor.
        least = _least_weight(scheme, last.floors, strengths, last.theta, among)
        floors = np.where(again, np.maximum(least, last.floors), last.floors)
        factor = np.where(again, _rescaled(budget, share, credit, algorithm), last.factor)
        # Every coefficient was 0: the weights are infinite and keep it there.
        empty = np.isinf(floors)
        found = limit.path(
            problems, noise * factor[..., None], scheme, strengths, variant=variant,
            floors=np.where(empty, floor, floors), **solver,
        )  # fmt: skip
        kept = empty | ~again
        done.append(
            finished(
                np.where(kept[..., None], last.theta, found.theta), floors, credit, factor,
                np.where(kept, last.gap, found.gap), np.where(kept, last.converged, found.converged),
            )
        )  # fmt: skip
    return done


def split(bounds: Bounds, epsilon: float, modulus: float) -> float:
    """Return the share r of epsilon that a public modulus leaves to the noise: what is proved of retrieval.

    - modulus: w: the objective is 2 w strongly convex for all data, as by a ridge term w ||theta||^2.
    - Returns: r = 1 - zeta3/(2 w epsilon), in (0, 1). With w = Lambda0 of `noise.floor` for some r, that r.
    - Source: li2021, Proposition 6, for ridge: there w = max{Lambda, Lambda0}.
    """
    spent = bounds.zeta3 / (2 * modulus)
    if not 0 < spent < epsilon:
        raise InvalidBudget(
            f"modulus={modulus:g} costs {spent:.4g} of epsilon={epsilon:g}; it must be finite and above "
            f"{bounds.zeta3 / (2 * epsilon):.4g}"
        )
    return 1 - spent / epsilon


def left(bounds: Bounds, epsilon: float, strength: float, least: float) -> float:
    """Return the share of epsilon that a ridge, w = max{Lambda, Lambda0} = least, leaves to b; refuse one that is 1."""
    share = split(bounds, epsilon, least)
    if share == 1:
        most = bounds.zeta3 / (2 * epsilon * np.finfo(float).eps)
        raise ValueError(
            f"strength={strength:g} with retrieval='recycle': so strong a ridge costs less of epsilon={epsilon:g} than "
            f"a double resolves; take a strength of at most {most:.3g}, or retrieval='none'"
        )
    return share


def _check_share(share: float) -> None:
    number("share", share, 0, 1, error=InvalidBudget, remedy="it is r, the noise's part of epsilon; li2021 takes 1/2")


def _rescaled(budget: Budget, share: float, credit: np.ndarray, algorithm: Algorithm) -> np.ndarray:
    """Return Eq 14's factor, or that of line 6, which is Eq 14's for delta = 0 alone."""
    return noise_factor(Budget(budget.epsilon) if algorithm == "printed" else budget, share, credit)


def _ratio(scheme: Scheme, floors: np.ndarray, strengths: np.ndarray, theta: np.ndarray, among: Among) -> np.ndarray:
    """Return Lambda0/min_j w_j; 1 where the floor is infinite, for there is nothing left."""
    least = _least_weight(scheme, floors, strengths, theta, among)
    return np.where(np.isinf(floors), 1.0, np.where(np.isinf(floors), 1.0, floors) / least)


def _least_weight(
    scheme: Scheme, floors: np.ndarray, strengths: np.ndarray, theta: np.ndarray, among: Among
) -> np.ndarray:
    """Return min_j w_j over all j, or over J; of an empty J, and where the floor is infinite, the floor."""
    finite = np.where(np.isinf(floors), 1.0, floors)[..., None]
    strengths = np.asarray(strengths, float)[..., None]
    each = weights(replace(scheme, floor=finite), strengths, theta)
    if among == "exceeding":
        # The target's own weights: those of a floor too small to matter.
        own = weights(replace(scheme, floor=np.finfo(float).tiny), strengths, theta)
        each = np.where(own > finite, each, np.inf)
        return np.where((own > finite).any(axis=-1) & np.isfinite(floors), each.min(axis=-1), floors)
    return np.where(np.isinf(floors), floors, each.min(axis=-1))
