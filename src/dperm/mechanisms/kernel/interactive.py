r"""The rounds of Algorithm 1: many runs on queries known beforehand (`answer_all`), or one query at a time (`Session`).

Both do the same to the same noise; what the noise must be, and why, stands in `pinp_constants`. The batched form works
in coordinates phi(z_t) in R^r (a thin factor of the kernel matrix serves: r is its rank), the interactive one on kernel
values at the points of the updates, and never holds more than those.

Kernel ridge in coordinates: with A = kappa I + sum phi phi' over the updates and P = A^{-1}, an update does

    h = P phi,   w += h (a - <w, phi>)/(1 + <phi, h>),   P -= h h'/(1 + <phi, h>);

on kernel values: w = sum_i c_i phi(z_i), c = (K + kappa I)^{-1} a, by appending a row to a Cholesky factor.
"""

import math

import numpy as np
from scipy import linalg

from dperm.compiled import compiled
from dperm.errors import BudgetExhausted

# Status of an answer: w_t's, an update's, the frozen w_t's, none.
LIVE, UPDATED, FROZEN, UNANSWERED = 0, 1, 2, 3
# Kinds of run, by calibration.
KINDS = {"paper": 0, "corrected": 1, "tight": 2}


@compiled
def _dot(a, b):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@compiled
def answer_all(Phi, f, zeta, rho, fresh, kind, sigma, step, ridge, most, g, status, P):
    """Run Algorithm 1 once; see `pinp.run`. Fills g and status (T,), overwrites P (r, r; unused with sign steps).

    Noise: zeta (T,) decides; rho and fresh, one entry an update, move the threshold and answer. Returns the number of
    updates, the largest error while live and the largest of all answers.
    """
    T, r = Phi.shape
    w = np.zeros(r)
    h = np.zeros(r)
    if kind == 2:
        P[:] = 0.0
        for j in range(r):
            P[j, j] = 1.0 / ridge
    count = 0
    worst, worst_live = 0.0, 0.0
    for t in range(T):
        phi = Phi[t]
        if count >= most and kind == 0:
            g[t], status[t] = np.nan, 3
            continue
        value = _dot(w, phi)
        if count >= most:
            g[t], status[t] = value, 2
            worst = max(worst, abs(value - f[t]))
            continue
        d = f[t] - value
        above = abs(d) + zeta[t] > sigma + rho[count] if kind == 1 else abs(d + zeta[t]) > sigma
        if above:
            answer = f[t] + (zeta[t] if kind == 0 else fresh[count])
            if kind == 2:
                gain = 1.0
                for i in range(r):
                    h[i] = _dot(P[i], phi)
                    gain += h[i] * phi[i]
                move = (answer - value) / gain
                for i in range(r):
                    w[i] += move * h[i]
                    scaled = h[i] / gain
                    for j in range(r):
                        P[i, j] -= scaled * h[j]
            else:
                # The sign of 0 is 0, as printed.
                move = step * np.sign(answer - value)
                for i in range(r):
                    w[i] += move * phi[i]
            count += 1
            value = answer
        g[t], status[t] = value, 1 if above else 0
        worst_live = max(worst_live, abs(value - f[t]))
    return count, worst_live, max(worst, worst_live)


class Session:
    """One run of Algorithm 1, a query at a time.

    - noise: of `kept`: generators, one a query.
    - coefficients: c of w_t = sum_i c_i phi(z_i) over the points of the updates.
    - lost: queries that were broken off after they were charged: nobody knows whether they were updates, so they count
      as such.
    - moved: noise on the threshold, until the next update: private.
    """

    def __init__(self, constants, noise):
        self.constants = constants
        self.coefficients = np.zeros(0)
        self.lost = 0
        self._noise = noise
        self._answers = np.zeros(0)
        self._factor = np.zeros((0, 0))
        self.moved = self._threshold_noise(self._noise.of(b""))

    @property
    def updates(self) -> int:
        """How many updates were made, or lost."""
        return len(self.coefficients) + self.lost

    @property
    def halted(self) -> bool:
        """Whether nothing may be answered any more: printed runs stop after B updates."""
        return self.constants.calibration == "paper" and self.updates >= self.constants.updates

    def ask(self, exact: float, cross: np.ndarray, own: float, key: bytes) -> tuple[float, int]:
        """Answer one query.

        - exact: f = <w*, phi(z)>: private.
        - cross: ndarray, shape of `coefficients`; K(z, z_i) with the points of the updates so far, in their order.
        - status: `LIVE`, `UPDATED` (the caller then keeps z among the points) or `FROZEN`.
        """
        known = self.constants
        if self.halted:
            raise BudgetExhausted(
                f"the printed algorithm halts after B={known.updates} updates; take calibration='corrected' or "
                "'tight', which then answer from the frozen model, or fit anew with a budget of its own"
            )
        value = float(cross @ self.coefficients)
        if self.updates >= known.updates:
            return value, FROZEN
        rng = self._noise.of(key)
        noise = rng.laplace(0.0, known.deciding)
        d = exact - value
        if known.calibration == "corrected":
            above = abs(d) + noise > known.threshold + self.moved
        else:
            above = abs(d + noise) > known.threshold
        if not above:
            return value, LIVE
        draw = {
            "paper": lambda: noise,
            "corrected": lambda: rng.laplace(0.0, known.answering),
            "tight": lambda: rng.normal(0.0, known.answering),
        }
        answer = exact + draw[known.calibration]()
        moved = self._threshold_noise(rng)
        self.update(answer, cross, own, moved)
        return answer, UPDATED

    def update(self, answer: float, cross: np.ndarray, own: float, moved: float) -> None:
        """Learn from a noisy answer: one's own, or another process's (moved: noise on the threshold from now on)."""
        if self.constants.calibration == "tight":
            self._append(answer, cross, own + self.constants.ridge)
        else:
            value = float(cross @ self.coefficients)
            self.coefficients = np.append(self.coefficients, self.constants.step * np.sign(answer - value))
        self.moved = moved

    def lose(self, moved: float | None = None) -> float:
        """Count a query that was broken off as an update that nobody learns from; a new round begins."""
        self.lost += 1
        self.moved = self._threshold_noise(self._noise.of(b"")) if moved is None else moved
        return self.moved

    def _threshold_noise(self, rng: np.random.Generator) -> float:
        return rng.laplace(0.0, self.constants.moving) if self.constants.moving else 0.0

    def _append(self, answer: float, cross: np.ndarray, own: float) -> None:
        """Add a row to the Cholesky factor of K + kappa I, and solve for the coefficients."""
        m = len(self.coefficients)
        row = linalg.solve_triangular(self._factor, cross, lower=True) if m else cross
        grown = np.zeros((m + 1, m + 1))
        grown[:m, :m] = self._factor
        grown[m, :m] = row
        # At least kappa, in exact arithmetic.
        grown[m, m] = math.sqrt(max(own - float(row @ row), self.constants.ridge))
        answers = np.append(self._answers, answer)
        coefficients = linalg.cho_solve((grown, True), answers)
        # At once: an interrupt between them would leave what fits together no more.
        self._factor, self._answers, self.coefficients = grown, answers, coefficients
