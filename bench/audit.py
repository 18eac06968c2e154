"""The auditor: draws of objective perturbation in a batch, against one fit after another, and what a ledger costs."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import yaml
from threadpoolctl import threadpool_limits

from dperm import ObjectivePerturbation, losses, seeds
from dperm.audit import linear_targets, sampling
from dperm.audit.pairs import saturating
from dperm.domain import Budget, Domain
from dperm.mechanisms import objective
from dperm_pipeline import plan
from dperm_pipeline.audits import attacks

ROOT = Path(__file__).parent.parent
DRAWS, ALONE, RECORDS = 200_000, 200, 200
GOAL_A_MINUTE, GOAL_RATIO, GOAL_LEDGER = 1_000_000, 100.0, 60.0
BUDGET = Budget(1.0)


def clock(function: Callable[[], object]) -> float:
    """Return the seconds of one call, of this process's processors alone."""
    start = time.process_time()
    function()
    return time.process_time() - start


def draws(X, y) -> list[tuple[str, float, float | None]]:
    """Return the table's rows: how, draws a minute, and how many times faster the batch is."""
    loss, domain = losses.logistic(), Domain(x_norm=1.0)
    fixed = {"domain": domain, "budget": BUDGET, "neighbours": "add_remove", "calibration": "tight"}

    def batch():
        release = objective.release(X, y, loss, **fixed, rng=seeds.generator(0, "bench", "batch"), repeats=DRAWS)
        assert release.converged.all()

    def core_alone():
        rng = seeds.generator(0, "bench", "alone")
        for _ in range(ALONE):
            objective.release(X, y, loss, **fixed, rng=rng, repeats=1)

    def estimator_alone():
        # One object that is fitted again on the same records would warn.
        for _ in range(ALONE):
            ObjectivePerturbation(epsilon=1.0, classes=(-1, 1), random_state=0).fit(X, y)

    ours = clock(batch) / DRAWS
    rows = [(f"one batch of {DRAWS:,}", 60 / ours, None)]
    for name, function in (("the batched core, one at a time", core_alone), ("the estimator's fit", estimator_alone)):
        alone = clock(function) / ALONE
        rows.append((name, 60 / alone, alone / ours))
    return rows


def ledger(scale: str) -> tuple[float, list[tuple[str, float]]]:
    """Return the core-minutes of all audit jobs at a scale, and each job's core-seconds."""
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    jobs = plan.load({**config, "scale": scale, "mirror": None}, ROOT).audits[scale]
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        for (mechanism, pair), job in jobs.items():
            out = str(Path(folder, "rows.parquet"))
            seconds = clock(lambda job=job, out=out: attacks.run([job], out, metadata={}))
            costs.append((f"{mechanism}/{pair}", seconds))
    return sum(seconds for _, seconds in costs) / 60, costs


def report(*, full: bool) -> None:
    """Print the tables."""
    rng = seeds.generator(0, "bench", "audit")
    X = rng.normal(size=(RECORDS, 2))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True)) * (1 + 1e-12)
    y = np.where(X[:, 0] + 0.3 > 0, 1.0, -1.0)
    with threadpool_limits(1):
        print(f"\nObjective perturbation, logistic, p=2, n={RECORDS}, epsilon=1, gamma noise; one thread, CPU time\n")
        print(f"{'how':<40}{'draws a minute':>16}{'batch is faster':>18}{'goal':>12}")
        for name, rate, ratio in draws(X, y):
            # What a user would do one by one is to fit; the bare core is shown for comparison.
            goals = {None: f">{GOAL_A_MINUTE:,}"} if ratio is None else {"the estimator's fit": f">{GOAL_RATIO:.0f}x"}
            goal = goals.get(None if ratio is None else name, "")
            faster = "" if ratio is None else f"{ratio:.0f}x"
            print(f"{name:<40}{rate:>16,.0f}{faster:>18}{goal:>12}")
        case = saturating(neighbours="add_remove", budget=BUDGET, rng=rng, records=RECORDS)
        target = linear_targets.target(
            "objective",
            loss=case.loss,
            domain=case.domain,
            budget=BUDGET,
            neighbours="add_remove",
            calibration="tight",
            curvature=case.curvature,
        )
        seconds = clock(
            lambda: sampling.lower_bound(target, case.data, case.neighbour, draws=DRAWS, rng=np.random.default_rng(0))
        )
        print(
            f"\na whole audit, {DRAWS:,} draws a side: {seconds:.1f} s, {2 * DRAWS / seconds * 60:,.0f} draws a minute"
        )
        scale = "paper" if full else "quick"
        minutes, costs = ledger(scale)
    print(f"\nThe whole ledger at scale {scale}: {minutes:.1f} core-minutes", end="")
    print(f" (goal: {GOAL_LEDGER:.0f} with all four papers)\n" if full else "\n")
    for name, seconds in costs:
        print(f"  {name:<40}{seconds:>8.1f} s")
