"""Small data sets that tests of many solvers and mechanisms share."""

import numpy as np

# Of three directions, in an order that is not that of the letters.
NAMES = ("c", "a", "b")


def on_sphere(rng, n, p, radius=1.0):
    """Draw rows of this length in uniform directions."""
    X = rng.normal(size=(n, p))
    return X * radius / np.linalg.norm(X, axis=1, keepdims=True)


def in_ball(n, p=3, seed=0, labels=True):
    """Draw rows within the unit ball, and labels or targets that do not depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    return X, rng.choice([-1.0, 1.0], n) if labels else rng.uniform(-1, 1, n)


def two_classes(n, p, radius=1.0, seed=0):
    """Draw rows of this length, and labels of -1 and 1 on the sides of a hyperplane with noise."""
    rng = np.random.default_rng(seed)
    X = on_sphere(rng, n, p, radius)
    return X, np.where(X @ rng.normal(size=p) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def three_directions(n):
    """Draw unit rows in the plane, each with the name of the nearest of three directions."""
    X = on_sphere(np.random.default_rng(0), n, 2)
    angles = 2 * np.pi * np.arange(3) / 3
    return X, np.array(NAMES)[(X @ np.stack([np.cos(angles), np.sin(angles)])).argmax(axis=1)]


def targets_of(loss, margins, rng):
    """Draw targets of the kind that the loss takes."""
    noisy = margins + rng.normal(size=len(margins))
    return {
        "binary": np.where(noisy > 0, 1.0, -1.0),
        "real": noisy,
        "count": rng.poisson(np.exp(margins)).astype(float),
    }[loss.targets]


def of_a_generalised_model(loss, n, p, steepest):
    """Draw rows in a cube, and targets of the named loss whose weights fall from `steepest` to -1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(n, p))
    eta = X @ np.linspace(steepest, -1.0, p)
    if loss == "squared":
        return X, eta + 0.1 * rng.standard_normal(n)
    if loss == "poisson":
        return X, np.minimum(rng.poisson(np.exp(eta)), 4).astype(float)
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), 1.0, -1.0)
