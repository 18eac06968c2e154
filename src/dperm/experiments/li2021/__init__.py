"""Experiments of li2021, by name; one module for each group of its figures and tables."""

from dperm.catalogue import Catalogue
from dperm.experiments.experiment import Experiment, fixed

EXPERIMENTS: Catalogue[str, Experiment] = {
    "li2021-simulations": Experiment(
        "dperm.experiments.li2021.simulations",
        axes=("design", "epsilon"),
        settings=(
            "repeats", "deltas", "strengths", "steps", "budget_share", "other_shares", "test_rows", "tolerance",
        ),
        fixed=fixed("napp"),
    ),
    "li2021-moor": Experiment(
        "dperm.experiments.li2021.moor",
        axes=("design",),
        settings=(
            "repeats", "side_repeats", "epsilons", "strengths", "steps", "budget_share", "delta", "tolerance",
        ),
        releases=False,
        fixed=fixed("napp", "paper"),
    ),
    "li2021-recycling": Experiment(
        "dperm.experiments.li2021.recycling",
        axes=("design", "epsilon"),
        settings=(
            "repeats", "side_repeats", "rounds", "deltas", "strengths", "steps", "budget_share", "tolerance",
            "test_rows",
        ),
        fixed=fixed("napp"),
    ),
    "li2021-augmentation": Experiment(
        "dperm.experiments.li2021.augmentation",
        axes=("design",),
        settings=(
            "repeats", "wide_repeats", "settled_repeats", "draws", "rows_added", "augmented_rows", "iterations",
            "settled_iterations", "exact_iterations", "strength", "floor", "kappa", "bridge_gamma", "reach", "points",
            "epsilon", "delta", "budget_share", "test_rows",
        ),
        releases=False,
        fixed=fixed("napp", "paper", "add_remove"),
    ),
    "li2021-bounds": Experiment(
        "dperm.experiments.li2021.bounds",
        axes=("part",),
        settings=(
            "designs", "repeats", "data_sets", "draws", "sample_sets", "excesses", "sizes", "features", "epsilons",
            "risk_epsilons", "rate_epsilons", "lambdas", "deltas", "gammas", "refits", "instances",
        ),
        releases=False,
        fixed=fixed("napp", "paper", "add_remove"),
    ),
    "li2021-adult": Experiment(
        "dperm.experiments.li2021.adult",
        axes=("dataset",),
        settings=("repeats", "epsilons", "deltas", "lambdas", "budget_share", "tolerance", "test_share"),
        fixed=fixed("napp"),
    ),
}  # fmt: skip
