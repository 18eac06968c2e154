"""run_cell: the rows of one mechanism at one grid point, with what made them."""

from pathlib import Path

import numpy as np
import pytest

from dperm import experiments, tables

# Those with a ridge multiple at both deltas; the others run at one.
SLUGS = ("objective.tight.add-remove", "objective.paper.add-remove", "output.tight.add-remove")
OTHERS = ("approximate-minima.paper.add-remove", "cms11.paper.add-remove", "gradient.tight.add-remove")
SCENARIO = "breast-cancer_epsilon-1"
OUT = "results/tiny/kifer2012-output/cells/it.parquet"


@pytest.fixture
def run_cell(run_script, experiment, breast_cancer, baseline):
    def run(what, slug=SLUGS[0], *, data=breast_cancer, baseline=baseline):
        names = {"scale": "tiny", "experiment": "kifer2012-output", "mechanism": slug, "scenario": SCENARIO}
        return what(
            "run_cell",
            input={"data": data, "baseline": baseline},
            output={"rows": OUT},
            params={"cell": experiment.cells[slug, SCENARIO], "code": "digest of the code"},
            wildcards=names,
        )

    return run


def test_the_cells_are_the_ones_of_the_plan(experiment):
    assert set(experiment.cells) == {(slug, SCENARIO) for slug in (*SLUGS, *OTHERS)}


@pytest.mark.parametrize("slug", SLUGS)
def test_rows_and_metadata(run_cell, run_script, experiment, breast_cancer, baseline, slug):
    run_cell(run_script, slug)
    cell = experiment.cells[slug, SCENARIO]
    told = tables.metadata(OUT)
    assert told == {"cell": cell, "code": "digest of the code", "versions": told["versions"]}
    rows, expected = tables.read(OUT), experiments.run(cell, data=str(breast_cancer), baseline=str(baseline))
    for column in expected.columns:
        assert list(rows[column]) == list(expected[column]), column
    settings = cell["settings"]
    points = len(settings["deltas"]) * len(settings["ridge_multiples"])
    assert len(rows) == points * (4 * settings["repeats"] + settings["tuning_repeats"])
    assert set(rows["metric"]) == {"excess_risk", "test_loss", "test_error", "certificate", "tuning_loss"}
    # The baseline is the minimum: nobody is below it by more than its solver's tolerance.
    assert rows.loc[rows["metric"] == "excess_risk", "value"].min() > -1e-8
    # Exactly one ridge multiple is chosen at each delta.
    chosen = rows[rows["chosen"]].groupby("delta", observed=True)["ridge_multiple"].nunique()
    assert chosen.to_dict() == dict.fromkeys(settings["deltas"], 1)


def test_again_gives_the_same_bytes(run_cell, run_script):
    bytes_of = []
    for _ in range(2):
        np.random.seed(len(bytes_of))  # noqa: NPY002 - the global state must not matter
        run_cell(run_script)
        bytes_of.append(Path(OUT).read_bytes())
        Path(OUT).unlink()
    assert bytes_of[0] == bytes_of[1]


def test_corrupt_data(run_cell, run_script, breast_cancer):
    Path("broken.parquet").write_bytes(breast_cancer.read_bytes()[:1000])
    assert "broken.parquet is not a prepared data set" in run_cell(run_script.fails, data="broken.parquet")


def test_a_corrupt_baseline(run_cell, run_script):
    Path("broken.parquet").write_bytes(b"not parquet")
    assert "broken.parquet is not a readable Parquet file" in run_cell(run_script.fails, baseline="broken.parquet")


def test_a_baseline_that_did_not_converge(run_cell, run_script, baseline):
    rows = tables.read(baseline).assign(status="failed")
    tables.write(rows, "failed.parquet", metadata={})
    assert "the non-private fit did not converge" in run_cell(run_script.fails, baseline="failed.parquet")


def test_an_unexpected_error_is_a_bug_and_shows_where(run_cell, run_script):
    """Snakemake never starts a job without its input: this is no user's mistake, and its traceback is kept."""
    with pytest.raises(FileNotFoundError):
        run_cell(run_script, data="absent.parquet")
    assert "unexpected error, please report it" in run_script.log
    assert "Traceback" in run_script.log and "absent.parquet" in run_script.log
    assert not Path(OUT).exists()
