"""Theorem 4's experiment: its integrals against Algorithm 1, other quadrature and literal formulas; its tails too."""

import math

import cells
import fake_rows
import numpy as np
import pytest
import together
from chosen_rows import number, of
from scipy import special, stats

from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.feasible import Region
from dperm.mechanisms import objective
from dperm.noise import Gaussian, SphericalLaplace
from dperm_papers.kifer2012.theorem4 import experiment as theorem4
from dperm_papers.kifer2012.theorem4 import isotropic, noise_lengths
from dperm_pipeline import experiments

DELTA = 1e-6


@pytest.fixture(scope="module")
def rows():
    return fake_rows.theorem4(features=(8, 128))


# -- the integral ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [Gaussian(2.0), SphericalLaplace(1.2)])
@pytest.mark.parametrize(("eigenvalue", "curvature"), [(3.0, 1.5), (0.7, 2.5)])
def test_the_mean_distance_is_the_integral_over_all_of_space(law, eigenvalue, curvature):
    """Midpoints of a fine grid of spherical coordinates, three dimensions, the projection done on the vector itself."""
    p, centre, radius = 3, np.array([0.0, 0.9]), 1.3
    B = (np.arange(2000) + 0.5) * 0.024
    phi = (np.arange(800) + 0.5) * math.pi / 800
    b = B[:, None, None] * np.stack([np.sin(phi), np.cos(phi)], axis=-1)
    v = (eigenvalue * centre - b) / (eigenvalue + curvature)
    v *= np.minimum(1.0, radius / np.linalg.norm(v, axis=-1, keepdims=True))
    if isinstance(law, Gaussian):
        density = stats.chi.pdf(B, p, scale=law.scale)
    else:
        density = stats.gamma.pdf(B, p, scale=law.scale)
    distance = ((v - centre) ** 2).sum(axis=-1) @ np.sin(phi) / 2 * math.pi / 800
    expected = density @ distance * 0.024
    mean, gain = isotropic.mean_distance(law, p, eigenvalue=eigenvalue, curvature=curvature, length=0.9, radius=radius)
    assert mean == pytest.approx(expected, rel=1e-5)
    free = (curvature * 0.9) ** 2 + p * law.scale**2 * (1 if isinstance(law, Gaussian) else p + 1)
    assert mean + gain == pytest.approx(free / (eigenvalue + curvature) ** 2, rel=1e-12)
    assert gain > 0.02 * mean


@pytest.mark.parametrize(("p", "delta"), [(2, 0.0), (8, 0.0), (8, DELTA), (24, DELTA)])
def test_the_mean_distance_is_that_of_algorithm_1(p, delta):
    """With a small Gram matrix, so that the ball binds in many of the releases."""
    eigenvalue, curvature, theta_hat = 8.0 * p, 8.0 * p, np.full(p, 0.5)
    common = {
        "domain": Domain(x_norm=math.sqrt(p), y_bound=float(p)), "budget": Budget(1.0, delta),
        "neighbours": "add_remove", "calibration": "paper", "curvature": curvature,
    }  # fmt: skip
    released = objective.release_gram(
        eigenvalue * np.eye(p), eigenvalue * theta_hat, region=Region(radius=math.sqrt(p)), repeats=20_000,
        rng=np.random.default_rng(p), **common,
    )  # fmt: skip
    squares = ((released.theta - theta_hat) ** 2).sum(axis=1)
    zeta = 2 * p**1.5
    law = Gaussian(zeta * math.sqrt(8 * math.log(2 / DELTA) + 4)) if delta else SphericalLaplace(2 * zeta)
    mean, gain = isotropic.mean_distance(
        law, p, eigenvalue=eigenvalue, curvature=curvature, length=math.sqrt(p) / 2, radius=math.sqrt(p)
    )
    assert abs(squares.mean() - mean) < 4.5 * squares.std() / math.sqrt(len(squares))
    assert gain > 0.02 * mean


def test_the_mean_distance_where_nothing_is_projected_is_the_closed_form():
    found = isotropic.mean_distance(Gaussian(1e-3), 5, eigenvalue=2.0, curvature=1.0, length=0.5, radius=1.0)
    assert found == (pytest.approx((0.25 + 5e-6) / 9, rel=1e-14), 0.0)


def test_quantiles_of_the_length_are_chi_s_and_gamma_s():
    shares = np.array([0.001, 0.3, 0.99])
    assert isotropic.length_quantile(Gaussian(3.0), 7, shares) == pytest.approx(3 * stats.chi.ppf(shares, 7))
    assert isotropic.length_quantile(SphericalLaplace(3.0), 7, shares, upper=True) == pytest.approx(
        3 * stats.gamma.isf(shares, 7)
    )


# -- the tails -------------------------------------------------------------------------------------------------------


@together.over("x_over_a", [0.3, 1.0, 1.001, 1.2, 3.0, 40.0])
@together.over("twice", [1, 2, 3, 9, 40, 1001, 20_000])
def test_log_tails_of_gamma_laws_are_finite_sums(twice, x_over_a):
    """Q(k, x) is a Poisson sum, and Q(k + 1/2, x) erfc and a like sum: added up as logarithms, term by term."""
    a = twice / 2
    x = a * x_over_a
    j = np.arange(twice % 2, twice, 2) / 2 if twice % 2 == 0 else np.arange(1, twice, 2) / 2
    terms = list(j * math.log(x) - x - special.gammaln(j + 1))
    if twice % 2:
        terms.append(math.log(special.erfcx(math.sqrt(x))) - x)
    expected = special.logsumexp(terms)
    assert noise_lengths.log_upper_gamma(a, x) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_tails_are_those_of_scipy_s_laws_and_bounds_as_printed():
    found = {(t.row, t.p, t.gamma, t.at): t for t in noise_lengths.tails([1, 8], [0.1, 0.9])}
    t = found["lemma-17", 1, 0.0, 3.0]
    assert (t.log_tail, t.log_bound) == (pytest.approx(math.log(2 * stats.norm.sf(3.0))), -4.5)
    t = found["lemma-28", 8, 0.0, 1.5]
    assert t.log_tail == pytest.approx(stats.chi.logsf(math.sqrt(12.0), 8))
    assert t.log_bound == pytest.approx(-4 * (0.5 - math.log(1.5)))
    t = found["lemma-27", 8, 0.1, 0.0]
    assert math.exp(t.log_tail) == pytest.approx(stats.gamma.sf(8 * math.log(80), 8))
    assert t.log_bound == pytest.approx(math.log(0.1))
    t = found["d12-printed", 8, 0.9, 0.0]
    assert math.exp(t.log_tail) == pytest.approx(stats.chi2.sf(16 * math.log(1 / 0.9), 8)) and t.log_tail > t.log_bound
    t = found["d12-mended", 8, 0.9, 0.0]
    assert math.exp(t.log_tail) == pytest.approx(stats.chi2.sf(16 + 4 * math.log(1 / 0.9), 8))
    # One dimension: the gamma law is exponential, and Lemma 27 an equality.
    t = found["lemma-27", 1, 0.9, 0.0]
    assert t.log_tail == pytest.approx(t.log_bound, abs=1e-14)


def test_d12_fails_where_erratum_k12_says(rows):
    """Only where log(1/gamma) < p/(p - 2), and never as mended."""
    printed = of(rows, row="d12-printed", metric="excess", calibration="paper")
    wrong = printed[printed["value"] > 0]
    assert set(wrong["gamma"]) == {0.9} and set(wrong["p"]) == {64}
    assert (of(rows, row="d12-mended", metric="excess")["value"] < 0).all()


# -- the rows --------------------------------------------------------------------------------------------------------


def literal(p, noise, row, design, n):
    """Mean risk without the projection, from the paper's formulas; epsilon 1, printed constants."""
    zeta, T, L = 2 * p**1.5, math.sqrt(p) / 2, math.log(1 / DELTA)
    spread = p * math.log(p) if noise == "gamma" else math.sqrt(p * L)
    Delta = zeta * spread / T if row == "theorem-4" else 2.0 * p
    c = Delta if design == "extremal" else n
    square = p * (p + 1) * (2 * zeta) ** 2 if noise == "gamma" else p * zeta**2 * (8 * math.log(2 / DELTA) + 4)
    bound = 2 * square / (n * Delta) + Delta * T**2 / (2 * n)
    return 0.5 * c * ((Delta * T) ** 2 + square) / (c + Delta) ** 2 / n, bound


@pytest.mark.parametrize("noise", ["gamma", "gaussian"])
@pytest.mark.parametrize(
    ("row", "design"), [("theorem-4", "extremal"), ("theorem-4", "hadamard"), ("theorem-5", "hadamard")]
)
def test_risks_and_bounds_are_the_literal_ones(rows, row, design, noise):
    """At p = 128 the ball takes off next to nothing."""
    here = {"calibration": "paper", "row": row, "dataset": design, "variant": noise, "p": 128}
    for n, sizing in ((10**6, "fixed"), (100 * 128**2, "100 p^2")):
        risk, bound = literal(128, noise, row, design, n)
        assert number(rows, metric="excess_risk", n=n, sizing=sizing, **here) == pytest.approx(risk, rel=1e-6)
        assert number(rows, metric="bound", n=n, sizing=sizing, **here) == pytest.approx(bound, rel=1e-12)


def test_risks_are_those_of_the_experiment_of_table_1(rows):
    for repeated in (
        fake_rows.table1(features=(8,), calibrations=(name,), repeats=2000) for name in ("paper", "tight")
    ):
        name = repeated["calibration"].iloc[0]
        for row, noise in (("theorem-4.1", "gamma"), ("theorem-4.2", "gaussian")):
            for design in ("extremal", "hadamard"):
                runs = of(repeated, metric="excess_risk", row=row, dataset=design, n=10**6)["value"]
                exact = number(
                    rows, metric="excess_risk", row="theorem-4", variant=noise, dataset=design, n=10**6, p=8,
                    calibration=name,
                )  # fmt: skip
                assert abs(runs.mean() - exact) < 4.5 * runs.std() / math.sqrt(len(runs))


def test_ratios_are_quotients_of_the_risks(rows):
    here = {"calibration": "paper", "p": 128, "sizing": "100 p^2"}
    risk = {
        (row, design, noise): number(rows, metric="excess_risk", row=row, dataset=design, variant=noise, **here)
        for row, design in (("theorem-4", "extremal"), ("theorem-5", "hadamard"))
        for noise in ("gamma", "gaussian")
    }
    for row, design in (("theorem-4", "extremal"), ("theorem-5", "hadamard")):
        expected = risk[row, design, "gamma"] / risk[row, design, "gaussian"]
        assert number(rows, metric="risk_ratio", row=row, dataset=design, **here) == pytest.approx(expected)
    # The noise's part of Theorem 5's risk: E B^2 alone, 4 p (p + 1) against p (8 log(2/delta) + 4).
    expected = 4 * 129 / (8 * math.log(2 / DELTA) + 4)
    assert number(rows, metric="noise_ratio", row="theorem-5", dataset="hadamard", **here) == pytest.approx(expected)
    for noise in ("gamma", "gaussian"):
        expected = risk["theorem-4", "extremal", noise] / risk["theorem-5", "hadamard", "gaussian"]
        assert number(rows, metric="over_nice", row="theorem-4", variant=noise, **here) == pytest.approx(expected)


def test_stage_two_spends_half_of_epsilon(rows):
    """From Lemma 3's parts: theorem-4's Delta doubles, theorem-5's too, beta is that of epsilon = 1/2."""
    p, e = 128, 0.5
    zeta, T, n = 2 * p**1.5, math.sqrt(p) / 2, 100 * p * p
    square = p * zeta**2 * (8 * math.log(2 / DELTA) + 4 * e) / e**2
    wide, narrow = zeta * math.sqrt(p * math.log(1 / DELTA)) / (e * T), 2 * p / e
    extremal = 0.5 * wide * ((wide * T) ** 2 + square) / (2 * wide) ** 2
    hadamard = 0.5 * n * ((narrow * T) ** 2 + square) / (n + narrow) ** 2
    found = number(rows, metric="over_nice", row="stage-two", p=128, calibration="paper")
    assert found == pytest.approx(extremal / hadamard, rel=1e-6)
    assert set(of(rows, row="stage-two")["epsilon"]) == {0.5}


def test_the_crossover_is_the_first_p_of_a_scan(rows):
    """Every p from 8 on by the literal formula, which the ball changes by less than a percent there."""
    ratios = [
        literal(p, "gamma", "theorem-4", "extremal", 1)[0] / literal(p, "gaussian", "theorem-4", "extremal", 1)[0]
        for p in range(8, 200)
    ]
    first = 8 + int(np.argmax(np.array(ratios) > 1))
    assert all(np.diff(ratios) > 0) and number(rows, metric="crossover", calibration="paper") == first == 53


def test_a_loose_bound_costs_what_lemma_3_says(rows):
    p, n, L = 128, 100 * 128**2, math.log(1 / DELTA)
    for loose in (1.0, 8.0):
        R = loose * math.sqrt(p) / 2
        factor = 2 * (8 * math.log(2 / DELTA) + 4) / L + 0.5
        bound = 2 * p**1.5 * R * math.sqrt(p * L) / n * factor
        here = {"row": "loose", "p": p, "looseness": loose, "calibration": "paper"}
        risk = number(rows, metric="excess_risk", **here)
        assert number(rows, metric="excess", **here) == pytest.approx(risk / bound - 1)
    # With R = T it is the risk of Theorem 4.
    same = number(
        rows, metric="excess_risk", row="theorem-4", variant="gaussian", dataset="extremal", p=p, sizing="100 p^2",
        calibration="paper",
    )  # fmt: skip
    assert number(rows, metric="excess_risk", **{**here, "looseness": 1.0}) == same


def test_distortions_are_those_of_drawn_noise(rows):
    """Lengths of both noises in theta, drawn: of scales 2 zeta/(epsilon (c + Delta)) and zeta/(epsilon Delta)."""
    rng, p, zeta, c = np.random.default_rng(5), 8, 2 * 8**1.5, 6400.0
    for multiple, sign in ((0.5, -1), (2.0, 1), (8.0, 1)):
        Delta = c / multiple
        objective_noise = rng.gamma(p, 2 * zeta, 200_000) / (c + Delta)
        output_noise = rng.gamma(p, zeta / Delta, 200_000)
        expected = objective_noise.mean() / output_noise.mean()
        here = {"row": "distort", "p": p, "gram_multiple": multiple, "calibration": "paper"}
        assert number(rows, metric="noise_ratio", **here) == pytest.approx(expected, rel=0.01)
        ratio = number(rows, metric="noise_ratio", **here)
        assert number(rows, metric="excess", **here) == pytest.approx(sign * (ratio - 1)) and sign * (ratio - 1) < 0


def test_lengths_and_their_bounds_are_in_units_of_zeta_over_epsilon(rows):
    beta = math.sqrt(8 * math.log(2 / DELTA) + 4)
    here = {"calibration": "paper", "p": 8}
    assert number(rows, metric="noise_length", variant="gaussian", quantile=0.5, **here) == pytest.approx(
        beta * stats.chi.median(8)
    )
    assert number(rows, metric="noise_length", variant="gamma", quantile=0.99, **here) == pytest.approx(
        2 * stats.gamma.ppf(0.99, 8)
    )
    bounds = {
        "lemma-27": 16 * math.log(80), "d12-printed": beta * math.sqrt(16 * math.log(10)),
        "d12-mended": beta * math.sqrt(16 + 4 * math.log(10)),
    }  # fmt: skip
    for row, bound in bounds.items():
        assert number(rows, metric="length_bound", row=row, gamma=0.1, **here) == pytest.approx(bound)


def test_runs_are_pairs_of_algorithm_1_with_the_exact_mean(rows):
    many = fake_rows.theorem4(features=(8,), repeats=3000, calibrations=("paper",))
    for noise in ("gamma", "gaussian"):
        runs = of(many, metric="run_risk", variant=noise)
        assert list(runs["repeat"]) == list(range(3000)) and set(runs["p"]) == {16} and (runs["status"] == "ok").all()
        exact, _ = literal(16, noise, "theorem-4", "extremal", 100 * 16**2)
        # The ball takes off less than a per mille here.
        error = runs["value"].std() / math.sqrt(3000)
        assert abs(runs["value"].mean() - exact) < 4.5 * error + 1e-3 * exact
    few = of(rows, metric="run_risk", variant="gamma", calibration="paper")["value"]
    again = of(fake_rows.theorem4(features=(16,), calibrations=("paper",)), metric="run_risk", variant="gamma")["value"]
    np.testing.assert_array_equal(few, again)


def cell(**settings):
    settings = {
        "repeats": 1, "epsilon": 1.0, "delta": DELTA, "features": [8], "run_features": [8], "wide_features": [2],
        "sizes": [10**6], "gammas": [0.1], "looseness": [1.0], "gram_multiples": [2.0], **settings,
    }  # fmt: skip
    return cells.cell("kifer2012-theorem4", settings, point={"design": "isotropic"})


def test_what_cannot_be_run_is_refused():
    with pytest.raises(ConfigError, match=r"gram_multiples: 500 makes Delta=12\.8 at p=8, below 2 lambda/epsilon"):
        experiments.run(cell(gram_multiples=[500.0]))
    with pytest.raises(ConfigError, match=r"design='rad': the mean risk is exact on 'isotropic' designs alone"):
        experiments.run({**cell(), "point": {"design": "rad"}})
    problem = theorem4.Problem(8, 1.0, DELTA, "paper", "add_remove")
    with pytest.raises(ConfigError, match=r"n=100 is below Delta=532.* at p=8"):
        theorem4.mean_risk(problem, "theorem-4", "gamma", "extremal", 100)
    # Sizes with fewer rows than the design needs are left out, not made up.
    assert set(of(experiments.run(cell(sizes=[100, 10**6])), sizing="fixed")["n"]) == {10**6}
