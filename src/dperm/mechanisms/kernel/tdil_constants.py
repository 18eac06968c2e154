r"""The Test Data Independent Learner (jain2013, Algorithm 3): its constants, and what they promise.

A round draws a point z from a public set S by the exponential mechanism,

    P(z) proportional to exp(weight |<phi(z), w_t - w*>|),

where w_t and w* differ much, asks <w*, phi(z)> with noise, and moves w_t (`distinguish`). One record moves scores and
answers by at most Delta_1 = R Delta_w (`constants.Setting`), so a round is two releases: of z, (2 weight Delta_1)-DP
and of that bounded range, and of the answer. w^ = w_B is made of both.

- "paper": with P = total eps/(L R^2),
      B = n eps/(100 L R log(4/delta)),   eps0 = P/(10 sqrt(B) log(4/delta)),   sigma = 4 log(2B/beta)/eps0,
      eta = sigma/(4 R^2),   weight = eps0 total/(8 L R^2),   noise Lap(1/(2 eps0)), to decide and once more to answer.
  The factor total/(L R^2) stands in the exponent twice (erratum J1): guarantee `none`, unless the constants happen to
  be private all the same, which zCDP decides. B is made of n itself: refused under add/remove, where n is private.
- "corrected": both releases e0-DP, e0 = Theorem 11 inverted for 2 B of them: weight = e0/(2 S), noise Lap(S/e0), S =
  Delta_1 with the solver's slack, sigma = 4 (S/e0) log(2B/beta). B is the least integer that the potential argument
  allows, B >= 3.2 (C + slack)^2 R^2/sigma(B)^2 (erratum J3; what the solver returns is asked, `Setting.reach`).
- "tight": B = 2 d rounds, each answered with N(0, s^2); all rounds are counted by zCDP, weight^2 S^2/2 + S^2/(2 s^2) a
  round; w_t is kernel ridge on the answers, with kappa = d s^2/C^2 (the posterior mean of a w of length about C). No
  round needs a sigma; sigma = s sqrt(d + 2), about what least squares on 2 d uniform points of the ball is off by at
  its worst point, decides about "vacuous".

S: all of a linear kernel's unit ball, sampled exactly (`tdil.run_linear`), or a finite set: a nu-net of the ball with
about (4/nu)^d points (`tdil.net`), or any public set (`tdil.run`).

`vacuous`: B < 1, or sigma >= C R/2.

Sources: jain2013, Algorithm 3, Theorems 7, 8, 14, Section 6.2; errata J1, J3, J5, J16; docs/privacy.md, section 11.
"""

import math
from dataclasses import dataclass

from dperm.accounting import composition
from dperm.domain import Budget, Calibration, Guarantee, Mended, Mode, number, one_of
from dperm.errors import DomainViolation, InvalidBudget
from dperm.mechanisms.base import budget_event, representable
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.kernel.pinp_constants import whole

# Of the tight budget, what choosing z gets: an answer where w_t is right already is of use to ridge all the same.
CHOICE_SHARE = 0.25
_MOST_ROUNDS = 10**9


@dataclass(frozen=True)
class Constants:
    """What a run is made of; public.

    - bound: B before it is made whole.
    - rounds: rounds that are run; 0 where the printed B is below 1.
    - epsilon0: inverse scale of the noise of an answer ("paper": as printed, half of it), in 1/units of f.
    - weight: the exponent's factor, in 1/units of f.
    - threshold: sigma; 0 where the printed one is undefined: 2 B <= beta, whose logarithm is 0 or below.
    - step: eta of the sign step; 0 with kernel ridge.
    - ridge: kappa of kernel ridge; 0 with sign steps.
    - noise: scale of an answer's noise (its sd in "tight").
    - radius: nu of the net as printed, d R/(eps0 n L_phi); NaN of other calibrations, which take any net.
    """

    calibration: Calibration
    bound: float
    rounds: int
    epsilon0: float
    weight: float
    threshold: float
    step: float
    ridge: float
    noise: float
    radius: float
    vacuous: bool
    guarantee: Guarantee
    event: tuple[str, dict[str, float]]
    mode: Mode = "science"

    def __str__(self) -> str:
        verdict = "vacuous" if self.vacuous else f"{self.rounds} rounds"
        sigma = f"sigma={self.threshold:.3g}" if self.threshold else "sigma undefined (B < 1)"
        return f"B={self.bound:.3g}, {sigma}: {verdict}"


def constants(
    setting: Setting,
    budget: Budget,
    *,
    records: int,
    dimension: int,
    beta: float = 0.05,
    calibration: Calibration = "tight",
    feature_lipschitz: float = 1.0,
) -> Constants:
    """Return the constants of Algorithm 3.

    - setting: with a finite radius C.
    - records: n, public (replace-one); the printed B and nu hold it beside `setting.total`, "corrected" and "tight" do
      not.
    - dimension: d of the input ball, 1 or above; half the number of rounds of "tight", where it stands for the
      directions of feature space that S takes up (d of a linear kernel).
    - feature_lipschitz: L_phi of phi over the ball, 1 for a linear kernel; only in the printed nu.
    - Source: jain2013, Algorithm 3, line 1; errata J1, J3.
    """
    one_of("calibration", calibration, Mended)
    number("records", records, 1, math.inf, ends="[)", remedy="it is n, the number of training records")
    number("dimension", dimension, 1, math.inf, ends="[)", remedy="it is d of the input ball")
    number("beta", beta, 0, 1, remedy="it is the probability of a larger error; 0.05 is usual")
    number("feature_lipschitz", feature_lipschitz, 0, math.inf, remedy="it is L_phi, 1 for a linear kernel")
    number("delta", budget.delta, 0, 1, error=InvalidBudget, remedy="composition needs some: say 1e-6")
    if math.isinf(setting.radius):
        raise ValueError("radius=inf: B and sigma need a public bound C on ||w*||; `a_priori_radius` has one")
    if calibration == "paper" and setting.neighbours == "add_remove":
        raise DomainViolation(
            "calibration='paper': the printed B = n epsilon/(100 L R log(4/delta)) is the number of rounds, and n is "
            "private under neighbours='add_remove'; take neighbours='replace', or 'corrected' or 'tight', which do not "
            "look at n"
        )
    if calibration == "paper":
        return _printed(setting, budget, records, dimension, beta, feature_lipschitz)
    if calibration == "corrected":
        return _corrected(setting, budget, beta)
    return _tight(setting, budget, dimension)


def _vacuous(setting: Setting, bound: float, threshold: float) -> bool:
    return bound < 1 or 2 * threshold >= setting.radius * setting.feature_norm


def _printed(
    setting: Setting, budget: Budget, records: int, dimension: int, beta: float, feature_lipschitz: float
) -> Constants:
    """Line 1 of Algorithm 3."""
    L, R = setting.lipschitz, setting.feature_norm
    logarithm = math.log(4 / budget.delta)
    bound = records * budget.epsilon / (100 * L * R * logarithm)
    epsilon0 = setting.total * budget.epsilon / (10 * L * R**2 * math.sqrt(bound) * logarithm)
    threshold = 4 / epsilon0 * math.log(2 * bound / beta) if 2 * bound > beta else 0.0
    weight = epsilon0 * setting.total / (8 * L * R**2)
    noise, rounds = representable(1 / (2 * epsilon0), budget), min(math.floor(bound), _MOST_ROUNDS)
    S = R * setting.shift
    # The law of z, the noise that decides, and the noise that is output.
    rho = rounds * (composition.bounded_range(2 * weight * S) + 2 * composition.pure(S / noise))
    private = composition.zcdp_delta(budget.epsilon, rho) <= budget.delta
    return Constants(
        "paper",
        bound,
        rounds,
        epsilon0,
        weight,
        threshold,
        threshold / (4 * R**2),
        0.0,
        noise,
        dimension * R / (epsilon0 * records * feature_lipschitz),
        _vacuous(setting, bound, threshold),
        "proved_exact" if private else "none",
        budget_event(budget),
    )


def _corrected(setting: Setting, budget: Budget, beta: float) -> Constants:
    """Theorem 11 over both releases of every round, and B from the potential argument."""
    S = setting.feature_norm * setting.covered

    def sigma(rounds: int) -> float:
        return 4 * S / composition.inverted(budget.epsilon, budget.delta, 2 * rounds) * math.log(2 * rounds / beta)

    def bound(rounds: int) -> float:
        return 3.2 * (setting.reach * setting.feature_norm / sigma(rounds)) ** 2

    rounds = min(whole(bound), _MOST_ROUNDS)
    threshold = sigma(rounds)
    e0 = composition.inverted(budget.epsilon, budget.delta, 2 * rounds)
    noise = representable(S / e0, budget)
    return Constants(
        "corrected",
        bound(rounds),
        rounds,
        1 / noise,
        e0 / (2 * S),
        threshold,
        threshold / (4 * setting.feature_norm**2),
        0.0,
        noise,
        math.nan,
        _vacuous(setting, bound(rounds), threshold),
        "proved",
        budget_event(budget),
    )


def _tight(setting: Setting, budget: Budget, dimension: int) -> Constants:
    """zCDP over 2 d rounds."""
    S = setting.feature_norm * setting.covered
    rounds = 2 * int(dimension)
    rho = composition.zcdp_rho(budget.epsilon, budget.delta) / rounds
    noise = representable(S / math.sqrt(2 * (1 - CHOICE_SHARE) * rho), budget)
    threshold = noise * math.sqrt(dimension + 2)
    return Constants(
        "tight",
        float(rounds),
        rounds,
        1 / noise,
        math.sqrt(2 * CHOICE_SHARE * rho) / S,
        threshold,
        0.0,
        dimension * (noise / setting.radius) ** 2,
        noise,
        math.nan,
        _vacuous(setting, rounds, threshold),
        "proved",
        budget_event(budget),
    )
