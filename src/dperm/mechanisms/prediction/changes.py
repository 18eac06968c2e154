r"""By how much neighbours' gradients differ at one w of a ball: often less than what two steepest records could do.

Records (x, y), ||x||_2 <= L_f, ||w||_2 <= R, u = <w, x>, L_l = sup |l'| over |u| <= R L_f. A record that comes changes
the gradient at w by l'(u, y) x, one that is replaced by l'(u, y) x - l'(u_2, y_2) x_2. Of the logistic loss L_l is
1/(1 + exp(-R L_f)) and not 1; and two records are seldom steepest at the same w. At one w both are those of a plane:

    kappa = sup ||l'(u, y) x - l'(u_2, y_2) x_2|| = L_f times the diameter of
            { s (cos t, sin t) : l'(R L_f cos t, y) = s for a target y of the domain }

(docs/privacy.md, section 12, Theorem D), at R = L_f = 1 for the logistic loss 1.10 and not 2. The diameter is the
largest width, by a grid of points and of directions: a point of the curve is within h/2 (sup |s| + R L_f sup l'') of
one of the grid, h the grid's step, and a direction within pi/(2 m) of one of m. Both are added, so nothing is missed.

Neighbouring relation: the one asked for. Sources: docs/privacy.md, section 12, Theorem D.
"""

import functools
import math

import numpy as np

from dperm.domain import Domain, Neighbours, changed_gradients
from dperm.losses import Loss

_POINTS, _DIRECTIONS = 4_096, 64
# Their minimisers are sought in all of R^p, where nothing but sup |l'| bounds a slope.
_KINKED = ("hinge", "absolute")


@functools.lru_cache(maxsize=64)
def change(loss: Loss, domain: Domain, neighbours: Neighbours) -> float:
    """Return by how much the gradients of neighbours differ at one w at most, in units of sup |l'| times L_f.

    - domain: with x_norm = L_f and theta_norm = R, finite.
    - Returns: in (0, 2], at most 1 under add/remove; the numbers of records that differ if no less is known.
    """
    crude = changed_gradients(neighbours)
    ends = _ends(loss, domain)
    if ends is None:
        return crude
    steepest, curvature = loss.suprema(domain)
    margin = domain.margin_bound
    turns = np.linspace(0.0, 2 * math.pi, _POINTS, endpoint=False)
    with np.errstate(over="ignore"):
        slopes = np.array([loss.derivative(margin * np.cos(turns), np.full(_POINTS, y)) for y in ends])
    most = float(np.abs(slopes).max())
    if neighbours == "add_remove":
        # l' rises with u, so |l'| is largest at an end: the grid has both.
        return min(crude, most / steepest)
    points = np.concatenate([slopes * np.cos(turns), slopes * np.sin(turns)], axis=1).reshape(len(ends), 2, -1)
    angles = np.linspace(0.0, math.pi, _DIRECTIONS, endpoint=False)
    along = np.column_stack([np.cos(angles), np.sin(angles)]) @ points
    width = float((along.max(axis=(0, 2)) - along.min(axis=(0, 2))).max())
    missed = 2 * math.pi / _POINTS * (most + margin * curvature)
    return min(crude, 2 * most / steepest, (width / math.cos(math.pi / (2 * _DIRECTIONS)) + missed) / steepest)


def _ends(loss: Loss, domain: Domain) -> tuple[float, float] | None:
    """Return the targets between which l' lies at any margin, if there are such and the loss has no kink."""
    if loss.name in _KINKED or (loss.targets == "real" and domain.y_bound is None):
        return None
    if loss.targets == "binary":
        return -1.0, 1.0
    return (0.0 if loss.targets == "count" else -domain.y_bound), domain.y_bound
