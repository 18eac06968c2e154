"""Attack a mechanism of your own: noise made for the range of the data, and noise made for a declared range.

Both claim epsilon = 1. The auditor searches for the two neighbouring data sets that tell most, and certifies with
99.9 % confidence what is spent at least. The picture: that, beside the claim. A bound below the claim proves nothing;
one above it refutes it.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from dperm import audit

CLAIM = 1.0


def of_the_data(X, repeats, rng):
    """The mean of numbers in [0, 1], noise for the range that they happen to have."""
    return X.mean() + rng.laplace(0, 1 / CLAIM, repeats) * np.ptp(X) / len(X)


def of_the_declaration(X, repeats, rng):
    """The same, noise for the declared range 1."""
    return X.mean() + rng.laplace(0, 1 / CLAIM, repeats) / len(X)


within = audit.Records(features=1, box=(0, 1))
found = {}
for mechanism in (of_the_data, of_the_declaration):
    searched, certified = np.random.default_rng(1).spawn(2)
    pair = audit.search.pair(mechanism, within, "replace", draws=4_000, rng=searched)
    found[mechanism.__name__] = audit.lower_bound(
        mechanism, pair.data, pair.neighbour, draws=20_000, confidence=0.999, rng=certified
    )
    print(f"{mechanism.__name__}: {pair.words}; spends {found[mechanism.__name__].epsilon:.3f} at least")

plt.barh(list(found), [bound.epsilon for bound in found.values()], color=["#D55E00", "#0072B2"])
plt.axvline(CLAIM, color="black", linestyle=":", label="claimed")
plt.gca().set(xlabel="epsilon that is spent at least", title="A mean, with noise of two kinds")
plt.legend()
plt.savefig(sys.argv[1], metadata={"Date": None})
