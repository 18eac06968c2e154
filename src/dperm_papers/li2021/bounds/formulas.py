r"""The risk bounds of li2021, Section 4, as printed and in the form of their proofs; and kifer2012's, for comparison.

Sums, not means. With zeta = zeta1 zeta2 the bound on one record's gradient, m = n_e l''(0) V_(1) the modulus of the
iteration's quadratic (at least 2 Lambda0), and G = R^(t)(theta_hat) - Lambda R(theta_hat),

    Lemma 7      J(theta*) - J(theta_hat) <= (||b||^2/m + G)/n,
    Theorem 8    ||b||^2 <= S with probability 1 - pi; hence the risk is at most (S/m + G)/n ("lemma"), printed as
                 S (1/m + G)/n ("product", erratum N15),
    Theorem 10   n > (R^(t)(theta0) + C/m)/rho is enough for L(theta*) <= L(theta0) + rho, where C' = 0,

    S = (p zeta log(p/pi)/(r epsilon))^2                                      delta = 0     (C = 2 S)
    S = 4 p zeta^2 (r epsilon + log(2/delta)) log(1/pi)/(r epsilon)^2         delta > 0     (C = S)

kifer2012, Theorem 26, of the same b (r = 1/2) and with Delta = 2 Lambda0, T = ||theta_hat||, is

    (8 zeta^2 p^2 log(p/pi)^2/(epsilon^2 Delta) + Delta T^2/2)/n              delta = 0
    (4 p zeta^2 (8 log(2/delta) + 4 epsilon) log(1/pi)/(epsilon^2 Delta) + Delta T^2/2)/n       delta > 0
"""

import math

import numpy as np

from dperm.domain import Budget


def noise_square(budget: Budget, features: int, zeta: float, share: float, failure: float) -> float:
    """Return S, which ||b||^2 is said not to exceed with probability 1 - pi (li2021, Theorem 8 and its proof, S.6).

    `zeta` bounds one record's gradient norm (add/remove); `share` is r, `failure` pi.
    """
    spent = share * budget.epsilon
    if budget.delta == 0:
        return (features * zeta / spent * math.log(features / failure)) ** 2
    return 4 * features * (zeta / spent) ** 2 * (spent + math.log(2 / budget.delta)) * math.log(1 / failure)


def lemma(square: np.ndarray | float, modulus: np.ndarray | float, gap: np.ndarray | float, n: int) -> np.ndarray:
    """Return (square/m + G)/n, m or G possibly infinite: Lemma 7 for ||b||^2, Theorem 8 as its proof has it for S."""
    return (square / np.asarray(modulus, float) + gap) / n


def product(square: np.ndarray | float, modulus: np.ndarray | float, gap: np.ndarray | float, n: int) -> np.ndarray:
    """Return square (1/modulus + gap)/n: Equations 18 and 19 as printed (erratum N15); parameters as for `lemma`."""
    return square * (1 / np.asarray(modulus, float) + gap) / n


def theorem_26(
    budget: Budget, features: int, zeta: float, failure: float, curvature: float, squares: np.ndarray, n: int
) -> np.ndarray:
    """Return kifer2012's bound on the same risk (Theorem 26), of curvature Delta and `squares` = ||theta_hat||^2."""
    if budget.delta == 0:
        first = 8 * (zeta * features * math.log(features / failure)) ** 2
    else:
        beta = zeta**2 * (8 * math.log(2 / budget.delta) + 4 * budget.epsilon)
        first = 4 * features * beta * math.log(1 / failure)
    return (first / (budget.epsilon**2 * curvature) + curvature * squares / 2) / n


def enough_records(
    budget: Budget, features: int, zeta: float, share: float, failure: float, modulus: float, penalty: float, rho: float
) -> int:
    """Return the least n above Equation 21 (li2021, Theorem 10) with C' = 0.

    `modulus` is m, `penalty` R^(t)(theta0), `rho` the excess of the expected loss that is allowed.
    """
    constant = (2 if budget.delta == 0 else 1) * noise_square(budget, features, zeta, share, failure)
    return math.floor((penalty + constant / modulus) / rho) + 1


def printed_order(budget: Budget, features: int, n: int) -> float:
    """Return the order that Equations 18 and 19 state for their bounds, without a constant."""
    if budget.delta == 0:
        return features**2 * math.log(features) / (n * budget.epsilon**2)
    return features * (1 / budget.epsilon + math.log(1 / budget.delta) / budget.epsilon**2) / n
