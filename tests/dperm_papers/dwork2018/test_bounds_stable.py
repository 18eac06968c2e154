"""The bounds inside the claims on stable learning, on the dimension and on generalization, written anew from the paper.

As in test_bounds_aggregation, what is measured is planted, so that a row is a constant minus the bound.
"""

import itertools
from math import ceil, exp, log, sqrt, tanh

import numpy as np
import pytest
from scipy import integrate, optimize
from scipy.special import expit
from scipy.stats import norm
from written_anew import agree, rows_of, select

from dperm_papers.dwork2018.dimension import aggregation, cube
from dperm_papers.dwork2018.dimension import experiment as dimension
from dperm_papers.dwork2018.free import experiment as free
from dperm_papers.dwork2018.generalization import experiment as generalization
from dperm_papers.dwork2018.shared import signs
from dperm_papers.dwork2018.stable import experiment as stable

# R, L_f, L_l and sigma_l; in place of what is measured.
LAWS = {"hard": (sqrt(2), 1, 1, 2), "sq": (1, 1, 2, 1), "lin": (1, 1, 1, 0)}
PLANTED = 0.375


def theory(n, epsilon):
    """Lambda of Corollary 4.11 with R = L_f = L_l = 1: 2/sqrt(n eps/(1 + eps))."""
    return 2 / sqrt(n * epsilon / (1 + epsilon))


def descent_rate(row):
    """R L_f/sqrt n (Theorem 4.12), twice that (D2), exactly 2 (n - 1)/n of it; with half the step as printed (D15)."""
    radius, x_norm, *_ = LAWS[row.dataset]
    shares = {"paper": 1, "corrected": 2, "tight": 2 * (row.n - 1) / row.n}
    return radius * x_norm / sqrt(row.n) * (1 if row.variant == "halved" else shares[row.calibration])


@pytest.fixture(scope="module")
def stably():
    """Rows of stable learning; an excess is PLANTED plus the scale of the noise, a shift is PLANTED."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signs, "worst", lambda problem, n, curvature, scale: (PLANTED + scale, 0.5))
        patch.setattr(stable, "statistical_excess", lambda *args: (PLANTED, 0.5))
        patch.setattr(stable, "noise_excess", lambda law, n, share, mean, scale: scale)
        patch.setattr(stable, "shifts", lambda law, n, positions, eta: np.full(len(positions), PLANTED))
        patch.setattr(stable, "all_shifts", lambda law, n, eta: np.array([PLANTED / 2, PLANTED]))
        patch.setattr(stable, "needed", lambda *args: 70)
        return rows_of("stable")


def theorem_49(row):
    """4 L_f^2 L_l^2/(lambda n); L_l = 1 + lambda on signs."""
    return 4 * (1 + row.curvature) ** 2 / (row.curvature * row.n)


# Claim, series, whose bound, and the bound: Theorem 4.9, Corollaries 4.10 and 4.11.
CONVEX = [
    ("D-c25", "4.9", "printed", theorem_49),
    ("D-c25", "4.9", "tight", lambda row: theorem_49(row) / 2),
    ("D-c26", "4.10", "printed", lambda row: theorem_49(row) * (1 + 1 / row.epsilon)),
    ("D-c26", "4.10", "tight", lambda row: theorem_49(row) / 2 * (1 + 1 / row.epsilon)),
    ("D-c27", "4.11", "printed", lambda row: 4 / sqrt(row.n * row.epsilon / (1 + row.epsilon))),
    ("D-c27", "4.11", "tight", lambda row: row.curvature + (1 + 1 / row.epsilon) / (row.curvature * row.n)),
]


@pytest.mark.parametrize(("claim", "series", "bound_of", "bound"), CONVEX)
def test_minimisers(stably, claim, series, bound_of, bound):
    # Noise for 4 L_f^2 L_l/(lambda n); tight half of that (D9), a quarter at Corollary 4.11's regulariser (D10).
    share = {("4.10", "paper"): 4, ("4.10", "tight"): 2, ("4.11", "paper"): 4, ("4.11", "tight"): 1}

    def noise(row):
        lipschitz = 1 + row.curvature if row.dataset == "signs" else 1
        return (
            0 if series == "4.9" else share[series, row.calibration] * lipschitz / (row.curvature * row.n * row.epsilon)
        )

    where = {"series": series, "bound_of": bound_of}
    agree(stably, bound, "bound", **where)
    agree(stably, lambda row: PLANTED + noise(row) - bound(row), **where)
    if series == "4.11":
        agree(stably, lambda row: theory(row.n, row.epsilon), "curvature", **where)


def test_descent(stably):
    """D-c30, D-c31: 2 R L/sqrt n + sigma_l R^2 L_f^2/(n eps^2), mended four times that (D2); the step's own."""

    def own(row):
        radius, x_norm, lipschitz, _ = LAWS[row.dataset]
        return (5 / 4 if row.variant == "halved" else 1) * radius * x_norm * lipschitz / sqrt(row.n)

    def printed(row):
        radius, x_norm, lipschitz, _ = LAWS[row.dataset]
        return 2 * radius * x_norm * lipschitz / sqrt(row.n)

    for bound_of, bound in (("printed", printed), ("tight", own)):
        agree(stably, lambda row, f=bound: PLANTED - f(row), series="4.12", bound_of=bound_of)

    def noise(row, times):
        radius, x_norm, _, smoothness = LAWS[row.dataset]
        return times * smoothness * (radius * x_norm) ** 2 / (row.n * row.epsilon**2)

    sides = {
        "printed": lambda row: printed(row) + noise(row, 1),
        "mended": lambda row: printed(row) + noise(row, 4),
        "tight": lambda row: own(row) + LAWS[row.dataset][3] * (descent_rate(row) / row.epsilon) ** 2,
    }
    for bound_of, bound in sides.items():
        where = {"series": "4.13", "bound_of": bound_of}
        agree(stably, lambda row, f=bound: PLANTED + descent_rate(row) / row.epsilon - f(row), **where)


def test_rates(stably):
    """D-c24, D-c29: 4 L_f^2 L_l/(lambda n) and R L_f/sqrt n; a label moves the mean by 2/n."""
    share = {("signs", "paper"): 4, ("signs", "tight"): 2, ("abs", "paper"): 4, ("abs", "tight"): 1}

    def excess(row):
        lipschitz, weight = (1 + row.curvature, row.curvature) if row.dataset == "signs" else (1, 2 * row.curvature)
        return 2 / (row.n * weight) - share[row.dataset, row.calibration] * lipschitz / (row.curvature * row.n)

    agree(stably, excess, series="stability", mechanism="stable_erm")
    agree(stably, lambda row: PLANTED - descent_rate(row), series="stability", mechanism="stable_sgd")


def test_records_of_section_21(stably):
    """D-c28: 16 (1 + eps)/(eps alpha^2) records, where Corollary 4.11's bound is alpha."""
    agree(
        stably, lambda row: 70 - 16 * (1 + row.epsilon) / (row.epsilon * row.alpha**2), series="needed", metric="excess"
    )


def test_remarks_after_corollary_413(stably):
    """D-c34, D-c35: larger over smaller, within a constant of 4; D-c68: 4.13 over 4.11, from 4.13's equal terms up."""
    times = {"paper": 1, "corrected": 4}

    def smooth(row):
        # lambda R^2 + 4/(lambda n) + sigma (4/(lambda n eps))^2 at lambda = 2/sqrt n.
        first = 4 / sqrt(row.n) + row.smoothness * 4 / (row.n * row.epsilon**2)
        second = 2 / sqrt(row.n) + times[row.calibration] * row.smoothness / (row.n * row.epsilon**2)
        return max(first / second, second / first) - 4

    def rough(row):
        first = 4 / sqrt(row.n * row.epsilon / (1 + row.epsilon))
        # R^2/(2 eta n) + eta L^2/2 + L rate/eps; mended, eta = R/(L sqrt(n (1 + 4/eps))), rate 2 eta L (D15).
        eta = 1 / sqrt(row.n * (1 + 4 / row.epsilon))
        second = {
            "paper": 2 / sqrt(row.n) + 1 / (sqrt(row.n) * row.epsilon),
            "corrected": 1 / (2 * eta * row.n) + eta / 2 + 2 * eta / row.epsilon,
        }[row.calibration]
        return max(first / second, second / first) - 4

    agree(stably, smooth, series="smooth")
    agree(stably, rough, series="rough")

    def stronger(row):
        second = 2 / sqrt(row.n) + row.smoothness / (row.n * row.epsilon**2)
        return log(second / (4 / sqrt(row.n * row.epsilon / (1 + row.epsilon))))

    for series, above in (("stronger", True), ("stronger below", False)):
        agree(stably, stronger, series=series)
        assert all(
            (2 / sqrt(row.n) >= row.smoothness / (row.n * row.epsilon**2) * (1 - 1e-12)) == above
            for row in select(stably, series=series).itertuples()
        )


def test_privacy_for_free(monkeypatch):
    """D-c32, D-c33: terms are equal at n^{-1/4} sqrt(sigma_l R L_f/(2 L_l)), mended twice that; so of parts."""
    monkeypatch.setattr(free, "excess_parts", lambda law, n, share: (share, lambda scale: scale**2))
    rows = rows_of("free")
    for calibration, times in (("paper", 1), ("corrected", 2)):

        def equal(row, times=times):
            return times * row.n**-0.25 * sqrt(row.smoothness * row.radius * row.x_norm / (2 * row.lipschitz))

        agree(rows, equal, "epsilon", series="algebra", calibration=calibration)
        agree(rows, lambda row: 0.0, series="algebra", calibration=calibration, metric="excess")
    share = {"halved": 0.5, "": 1.0}
    agree(rows, lambda row: descent_rate(row) / sqrt(share[row.variant]), series="crossing", metric="crossing")

    def ratio(row):
        return (descent_rate(row) * row.n**0.25 / row.scaled) ** 2 / share[row.variant]

    agree(rows, ratio, series="ratio", metric="ratio")


@pytest.mark.parametrize(("calibration", "times"), [("paper", 4), ("tight", 1)])
def test_noise_of_stable_minimisers_in_p_dimensions(monkeypatch, calibration, times):
    """D-c36: scale 4 L_f^2 L_l/(lambda n eps), tight a quarter (D10); n* where the excess is alpha."""
    asked, epsilon, alpha = [], 0.5, 0.1
    least = (1 + epsilon) / (epsilon * alpha**2)

    def excess(n, mu, p, *, repeats, curvature, scale, rng):
        asked.append((curvature / theory(n, epsilon), scale * curvature * n * epsilon))
        return np.full(repeats, alpha * sqrt(1.05 * least / n))

    monkeypatch.setattr(cube, "stable_excess", excess)
    found = dimension.stable_sizes(10, epsilon, alpha, calibration, batches=2, draws=3, rng=None)
    assert found == pytest.approx([1.05 * least] * 2)
    np.testing.assert_allclose(asked, np.full((len(asked), 2), [1, times]))


def test_private_models_in_p_dimensions(monkeypatch):
    """D-c37, Section 2.1: gamma noise of scale 2/eps, Gaussian of sensitivity 2; p and sqrt p/(eps alpha^2)."""
    monkeypatch.setattr(dimension, "model_size", lambda p, alpha, sigma=0.0, gamma=0.0: p + alpha + sigma - gamma)
    sizes = {"paper": 3.0, "tight": 2.0}
    monkeypatch.setattr(dimension, "stable_sizes", lambda p, epsilon, alpha, calibration, **kind: [sizes[calibration]])
    rows, delta = rows_of("dimension", "dimension", epsilons=[0.5, 1.0]), 1e-6

    def sigma(epsilon):
        def spent(s):
            return norm.cdf(1 / s - epsilon * s / 2) - exp(epsilon) * norm.cdf(-1 / s - epsilon * s / 2)

        return optimize.brentq(lambda s: spent(s) / delta - 1, 0.5, 100, xtol=1e-12)

    noise = {0.0: lambda row: -2 / row.epsilon, delta: lambda row: sigma(row.epsilon)}
    for own, add in noise.items():
        where = {"mechanism": "objective", "delta": own}
        agree(rows, lambda row, add=add: row.p + row.alpha + add(row), metric="n_star", **where)
        growth = (lambda p: p) if own == 0 else sqrt
        agree(rows, lambda row, g=growth: g(row.p) / (row.epsilon * row.alpha**2), metric="promised", **where)
    agree(rows, lambda row: sizes[row.calibration], mechanism="stable_erm", metric="n_star")
    bound = {"mechanism": "stable_erm", "metric": "promised"}
    agree(rows, lambda row: 16 * (1 + row.epsilon) / (row.epsilon * row.alpha**2), **bound)


def test_aggregation(monkeypatch):
    """D-c38: the noise of Corollary 4.11; a mean of r signs with Laplace noise of scale 2/(r eps), clipped."""
    monkeypatch.setattr(signs, "worst", lambda problem, n, curvature, scale: (scale, 0.5))
    rows, times = rows_of("dimension", "aggregation"), {"paper": 4, "tight": 1}
    agree(
        rows,
        lambda row: times[row.calibration] / (theory(row.n, row.epsilon) * row.n * row.epsilon),
        mechanism="stable_erm",
    )
    n, r, epsilon, mu = 6, 3, 0.7, 0.3
    b, mean = 2 / (r * epsilon), 0.0
    for labels in itertools.product((-1, 1), repeat=n):
        v = np.mean(np.sign(np.reshape(labels, (r, n // r)).sum(axis=1)))
        inside = integrate.quad(lambda a, v=v: a * exp(-abs(a - v) / b) / (2 * b), -1, 1, points=[v])[0]
        clipped = inside + exp(-(1 - v) / b) / 2 - exp(-(1 + v) / b) / 2
        mean += np.prod([(1 + mu * y) / 2 for y in labels]) * clipped
    assert aggregation.excess(n, r, epsilon, np.array([mu])) == pytest.approx(mu * (1 - mean))


@pytest.fixture(scope="module")
def general():
    """Rows of Section 6; drawn walks are planted: all bits are 1 with probability 1/4, all own losses are 1/2."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generalization, "walked", lambda x, *rest: (np.full(len(x) + 1, 0.25), np.full(len(x), 0.5)))
        patch.setattr(generalization, "worst_empirical", lambda *args: 0.1)
        return rows_of("generalization")


def bits(row):
    """Pr[1] in all states, and how many a record moves: Theorem 4.1's proof, Corollary 4.7, Theorem 5.3 with D4."""
    if row.mechanism in ("soft_majority", "averaged", "nonprivate"):
        r = int(row.variant.split("-")[0])
        v, b = np.arange(r + 1) / r, 1 / (r * row.epsilon)
        if row.mechanism == "averaged":
            return v + b / 2 * (np.exp(-v / b) - np.exp(-(1 - v) / b)), 1
        return expit(row.epsilon * r * (v - 0.5)) if row.mechanism == "soft_majority" else 1.0 * (v > 0.5), 1
    if row.mechanism == "member":
        return 0.5 / (exp(row.epsilon) + 1) * np.array([1, exp(row.epsilon)]), 1
    share, moves = (0.5, 2) if row.neighbours == "replace" else (1.0, 1)
    bound = ceil(log(2 / float(row.variant.split("-")[1])) / (share * row.epsilon))
    return expit(share * row.epsilon * np.arange(-bound, bound + 1)), moves


def paired(states, apart):
    """All pairs at most so many states apart."""
    return np.array([(p, q) for i, p in enumerate(states) for q in states[max(0, i - apart) : i + apart + 1]]).T


def test_group_privacy(general):
    """D-c02, Lemma 3.1: (k eps, k e^{eps (k - 1)} delta)."""
    chains = select(general, series="groups", delta=0.0)
    chains = chains[~((chains["mechanism"] == "averaged") & (chains["calibration"] == "tight"))]

    def pure(row):
        states, moves = bits(row)
        p, q = paired(states, row.k * moves)
        # The other bit's law is the mirror image, but for `member`.
        other = abs(np.log((1 - p) / (1 - q))).max() if row.mechanism == "member" else 0.0
        return max(abs(np.log(p / q)).max(), other) - row.k * row.epsilon

    for row in select(chains, epsilon=[0.1, 1.0], k=[1, 2, 6]).itertuples():
        assert row.value == pytest.approx(pure(row), abs=1e-8)

    def spent(shift, epsilon):
        return norm.cdf(shift / 2 - epsilon / shift) - exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)

    def gaussian(row):
        shift = optimize.brentq(lambda s: spent(s, row.epsilon) / row.delta - 1, 1e-3, 20, xtol=1e-14)
        return spent(row.k * shift, row.k * row.epsilon) - row.k * exp(row.epsilon * (row.k - 1)) * row.delta

    for row in select(general, series="groups", mechanism="gaussian_average").itertuples():
        assert row.value == pytest.approx(gaussian(row), rel=1e-5, abs=1e-6 * row.delta)
    # One change spends delta, at the start of the extreme chain too.
    first = select(general, series="groups", mechanism="extreme", k=1)
    assert first["value"].abs().max() < 1e-12
    # From 0, two changes: delta, then e^eps delta + delta, less e^{2 eps} 0.
    second = select(general, series="groups", mechanism="extreme", variant="from-0", k=2, delta=1e-6)
    agree(second, lambda row: (1 + exp(row.epsilon)) * 1e-6 - 2 * exp(row.epsilon) * 1e-6)


def test_membership(general):
    """D-c03, Definition 1.2: TPR - FPR <= (e^eps - 1)/(e^eps + 1) = tanh(eps/2); Laplace noise: 1 - e^{-eps/2}."""
    rows = select(general, series="membership")
    rows = rows[~((rows["mechanism"] == "averaged") & (rows["calibration"] == "tight"))]

    def advantage(row):
        if row.mechanism == "laplace":
            return 1 - exp(-row.epsilon / 2)
        p, q = paired(*bits(row))
        return abs(p - q).max()

    agree(rows, advantage, metric="advantage")
    agree(rows, lambda row: advantage(row) - tanh(row.epsilon / 2), metric="excess")


def test_means(general):
    """D-c51, Lemma 6.3: delta B is attained."""
    agree(general, lambda row: row.delta * row.bound, series="means", metric="gap")
    agree(general, lambda row: 0.0, series="means", metric="excess")


def test_moments(general):
    """D-c52, D-c53, Lemma 6.4: e^{k^2 eps} E (E_S + k delta B)^k, tight k e^{-eps} delta B."""
    for variant, share in (("printed", lambda row: 1.0), ("tight", lambda row: exp(-row.epsilon))):

        def member(row, share=share):
            a = 0.5 / (exp(row.epsilon) + 1)
            fresh = (row.bound * (a * exp(row.epsilon) + row.delta)) ** row.k
            own = (row.bound * (a + row.k * row.delta * share(row))) ** row.k
            return log(fresh) - row.k**2 * row.epsilon - log(own)

        agree(general, member, series="moments", mechanism="member", metric="excess", variant=variant)
    exact = select(general, series="moments", mechanism="exppw")
    keys = ["dataset", "epsilon", "alpha", "n", "k"]
    both = select(exact, metric="excess", variant="printed").merge(
        select(exact, metric="log_ratio"), on=keys, suffixes=("", "_ratio")
    )
    agree(both, lambda row: row.value_ratio - row.k**2 * row.epsilon)

    def drawn(row):
        # Pr[y = 1] on both halves: a loss is 3/4 if y = 1, else 1/4; n independent ones.
        one = np.mean({"thr": (0.0, 1.0), "flip": (0.2, 0.8), "coin": (0.25, 0.25)}[row.dataset])
        a1, a2, a3 = (one * 0.75**j + (1 - one) * 0.25**j for j in (1, 2, 3))
        n = row.n
        moment = {
            1: a1,
            2: (a2 + (n - 1) * a1**2) / n,
            3: (a3 + 3 * (n - 1) * a2 * a1 + (n - 1) * (n - 2) * a1**3) / n**2,
        }
        return moment[row.k] - exp(row.k**2 * row.epsilon) * 0.5**row.k

    agree(general, drawn, series="drawn", metric="excess")


def test_tails(general):
    """D-c54, Lemma 6.5: e^{2 sqrt(eps ln(1/beta))}, mended the least beta^{-1/k} e^{k eps} of integers (D13, D14)."""
    factors = {
        "printed": lambda epsilon, beta: exp(2 * sqrt(epsilon * log(1 / beta))),
        "mended": lambda epsilon, beta: min(exp(log(1 / beta) / k + k * epsilon) for k in range(1, 500)),
    }
    for variant, factor in factors.items():
        where = {"series": "tail", "variant": variant}
        agree(general, lambda row, f=factor: f(row.epsilon, row.gamma), metric="factor", **where)

        def fails(row, factor=factor):
            # E_S' is e^eps alpha, surely.
            return (exp(row.epsilon) >= factor(row.epsilon, row.gamma) * (1 + 1e-9)) - row.gamma

        agree(general, fails, mechanism="member", metric="excess", **where)
        for row in select(general, mechanism="exppw", metric="violated", **where).itertuples():
            here = {"series": "tail", "metric": "ratio", "epsilon": row.epsilon, "n": row.n, "repeat": row.repeat}
            (ratio,) = select(general, mechanism="exppw", **here)["value"]
            assert row.value == (ratio >= factor(row.epsilon, row.gamma))
    assert 0 < select(general, series="tail", metric="violated")["value"].mean() < 1
    # Where the printed bound may fail (D14).
    for row in select(general, series="tail", mechanism="member", metric="excess").itertuples():
        assert row.row == ("below" if row.gamma < exp(-row.epsilon / 4) else "above")
