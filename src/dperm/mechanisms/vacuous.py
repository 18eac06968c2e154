"""Where the noise alone drowns a linear model: told by public numbers, so that no record can make a fit warn.

Let zeta and lambda bound one record's gradient and curvature over the declared domain, with the largest weight that a
record may have, R its rows' length, and Delta be the curvature of the objective (its strong convexity).

1. *n public.* The gradients of n records sum to n zeta at most. So in no direction does any data set of n records pull
   theta by more than n zeta, and of output perturbation, where Delta theta = -(that sum), a row's score |<x, theta>| is
   at most R n zeta/Delta. A run is vacuous if the standard deviation of the noise in one direction is as large:

       n <= sd/zeta      (a tilt b),          n <= Delta sd/zeta      (noise on theta).

2. *Noise on theta, n private or not.* It is in a row's score with R sd at the bound. The loss knows margins up to
   R zeta/lambda: so far its slope takes, at its largest curvature, from 0 to its largest (4 for the logistic loss,
   Huber's knee, twice the width of the smoothed hinge). A run is vacuous if R sd is as large:

       sd >= zeta/lambda.

3. *Noise in every step of a descent, n public.* The clipped gradients of n records sum to n c at most in a step, to
   T n c in T steps, and the noises of all steps in one direction have a standard deviation of sqrt(T) sigma together. A
   run is vacuous if that is as large; for steps that weigh less than others the noise is even larger beside the pull:

       n <= sigma/(sqrt(T) c).

4. *Noise on theta that is to compete with a ball.* No model of the ball ||theta|| <= B has a score above R B, and the
   noise has R sd at the bound. A run is vacuous if

       sd >= B.

Of a tilt nothing can be said without n: the more records there are, the less it moves theta. So under add/remove, where
n is private, objective perturbation warns by a declared `n_public` alone, and NAPP-ERM, sparse regression and descents
never.

Either is a lower limit of use: a run that passes may still be worse than answering one label. Neighbouring relation:
the release's.
"""

import math
import warnings
from typing import Any, NamedTuple

from dperm.errors import VacuousWarning
from dperm.noise import Gaussian, SphericalLaplace


class Noise(NamedTuple):
    """How much noise a release has, by public numbers.

    - records: the number of records that pull no harder than the noise: its standard deviation in one direction over
      zeta, of noise on theta that times Delta, of a descent all steps' over the clip of all steps.
    - margin: standard deviation of the noise on theta, over zeta/lambda; 0 where there is none.
    - ball: the same over the radius of the ball that theta competes with; 0 where there is none.
    """

    records: float
    margin: float = 0.0
    ball: float = 0.0


def deviation(law: Gaussian | SphericalLaplace, features: int) -> float:
    """Return the standard deviation of one coordinate of the noise."""
    return law.length(features) / math.sqrt(features)


def added(deviation: float, *, zeta: float, lam: float, curvature: float) -> Noise:
    """Return what noise on theta of this standard deviation in one direction is."""
    return Noise(curvature * deviation / zeta, deviation * lam / zeta)


def reason(noise: Noise, n: float | None) -> str:
    """Say why a release is vacuous, or nothing (n: the public number of records, None where there is none)."""
    if noise.margin >= 1:
        return (
            f"the noise moves the score of a row at the bound by {noise.margin:.3g} times the largest margin that the "
            "loss tells apart"
        )
    if noise.ball >= 1:
        return (
            f"the noise moves the score of a row at the bound by {noise.ball:.3g} times the largest score that a model "
            "of the declared radius gives"
        )
    if n is not None and n <= noise.records:
        return f"the noise is as strong as {noise.records:.3g} records that all pull the same way, and n={n:g}"
    return ""


def warn(model: Any, noise: Noise | None, n: int, *, stacklevel: int) -> None:
    """Warn if a model's release is vacuous.

    - noise: None where the core does not say.
    - n: the number of its records, which is looked at under replace-one alone; else the model's `n_public`, if any.
    """
    known = n if model.neighbours == "replace" else getattr(model, "n_public", None)
    found = reason(noise, known) if noise is not None else ""
    if found:
        warnings.warn(
            f"{type(model).__name__}: {found}; predictions are noise. Raise `epsilon` or `delta`, or take more records "
            "(where the noise is added to theta a larger `curvature`, or `total`, makes it smaller)",
            VacuousWarning,
            stacklevel=stacklevel + 1,
        )
