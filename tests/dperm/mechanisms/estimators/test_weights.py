"""Sample weights: of descents, whose weighted gradients move by no more than c; what is refused, of all that take some.

What weights do to objective and output perturbation stands in test_weighted_risks.py.
"""

import itertools
import math
import warnings

import numpy as np
import pytest
import together
from scipy import sparse, special

import dperm
from dperm import NoisyGradientDescent, PreconditionedGradientDescent, losses
from dperm.accounting.gaussian import gaussian_ratio
from dperm.errors import DomainViolation, VacuousWarning
from dperm.mechanisms import gradient, preconditioned
from dperm.mechanisms.multinomial import Multinomial

# One model is fitted again and again here.
pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.SpentAgainWarning")
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (40, 3))
LABELS = {"epsilon": 2.0, "classes": (0, 1), "random_state": 0}
y = (X[:, 0] > 0).astype(int)
W = 4.0
DESCENTS = [NoisyGradientDescent, PreconditionedGradientDescent]
TAKERS = [*DESCENTS, dperm.ObjectivePerturbation, dperm.OutputPerturbation]


def by_hand(x, target, w, theta, c, loss):
    """Return one record's weighted gradient, cut to length c."""
    if loss == "multinomial":
        each = theta.reshape(3, -1)
        g = np.outer(special.softmax(each @ x) - np.eye(3)[int(target)], x).ravel()
    else:
        u = x @ theta
        slope = -target * special.expit(-target * u) if loss == "logistic" else np.clip(u - target, -1, 1)
        g = slope * x
    g = w * g
    return g * min(1.0, c / max(np.linalg.norm(g), 1e-300))


@together.over("loss", ["logistic", "huber", "multinomial"])
@together.over("rows", [np.asarray, sparse.csr_array])
def test_the_sum_of_weighted_gradients_by_hand(loss, rows):
    core = Multinomial(3) if loss == "multinomial" else losses.make(loss)
    targets = {"logistic": np.where(y > 0, 1.0, -1.0), "huber": 9 * X[:, 1], "multinomial": y + 1.0}[loss]
    theta, w = RNG.normal(size=(2, 9 if loss == "multinomial" else 3)), RNG.uniform(0.01, W, 40)
    for c in (0.05, 0.4, 100.0):
        found = gradient.summed_gradient(rows(X), targets, core, theta, gradient.limits(rows(X), c), w)
        for each, at in zip(found, theta, strict=True):
            expected = sum(by_hand(*record, at, c, loss) for record in zip(X, targets, w, strict=True))
            np.testing.assert_allclose(each, expected, rtol=1e-9, atol=1e-12)


# Long and short rows of both labels at the ends of the weights, and in between.
EXTREME = list(itertools.product((1.0, -1.0, 0.3, 0.0), (0, 1), (0.0, 1e-9, 1.0, W)))


@together.over("neighbours", ["add_remove", "replace"])
@together.over("bound", [1.0, W])
def test_one_record_moves_one_step_by_what_the_noise_is_made_for(neighbours, bound):
    """One step of length 1: theta is minus the noisy sum, so that one seed tells how far a record moves it."""
    given = {"steps": 1, "step_size": 1.0, "momentum": 0.0, "neighbours": neighbours, "weight_bound": bound}
    model = NoisyGradientDescent(**LABELS, **given, gradient_clip=0.5 * bound)

    def theta(record):
        rows = [(0.2, 1, bound), (-0.4, 0, bound / 3), *([record] if record else [])]
        x, target, w = np.array(rows).T
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VacuousWarning)
            return model.fit(x[:, None], target.astype(int), sample_weight=w).coef_[0, 0]

    extreme = [(x, target, min(w, bound)) for x, target, w in EXTREME]
    if neighbours == "add_remove":
        moved = max(abs(theta(None) - theta(one)) for one in extreme)
    else:
        ends = [theta(one) for one in extreme]
        moved = max(ends) - min(ends)
    ratio = gaussian_ratio(2.0, 1e-6)
    sigma = model.privacy_.event.noise_multiplier * 0.5 * bound * (1 if neighbours == "add_remove" else 2)
    # As far as the budget allows: with the largest weight a record of the longest row has the clip's length.
    assert moved / sigma == pytest.approx(ratio, rel=1e-6)


def test_one_record_moves_the_gram_matrix_by_one():
    rng = np.random.default_rng(1)
    for _ in range(50):
        rows, w = rng.normal(size=(5, 3)) * rng.choice([0.1, 1.0, 9.0]), rng.choice([0.0, 1e-9, 0.5, 1.0], 5)
        whole, less = (preconditioned.gram(rows[k:], 1.0, np.sqrt(w[k:])) for k in (0, 1))
        assert np.linalg.norm(whole - less) <= w[0] * (1 + 1e-12)


@together.over("make", DESCENTS)
@together.over("classes", [(0, 1), (0, 1, 2)])
def test_weights_of_one_are_none_and_weights_of_nothing_are_no_record(make, classes):
    model = make(**LABELS | {"classes": classes}, weight_bound=W, gradient_clip=50.0, fit_intercept=True)
    plain, ones = (model.fit(X, y, **given).coef_.tobytes() for given in ({}, {"sample_weight": np.ones(40)}))
    assert (plain == ones) == (make is NoisyGradientDescent)  # a Gram matrix is made for weights up to W
    w = np.where(np.arange(40) % 2, 2.0, 0.0)
    weighted = model.fit(X, y, sample_weight=w).coef_
    np.testing.assert_allclose(weighted, model.fit(sparse.csr_array(X), y, sample_weight=w.tolist()).coef_, rtol=1e-6)
    half, twice = X[1::2], np.repeat(X[1::2], 2, axis=0)
    np.testing.assert_allclose(weighted, model.fit(half, y[1::2], sample_weight=np.full(20, 2.0)).coef_, rtol=1e-6)
    doubled = model.fit(twice, np.repeat(y[1::2], 2), sample_weight=np.ones(40)).coef_
    np.testing.assert_allclose(weighted, doubled, rtol=1e-6)


@together.over("make", TAKERS)
def test_weights_outside_their_bound(make):
    model = make(**LABELS, weight_bound=1.0)
    for wrong in (1.5, -0.1, np.nan):
        with pytest.raises(DomainViolation, match=r"weight outside \[0, 1\], the declared `weight_bound`"):
            model.fit(X, y, sample_weight=np.full(40, wrong))
    with pytest.raises(ValueError, match="a weight for each record"):
        model.fit(X, y, sample_weight=np.ones(39))
    with pytest.raises(ValueError, match=r"weight_bound=0\.0 must be"):
        make(**LABELS, weight_bound=0.0).fit(X, y)
    odd = [math.nan, math.inf, -math.inf, -1.0, 7.0, None, "x", 1j, [], 10**400] + [0.5] * 30
    mended = [0, 1, 0, 0, 1, 0, 0, 0, 0, 0] + [0.5] * 30
    total = make(**LABELS, clip=True, weight_bound=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = total.fit(X, y, sample_weight=odd)
    assert found.privacy_.total and not any("weights" in name for name in vars(found))
    np.testing.assert_array_equal(found.coef_.copy(), total.fit(X, y, sample_weight=mended).coef_)


@together.over("make", TAKERS)
@together.over("clip", [True, False])
def test_weights_without_a_declared_bound_are_refused_and_none_are_as_before(make, clip):
    model = make(**LABELS, clip=clip)
    with pytest.raises(ValueError, match=r"weight_bound=None: declare the largest weight"):
        model.fit(X, y, sample_weight=np.ones(40))
    assert not hasattr(model, "coef_")
    np.testing.assert_array_equal(model.fit(X, y).coef_.copy(), model.set_params(weight_bound=1.0).fit(X, y).coef_)


def test_others_say_that_they_take_none():
    plain, descent = dperm.ApproximateMinima(classes=(0, 1), n_public=40), NoisyGradientDescent(**LABELS)
    takers = "ObjectivePerturbation, OutputPerturbation, NoisyGradientDescent and PreconditionedGradientDescent take"
    hands = f"takes no sample_weight: it hands none on to what it fits; {takers}"
    for model, words in (
        (plain, f"ApproximateMinima takes no sample_weight: its proof takes all records for alike; {takers}"),
        (dperm.PrivateOneVsRest(descent, classes=(0, 1)), f"PrivateOneVsRest {hands}"),
        (dperm.PrivateSearchCV(descent, {"steps": [5]}, n_iter=2), f"PrivateSearchCV {hands}"),
        (dperm.PerPerson(descent), f"PerPerson {hands}"),
        (dperm.SoftMajority(classes=(0, 1), shards=2, queries=2), f"SoftMajority {hands}"),
    ):
        with pytest.raises(TypeError, match=words):
            model.fit(X, y, sample_weight=np.ones(40))
