r"""How far one record moves the minimiser: equation (3) of jain2013, and what Section 5 says of ||w*||.

    w* = argmin_w (1/n) sum_i l(<w, phi(x_i)>, y_i) + lambda/2 ||w||^2,     |l'| <= L = 1,  ||phi|| <= R,
    ||w - w'|| <= Delta_w = 2 L R/(n lambda),    |f(z) - f'(z)| <= Delta_1 = R Delta_w     (replace-one),
    ||w*|| <= 2 L R/lambda,    | ||w|| - ||w'|| | <= Delta_w.

Losses: hinge, logistic, Huber (knee 1); kernels: linear, (<x, v> + 1)^3, Gaussian of bandwidth 1; rows uniform on the
unit sphere of R^3, so that ||phi(x)|| = R. Labels are 1 with probability 1/(1 + exp(-4 <u, x>)), Huber's targets
2 <u, x> + N(0, 1). In explicit coordinates (of the Gaussian kernel: pivoted Cholesky, to 1e-12) a pair is a few passes
from the first fit's dual (`neighbour_fits`), each with a certified slack.

    random    a record is replaced by another of the same law; z: 200 more points, and the two records,
    flip      a record whose label is flipped while all others are orthogonal to it in feature space: hinge moves by
              min{1, n lambda/R^2} Delta_w; Huber, targets -+(2 + R^2/(n lambda)), by Delta_w; logistic by a Delta_w,
              with a = 1/(1 + exp(a R^2/(n lambda))),
    majority  all records equal and one label flips the majority, fitted by LibSVM, whose bias no term regularises: the
              prediction moves from 1 to -1 (erratum J8); the largest odd number of records up to n,
    libsvm    the first random pairs, hinge, by LibSVM with its bias.

`excess` is the ratio to the bound, less 1, by the column `row`: weights, prediction, norm, norm-shift; and for `flip`
where Delta_w is attained, `attained`: 0.99 less the ratio. `slack` is the certificate in the same units, which LibSVM
does not give.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import lapack
from sklearn.svm import SVC

from dperm import kernels, seeds
from dperm.errors import ConfigError
from dperm_papers.jain2013.stability import neighbour_fits

_KERNELS = {"linear": kernels.linear(), "cubic": kernels.polynomial(), "gaussian": kernels.gaussian()}
# A point that is orthogonal to (1, 0, 0) in feature space (Gaussian: to 2e-22).
_APART = {"linear": (0.0, 1.0, 0.0), "cubic": (-1.0, 0.0, 0.0), "gaussian": (-9.0, 0.0, 0.0)}
_TEST_POINTS, _SIGNAL = 200, 4.0
# The slack aimed at, in units of Delta_w.
_SLACK = 0.01
_ATTAINED = 0.99
_SVM_TOLERANCE = 1e-8


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of all losses, kernels, n and lambda.

    - cell: as `dperm_pipeline.plan` made it.
    - Returns: a row for each pair (`repeat`) and metric; columns as in the module's text.
    - Raises ConfigError: if the cell's part is another than `all`.
    """
    if cell["point"]["part"] != "all":
        raise ConfigError(f"part: {cell['point']['part']!r} is none of jain2013-stability; there is: all")
    head = {key: cell[key] for key in ("paper", "experiment", "mechanism", "neighbours", "calibration")}
    head |= {"variant": "", "guarantee": "none", "dataset": "sphere-3", "epsilon": 0.0, "delta": 0.0, "status": "ok"}
    frames = [
        pd.DataFrame({**found, "repeat": np.arange(len(found["value"]))})
        for n in cell["settings"]["sizes"]
        for kernel in _KERNELS
        for found in _of_kernel(cell, kernel, int(n))
    ]
    return pd.concat(frames, ignore_index=True).assign(**head)


def _of_kernel(cell: Mapping[str, Any], name: str, n: int) -> Iterator[dict[str, Any]]:
    """Give the columns of one kernel and n, values as arrays over pairs."""
    settings, kernel = cell["settings"], _KERNELS[name]
    pairs = settings["repeats"]
    rng = seeds.generator(cell["seed"], cell["experiment"], "data", n)
    X = _sphere(n + pairs + _TEST_POINTS, rng)
    truth = _sphere(1, rng)[0]
    labels = np.where(rng.random(len(X)) < 1 / (1 + np.exp(-_SIGNAL * (X @ truth))), 1.0, -1.0)
    targets = {"hinge": labels, "logistic": labels, "huber": 2 * X @ truth + rng.standard_normal(len(X))}
    places = rng.integers(n, size=pairs)
    phi = coordinates(name, X)
    for lam in settings["curvatures"]:
        total = n * lam
        here = {"kernel": name, "n": n, "curvature": lam, "total": total}
        for loss, y in targets.items():
            yield from _random({**here, "loss": loss}, kernel.R, phi, y, places)
            yield from _flip({**here, "loss": loss}, name)
        yield from _libsvm({**here, "loss": "hinge"}, kernel.R, phi, labels, places[: settings["side_repeats"]])
        yield from _majority({**here, "loss": "hinge"}, kernel.R)


def coordinates(name: str, X: np.ndarray) -> np.ndarray:
    """Return phi(x) of every row in explicit coordinates, shape (m, p).

    - X: shape (m, d).
    - Returns: products are K(x, v), those of the Gaussian kernel up to 1e-12.
    """
    if name == "linear":
        return X
    if name == "cubic":
        return kernels.monomials(X).toarray()
    factor, pivots, rank, _ = lapack.dpstrf(_KERNELS[name](X, X), tol=1e-12, lower=1)
    phi = np.empty((len(X), rank))
    phi[pivots - 1] = np.tril(factor)[:, :rank]
    return phi


def _random(here, R: float, phi: np.ndarray, y: np.ndarray, places: np.ndarray) -> Iterator[dict[str, Any]]:
    n, pairs = here["n"], len(places)
    shift = 2 * R / here["total"]
    common = {"total": here["total"], "slack": _SLACK * shift}
    first = neighbour_fits.fit(phi[:n], y[:n], here["loss"], **common)
    others = slice(n, n + pairs)
    second = neighbour_fits.fit(
        phi[:n], y[:n], here["loss"], places=places, others=phi[others], other_y=y[others], start=first.duals[0],
        **common,
    )  # fmt: skip
    yield from _compared({**here, "form": "random"}, R, phi, places, first, second)


def _compared(here, R: float, phi, places, first, second) -> Iterator[dict[str, Any]]:
    """Give the four ratios of each pair, and their certificates."""
    n, lam, shift = here["n"], here["curvature"], 2 * R / here["total"]
    moved = second.weights - first.weights
    predicted = np.abs(moved @ phi[n + len(places) :].T).max(axis=1, initial=0.0)
    for own in (phi[places], phi[n : n + len(places)]):
        predicted = np.maximum(predicted, np.abs(np.einsum("rp,rp->r", moved, own)))
    slack = first.slack + second.slack
    norm, norms = np.linalg.norm(first.weights), np.linalg.norm(second.weights, axis=1)
    ratios = {
        "weights": (np.linalg.norm(moved, axis=1) / shift, slack / shift),
        "prediction": (predicted / (R * shift), slack / shift),
        "norm-shift": (np.abs(norms - norm) / shift, slack / shift),
        "norm": (np.append(norm, norms) / (2 * R / lam), np.append(first.slack, second.slack) / (2 * R / lam)),
    }
    for row, (ratio, error) in ratios.items():
        yield {**here, "row": row, "metric": "excess", "value": ratio - 1}
        yield {**here, "row": row, "metric": "slack", "value": error}


def _flip(here, name: str) -> Iterator[dict[str, Any]]:
    n, total, R = here["n"], here["total"], _KERNELS[name].R
    phi = coordinates(name, np.array([(1.0, 0.0, 0.0), _APART[name]]))[[0] + [1] * (n - 1)]
    size = 2 + R**2 / total if here["loss"] == "huber" else 1.0
    y = size * np.resize([1.0, -1.0], n)
    shift, place = 2 * R / total, np.zeros(1, int)
    common = {"total": total, "slack": _SLACK * shift}
    first = neighbour_fits.fit(phi, y, here["loss"], **common)
    second = neighbour_fits.fit(phi, y, here["loss"], places=place, others=phi[:1], other_y=-y[:1], **common)
    here = {**here, "form": "flip"}
    yield from _compared(here, R, np.concatenate([phi, phi[:1]]), place, first, second)
    if here["loss"] == "huber" or (here["loss"] == "hinge" and total >= R**2):
        ratio = np.linalg.norm(second.weights - first.weights, axis=1) / shift
        yield {**here, "row": "attained", "metric": "excess", "value": _ATTAINED - ratio}
        yield {**here, "row": "attained", "metric": "slack", "value": (first.slack + second.slack) / shift}


def _libsvm(here, R: float, phi: np.ndarray, y: np.ndarray, places: np.ndarray) -> Iterator[dict[str, Any]]:
    """Pairs by LibSVM, with its bias."""
    n, shift = here["n"], 2 * R / here["total"]
    first, bias = _svm(phi[:n], y[:n], here["total"])
    moved, shifted = [], []
    for r, place in enumerate(places):
        rows, labels = phi[:n].copy(), y[:n].copy()
        rows[place], labels[place] = phi[n + r], y[n + r]
        second, other = _svm(rows, labels, here["total"])
        moved.append(np.linalg.norm(second - first))
        shifted.append(np.abs(phi[n:] @ (second - first) + other - bias).max())
    here = {**here, "form": "libsvm", "metric": "excess"}
    yield {**here, "row": "weights", "value": np.array(moved) / shift - 1}
    yield {**here, "row": "prediction", "value": np.array(shifted) / (R * shift) - 1}


def _majority(here, R: float) -> Iterator[dict[str, Any]]:
    n = here["n"] - 1 + here["n"] % 2
    total = n * here["curvature"]
    phi = np.full((n, 1), R)
    y = np.where(np.arange(n) <= n // 2, 1.0, -1.0)
    (first, bias), (second, other) = (_svm(phi, labels, total) for labels in (y, np.where(np.arange(n) == 0, -1.0, y)))
    moved, shift = second - first, 2 * R / total
    here = {**here, "total": total, "form": "majority", "metric": "excess"}
    yield {**here, "row": "weights", "value": np.abs(moved) / shift - 1}
    yield {**here, "row": "prediction", "value": np.abs(R * moved + other - bias) / (R * shift) - 1}


def _svm(phi: np.ndarray, y: np.ndarray, total: float) -> tuple[np.ndarray, float]:
    """Return LibSVM's weights and bias, C = 1/(n lambda)."""
    fitted = SVC(C=1 / total, kernel="linear", tol=_SVM_TOLERANCE).fit(phi, y)
    return fitted.coef_[0], float(fitted.intercept_[0])


def _sphere(m: int, rng: np.random.Generator) -> np.ndarray:
    """Return m uniform directions of R^3."""
    X = rng.standard_normal((m, 3))
    return X / np.linalg.norm(X, axis=1, keepdims=True)
