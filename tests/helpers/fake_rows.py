"""Rows for the showing wing's tests: made up in realistic shapes, or by an experiment that takes no time."""

import functools
import itertools

import cells
import fake_dwork2018
import fake_jain2013
import numpy as np

from dperm_pipeline import tables
from dperm_pipeline.rows import Rows

# (mechanism, calibration) -> whether it stands at delta = 0, and above.
METHODS = {
    ("objective", "tight"): (True, True),
    ("objective", "paper"): (True, True),
    ("output", "tight"): (True, True),
    ("cms11", "paper"): (True, False),
    ("approximate_minima", "paper"): (False, True),
    ("gradient", "tight"): (False, True),
}
# Non-private risk and test loss, and how hard the set is; diabetes is a regression: it has no test error.
SETS = {"adult": (0.33, 0.02), "breast-cancer": (0.12, 2.0), "diabetes": (0.04, 0.6), "digits": (0.06, 1.5)}
METRICS = ("excess_risk", "test_loss", "test_error")


def rows(
    *,
    seed=1,
    datasets=tuple(SETS),
    epsilons=(0.1, 0.3, 1.0, 3.0),
    deltas=(0.0, 1e-6),
    multiples=(2.0, 20.0, 200.0),
    repeats=30,
    worse=4.0,
):
    """Rows in which output perturbation's excess risk is about `worse` times that of objective perturbation."""
    rng = np.random.default_rng(seed)
    made = Rows(paper="kifer2012", experiment="kifer2012-output", variant="", neighbours="add_remove")
    for dataset in datasets:
        level, hard = SETS[dataset]
        base = {"mechanism": "nonprivate", "calibration": "", "guarantee": "none", "dataset": dataset, "delta": 0.0}
        base |= {"epsilon": np.inf, "candidate": "", "ridge_multiple": 0.0, "steps": 0, "clip": 0.0, "chosen": True}
        for metric in ("risk", "test_loss", *(() if dataset == "diabetes" else ("test_error",))):
            made.add(metric, level * (1.1 if metric == "test_loss" else 1), **base)
        for (mechanism, calibration), epsilon, delta in itertools.product(METHODS, epsilons, deltas):
            if not METHODS[mechanism, calibration][delta > 0]:
                continue
            factor = worse if mechanism == "output" else 1.6 if calibration == "paper" else 1.0
            noise = hard * factor / epsilon * (1 if delta == 0 else 0.35)
            for multiple in multiples:
                here = {"mechanism": mechanism, "calibration": calibration, "guarantee": "proved_exact"}
                here |= {"dataset": dataset, "epsilon": epsilon, "delta": delta, **setting(mechanism, multiple)}
                here["chosen"] = multiple == multiples[min(1, len(multiples) - 1)]
                bias = 0.004 * hard * multiple / epsilon / (1 + multiple / epsilon / 400)
                mean = 0.02 * noise**2 / multiple**0.7 + bias
                excess = mean * rng.gamma(6.0, 1 / 6.0, repeats)
                made.add("excess_risk", excess, **here)
                made.add("test_loss", 1.1 * level + excess * rng.uniform(0.9, 1.2, repeats), **here)
                if dataset != "diabetes":
                    made.add("test_error", np.minimum(0.5, level / 4 + 0.1 * excess), **here)
                made.add("tuning_loss", level + mean * rng.gamma(6.0, 1 / 6.0, 10), **here)
    return made.frame()


def setting(mechanism, multiple):
    """The columns that tell a method's settings apart; what is a multiple to the others is a clip to descent."""
    if mechanism == "gradient":
        clip = multiple / 200
        return {"candidate": f"30 steps, clip {clip:g}", "ridge_multiple": 0.0, "steps": 30, "clip": clip}
    return {"candidate": f"multiple {multiple:g}", "ridge_multiple": multiple, "steps": 0, "clip": 0.0}


def table1(*, features=(8, 16), calibrations=("paper", "tight"), repeats=20):
    """Rows of kifer2012-table1 by the experiment itself, which takes a tenth of a second."""
    settings = {"repeats": repeats, "epsilon": 1.0, "delta": 1e-6, "sizes": [10**5, 10**6], "gammas": [0.1, 0.5]}
    settings["designs"] = ["extremal", "hadamard", "rademacher"]
    points = [{"p": p} for p in features]
    return cells.rows("kifer2012-table1", settings, calibrations=calibrations, points=points)


def theorem4(*, features=(8, 16), repeats=20, calibrations=("paper", "tight")):
    """Rows of kifer2012-theorem4 by the experiment itself, which takes half a second."""
    settings = {
        "repeats": repeats, "epsilon": 1.0, "delta": 1e-6, "features": list(features), "run_features": [16],
        "wide_features": [2, 64], "sizes": [10**6, 10**7], "gammas": [0.001, 0.1, 0.9], "looseness": [1.0, 8.0],
        "gram_multiples": [0.5, 1.0, 2.0, 8.0],
    }  # fmt: skip
    point = {"design": "isotropic"}
    return cells.rows("kifer2012-theorem4", settings, calibrations=calibrations, points=[point])


def theorem29(*, features=(8, 16), copied_sizes=(4096, 65_536), design="coins"):
    """Rows of kifer2012-theorem29 by the experiment itself, which takes a tenth of a second."""
    settings = {"epsilon": 1.0, "delta": 1e-6, "features": list(features), "sizes": [1000, 10_000]}
    settings["copied_sizes"] = list(copied_sizes)
    return cells.rows("kifer2012-theorem29", settings, points=[{"design": design}])


def table2():
    """Rows of kifer2012-table2 by the experiment itself, at p = 12 and s = 1, which takes half a second."""
    recovery = {"p": [12], "s": [1], "n": [50, 100, 200, 400, 800, 1600, 3200]}
    risks = {name: {"p": [12], "s": [1], "ratio": [4, 64]} for name in ("exp-mech-risk", "samp-agg-risk", "lasso-risk")}
    settings = {"repeats": 4, "draws": 2, "epsilon": 1.0, "delta": 1e-6}
    settings["problems"] = {"exp-mech": recovery, "samp-agg": recovery, **risks}
    # Its noise depends on the part.
    points = [{"part": part} for part in ("recovery", "consistency", "comparison")]
    return cells.rows("kifer2012-table2", settings, points=points)


def theorem9():
    """Rows of kifer2012-theorem9 by the experiment itself, which takes a third of a second."""
    settings = {
        "repeats": 20, "draws": 2, "data_sets": 3, "designs": ["hadamard", "rademacher"], "epsilon": 1.0,
        "delta": 1e-6, "sizes": [1024, 4096], "gammas": [0.1, 0.5], "supports": [1, 2, 4], "single_stage": [8],
        "wide_single_stage": [4],
    }  # fmt: skip
    return cells.rows("kifer2012-theorem9", settings, points=[{"p": p} for p in (16, 32)])


def theorem6(*, features=(10, 12), supports=(2, 3), repeats=4):
    """Rows of kifer2012-theorem6 by the experiment itself, which takes a tenth of a second."""
    settings = {
        "repeats": repeats, "epsilon": 1.0, "features": list(features), "supports": list(supports),
        "sizes": [50, 250, 1000, 4000], "gammas": [0.01, 0.1, 0.5], "wide_features": [10**5, 10**6],
        "wide_supports": [2, 4, 8], "wide_sizes": [10**7, 10**8],
    }  # fmt: skip
    points = [{"design": "planted"}, {"design": "rademacher"}]
    return cells.rows("kifer2012-theorem6", settings, calibrations=("paper", "tight"), points=points)


def theorem8(*, designs=("votes", "rademacher")):
    """Rows of kifer2012-theorem8 by the experiment itself, which takes a second."""
    settings = {
        "repeats": 4, "epsilon": 0.5, "features": [8], "supports": [2, 3],
        "sizes": [1000, 2000], "blocks": [8, 64, 512], "wide_features": [30, 1000], "hadamard_features": [8],
    }  # fmt: skip
    return cells.rows("kifer2012-theorem8", settings, points=[{"design": design} for design in designs])


def bounds():
    """Rows of kifer2012-bounds by the experiment itself, without the nuclear norm, for which cvxpy is loaded."""
    settings = {
        "repeats": 6, "instances": 6, "draws": 100, "epsilon": 1.0, "delta": 1e-6, "sizes": [10**5],
        "records": 128, "ridge_multiples": [2.0], "gammas": [0.1, 0.9], "variances": [0.5], "growth": 64.0,
    }  # fmt: skip
    return cells.rows("kifer2012-bounds", settings, points=[{"p": 8}])


@functools.cache
def theorem2():
    """Rows of kifer2012-theorem2 by the experiment itself, which takes a second or two: made once."""
    settings = {
        "epsilons": [1.0],
        "deltas": [0.0, 1e-6],
        "curvature_epsilons": [1.0],
        "points": 4,
        "ridge_multiples": [2.0],
    }
    return cells.rows("kifer2012-theorem2", settings, points=[{"design": "q1"}, {"design": "half-plane"}])


@functools.cache
def bound():
    """Rows of kifer2012-bound by the experiment itself, which takes a second or two: made once."""
    settings = {
        "epsilon": 1.0, "delta": 1e-6, "epsilon_range": [0.1, 4.0], "delta_range": [1e-8, 1e-3], "points": 2,
        "ridge_multiples": [2.0, 20.0], "searched_multiples": [20.0],
    }  # fmt: skip
    return cells.rows("kifer2012-bound", settings, points=[{"design": "q1"}])


@functools.cache
def example1():
    """Rows of kifer2012-example1 by the experiment itself, which takes a second."""
    settings = {"epsilon": 1.0, "delta": 1e-6, "huber_knee": 0.1, "indices": [1.0, 100.0, 10_000.0], "repeats": 20}
    return cells.rows("kifer2012-example1", settings, points=[{"design": "q1"}, {"design": "rademacher"}])


def lasso():
    """Rows of kifer2012-lasso in its shape, from random numbers: it needs a data set to run."""
    rng = np.random.default_rng(5)
    made = Rows(paper="kifer2012", experiment="kifer2012-lasso", neighbours="add_remove", dataset="diabetes")
    for share in (0.001, 0.003, 0.01):
        level = {"relative_error": 0.8 + 20 * share, "support": float(round(0.009 / share))}
        for metric, value in level.items():
            here = {"mechanism": "nonprivate", "calibration": "", "variant": "", "guarantee": "none"}
            made.add(metric, value, **here, epsilon=np.inf, delta=0.0, l1_share=share)
        for calibration, epsilon, delta in itertools.product(("paper", "tight"), (1.0, 10.0), (0.0, 1e-6)):
            values = {
                "relative_error": level["relative_error"] + rng.gamma(4.0, 0.3 / epsilon, 4),
                "support": np.minimum(11.0, level["support"] + rng.poisson(8 / epsilon, 4)),
                "overlap": rng.beta(2 + epsilon, 2, 4),
            }
            here = {"mechanism": "objective", "calibration": calibration, "guarantee": "proved_exact", "delta": delta}
            here |= {"variant": "gaussian" if delta else "gamma", "epsilon": epsilon, "l1_share": share}
            for metric, value in values.items():
                made.add(metric, value, **here)
    return made.frame()


@functools.cache
def moor():
    """Rows of li2021-moor by the experiment itself, which takes a second."""
    settings = {
        "repeats": 4, "side_repeats": 2, "side_zetas": ["unit"], "epsilons": [0.4, 1.0],
        "strengths": [100.0, 0.05], "steps": 5, "budget_share": 0.5, "delta": 1e-4, "tolerance": 1e-9,
    }  # fmt: skip
    points = [{"design": design} for design in ("linear-200", "logistic-500", "poisson-500")]
    return cells.rows("li2021-moor", settings, points=points)


@functools.cache
def simulations():
    """Rows of li2021-simulations by the experiment itself, which takes two seconds: made once."""
    settings = {
        "repeats": 4, "deltas": [1e-4, 0.0], "strengths": [100.0, 0.05], "steps": 5, "budget_share": 0.5,
        "other_shares": [0.25], "test_rows": 300, "tolerance": 1e-6, "side_repeats": 2, "side_deltas": [1e-3],
        "side_zetas": ["typical", "unit"], "density_zetas": ["typical"],
    }  # fmt: skip
    points = [{"design": name, "epsilon": epsilon} for name in ("linear-200", "logistic-500") for epsilon in (0.4, 1.0)]
    return cells.rows("li2021-simulations", settings, calibrations=("paper", "corrected", "tight"), points=points)


@functools.cache
def recycling():
    """Rows of li2021-recycling by the experiment itself, which takes half a second."""
    settings = {
        "repeats": 4, "side_repeats": 2, "rounds": 3, "deltas": [1e-4, 0.0],
        "strengths": [100.0, 0.05], "steps": 5, "budget_share": 0.5, "tolerance": 1e-6, "test_rows": 300,
        "side_zetas": ["typical"], "side_deltas": [1e-3], "density_zetas": ["typical"],
    }  # fmt: skip
    points = [{"design": "linear-200", "epsilon": epsilon} for epsilon in (0.4, 1.0)]
    return cells.rows("li2021-recycling", settings, calibrations=("paper", "corrected"), points=points)


def li2021_adult(*, epsilons=(0.1, 0.4, 1.0)):
    """Rows of li2021-adult in its shape, from random numbers: it needs a data set to run."""
    rng = np.random.default_rng(6)
    made = Rows(paper="li2021", experiment="li2021-adult", neighbours="add_remove", row="", delta=1e-4)
    six = [f"{kind}{moor}" for kind in ("erm", "vs", "vs_plus") for moor in ("", "-moor")]
    methods = [("paper", name) for name in six]
    methods += [(calibration, name) for calibration in ("corrected", "tight") for name in ("erm", "vs_plus")]
    for dataset, strength in itertools.product(("adult", "breast-cancer"), (0.1, 1.0)):
        here = made.at(dataset=dataset, strength=strength, guarantee="none")
        level = here.at(mechanism="nonprivate", calibration="", epsilon=np.inf)
        for name in ("lasso", "lasso-2"):
            level.add("error", 0.15 + 0.002 * rng.random(), variant=name)
        for (calibration, name), epsilon in itertools.product(methods, epsilons):
            value = 0.152 + rng.gamma(4.0, 0.002 / epsilon, 4)
            here.add("error", value, mechanism="napp", calibration=calibration, variant=name, epsilon=epsilon)
    return made.frame()


@functools.cache
def augmentation():
    """Rows of li2021-augmentation by the experiment itself, which takes a second."""
    settings = {
        "repeats": 3, "error_repeats": 3, "wide_repeats": 2, "settled_repeats": 2, "draws": 2000,
        "rows_added": [400, 2000],
        "augmented_rows": 2000, "iterations": 3, "settled_iterations": 12, "exact_iterations": 100, "strength": 1.0,
        "floor": 1.0, "kappa": 0.5, "bridge_gamma": 1.5, "reach": 3.0, "points": 40, "epsilon": 1.0, "delta": 1e-4,
        "budget_share": 0.5, "test_rows": 300,
    }  # fmt: skip
    return cells.rows("li2021-augmentation", settings, points=[{"design": "no-data"}, {"design": "linear-500"}])


@functools.cache
def literal():
    """Rows of li2021-literal by the experiment itself, which takes a second."""
    settings = {
        "repeats": 2, "side_repeats": 1, "zetas": ["range", "typical", "unit"], "strengths": [100.0, 0.05],
        "steps": 3, "augmented_rows": 400, "iterations": 3, "delta": 1e-4, "side_deltas": [1e-3], "budget_share": 0.5,
        "test_rows": 300,
    }  # fmt: skip
    points = [{"design": name, "epsilon": epsilon} for name in ("linear-200", "poisson-500") for epsilon in (0.4, 1.0)]
    return cells.rows("li2021-literal", settings, points=points)


@functools.cache
def li2021_bounds():
    """Rows of li2021-bounds by the experiment itself, which takes half a second."""
    settings = {
        "designs": ["linear-500"], "repeats": 8, "data_sets": 5, "draws": 3, "sample_sets": 2, "excesses": [0.5],
        "sizes": [500, 1000, 2000], "features": [8, 16], "epsilons": [0.4, 1.0, 3.0], "risk_epsilons": [1.0],
        "rate_epsilons": [0.3, 1.0], "lambdas": [0.1, 1.0], "deltas": [0.0, 1e-4], "gammas": [0.1, 0.9],
        "refits": [1, 2, 80], "instances": 10,
    }  # fmt: skip
    return cells.rows("li2021-bounds", settings)


@functools.cache
def further():
    """Rows of li2021-further by the experiment itself, which takes a second."""
    settings = {
        "repeats": 3, "cut_repeats": 5, "literal_repeats": 2, "draws": 500, "sizes": [200, 400], "epsilons": [0.4, 1.0],
        "candidates": [0.5, 50.0], "public_share": 0.5, "held_share": 0.25, "allowed": 0.05, "rows_added": [400, 2000],
        "iterations": 3, "strength": 1.0, "cuts": [1.0, 4.0], "zetas": [1.0, 2.9], "strengths": [100.0, 0.05],
        "steps": 3, "delta": 1e-4, "budget_share": 0.5, "test_rows": 300,
    }  # fmt: skip
    return cells.rows("li2021-further", settings)


def of_figure(name):
    """Rows that a figure or table can be drawn from."""
    made = {
        **fake_dwork2018.OF_FIGURE,
        **fake_jain2013.OF_FIGURE,
        **{
            f"li2021-{figure}{form}": simulations
            for figure in ("fig4", "fig5", "fig7", "figs1", "figs2", "figs3")
            for form in ("", "-corrected")
        },
        "li2021-table4": simulations,
        "li2021-fig1": augmentation,
        "li2021-fig1-corrected": augmentation,
        "li2021-fig2": augmentation,
        "li2021-convergence": augmentation,
        "li2021-literal": literal,
        "li2021-table1": augmentation,
        "li2021-table2": augmentation,
        "li2021-table3": augmentation,
        "kifer2012-table1": table1,
        "kifer2012-lasso": lasso,
        "kifer2012-theorem4": theorem4,
        "kifer2012-gap": theorem4,
        "kifer2012-theorem29": theorem29,
        "kifer2012-table2": table2,
        "kifer2012-theorem9": theorem9,
        "kifer2012-theorem6": theorem6,
        "kifer2012-theorem8": theorem8,
        "kifer2012-bounds": bounds,
        "kifer2012-theorem2": theorem2,
        "kifer2012-bound": bound,
        "kifer2012-example1": example1,
        "li2021-fig6": li2021_adult,
        "li2021-fig6-corrected": li2021_adult,
        **dict.fromkeys(("li2021-bounds", "li2021-budget"), li2021_bounds),
        **dict.fromkeys(("li2021-lambda", "li2021-hinge", "li2021-cut"), further),
        **dict.fromkeys(("li2021-fig3", "li2021-fig3-corrected"), moor),
        **dict.fromkeys(("li2021-fig8", "li2021-fig8-corrected", "li2021-figs4", "li2021-figs4-corrected"), recycling),
    }
    return (
        made[name]() if name in made else rows(datasets=("breast-cancer", "diabetes"), epsilons=(0.1, 1.0), repeats=5)
    )


def fail(frame, mask):
    """Turn the rows under `mask` into failed ones: no value."""
    frame = frame.copy()
    frame.loc[mask, "value"] = np.nan
    frame.loc[mask, "status"] = "failed"
    return frame


def write(frame, path, **metadata):
    tables.write(frame, path, metadata={"scale": "quick", "seed": 2012, **metadata})
    return path
