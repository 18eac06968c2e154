"""Objective against output perturbation on real data (kifer2012, Section 1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dperm import losses, mechanisms, seeds, tables
from dperm.datasets import prepared
from dperm.domain import Budget, Domain
from dperm.errors import CorruptFile, DataError, SolverError
from dperm.mechanisms import nonprivate

# X of shape (n, p) and y of shape (n,).
_Records = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class _Problem:
    """A data set cut into private, public and test rows, its rows scaled to ||x|| <= 1."""

    loss: losses.Loss
    private: _Records
    public: _Records
    test: _Records

    domain = Domain(x_norm=1.0)


def _problem(cell: Mapping[str, Any], data: str) -> _Problem:
    """Cut the data set by a stream that depends on the data axes alone: every mechanism meets the same rows."""
    dataset, settings = prepared.read(data), cell["settings"]
    binary = dataset.task == "binary"
    loss = losses.logistic() if binary else losses.huber(settings["huber_knee"])
    X, y = dataset.X / dataset.bounds.x_norm, dataset.y
    order = _generator(cell, "split").permutation(len(y))
    official = dataset.split[order] == "test"
    train, test = order[~official], order[official]
    if not len(test):
        cut = round(settings["test_share"] * len(train))
        train, test = train[cut:], train[:cut]
    cut = round(settings["public_share"] * len(train))
    public, private = train[:cut], train[cut:]
    for name, rows, least in (("private", private, 1), ("public", public, 2), ("test", test, 1)):
        if len(rows) < least:
            raise DataError(
                f"{dataset.name}: {len(rows)} {name} rows of {len(y)} are too few; raise public_share="
                f"{settings['public_share']:g} or test_share={settings['test_share']:g}, or take a larger data set"
            )
    return _Problem(loss, *((X[rows], y[rows]) for rows in (private, public, test)))


def _generator(cell: Mapping[str, Any], *names: str | float) -> np.random.Generator:
    return seeds.generator(cell["seed"], cell["experiment"], cell["point"]["dataset"], *names)


def _mean_loss(loss: losses.Loss, rows: _Records, theta: np.ndarray) -> np.ndarray:
    """Return (1/n) sum_i l(<x_i, theta_r>, y_i), shape (repeats,)."""
    X, y = rows
    return loss.value(X @ theta.T, y[:, None]).mean(axis=0)


def _risk(problem: _Problem, theta: np.ndarray, ridge: float) -> np.ndarray:
    """Return J = (1/n)(sum_i l + ridge/2 ||theta||^2) on the private rows, shape (repeats,)."""
    regularizer = 0.5 * ridge * np.einsum("rj,rj->r", theta, theta) / len(problem.private[1])
    return _mean_loss(problem.loss, problem.private, theta) + regularizer


def _test_metrics(problem: _Problem, theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return the mean test loss, and for binary targets the misclassification rate, each of shape (repeats,)."""
    metrics = {"test_loss": _mean_loss(problem.loss, problem.test, theta)}
    if problem.loss.targets == "binary":
        X, y = problem.test
        metrics["test_error"] = ((X @ theta.T > 0) != (y[:, None] > 0)).mean(axis=0)
    return metrics


def baseline(cell: Mapping[str, Any], *, data: str) -> pd.DataFrame:
    """Return the rows of the non-private minimiser of J: its risk and test metrics."""
    problem, ridge = _problem(cell, data), cell["settings"]["ridge"]
    theta, certificate, converged = nonprivate.fit(*problem.private, problem.loss, ridge=ridge)
    theta = theta[None, :]
    metrics = {"risk": _risk(problem, theta, ridge), **_test_metrics(problem, theta)}
    head = {
        "paper": cell["paper"],
        "experiment": cell["experiment"],
        "mechanism": "nonprivate",
        "variant": "",
        "calibration": "",
        "neighbours": "",
        "guarantee": "none",
        "dataset": cell["point"]["dataset"],
        "epsilon": np.inf,
        "delta": 0.0,
        "ridge_multiple": 0.0,
        "chosen": True,
    }
    return _rows(head, metrics, np.array([converged]), np.array([certificate]))


def run(cell: Mapping[str, Any], *, data: str, baseline: str) -> pd.DataFrame:
    """Return the rows of one mechanism at one epsilon: every delta, every ridge multiple, every repeat.

    Delta = multiple * lambda/epsilon for both mechanisms. Which multiple a method would be used with is decided on
    public rows alone: half of them, drawn with replacement to the size that the private sample has by the public
    shares, stand in for the private rows, the other half for the test rows; the multiple of least mean loss is `chosen`
    (metric `tuning_loss`).
    """
    problem, settings = _problem(cell, data), cell["settings"]
    minimum = _baseline_risk(baseline)
    epsilon = cell["point"]["epsilon"]
    module = mechanisms.module(cell["mechanism"])
    lam = problem.loss.curvature_bound(problem.domain)
    stand_in, held_out = _public_halves(cell, problem.public)
    frames = []
    for delta in settings["deltas"]:
        runs = {}
        for multiple in settings["ridge_multiples"]:
            arguments = {
                "domain": problem.domain,
                "budget": Budget(epsilon, delta),
                "neighbours": cell["neighbours"],
                "calibration": cell["calibration"],
                "curvature": multiple * lam / epsilon,
            }
            names = (cell["mechanism"], cell["calibration"], cell["neighbours"], epsilon, delta, multiple)
            tuning = module.release(
                *stand_in,
                problem.loss,
                **arguments,
                rng=_generator(cell, *names, "tuning"),
                repeats=settings["tuning_repeats"],
            )
            private = module.release(
                *problem.private,
                problem.loss,
                **arguments,
                rng=_generator(cell, *names, "noise"),
                repeats=settings["repeats"],
            )
            tuning_loss = _mean_loss(problem.loss, held_out, tuning.theta)
            runs[multiple] = (tuning, tuning_loss, private)
        chosen = min(runs, key=lambda multiple: np.where(runs[multiple][0].converged, runs[multiple][1], np.inf).mean())
        for multiple, (tuning, tuning_loss, private) in runs.items():
            head = {
                **{key: cell[key] for key in ("paper", "experiment", "mechanism", "calibration", "neighbours")},
                "variant": "",
                "guarantee": private.guarantee,
                "dataset": cell["point"]["dataset"],
                "epsilon": epsilon,
                "delta": delta,
                "ridge_multiple": multiple,
                "chosen": multiple == chosen,
            }
            metrics = {
                "excess_risk": _risk(problem, private.theta, settings["ridge"]) - minimum,
                **_test_metrics(problem, private.theta),
            }
            frames.append(_rows(head, metrics, private.converged, private.certificate))
            frames.append(_rows(head, {"tuning_loss": tuning_loss}, tuning.converged, None))
    return pd.concat(frames, ignore_index=True)


def _public_halves(cell: Mapping[str, Any], public: _Records) -> tuple[_Records, _Records]:
    """Return public rows in the place of the private and of the test rows; nothing private decides them, not even n."""
    X, y = public
    half = len(y) // 2
    share = cell["settings"]["public_share"]
    drawn = _generator(cell, "public").integers(half, size=round(len(y) * (1 - share) / share))
    return (X[drawn], y[drawn]), (X[half:], y[half:])


def _baseline_risk(path: str) -> float:
    rows = tables.read(path, filters=[("metric", "==", "risk")])
    if len(rows) != 1:
        raise CorruptFile(
            f"{path} holds {len(rows)} rows of the non-private risk instead of one; delete it and run again"
        )
    if rows["status"].iloc[0] != "ok":
        raise SolverError(f"{path}: the non-private fit did not converge; raise `ridge` in the experiment's settings")
    return float(rows["value"].iloc[0])


def _rows(
    head: Mapping[str, Any], metrics: Mapping[str, np.ndarray], converged: np.ndarray, certificate: np.ndarray | None
) -> pd.DataFrame:
    """Return one row for each metric and repeat; where the solver failed, the certificate is the only number."""
    status = np.where(converged, "ok", "failed")
    columns = {name: np.where(converged, values, np.nan) for name, values in metrics.items()}
    if certificate is not None:
        columns["certificate"] = certificate
    frames = [
        pd.DataFrame({**head, "repeat": np.arange(len(values)), "metric": name, "value": values, "status": status})
        for name, values in columns.items()
    ]
    return pd.concat(frames, ignore_index=True)
