"""Approximate minima perturbation with the tighter analysis of Redberg, Koskela & Wang (2024): better-objpert.

The authors' calibration, model and parameters (`scripts/run_amp.py`). Their model adds an intercept, so that L is
sqrt(2) and beta 1/2 for rows of length one; noise for one record more or less. They choose the learning rate of L-BFGS
on the test rows; here the first of their five that reaches their tau is taken.
"""

import functools
import math

import numpy as np
import torch
from running import run
from utilities.models import PerturbedLogisticModel
from utilities.noise_calibration import calibrate

SIGMA_OUT, TAU, F = 0.15, 0.0005, 1.3
# Of L-BFGS, twenty iterations each.
MOST_STEPS = 500


def fit(X, y, epsilon, delta, seed):
    """Minimise the tilted sum until its gradient is at most tau, and add noise to what comes out."""
    if epsilon >= 2:
        # Its search begins at the curvature 2 beta/epsilon, and its bound has log(1 - beta/curvature).
        return None
    torch.manual_seed(seed)
    model = PerturbedLogisticModel(X.shape[1], 1, *calibrated(epsilon, delta))
    minimise(model, torch.tensor(X), torch.tensor((y > 0).astype(float)).reshape(-1, 1))
    weights, intercept = (p.detach() + SIGMA_OUT * torch.randn(p.shape) for p in model.parameters())
    return lambda Q: np.where(Q @ weights.numpy().ravel() + intercept.numpy() > 0, 1, -1)


@functools.cache
def calibrated(epsilon, delta):
    """Return the scale of the tilt and the curvature that the authors' search finds; it takes minutes."""
    bounds = {"L": math.sqrt(2), "beta": 0.5, "tau": TAU, "f": F, "sigma_out": SIGMA_OUT}
    return calibrate({"alg": "amp", "eps": epsilon, "delta": delta, **bounds})


def minimise(model, rows, target):
    """Move the model to where its gradient is at most tau; RuntimeError if no learning rate leads there."""
    start = {name: value.clone() for name, value in model.state_dict().items()}
    for rate in np.linspace(0.1, 1, 5):
        model.load_state_dict(start)
        optimizer = torch.optim.LBFGS(model.parameters(), lr=float(rate))

        def closure(optimizer=optimizer):
            optimizer.zero_grad()
            loss = model.loss_func(model(rows), target)
            loss.backward()
            return loss

        for _ in range(MOST_STEPS):
            closure()
            if math.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters())) <= TAU:
                return
            optimizer.step(closure)
    raise RuntimeError(f"no learning rate reached tau={TAU}")


torch.set_default_dtype(torch.float64)
run("better-objpert (AMP)", "add_remove", fit)
