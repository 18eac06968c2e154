"""Release a model: integer noise from the operating system, nothing of the records in the file, a card beside it.

The picture: how often the released model is right on rows that it has not seen, over epsilon, beside no privacy.
"""

import pickle
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import Normalizer

from dperm import OutputPerturbation, privacy_card

X, y = load_breast_cancer(return_X_y=True)
# Public scales of the columns, in round numbers; then each row is divided by its own length.
scales = np.tile([20, 20, 100, 1000, 0.1, 0.1, 0.1, 0.1, 0.2, 0.1], 3)
X = Normalizer().fit_transform(np.column_stack([X / scales, np.ones(len(X))]))
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)

models = {}
for epsilon in (0.5, 1, 2, 5, 10, 20):
    # No seed: release=True refuses one, for whoever knows the seed knows the noise.
    models[epsilon] = OutputPerturbation(epsilon=epsilon, delta=1e-6, classes=(0, 1), clip=True, release=True).fit(X, y)

# What is written down holds coefficients, parameters and the statement, and no row, no count, no certificate.
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "model.pickle"
    file.write_bytes(pickle.dumps(models[10]))
    loaded = pickle.loads(file.read_bytes())
print(sorted(vars(loaded)))
card = privacy_card(loaded)
print(card)

plt.semilogx(list(models), [model.score(X_new, y_new) for model in models.values()], "o-", label="released")
plt.axhline(LogisticRegression(C=100).fit(X, y).score(X_new, y_new), color="grey", label="without privacy")
plt.axhline(max(y_new.mean(), 1 - y_new.mean()), color="grey", linestyle=":", label="the most frequent label")
plt.gca().set(xlabel="epsilon", ylabel="right on new rows", title="One draw of the noise each")
plt.legend(loc="lower right", bbox_to_anchor=(1, 0.1))
plt.savefig(sys.argv[1], metadata={"Date": None})
