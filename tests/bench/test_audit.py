"""The benchmark of the auditor, at a size that says nothing of speed: it times what it says it times."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch):
    spec = importlib.util.spec_from_file_location("bench_audit", ROOT / "bench/audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "DRAWS", 2_000)
    monkeypatch.setattr(module, "ALONE", 3)
    return module


def test_the_batch_is_compared_with_one_fit_after_another(bench):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) / 10
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    batch, *alone = bench.draws(X, y)
    assert batch[2] is None and batch[1] > 0
    assert len(alone) == 2
    for _, rate, ratio in alone:
        assert ratio == pytest.approx(batch[1] / rate)


def test_the_ledgers_cost_counts_every_job_of_the_scale(bench, monkeypatch):
    ran = []
    monkeypatch.setattr(bench.attacks, "run", lambda jobs, out, metadata: ran.extend(job["family"] for job in jobs))
    minutes, costs = bench.ledger("paper")
    assert len(costs) == len(ran) == len({name for name, _ in costs})
    assert {"objective.tight/knee", "output.paper/linear"} <= {name for name, _ in costs}
    assert set(ran) == {
        "linear",
        "support",
        "composed",
        "comparators",
        "napp",
        "kernel",
        "prediction",
        "called",
        "fourier",
        "gaussian_answers",
        "truncated",
        "tuned",
        "mutants",
    }
    assert minutes == pytest.approx(sum(seconds for _, seconds in costs) / 60)
