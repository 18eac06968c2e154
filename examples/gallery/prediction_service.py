"""Answer queries one by one, and keep the model inside: a vote of fifty trees, a journal, a budget that ends.

Copies share the journal, so that a service that was restarted, or runs in several processes, spends one budget. The
picture: how many rows may still be asked; a row that was asked before costs nothing.
"""

import pickle
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.tree import DecisionTreeClassifier

from dperm import SoftMajority
from dperm.errors import BudgetExhausted

X, y = make_moons(6_000, noise=0.2, random_state=0)
asked, labels = make_moons(60, noise=0.2, random_state=1)

with tempfile.TemporaryDirectory() as folder:
    service = SoftMajority(
        base=DecisionTreeClassifier(max_depth=5, random_state=0), shards=150, epsilon=2.0, delta=1e-6, queries=40,
        classes=(0, 1), clip=True, state=Path(folder) / "answers.journal",
    ).fit(X, y)  # fmt: skip
    print(service.privacy_)
    answers, left = [], []
    try:
        for place, row in enumerate([*asked[:15], *asked[:10], *asked[15:]]):
            if place == 30:  # as if the process had ended: what is loaded goes on with the same journal
                service = pickle.loads(pickle.dumps(service))
            answers.append(service.predict([row])[0])
            left.append(service.ledger_.remaining)
    except BudgetExhausted as refusal:
        print(refusal)

plt.step(range(1, len(left) + 1), left, where="post")
plt.axvspan(15, 25, color="grey", alpha=0.2, lw=0)
plt.text(20, 38, "asked before", ha="center", color="dimgrey")
plt.gca().set(xlabel="queries", ylabel="rows left to ask", title="epsilon = 2 pays for 40 different rows")
plt.savefig(sys.argv[1], metadata={"Date": None})
