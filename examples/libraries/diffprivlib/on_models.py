"""Attacks on `diffprivlib.models`."""

import math

import numpy as np
from attack import BOTH, Attack, Given
from diffprivlib import models
from diffprivlib.accountant import BudgetAccountant
from setting import N_PUBLIC, UNIT, WARM, state

from dperm.audit import one_by_one

MODEL = "“epsilon: Privacy parameter ε” of each class of diffprivlib/models; no neighbouring relation"

# What we could read of it is its beginning.
PART = "#104 names k-means and vector mechanisms in its title; of its text we could read two points, on other models"


def model(estimator, read, *, partial=False, **settings):
    """Return a model of `diffprivlib.models` as a mechanism: what `read` takes from it once it is fitted."""

    def call(data, rng):
        fresh = estimator(random_state=state(rng), accountant=BudgetAccountant(), **settings)
        data = data if isinstance(data, tuple) else (data,)
        # The classes are given where the model takes them: they are no secret here.
        fitted = fresh.partial_fit(*data, classes=[0, 1]) if partial else fresh.fit(*data)
        return read(fitted)

    return one_by_one(call)


def of_model(claim, mechanism, pairs, *, draws=1_000, **more):
    """Return the attack on a model: by relation two data sets and what they are."""

    def make(relation):
        return Given(mechanism, *pairs[relation])

    return Attack(claim, make, MODEL, draws=draws, **more)


def labelled(*records):
    """Return X of one column, and y."""
    X, y = zip(*records, strict=True)
    return np.array(X, dtype=float)[:, None], np.array(y)


def column(*values):
    """Return X of one column."""
    return np.array(values, dtype=float)[:, None]


def both(pair):
    """Return the same for either relation."""
    return dict.fromkeys(BOTH, pair)


def leaf_labels(fitted):
    """Return the label of each leaf, of all trees."""
    trees = [tree.tree_ for tree in getattr(fitted, "estimators_", [fitted])]
    return [int(value[0].argmax()) for tree in trees for value in tree.value[tree.children_left < 0]]


def spent_by_logistic(norm, epsilon, curvature):
    """Return what the determinant alone spends, and half of epsilon is meant for: log(1 + R^2/4 / curvature)."""
    return math.log1p(norm**2 / 4 / curvature(norm, epsilon))


CLASSES = [(100.0, 0)] * 4 + [(100.0, 1)] * 4
RELABELLED = (
    labelled(*CLASSES),
    labelled((100.0, 1), *CLASSES[1:]),
    "100.0 eight times, half of each class; one relabelled",
)
ONE_LESS = labelled(*CLASSES), labelled(*CLASSES[1:]), "100.0 eight times, half of each class; one without"
ALONE = "six records at 0; one of them at 1 instead"
SIDES = [(0.0, 0), (0.0, 1)]
FAR = (
    labelled((100.0, 1), (0.0, 0), (0.0, 1)),
    labelled((0.0, 1), (0.0, 0), (0.0, 1)),
    "x = 100 or x = 0 beside two at 0",
)
FAR_OR_NOT = labelled((100.0, 1), (0.0, 0), (0.0, 1)), labelled((0.0, 0), (0.0, 1)), "x = 100 or none beside two at 0"
EVEN, ODD = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]
# One record a tree. Without the first, each tree has the next one's record, and the last has none.
IN_TURNS = [0, 1, 0, 1, 0, 1]
# A leaf with one record has its label with this probability.
OWN = 1 - math.exp(-1) / 2


def at_zero(labels):
    """Return records that are all at 0."""
    return labelled(*[(0.0, y) for y in labels])


MODELS = [
    of_model(
        "models.LinearRegression(bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False)",
        model(models.LinearRegression, lambda m: m.coef_, bounds_X=UNIT, bounds_y=UNIT, fit_intercept=False),
        {
            "replace": (labelled((0.1, 0)), labelled((1, 0)), "the only record: x = 0.1 or x = 1"),
            "add_remove": (labelled((0.1, 0)), labelled((1, 0), (0.1, 0)), "x = 1 or none beside x = 0.1"),
        },
        because="models/linear_regression.py:144: the lower bound stands there twice, "
        "so X'X gets no noise at bounds (0, 1)",
        known="#104, #105; a fix, #110, is open",
    ),
    of_model(
        "models.LinearRegression(bounds_X=(0, 1), bounds_y=(0, 1))",
        model(models.LinearRegression, lambda m: [*m.coef_, *np.ravel(m.intercept_)], bounds_X=UNIT, bounds_y=UNIT),
        {
            "replace": (labelled((0.1, 0), (0.1, 1)), labelled((1, 1), (0.1, 1)), "(0.1, 0) or (1, 1) beside (0.1, 1)"),
            "add_remove": (
                labelled((0.1, 0), (0.1, 1)),
                labelled((1, 1), (0.1, 0), (0.1, 1)),
                "(1, 1) or none beside two",
            ),
        },
        because="models/linear_regression.py:144, and 296: both means are paid for with the budget of one",
        known="#104, #105",
    ),
    of_model(
        "models.LogisticRegression(data_norm=1, fit_intercept=False)",
        model(models.LogisticRegression, lambda m: m.coef_[0], data_norm=1.0, fit_intercept=False),
        {
            "replace": (labelled((1, 1), *SIDES), labelled((-1, 1), *SIDES), "(1, 1) or (-1, 1) beside two at 0"),
            "add_remove": (labelled((1, 1), *SIDES), labelled(*SIDES), "(1, 1) or none beside two at 0"),
        },
    ),
    of_model(
        "models.LogisticRegression(data_norm=100, fit_intercept=False)",
        model(models.LogisticRegression, lambda m: m.coef_[0], data_norm=100.0, fit_intercept=False, tol=1e-8),
        {"replace": FAR, "add_remove": FAR_OR_NOT},
        draws=2_500,
        # The exact law of ../../diffprivlib/logistic.py at this norm and epsilon.
        exact=both(3.2607),
        because="mechanisms/vector.py:149 with models/logistic_regression.py:399: the Hessian of a record has an "
        "eigenvalue of up to R²/4, and R/4 is charged",
        known=PART,
    ),
    of_model(
        "models.GaussianNB(bounds=(95, 105)).partial_fit(X, y, classes=[0, 1])",
        model(
            models.GaussianNB,
            lambda m: [*m.class_count_, *m.theta_[:, 0], *m.var_[:, 0]],
            partial=True,
            bounds=WARM,
        ),
        {"replace": RELABELLED, "add_remove": ONE_LESS},
        exact={"add_remove": math.inf},
        because="models/naive_bayes.py:256: noise for upper - lower, while a record that leaves a class takes "
        "all of itself out of its sum; and the counts of classes add up to n exactly (line 299)",
    ),
    of_model(
        "models.GaussianNB(bounds=(0, 1)).partial_fit, one record of a class or none",
        model(models.GaussianNB, lambda m: m.class_count_, partial=True, bounds=UNIT),
        {
            "replace": (
                labelled((0, 0), (0, 0), (0, 1)),
                labelled((0, 0), (0, 0), (0, 0)),
                "one of three labels 1 or 0",
            ),
            "add_remove": (labelled((0, 0), (0, 0), (0, 1)), labelled((0, 0), (0, 0)), "a record labelled 1 or none"),
        },
        draws=600,
        exact=both(math.inf),
        because="models/naive_bayes.py:166: a class that no record has is skipped, its count is 0 without noise and "
        "otherwise 1 or more",
    ),
    of_model(
        "models.KMeans(2, bounds=(0, 1), epsilon=0.1)",
        model(models.KMeans, lambda m: np.sort(m.cluster_centers_[:, 0]), n_clusters=2, epsilon=0.1, bounds=UNIT),
        {
            "replace": (column(*[0] * 6), column(*[0] * 5, 1), ALONE),
            "add_remove": (column(*[0] * 6), column(*[0] * 6, 1), "six records at 0; one at 1 besides"),
        },
        epsilon=0.1,
        draws=2_500,
        exact=both(math.inf),
        because="models/k_means.py:243: whether a cluster is empty is decided without noise, and the centre of an "
        "empty one stays where it began, never near an end of the bounds",
        known=PART,
    ),
    of_model(
        "models.PCA(data_norm=1, centered=True), n_samples_ left out",
        model(models.PCA, lambda m: [*np.abs(m.components_[0]), *m.explained_variance_], data_norm=1.0, centered=True),
        {
            "replace": (np.eye(2)[[0, 0, 0]], np.eye(2)[[0, 0, 1]], "(1, 0) or (0, 1) beside two of (1, 0)"),
            "add_remove": (np.eye(2)[[0, 0]], np.eye(2)[[0, 0, 1]], "(0, 1) or none beside two of (1, 0)"),
        },
        draws=1_200,
        because=N_PUBLIC.format("the divisor of the noisy eigenvalues (models/pca.py:245)"),
    ),
    of_model(
        "models.StandardScaler(bounds=(0, 1)), n_samples_seen_ left out",
        model(models.StandardScaler, lambda m: [*m.mean_, *m.var_], bounds=UNIT),
        {
            "replace": (column(0, 0), column(0, 1), "[0, 0] or [0, 1]"),
            "add_remove": (column(0), column(0, 1), "[0] or [0, 1]"),
        },
        draws=1_200,
        exact={"add_remove": math.inf},
        because=N_PUBLIC.format("the scale of the noise of tools.nanvar, 0 for one record"),
    ),
    of_model(
        "models.DecisionTreeClassifier(max_depth=1, bounds=(0, 1), classes=[0, 1])",
        model(models.DecisionTreeClassifier, leaf_labels, max_depth=1, bounds=UNIT, classes=[0, 1]),
        exact={"replace": 2.0},
        pairs={
            "replace": (at_zero(EVEN), at_zero(ODD), "three of six labels 1, or four"),
            "add_remove": (at_zero(EVEN), at_zero([*EVEN, 1]), "three of six labels 1, and one more or not"),
        },
        because="models/forest.py:559: monotonic=True halves the noise as for counts that only rise; a relabelled "
        "record lowers one and raises another",
    ),
    of_model(
        "models.RandomForestClassifier(6, max_depth=1, bounds=(0, 1), classes=[0, 1])",
        model(models.RandomForestClassifier, leaf_labels, n_estimators=6, max_depth=1, bounds=UNIT, classes=[0, 1]),
        {
            "replace": (at_zero(IN_TURNS), at_zero([1, *IN_TURNS[1:]]), "010101 or 110101, one for each tree"),
            "add_remove": (at_zero(IN_TURNS), at_zero(IN_TURNS[1:]), "010101, one for each tree; the first or none"),
        },
        exact={
            "replace": math.log(OWN / (1 - OWN)),
            "add_remove": 5 * math.log(OWN / (1 - OWN)) + math.log(0.5 / (1 - OWN)),
        },
        draws=700,
        because="models/forest.py:255: a record more or less cuts every tree's block anew; and line 559 "
        "(monotonic=True), for a replaced record lowers one count and raises another",
    ),
]
