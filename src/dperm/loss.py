r"""What a loss of a generalized linear model is: its derivatives, their bounds, and the targets for which those hold.

The suprema hold for targets of the loss's own domain alone, which `Loss.targets_of` checks or clips into:

    binary    y in {-1, +1},
    real      |y| <= Y,
    count     0 <= y <= Y; whole numbers or not, as the bounds need no more than the sign.

Every mechanism's core and every estimator passes its targets through it. (The Poisson loss with y = -Y would have
|l'| = e^M + Y, more than any calibration used.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dperm.domain import MOST, NORM_SLACK, Domain
from dperm.errors import DomainViolation

Pointwise = Callable[[np.ndarray, np.ndarray], np.ndarray]
Between = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
# Where no y_bound is declared, targets are clipped so many times sup |l'| beyond every margin that is bounded: no slope
# changes there but of models that predict nearly as far out.
FAR = 1e6


@dataclass(frozen=True)
class Loss:
    """A convex GLM loss with its first two derivatives in u and their suprema.

    Parameters
    ----------
    name : str
        Key in `LOSSES`.
    targets : {"binary", "real", "count"}
        The domain of y (`targets_of`): {-1, +1}, the reals, or the reals of 0 and above.
    value, derivative, second : callable
        l, l' and l'' as functions of (u, y), broadcasting. At a kink `derivative` is a subgradient, and where l'' jumps
        `second` is one of its limits.
    second_within : callable
        sup l'' over the margins in [low, high], as a function of (low, high, y): what a rounded margin may hide.
    suprema : callable
        Maps a `Domain` to (sup |l'|, sup l''); infinite where the domain does not bound it.
    one_sided : bool
        True if, given y, l'(., y) never changes sign: halves the tail in the tight calibrations.
    unit : float
        What u is measured by: 1 for a margin of labels or a logarithm; 0 where l' is made of u - y alone, so that
        another unit of y changes nothing but the scale.
    cap : float, optional
        Given if l'(., y) keeps its sign and s = |l'| <= cap and l'' <= s (1 - s): a record's force and curvature are
        tied, which the tight calibrations know (docs/privacy.md, Theorem 4). 1 for the logistic loss.
    weight_bound : float
        W: a record's loss may be w l with 0 <= w <= W, and the bounds on its gradient and curvature are W times those
        of l. The functions above are l's own, of weight 1.
    """

    name: str
    targets: str
    value: Pointwise
    derivative: Pointwise
    second: Pointwise
    second_within: Between
    suprema: Callable[[Domain], tuple[float, float]]
    one_sided: bool
    unit: float = 1.0
    cap: float | None = None
    weight_bound: float = 1.0

    def targets_of(self, y: np.ndarray, domain: Domain, *, clip: bool = False) -> np.ndarray:
        """Return the targets, all within the domain for which the suprema hold.

        - y: shape (n,); numbers of any type. The result is float64.
        - domain: its `y_bound` is Y; without one, real targets and counts have no bound.
        - clip: move every other target to the nearest of the domain instead of raising (NaN to 0, of labels all but
          positive ones to -1; without a `y_bound` to `FAR` times sup |l'| beyond the margins). Each by itself, so
          that neighbouring data sets stay neighbours under both relations.
        - Raises DomainViolation: if a target is outside the domain and `clip` is False. The message gives nothing of
          the data.
        """
        y = np.asarray(y, dtype=np.float64)
        if self.targets == "binary":
            if clip:
                return np.where(y > 0, 1.0, -1.0)
            if not (np.abs(y) == 1).all():
                raise DomainViolation(f"the {self.name} loss takes the labels -1 and +1 alone; encode them so")
            return y
        high = self._far(domain) if domain.y_bound is None and clip else y_bound(domain)
        low = 0.0 if self.targets == "count" else -high
        if clip:
            return np.clip(np.where(np.isnan(y), 0.0, y), low, high)
        # Two passes without arrays of their own; NaN and infinity show in them.
        least, most = float(y.min(initial=0.0)), float(y.max(initial=0.0))
        if not (math.isfinite(least) and math.isfinite(most)):
            raise DomainViolation("y holds NaN or infinity; drop or mend such targets first, or pass clip=True")
        if self.targets == "count" and least < low:
            raise DomainViolation(
                f"loss={self.name!r} is of counts, 0 or above, and y holds a negative number: the bounds on its slope "
                "do not hold there; drop such records, or pass clip=True to move their targets to 0"
            )
        if max(-least, most) > high * (1 + NORM_SLACK):
            raise DomainViolation(
                f"y holds targets beyond y_bound={high:g}; declare the larger public bound, or pass clip=True to move "
                "such targets to it"
            )
        return np.clip(y, low, high)

    def weights_of(self, weights: np.ndarray | None, n: int) -> np.ndarray | None:
        """Return the weights of n records, all of them in [0, W], for which the bounds hold; None where all are 1.

        DomainViolation if one is outside; the message gives nothing of the data. ValueError if there are not n.
        """
        if weights is None:
            if self.weight_bound < 1:
                raise DomainViolation(
                    f"weight_bound={self.weight_bound:g} and no weights: records without weights count once; declare "
                    "weight_bound=1.0 or more, leave it out, or pass sample_weight"
                )
            return None
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != (n,):
            raise ValueError("weights must be 1D, a weight for each record")
        if not ((weights >= 0) & (weights <= self.weight_bound)).all():
            raise DomainViolation(
                f"a weight is outside [0, {self.weight_bound:g}], for which gradient and curvature are bounded"
            )
        return None if (weights == 1).all() else weights

    def _far(self, domain: Domain) -> float:
        """Return a public Y for clipping where none is declared."""
        slope = self.suprema(Domain(x_norm=1.0))[0]
        margin = domain.margin_bound if math.isfinite(domain.margin_bound) else 0.0
        return min(FAR * (slope if math.isfinite(slope) else 1.0) + margin, MOST)

    def gradient_bound(self, domain: Domain) -> float:
        """Return zeta = W R sup |l'|, in units of the loss over theta.

        DomainViolation if the domain does not bound the derivative; the message names the missing bound.
        """
        return self.weight_bound * domain.x_norm * self._finite(domain, 0, "gradient")

    def curvature_bound(self, domain: Domain) -> float:
        """Return lambda = W R^2 sup l'', in units of the loss over theta squared.

        DomainViolation if the loss has a kink (no finite lambda: smooth it) or the domain does not bound its curvature.
        """
        return self.weight_bound * domain.x_norm**2 * self._finite(domain, 1, "curvature")

    def _finite(self, domain: Domain, which: int, word: str) -> float:
        supremum = self.suprema(domain)[which]
        if math.isfinite(supremum):
            return supremum
        if math.isinf(self.suprema(Domain(1.0, 1.0, 1.0))[which]):
            raise DomainViolation(
                f"the {self.name} loss has a kink, so no bounded {word} on any domain: "
                "take smoothed_hinge for hinge, huber for absolute"
            )
        raise DomainViolation(
            f"the {self.name} loss has no bounded {word} on this domain (x_norm={domain.x_norm}, "
            f"y_bound={domain.y_bound}, theta_norm={domain.theta_norm}): declare the missing bound (or smaller ones), "
            "or take a loss that is bounded everywhere (logistic, huber)"
        )


def y_bound(domain: Domain) -> float:
    """Return Y, infinite where none is declared."""
    return math.inf if domain.y_bound is None else domain.y_bound
