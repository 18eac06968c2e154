r"""Attacks on objective perturbation with a regularizer or within a set: outputs with atoms (kifer2012, 1.1.1).

Pairs. `edge`, on a line, attacked exactly (found by a scan of that attack over the curvature and the place):

- lasso: a Huber record, full force and full curvature at its knee (`pairs.knee`), beside the kink;
- elastic: the same with r = l1 + ridge, where the ridge is all of Delta: the mechanism adds nothing to it, so that
  theta has the lasso's law if r is credited once;
- ball, box: a squared record at the wall theta = R, (1, -Y), has the force R + Y = zeta there, and full curvature. The
  noise must point into the wall for both to count: thin records (x = c/sqrt(N), y = Y) push with c sqrt(N) Y, their
  curvature is c^2. Under replace-one its counterpart is (w, Y): force against it, and as little curvature as it costs.

and the atom by itself (`atom`): all that is seen is whether theta is below, at or above it. No determinant counts
there: gamma noise spends k zeta/scale = epsilon - log(1 + lambda/Delta), and tight constants do not attain epsilon.
`sixteen`: 16 features, by sampling the mechanism's own code.

Neighbouring relation: each budget's.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from dperm import losses
from dperm.audit import columns, exact, jobs, white_box
from dperm.audit import line as exact_line
from dperm.audit.constrained_target import ConstrainedCase, pieces, target
from dperm.audit.linear_targets import LinearData, repeated, with_record
from dperm.audit.pairs import FAR, UNIT
from dperm.domain import Budget, Calibration, Domain, Neighbours
from dperm.errors import ConfigError
from dperm.feasible import Region, Regularizer
from dperm.mechanisms import base, objective
from dperm.noise import Gaussian

PAIRS = ("edge", "sixteen")
# Half of a Huber record's largest force: an atom, and no record is drowned by it.
L1 = 0.5
# Small against Y = 1, so that a record that pulls the other way has nearly the force zeta too.
RADIUS = 0.02
# Share of Delta that the pushing records' curvature may have.
_CROWD = 0.02
_MOST_RECORDS = 100_000
# Outputs at p = 16 are dear.
_SHARE, _MOST_DRAWS = 5, 60_000
_WHITE_BOX = 400
# A ridge that the code counts twice makes noise a quarter too small.
_WHITE_BOX_RIDGE = 2_000
_SETS: dict[str, Region] = {
    "lasso": Region(),
    "elastic": Region(),
    "ball": Region(radius=RADIUS),
    "box": Region(low=0.0, high=RADIUS),
}
# Kinks at 0, Huber's loss, no set.
_KINKED = ("lasso", "elastic")
_UNIT_SETS = {"ball": Region(radius=1.0), "box": Region(low=0.0, high=1.0)}


def kind(variant: str) -> str | None:
    """Return what stands beside the noise in a variant's name (variant: such as "gamma_lasso" or "gaussian")."""
    _, _, beside = variant.partition("_")
    if beside and beside not in _SETS:
        raise ConfigError(f"config/audits.yaml: variant {variant!r}: after the noise comes one of {', '.join(_SETS)}")
    return beside or None


def edge(variant: str, *, budget: Budget, neighbours: Neighbours, calibration: Calibration) -> ConstrainedCase:
    """Return the pair on a line at which the exact attack gets furthest, at the place of the calibration's noise."""
    # The box is the ball's upper half, and what happens at their wall is the same; so is the law of lasso and elastic.
    place = best_place("lasso" if variant in _KINKED else "ball", budget, neighbours, calibration)
    return _BUILD[variant](variant, neighbours, *place)


@functools.cache
def best_place(
    variant: str, budget: Budget, neighbours: Neighbours, calibration: Calibration
) -> tuple[float, float, float]:
    """Return the (place, curvature, width) of the largest exact bound: a scan, and a finer one around its best."""
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}

    def bound(place, curvature, width):
        case = _BUILD[variant](variant, neighbours, place, curvature, width)
        made = target(case, **fixed)
        return exact_line.lower_bound(made, case.data, case.neighbour, delta=budget.delta, kept=kept).epsilon

    found = []
    for curvature, width in _candidates(variant, budget, neighbours):
        # The target hangs on the curvature alone, and one side of a pair may be the same at all places.
        kept: dict = {}
        law, _ = objective.calibrate(*_problem(variant, 1), **fixed, curvature=curvature)
        if not isinstance(law, Gaussian):
            found.append((bound(0.0, curvature, width), (0.0, curvature, width)))
            continue
        # From the middle of the noise to where its tail is well below delta, in its scale.
        places = np.linspace(0.0, 1.5 - special.ndtri(budget.delta), 6) * law.scale
        tried = [(bound(place, curvature, width), (place, curvature, width)) for place in places]
        middle, step = max(tried)[1][0], places[1]
        finer = middle + step * np.array([-0.5, -0.25, 0.25, 0.5])
        found += tried + [(bound(place, curvature, width), (place, curvature, width)) for place in finer]
    return max(found)[1]


def atom(variant: str, *, budget: Budget, neighbours: Neighbours) -> ConstrainedCase:
    """Return the pair on a line at which an atom's probability changes the most under gamma noise.

    Lasso: constant forces (far Huber records) hold theta at 0 for b in a window of width 2 l1; two forces that are zeta
    (2 zeta) apart, both beyond l1, move the window along one side of the noise. Ball and box: theta is at the wall for
    all b beyond -J'(R), and a record (1, -Y) moves that by zeta.
    """
    loss, domain = _problem(variant, 1)
    curvature = 2 * loss.curvature_bound(domain) / budget.epsilon
    replaced = neighbours == "replace"
    if variant in _KINKED:
        # Forces of k + 1 and k (add/remove), or of k + 1 and k - 1 (replace-one).
        words = "one of three equal forces, turned around" if replaced else "one more of two equal forces"
        common = repeated((1.0,), FAR, 2 if replaced else 1)
        more = with_record(common, (1.0,), FAR)
        pair = (more, with_record(common, (1.0,), -FAR)) if replaced else (common, more)
    else:
        words = f"a record at the wall, {'turned around' if replaced else 'added'}"
        pair = repeated((1.0,), 1.0, int(replaced)), repeated((1.0,), -1.0, 1)
    return _confined(variant, f"atom on a line, {variant}: {words}", loss, curvature, *pair)


def probe(variant: str, *, budget: Budget, neighbours: Neighbours, calibration: Calibration) -> ConstrainedCase:
    """Return `atom`'s pair in a problem that shows its noise: in a set as wide as theta is spread.

    What the code draws is asked there: at the walls of small sets nothing is seen but a sign.
    """
    case = atom(variant, budget=budget, neighbours=neighbours)
    if variant in _KINKED:
        return case
    case = replace(case, region=_UNIT_SETS[variant])
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    return replace(case, curvature=max(case.curvature, target(case, **fixed).law.scale))


def sixteen(variant: str, *, budget: Budget, neighbours: Neighbours) -> ConstrainedCase:
    """Return a pair with 16 features whose forces act along the first."""
    loss, domain = _problem(variant, 16)
    curvature = 2 * loss.curvature_bound(domain) / budget.epsilon
    y = FAR if variant in _KINKED else 1.0
    common = repeated((1.0,), y, 1)
    first = common if neighbours == "add_remove" else with_record(common, (1.0,), y)
    wide = [(np.pad(X, ((0, 0), (0, 15))), label) for X, label in (first, with_record(common, (1.0,), -y))]
    how = "added" if neighbours == "add_remove" else "turned around"
    words = f"16 features, {variant}: a full force along the first, {how}"
    return _confined(variant, words, loss, curvature, *wide)


def attacks(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attacks of one pair family on one budget of a variant with a regularizer or a set."""
    variant = kind(row["variant"])
    budget, neighbours = Budget(row["epsilon"], row["delta"]), row["neighbours"]
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": job["calibration"]}
    names = (*(job[key] for key in ("mechanism", "calibration", "pair")), row["variant"], row["neighbours"])
    rng = jobs.generators(job, *names, budget.epsilon, budget.delta)

    def head(case):
        return {
            **columns.head(job, row),
            "guarantee": _guarantee(case, fixed),
            "loss": case.loss.name,
            "pair_words": case.words,
        }

    if job["pair"] == "sixteen":
        case = sixteen(variant, budget=budget, neighbours=neighbours)
        draws = min(_MOST_DRAWS, max(job["draws"] // _SHARE, min(job["draws"], 2_000)))
        sampled = {"delta": budget.delta, "draws": draws, "confidence": job["confidence"], "rng": rng("draws")}
        yield head(case) | columns.sampled(target(case, **fixed), case.data, case.neighbour, **sampled)
        return
    case = probe(variant, **fixed)
    made = target(case, **fixed)
    repeats = _WHITE_BOX_RIDGE if variant == "elastic" else _WHITE_BOX
    outputs = made.draw(case.neighbour, repeats, rng("noise"))
    # The solver's target is 1e-6 zeta/Delta of theta, and zeta 1 or 2.
    noise = columns.noise_behind(made, outputs, case.neighbour, rng("atoms"), near=4e-6 / case.curvature)
    white = {"white_box_p": white_box.noise_test(noise, made.law).p_value}
    case = edge(variant, **fixed)
    made = target(case, **fixed)
    yield head(case) | white | columns.on_a_line(made, case.data, case.neighbour, delta=budget.delta)
    case = atom(variant, budget=budget, neighbours=neighbours)
    made = target(case, **fixed)
    found = exact.exact(lambda data: pieces(made, data), [(case.data, case.neighbour)], delta=budget.delta)
    yield head(case) | columns.of_finite(found)


def _problem(variant: str, features: int) -> tuple[losses.Loss, Domain]:
    """Return loss and domain, with the set's `theta_norm`."""
    if variant in _KINKED:
        return losses.huber(1.0), UNIT
    return losses.squared(), base.searched(Domain(x_norm=1.0, y_bound=1.0), _SETS[variant], features)


def _confined(
    variant: str, words: str, loss, curvature: float, data: LinearData, neighbour: LinearData
) -> ConstrainedCase:
    domain = UNIT if variant in _KINKED else Domain(x_norm=1.0, y_bound=1.0)
    ridge = curvature if variant == "elastic" else 0.0
    regularizer = Regularizer(l1=L1, l2=ridge) if variant in _KINKED else objective.NOTHING
    return ConstrainedCase(words, loss, domain, curvature, data, neighbour, regularizer, _SETS[variant])


def _candidates(variant: str, budget: Budget, neighbours: Neighbours) -> Iterator[tuple[float, float]]:
    """Give curvatures, and widths of the record that takes the place of the other."""
    loss, domain = _problem(variant, 1)
    lam = loss.curvature_bound(domain)
    least = 2 * lam / budget.epsilon
    for curvature in (least, 100 * least):
        # A narrow record has little force and, by the square, still less curvature: of use where curvature counts.
        narrow = variant not in _KINKED and neighbours == "replace" and curvature == least
        for width in (0.5, 1.0) if narrow else (1.0,):
            yield curvature, width


def _lasso(variant: str, neighbours: Neighbours, place: float, curvature: float, width: float) -> ConstrainedCase:
    """Return the Huber pair whose knee, where theta < 0, is reached by b = place."""
    # b = -(l' + Delta u - l1) with l' = 1.
    knee = (L1 - 1 - place) / curvature
    record, none = repeated((1.0,), knee - 1, 1), repeated((1.0,), 0.0, 0)
    words = f"edge, {variant} with l1 = {L1:g}: one Huber record, full force and full curvature at theta = {knee:.4g}"
    if neighbours == "add_remove":
        return _confined(variant, f"{words}, added", losses.huber(1.0), curvature, none, record)
    return _confined(variant, f"{words}, turned around", losses.huber(1.0), curvature, record, repeated((1.0,), FAR, 1))


def _wall(variant: str, neighbours: Neighbours, place: float, curvature: float, width: float) -> ConstrainedCase:
    """Return the squared pair whose record (1, -1) needs b = place at the wall."""
    # b = -(R + 1 + Delta R - push).
    push = RADIUS + 1 + curvature * RADIUS + place
    number = min(_MOST_RECORDS, max(1, math.ceil(push**2 / (_CROWD * curvature))))
    # N x (1 - x R) = push at the wall, nearly.
    x = min(1.0, push / number)
    crowd = repeated((x,), 1.0, number)
    words = f"edge, {variant} of radius {RADIUS:g}: {number} thin records push, a record at the wall has full force"
    pulled = with_record(crowd, (1.0,), -1.0)
    if neighbours == "add_remove":
        return _confined(variant, f"{words}, added", losses.squared(), curvature, crowd, pulled)
    words += f", in place of one of width {width:g} that pulls the other way"
    return _confined(variant, words, losses.squared(), curvature, pulled, with_record(crowd, (width,), 1.0))


def _guarantee(case: ConstrainedCase, fixed: Mapping[str, Any]) -> str:
    domain = base.searched(case.domain, case.region, case.data[0].shape[1])
    return objective.calibrate(case.loss, domain, **fixed, curvature=case.curvature)[1]


_BUILD: dict[str, Callable[..., ConstrainedCase]] = {"lasso": _lasso, "elastic": _lasso, "ball": _wall, "box": _wall}
