r"""The lemmas that kifer2012's proofs rest on, held against random instances.

Lemma 15    (det(A + E) - det A)/det A = l1 + l2 + l1 l2, A of full rank, E of rank at most 2, l1 and l2 "the i-th
            highest" eigenvalues of A^-1 E. Printed: the two highest. Mended: the two that may differ from 0, for
            where E has a negative eigenvalue and p > 2 the highest are 0.
Claim 22    g Delta-strongly convex with minimiser theta^ over a convex M: g(theta) - g(theta^) >=
            Delta/2 ||theta - theta^|| (printed), ||theta - theta^||^2 (mended, erratum K14) for theta in M.
Claim 23    g convex, s >= 1: (g(a + s b) - g(a))/||s b|| >= (g(a + b) - g(a))/||b||.
Lemma 39    ||grad l(theta; (x, y))|| <= 2 s^{3/2} and the Hessian's eigenvalues <= s on the case study's domain,
            ||x|| <= sqrt(s), |y| <= s, ||theta||_inf <= 1, l = (y - <x, theta>)^2/2.
Appendix H  the same with ||theta||_2 <= sqrt(p), and p for s: 2 p^{3/2} and p.
Lemma 40    sum_i |l_i(A)| <= sum_i |w_i| ||x_i||^2 for A = sum_i w_i x_i x_i'.
Section 3.1 clipping y to [-s, s] loses nothing: |clip(y) - m| <= |y - m| wherever |m| <= s.
"""

import itertools

import numpy as np

from dperm.solvers import ball
from dperm_pipeline.rows import Rows

# Records of an instance of Claim 23, and rank-one terms of an instance of Lemma 40.
_RECORDS, _TERMS = 8, 6
# Corners are enumerated up to this dimension; beyond, as many are drawn as there are instances.
_CORNERS = 5
# Steps on each axis of the grid for clipping, which reaches to this multiple of s.
_STEPS, _REACH = 201, 5.0


def measure(rows: Rows, p: int, instances: int, rng: np.random.Generator) -> None:
    """Measure every lemma on `instances` random instances of dimension p, which is at least 2.

    Metric `excess`: measured/bound - 1 (Claim 23, whose sides have signs: their difference over the sum of their
    sizes); of Lemma 15 the size of it, for an equation. `slack` where a solver was asked.
    """
    rows = rows.at(dataset="instances", form="printed")
    _determinants(rows, p, instances, rng)
    _strongly_convex(rows, p, instances, rng)
    _secants(rows, p, instances, rng)
    _corners(rows, p, instances, rng)
    _traces(rows, p, instances, rng)
    _clipped(rows, p)


def _determinants(rows, p, instances, rng):
    M = rng.standard_normal((instances, p, p))
    A = M @ M.transpose(0, 2, 1) / p + np.eye(p)
    U = rng.standard_normal((instances, p, 2)) / np.sqrt(p)
    # Signs of E's two eigenvalues at random; those of A^-1 E are those of L^-1 E L^-T, with A = L L'.
    signs = np.where(rng.random((instances, 2)) < 0.5, -1.0, 1.0)
    E = (U * signs[:, None, :]) @ U.transpose(0, 2, 1)
    half = np.linalg.inv(np.linalg.cholesky(A))
    values = np.linalg.eigvalsh(half @ E @ half.transpose(0, 2, 1))
    (sign, size), (_, base) = np.linalg.slogdet(A + E), np.linalg.slogdet(A)
    left = sign * np.exp(size - base) - 1
    by_size = np.take_along_axis(values, np.argsort(-np.abs(values), axis=1), axis=1)
    for form, (first, second) in (("printed", values[:, -2:].T), ("mended", by_size[:, :2].T)):
        right = first + second + first * second
        rows.add("excess", np.abs(left - right) / (1 + np.abs(left)), row="lemma-15", form=form)


def _strongly_convex(rows, p, instances, rng):
    M = rng.standard_normal((instances, p, p)) / np.sqrt(p)
    modulus = rng.uniform(0.1, 2.0, instances)
    H = M @ M.transpose(0, 2, 1)
    # Eigenvalues from the modulus upwards.
    H += (modulus - np.linalg.eigvalsh(H)[:, 0])[:, None, None] * np.eye(p)
    c = 2 * rng.standard_normal((instances, p))
    radius = 1.0
    best = ball.minimise(H, c, radius=radius, modulus=float(modulus.min()))
    theta = rng.standard_normal((instances, p))
    theta *= radius * (rng.random(instances) ** (1 / p) / np.linalg.norm(theta, axis=1))[:, None]

    def value(at):
        return 0.5 * np.einsum("rj,rjk,rk->r", at, H, at) - np.einsum("rj,rj->r", c, at)

    gap, away = value(theta) - value(best.theta), np.linalg.norm(theta - best.theta, axis=1)
    near = best.certificate
    # The minimiser found may lie `near` the true one, and its value `modulus near^2` above the least.
    for form, length, change in (("printed", away, near), ("mended", away**2, 2 * away * near + near**2)):
        bound = modulus / 2 * length
        slack = modulus / 2 * change + modulus * near**2
        here = rows.at(row="claim-22", form=form)
        here.add("excess", bound / gap - 1)
        here.add("slack", slack / gap)


def _secants(rows, p, instances, rng):
    """Sums of logistic losses and an l1 norm: convex, neither smooth nor strongly convex."""
    X = rng.standard_normal((instances, _RECORDS, p))
    a, b = rng.standard_normal((2, instances, p))
    s = 1 + rng.exponential(2.0, instances)

    def value(at):
        losses = np.logaddexp(0.0, np.einsum("rij,rj->ri", X, at)).sum(axis=1)
        return losses + np.abs(at).sum(axis=1)

    start, size = value(a), np.linalg.norm(b, axis=1)
    near = (value(a + b) - start) / size
    far = (value(a + s[:, None] * b) - start) / (s * size)
    rows.add("excess", (near - far) / (np.abs(near) + np.abs(far)), row="claim-23")


def _corners(rows, p, instances, rng):
    """The largest gradient and eigenvalue over corners of the domains, and over points drawn within them."""
    if p <= _CORNERS:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=p)))
        x, theta = (part.reshape(-1, p) for part in np.broadcast_arrays(signs[:, None], signs[None]))
    else:
        x = np.where(rng.random((instances, p)) < 0.5, -1.0, 1.0)
        # Where all signs agree, or none, <x, theta> is largest; elsewhere they are drawn.
        theta = np.where(rng.random((instances, p)) < np.linspace(0, 1, instances)[:, None], x, -x)
    inside, turned = rng.standard_normal((2, instances, p))
    inside *= np.sqrt(p) / np.linalg.norm(inside, axis=1, keepdims=True)
    turned *= np.sqrt(p) / np.linalg.norm(turned, axis=1, keepdims=True)
    sets = {
        "lemma-39": np.clip(rng.uniform(-1.5, 1.5, (instances, p)), -1.0, 1.0),
        "appendix-h": turned,
    }
    for row, drawn in sets.items():
        X, points = np.concatenate([x, inside, inside]), np.concatenate([theta, drawn, np.sign(inside)])
        if row == "appendix-h":
            points[-instances:] = inside
        margin = np.einsum("rj,rj->r", X, points)
        # |y - <x, theta>| is largest at an end of [-s, s].
        slope = np.maximum(np.abs(p - margin), np.abs(-p - margin)) * np.linalg.norm(X, axis=1)
        rows.add("excess", slope / (2 * p**1.5) - 1, row=f"{row}-zeta")
        if row == "lemma-39":
            # The lemma prints "less than": whether a point attains the bound, to the last digits.
            rows.add("attained", slope > 2 * p**1.5 * (1 - 1e-12), row=f"{row}-zeta")
        rows.add("excess", np.einsum("rj,rj->r", X, X) / p - 1, row=f"{row}-lambda")


def _traces(rows, p, instances, rng):
    x = rng.standard_normal((instances, _TERMS, p))
    w = rng.standard_normal((instances, _TERMS))
    A = np.einsum("rk,rki,rkj->rij", w, x, x)
    bound = (np.abs(w) * np.einsum("rkj,rkj->rk", x, x)).sum(axis=1)
    rows.add("excess", np.abs(np.linalg.eigvalsh(A)).sum(axis=1) / bound - 1, row="lemma-40")


def _clipped(rows, s):
    y, m = np.meshgrid(np.linspace(-_REACH * s, _REACH * s, _STEPS), np.linspace(-s, s, _STEPS))
    before, after = np.abs(y - m).ravel(), np.abs(np.clip(y, -s, s) - m).ravel()
    rows.add("excess", (after - before) / s, row="section-3.1")
