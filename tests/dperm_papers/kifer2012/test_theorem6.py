"""Exp-mech's experiment: its exact laws against enumeration, and the tiny domain against a literal transcription."""

import itertools
import math

import cells
import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from scipy.optimize import lsq_linear

from dperm import seeds
from dperm.errors import ConfigError
from dperm_papers.kifer2012.shared import designs
from dperm_papers.kifer2012.theorem6 import experiment as theorem6
from dperm_papers.kifer2012.theorem6 import tiny_domain
from dperm_pipeline import experiments

EPSILON = 1.0
# w by hand: epsilon/(2 alpha) with alpha = 4 s^2, and epsilon/(2 s^2 (1 + 4e-6)).
WEIGHTS = {"paper": lambda s: EPSILON / (8 * s * s), "tight": lambda s: EPSILON / (2 * s * s * (1 + 4e-6))}


def cell(design, calibration="paper", **settings):
    given = {
        "repeats": 2, "epsilon": EPSILON, "features": [6], "supports": [2], "sizes": [20, 60], "gammas": [0.1, 0.5],
        "wide_features": [1000], "wide_supports": [2], "wide_sizes": [10**6], **settings,
    }  # fmt: skip
    return cells.cell("kifer2012-theorem6", given, seed=3, point={"design": design}, calibration=calibration)


def scores(X, y, size):
    """q of every support by a bounded least-squares solver of another make."""
    return {
        features: lsq_linear(X[:, list(features)], y, bounds=(-1, 1), tol=1e-13).cost
        for features in itertools.combinations(range(X.shape[1]), size)
    }


def softmax(values, weight):
    law = np.exp(-weight * (values - values.min()))
    return law / law.sum()


@pytest.mark.parametrize("calibration", WEIGHTS)
def test_random_signs_by_enumeration(calibration):
    rows = experiments.run(cell("rademacher", calibration))
    X, y, _ = designs.rademacher(
        60, 6, 2, seeds.generator(3, "kifer2012-theorem6", "rademacher", 6, 2, 1, "data")
    )  # fmt: skip
    for n in (20, 60):
        found = scores(X[:n], y[:n], 2)
        q, weight = np.array(list(found.values())), WEIGHTS[calibration](2)
        law, excess = softmax(q, weight), (q - q.min()) / n
        here = of(rows, n=n, repeat=1, dataset="rademacher")
        (right,) = of(here, metric="right")["value"]
        assert right == pytest.approx(law[list(found).index((0, 1))], rel=1e-6)
        (mean,) = of(here, metric="excess_risk")["value"]
        assert mean == pytest.approx(law @ excess, rel=1e-6)
        for gamma in (0.1, 0.5):
            bound = 2 * math.log(6 / gamma) / (weight * n)
            (stated,) = of(here, metric="bound", gamma=gamma)["value"]
            assert stated == pytest.approx(bound, rel=1e-9)
            (exceeded,) = of(here, metric="exceeded", gamma=gamma)["value"]
            assert exceeded == pytest.approx(law[excess > bound].sum(), rel=1e-6, abs=1e-15)
            (claim,) = of(here, metric="excess", row="theorem-34", gamma=gamma)["value"]
            assert claim == exceeded - gamma
    stable = of(rows, row="abstract", variant="stable", repeat=1)["value"]
    whole, part = (np.array(list(scores(X[k:], y[k:], 2).values())) for k in (0, 1))
    spent = np.abs(np.log(softmax(whole, weight)) - np.log(softmax(part, weight))).max()
    assert stable.iloc[0] == pytest.approx(spent - EPSILON, abs=1e-6)
    accurate = of(rows, row="abstract", variant="accurate", repeat=1)["value"].iloc[0]
    assert accurate == pytest.approx(0.95 - of(rows, metric="right", n=60, repeat=1)["value"].iloc[0], abs=1e-9)


@pytest.mark.parametrize(("p", "size", "calibration"), [(6, 2, "paper"), (5, 3, "tight"), (7, 1, "paper")])
def test_planted_by_enumeration(p, size, calibration):
    """The records are really there; the law over all supports is theirs."""
    m = theorem6.planted_rows(p, size, EPSILON)
    assert m == round(16 * size**2 / EPSILON * math.log(p / size))
    n = size * m + 7
    X, y = np.zeros((n, p)), np.zeros(n)
    X[np.arange(size * m), np.repeat(np.arange(size), m)] = y[: size * m] = 1.0
    rows = experiments.run(
        cell("planted", calibration, features=[p], supports=[size], sizes=[n], wide_features=[], gammas=[0.3])
    )
    q = np.array(list(scores(X, y, size).values()))
    weight = WEIGHTS[calibration](size)
    law, excess = softmax(q, weight), (q - q.min()) / n
    here = of(rows, dataset="planted", n=n)
    assert of(here, metric="excess_risk")["value"].iloc[0] == pytest.approx(law @ excess, rel=1e-9)
    over = of(here, metric="over_log")
    assert over["value"].iloc[0] == pytest.approx(law @ excess / math.log(p / size), rel=1e-9)
    assert over["log_p_over_s"].iloc[0] == pytest.approx(math.log(p / size), rel=1e-12)
    assert of(here, metric="right")["value"].iloc[0] == pytest.approx(law[excess < 1e-9].sum(), rel=1e-9)
    quantile = of(here, metric="quantile", gamma=0.3)["value"].iloc[0]
    assert law[excess > quantile + 1e-9].sum() <= 0.3 < law[excess > quantile - 1e-9].sum()


def test_planted_attains_theorem_6_far_beyond_enumeration():
    """C(s, t) C(p - s, t) (s/p)^t by exact integers, at p = 10^6: a constant share of the s columns is missed."""
    p, s = 10**6, 8
    terms = [math.comb(s, t) * math.comb(p - s, t) * s**t * p ** (s - t) for t in range(s + 1)]
    expected = [term / sum(terms) for term in terms]
    np.testing.assert_allclose(np.exp(theorem6.missed_law(p, s, math.log(p / s))), expected, rtol=1e-8)
    assert sum(t * share for t, share in enumerate(expected)) == pytest.approx(0.61 * s, rel=0.02)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_last_record_of_the_near_tie_decides(size):
    X, y = theorem6.near_tie(6, size)
    assert np.linalg.norm(X, axis=1).max() <= 1 and np.abs(y).max() <= 1
    for cut, expected in ((len(y), tuple(range(size))), (len(y) - 1, (*range(size - 1), size))):
        found = scores(X[:cut], y[:cut], size)
        ordered = sorted(found, key=found.get)
        assert ordered[0] == expected
        assert found[ordered[1]] - found[ordered[0]] == pytest.approx(0.25, abs=1e-6)


def test_without_a_flip_the_claim_fails(monkeypatch):
    """The check can fail: where the one record decides nothing, the row says so."""
    X, y = theorem6.near_tie(6, 2)
    monkeypatch.setattr(theorem6, "near_tie", lambda p, size: (np.vstack([X[-1:]] * 5 + [X]), np.append(np.ones(5), y)))
    rows = experiments.run(cell("planted", wide_features=[]))
    assert of(rows, row="abstract", variant="flips")["value"].iloc[0] == 1.0


def literal_changes(p, weight):
    """s = 1, all pairs without any symmetry: D of 0, 1 or 2 records of {-1, 0, 1}^p x {-1, 0, 1}, D' one more."""
    records = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=p + 1)))
    datasets = [[], *([r] for r in records), *itertools.combinations_with_replacement(records, 2)]

    def q(data):
        data = np.array(data).reshape(-1, p + 1)
        X, y = data[:, :p], data[:, p]
        squares = np.einsum("ij,ij->j", X, X)
        theta = np.clip(np.divide(y @ X, squares, out=np.zeros(p), where=squares > 0), -1, 1)
        return 0.5 * ((y[:, None] - X * theta) ** 2).sum(axis=0)

    rise = fall = spent = 0.0
    for data in datasets:
        before = q(data)
        for record in records:
            after = q([*data, record])
            rise, fall = max(rise, (after - before).max()), max(fall, (before - after).max())
            ratio = np.log(softmax(after, weight)) - np.log(softmax(before, weight))
            spent = max(spent, np.abs(ratio).max())
    return rise, fall, spent


@pytest.mark.parametrize("p", [1, 2])
def test_the_tiny_domain_is_that_of_all_pairs(p):
    rise, fall, spent = literal_changes(p, 0.7)
    found = tiny_domain.changes(p, 1, (0.7,))
    assert (found.rise, found.fall) == (pytest.approx(rise, abs=1e-12), pytest.approx(fall, abs=1e-12))
    assert found.spent == pytest.approx((spent,), abs=1e-12) and found.gap < 1e-10


def test_tiny_scores_of_two_features():
    """A sample of triples, by a solver of another make; and 4/3 s^2 by hand, for (x, s) twice and then (x, -s)."""
    p, size = 3, 2
    domain = tiny_domain.records(p, size)
    assert len(domain) == (3 ** (p + 1) + 1) // 2 and not domain[0].any()
    assert {tuple(sign * r) for r in domain for sign in (1, -1)} == {
        (*x, y) for x in itertools.product((-1.0, 0.0, 1.0), repeat=p) for y in (-2.0, 0.0, 2.0)
    }
    rng, worst = np.random.default_rng(0), 0.0
    for triple in rng.integers(len(domain), size=(60, 3)):
        X, y = domain[triple, :p], domain[triple, p]
        before, after = (np.array(list(scores(X[:k], y[:k], size).values())) for k in (2, 3))
        worst = max(worst, np.abs(np.log(softmax(after, 1 / 8)) - np.log(softmax(before, 1 / 8))).max())
        assert (after - before).max() <= 16 / 3 + 1e-6
    found = tiny_domain.changes(p, size, (1 / 8,))
    assert found.rise == pytest.approx(16 / 3, abs=1e-9)
    assert 0.2 < worst <= found.spent[0] + 1e-6


def test_verdicts_on_the_tiny_domain(monkeypatch):
    """Algorithm 4's weights keep epsilon, Section 3.2's do not (erratum K4)."""
    monkeypatch.setattr(theorem6, "TINY_FEATURES", (2, 3))
    printed, tight = (experiments.run(cell("tiny-domain", name)) for name in ("paper", "tight"))
    for rows in (printed, tight):
        assert (of(rows, metric="excess", row="lemma-33")["value"] <= 1e-9).all()
        assert (of(rows, metric="excess", row="theorem-32")["value"] <= 0).all()
    assert of(printed, row="section-3.2", metric="excess", p=3)["value"].max() > 60
    change = of(printed, row="lemma-33", metric="excess", variant="rise", s=2)["value"]
    np.testing.assert_allclose(change, 16 / 3 - 16, atol=1e-9)


def test_both_weights_meet_the_same_data_and_fewer_records_are_the_first_of_more():
    few, many = (experiments.run(cell("rademacher", sizes=sizes)) for sizes in ([60], [20, 60]))
    assert of(few, metric="right")["value"].tolist() == of(many, metric="right", n=60)["value"].tolist()


@pytest.mark.parametrize(
    ("design", "settings", "message"),
    [
        ("emx", {}, "unknown design 'emx'; known: planted, rademacher, tiny-domain"),
        ("planted", {"wide_sizes": [100]}, "wide_sizes: n=100 is below the 796 rows needed at p=1000, s=2; raise it"),
    ],
)
def test_what_is_impossible_is_refused(design, settings, message):
    with pytest.raises(ConfigError, match=message):
        experiments.run(cell(design, **settings))
    with pytest.raises(ValueError, match="size=3"):
        tiny_domain.changes(4, 3, ())


def test_the_rows_are_tidy(tmp_path):
    rows = experiments.run(cell("planted"))
    assert set(rows["mechanism"]) == {"exp_mech"} and (rows["status"] == "ok").all()
    fake_rows.write(rows, tmp_path / "rows.parquet")
