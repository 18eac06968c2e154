"""dwork2018-service: what a real server gives is what the library gives, and the exact law against drawn data sets."""

import numpy as np
import pytest
from fake_dwork2018 import service as rows_of_service
from written_anew import select

from dperm.mechanisms.prediction import soft_majority
from dperm_papers.dwork2018.service import experiment
from dperm_papers.dwork2018.service.settings import Settings
from dperm_papers.dwork2018.shared import flips


def values(rows, metric, series=""):
    return select(rows, metric=metric, series=series)["value"].tolist()


def test_the_server_gives_the_librarys_rows():
    rows = rows_of_service()
    assert values(rows, "accuracy", "served") == values(rows, "accuracy", "library")
    assert set(values(rows, "same")) == {1.0}
    # Another seed would give others: half of the answers to many queries are nearly coins.
    assert len(set(values(rows, "accuracy", "served"))) > 1


def test_two_shares_of_six_tenths_are_one_budget_and_repeats_are_free():
    rows = rows_of_service()
    found = {series: set(values(rows, "answered", series)) for series in ("first", "second", "both")}
    assert found == {"first": {0.6}, "second": {0.4}, "both": {1.0}}
    assert set(values(rows, "free")) == {1.0}


def test_the_exact_accuracy_is_that_of_drawn_data_sets():
    settings = Settings(repeats=1, queries=[10], records=800, shards=40, epsilon=3.0, delta=1e-6, share=0.6)
    rng = np.random.default_rng(0)
    drawn = np.sort(flips.thresholds(20, (3000, 40), rng), axis=1)
    x = rng.random(3000)
    one = soft_majority.probability((drawn <= x[:, None]).sum(axis=1), 40, 0.2)
    right = np.where(x >= 0.5, one, 1 - one)
    accuracy = 0.8 * right + 0.2 * (1 - right)
    error = accuracy.std() / np.sqrt(len(x))
    assert experiment.exact(settings, 0.2) == pytest.approx(accuracy.mean(), abs=5 * error)
    assert error < 0.005
