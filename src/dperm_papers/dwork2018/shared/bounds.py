r"""What dwork2018 promises, as printed and mended: the bounds that figures draw and the table of constants lists.

`mended=True` is the erratum's formula where the printed one is another (docs/errata.md). L = L_f L_l throughout; every
bound is on an expected excess, or on a number of records, in the paper's notation.

References
----------
dwork2018, Sections 4 to 6; errata D2, D7 to D10, D13, D15.
"""

import math


def lemma45(gamma: float, epsilon: float, *, lipschitz: float) -> float:
    """Return L_l gamma/epsilon: what noise costs a Lipschitz loss (Lemma 4.5(1))."""
    return lipschitz * gamma / epsilon


def lemma45_smooth(gamma: float, epsilon: float, *, smoothness: float, mended: bool) -> float:
    """Return sigma^2 gamma^2/epsilon^2 as printed, sigma gamma^2/epsilon^2 mended (Lemma 4.5(2); erratum D7)."""
    return smoothness ** (1 if mended else 2) * (gamma / epsilon) ** 2


def theorem49(lipschitz: float, x_norm: float, curvature: float, n: int) -> float:
    """Return 4 L^2/(lambda n), the statistical excess of Theorem 4.9; the tight one is half of it (erratum D9)."""
    return 4 * (x_norm * lipschitz) ** 2 / (curvature * n)


def corollary410(lipschitz: float, x_norm: float, curvature: float, n: int, epsilon: float) -> float:
    """Return 4 L^2/(lambda n) (1 + 1/epsilon) of Corollary 4.10."""
    return theorem49(lipschitz, x_norm, curvature, n) * (1 + 1 / epsilon)


def corollary411(radius: float, x_norm: float, lipschitz: float, n: int, epsilon: float) -> float:
    """Return 4 R L/sqrt(n epsilon/(1 + epsilon)) of Corollary 4.11."""
    return 4 * radius * x_norm * lipschitz / math.sqrt(n * epsilon / (1 + epsilon))


def records411(radius: float, x_norm: float, lipschitz: float, alpha: float, epsilon: float) -> float:
    """Return the n at which Corollary 4.11's bound is alpha: 16 (R L)^2 (1 + epsilon)/(epsilon alpha^2)."""
    return 16 * (radius * x_norm * lipschitz / alpha) ** 2 * (1 + epsilon) / epsilon


def theorem412(radius: float, x_norm: float, lipschitz: float, n: int) -> float:
    """Return 2 R L/sqrt n, the statistical excess of Theorem 4.12."""
    return 2 * radius * x_norm * lipschitz / math.sqrt(n)


def halved412(radius: float, x_norm: float, lipschitz: float, n: int) -> float:
    """Return 5 R L/(4 sqrt n), the statistical excess with half the step (erratum D15)."""
    return 5 / 4 * radius * x_norm * lipschitz / math.sqrt(n)


def corollary413(
    radius: float, x_norm: float, lipschitz: float, smoothness: float, n: int, epsilon: float, *, mended: bool
) -> tuple[float, float]:
    """Return Corollary 4.13's terms, 2 R L/sqrt n and sigma_l R^2 L_f^2/(n epsilon^2), mended four times that (D2)."""
    noise = smoothness * (radius * x_norm / epsilon) ** 2 / n
    return theorem412(radius, x_norm, lipschitz, n), (4 if mended else 1) * noise


def free_epsilon(radius: float, x_norm: float, lipschitz: float, smoothness: float, n: int, *, mended: bool) -> float:
    """Return the epsilon at which Corollary 4.13's two terms are equal; mended it is twice the printed one."""
    printed = n**-0.25 * math.sqrt(smoothness * radius * x_norm / (2 * lipschitz))
    return 2 * printed if mended else printed
