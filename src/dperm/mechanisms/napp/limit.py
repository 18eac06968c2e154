r"""NAPP-ERM in the limit n_e -> infinity: its fixed point, solved directly, and its T steps (li2021, Proposition 1).

Step t is argmin_{theta in box} sum_i l(<x_i, theta>, y_i) + <tilt, theta> + sum_j w_j theta_j^2 with the weights of
`scheme`. Its fixed points are stationary points of a separable penalty P (erratum N6) in place of the quadratic:

    erm:      tilt = b:  minimise  sum l + <b, theta> + sum_j P(theta_j) + extra_l1 ||theta||_1.
    vs_plus:  t = 1: tilt = b > 0, then b o sgn(theta^(t-1)), whose fixed points minimise
              sum l + sum_j b_j |theta_j| + sum_j P(theta_j) + extra_l1 ||theta||_1.
    vs:       the same with b_j of either sign, which is not convex: fixed points depend on the start.

erm and vs_plus are convex; `path` finds their minimisers, and certifies them by Fenchel's gap (solvers.berhu).

`path` for vs begins as printed, with the minimiser for tilt b and the weights of t = 1. From its signs s on, it solves

    min  sum l + <min(b, 0) o s, theta> + sum_j max(b_j, 0) |theta_j| + sum_j P(theta_j),

takes the new sign where a coordinate with b_j < 0 changed it, and repeats until none does. This is convex: -|theta| is
majorised by its tangent -s theta, so no solution raises the true objective, and signs cannot go round in circles. A
coordinate that arrives at 0 keeps its side: reweighting, which shrinks it towards 0 for ever from that side, never
learns that the other may lie lower. Coordinates with b_j > 0 whose signs the literal iteration flips for ever
(|grad_j l| < b_j) are 0, as the zero rule has it. The gap is that of the last convex problem, hence of the problem
within the orthant of the signs found.
"""

from dataclasses import dataclass, replace

import numpy as np

from dperm.domain import Domain, number, one_of
from dperm.errors import DataError
from dperm.mechanisms.napp import losses
from dperm.mechanisms.napp.noise import Variant
from dperm.mechanisms.napp.scheme import Scheme, curvature, slope, weights
from dperm.solvers import separable
from dperm.solvers.blas import one_thread
from dperm.solvers.pointwise import LOSSES

# Steps of a fit (passes over the coordinates for the squared loss without bound on eta).
MOST = 1000
# Below this tolerance a fit takes one more step.
_SHARP = 1e-9
# One data set with so many columns, and at most this share of entries that are not 0, is kept by rows.
_SPARSE_COLUMNS, _SPARSE_SHARE = 32, 0.4
_TINY = float(np.finfo(float).tiny)
# By variant how the kernel follows its path, and in how many turns at most.
_RULES = {"erm": (separable.TILTED, 1), "vs": (separable.SIGNED, MOST + 1), "vs_plus": (separable.SLOPED, 1)}


@dataclass(frozen=True)
class Problems:
    """D data sets with one loss, and what every fit on them needs again; made by `problems`.

    - X: shape (D, n, p).
    - y: shape (D, n).
    - gram: shape (D, p, p); X'X for the squared loss without bound, else empty (D, 0, 0); likewise xy (D, p) and yy
      (D,).
    - bottom: shape (D,); a lower bound on the sum of losses, minus infinity where the continued loss has none.
    - rows: starts (n + 1,), columns and values of the entries that are not 0, for one data set of many columns with few
      such entries; else empty.
    """

    loss: str
    X: np.ndarray
    y: np.ndarray
    eta_bound: float
    gram: np.ndarray
    xy: np.ndarray
    yy: np.ndarray
    bottom: np.ndarray
    rows: tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Paths:
    """What `path` and `reweighted` found.

    - theta: shape (R, L, p); zeros of the penalty are exact; bounds of the box are met exactly.
    - gap: shape (R, L); certified: (F(theta) - min F)/|F(theta)| is at most this. `vs`: of the problem in the orthant
      of its signs. `reweighted`: of the last step's problem.
    - iterations: shape (R, L); prox-Newton steps; passes over the coordinates for the squared loss without bound on
      eta.
    - flips: shape (R, L, p); `reweighted` only: sign changes in the last 10 steps, which tell a coordinate that
      "fluctuates around 0".
    """

    theta: np.ndarray
    gap: np.ndarray
    converged: np.ndarray
    iterations: np.ndarray
    flips: np.ndarray | None = None


def problems(loss: str, X: np.ndarray, y: np.ndarray, eta_bound: float = np.inf) -> Problems:
    """Return data sets ready for `path` and `reweighted`.

    - loss: of a record: (y - eta)^2/2; log(1 + exp(-y eta)); exp(eta) - y eta; li2021's hinge of section 6.
    - X: shape (D, n, p) or (n, p); D = R for a data set for each repeat, D = 1 (or two axes) for many draws on one data
      set. n may be 0.
    - y: shape (D, n) or (n,):
        -1 or 1 for logistic and smoothed_hinge, 0 or above for poisson, real for squared.
    - Raises DataError: if shapes do not fit or an entry is not finite; no value of the data is shown.
    """
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not one of {', '.join(LOSSES)}")
    number("eta_bound", eta_bound, 0, np.inf, ends="(]", remedy="it is in units of <x, theta>; inf for none")
    X, y = (np.asarray(values, dtype=np.float64) for values in (X, y))
    X, y = (X[None], y[None]) if X.ndim == 2 and y.ndim == 1 else (X, y)
    if X.ndim != 3 or y.shape != X.shape[:2] or len(X) == 0 or X.shape[2] == 0:
        raise DataError(f"X has shape {X.shape} and y {y.shape}; give (D, n, p) and (D, n), or (n, p) and (n,), p >= 1")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DataError("X or y holds values that are not finite; remove or impute them first")
    X, y = np.ascontiguousarray(X), np.ascontiguousarray(losses.make(loss).targets_of(y, Domain(x_norm=1.0)))
    sets = len(X)
    gram, xy, yy = np.empty((sets, 0, 0)), np.empty((sets, 0)), np.empty(sets)
    if loss == "squared" and np.isinf(eta_bound):
        with one_thread():
            gram, xy = X.transpose(0, 2, 1) @ X, (y[:, None] @ X)[:, 0]
        yy = np.einsum("di,di->d", y, y)
    return Problems(loss, X, y, float(eta_bound), gram, xy, yy, _bottom(loss, y, eta_bound), _rows(X, gram))


def path(
    problems: Problems,
    noise: np.ndarray,
    scheme: Scheme,
    strengths: np.ndarray,
    *,
    variant: Variant,
    extra_l1: float = 0.0,
    floors: np.ndarray | None = None,
    box: tuple | None = None,
    tolerance: float = 1e-6,
) -> Paths:
    """Solve the fixed point of NAPP-ERM for R repeats and L strengths.

    - problems: of one data set, or of R.
    - noise: shape (R, p) or (R, L, p); b; above 0 for vs_plus, and 0 for no noise.
    - scheme: with gamma = 1 or 0, of which the slope of P is piecewise linear; other bridges: `reweighted`.
    - strengths: shape (L,); Lambda, 0 or above. erm and vs_plus start each fit from the one before: fastest if sorted.
    - extra_l1: weight of a further ||theta||_1, 0 or above (the corrected substitute for vs_plus).
    - floors: shape (R, L); in place of scheme.floor, 0 or above: recycling has one for each fit, and 0 leaves the
      target alone.
    - box: (low, high); numbers or arrays (p,); infinite where there is no bound.
    - tolerance: in (0, 1): the certified gap aimed at, relative to |objective|. Whoever asks for less than 1e-9 wants
      theta rather than the objective: such a fit takes one more step, which squares what is left.
    - Returns: the same bytes on any number of cores, and for a repeat alone as among others. A fit that did not
      converge is returned as it is: see `converged`, which depends on private data.
    - Source: li2021, Proposition 1 and section 3.5; errata N3 and N6.
    """
    number("tolerance", tolerance, 0, 1, remedy="it bounds the duality gap relative to |objective|")
    if scheme.gamma not in (0, 1):
        raise ValueError(
            f"gamma={scheme.gamma}: the slope of the penalty is piecewise linear for gamma=0 and 1 alone; "
            "run the bridge by `reweighted`"
        )
    noise, strengths, floors, low, high = _checked(problems, noise, scheme, strengths, variant, extra_l1, floors, box)
    own = replace(scheme, floor=np.maximum(floors, _TINY))
    first = weights(own, strengths, None) + 0.0 * floors
    a, c = slope(own, strengths, 0.0) + 0.0 * floors, curvature(own, strengths, 0.0) + 0.0 * floors
    d = 2 * floors if scheme.maximal else 0.0 * floors
    rule, turns = _RULES[variant]
    with np.errstate(all="ignore"):
        theta, gap, iterations, _ = _fits(
            rule, problems, noise, first, (a, c, d), extra_l1, scheme, variant, (low, high), tolerance, turns
        )
    return Paths(theta, gap, gap <= tolerance, iterations)


def reweighted(
    problems: Problems,
    noise: np.ndarray,
    scheme: Scheme,
    strengths: np.ndarray,
    *,
    variant: Variant,
    steps: int = 80,
    extra_l1: float = 0.0,
    floors: np.ndarray | None = None,
    box: tuple | None = None,
) -> Paths:
    """Run the T steps of NAPP-ERM in the limit n_e -> infinity, each solved to rounding.

    - problems, noise, scheme, strengths, variant, floors, box: as for `path`; any bridge will do.
    - extra_l1: as for `path`; realised as the target is, by the weight extra_l1/(2 |theta_j^(t-1)|) from t = 2 on.
    - Returns: `converged` says whether the last step's problem was solved to 1e-9.
    - Source: li2021, Algorithm 1, Proposition 1, Table 2, Claim 2.
    """
    number("steps", steps, 1, np.inf, ends="[)", remedy="it is T, the number of iterations")
    noise, strengths, floors, low, high = _checked(problems, noise, scheme, strengths, variant, extra_l1, floors, box)
    own = replace(scheme, floor=np.maximum(floors, _TINY))
    first = weights(own, strengths, None) + 0.0 * floors
    adaptive, constant = _adaptive(scheme, strengths) + 0.0 * floors, _constant(scheme, strengths) + 0.0 * floors
    theta, gap, iterations, flips = _fits(
        separable.REWEIGHTED, problems, noise, first, (adaptive, constant, floors), extra_l1, scheme, variant,
        (low, high), separable.EXACT, int(steps),
    )  # fmt: skip
    return Paths(theta, gap, gap <= 1e-9, iterations, flips)


def _fits(rule, problems, noise, first, parts, extra_l1, scheme, variant, box, tolerance, turns):
    """Return theta, gap, iterations and flips of `separable.fits`."""
    theta, gap = np.empty(noise.shape), np.empty(noise.shape[:2])
    iterations, flips = np.empty(gap.shape, np.int64), np.zeros(noise.shape, np.int64)
    with one_thread():
        separable.fits(
            rule, *_data(problems), noise, first, *parts, float(extra_l1), float(scheme.gamma), variant != "erm",
            scheme.maximal, *box, float(tolerance), tolerance < _SHARP, turns, MOST, theta, gap, iterations, flips,
        )  # fmt: skip
    return theta, gap, iterations, flips


def _adaptive(scheme, strengths):
    """Return Lambda's part that is divided by |theta|^gamma."""
    share = 1 - scheme.gamma / 2 if scheme.halved else 1.0
    return (0.0 if scheme.target == "ridge" else share) * strengths


def _constant(scheme, strengths):
    return strengths if scheme.target == "ridge" else scheme.kappa * strengths


def _data(problems):
    """Return what every kernel takes first."""
    own, (sets, _, p) = problems, problems.X.shape
    code, X, y = LOSSES[own.loss], own.X, own.y
    if own.gram.size:  # the kernels are spared the records
        code, X, y = separable.GRAM, np.empty((sets, 0, p)), np.empty((sets, 0))
    return code, own.eta_bound, (X, y, own.gram, own.xy, own.yy, own.bottom, *own.rows)


def _checked(problems, noise, scheme, strengths, variant, extra_l1, floors, box):
    """Return noise (R, L, p), strengths (L,), floors (R, L), low and high (p,), or raise ValueError."""
    one_of("variant", variant, Variant)
    number("extra_l1", extra_l1, 0, np.inf, ends="[)", remedy="it is the weight of ||theta||_1")
    sets, _, p = problems.X.shape
    strengths = np.atleast_1d(np.asarray(strengths, dtype=np.float64))
    if strengths.ndim != 1 or not ((strengths >= 0) & (strengths < np.inf)).all():
        raise ValueError(f"strengths={strengths} must be finite numbers, 0 or above, on one axis")
    noise = np.asarray(noise, dtype=np.float64)
    levels = len(strengths)
    if noise.ndim == 2:
        noise = np.repeat(noise[:, None], levels, axis=1)
    if noise.ndim != 3 or noise.shape[1:] != (levels, p) or sets not in (1, len(noise)):
        raise ValueError(
            f"noise has shape {noise.shape}; give (R, {p}) or (R, {levels}, {p}), with R={sets} unless D=1"
        )
    if not np.isfinite(noise).all():
        raise ValueError("noise holds values that are not finite")
    if variant == "vs_plus" and not (noise >= 0).all():
        raise ValueError(
            "noise has entries below 0; variant='vs_plus' takes the law truncated to b > 0: absolute values"
        )
    shape = noise.shape[:2]
    floors = np.asarray(scheme.floor if floors is None else floors, dtype=np.float64)
    fits = floors.ndim <= 2 and all(own in (1, of) for own, of in zip(floors.shape[::-1], shape[::-1], strict=False))
    if not (fits and ((floors >= 0) & (floors < np.inf)).all()):
        raise ValueError(
            f"floors (or scheme.floor) of shape {floors.shape} must be finite, 0 or above, and fit {shape}"
        )
    low, high = (-np.inf, np.inf) if box is None else box
    low, high = (np.array(np.broadcast_to(np.asarray(bound, dtype=np.float64), p)) for bound in (low, high))
    if not ((low <= high) & (low < np.inf) & (high > -np.inf)).all():
        raise ValueError(f"box=({low}, {high}) leaves no number between its bounds: move one")
    return np.ascontiguousarray(noise), strengths, np.broadcast_to(floors, shape).copy(), low, high


def _rows(X, gram):
    """Return one sparse data set by rows, or empty arrays where that would not be faster."""
    empty = np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0)
    if len(X) > 1 or gram.size or X.shape[2] < _SPARSE_COLUMNS or np.count_nonzero(X) > _SPARSE_SHARE * X.size:
        return empty
    rows, columns = np.nonzero(X[0])
    starts = np.searchsorted(rows, np.arange(X.shape[1] + 1))
    # Unsigned: of a signed index compiled code asks each time whether it counts from the end.
    return starts.astype(np.uint64), columns.astype(np.uint64), X[0][rows, columns]


def _bottom(loss, y, bound):
    """Return a lower bound on each data set's sum of losses (D,)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if loss == "poisson":
            own = np.where(y > 0, y - y * np.log(np.where(y > 0, y, 1.0)), 0.0)
            # Continued beyond the bound it falls for ever where its slope there points downwards.
            own = np.where((np.exp(bound) < y) | ((np.exp(-bound) > y) & (bound < np.inf)), -np.inf, own)
        elif loss == "squared":
            own = np.where(np.abs(y) <= bound, 0.0, -np.inf)
        elif loss == "logistic":
            own = np.where(bound < np.inf, -np.inf, 0.0 * y)
        else:
            own = np.where(bound < 1, -np.inf, 0.0 * y)
    return own.sum(axis=1)
