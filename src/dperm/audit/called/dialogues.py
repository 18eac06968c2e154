r"""Answers of PINP as a user asks for them: 0, which the model knows already, or f and noise, where it is found wrong.

The generator of the query is listened to: it draws the noise on the decision, |f + zeta| > threshold, and if that holds
the noise of the answer. Both scales have to be the same in every fit, decision and answer have to be those that draws,
f and threshold make; then their law is known. As many rows are asked, all but the same, as it takes until one is found
wrong: a "no" is free, each has a noise of its own, and tells most where f is at the threshold. How many there were and
the noisy answer are attacked together, over bins of its values.

Neighbouring relation: each row's.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm.audit import columns, exact, white_box
from dperm.audit.called import brackets, corners, recording
from dperm.audit.called.corners import Call
from dperm.audit.called.recording import Recorded
from dperm.errors import DataError
from dperm.laws.tails import lower_tail
from dperm.noise import Gaussian, Laplace, SphericalLaplace

STEP = "_start"
# Fits whose noise is tested: so many where a million outputs of other mechanisms are drawn, hardly any where few are.
_FITS, _DRAWS_A_FIT = (1, 24), 40_000
# Bins of an answer, and how far they reach, in its noise.
_BINS, _REACH = 2_000, 9.0
# Rows that are asked at most, and how far apart they are, as a share: f hardly differs, and each is a row of its own.
_ROWS, _APART = 30, 2.0**-40


class Answer(NamedTuple):
    """What one answer told, to whoever listened.

    `centre` is f, `threshold` and `deciding` are of the decision and the scale of its noise, `scale` is the
    standard deviation of the noise of an answer (None where none was drawn), `noise` this answer's.
    """

    centre: float
    threshold: float
    deciding: float
    scale: float | None
    noise: float | None


def answer(one: Recorded, asked: np.ndarray) -> Answer:
    """Ask a PINP, not asked yet, one row, and listen; DataError if the answer is not made of the draws heard."""
    centre = float(one.handed["exact"](asked)[0])
    with recording.generators(one):
        told = one.model.predict_details(asked)
    (law, (zeta,)), *more = one.drawn
    threshold = one.made.threshold
    value, noise = float(told.values[0]), float(more[0][1][0]) if more else None
    says = centre + noise if more else 0.0
    right = isinstance(law, Laplace) and (abs(centre + zeta) > threshold) == bool(more) == bool(told.updated[0])
    if not (right and len(more) <= 1 and abs(value - says) <= 1e-12 * max(1.0, abs(says))):
        raise DataError(f"{type(one.model).__name__}: an answer is not what {one.drawn} make of it")
    return Answer(centre, threshold, law.scale, more[0][0].scale if more else None, noise)


def until_noisy(one: Recorded, asked: np.ndarray) -> Answer:
    """Ask rows next to this one until one is answered with noise, and return the last answer."""
    for i in range(_ROWS):
        heard_of = answer(one, asked * (1 - i * _APART))
        one.drawn.clear()
        if heard_of.scale is not None:
            break
    return heard_of


def outcomes(heard_of: Answer, scale: float, number: int, edges: np.ndarray, rows: int = 1) -> np.ndarray:
    """Return the law of the mean of `number` answers to one question, in bins; first, that not all were noisy.

    `heard_of` gives centre and decision, `scale` is the standard deviation of the noise of an answer. Of several
    `rows` the bins are those of each, where it is the first that is answered with noise; first, that none is.
    """
    sides = (heard_of.threshold + np.array([-1.0, 1.0]) * heard_of.centre) / heard_of.deciding
    noisy = float(lower_tail(SphericalLaplace(1.0), -sides).sum()) ** number
    inside = np.diff(special.ndtr((edges - heard_of.centre) / scale * np.sqrt(number)))
    before = (1 - noisy) ** np.arange(rows)
    return np.concatenate([[(1 - noisy) ** rows], np.outer(before, noisy * inside).ravel()])


def bins(found: list[Answer], scale: float) -> np.ndarray:
    """Return the edges of bins that cover all answers."""
    centres = [one.centre for one in found]
    low, high = min(centres) - _REACH * scale, max(centres) + _REACH * scale
    return np.concatenate([[-np.inf], np.linspace(low, high, _BINS), [np.inf]])


def attack(
    call: Call, neighbours: str, delta: float, rng: np.random.Generator, draws: int = 1_000_000
) -> dict[str, Any]:
    """Return the strongest attack on answers, as columns of an attack; `draws` as of `answers.attack`.

    DataError if a scale differs between fits, or as `answer`.
    """
    fits, more = corners.fits(call, STEP, int(np.clip(draws // _DRAWS_A_FIT, *_FITS)), rng)
    asked = np.array([[call.make().x_norm]])
    if neighbours == "replace":
        # The number of records is public, and the noise may be made of it.
        del fits[None]
    found = {corner: until_noisy(one, asked) for corner, one in fits.items()}
    others = [until_noisy(one, asked) for one in more]
    known = [*found.values(), *others]
    drawn = {(one.threshold, one.deciding) for one in known}
    scales = {one.scale for one in known if one.scale is not None}
    if len(drawn) > 1 or len(scales) > 1:
        raise DataError(f"{call.words}: the scale of the noise depends on the records")
    # Where nothing was answered with noise all answers are 0, and its scale is that of no answer.
    scale = scales.pop() if scales else 1.0
    edges = bins(list(found.values()), scale)
    chances = {corner: outcomes(one, scale, 1, edges, _ROWS) for corner, one in found.items()}
    tried = [
        (exact.exact(chances.__getitem__, [pair], delta=delta), *pair) for pair in corners.pairs(chances, neighbours)
    ]
    best, first, second = brackets.first_of_best(tried, lambda one: one[0].epsilon)
    noises = np.array([one.noise for one in others if one.noise is not None])
    return {
        "guarantee": next(iter(fits.values())).model.privacy_.guarantee,
        "loss": call.make().loss,
        "pair_words": corners.words(call, first, second),
        "white_box_p": white_box.noise_test(noises[:, None], Gaussian(scale)).p_value if len(noises) > 20 else None,
        **columns.of_finite(best),
    }
