r"""What the kernel mechanisms share: how far one record moves the minimiser, and how long the minimiser can be.

    w* = argmin_w sum_i l(<w, phi(x_i)>, y_i) + total/2 ||w||^2,      |l'| <= L,   ||phi|| <= R,   total = n lambda.

The objective is total-strongly convex, and a record's gradient is at most L R long. A pair of data sets differs by the
gradients of k records, k = 2 under replace-one and k = 1 under add/remove (with `total` fixed and public, not made of
n), so by strong monotonicity (docs/privacy.md, section 4, Lemma 2)

    ||w*_D - w*_D'|| <= Delta_w = k L R/total,     |<w*_D - w*_D', phi(z)>| <= Delta_1 = R Delta_w   (jain2013, eq. 3).

Solver error (erratum J9): the solver loops until its duality gap certifies ||w - w*|| <= slack, a public target, so
what it returns for a pair is at most `covered` = Delta_w + 2 slack apart.

Length (erratum J10): w* is no longer than

- sqrt(2 n sup_y l(0, y)/total): total/2 ||w*||^2 <= J(w*) <= J(0), and
- n L R/total: total w* = -sum_i l'_i phi(x_i);

neither looks at the data (n is public under replace-one; under add/remove any C declared beforehand serves).

Sources: jain2013, equations (1) to (3), Appendix A.1; errata J7, J9, J10.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

from dperm.accounting import gaussian
from dperm.domain import LEAST, MOST, Budget, Neighbours, changed_gradients, checked_field
from dperm.errors import DomainViolation, InvalidBudget
from dperm.mechanisms.base import representable

# Share of R^2 in which every query has a feature of its own, and what it grows by with the square of their number.
_NUGGET, _GROWTH = 1e-10, 8 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Setting:
    """The public constants of a kernel model.

    - lipschitz: L, in [1e-30, 1e30]: |l'| <= L everywhere.
    - feature_norm: R, in [1e-30, 1e30]: sqrt(K(x, x)) <= R for every record and every query.
    - total: n lambda, in [1e-30, 1e30]: the weight of ||w||^2/2 beside the *sum* of losses; LibSVM's C is its inverse.
    - radius: C, in [1e-30, 1e30] or infinite: the ball in which w is searched; public (erratum J10).
    - slack: 0 or above: public target of the solver, ||w - w*|| <= slack.
    """

    lipschitz: float
    feature_norm: float
    total: float
    radius: float = math.inf
    slack: float = 0.0
    neighbours: Neighbours = "replace"

    def __post_init__(self):
        remedies = {
            "lipschitz": "it is sup |l'|, 1 for hinge and logistic",
            "feature_norm": "it is sup sqrt(K(x, x))",
            "total": "it is n lambda, 1/C in LibSVM's words",
        }
        for name, remedy in remedies.items():
            checked_field(self, name, LEAST, MOST, ends="[]", error=DomainViolation, remedy=remedy)
        if self.radius != math.inf:
            ball = "it is a public bound on ||w||, or inf"
            checked_field(self, "radius", LEAST, MOST, ends="[]", error=DomainViolation, remedy=ball)
        gap = "it is the solver's public target for ||w - w*||"
        checked_field(self, "slack", 0, MOST, ends="[]", error=DomainViolation, remedy=gap)
        changed_gradients(self.neighbours)

    @property
    def shift(self) -> float:
        """Delta_w = k L R/total, in units of w: how far one record moves the exact minimiser."""
        return changed_gradients(self.neighbours) * self.lipschitz * self.feature_norm / self.total

    @property
    def covered(self) -> float:
        """Delta_w + 2 slack: how far one record moves what the solver returns."""
        return self.shift + 2 * self.slack

    @property
    def reach(self) -> float:
        """C + slack, in units of w: how long what the solver returns can be."""
        return self.radius + self.slack


def a_priori_radius(loss_at_zero: float, lipschitz: float, feature_norm: float, total: float, n: int) -> float:
    """Return a bound on ||w*|| that looks at no data but their number.

    - loss_at_zero: sup_y l(0, y), 0 or above; infinite where there is none.
    - n: number of records, 0 or above; public (replace-one).
    - Source: jain2013, Section 5 (the second, up to its factor 2); erratum J10.
    """
    if not n:
        return LEAST
    return max(min(math.sqrt(2 * loss_at_zero * n / total), n * lipschitz * feature_norm / total), LEAST)


def nugget(count: int) -> float:
    """Return kappa: the noise of Gaussian answers has the covariance sigma^2 (K + kappa R^2 I), not sigma^2 K.

    It adds noise independent of all else, of sd 1e-5 sigma R an answer, so it is post-processing. It is there for
    rounding: where the computed factor M of the noise's covariance has M M' = K + kappa R^2 I + E and the error is
    E >= -kappa R^2 I, M M' >= K = Phi Phi*, so ||M^{-1} Phi|| <= 1: the noise covers every shift of w, whatever is
    asked. Without it near-dependent queries make ||M^{-1} Phi|| - 1 as large as ||E|| over K's least eigenvalue.

    A Cholesky factor has |E_jk| <= 2 u min(j, k) R^2, u = eps/2, hence E >= -8 u R^2 diag(k^2) (||1/max(j, k)|| <= 4);
    eigenvectors have ||E|| of some T u ||K|| <= u T^2 R^2. The growth is twice the former. The rest covers errors of K
    itself up to 1.9e-13 R^2 an entry: some 1,700 roundings at worst. Errors delta of the exact answers are not covered:
    they add at most 2 sqrt(T) delta/(sqrt(kappa) R) to the sensitivity.

    - count: number of queries, or for a query of a path how many were kept before it.
    - Source: Higham 2002, Theorems 8.5 and 10.3; docs/privacy.md, section 11.
    """
    return _NUGGET + _GROWTH * count**2


def sigma(setting: Setting, budget: Budget) -> float:
    """Return the least sd at which w + N(0, sigma^2 I), in feature space, meets the budget.

    - Returns: (Delta_w + 2 slack)/a, a the largest ratio with H_epsilon(a) <= delta; in units of w.
    - Source: jain2013, equation (3); erratum J12; Balle & Wang 2018; docs/privacy.md, section 11.
    """
    if budget.delta == 0:
        raise InvalidBudget("delta=0: Gaussian noise in feature space needs some; take delta=1e-6, say")
    return representable(setting.covered / _ratio(float(budget.epsilon), float(budget.delta)), budget)


# A root of the privacy curve costs as much as the secular equations of forty releases.
_ratio = functools.cache(gaussian.gaussian_ratio)
