"""Choose a parameter on the private records themselves, and pay for it: (epsilon, delta) is that of the whole search.

The picture: what the search finds, beside each value at the same budget. That curve is for this page alone: to look at
it on private records would spend the budget of each of its fits.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from dperm import OutputPerturbation, PrivateSearchCV

X, y = make_classification(8_000, n_features=10, n_informative=4, class_sep=0.8, flip_y=0.05, random_state=3)
X = np.clip(X / 5, -1, 1) / np.sqrt(10)  # declared: no column is beyond 5; so ||x|| <= 1
X, X_new, y, y_new = train_test_split(X, y, test_size=0.25, random_state=0)
model, budget = OutputPerturbation(classes=(0, 1), clip=True), {"epsilon": 1.0, "delta": 1e-6}
values = {"curvature": [3, 10, 30, 100, 300]}
search = PrivateSearchCV(model, values, n_iter=5, random_state=0, **budget).fit(X, y)
found = search.best_params_["curvature"]
print(f"curvature={found}: {search.score(X_new, y_new):.3f} right on new rows; {search.privacy_}")


def score(curvature, seed):
    """Return what one fit has that knew this value beforehand."""
    fixed = clone(model).set_params(curvature=curvature, random_state=seed, **budget)
    return fixed.fit(X, y).score(X_new, y_new)


alone = [np.mean([score(value, seed) for seed in range(5)]) for value in values["curvature"]]
plt.semilogx(values["curvature"], alone, "o-", label="known beforehand: all of epsilon for one fit")
plt.plot(found, search.score(X_new, y_new), "s", markersize=9, label="one search: choice and fit for epsilon")
plt.gca().set(xlabel="curvature", ylabel="right on new rows", title="What a choice costs, epsilon = 1")
plt.legend()
plt.savefig(sys.argv[1], metadata={"Date": None})
