"""fit_baseline: the rows of the fit without privacy, with what made them."""

import math
from pathlib import Path

import pytest

from dperm_pipeline import experiments, tables

OUT = "results/tiny/kifer2012-output/baselines/breast-cancer.parquet"


@pytest.fixture
def fit_baseline(run_script, experiment):
    def run(what, data):
        return what(
            "fit_baseline",
            input={"data": data},
            output={"rows": OUT},
            params={"cell": experiment.baselines["breast-cancer"], "code": "digest of the code"},
            wildcards={"scale": "tiny", "experiment": "kifer2012-output", "scenario": "breast-cancer"},
        )

    return run


def test_rows_and_metadata(fit_baseline, run_script, experiment, breast_cancer):
    fit_baseline(run_script, breast_cancer)
    cell = experiment.baselines["breast-cancer"]
    told = tables.metadata(OUT)
    assert told == {"cell": cell, "code": "digest of the code", "versions": told["versions"]}
    rows = tables.read(OUT)
    expected = experiments.run_baseline(cell, data=str(breast_cancer))
    assert list(rows["metric"]) == list(expected["metric"])
    assert list(rows["value"]) == list(expected["value"])


def test_the_fit_is_better_than_no_fit(fit_baseline, run_script, breast_cancer):
    fit_baseline(run_script, breast_cancer)
    rows = tables.read(OUT).set_index("metric")
    assert set(rows["mechanism"]) == {"nonprivate"} and set(rows["guarantee"]) == {"none"}
    assert set(rows["status"]) == {"ok"} and set(rows["epsilon"]) == {math.inf}
    # At theta = 0 the logistic loss is log 2; 37 % of the records are malignant.
    assert 0 < rows.loc["risk", "value"] < 0.5 * math.log(2)
    assert 0 <= rows.loc["test_error", "value"] < 0.1


def test_a_corrupt_data_set(fit_baseline, run_script, breast_cancer):
    Path("broken.parquet").write_bytes(breast_cancer.read_bytes()[:-100])
    assert "broken.parquet is not a prepared data set" in fit_baseline(run_script.fails, "broken.parquet")


def test_a_data_set_damaged_inside(fit_baseline, run_script, breast_cancer):
    """One byte of a value is another: the page's checksum tells."""
    damaged = bytearray(breast_cancer.read_bytes())
    damaged[len(damaged) // 3] ^= 0xFF
    Path("damaged.parquet").write_bytes(damaged)
    assert "it was deleted, run again" in fit_baseline(run_script.fails, "damaged.parquet")
    assert not Path("damaged.parquet").exists()
