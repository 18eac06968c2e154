"""The table of what is called: each (loss, relation, kind of noise) that a public estimator accepts has a row."""

import itertools
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import yaml

import dperm
from dperm.audit.called import cases, sparse, supports, threads
from dperm.losses import LOSSES

ROOT = Path(__file__).parents[3]
BLOCKS = yaml.safe_load((ROOT / "config/audits.yaml").read_text())["attacks"]
ROWS = {
    (block["mechanism"], row["variant"].removeprefix("called-"), row["neighbours"], row["delta"] > 0)
    for block in BLOCKS
    if block["family"] == "called"
    for row in block["budgets"]
}
# Estimator without losses -> mechanism, what makes it, and its rows.
LOSSLESS = {
    "SoftMajority": ("soft_majority", partial(dperm.SoftMajority, shards=2, queries=1), ("threads",)),
    "AveragedPrediction": ("averaged", partial(dperm.AveragedPrediction, shards=2, queries=1), ("threads",)),
    "ExpPW": ("exppw", partial(dperm.ExpPW, queries=1), ("threads",)),
    "ExpMechSupport": ("exp_mech", partial(dperm.ExpMechSupport, y_bound=1.0), ("squared",)),
    "SampAggSupport": ("samp_agg", partial(dperm.SampAggSupport, penalty=1.0, blocks=2), ("squared",)),
    "SparseRegression": ("sparse", partial(dperm.SparseRegression, y_bound=1.0), tuple(sparse.STAGES)),
    "Student": (
        "stable_erm",
        partial(cases.Taught, classes=(0, 1), queries=2, total=4.0, clip=False),
        (cases.STUDENT,),
    ),
}
OF_LOSSES = {make.__name__: name for name, (make, _) in cases.CALLS.items()}
ESTIMATORS = [name for name in dperm.__all__ if hasattr(getattr(dperm, name), "fit")]
WITHOUT_DELTA = (dperm.ExpMechSupport, dperm.SampAggSupport)
KINDS = list(itertools.product(("add_remove", "replace"), (0.0, 1e-6)))


def accepts(make, y, **budget):
    """Whether `fit` takes these parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make(**budget).fit(np.linspace(-0.5, 0.5, 40)[:, None], y)
        except (ValueError, TypeError):
            return False
    return True


def kinds(make, y):
    """Relations and kinds of noise that are accepted."""
    for neighbours, delta in KINDS:
        # Supports have no delta: theirs is 0.
        given = {} if make.func in WITHOUT_DELTA and not delta else {"delta": delta}
        if accepts(make, y, neighbours=neighbours, **given):
            yield neighbours, delta > 0


def accepted(name):
    """What `fit` of a public estimator accepts, as rows have it."""
    if name in LOSSLESS:
        mechanism, make, variants = LOSSLESS[name]
        y = np.arange(40) % 2
        yield from ((mechanism, variant, *kind) for variant in variants for kind in kinds(make, y))
        return
    mechanism = OF_LOSSES[name]
    make, offered = cases.CALLS[mechanism]
    for loss, (extreme, declared) in cases.EXTREME.items():
        for own, release in itertools.product((offered.get(loss, {}), next(iter(offered.values()))), (False, True)):
            given = {**own, **declared, "loss": loss, **({"release": True} if release else {})}
            found = list(kinds(partial(make, **given), np.resize([extreme[0], extreme[-1]], 40)))
            yield from ((mechanism, loss + "_release" * release, *kind) for kind in found)


# Models are fitted, and nothing of them is looked at: no drawn number decides.
@pytest.mark.chance(0.0)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_loss_relation_and_kind_of_noise_that_fit_accepts_has_a_row(name):
    if name in cases.UNCALLED:
        assert name not in LOSSLESS and name not in OF_LOSSES and cases.UNCALLED[name]
        return
    wanted = set(accepted(name))
    assert wanted and wanted <= ROWS, f"no row in config/audits.yaml for {sorted(wanted - ROWS)}"


def test_all_losses_and_no_others_are_called():
    assert cases.EXTREME.keys() == LOSSES.keys()
    assert cases.UNCALLED.keys() <= set(ESTIMATORS)


def test_each_model_that_threads_may_ask_has_rows_for_every_relation_it_accepts():
    relations = {(mechanism, neighbours) for mechanism, variant, neighbours, _ in ROWS if variant != "threads"}
    asked = {(mechanism, neighbours) for mechanism, variant, neighbours, _ in ROWS if variant == "threads"}
    assert {mechanism for mechanism, _ in asked} == threads.SHARED.keys()
    assert {pair for pair in relations if pair[0] in threads.SHARED} <= asked
    assert supports.CHOICES.keys() <= {mechanism for mechanism, _ in relations}
