"""Made-up rows for claims about points."""

import itertools
from pathlib import Path

import claim_rows
import numpy as np

SCHEMA = Path(__file__).parents[2] / "workflow/schemas/claims.schema.yaml"
HEAD = {
    "paper": "li2021", "experiment": "li2021-simulations", "mechanism": "napp", "calibration": "paper",
    "neighbours": "add_remove", "guarantee": "none", "delta": 1e-4, "status": "ok", "metric": "auc",
}  # fmt: skip
PAIR = [{"above": {"variant": "vs_plus"}, "below": {"variant": "vs"}}]


def table(
    values, *, variants=("vs_plus", "vs"), datasets=("linear-200",), epsilons=(1.0,), strengths=(0.1,), repeats=20
):
    """Rows; `values(variant, dataset, epsilon, strength)` gives one number a repeat, NaN for a failed run."""
    frames = []
    for variant, dataset, epsilon, strength in itertools.product(variants, datasets, epsilons, strengths):
        value = np.broadcast_to(np.asarray(values(variant, dataset, epsilon, strength), dtype=float), repeats)
        columns = {"variant": variant, "dataset": dataset, "epsilon": epsilon, "strength": strength}
        frames.append(claim_rows.repeats("auc", value, HEAD, **columns))
    return claim_rows.stack(*frames)


def claim(**keys):
    base = {
        "id": "N-c99", "paper": "li2021", "place": "x", "statement": "x", "experiment": "li2021-simulations",
        "figure": "li2021-fig4", "metric": "auc", "points": ["dataset", "epsilon", "strength"],
        "comparisons": PAIR, "variants": {"printed": {}},
    }  # fmt: skip
    return {**base, **keys}


def say(rule, rows, **keys):
    return claim_rows.decide(rule, claim(**keys), "printed", rows)


def noise(seed, repeats=20):
    return np.random.default_rng(seed).standard_normal(repeats)
