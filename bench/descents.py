"""Noisy descents and a private search, against loops over records and trials as one would write them first.

The naive descents add up clipped gradients (and the Gram matrix) record by record, in Python. The naive search fits and
scores trial by trial and asks for one prediction a record put aside. All draw the same noise in the same order, and
must end where ours do. Least of some runs of ours, one of theirs, CPU time.
"""

import math
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterSampler
from threadpoolctl import threadpool_limits

from bench.samp_agg import clock
from dperm import OutputPerturbation, PrivateSearchCV, losses, seeds
from dperm.accounting import stopping
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget, Domain
from dperm.mechanisms import gradient, preconditioned
from dperm.mechanisms.estimators import held_out

N, P, STEPS, MOMENTUM, CLIP, DISTANCE = 2_000, 10, 50, 0.9, 0.5, 2.0
BUDGET, ROUNDS = Budget(1.0, 1e-6), 5
GRID, SEED = {"curvature": [30.0, 100.0, 300.0]}, 5


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Return rows in the unit ball and labels -1, +1 of a noisy rule."""
    rng = seeds.generator(0, "bench", "descents")
    X = rng.normal(size=(N, P))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=N) > 0, 1.0, -1.0)


def naive_gradient(X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the sum of clipped gradients of the logistic loss, record by record."""
    total = np.zeros(len(theta))
    for x, label in zip(X, y, strict=True):
        one = -label / (1 + math.exp(label * (x @ theta))) * x
        length = math.sqrt(one @ one)
        total += one * min(1.0, CLIP / length) if length > 0 else one
    return total


def naive_descent(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return what `gradient.release` does."""
    noise = gradient.calibrate(CLIP, BUDGET, steps=STEPS, neighbours="add_remove")
    theta, velocity, travelled = np.zeros(P), np.zeros(P), 0.0
    for _ in range(STEPS):
        step = naive_gradient(X, y, theta) + noise.sample((1, P), rng)[0]
        velocity, travelled = MOMENTUM * velocity + step, travelled + step @ step
        theta = theta - DISTANCE / math.sqrt(travelled) * velocity
    return theta


def naive_preconditioned(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return what `preconditioned.release` does."""
    fixed = {"x_norm": 1.0, "steps": STEPS, "gram_share": 0.05, "neighbours": "add_remove"}
    on_gram, on_step = preconditioned.calibrate(CLIP, BUDGET, **fixed)
    noisy = on_gram.sample((1, P, P), rng)[0]
    for x in X:
        short = x * min(1.0, 1 / math.sqrt(x @ x))
        noisy = noisy + np.outer(short, short)
    values, vectors = np.linalg.eigh((noisy + noisy.T) / 2)
    values = np.maximum(values, 0.0) + preconditioned.FLOOR / gaussian_ratio(BUDGET.epsilon, BUDGET.delta)
    inverse = vectors @ np.diag(1 / values) @ vectors.T
    theta, velocity, mean, travelled = np.zeros(P), np.zeros(P), np.zeros(P), 0.0
    for t in range(STEPS):
        step = naive_gradient(X, y, theta) + on_step.sample((1, P), rng)[0]
        velocity, travelled = MOMENTUM * velocity + step, travelled + step @ inverse @ step
        theta = theta - DISTANCE * math.sqrt(values.sum() / travelled) * (inverse @ velocity)
        mean += theta / (STEPS / 2) if t >= STEPS / 2 else 0.0
    return mean


def descent(X: np.ndarray, y: np.ndarray, core: Any, rng: np.random.Generator) -> np.ndarray:
    """Return the end of one of our descents."""
    fixed = {"domain": Domain(x_norm=1.0), "budget": BUDGET, "neighbours": "add_remove", "calibration": "tight"}
    fixed |= {"clip": CLIP, "distance": DISTANCE, "steps": STEPS, "momentum": MOMENTUM}
    return core.release(X, y, losses.logistic(), rng=rng, **fixed).theta[0]


def searched(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the coefficients that our search finds."""
    model, asked = OutputPerturbation(classes=(-1, 1)), {"epsilon": BUDGET.epsilon, "delta": BUDGET.delta}
    return PrivateSearchCV(model, GRID, random_state=SEED, **asked).fit(X, y).best_estimator_.coef_[0]


def naive_search(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return what `searched` does."""

    def drawn():
        return next(iter(ParameterSampler(GRID, 1, random_state=np.random.RandomState(rng.integers(2**32)))))

    rng, law, best = np.random.default_rng(SEED), stopping.trials(10, 1.0), (-math.inf, None)
    aside = rng.random(N) < 0.2
    drawn()
    base = stopping.base_budget(BUDGET, law, stopping.gaussian)
    for _ in range(law.draw(rng)):
        model = clone(OutputPerturbation(classes=(-1, 1))).set_params(
            **drawn(), epsilon=base.epsilon, delta=base.delta, random_state=rng
        )
        model.fit(X[~aside], y[~aside])
        right = sum(model.predict(x[None])[0] == label for x, label in zip(X[aside], y[aside], strict=True))
        noisy = right + held_out.noise(base, rng)
        if noisy > best[0]:
            best = noisy, model.coef_[0]
    return best[1]


def compare() -> list[tuple[str, float, float]]:
    """Return name, our seconds and naive ones of each task; the ends must agree."""
    X, y = problem()

    def fresh():
        return seeds.generator(0, "bench", "descents", "noise")

    tasks = (
        ("noisy gradient descent", lambda: descent(X, y, gradient, fresh()), lambda: naive_descent(X, y, fresh())),
        (
            "preconditioned",
            lambda: descent(X, y, preconditioned, fresh()),
            lambda: naive_preconditioned(X, y, fresh()),
        ),
        ("private search", lambda: searched(X, y), lambda: naive_search(X, y)),
    )
    found = []
    for name, ours, naive in tasks:
        np.testing.assert_allclose(ours(), naive(), rtol=1e-6, atol=1e-9)
        found.append((name, min(clock(ours) for _ in range(ROUNDS)), clock(naive)))
    return found


def report() -> None:
    """Print the table."""
    print(f"\nDescents of {STEPS} steps, and a search of 10 trials on average; n={N:,}, p={P}; one thread, CPU time\n")
    print(f"{'':<28}{'ours ms':>10}{'naive ms':>11}{'ratio':>9}")
    with threadpool_limits(1):
        for name, ours, naive in compare():
            print(f"{name:<28}{1e3 * ours:>10.2f}{1e3 * naive:>11.1f}{naive / ours:>8,.1f}x")


if __name__ == "__main__":
    report()
