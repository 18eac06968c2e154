"""Figure 8's experiment: recycling end to end by hand, its corrected form by cvxpy, and the agreement of rankings."""

import itertools
import math

import cells
import cvxpy as cp
import fake_rows
import numpy as np
import pytest

from dperm import seeds
from dperm.domain import Budget
from dperm.mechanisms.napp import noise
from dperm_papers.li2021.recycling import experiment as recycling
from dperm_papers.li2021.recycling import figures
from dperm_papers.li2021.shared import designs
from dperm_pipeline import experiments

SETTINGS = {
    "repeats": 3, "side_repeats": 2, "rounds": 3, "deltas": [1e-4, 0.0], "strengths": [18.0, 0.75], "steps": 4,
    "budget_share": 0.5, "tolerance": 1e-9, "test_rows": 400, "side_zetas": [], "side_deltas": [],
    "density_zetas": [],
}  # fmt: skip
STRENGTHS = np.geomspace(18.0, 0.75, 4)
EPSILON = 0.8


def cell(calibration, **settings):
    return cells.cell(
        "li2021-recycling",
        SETTINGS | settings,
        seed=6,
        point={"design": "linear-200", "epsilon": EPSILON},
        calibration=calibration,
    )


@pytest.fixture(scope="module")
def published():
    return experiments.run(cell("paper"))


@pytest.fixture(scope="module")
def corrected():
    return experiments.run(cell("corrected"))


def of(rows, **where):
    for name, value in where.items():
        rows = rows[np.isclose(rows[name], value) if isinstance(value, float) else rows[name] == value]
    return rows


def data():
    X, y = designs.training(6, "li2021-recycling", "linear-200", 3)
    return X, y, designs.test(6, "li2021-recycling", "linear-200", 400)


def draw(calibration, variant, delta, law, *zeta):
    names = ("napp", calibration, "add_remove", "linear-200", EPSILON, delta, variant, *zeta)
    return law.sample((3, 16), seeds.generator(6, "li2021-recycling", "noise", *names))


def minimiser(X, y, b, penalty, box=None, wall=100.0):
    """Beyond |eta| = wall the squared loss goes on linearly: (y - eta)^2/2 is Huber's function of eta, less y eta."""
    theta = cp.Variable(16)
    objective = cp.sum(cp.huber(X @ theta, wall)) / 2 - y @ X @ theta + b @ theta + penalty(theta)
    constraints = [] if box is None else [theta >= box[0], theta <= box[1]]
    options = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL, **options)
    return theta.value


def log_mse(theta, test):
    return math.log(np.mean((test[1] - test[0] @ theta) ** 2))


def berhu(theta, strength, floor):
    return cp.sum(2 * strength * cp.abs(theta) + floor * cp.square(cp.pos(cp.abs(theta) - strength / floor)))


@pytest.mark.parametrize("delta", [1e-4, 0.0])
def test_a_round_of_recycling_end_to_end(published, delta):
    """NAPP-ERM with MOOR by cvxpy: fit, Equation 13, Equations 14 and 15, fit again."""
    X, y, test = data()
    bounds, floor = noise.Bounds(1.0, 2.9, 1.0), 1 / EPSILON
    law, _, _ = noise.calibrate(
        bounds, Budget(EPSILON, delta), share=0.5, variant="erm", calibration="paper", features=16
    )
    b = draw("paper", "erm", delta, law)
    rows = of(published, row="figure", metric="log_mse", delta=delta)
    rows = rows[rows["variant"].isin(["erm-moor", "erm-moor-recycled"])]
    recycled = 0
    for r in range(3):
        for strength in map(float, STRENGTHS):
            first = minimiser(X[r], y[r], b[r], lambda t: berhu(t, strength, floor))  # noqa: B023
            assert of(rows, round=0, repeat=r, strength=strength)["value"].item() == pytest.approx(
                log_mse(first, test), abs=1e-4
            )
            least = max(strength / np.abs(first).max(), floor)
            if np.abs(first).max() < 1e-6:
                continue
            gained = 0.5 * EPSILON * (1 - floor / least)
            spent = 0.5 * EPSILON + gained
            spread = 1.0 if delta == 0 else math.sqrt((spent - math.log(delta)) / (0.5 * EPSILON - math.log(delta)))
            again = b[r] * 0.5 * EPSILON / spent * spread
            second = minimiser(X[r], y[r], again, lambda t: berhu(t, strength, least))  # noqa: B023
            assert of(rows, round=1, repeat=r, strength=strength)["value"].item() == pytest.approx(
                log_mse(second, test), abs=2e-4
            )
            recycled += gained > 0
    assert recycled


@pytest.mark.parametrize(
    ("variant", "zeta", "zeta2", "y_bound", "wall"),
    [("erm", [], 5.7, 100.0, 100.0), ("vs_plus", [], 5.7, 100.0, 100.0), ("erm", ["typical"], 1.52, 0.86, 0.66)],
)
def test_the_corrected_split_is_public_and_proved(variant, zeta, zeta2, y_bound, wall):
    """Under typical bounds y is clipped and the loss continued, so that they hold for all records."""
    X, y, test = data()
    y = np.clip(y, -y_bound, y_bound)
    bounds, floor, delta = noise.Bounds(1.0, zeta2, 1.0), 1 / EPSILON, 1e-4
    # `unit` bounds no record: it is not run.
    every = experiments.run(cell("corrected", side_zetas=[*zeta, "unit"]))
    assert set(every["zeta"]) == {"range", *zeta}
    rows = of(every, row="figure", metric="log_mse", delta=delta, zeta=[*zeta, "range"][0])
    rows = rows[rows["variant"].isin([variant, f"{variant}-recycled"])]
    assert set(rows["guarantee"]) == {"proved_exact"}
    for k, strength in ((0, 18.0), (1, 18.0), (1, 0.75)):
        modulus = max(strength, floor) if k else floor
        share = 1 - 1 / (2 * modulus * EPSILON)
        spent = share * EPSILON
        sigma = zeta2 * math.sqrt(2 * (spent - math.log(delta))) / spent
        law, extra, _ = noise.calibrate(
            bounds, Budget(EPSILON, delta), share=share, variant=variant, calibration="corrected", features=16
        )
        assert law.scale == pytest.approx(sigma)
        assert extra == pytest.approx(sigma * math.sqrt(2 / math.pi) if variant == "vs_plus" else 0.0)
        b = draw("corrected", variant, delta, law, *zeta)
        theta = minimiser(
            X[0], y[0], b[0],
            lambda t: (strength + extra) * cp.norm1(t) + modulus * cp.sum_squares(t), (0, 1), wall,  # noqa: B023
        )  # fmt: skip
        found = of(rows, round=k, repeat=0, strength=strength)["value"].item()
        assert found == pytest.approx(log_mse(theta, test), abs=1e-4)


def test_what_is_retrieved_in_the_corrected_form_depends_on_lambda_alone(corrected):
    expected = 1 - (1 / EPSILON) / np.maximum(STRENGTHS, 1 / EPSILON)
    for _, group in of(corrected, row="figure", metric="share_mean").groupby(["variant", "delta", "round"]):
        np.testing.assert_allclose(group.sort_values("strength", ascending=False)["value"], expected)
    credit = of(corrected, row="rounds", metric="credit")
    for k in (1, 2, 3):
        for _, group in of(credit, round=k).groupby(["delta", "repeat"]):
            np.testing.assert_allclose(group.sort_values("strength", ascending=False)["value"], expected)
    assert (of(corrected, metric="modulus_change", round=2)["value"] == 0).all()


def test_rounds_only_add(published):
    credit = of(published, row="rounds", metric="credit")
    assert set(credit["repeat"]) == {0, 1} and set(credit["round"]) == {0, 1, 2, 3}
    table = credit.pivot(index=["variant", "delta", "repeat", "strength"], columns="round", values="value")
    assert (table[0] == 0).all() and (table.diff(axis=1).iloc[:, 1:] >= 0).all().all() and (table[3] <= 1).all()
    assert table[1].between(0.01, 0.99).any()
    change = of(published, row="rounds", metric="modulus_change")
    change = change.pivot(index=["variant", "delta", "repeat", "strength"], columns="round", values="value")
    # The modulus of round k is Lambda0/(1 - credit).
    for k in (1, 2, 3):
        left = (1 - table[k - 1]) > 0
        np.testing.assert_allclose(change[k][left], 1 - ((1 - table[k]) / (1 - table[k - 1]))[left], atol=1e-9)
        assert (change[k][~left] == 0).all()
    informative = credit.groupby(["variant", "delta", "strength"])["informative"].agg(["min", "max"])
    some = table[1].groupby(["variant", "delta", "strength"]).max() > 0
    assert (informative["min"] == informative["max"]).all() and (informative["max"] == some).all()


def test_one_area_a_repeat_and_its_curve(published):
    areas = of(published, metric="auc")
    assert set(areas["variant"][areas["round"] == 1]) == {f"{m}-moor-recycled" for m in ("erm", "vs", "vs_plus")}
    # What is of no single method is none of the ledger's.
    assert set(published["mechanism"][published["variant"].isin(["zero", "all"])]) == {"nonprivate"}
    assert len(areas) == 3 * 2 * 2 * 3 and areas["value"].between(0, 1).all()
    for metric in ("fpr_mean", "tpr_mean", "share_mean"):
        assert of(published, metric=metric)["value"].between(0, 1).all()
    zero = of(published, metric="log_mse_zero")["value"].unique()
    _, _, test = data()
    assert zero == pytest.approx([math.log(np.mean(test[1] ** 2))])


def test_agreement_of_rankings():
    base = np.array([1.0, 2.0, 3.0])[:, None, None] + np.zeros((3, 4, 2))
    assert (recycling.agreement(base, 5 * base) == 1).all()
    assert (recycling.agreement(base, -base) == -1).all()
    tied = base.copy()
    tied[1] = tied[0]
    assert (recycling.agreement(tied, tied + 1) == 1).all()
    np.testing.assert_allclose(recycling.agreement(base, tied), np.full(4, 2 / 3))
    # A repeat that lacks a value is left out, and a batch of nothing else too.
    lost = base.copy()
    lost[0, 1, 0] = np.nan
    assert len(recycling.agreement(lost, base + 1)) == 3
    assert len(recycling.agreement(np.zeros((3, 25, 2)), np.zeros((3, 25, 2)))) == 10
    # What differs by rounding has not changed: it counts at no strength, and alone it says nothing.
    assert np.isnan(recycling.agreement(base, base * (1 + 1e-15))).all()


def test_strengths_at_which_recycling_changes_nothing_say_nothing_of_the_ranking():
    rng = np.random.default_rng(5)
    before, after = rng.standard_normal((2, 3, 400, 15))
    after[..., :10] = before[..., :10]
    # 10 batches of 5 strengths and 3 pairs: a standard error below 0.1 about 0; with all strengths it would be 2/3.
    assert abs(recycling.agreement(before, after).mean()) < 0.3
    before[0, 7, 3] = after[0, 7, 3] = np.nan
    assert abs(recycling.agreement(before, after).mean()) < 0.3
    assert np.isnan(recycling.agreement(before[..., :10], before[..., :10])).all()


@pytest.fixture(scope="module")
def rows():
    return fake_rows.recycling()


# Variants, the uppermost first, and their colours.
PUBLISHED = {"erm-moor": "#0072B2", "vs-moor": "#009E73", "vs_plus-moor": "#D55E00"}
PROVED = {"erm": "#0072B2", "vs_plus": "#D55E00"}
DRAWN = [
    (figures.fig8, "paper", 1e-4, PUBLISHED),
    pytest.param(figures.figs4, "paper", 0.0, PUBLISHED, marks=pytest.mark.slow),
    pytest.param(figures.fig8_corrected, "corrected", 1e-4, PROVED, marks=pytest.mark.slow),
    (figures.figs4_corrected, "corrected", 0.0, PROVED),
]
EVERY = (figures.fig8, figures.figs4, figures.fig8_corrected, figures.figs4_corrected)


@pytest.mark.parametrize(("draw", "calibration", "delta", "colours"), DRAWN)
def test_panels_show_their_rows(rows, draw, calibration, delta, colours):
    figure = draw(rows)
    beside = of(rows, metric="auc", delta=1e-3)  # Table 4's, which no figure shows
    assert set(beside["zeta"]) == {"range"} and beside["repeat"].max() < rows["repeat"].max()
    # Two epsilons; the ROC curve and the error, each under two bounds, and as published at delta = 0 by density.
    density = (calibration, delta) == ("paper", 0.0)
    titles = [axis.get_title() for axis in figure.axes[::2]]
    assert ["ζ₂ = 1.52" in title for title in titles] == [False, True, False, True] + [False] * 2 * density
    assert ["by density" in title for title in titles] == [False] * 4 + [True] * 2 * density
    places = [(0, 4, "range"), (2, 6, "typical"), *([(8, 10, "typical-density")] if density else [])]
    for (above, below, zeta), (column, epsilon) in itertools.product(places, enumerate((0.4, 1.0))):
        own = of(rows, row="figure", calibration=calibration, delta=delta, zeta=zeta)
        roc, error = figure.axes[above + column], figure.axes[below + column]
        areas = {text.get_color(): text.get_text() for text in roc.texts}
        for variant, colour in colours.items():
            here = of(own, epsilon=epsilon)
            here = here[here["variant"].isin([variant, f"{variant}-recycled"])]
            means = [of(here, metric="auc", round=k)["value"].mean() for k in (0, 1)]
            assert areas[colour] == f"{means[0]:.2f} → {means[1]:.2f}"
            curves = [line for line in roc.lines if line.get_color() == colour]
            errors = [line for line in error.lines if line.get_color() == colour]
            assert [line.get_linestyle() for line in curves] == [line.get_linestyle() for line in errors] == ["--", "-"]
            for k in (0, 1):
                at = of(here, round=k).sort_values("strength", ascending=False)
                for axis, metric in ((curves[k].get_xdata(), "fpr_mean"), (curves[k].get_ydata(), "tpr_mean")):
                    np.testing.assert_allclose(axis, [0, *of(at, metric=metric)["value"], 1])
                drawn = errors[k].get_ydata()[np.argsort(-errors[k].get_xdata())]
                np.testing.assert_allclose(np.log(drawn), of(at, metric="log_mse_mean")["value"])
        level = of(own, metric="log_mse_zero", epsilon=epsilon)["value"].item()
        assert any(np.allclose(line.get_ydata(), np.exp(level)) for line in error.lines)


def test_the_caption_says_what_is_proved_and_the_noise(rows):
    words = [" ".join(text.get_text() for text in draw(rows).texts).replace("\n", " ") for draw in EVERY]
    assert all("as published" in text and "Nothing is proved" in text for text in words[:2])
    assert all("What is proved" in text for text in words[2:])
    assert "10⁻⁴" in words[0] and "pure noise" in words[1]
    assert all("4 repeats" in text for text in words)
