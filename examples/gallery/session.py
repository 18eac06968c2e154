"""One budget over an afternoon: every fit is charged before it runs, and one that does not fit any more is refused.

The picture: what is spent after each step. A Pipeline that would learn from the records without privacy is refused too,
and costs nothing.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from dperm import IndependentFolds, NoisyGradientDescent, PrivacySession, privacy_card
from dperm.errors import BudgetExhausted, SessionError

X, y = make_classification(4_000, n_features=8, random_state=0)
small = NoisyGradientDescent(epsilon=0.1, delta=1e-7, classes=(0, 1), clip=True)
spent = {"begin": 0.0}
with PrivacySession(epsilon=2.0, delta=1e-5) as session:
    cross_val_score(make_pipeline(Normalizer(), small), X, y, cv=IndependentFolds(5))
    spent["five folds"] = session.spent.epsilon
    model = NoisyGradientDescent(epsilon=1.0, delta=1e-6, classes=(0, 1), clip=True)
    model = make_pipeline(Normalizer(), model).fit(X, y)  # each row by its own length: nothing is learned
    spent["a model"] = session.spent.epsilon
    try:
        make_pipeline(StandardScaler(), small).fit(X, y)
    except SessionError as refusal:
        print(refusal)
    spent["scaled by the data:\nrefused"] = session.spent.epsilon
    try:
        NoisyGradientDescent(epsilon=1.0, delta=1e-6, classes=(0, 1), clip=True).fit(X, y)
    except BudgetExhausted as refusal:
        print(refusal)
    spent["another model:\nrefused"] = session.spent.epsilon
    print(privacy_card(model, session))

plt.step(range(len(spent)), list(spent.values()), where="post", marker="o")
plt.xticks(range(len(spent)), list(spent), fontsize=7)
plt.axhline(2.0, color="grey", linestyle=":", label="the budget")
plt.gca().set(ylabel="epsilon spent", title="An afternoon", ylim=(0, 2.2))
plt.legend()
plt.savefig(sys.argv[1], metadata={"Date": None})
