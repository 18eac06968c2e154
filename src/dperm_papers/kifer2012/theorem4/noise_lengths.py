r"""How long the noise is: the tail bounds of kifer2012 (Lemmas 17, 27, 28 and Appendix D.1.2) beside the exact tails.

    Lemma 17     P(|Z| > t) <= e^{-t^2/2},                                     t > 1, Z standard normal;
    Lemma 27     P(X >= p u log(p/gamma)) <= gamma,                            X ~ Gamma(p, u), p an integer;
    Lemma 28     P(||X|| >= sqrt(phi p)) <= e^{-(p/2)(phi - 1 - log phi)},     phi >= 1, X ~ N(0, I_p);
    D.1.2        P(||X|| >= sqrt(2 p log(1/gamma))) <= gamma                   (printed),
                 P(||X|| >= sqrt(2 p + 4 log(1/gamma))) <= gamma               (mended, erratum K12).

All tails but Lemma 17's are those of gamma laws, Q(a, x) = Gamma(a, x)/Gamma(a), and are compared as logarithms, so
that one of e^-10000 counts as well as one of a half. Beyond x = a + 1 Q is Legendre's continued fraction, whose
logarithm does not underflow:

    Q(a, x) = x^a e^{-x}/Gamma(a) * 1/(x + 1 - a - 1 (1 - a)/(x + 3 - a - 2 (2 - a)/(x + 5 - a - ...))).

No data and no neighbouring relation take part.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scipy import special

# Of the continued fraction: it converges within a few sqrt(a) steps beyond x = a + 1.
_STEPS, _TINY = 5000, 1e-300
# t of Lemma 17 and phi of Lemma 28; the first of each is where the lemma starts.
_T = (1.0 + 1e-12, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 38.0)
_PHI = (1.0, 1.0001, 1.01, 1.1, 1.5, 2.0, 4.0, 10.0, 100.0)


class Tail(NamedTuple):
    """One inequality at one point, its failure gamma 0 where the statement has none; `at` is t or phi, or 0.

    `log_tail` and `log_bound` are logarithms of the exact probability and of what the paper puts above it.
    """

    row: str
    p: int
    gamma: float
    at: float
    log_tail: float
    log_bound: float


def log_upper_gamma(a: float, x: float) -> float:
    """Return log Q(a, x) = log P(X > x), X ~ Gamma(a, 1), to about 1e-12 max(1, |log Q|)."""
    if x <= a + 1:
        return math.log(special.gammaincc(a, x))
    # Lentz's algorithm, as modified by Thompson and Barnett.
    b = x + 1 - a
    d = 1 / b
    c, h = 1 / _TINY, d
    for i in range(1, _STEPS):
        an = -i * (i - a)
        b += 2
        d = 1 / _nonzero(an * d + b)
        c = _nonzero(b + an / c)
        h *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return a * math.log(x) - x - special.gammaln(a) + math.log(h)


def tails(features: Sequence[int], gammas: Sequence[float]) -> Iterator[Tail]:
    """Give every inequality at every p and gamma."""
    for t in _T:
        yield Tail("lemma-17", 1, 0.0, t, math.log(2) + float(special.log_ndtr(-t)), -(t**2) / 2)
    for p in features:
        for phi in _PHI:
            yield Tail(
                "lemma-28", p, 0.0, phi, log_upper_gamma(p / 2, phi * p / 2), -(p / 2) * (phi - 1 - math.log(phi))
            )
        for gamma in gammas:
            for row, square in (("printed", printed_square), ("mended", mended_square)):
                yield Tail(f"d12-{row}", p, gamma, 0.0, log_upper_gamma(p / 2, square(p, gamma) / 2), math.log(gamma))
            yield Tail("lemma-27", p, gamma, 0.0, log_upper_gamma(p, p * math.log(p / gamma)), math.log(gamma))


def printed_square(p: int, gamma: float) -> float:
    """Return D.1.2's bound on ||X||^2, X ~ N(0, I_p): 2 p log(1/gamma)."""
    return 2 * p * math.log(1 / gamma)


def mended_square(p: int, gamma: float) -> float:
    """Return the bound that always holds (erratum K12): 2 p + 4 log(1/gamma)."""
    return 2 * p + 4 * math.log(1 / gamma)


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
