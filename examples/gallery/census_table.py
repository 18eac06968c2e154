"""A table of people, end to end, in thirty lines: UCI Adult as it is published, a schema, a search, a model, a card.

DPERM_MIRROR names a folder with `adult/adult.data`, compressed or not; without it the table is downloaded. The picture:
errors on the test table, which is public here.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import dperm

schema = Path(__file__).with_name("adult.yaml")  # ranges and levels, as the census's codebook has them
columns = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]  # fmt: skip
mirror, names = os.environ.get("DPERM_MIRROR"), ("adult.data", "adult.test")
site = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
files = [next(Path(mirror, "adult").glob(f"{name}*")) if mirror else f"{site}/{name}" for name in names]
tables = [pd.read_csv(file, names=columns, skipinitialspace=True, comment="|") for file in files]
encoder = dperm.PublicEncoder(schema, constant=True, rows="length", clip=True)
(X, y), (X_test, y_test) = ((encoder.fit_transform(table), table["income"].str.rstrip(".")) for table in tables)

with dperm.PrivacySession(epsilon=2.0, delta=1e-5) as session:
    told, public = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}, {"classes": ("<=50K", ">50K"), "clip": True}
    model = dperm.ObjectivePerturbation(**public, **told).fit(X, y)
    descent, values = dperm.NoisyGradientDescent(**public), {"steps": [50, 100, 200]}
    tuned = dperm.PrivateSearchCV(descent, values, n_iter=3, **told).fit(X, y)
    print(tuned.best_params_, dperm.privacy_card(model, session))

errors = {"always <=50K": (y_test == ">50K").mean()}
errors |= {type(one).__name__: 1 - one.score(X_test, y_test) for one in (tuned, model)}
plt.barh(list(errors), list(errors.values()), color=["grey", "#56B4E9", "#0072B2"])
plt.gca().set(xlabel="errors on the test table", title="UCI Adult, epsilon = 1 each")
plt.savefig(sys.argv[1], metadata={"Date": None})
