"""Solvers that do not converge: rows, figures, verdicts and report say what is missing, and the other cells go on."""

import functools
import inspect
import re
import subprocess
import sys

import pytest
import yaml
from project_copies import ROOT

from dperm.mechanisms.napp import limit as napp_limit
from dperm.solvers import ball, composite, cubic, gram, kernel, newton
from dperm_pipeline import claims, experiments, figures, plan, tables
from dperm_pipeline.claims import catalogue as claimed_in
from dperm_pipeline.datasets import catalogue, fetch, prepare, prepared

CELL = "results/tiny/kifer2012-output/cells/{}/breast-cancer_epsilon-1.parquet"
# One solver gives up altogether; the other returns what it has, with its certificate.
GIVES_UP = """    if cell.mechanism == "output":
        raise SolverError("certified to 0.5 only")
"""


def words_of(svg):
    """What a figure says: matplotlib draws letters as curves, and writes the words beside them in comments."""
    return " ".join(" ".join(re.findall(r"<!--(.*?)-->", svg.read_text(encoding="utf-8"), re.DOTALL)).split())


@pytest.mark.faults
def test_a_run_with_solvers_that_fail_ends_well_and_says_what_is_missing(finished):
    folder, undisturbed = finished.folder, finished.results()
    good = (folder / "src/dperm_papers/kifer2012/output/experiment.py").read_text(encoding="utf-8")
    module, head = (
        "src/dperm_papers/kifer2012/output/experiment.py",
        "    problem, settings = cut(cell), cell",
    )
    finished.edit(module, head, GIVES_UP + head)
    finished.edit(module, "excess, private.converged", 'excess, private.converged & (cell.mechanism != "cms11")')
    finished.run()
    given_up = tables.read(folder / CELL.format("output.tight.add-remove"))
    assert given_up[["metric", "status"]].values.tolist() == [[tables.GIVEN_UP, "failed"]]
    failed = tables.read(folder / CELL.format("cms11.paper.add-remove"))
    assert set(failed.loc[failed["metric"] == "excess_risk", "status"]) == {"failed"}
    certificates = failed.loc[failed["metric"] == "certificate", "value"]
    assert len(certificates) and certificates.notna().all()
    # Others went on, with the numbers that they always had.
    other = "results/tiny/kifer2012-output/cells/gradient.tight.add-remove/breast-cancer_epsilon-1.parquet"
    (folder / "undisturbed.parquet").write_bytes(undisturbed[other])
    assert tables.read(folder / other).equals(tables.read(folder / "undisturbed.parquet"))
    where = "output.tight at dataset=breast-cancer, epsilon=1.0"
    assert where in words_of(folder / "results/tiny/figures/kifer2012-output.svg")
    verdicts = claims.read(folder / "results/tiny/claims.parquet")
    judged = verdicts[verdicts["experiment"] == "kifer2012-output"]
    assert not set(judged["verdict"]) & {"reproduced", "not reproduced"}
    assert where in " ".join(judged["reason"])
    # The table of files of the report counts them.
    page = (folder / "results/tiny/report/provenance.html").read_text(encoding="utf-8")
    lost = int((tables.read(folder / "results/tiny/kifer2012-output/rows.parquet")["status"] == "failed").sum())
    assert re.search(rf'data-file="kifer2012-output/rows.parquet".*?data-name="failed"[^>]*>{lost}<', page, re.DOTALL)
    closing = [sys.executable, "-m", "dperm_pipeline.report", "--config", "scale=tiny"]
    said = subprocess.run(closing, cwd=folder, env=finished.environment, capture_output=True, text=True, check=True)
    assert re.search(
        rf"^not converged: \d+ of \d+ rows of kifer2012-output; whole cells: {re.escape(where)}$", said.stdout, re.M
    )
    # With a solver that converges all is as if nothing had been.
    (folder / module).write_text(good, encoding="utf-8")
    finished.run()
    assert finished.results() == undisturbed


@functools.cache
def planned():
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8")) | {"scale": "tiny"}
    return plan.load(config, ROOT, unavailable=fetch.unavailable)


@pytest.fixture
def impatient(monkeypatch):
    """Every solver gives up after its first step. (Limits inside compiled code stay: Numba would keep them on disk.)"""
    for module in (composite, cubic, gram, kernel, newton):
        defaults = inspect.unwrap(module.minimise).__kwdefaults__
        for limit in ("max_iterations", "max_epochs", "max_rounds"):
            if limit in defaults:
                monkeypatch.setitem(defaults, limit, 1)
    for module, limit in ((ball, "STEPS"), (napp_limit, "MOST")):
        monkeypatch.setattr(module, limit, 1)


# Two of each paper if there are two whose figures then lack something; True where whole cells are lost.
EXPERIMENTS = {
    "kifer2012-output": True,
    "kifer2012-theorem9": False,
    "jain2013-covertype": True,
    "dwork2018-realdata": True,
    "li2021-adult": False,
}


@pytest.mark.faults
@pytest.mark.parametrize(("name", "whole"), EXPERIMENTS.items(), ids=EXPERIMENTS)
def test_a_limit_that_cannot_be_met(name, whole, impatient, tmp_path, monkeypatch):
    monkeypatch.delenv("DPERM_MIRROR", raising=False)
    experiment = planned().experiments["tiny", name]
    data, baselines, paths = {}, {}, []
    for dataset in experiment.datasets:
        data[dataset] = str(tmp_path / f"{dataset}.parquet")
        entry = catalogue.numeric(planned().datasets[dataset])
        prepared.write(prepare.prepare(entry), data[dataset])
    for slug, cell in experiment.baselines.items():
        baselines[slug] = str(tmp_path / f"baseline-{slug}.parquet")
        rows = experiments.run_baseline(cell, data=data[cell["point"]["dataset"]])
        tables.write(rows, baselines[slug], metadata={})
    for k, cell in enumerate(experiment.cells.values()):
        files = {}
        if "baseline" in cell:
            files = {"data": data[cell["point"]["dataset"]], "baseline": baselines[cell["baseline"]]}
        paths.append(tmp_path / f"cell-{k}.parquet")
        tables.write(experiments.run(cell, **files), paths[-1], metadata={})
    collected = tmp_path / "rows.parquet"
    tables.collect([*paths, *baselines.values()], collected, metadata={})
    rows = tables.read(collected)
    failed = rows[rows["status"] == "failed"]
    assert len(failed)
    assert failed.loc[failed["metric"] != "certificate", "value"].isna().all()
    assert bool(tables.given_up(collected)) == whole
    for figure in experiment.figures:
        svg = tmp_path / f"{figure}.svg"
        figures.draw(figure, collected, svg=svg, png=tmp_path / "it.png")
    assert any("not converge" in words_of(tmp_path / f"{figure}.svg") for figure in experiment.figures)
    for table in experiment.tables:
        figures.make_table(table, collected, csv=tmp_path / "it.csv", md=tmp_path / "it.md")
    schema = ROOT / "workflow/schemas/claims.schema.yaml"
    claimed = claimed_in.load(sorted((ROOT / "resources/claims").glob("*.yaml")), schema)
    own = [claim for claim in claimed if claim["experiment"] == name and claim["test"] not in ("ledger", "weakest")]
    out = tmp_path / "claims.parquet"
    known = planned().datasets
    claims.judge(own, {name: collected}, out, unavailable={}, metadata={}, prepared=known)
    verdicts = claims.read(out)
    assert len(verdicts)
    if whole:
        assert not set(verdicts["verdict"]) & {"reproduced", "not reproduced"}
        # All but those on other prepared sets, which were not lost but never in the grid.
        judged = verdicts[~verdicts["dataset"].isin(set(known) - set(experiment.datasets))]
        assert all("whose solver did not converge" in reason for reason in judged["reason"])
