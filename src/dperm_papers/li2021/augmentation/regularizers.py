r"""What the weights of noise augmentation realise, by formulas and without data (li2021, Table 2, Figures 1 and 2).

One coefficient, u = |theta|, target Lambda R, floor Lambda0. Three things are called the regularizer of NAPP-ERM:

    surrogate   w(u) u^2, w of Table 2 at theta^(t-1) = theta; its modulus 2 w(u) = n_e l''(0) V(u). Fig 1 draws this:
                max{Lambda |theta|, Lambda0 theta^2} for lasso, the sum of the two for DP-ERM by Claim 2;
    augmented   sum_i l(e~_i theta) - l(0) over n_e drawn rows of variance V(u), and l''(0) sum_i e~_i^2: its crosses;
    reached     P with P'(u) = 2 u w(u), which the fixed point minimises (erratum N6), and its curvature P'' (N4).

`reached` does not trust that formula: for l(theta) = c (theta - z)^2/2, z chosen so that the answer should be u, the
weights are iterated as printed until they stand, and the slope c (z - theta) of what was reached is held against that
of Lambda R, and of 2 Lambda R (bridge: 2 Lambda/(2 - gamma)).

Section 6 names two targets that Table 2 does not have: `beyond` gives them, SCAD of Fan and Li (2001) and l_0.

Every record has `row` (the part) and `form` (the reading); `excess` is a deviation, or measured minus bound, that a
claim compares with 0. Neighbours: add/remove (Definition 1).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dperm import losses
from dperm.mechanisms.napp import scheme
from dperm_papers.li2021.augmentation.settings import Settings

TARGETS = ("lasso", "elastic_net", "bridge")
# Of the penalty that is reached: 50,000 steps bring the slowest of these problems to rounding.
_STEPS, _CURVATURE = 50_000, 100.0
_SHARES_OF_KNEE = np.linspace(0.1, 0.9, 9)
_FEATURES = 16
# theta of five coefficients, for Fig 2 and its two cases.
_SCHEMATIC = {"nothing": (0.2, 0.45, 0.8, 1.6, 2.5), "some": (0.15, 0.2, 0.3, 0.4, 0.5)}
_TABLE_AT = (0.5, 2.0)
# Fan and Li's a, and theta on each of SCAD's three pieces (up to 1, up to a, beyond).
_SCAD = 3.7
_BEYOND_AT = (0.2, 0.5, 0.9, 1.5, 2.5, 3.5, 4.5, 6.0)

Record = dict[str, Any]


def measured(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give the rows of all parts: `row`, `form`, `metric`, `value`, and what tells one from others.

    `settings.points` is even, so that theta = 0 is not among them.
    """
    for part in (_figure1, _nearer, _reached, _moduli, _schematic, _weights, _beyond):
        yield from part(settings, rng)


def schemes(settings: Settings, target: str, *, moor: bool, halved: bool = False) -> scheme.Scheme:
    """Return the row of Table 2 for a target, with the settings' floor, kappa and gamma."""
    own = {"bridge": {"gamma": settings.bridge_gamma}, "elastic_net": {"kappa": settings.kappa}}
    return scheme.Scheme(target, settings.floor, moor, halved=halved, **own.get(target, {}))


def stated(settings: Settings, target: str, strength: float, theta: np.ndarray, derivative: int = 0) -> np.ndarray:
    """Return Lambda R, the target as it is stated, or one of its derivatives, at theta; derivatives at theta > 0."""
    # R is a sum of c u^k: pairs (c, k).
    terms = {
        "ridge": [(1, 2)],
        "lasso": [(1, 1)],
        "bridge": [(1, 2 - settings.bridge_gamma)],
        "elastic_net": [(1, 1), (settings.kappa, 2)],
    }[target]
    for _ in range(derivative):
        terms = [(factor * power, power - 1) for factor, power in terms]
    u = np.abs(theta)
    return strength * sum(factor * u ** float(power) for factor, power in terms)


def _grid(settings: Settings) -> np.ndarray:
    return np.linspace(-settings.reach, settings.reach, int(settings.points))


def _surrogate(rule: scheme.Scheme, strength: float, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    weight = scheme.weights(rule, strength, theta)
    return weight * theta**2, 2 * weight


def _penalty(rule: scheme.Scheme, strength: float, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return scheme.penalty(rule, strength, theta), scheme.curvature(rule, strength, theta)


def _figure1(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give the curves of Fig 1, and those of its twin: forms that keep their guarantee."""
    theta, strength = _grid(settings), settings.strength
    for target in TARGETS:
        moor, total = (schemes(settings, target, moor=moor) for moor in (True, False))
        curves = {
            "target": _plain(settings, target, strength, theta),
            "napp": _surrogate(moor, strength, theta),
            "dp-erm": _surrogate(total, strength, theta),
            "reached": _penalty(moor, strength, theta),
            "reached-dp-erm": _penalty(total, strength, theta),
        }
        yield from _curves("figure-1", target, strength, theta, curves)
        few = theta[:: max(1, len(theta) // 24)]
        heights = scheme.weights(moor, strength, few)
        crosses = np.array(
            [_augmented(float(w), at, settings.augmented_rows, rng) for w, at in zip(heights, few, strict=True)]
        ).T
        for record in _curves("figure-1", target, strength, few, {"augmented": tuple(crosses)}):
            yield {**record, "rows_added": settings.augmented_rows}
    for target, strength, moor in corrected(settings):
        rule, total = (schemes(settings, target, moor=moor, halved=True) for moor in (moor, False))
        eq2 = _plain(settings, target, strength, theta)
        curves = {
            "target": eq2,
            "napp": _penalty(rule, strength, theta),
            "dp-erm": (eq2[0] + total.floor * theta**2, eq2[1] + 2 * total.floor),
        }
        for record in _curves("figure-1", target, strength, theta, curves):
            yield {**record, "calibration": "corrected"}


def corrected(settings: Settings) -> tuple[tuple[str, float, bool], ...]:
    """Return (target, Lambda, MOOR) of the forms whose modulus is 2 Lambda0 for all data (erratum N4)."""
    convex = settings.floor / settings.kappa
    return (("lasso", settings.strength, False), ("elastic_net", convex, True), ("ridge", convex, True))


def _plain(settings, target, strength, theta) -> tuple[np.ndarray, np.ndarray]:
    return stated(settings, target, strength, theta), stated(settings, target, strength, np.abs(theta), 2)


def _augmented(weight: float, theta: float, rows: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return what n_e drawn rows of a logistic regression add at theta, and l''(0) sum_i e~_i^2 (Eq 5, b = 0)."""
    loss = losses.logistic()
    curvature = float(loss.second(np.zeros(1), -1.0)[0])
    half = rng.standard_normal(rows // 2)
    half *= math.sqrt(2 * weight / (rows * curvature))
    drawn = np.concatenate([half, -half])
    value = loss.value(theta * drawn, -1.0).sum() - rows * float(loss.value(np.zeros(1), -1.0)[0])
    return float(value), curvature * float(drawn @ drawn)


def _curves(row: str, target: str, strength: float, theta: np.ndarray, curves: Mapping[str, Any]) -> Iterator[Record]:
    for form, pair in curves.items():
        for metric, values in zip(("regularizer", "modulus"), pair, strict=True):
            for at, value in zip(theta, values, strict=True):
                yield {
                    "row": row, "form": form, "target": target, "strength": strength, "at": float(at),
                    "metric": metric, "value": float(value),
                }  # fmt: skip


def _nearer(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give |NAPP - target| less |DP-ERM - target|: at each theta, and their integrals near 0 and beyond.

    Near is |theta| <= Lambda/Lambda0. `near-0` is the ratio of the integrals near 0 less that beyond: below 0 if NAPP's
    lead is largest near 0.
    """
    theta = _grid(settings)
    for form, calibration, target, strength, napp, dp_erm, aim in _readings(settings, theta):
        near = np.abs(theta) <= strength / settings.floor
        ours, theirs = np.abs(napp - aim), np.abs(dp_erm - aim)
        head = {
            "form": form, "calibration": calibration, "target": target, "strength": strength, "metric": "excess",
        }  # fmt: skip
        for at, value in zip(theta, ours - theirs, strict=True):
            yield {**head, "row": "nearer", "at": float(at), "value": float(value)}
        yield {**head, "row": "nearer-in-all", "value": float((ours - theirs).mean() * 2 * settings.reach)}
        ratios = [ours[where].sum() / theirs[where].sum() for where in (near, ~near)]
        yield {**head, "row": "near-0", "value": float(ratios[0] - ratios[1])}
        for place, ratio in zip(("near", "beyond"), ratios, strict=True):
            yield {**head, "row": f"ratio-{place}", "metric": "ratio", "value": float(ratio)}


def _readings(settings, theta) -> Iterator[tuple]:
    """Give (form, calibration, target, Lambda, NAPP, DP-ERM, target's values): what c12 may be about."""
    strength = settings.strength
    for target in TARGETS:
        moor, total, eq2 = (
            schemes(settings, target, moor=moor, halved=halved)
            for moor, halved in ((True, False), (False, False), (False, True))
        )
        aim = stated(settings, target, strength, theta)
        drawn = [_surrogate(rule, strength, theta)[0] for rule in (moor, total)]
        yield "surrogate", "paper", target, strength, *drawn, aim
        reached = [scheme.penalty(rule, strength, theta) for rule in (moor, eq2)]
        yield "reached", "paper", target, strength, *reached, aim
        # Erratum N6: the target that is approached has twice the strength in its adaptive part; so has Eq 2's, then.
        twice = scheme.penalty(total, strength, theta) - settings.floor * theta**2
        yield "doubled", "paper", target, strength, reached[0], twice + settings.floor * theta**2, twice
    for target, strength, moor in corrected(settings):
        rule, eq2 = (schemes(settings, target, moor=moor, halved=True) for moor in (moor, False))
        aim = stated(settings, target, strength, theta)
        ours, theirs = scheme.penalty(rule, strength, theta), aim + eq2.floor * theta**2
        yield "reached", "corrected", target, strength, ours, theirs, aim


def _reached(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give the slope reached by iterating the weights, less the target's, as a share of the target's."""
    strength = settings.strength
    for target, halved in itertools.product(("ridge", *TARGETS), (False, True)):
        rule = schemes(settings, target, moor=True, halved=halved)
        knee = float(scheme.knee(rule, strength))
        u = _SHARES_OF_KNEE * (knee if math.isfinite(knee) else 1.0)
        slope = _iterate(lambda at, rule=rule: scheme.weights(rule, strength, at), u)
        plain = stated(settings, target, strength, u, 1)
        constant = 2 * u * {"elastic_net": strength * settings.kappa, "ridge": strength}.get(target, 0.0)
        power = 2 - rule.gamma
        doubled = 2 / power * (plain - constant) + constant
        head = {
            "row": "reached", "target": target, "strength": strength, "metric": "excess",
            "calibration": "corrected" if halved else "paper",
        }  # fmt: skip
        for form, aim in (("stated", plain), ("doubled", doubled)):
            for at, value in zip(u, np.abs(slope - aim) / aim, strict=True):
                yield {**head, "form": form, "at": float(at), "value": float(value)}
    ridge = schemes(settings, "ridge", moor=True)
    first = float(scheme.weights(ridge, strength, None))
    head = {"row": "first-iteration", "form": "stated", "target": "ridge", "strength": strength, "at": 0.0}
    yield {**head, "metric": "excess", "value": abs(first / strength - 1)}


def _iterate(weights: Callable[[np.ndarray | None], np.ndarray], u: np.ndarray) -> np.ndarray:
    """Return c (z - theta) where the reweighting of c (theta - z)^2/2 stands, z such that u would be its end.

    `weights` maps theta, or None before there is one, to w.
    """
    pull = _CURVATURE * u + 2 * u * weights(u)
    theta = pull / (_CURVATURE + 2 * weights(None))
    for _ in range(_STEPS):
        following = pull / (_CURVATURE + 2 * weights(theta))
        if np.array_equal(following, theta):
            break
        theta = following
    return pull - _CURVATURE * theta


def _moduli(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give 2 Lambda0 less a modulus: of the weights in every iteration, of drawn rows, and of the penalty reached."""
    strength, floor = settings.strength, settings.floor
    needed = 2 * floor
    for target in ("ridge", *TARGETS):
        rule = schemes(settings, target, moor=True)
        theta = None
        pull = _CURVATURE * rng.standard_normal((settings.repeats, _FEATURES))
        head = {"row": "modulus", "target": target, "strength": strength, "metric": "excess"}
        for t in range(1, settings.iterations + 1):
            # What goes to 0 has weights beyond all numbers.
            with np.errstate(over="ignore"):
                least = scheme.modulus(rule, strength, theta)
                theta = pull / (_CURVATURE + 2 * scheme.weights(rule, strength, theta))
            yield {**head, "form": "weights", "at": float(t), "value": float(needed - np.min(least))}
        for repeat in range(settings.repeats):
            # Of weights as they are on the way, at coefficients of order 1.
            weight = scheme.weights(rule, strength, rng.standard_normal(_FEATURES))
            deviation = np.sqrt(2 * weight / settings.augmented_rows)
            drawn = rng.standard_normal((settings.augmented_rows // 2, _FEATURES)) * deviation
            least = 2 * float(np.linalg.eigvalsh(drawn.T @ drawn)[0])
            yield {**head, "form": "rows", "repeat": repeat, "at": 0.0, "value": needed - least}
        yield {**head, "form": "reached", "at": 0.0, "value": _over(needed, scheme.convexity(rule, strength))}
    for target, lam, moor in corrected(settings):
        rule = schemes(settings, target, moor=moor, halved=True)
        value = _over(needed, scheme.convexity(rule, lam))
        head = {"row": "modulus", "form": "reached", "target": target, "strength": lam, "metric": "excess", "at": 0.0}
        yield {**head, "calibration": "corrected", "value": value}


def _over(needed: float, least: np.ndarray) -> float:
    """Return needed - least; a modulus of minus infinity counts as 0, which refutes as well and is a number."""
    return needed - max(float(least), 0.0)


def _schematic(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give the moduli of five coefficients, and the share of (1 - r) epsilon that Eq 13 calls retrievable."""
    strength, floor = settings.strength, settings.floor
    moor, total = (schemes(settings, "lasso", moor=moor) for moor in (True, False))
    for case, values in _SCHEMATIC.items():
        theta = np.array(values)
        columns = {
            "target": 2 * strength / theta,
            "napp": 2 * scheme.weights(moor, strength, theta),
            "dp-erm": 2 * scheme.weights(total, strength, theta),
        }
        for form, moduli in columns.items():
            for j, value in enumerate(moduli):
                head = {"row": f"schematic-{case}", "form": form, "target": "lasso", "strength": strength}
                yield {**head, "at": float(j + 1), "metric": "modulus", "value": float(value)}
        share = 1 - 2 * floor / float(scheme.modulus(moor, strength, theta))
        head = {"row": f"schematic-{case}", "form": "napp", "target": "lasso", "strength": strength, "at": 0.0}
        yield {**head, "metric": "retrieved", "value": share}
    head = {"row": "schematic", "form": "needed", "target": "lasso", "strength": strength, "at": 0.0}
    yield {**head, "metric": "modulus", "value": 2 * floor}


def _weights(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give Table 2 in numbers: weights w = n_e l''(0) V/2, P, Lambda R, by maximum and by sum."""
    strength = settings.strength
    for target, moor in itertools.product(("ridge", *TARGETS), (True, False)):
        rule = schemes(settings, target, moor=moor)
        head = {"row": "table-2", "form": "max" if moor else "sum", "target": target, "strength": strength}
        yield {**head, "at": 0.0, "metric": "first_weight", "value": float(scheme.weights(rule, strength, None))}
        theta = np.array(_TABLE_AT)
        values = {
            "weight": scheme.weights(rule, strength, theta),
            "reached": scheme.penalty(rule, strength, theta),
            "stated": stated(settings, target, strength, theta),
            "eq2": stated(settings, target, strength, theta) + settings.floor * theta**2,
        }
        for metric, column in values.items():
            for at, value in zip(_TABLE_AT, column, strict=True):
                yield {**head, "at": at, "metric": metric, "value": float(value)}


def scad(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return SCAD, with its knots at 1 and a, and its slope at u > 0."""
    middle = (2 * _SCAD * u - u**2 - 1) / (2 * (_SCAD - 1))
    value = np.select([u <= 1, u <= _SCAD], [u, middle], (_SCAD + 1) / 2)
    return value, np.clip((_SCAD - u) / (_SCAD - 1), 0.0, 1.0)


def _beyond(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give how far SCAD and l_0 are missed, as a share of Lambda R by drawn rows, of Lambda by the slope reached.

    w = Lambda R(u)/u^2 is what Table 2 has for lasso and bridge: drawn rows of that variance, and what the iteration
    reaches with it. `corrected`: the same with w = Lambda R'(u)/(2 u), whose fixed point has the slope of SCAD (erratum
    N6). Of l_0, whose slope is 0, no such weight is left.
    """
    # What is drawn here moves no other draw.
    (rng,) = rng.spawn(1)
    strength, u = settings.strength, np.array(_BEYOND_AT)
    value, slope = scad(u)
    once = np.ones_like(u)
    head = {"row": "beyond", "strength": strength, "metric": "excess"}
    rows = settings.augmented_rows
    for target, aim in (("scad", value), ("l_0", once)):
        for at, height in zip(u, strength * aim, strict=True):
            drawn, _ = _augmented(height / at**2, at, rows, rng)
            missed = abs(drawn / height - 1)
            yield {**head, "form": "augmented", "target": target, "at": at, "rows_added": rows, "value": missed}
    forms = (
        ("scad", "paper", slope, lambda at: scad(at)[0] / at**2),
        ("l_0", "paper", 0 * once, lambda at: 1 / at**2),
        ("scad", "corrected", slope, lambda at: scad(at)[1] / (2 * at)),
    )
    for target, calibration, steepness, weights in forms:
        # It starts as ridge does, at weights of Lambda.
        reached = _iterate(lambda at, weights=weights: strength * (once if at is None else weights(at)), u)
        for at, missed in zip(u, np.abs(reached / strength - steepness), strict=True):
            yield {
                **head, "form": "reached", "target": target, "calibration": calibration, "at": at,
                "value": float(missed),
            }  # fmt: skip
