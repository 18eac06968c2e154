r"""The rounds of Algorithm 3: find where w_t and w* differ by the exponential mechanism, ask there, and move w_t.

Constants and what they promise stand in `tdil_constants`. A round draws z with probability proportional to
exp(weight |<phi(z), w_t - w*>|), over a finite public set (`over_set`) or over the ball of a linear kernel
(`over_ball`, exactly, by `ball_law`), releases a noisy <w*, phi(z)>, and moves w_t by it:

- "paper": noise zeta decides (|d + zeta| > sigma) and gives the step's sign, a second noise only what is output;
- "corrected": one noisy answer a; |a - <w_t, phi(z)>| > sigma and the sign of the difference are made of it;
- "tight": one noisy answer, and w_t is kernel ridge on all answers so far; every round counts.
"""

import math

import numpy as np

from dperm.compiled import compiled
from dperm.mechanisms.kernel.ball_law import piece
from dperm.solvers.pointwise import exponential


@compiled
def _move(kind, w, P, h, phi, exact, zeta, sigma, step):
    """Do the rest of a round, in place; return whether w moved."""
    r = phi.shape[0]
    value = 0.0
    for j in range(r):
        value += w[j] * phi[j]
    off = exact + zeta - value
    if kind == 2:
        # By rows of the symmetric P, added up side by side: a sum of one row after the other waits for each addition.
        for i in range(r):
            h[i] = 0.0
        for i in range(r):
            here = phi[i]
            for j in range(r):
                h[j] += P[i, j] * here
        gain = 1.0
        for i in range(r):
            gain += h[i] * phi[i]
        for i in range(r):
            w[i] += off / gain * h[i]
            scaled = h[i] / gain
            for j in range(r):
                P[i, j] -= scaled * h[j]
        return True
    if abs(off) <= sigma:
        return False
    move = step * np.sign(off)
    for j in range(r):
        w[j] += move * phi[j]
    return True


@compiled
def _reset(kind, P, ridge):
    if kind == 2:
        P[:] = 0.0
        for j in range(P.shape[0]):
            P[j, j] = 1.0 / ridge


@compiled
def over_set(Phi, f, uniform, zeta, xi, weight, kind, sigma, step, ridge, w, P, chosen, output):
    """Run once over a finite set; see `tdil.run`. Fills w (r,), chosen and output (rounds,); P (r, r) is scratch.

    Returns the number of updates, and by how much a z fell short of the set's best, at most.
    """
    m, r = Phi.shape
    h, columns = np.zeros(r), Phi.T.copy()
    # What `exponential` writes it must not read: only then it works on points side by side.
    score, power, mass, bits = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    w[:] = 0.0
    _reset(kind, P, ridge)
    updates, shortfall = 0, 0.0
    for t in range(zeta.shape[0]):
        # Coordinate by coordinate: all points of the set side by side.
        score[:] = 0.0
        for j in range(r):
            for i in range(m):
                score[i] += columns[j, i] * w[j]
        best = 0.0
        for i in range(m):
            score[i] = abs(f[i] - score[i])
            best = max(best, score[i])
        for i in range(m):
            power[i] = weight * (score[i] - best)
        exponential(power, mass, bits)
        total = 0.0
        for i in range(m):
            total += mass[i]
            mass[i] = total
        z = min(np.searchsorted(mass, uniform[t] * total, side="right"), m - 1)
        shortfall = max(shortfall, best - score[z])
        before = 0.0
        for j in range(r):
            before += Phi[z, j] * w[j]
        moved = _move(kind, w, P, h, Phi[z], f[z], zeta[t], sigma, step)
        updates += moved
        chosen[t] = z
        output[t] = f[z] + (xi[t] if kind == 0 else zeta[t]) if moved else before
    return updates, shortfall


@compiled
def over_ball(target, radius, zeta, weight, kind, sigma, step, ridge, w, P, rng):
    """Run once over the ball ||z|| <= radius; see `tdil.run_linear`. Fills w (d,); P (d, d) is scratch.

    Returns the number of updates, of proposals, and by how much a z fell short of the ball's best, at most.
    """
    d = target.shape[0]
    h = np.zeros(d)
    u = np.zeros(d)
    z = np.zeros(d)
    w[:] = 0.0
    _reset(kind, P, ridge)
    updates, proposals, shortfall = 0, 0, 0.0
    for t in range(zeta.shape[0]):
        # u: the direction in which w is wrong, and by how much; any direction if it is right.
        length = 0.0
        for j in range(d):
            u[j] = target[j] - w[j]
            length += u[j] * u[j]
        length = math.sqrt(length)
        if length > 0.0:
            for j in range(d):
                u[j] /= length
        else:
            u[:] = 0.0
            u[0] = 1.0
        # Along u the law of z is exponential with a polynomial factor; either sign is as likely.
        s, tried = piece(weight * radius * length, 0.5 * (d - 1), rng)
        proposals += tried
        along = 1.0 - s if rng.random() < 0.5 else s - 1.0
        # Across u it is uniform in the ball that is left: a direction, and a length.
        for j in range(d):
            z[j] = rng.standard_normal() if d > 1 else 0.0
        shift, across = 0.0, 0.0
        for j in range(d):
            shift += z[j] * u[j]
        for j in range(d):
            z[j] -= shift * u[j]
            across += z[j] * z[j]
        factor = 0.0
        if d > 1:
            factor = math.sqrt(s * (2.0 - s) / across) * rng.random() ** (1.0 / (d - 1))
        exact = 0.0
        for j in range(d):
            z[j] = radius * (along * u[j] + factor * z[j])
            exact += z[j] * target[j]
        # The round answers at z, and moves w if the answer is far enough off.
        shortfall = max(shortfall, radius * length * s)
        updates += _move(kind, w, P, h, z, exact, zeta[t], sigma, step)
    return updates, proposals, shortfall
