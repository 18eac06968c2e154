"""Attacks on Gaussian answers: what is claimed is attained, half of the noise is found, and the classical formula."""

import audit_jobs
import pytest

from dperm.audit import gaussian_answers


def attacked(calibration, variant, epsilon, delta):
    claim = {
        "calibration": calibration,
        "variant": variant,
        "neighbours": "replace",
        "epsilon": epsilon,
        "delta": delta,
    }
    return gaussian_answers.run(audit_jobs.job("stable_gaussian", "answer", claim, draws=4000))


@pytest.mark.parametrize(
    ("calibration", "variant", "epsilon", "delta", "spent"),
    [
        ("tight", "gaussian", 1.0, 1e-6, 1.0),
        ("paper", "gaussian", 10.0, 1e-2, 11.9),
        ("paper", "half-noise", 1.0, 1e-6, 1.657),
    ],
)
def test_the_exact_attack_spends(calibration, variant, epsilon, delta, spent):
    exact, sampled = attacked(calibration, variant, epsilon, delta)
    assert exact["exact_bound"] == pytest.approx(spent, rel=0.01)
    assert exact["guarantee"] == ("proved" if calibration == "tight" else "none")
    assert exact["white_box_p"] > 1e-4
    assert sampled["tries"] > 0
