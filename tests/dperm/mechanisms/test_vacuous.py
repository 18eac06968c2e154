"""Where noise drowns a model: what the cores say of their noise, by draws; the criterion by brute force; who warns."""

import itertools
import warnings

import numpy as np
import pytest
import together
from published_modes import BALL, PUBLISHED, SPARSE, neighbours, targets

import dperm
from dperm import losses
from dperm.domain import Budget, Domain
from dperm.errors import VacuousWarning
from dperm.mechanisms import approximate_minima, gradient, napp, objective, output, vacuous
from dperm.mechanisms.estimators.output import default_curvature
from dperm.mechanisms.prediction import stable_model
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear
from dperm.mechanisms.vacuous import Noise

PURE, GAUSSIAN = Budget(0.7), Budget(0.7, 1e-6)
P, DELTA = 3, 40.0
NOTHING = np.zeros((2, P)), np.array([1.0, -1.0])
FIXED = {"domain": Domain(2.0), "calibration": "tight", "repeats": 20_000}


def released(core, budget, relation, X=NOTHING[0], y=NOTHING[1], **more):
    fixed = {**FIXED, "budget": budget, "neighbours": relation, "rng": np.random.default_rng(3)} | more
    if core is napp:
        return napp.release(X, y, "logistic", penalty="ridge", strength=DELTA / 4, **fixed)
    loss = losses.logistic()
    if core is approximate_minima:
        return core.release(X, y, loss, **{**fixed, "calibration": "paper", "n_public": 900, "curvature": DELTA})
    return core.release(X, y, loss, **fixed, curvature=DELTA)


# Of zero rows theta is noise alone: of a tilt, b over what is convex. zeta = R = 2, lambda = R^2/4 = 1.
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(
    ("core", "budget"),
    [
        *itertools.product((output, objective, napp), (PURE, GAUSSIAN)),
        (approximate_minima, GAUSSIAN),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_cores_say_how_strong_their_noise_is(core, budget, relation):
    # Seven deviations of what is drawn; a fit of NAPP takes the longest.
    repeats, near = (3_000, 0.05) if core is napp else (20_000, 0.02)
    found = released(core, budget, relation, repeats=repeats)
    curvature = DELTA
    if core is napp:
        # Of Lambda ||theta||^2, which is above the floor.
        curvature = DELTA / 2
    deviation = found.theta.std()
    margin = deviation * 1 / 2 if core is output else 0.0
    if core is approximate_minima:
        made = core.calibrate(losses.logistic(), Domain(2.0), budget, n=900, p=P, curvature=DELTA, neighbours=relation)
        margin, deviation = made.output.scale / 2, np.sqrt(deviation**2 - made.output.scale**2)
    assert found.noise.records == pytest.approx(deviation * curvature / 2, rel=near)
    assert found.noise.margin == pytest.approx(margin, rel=near)


def test_a_descent_is_moved_by_its_records_as_far_as_by_its_noise_at_the_limit():
    """Steps of one size, and records whose clipped gradients all pull the same way: (mean/deviation) is n/records."""
    n, steps = 12, 5
    X, y = np.tile([2.0, 0.0, 0.0], (n, 1)), np.full(n, 1e6)
    found = gradient.release(
        X, y, losses.huber(1.0), **FIXED | {"budget": GAUSSIAN}, neighbours="replace", steps=steps, clip=0.3,
        step_size=1e-3, rng=np.random.default_rng(4),
    )  # fmt: skip
    moved = found.theta[:, 0]
    assert moved.mean() / moved.std() == pytest.approx(n / found.noise.records, rel=0.03)


@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_a_stable_model_says_how_its_noise_compares_with_the_ball(budget):
    predictor = NoisyLinear(np.zeros(P), 3.0, budget.epsilon, "proved")
    found = stable_model.release(
        predictor, domain=Domain(2.0, None, 5.0), budget=budget, rng=np.random.default_rng(3), repeats=20_000
    )
    assert found.noise.ball == pytest.approx(found.theta.std() / 5, rel=0.02)
    assert found.noise.records == found.noise.margin == 0.0


# Seven deviations of what 3,000 draws say, and more.
@pytest.mark.chance(1e-9)
@pytest.mark.parametrize("budget", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_a_release_on_a_grid_says_it_too(budget):
    """Two rows of noise from the operating system, of which 3,000 coordinates are alike."""
    pytest.importorskip("opendp")
    X = np.zeros((2, 1500))
    fixed = {"domain": Domain(2.0), "budget": budget, "neighbours": "replace", "curvature": DELTA, "repeats": 2}
    found = output.publish(X, NOTHING[1], losses.logistic(), **fixed)
    assert found.noise.records == pytest.approx(found.theta.std() * DELTA / 2, rel=0.15)
    assert found.noise.margin == pytest.approx(found.theta.std() / 2, rel=0.15)


@pytest.mark.parametrize("loss", ["logistic", "huber", "smoothed_hinge"])
def test_no_records_reach_a_score_above_the_first_limit(loss):
    """All extreme data sets of one and two records on a line, and one record four times: R n zeta/Delta, never more."""
    made, R, curvature = losses.make(loss), 2.0, 0.05
    zeta = made.gradient_bound(Domain(R))
    extremes = [(x, y) for x in (-R, 0.5, R) for y in ((-1.0, 1.0) if loss != "huber" else (-1e4, 1e4))]
    pairs = itertools.combinations_with_replacement(extremes, 2)
    sets = [*pairs, *([one] * n for one in extremes for n in (1, 4))]
    best = {}
    for records in sets:
        x, y = np.array(records).T
        found = output.release(
            x[:, None], y, made, domain=Domain(R), budget=Budget(1e12), neighbours="replace", calibration="tight",
            curvature=curvature, rng=np.random.default_rng(0),
        )  # fmt: skip
        best[len(records)] = max(best.get(len(records), 0.0), R * abs(found.theta[0, 0]))
    for n, score in best.items():
        assert score <= R * n * zeta / curvature * (1 + 1e-6)
    # Huber's force does not fall: there the limit is reached.
    assert loss != "huber" or best[4] == pytest.approx(R * 4 * zeta / curvature, rel=1e-3)


@together.over(
    ("noise", "n", "words"),
    [
        (Noise(10.0), None, ""), (Noise(10.0), 10.1, ""), (Noise(10.0), 10, "as strong as 10 records"),
        (Noise(10.0), 0, "n=0"), (Noise(0.1, 0.99), None, ""), (Noise(0.1, 1.0), None, "1 times the largest margin"),
        (Noise(0.1, 3.5), 10**6, "3.5 times"), (Noise(0.0, ball=0.99), 0.5, ""),
        (Noise(0.0, ball=1.5), None, "1.5 times the largest score that a model of the declared radius gives"),
    ],
)  # fmt: skip
def test_the_criterion_as_stated(noise, n, words):
    found = vacuous.reason(noise, n)
    assert words in found and bool(found) == bool(words)


TINY = {"epsilon": 0.05}
ONCE = {"answers": "model"}
OF_COEFFICIENTS = {
    "ObjectivePerturbation": [{}, {"delta": 1e-6, "l1": 0.1}, {**BALL, "clip": True}, {"fit_intercept": True}],
    "OutputPerturbation": [{}, {"delta": 1e-6}, {"curvature": 0.5}, {"loss": "huber", "curvature": 20.0}],
    "ApproximateMinima": [{"n_public": 61}, {"n_public": 9, "loss": "huber"}],
    "NAPP": [{}, {"delta": 1e-6, "penalty": "ridge"}],
    "NoisyGradientDescent": [{}, {"loss": "huber", "steps": 7}],
    "PreconditionedGradientDescent": [{}],
    "SparseRegression": [SPARSE | TINY, {**SPARSE, **TINY, "delta": 1e-6, "fit_intercept": True}],
    "StableERM": [{**ONCE, "total": 30.0}, {**ONCE, "total": 3.0, "loss": "huber", "delta": 0.0, "clip": True}],
    "StableSGD": [ONCE, {**ONCE, "loss": "huber", "fit_intercept": True}],
}
CALLED = [
    (name, relation)
    for name in sorted(OF_COEFFICIENTS)
    for relation in ("add_remove", "replace")
    if (name, relation) != ("StableSGD", "add_remove")
]


def test_every_estimator_of_coefficients_is_held():
    """TDIL has its own warning, of more than this noise (`test_kernel_interactive`)."""
    found = {Estimator.__name__ for Estimator, _ in PUBLISHED if "    coef_" in Estimator.__doc__}
    assert found - {"TDIL"} == OF_COEFFICIENTS.keys()


def heard(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(one.message) for one in caught if one.category is VacuousWarning]


@pytest.mark.parametrize(("name", "relation"), CALLED)
def test_neighbours_warn_alike_and_where_the_criterion_says(name, relation):
    """Of D, of D', and of other records: the same words, at budgets on both sides of the limit."""
    said = []
    for given, epsilon in itertools.product(OF_COEFFICIENTS[name], (0.01, 0.05, 1.0, 30.0)):
        mode = getattr(dperm, name), {**given, "epsilon": epsilon, "neighbours": relation}
        kind = targets(mode)
        (X, y), (other, z) = neighbours(relation, kind)
        labels = {"classes": ("no", "yes")} if kind == "labels" else {}
        sets = [(X, y), (other, z), (X * 0, y), (X, np.repeat(y[:1], len(y)))]
        if relation == "add_remove":
            sets.append((X[:3], y[:3]))
        words = [heard(mode[0](**mode[1], **labels, random_state=0), *records) for records in sets]
        assert words == [words[0]] * len(words)
        said.append(len(words[0]))
    assert max(said) <= 1
    # Without a public n only noise on theta can be known to drown a model.
    silent = relation == "add_remove" and name not in ("OutputPerturbation", "ApproximateMinima", "StableERM")
    assert (sum(said) == 0) == silent and 0 in said


@together.over("neighbours", ["add_remove", "replace"])
@together.over("budget", [PURE, GAUSSIAN, Budget(0.05, 1e-4), Budget(5.0)])
@together.over("loss", ["logistic", "huber", "smoothed_hinge"])
@together.over("R", [0.3, 2.0])
def test_the_default_of_output_perturbation_leaves_a_twentieth_of_the_margin(neighbours, budget, loss, R):
    """By draws: the standard deviation of the noise in a score at the bound, over zeta R/lambda; or Delta = lambda."""
    made, domain = losses.make(loss), Domain(R)
    words = {"neighbours": neighbours, "calibration": "tight"}
    curvature = default_curvature(made, domain, budget, **words, p=P)
    noise = output.release(
        *NOTHING, made, domain=domain, budget=budget, **words, curvature=curvature, rng=np.random.default_rng(1),
        repeats=20_000,
    ).theta  # fmt: skip
    zeta, lam = made.gradient_bound(domain), made.curvature_bound(domain)
    share = R * noise.std() / (zeta * R / lam)
    assert share == pytest.approx(0.05, rel=0.02)


def test_the_default_of_output_perturbation_is_the_records_curvature_at_least_and_knows_no_records():
    assert default_curvature(
        losses.logistic(), Domain(2.0), Budget(1e3), neighbours="replace", calibration="tight", p=1
    ) == pytest.approx(1.0)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (50, P))
    for n in (1, 7, 50):
        given = {"classes": (-1, 1), "delta": 1e-6, "random_state": 0}
        y = np.sign(X[:n, 0])
        default = default_curvature(
            losses.logistic(), Domain(1.0), Budget(1.0, 1e-6), neighbours="add_remove", calibration="tight", p=P
        )
        one = dperm.OutputPerturbation(**given).fit(X[:n], y)
        two = dperm.OutputPerturbation(**given, curvature=default).fit(X[:n], y)
        np.testing.assert_array_equal(one.coef_, two.coef_)


def test_the_default_before_was_drowned_at_the_usual_budget():
    """2 lambda/epsilon at delta = 1e-6: the noise is one margin to three, whatever epsilon."""
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, P))
    for epsilon in (0.1, 1.0, 3.0):
        model = dperm.OutputPerturbation(
            epsilon=epsilon, delta=1e-6, classes=(-1, 1), curvature=0.5 / epsilon, random_state=0
        )
        with pytest.warns(VacuousWarning, match=r" [12]\.\d+ times the largest margin that the loss tells apart"):
            model.fit(X, np.sign(X[:, 0]))
