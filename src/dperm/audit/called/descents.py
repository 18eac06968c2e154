r"""Descents as a user calls them: extreme records through `fit`, and the exact law of theta where forces are constant.

A record whose gradient is clipped wherever theta comes pulls with the same force c in every step. With a public step
size theta is then a - sum_t w_t z_t, z_t the noise of step t: a and w are what fits on the same records, each with
noise of its own, say by least squares, and that further fits agree is checked. So theta is N(a, sigma^2 ||w||^2), and
nothing of the descent (momentum, averages, step size) has to be known here. Weights that hang on the records, such as a
step size made of their number, show as two variances.

Records are the corners of `corners`; those whose force is not constant are left out. With an intercept all rows are
multiples of one vector u, and theta is looked at along u.

Neighbouring relation: each row's.
"""

from typing import Any, NamedTuple

import numpy as np

from dperm.audit import columns
from dperm.audit.called import brackets, corners, linear
from dperm.audit.called.brackets import BracketedLaw
from dperm.audit.called.corners import Call, Corner
from dperm.audit.called.recording import Recorded
from dperm.errors import DataError
from dperm.noise import Gaussian

# Fits beyond those that determine a and w.
_MORE = 3
# By how much theta may miss a - <w, z>, relative to its size: rounding.
_ROUNDING = 1e-9


class Law(NamedTuple):
    """Theta along u on the data of one corner: N(centre, scale^2)."""

    centre: float
    scale: float


def attack(call: Call, neighbours: str, delta: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the strongest attack on one estimator, as columns of an attack."""
    found, one = laws(call, rng)
    lines = {corner: _line(law) for corner, law in found.items()}
    tried = [
        (brackets.attack(lines[first], lines[second], delta=delta), first, second)
        for first, second in corners.pairs(found, neighbours)
    ]
    best, first, second = brackets.first_of_best(tried, lambda found: found[0].epsilon)
    return {
        "guarantee": one.model.privacy_.guarantee,
        "loss": one.handed["loss"].name,
        "pair_words": corners.words(call, first, second),
        "white_box_p": None,
        **columns.of_bracket(best),
    }


def laws(call: Call, rng: np.random.Generator) -> tuple[dict[Corner, Law], Recorded]:
    """Return the law of each corner at which the force is constant, and one fit; DataError if none is."""
    fits = [corners.fits(call, linear.STEP, 0, rng)[0] for _ in range(call.make().steps + 1 + _MORE)]
    found = {corner: _law([each[corner] for each in fits]) for corner in fits[0]}
    known = {corner: law for corner, law in found.items() if law is not None}
    if None not in known or len(known) < 2:
        raise DataError(f"{call.words}: no record pulls with a constant force; lower gradient_clip or step_size")
    return known, fits[0][None]


def _law(fits: list[Recorded]) -> Law | None:
    """Return the law that fits on the same records say, or None if theta is not affine in the noise."""
    scale = fits[0].drawn[0][0].scale
    u = linear.direction(fits[0])
    noise = np.array([[1.0, *(-vector @ u / scale for _, vector in one.drawn)] for one in fits])
    theta = np.array([linear.number(one) for one in fits])
    (centre, *weights), *_ = np.linalg.lstsq(noise, theta)
    size = np.abs(theta).max() + np.linalg.norm(weights)
    if np.abs(noise @ [centre, *weights] - theta).max() > _ROUNDING * size:
        return None
    return Law(float(centre), float(np.linalg.norm(weights)))


def _line(law: Law) -> BracketedLaw:
    slack = _ROUNDING * (law.scale + abs(law.centre))
    return BracketedLaw(lambda t: (t - law.centre) / law.scale, Gaussian, slack)
