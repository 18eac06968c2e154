"""A loss of your own: quantiles, by the pinball loss, through the core under `NoisyGradientDescent`.

Estimators take losses by name, because a theorem needs bounds that somebody has proved. Descent needs none but the
clip: each record's gradient is cut to it, whatever the loss, so that a wrong derivative costs accuracy and never
privacy. The picture: three quantiles that spread as the records do.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from dperm.domain import Budget, Domain
from dperm.loss import Loss
from dperm.mechanisms import gradient


def pinball(share):
    """Return the loss whose minimum is this quantile: share (y - u) above the line, (1 - share) (u - y) below."""
    return Loss(
        f"pinball {share}", "real",
        value=lambda u, y: np.maximum(share * (y - u), (share - 1) * (y - u)),
        derivative=lambda u, y: np.where(y > u, -share, 1 - share),
        second=lambda u, y: np.zeros(np.broadcast_shapes(np.shape(u), np.shape(y))),
        second_within=lambda low, high, y: np.where((low <= y) & (y <= high), np.inf, 0.0),
        suprema=lambda domain: (max(share, 1 - share), np.inf),
        one_sided=False, unit=0.0,
    )  # fmt: skip


rng = np.random.default_rng(0)
x = rng.uniform(0, 1, 20_000)
y = np.clip(0.2 + 0.4 * x + 0.3 * x * rng.normal(size=len(x)), -1, 1)  # declared: |y| <= 1
X, line = np.column_stack([x, np.ones_like(x)]), np.array([[0.0, 1.0], [1.0, 1.0]])
plt.plot(x[:400], y[:400], ".", color="lightgrey", markersize=3)
for share in (0.1, 0.5, 0.9):
    release = gradient.release(
        X, y, pinball(share), domain=Domain(x_norm=np.sqrt(2), y_bound=1.0), budget=Budget(1.0, 1e-6), clip=np.sqrt(2),
        neighbours="add_remove", calibration="tight", steps=200, average="tail", rng=rng,
    )  # fmt: skip
    print(
        share, release.theta[0], release.guarantee, f"{(y < X @ release.theta[0]).mean():.3f} of the records lie below"
    )
    plt.plot(line[:, 0], line @ release.theta[0], label=f"{share:.0%}")
plt.gca().set(xlabel="x", ylabel="y", title="Three private quantiles, epsilon = 1 each")
plt.legend(loc="upper left")
plt.savefig(sys.argv[1], metadata={"Date": None})
