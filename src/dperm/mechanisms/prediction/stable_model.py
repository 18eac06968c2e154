r"""One noisy linear model in the place of many noisy answers: stable learning whose w is released once.

Let w be made from the records so that for all neighbours S, S' and all queries z with ||z|| <= L_f

    |<w_S - w_S', z>| <= gamma      (Definition 4.4 of dwork2018, `NoisyLinear.rate`).

z = L_f u for the unit vector u along w_S - w_S' is such a query, so this is the same as ||w_S - w_S'||_2 <= gamma/L_f:
uniform stability of a linear predictor on a ball is l2 sensitivity. Hence

    w_S + b,    b ~ N(0, sigma^2 I),    sigma = gamma/(L_f a),

is (epsilon, delta)-private, with a the largest ratio of sensitivity to sigma for which the Gaussian mechanism is (Balle
& Wang 2018); for delta = 0, b has the density proportional to exp(-epsilon L_f ||b||/gamma). All that is computed from
w_S + b is post-processing: any number of answers, to rows of any length, labels and scores.

An answer to ||z|| <= L_f has the deviation sigma L_f = gamma/a at most, whatever the number of features and of queries
is. With delta = 0 it has sqrt(p + 1) gamma/epsilon.

gamma counts the solver's error (`NoisyLinear.rate` of calibration "tight"), so the statement is `proved` where the
rate's is. The noise is that of output perturbation, `mechanisms.output.calibrate`.

Neighbouring relation: that of the rate. Sources: dwork2018, Definition 4.4; docs/privacy.md, section 12, Theorem M.
"""

import numpy as np

from dperm.accounting import gaussian
from dperm.domain import Budget, Domain
from dperm.mechanisms import output, vacuous
from dperm.mechanisms.base import Release, budget_event
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear


def release(
    predictor: NoisyLinear, *, domain: Domain, budget: Budget, rng: np.random.Generator, repeats: int = 1
) -> Release:
    """Release the w of a predictor `repeats` times, with fresh noise, each at the budget; the predictor's is not used.

    - domain: with x_norm = L_f, for which the rate holds, and theta_norm = R, the declared radius of the ball.
    """
    noise, guarantee = output.calibrate(predictor.rate / domain.x_norm, budget, calibration="tight")
    theta = predictor.w + noise.sample((repeats, len(predictor.w)), rng)
    event = budget_event(budget)
    if budget.delta:
        multiplier = 1 / gaussian.gaussian_ratio(budget.epsilon, budget.delta)
        event = "GaussianDpEvent", {"noise_multiplier": multiplier}
    strength = vacuous.Noise(0.0, ball=vacuous.deviation(noise, len(predictor.w)) / domain.theta_norm)
    return Release(
        theta,
        np.full(repeats, predictor.certificate),
        np.ones(repeats, dtype=bool),
        guarantee if predictor.guarantee == "proved" else predictor.guarantee,
        event,
        noise=strength,
    )
