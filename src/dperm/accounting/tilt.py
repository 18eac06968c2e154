r"""The tilt that a budget asks for, and what a tilt spends, by the best theorem of docs/privacy.md for a loss.

What depends on the loss is in `Record`: the bounds on one record, and whether its force |l'| and its curvature l'' are
tied, l'' = |l'| (1 - |l'|), as those of the logistic loss are. Tied: Theorem 4 (`dperm.accounting.logistic`). Not tied:
Theorems 1 to 3 (`dperm.accounting.objective`), which let one record have full force and full curvature at once.

Delta is the strong convexity that the tilted objective has for all data, and a scale the sigma of Gaussian b (delta
above 0) or the s of a density proportional to exp(-||b||/s) (delta = 0). Bounds are one record's under either relation.
"""

import math
from dataclasses import dataclass

from dperm.accounting import logistic, objective
from dperm.domain import Budget, Neighbours

# Rounding of a scale, when printed constants meet the bound of pure privacy with equality.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Record:
    """Bounds on one record's loss that hold for every theta.

    Parameters
    ----------
    zeta : float
        Of the gradient's norm, above 0.
    lam : float
        lambda, of the Hessian's eigenvalue, 0 or above.
    one_sided : bool
        Whether l'(., y) keeps its sign for every y.
    cap : float, optional
        `Loss.cap`: s = |l'| is at most that, and l'' at most s (1 - s). None: force and curvature are not tied.
    weight : float
        W, above 0: the record's loss is w l with w <= W, and zeta and lam bound it. What ties force and curvature is of
        l, that is of w = 1.
    """

    zeta: float
    lam: float
    one_sided: bool = False
    cap: float | None = None
    weight: float = 1.0

    def scale(self, budget: Budget, *, curvature: float, neighbours: Neighbours) -> float:
        """Return the least scale of b that is proved enough, rounded up.

        Parameters
        ----------
        budget : Budget
            With delta = 0 of a spherical density, else of Gaussian b.
        curvature : float
            Delta, above 0.
        neighbours : {"add_remove", "replace"}

        Returns
        -------
        float
            In the units of zeta.

        Raises
        ------
        InvalidBudget
            If the curvature is too small for epsilon, or a value is outside its range.

        References
        ----------
        docs/privacy.md, Theorems 1 to 4, and for weights Corollary W.
        """
        epsilon, delta = budget.epsilon, budget.delta
        if self.cap is None:
            spent = {"epsilon": epsilon, **self._apart(curvature, neighbours)}
            if delta == 0:
                return objective.gamma_scale(self.zeta, **spent)
            return self.zeta / objective.objective_ratio(delta=delta, one_sided=self.one_sided, **spent)
        zeta, tied = self._tied(curvature, neighbours)
        if delta == 0:
            return logistic.logistic_gamma_scale(zeta, epsilon=epsilon, **tied)
        return zeta / logistic.logistic_ratio(epsilon=epsilon, delta=delta, **tied)

    def enough(self, scale: float, budget: Budget, *, curvature: float, neighbours: Neighbours) -> bool:
        """Say whether b of this scale is proved to be within the budget.

        Parameters
        ----------
        scale : float
            Above 0, in the units of zeta.
        budget, curvature, neighbours
            As for `scale`.
        """
        pair = {"curvature": curvature, "neighbours": neighbours}
        if budget.delta > 0:
            return self.delta(scale, epsilon=budget.epsilon, **pair) <= budget.delta
        if self.cap is None:
            spent = objective.gamma_epsilon(scale, self.zeta, **self._apart(**pair))
        else:
            zeta, tied = self._tied(**pair)
            spent = logistic.logistic_gamma_epsilon(scale, zeta, **tied)
        return spent <= budget.epsilon * (1 + _ROUNDING)

    def delta(self, sigma: float, *, epsilon: float, curvature: float, neighbours: Neighbours) -> float:
        """Return a delta for which Gaussian b of this sigma is (epsilon, delta)-DP.

        Parameters
        ----------
        sigma : float
            Above 0, in the units of zeta.
        epsilon : float
            Above 0.
        curvature, neighbours
            As for `scale`.
        """
        if self.cap is None:
            apart = self._apart(curvature, neighbours)
            bound = objective.objective_delta(self.zeta / sigma, epsilon=epsilon, one_sided=self.one_sided, **apart)
            return float(bound)
        zeta, tied = self._tied(curvature, neighbours)
        return logistic.logistic_delta(zeta / sigma, epsilon=epsilon, **tied)

    def _apart(self, curvature: float, neighbours: Neighbours) -> dict:
        return {"log_det": math.log1p(self.lam / curvature), "neighbours": neighbours}

    def _tied(self, curvature: float, neighbours: Neighbours) -> tuple[float, dict]:
        """Return zeta = W cap R and the leverage W R^2/Delta, of the longest row R that both bounds allow.

        All is divided by W: losses, Delta and b (docs/privacy.md, Corollary W).
        """
        most = logistic.most_curved(self.cap)
        # Up by the rounding of the root: where the bounds agree, R is zeta/cap to the last digit.
        zeta, lam = self.zeta / self.weight, self.lam / self.weight
        R = min(zeta / self.cap, math.sqrt(lam / most) * (1 + 1e-15))
        leverage = self.weight * R**2 / curvature
        return self.weight * (self.cap * R), {"leverage": leverage, "neighbours": neighbours, "cap": self.cap}
