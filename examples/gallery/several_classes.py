"""Ten classes for the budget of one model: handwritten digits, by the multinomial loss and one against the rest.

The picture: the released weights of the better one, an image for each digit.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dperm import NoisyGradientDescent, OutputPerturbation, PrivateOneVsRest

X, y = load_digits(return_X_y=True)
X = X / 16 - 0.5  # pixels are 0 to 16, which is public
X /= np.linalg.norm(X, axis=1, keepdims=True)  # each row by its own length: x_norm=1
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)

given = {"epsilon": 4.0, "delta": 1e-6, "classes": tuple(range(10)), "random_state": 0}
models = {
    "NoisyGradientDescent": NoisyGradientDescent(clip=True, **given),
    "PrivateOneVsRest(OutputPerturbation)": PrivateOneVsRest(OutputPerturbation(clip=True), **given),
}
right = {name: model.fit(X, y).score(X_new, y_new) for name, model in models.items()}
for name, model in models.items():
    print(f"{name}: {right[name]:.3f} right; {model.privacy_}")

best = max(right, key=right.get)
figure, panels = plt.subplots(2, 5)
for digit, panel in enumerate(panels.flat):
    weights = models[best].coef_[digit].reshape(8, 8)
    panel.imshow(weights, cmap="RdBu", vmin=-abs(weights).max(), vmax=abs(weights).max())
    panel.set(title=digit, xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
figure.suptitle(f"{best}: {right[best]:.0%} right at epsilon 4 for all ten")
plt.savefig(sys.argv[1], metadata={"Date": None})
