"""Experiments of dwork2018, by name."""

from dperm.catalogue import Catalogue
from dperm.experiments.experiment import Experiment, fixed

EXPERIMENTS: Catalogue[str, Experiment] = {
    "dwork2018-generalization": Experiment(
        "dperm.experiments.dwork2018.generalization",
        axes=("part",),
        settings=(
            "repeats", "side_repeats", "batch", "epsilons", "deltas", "alphas", "shards", "changes", "instances",
            "moments", "enumerated_sizes", "gammas", "tail_gammas", "tail_epsilons", "sizes",
        ),
        releases=False,
        fixed=fixed("exppw", "tight", "replace"),
    ),
    "dwork2018-constants": Experiment(
        "dperm.experiments.dwork2018.constants",
        axes=("part",),
        settings=("repeats", "epsilons", "sizes", "alphas", "gammas", "delta", "dimension", "features"),
        releases=False,
        fixed=fixed("stable_erm", "paper", "replace"),
    ),
    "dwork2018-dimension": Experiment(
        "dperm.experiments.dwork2018.dimension",
        axes=("part",),
        settings=("repeats", "data_sets", "features", "sizes", "epsilons", "alphas", "delta"),
        releases=False,
        fixed=fixed("stable_erm", "paper", "replace"),
    ),
    "dwork2018-free": Experiment(
        "dperm.experiments.dwork2018.free",
        axes=("part",),
        settings=("sizes", "scaled_epsilons", "designs"),
        releases=False,
        fixed=fixed("stable_sgd", "paper", "replace"),
    ),
    "dwork2018-stable": Experiment(
        "dperm.experiments.dwork2018.stable",
        axes=("part",),
        settings=("sizes", "walk_sizes", "epsilons", "curvatures", "alphas", "rate_epsilons"),
        releases=False,
        fixed=fixed("stable_erm", "paper", "replace"),
    ),
    "dwork2018-exppw": Experiment(
        "dperm.experiments.dwork2018.exppw",
        axes=("part",),
        settings=(
            "repeats", "batch", "tail_repeats", "draws", "instances", "epsilons", "alphas", "agnostic_alphas", "ends",
            "records", "enumerated", "walk_bounds", "domains", "enumerated_epsilons", "size_epsilons", "size_shares",
            "flips", "gammas", "choice_alphas", "choice_epsilons",
        ),
        releases=False,
        fixed=fixed("exppw", "tight", "replace"),
    ),
    "dwork2018-queries": Experiment(
        "dperm.experiments.dwork2018.queries",
        axes=("dataset",),
        settings=(
            "repeats", "records", "queries", "attacked_queries", "labelled", "contested", "epsilon", "delta", "each",
            "alpha", "test_share", "public_share", "levels",
        ),
        fixed=fixed("soft_majority", "tight", "replace"),
    ),
    "dwork2018-realdata": Experiment(
        "dperm.experiments.dwork2018.realdata",
        axes=("dataset",),
        settings=(
            "repeats", "side_repeats", "draws", "epsilons", "epsilon", "delta", "queries", "fine_queries", "alpha",
            "radius", "radii", "ridge", "test_share", "test_rows", "train_rows", "walk_features",
        ),
        fixed=fixed("soft_majority", "tight", "replace"),
    ),
    "dwork2018-softmajority": Experiment(
        "dperm.experiments.dwork2018.softmajority",
        axes=("part",),
        settings=(
            "repeats", "alphas", "epsilons", "features", "gammas", "dimension", "wide_alphas", "wide_epsilons",
            "wide_gammas", "wide_features",
        ),
        releases=False,
        fixed=fixed("soft_majority", "tight", "replace"),
    ),
    "dwork2018-averaging": Experiment(
        "dperm.experiments.dwork2018.averaging",
        axes=("part",),
        settings=(
            "repeats", "alphas", "epsilons", "gammas", "records", "shards", "rate_gammas", "rate_epsilons",
            "coverage_alphas", "coverage_epsilons",
        ),
        releases=False,
        fixed=fixed("averaged", "paper", "replace"),
    ),
    "dwork2018-beyond": Experiment(
        "dperm.experiments.dwork2018.beyond",
        axes=("part",),
        settings=("alphas", "epsilons", "gammas", "alpha", "epsilon", "flips", "ends", "log_domains"),
        releases=False,
        fixed=fixed("exppw", "tight", "replace"),
    ),
}  # fmt: skip
