"""jax_privacy's CanaryScoreAuditor, which is given a scalar score; of its one file, which needs no jax."""

from auditing import Bonferroni, CanaryScoreAuditor, MultiSplit
from running import CONFIDENCE, drawn, run


def bound(strategy):
    """Return the audit with this way of choosing a threshold, of either direction."""

    def certified(mechanism, draws, seed):
        auditor = CanaryScoreAuditor(*map(mechanism.score, drawn(mechanism, draws, seed)))
        options = {"delta": mechanism.delta, "one_sided": False, "threshold_strategy": strategy(seed)}
        return auditor.epsilon_clopper_pearson(1 - CONFIDENCE, **options)

    return certified


run("jax_privacy, Bonferroni", bound(lambda seed: Bonferroni()), alarms=True)
run("jax_privacy, MultiSplit", bound(lambda seed: MultiSplit(num_samples=20, seed=seed)))
