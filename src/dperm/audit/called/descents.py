r"""Descents as a user calls them: extreme records through `fit`, and the exact law of theta where forces are constant.

A record whose gradient is clipped wherever theta comes pulls with the same force c in every step. With a public step
size theta is then a - sum_t w_t z_t, z_t the noise of step t: a and w are what fits on the same records, each with
noise of its own, say by least squares, and that further fits agree is checked. So theta is N(a, sigma^2 ||w||^2), and
nothing of the descent (momentum, averages, step size) has to be known here. Weights that hang on the records, such as a
step size made of their number, show as two variances.

Records are the corners of `corners`; those whose force is not constant are left out. With an intercept all rows are
multiples of one vector u, and theta is looked at along u. Of k classes that is k numbers, whose law is N(a, sigma^2
||w||^2 I): a pair is attacked along the line through its two centres. A softmax turns its force with theta, so that of
several classes one step alone has a constant one.

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
    """Theta along u on the data of one corner: N(centre, scale^2 I), of one number or one for each class."""

    centre: np.ndarray
    scale: float

    def along(self, line: np.ndarray) -> "Law":
        """Return the law of one number, where theta is on a line (a unit vector)."""
        return Law(np.array([self.centre @ line]), self.scale)


def attack(call: Call, neighbours: str, delta: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the strongest attack on one estimator, as columns of an attack."""
    found, one = laws(call, rng)
    tried = [
        (brackets.attack(*map(_line, between(found[first], found[second])), delta=delta), first, second)
        for first, second in corners.pairs(found, neighbours)
    ]
    best, first, second = brackets.first_of_best(tried, lambda found: found[0].epsilon)
    return {
        "guarantee": one.model.privacy_.guarantee,
        "loss": one.handed["loss"].name,
        "pair_words": corners.words(call, first, second),
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


def between(first: Law, second: Law) -> tuple[Law, Law]:
    """Return both laws on the line through their centres; one number is on a line already."""
    apart = second.centre - first.centre
    if len(apart) == 1 or not apart.any():
        apart = np.eye(len(apart))[0]
    line = apart / np.linalg.norm(apart)
    return first.along(line), second.along(line)


def _law(fits: list[Recorded]) -> Law | None:
    """Return the law that fits on the same records say, or None if theta is not affine in the noise."""
    scale, theta = fits[0].drawn[0][0].scale, np.array([numbers(one) for one in fits])
    u = linear.direction(fits[0])
    # Shape (fits, steps, numbers): of each class the same steps have the same weights.
    noise = np.array([[-vector.reshape(-1, len(u)) @ u / scale for _, vector in one.drawn] for one in fits])
    centre, weights = [], []
    for some, one in zip(noise.transpose(2, 0, 1), theta.T, strict=True):
        known = np.column_stack([np.ones(len(one)), some])
        found, *_ = np.linalg.lstsq(known, one)
        centre.append(found[0])
        weights.append(found[1:])
        if np.abs(known @ found - one).max() > _ROUNDING * (np.abs(one).max() + np.linalg.norm(found[1:])):
            return None
    if np.ptp(np.abs(weights), axis=0).max() > _ROUNDING * np.linalg.norm(weights[0]):
        return None
    return Law(np.array(centre), float(np.linalg.norm(weights[0])))


def numbers(one: Recorded) -> np.ndarray:
    """Return what was released, along u: a number, or one for each of several classes."""
    if np.ndim(one.model.coef_) < 2 or len(one.model.coef_) == 1:
        return np.array([linear.number(one)])
    theta = np.column_stack([one.model.coef_, one.model.intercept_])[:, : one.handed["X"].shape[1]]
    return theta @ linear.axis(one)


def _line(law: Law) -> BracketedLaw:
    (centre,) = law.centre
    slack = _ROUNDING * (law.scale + abs(centre))
    return BracketedLaw(lambda t: (t - centre) / law.scale, Gaussian, slack)
