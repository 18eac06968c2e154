r"""Theorem 12 of jain2013: how far a mean over T points is from its expectation, uniformly over a ball.

    sup_{||w|| <= 1} | E f(<w, phi>) - 1/T sum_t f(<w, phi(z_t)>) | <= c sqrt(B^2 R^2 L^2 log(1/beta)/T),

B = R = L = 1, with probability 1 - beta, whatever the dimension d. The supremum is exact:

    sphere    phi uniform on the unit sphere of R^d, f(u) = u: it is ||s_T||/T, s_T the sum of T such vectors. Whatever
              s is, the cosine c between it and the next vector has the law of one coordinate of that, so the lengths
              alone are a Markov chain, ||s_{t+1}||^2 = ||s_t||^2 + 1 + 2 c ||s_t||: d costs nothing;
    one-hot   phi = e_J, J uniform on 1..d, f(u) = u: ||counts/T - 1/d||, counts multinomial;
    interval  phi uniform on [-1, 1], f(u) = |u|: |mean |phi| - 1/2|;
    disc      phi uniform on the unit disc, f(u) = |u|: g(w) = 1/T sum_t |<w, phi_t>| is, between the 2T directions
              orthogonal to a phi_t, <w, v> with v = 1/T sum_t sign(<w, phi_t>) phi_t. So its greatest value on the
              circle is max ||v|| over these arcs, its least is at their ends; E|<w, phi>| = 4/(3 pi).

f is convex and even for `interval` and `disc`, so the supremum over the ball is that over its surface (positively
homogeneous). `bound` is the right side with c = 1, `vacuous` is 1 where it is at least 1.

References
----------
jain2013, Theorem 12 (after Shalev-Shwartz et al. 2009, Theorem 1).
"""

import math

import numpy as np

from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

STEPS = 4096


def run(cell: Cell, rows: Rows) -> None:
    """Measure the supremum of each repeat, at all laws, T and d; `form` of f is linear or absolute."""
    cell.parts()
    settings, queries = cell.settings, sorted(cell.settings.queries)
    for law in settings.designs:
        form, dimension, deviations = _LAWS[law]
        for d in settings.features if dimension is None else [dimension]:
            found = deviations(queries, d, settings.repeats, cell.rng(law, d))
            for T, values in zip(queries, found, strict=True):
                bound = math.sqrt(math.log(1 / settings.gammas[0]) / T)
                here = rows.at(dataset=law, form=form, queries=T, d=d, bound=bound, vacuous=int(bound >= 1))
                here.add("deviation", values, epsilon=0.0, delta=0.0)


def sphere(queries: list[int], d: int, repeats: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return ||s_T||/T of each repeat for each T of `queries`, which rise: walks go on from T to T; d is 2 or more."""
    squared, done, found = np.zeros(repeats), 0, []
    for T in queries:
        while done < T:
            count = min(STEPS, T - done)
            normal = rng.standard_normal((count, repeats))
            cosines = normal / np.sqrt(normal**2 + rng.chisquare(d - 1, (count, repeats)))
            for cosine in cosines:
                squared += 1 + 2 * cosine * np.sqrt(squared)
                # Rounding may leave less than nothing where a step goes straight back.
                np.maximum(squared, 0.0, out=squared)
            done += count
        found.append(np.sqrt(squared) / T)
    return found


def one_hot(queries: list[int], d: int, repeats: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return ||counts/T - 1/d|| of each repeat for each T."""
    shares = np.full(d, 1 / d)
    return [np.linalg.norm(rng.multinomial(T, shares, size=repeats) / T - 1 / d, axis=1) for T in queries]


def interval(queries: list[int], d: int, repeats: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return |mean |phi| - 1/2| of each repeat for each T; d is 1."""
    found = []
    for T in queries:
        # Blocks, so that 10^5 points of 100 repeats take no more memory than 4096 of them.
        total = sum(rng.random((min(STEPS, T - start), repeats)).sum(axis=0) for start in range(0, T, STEPS))
        found.append(np.abs(total / T - 0.5))
    return found


def disc(queries: list[int], d: int, repeats: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the supremum for |<w, phi>| on the unit disc, of each repeat for each T; d is 2."""
    return [np.array([absolute_deviation(in_disc(T, rng), 4 / (3 * math.pi)) for _ in range(repeats)]) for T in queries]


def absolute_deviation(points: np.ndarray, expected: float) -> float:
    """Return sup over ||w|| = 1 of |expected - mean |<w, phi_t>||, exactly; `expected` is E |<w, phi>| for all w."""
    # |<w, phi>| does not know the sign of phi: turn all into the upper half plane.
    points = np.where(((points[:, 1] < 0) | ((points[:, 1] == 0) & (points[:, 0] < 0)))[:, None], -points, points)
    order = np.argsort(np.arctan2(points[:, 1], points[:, 0]), kind="stable")
    points = points[order]
    # Past the direction orthogonal to phi_1, .., phi_k these have changed their sign.
    passed = np.vstack([np.zeros(2), np.cumsum(points, axis=0)])
    arcs = (passed[-1] - 2 * passed) / len(points)
    greatest = np.linalg.norm(arcs, axis=1).max()
    lengths = np.linalg.norm(points, axis=1)
    away = points[lengths > 0] / lengths[lengths > 0, None]
    orthogonal = np.column_stack([-away[:, 1], away[:, 0]])
    # At the end of an arc g is <w, v> of the arcs on either side.
    at_ends = np.abs(np.einsum("ij,ij->i", orthogonal, arcs[1:][lengths > 0]))
    return max(greatest - expected, expected - at_ends.min())


def in_disc(count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw points that are uniform in the unit disc, shape (count, 2)."""
    angle, radius = 2 * math.pi * rng.random(count), np.sqrt(rng.random(count))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


# Form, its dimension (None: swept), and what draws its suprema.
_LAWS = {
    "sphere": ("linear", None, sphere),
    "one-hot": ("linear", None, one_hot),
    "interval": ("absolute", 1, interval),
    "disc": ("absolute", 2, disc),
}
