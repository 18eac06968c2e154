"""jain2013 beside random Fourier features: what is measured, against the laws of the noise and scikit-learn."""

import math

import cells
import numpy as np
import pytest
from chosen_rows import of

from dperm import noise
from dperm.accounting import gaussian
from dperm_papers.jain2013.fourier import experiment as fourier
from dperm_pipeline import experiments
from dperm_pipeline.datasets import prepared, synthetic

TOTAL, DELTA = 20.0, 1e-6
SETTINGS = {
    "row_splits": {"covertype-like": [250, 40, 120]}, "repeats": 2, "draws": 60, "tilted_draws": 3,
    "epsilons": [1.0], "features": [6, 40],
    "queries": [30], "public_points": 30, "total": TOTAL, "bandwidth": 0.5, "delta": DELTA, "tolerance": 1e-6,
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("fourier") / "data.parquet"
    prepared.write(synthetic.covertype_like(420, 1), path)
    cell = cells.cell("jain2013-fourier", SETTINGS, seed=3, point={"dataset": "covertype-like"})
    return experiments.run(cell, data=str(path))


def mean(frame, **where):
    frame = of(frame, **where)
    assert len(frame) == 2
    return frame["value"].mean()


def test_every_method_is_measured_at_every_number_of_features(found):
    assert set(found["status"]) == {"ok"}
    assert set(found["features"]) == {6, 40}
    private = found[(found["mechanism"] == "random_features") & (found["metric"] == "accuracy")]
    assert set(private["variant"]) == set(fourier.WAYS)
    assert set(private.loc[private["calibration"] == "paper", "delta"]) == {0.0}
    assert set(private.loc[private["calibration"] == "tight", "delta"]) == {DELTA}


@pytest.mark.parametrize("p", [6, 40])
def test_the_errors_are_those_of_the_noise(found, p):
    """z has length 1, so noise N(0, s^2 I) moves a prediction by N(0, s^2)."""
    scale = 2 / TOTAL / gaussian.gaussian_ratio(1.0, DELTA)
    measured = mean(found, variant="gaussian_output", metric="error", features=p)
    assert measured == pytest.approx(scale * math.sqrt(2 / math.pi), rel=0.2)
    each = 2**2.5 * math.sqrt(p / 2) / TOTAL
    drawn = np.abs(noise.Laplace(each).sample((4000, p), np.random.default_rng(0)) @ np.full(p, 1 / math.sqrt(p)))
    assert mean(found, variant="laplace_output", metric="error", features=p) == pytest.approx(drawn.mean(), rel=0.3)


def test_more_features_are_nearer_to_the_kernel(found):
    few, many = (mean(found, variant="machine", metric="apart", features=p) for p in (6, 40))
    # A product of features is a mean of p/2 cosines.
    assert few / many == pytest.approx(math.sqrt(40 / 6), rel=0.5)
