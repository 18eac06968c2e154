"""run_cell: the rows of one mechanism at one grid point or at a few, with what made them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dperm.errors import DataError
from dperm_pipeline import config_files, experiments, tables
from dperm_pipeline.plan import grids

# Those with a ridge multiple at both deltas; the others run at one.
SLUGS = ("objective.tight.add-remove", "objective.paper.add-remove", "output.tight.add-remove")
OTHERS = ("approximate-minima.paper.add-remove", "cms11.paper.add-remove", "gradient.tight.add-remove")
SCENARIO = "breast-cancer_epsilon-1"
ROOT = Path(__file__).parents[2]
OUT = "results/tiny/kifer2012-output/cells/it.parquet"


@pytest.fixture
def run_cell(run_script, experiment, breast_cancer, baseline):
    def run(what, slug=SLUGS[0], *, data=breast_cancer, baseline=baseline):
        names = {"scale": "tiny", "experiment": "kifer2012-output", "mechanism": slug, "scenario": SCENARIO}
        return what(
            "run_cell",
            input={"data": data, "baseline": baseline},
            output={"rows": OUT},
            params={"cells": experiment.jobs[slug, SCENARIO], "code": "digest of the code"},
            wildcards=names,
        )

    return run


def test_the_cells_are_the_ones_of_the_plan(experiment):
    assert set(experiment.cells) == set(experiment.jobs) == {(slug, SCENARIO) for slug in (*SLUGS, *OTHERS)}


@pytest.mark.parametrize("slug", SLUGS)
def test_rows_and_metadata(run_cell, run_script, experiment, breast_cancer, baseline, slug):
    run_cell(run_script, slug)
    cell = experiment.cells[slug, SCENARIO]
    told = tables.metadata(OUT)
    assert told == {"cells": [cell], "code": "digest of the code", "versions": told["versions"]}
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
    run_cell(run_script, baseline="failed.parquet")
    assert "the non-private fit did not converge" in run_script.log
    written = tables.read(OUT)
    assert written["status"].tolist() == ["failed"]
    assert written["metric"].tolist() == [tables.GIVEN_UP]
    assert written["variant"].tolist() == ["dataset=breast-cancer, epsilon=1.0"]


def test_data_that_are_gone(run_cell, run_script):
    """Snakemake never starts a job without its input, but somebody may delete it in the meantime."""
    assert "absent.parquet is gone; run again" in run_cell(run_script.fails, data="absent.parquet")


def test_an_unexpected_error_is_a_bug_and_shows_where(run_cell, run_script, monkeypatch):
    """It is no user's mistake, and its traceback is kept."""
    monkeypatch.setattr(experiments, "run", lambda cell, **files: {}[cell["mechanism"]])
    with pytest.raises(KeyError):
        run_cell(run_script)
    assert "unexpected error, please report it" in run_script.log
    assert "Traceback" in run_script.log and "KeyError: 'objective'" in run_script.log
    assert not Path(OUT).exists()


def sorted_rows(path, out):
    """Write the rows of a file again in an order of their own; return the bytes."""
    rows = tables.read(path)
    order = pd.DataFrame({name: rows[name].astype(str) for name in rows}).sort_values(list(rows)).index
    tables.write(rows.loc[order, sorted(rows)], out, metadata={})
    return Path(out).read_bytes()


def files(cell, data, baseline):
    return {"data": str(data), "baseline": str(baseline)} if "baseline" in cell else {}


@pytest.mark.parametrize("name", ["kifer2012-output", pytest.param("li2021-recycling", marks=pytest.mark.slow)])
def test_rows_do_not_depend_on_what_shares_a_job(run_script, breast_cancer, baseline, name):
    declared = config_files.parse(ROOT / f"config/experiments/{name}.yaml")
    declared["mechanisms"] = declared["mechanisms"][:1]
    declared["settings"]["tiny"]["repeats"] = 3
    collected, alone = [], {}
    for k, epsilon in enumerate(([0.5, 1.0, 3.0], [[3.0, 0.5], 1.0])):
        declared["grid"]["tiny"]["epsilon"] = epsilon
        paths = []
        for (slug, scenario), cells in grids.expand(declared, "tiny", 5, {}).jobs.items():
            paths.append(f"{k}/cells/{slug}/{scenario}.parquet")
            run_script(
                "run_cell",
                input={"data": [], "baseline": []} | files(cells[0], breast_cancer, baseline),
                output={"rows": paths[-1]},
                params={"cells": cells, "code": "digest of the code"},
                wildcards={"scale": "tiny", "experiment": name, "mechanism": slug, "scenario": scenario},
            )
            rows = tables.read(paths[-1]).astype(object)
            if k == 0:
                alone[cells[0]["point"]["epsilon"]] = rows
            # One cell after the other.
            expected = [alone[cell["point"]["epsilon"]] for cell in cells]
            pd.testing.assert_frame_equal(rows, pd.concat(expected, ignore_index=True))
            assert tables.metadata(paths[-1])["cells"] == cells
        tables.collect(paths, f"{k}/rows.parquet", metadata={})
        collected.append(sorted_rows(f"{k}/rows.parquet", f"{k}/sorted.parquet"))
    assert collected[0] == collected[1]


def test_a_job_says_which_of_its_cells_failed_and_writes_nothing(run_cell, run_script, experiment, monkeypatch):
    cell = experiment.cells[SLUGS[0], SCENARIO]
    other = {**cell, "point": {**cell["point"], "epsilon": 3.0}}
    real = experiments.run

    def run(cell, **files):
        if cell["point"]["epsilon"] == 3.0:
            raise DataError("made to fail")
        return real(cell, **files)

    monkeypatch.setattr(experiments, "run", run)
    monkeypatch.setitem(experiment.jobs, (SLUGS[0], SCENARIO), [cell, other])
    log = run_cell(run_script.fails)
    assert log.index("cell 2 of 2: dataset=breast-cancer, epsilon=3.0") < log.index("error: made to fail")
