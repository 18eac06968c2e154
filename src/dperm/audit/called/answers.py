r"""Noisy answers as a user asks for them: kernel models and stable predictors, fitted on the corners, asked at x = R.

An answer is f + noise, f a number that the fit made of its records. What stands between the checks and the core is
listened to, and tells f. The generator that draws the noise is listened to as well: the scale of the noise is
|answer - f| over the one draw that was made for it, so it is the scale that was used, whatever the statement says. It
has to be the same in every fit, and the noise of many fits is tested to be of that law. A record moves f; the pair that
moves it most is attacked, exactly. A stable classifier releases the sign of its answer alone: two outcomes, of noise at
the scale of the predictor that the core returned.

    rkhs_gaussian    one value of the path, N(0, (sigma R)^2).
    tddl             one public point, x itself, in a ball that is all of space: w^ tells the noisy answer there.
    tdil             one public point, next to x: every round moves the model there, by noise of its own.
    stable_erm, stable_sgd    one query, Laplace noise.
    averaged         one query of numbers: the mean of what the shards say, Laplace noise, clipped to the range.
    student          one query, which it learns from: what it says there is the teacher's answer.

Neighbouring relation: each row's.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dperm.audit import columns, exact, white_box
from dperm.audit.called import brackets, corners, recording
from dperm.audit.called.brackets import BracketedLaw
from dperm.audit.called.corners import Call
from dperm.audit.called.recording import Recorded
from dperm.errors import DataError
from dperm.laws.tails import lower_tail
from dperm.mechanisms.estimators.student import Student
from dperm.noise import Gaussian, Laplace, SphericalLaplace

# Fits whose noise is tested: so many where a million outputs of other mechanisms are drawn, fewer where fewer are.
_FITS, _DRAWS_A_FIT = (4, 40), 4_000
# Scales nearer than this share are one: solvers and a path's nugget leave no more between them.
_SAME = 1e-6


class Kind(NamedTuple):
    """How an estimator's answers are listened to: `step` as of `recording.fit`, and the law of the noise.

    `read` maps a fit that nobody has asked yet, and the row that is asked, to f, the noise of the answer, and its
    scale.
    """

    step: str
    read: Callable[[Recorded, np.ndarray], tuple[float, float, float]]
    law: type[Gaussian] | type[Laplace]


def path_centre(one: Recorded, asked: np.ndarray) -> float:
    """Return the number that a path has noise on (asked: shape (1, d))."""
    return float(one.handed["exact"](asked)[0])


def _linear_centre(one: Recorded, asked: np.ndarray) -> float:
    row = np.append(asked[0], np.ones(len(one.made.w) - asked.shape[1]))
    # With the constant of an intercept, as the core has rows.
    return float(row @ one.made.w)


def _mean_of_shards(one: Recorded, asked: np.ndarray) -> float:
    return float(np.mean([learner.predict(asked)[0] for learner in one.model._models]))


def of_one_draw(
    one: Recorded,
    asked: np.ndarray,
    *,
    centre: Callable[[Recorded, np.ndarray], float] = path_centre,
    ask: Callable[[Any, np.ndarray], np.ndarray] = recording.value,
) -> tuple[float, float, float]:
    """Ask a fit that nobody has asked yet for one answer; return f, its noise and the scale at which this was drawn.

    `centre` maps fit and row to f; `ask` is as of `recording.answer`.
    """
    answer, unit = recording.answer(one, asked, ask)
    f = centre(one, asked)
    return f, answer - f, abs((answer - f) / unit)


def _of_rounds(one: Recorded, asked: np.ndarray) -> tuple[float, float, float]:
    """Read a model that all rounds moved alike, towards f + noise of their own, at the one public point."""
    (law, drawn), f = one.drawn[-1], path_centre(one, np.array(one.model.public_))
    gain = float(recording.value(one.model, asked)[0]) / (len(drawn) * f + drawn.sum())
    return gain * len(drawn) * f, gain * drawn.sum(), abs(gain) * law.scale * np.sqrt(len(drawn))


def _student(teacher: Any, asked: np.ndarray) -> np.ndarray:
    return Student(teacher).fit(asked).predict(asked)


_PATH = Kind("_start", of_one_draw, Gaussian)
_STABLE = Kind("_learn", partial(of_one_draw, centre=_linear_centre), Laplace)
KINDS = {
    "rkhs_gaussian": _PATH,
    "tddl": _PATH,
    "tdil": Kind("_start", _of_rounds, Gaussian),
    "averaged": Kind("_prepare", partial(of_one_draw, centre=_mean_of_shards), Laplace),
    "stable_erm": _STABLE,
    "stable_sgd": _STABLE,
    "student": Kind("_learn", partial(of_one_draw, centre=_linear_centre, ask=_student), Laplace),
}


def attack(
    call: Call, mechanism: str, neighbours: str, delta: float, rng: np.random.Generator, draws: int = 1_000_000
) -> dict[str, Any]:
    """Return the strongest attack on one answer of a mechanism of `KINDS`, as columns of an attack.

    `draws` are those of attacks by sampling at this scale, which say how many fits there are. DataError if the
    scale of the noise differs between fits, or an answer is not made of one draw.
    """
    kind = KINDS[mechanism]
    signs = kind is _STABLE and call.make().classes is not None
    number = 0 if signs else int(np.clip(draws // _DRAWS_A_FIT, *_FITS))
    fits, more = corners.fits(call, kind.step, number, rng)
    asked = np.array([[corners.furthest(call.make())]])
    if neighbours == "replace":
        # The number of records is public, and the noise may be made of it.
        del fits[None]
    some = next(iter(fits.values()))
    if signs:
        noises = scales = [one.made.scale for one in fits.values()]
        found = [_linear_centre(one, asked) for one in fits.values()]
    else:
        found, noises, scales = zip(*(kind.read(one, asked) for one in (*fits.values(), *more)), strict=True)
    # Of the largest noise: rounding of the answer is the least share of it.
    law = kind.law(scales[np.argmax(np.abs(noises))])
    if not np.allclose(scales, law.scale, rtol=_SAME, atol=0):
        raise DataError(f"{call.words}: the scale of the noise depends on the records")
    centres = dict(zip(fits, found, strict=False))
    first, second = brackets.first_of_best(
        corners.pairs(centres, neighbours), lambda pair: _told(signs, law, *(centres[one] for one in pair))
    )
    head = {
        "guarantee": some.model.privacy_.guarantee,
        "loss": getattr(call.make(), "loss", None),
        "pair_words": corners.words(call, first, second),
    }
    if signs:
        found = exact.exact(lambda corner: _sign(law, centres[corner]), [(first, second)], delta=delta)
        return head | columns.of_finite(found)
    head["white_box_p"] = white_box.noise_test(np.array(noises[len(fits) :])[:, None], law).p_value
    scale = law.scale
    # In one dimension the spherical law is Laplace's.
    shape = Gaussian if isinstance(law, Gaussian) else SphericalLaplace
    lines = [
        BracketedLaw(lambda t, c=centres[one]: (t - c) / scale, shape, 1e-12 * scale, *call.walls)
        for one in (first, second)
    ]
    return head | columns.of_bracket(brackets.attack(*lines, delta=delta))


def _sign(law: Laplace, centre: float) -> np.ndarray:
    """Return the probabilities of both labels."""
    one = float(lower_tail(SphericalLaplace(1.0), np.array(centre / law.scale)))
    return np.array([1 - one, one])


def _told(signs: bool, law: Gaussian | Laplace, first: float, second: float) -> float:
    """Return what a pair is worth: the distance of its answers, or what their signs tell."""
    if not signs:
        return abs(first - second)
    p, q = _sign(law, first), _sign(law, second)
    return float(np.abs(np.log(p / q)).max())
