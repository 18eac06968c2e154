"""Experiments of kifer2012, by name; one module each."""

from dperm.catalogue import Catalogue
from dperm.experiments.experiment import Experiment, fixed

EXPERIMENTS: Catalogue[str, Experiment] = {
    "kifer2012-table1": Experiment(
        "dperm.experiments.kifer2012.table1",
        axes=("p",),
        settings=("repeats", "designs", "epsilon", "delta", "sizes", "gammas"),
        fixed=fixed("objective"),
    ),
    "kifer2012-output": Experiment(
        "dperm.experiments.kifer2012.output",
        axes=("dataset", "epsilon"),
        settings=(
            "repeats", "tuning_repeats", "deltas", "ridge_multiples", "gradient_steps", "clips", "momentum", "ridge",
            "public_share", "test_share", "huber_knee",
        ),
    ),
    "kifer2012-lasso": Experiment(
        "dperm.experiments.kifer2012.lasso",
        axes=("dataset",),
        settings=("repeats", "epsilons", "deltas", "l1_shares", "box", "ridge", "public_share", "test_share"),
        fixed=fixed("objective"),
    ),
    "kifer2012-theorem2": Experiment(
        "dperm.experiments.kifer2012.theorem2",
        axes=("design",),
        settings=("epsilons", "deltas", "curvature_epsilons", "points", "ridge_multiples"),
        releases=False,
        fixed=fixed("objective", "paper", "add_remove"),
    ),
    "kifer2012-bound": Experiment(
        "dperm.experiments.kifer2012.bound",
        axes=("design",),
        settings=(
            "epsilon", "delta", "epsilon_range", "delta_range", "points", "ridge_multiples", "searched_multiples",
        ),
        releases=False,
        fixed=fixed("objective", "tight", "add_remove"),
    ),
    "kifer2012-example1": Experiment(
        "dperm.experiments.kifer2012.example1",
        axes=("design",),
        settings=("epsilon", "delta", "huber_knee", "indices", "repeats"),
        releases=False,
        fixed=fixed("objective", "paper", "add_remove"),
    ),
    "kifer2012-theorem6": Experiment(
        "dperm.experiments.kifer2012.theorem6",
        axes=("design",),
        settings=(
            "repeats", "epsilon", "features", "supports", "sizes", "gammas", "wide_features", "wide_supports",
            "wide_sizes",
        ),
        releases=False,
        fixed=fixed("exp_mech"),
    ),
    "kifer2012-theorem8": Experiment(
        "dperm.experiments.kifer2012.theorem8",
        axes=("design",),
        settings=(
            "repeats", "epsilon", "features", "supports", "sizes", "blocks", "wide_features", "hadamard_features",
        ),
        releases=False,
        fixed=fixed("samp_agg"),
    ),
    "kifer2012-theorem4": Experiment(
        "dperm.experiments.kifer2012.theorem4",
        axes=("design",),
        settings=(
            "repeats", "epsilon", "delta", "features", "run_features", "wide_features", "sizes", "gammas", "looseness",
            "gram_multiples",
        ),
        releases=False,
        fixed=fixed("objective"),
    ),
    "kifer2012-theorem29": Experiment(
        "dperm.experiments.kifer2012.theorem29",
        axes=("design",),
        settings=("epsilon", "delta", "sizes", "copied_sizes", "features"),
        releases=False,
        fixed=fixed("objective"),
    ),
    "kifer2012-table2": Experiment(
        "dperm.experiments.kifer2012.table2",
        axes=("part",),
        settings=("repeats", "draws", "epsilon", "delta", "problems"),
        fixed=fixed("sparse"),
    ),
    "kifer2012-theorem9": Experiment(
        "dperm.experiments.kifer2012.theorem9",
        axes=("p",),
        settings=(
            "repeats", "draws", "data_sets", "designs", "epsilon", "delta", "sizes", "gammas", "supports",
            "single_stage",
        ),
        fixed=fixed("sparse"),
    ),
    "kifer2012-bounds": Experiment(
        "dperm.experiments.kifer2012.bounds",
        axes=("p",),
        settings=(
            "repeats", "instances", "draws", "epsilon", "delta", "sizes", "records", "ridge_multiples", "gammas",
            "variances", "growth",
        ),
        fixed=fixed("objective"),
    ),
}  # fmt: skip
