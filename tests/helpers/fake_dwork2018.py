"""Rows of dwork2018 for the showing wing's tests: made up in its shapes, or by an experiment that takes no time."""

import functools
import itertools
import tempfile

import cells
import numpy as np
import pandas as pd
from written_anew import rows_of

from dperm.domain import Domain
from dperm_pipeline import experiments
from dperm_pipeline.datasets import prepared
from dperm_pipeline.rows import Rows


def _run(topic, part="all", **settings):
    return cells.rows(f"dwork2018-{topic}", settings, part=part)


@functools.cache
def constants():
    """Rows of dwork2018-constants by the experiment itself, which takes half a second."""
    settings = {"sizes": [50], "alphas": [0.2], "gammas": [0.05], "delta": 1e-6, "dimension": 5, "features": [20]}
    return _run("constants", repeats=20, epsilons=[0.5, 1.0], **settings)


def dimension():
    """Rows of dwork2018-dimension by the experiment itself."""
    settings = {"features": [10, 40], "sizes": [50, 200], "epsilons": [1.0], "alphas": [0.2], "delta": 1e-6}
    return _run("dimension", repeats=3, data_sets=10, **settings)


def free():
    """Rows of dwork2018-free by the experiment itself."""
    return _run("free", sizes=[30, 100], scaled_epsilons=[0.3, 1.0, 3.0], designs=["hard", "sq"])


@functools.cache
def queries():
    """Rows of dwork2018-queries by the experiment itself, on 240 rows that look like digits to it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (240, 3))
    dataset = prepared.Dataset(X, np.where(X[:, 0] > 0, 1.0, -1.0), Domain(1.0, 1.0), "digits", {}, "binary")
    settings = {
        "repeats": 2, "records": 60_000, "queries": [1, 100, 1000], "attacked_queries": [10], "labelled": [10, 30],
        "contested": [10], "epsilon": 1.0, "delta": 1e-6, "each": 0.01, "alpha": 0.05, "test_share": 0.25,
        "public_share": 0.2, "levels": [0.6, 0.79],
    }  # fmt: skip
    cell = cells.cell("dwork2018-queries", settings, point={"dataset": "digits"})
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/digits.parquet"
        prepared.write(dataset, path)
        frames = [experiments.run_baseline(cells.bare(cell), data=path), experiments.run(cell, data=path)]
    return pd.concat(frames, ignore_index=True)


@functools.cache
def exppw():
    """Rows of dwork2018-exppw by the experiment itself."""
    settings = {
        "repeats": 4, "batch": 2, "tail_repeats": 10, "draws": 4, "instances": 5, "epsilons": [0.5, 1.0],
        "alphas": [0.1], "agnostic_alphas": [0.1], "ends": [1, 3], "records": 200, "enumerated": 14,
        "walk_bounds": [1, 4], "enumerated_epsilons": [8.0], "domains": [1, 10], "size_epsilons": [0.5, 1.0],
        "size_shares": [0.25, 1.0], "flips": [0.0, 0.2], "gammas": [0.2],
        "choice_alphas": [0.1, 0.9], "choice_epsilons": [0.1, 5.0],
    }  # fmt: skip
    return _run("exppw", **settings)


@functools.cache
def generalization():
    """Rows of dwork2018-generalization by the experiment itself, which takes a tenth of a second."""
    settings = {
        "repeats": 5, "side_repeats": 30, "batch": 1, "epsilons": [0.1, 1.0], "deltas": [0.0, 0.01],
        "alphas": [0.1, 0.5], "shards": [3], "changes": 2, "instances": 5, "moments": [1, 2, 3],
        "enumerated_sizes": [1, 3], "gammas": [0.01, 0.1, 0.5, 0.9], "tail_gammas": [0.1],
        "tail_epsilons": [0.1, 1.0], "sizes": [50],
    }  # fmt: skip
    return _run("generalization", **settings)


def realdata(*, datasets=("breast-cancer", "digits"), epsilons=(0.1, 1.0), queries=(1, 100), repeats=5):
    """Rows of dwork2018-realdata in its shape, from random numbers: it needs a data set to run."""
    rng, made = np.random.default_rng(9), Rows(paper="dwork2018", experiment="dwork2018-realdata")
    hard = {"soft_majority": 0.1, "averaged": 0.2, "stable_erm": 0.3, "stable_sgd": 0.4, "exppw": 0.2, "objective": 0.3}
    for dataset, repeat in itertools.product(datasets, range(repeats)):
        here = made.at(dataset=dataset, repeat=repeat, radius=0.0, shards=0, each=0.0)
        level = here.at(mechanism="nonprivate", calibration="", neighbours="", guarantee="none", series="")
        for variant, value in {"logistic": 0.05, "majority": 0.45}.items():
            level.add("error", value, variant=variant, epsilon=np.inf, delta=0.0, queries=0)
        for mechanism, size in hard.items():
            private = here.at(mechanism=mechanism, calibration="tight", neighbours="replace", variant="")
            private = private.at(guarantee="proved", delta=1e-6)
            grid = [("epsilon", epsilon, 1, 5.0) for epsilon in epsilons]
            counts = (0,) if mechanism == "objective" else queries
            grid += [("queries", epsilons[-1], m, 5.0) for m in counts]
            if mechanism.startswith("stable"):
                grid += [("radius", epsilons[-1], 1, radius) for radius in (1.0, 5.0)]
            for series, epsilon, m, radius in grid:
                value = 0.5 - 0.4 / (1 + size * max(m, 1) / epsilon) + 0.02 * rng.random()
                shown = radius if mechanism.startswith("stable") else 0.0
                private.add("error", value, series=series, epsilon=epsilon, queries=m, radius=shown)
    return made.frame()


@functools.cache
def stable():
    """Rows of dwork2018-stable by the experiment itself."""
    settings = {"sizes": [100, 1000], "walk_sizes": [100], "epsilons": [0.1, 1], "curvatures": [0.1, 1]}
    return _run("stable", **settings, alphas=[0.4], rate_epsilons=[1.0])


@functools.cache
def softmajority():
    """Rows of dwork2018-softmajority by the experiment itself, which takes a tenth of a second."""
    settings = {
        "repeats": 30, "alphas": [0.1], "epsilons": [0.5, 1.0], "features": [10], "gammas": [0.05],
        "dimension": 12, "wide_alphas": [0.25, 0.1], "wide_epsilons": [0.01, 0.1, 1.0], "wide_gammas": [0.1, 0.01],
        "wide_features": [2, 10, 20],
    }  # fmt: skip
    return _run("softmajority", **settings)


@functools.cache
def averaging():
    """Rows of dwork2018-averaging by the experiment itself."""
    settings = {
        "repeats": 4, "alphas": [0.2, 0.1], "epsilons": [0.1, 1.0], "gammas": [0.05], "records": 1000,
        "shards": [2, 20], "rate_gammas": [0.1, 0.01], "rate_epsilons": [1.0, 0.1], "coverage_alphas": [0.2],
        "coverage_epsilons": [1.0],
    }  # fmt: skip
    return _run("averaging", **settings)


@functools.cache
def beyond():
    """Rows of dwork2018-beyond by the experiment itself."""
    settings = {
        "alphas": [0.2, 0.1], "epsilons": [0.1, 1.0], "gammas": [0.05], "alpha": 0.1, "epsilon": 1.0,
        "flips": [0.0, 0.2], "ends": [1, 3], "log_domains": [4, 20],
    }  # fmt: skip
    return _run("beyond", **settings)


@functools.cache
def service():
    """Rows of dwork2018-service by the experiment itself, which starts four servers."""
    return rows_of("service")


OF_FIGURE = {
    "dwork2018-service": service,
    "dwork2018-averaging": averaging,
    "dwork2018-beyond": beyond,
    "dwork2018-softmajority": softmajority,
    "dwork2018-stable": stable,
    "dwork2018-generalization": generalization,
    "dwork2018-realdata": realdata,
    "dwork2018-exppw": exppw,
    "dwork2018-queries": queries,
    "dwork2018-queries-answered": queries,
    "dwork2018-constants": constants,
    "dwork2018-dimension": dimension,
    "dwork2018-free": free,
    # Their tiny settings take no time.
    **{f"dwork2018-{topic}": functools.partial(rows_of, topic) for topic in ("agnostic", "gaussian", "renyi")},
}
