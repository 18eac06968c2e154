"""The digest's module list is what a job really loads: a module missing from it would make results stale."""

import base64
import json
import shutil
import subprocess
import sys

import pytest
from project_copies import Project

from dperm_pipeline import audits, claims, figures, places, plan
from dperm_pipeline.datasets import catalogue, prepare
from dperm_pipeline.report import verdicts

# Rules' scripts, each in a process of its own, with what Snakemake would give them; says which modules each loaded.
# What is not ours is imported once, before the processes part.
RUN = """
import json, os, runpy, sys
import matplotlib.figure, numba, pandas, pyarrow.parquet, scipy.stats, sklearn.linear_model

class Given(dict):
    __getattr__ = dict.__getitem__
    def __iter__(self):
        return iter(x for given in self.values() for x in (given if isinstance(given, list) else [given]))
    def __getitem__(self, key):
        return [*self][key] if isinstance(key, int) else dict.__getitem__(self, key)

for line in sys.stdin:
    child = os.fork()
    if child:
        print("ended", os.waitpid(child, 0)[1], flush=True)
        continue
    script, given = json.loads(line)
    snakemake = Given({part: Given(content) if part != "rule" else content for part, content in given.items()})
    runpy.run_path(script, init_globals={"snakemake": snakemake}, run_name="__main__")
    # A folder without code, as that of an experiment, is no module that counts.
    ours = [name for name, module in sys.modules.items() if name.startswith("dperm") and module.__file__]
    print("loaded", json.dumps(sorted(ours)), flush=True)
    os._exit(0)  # as a job of a run ends; to tidy up what is imported would take longer than most scripts do
"""
# How a job talks decides no byte of what it writes.
TALK = {"dperm_pipeline.script", "dperm.errors", "dperm_pipeline.worker"}
# The catalogue of claims is refused or left as it is: no verdict hangs on how (but on the reader of YAML, which is in).
CATALOGUE_CHECKS = {
    "dperm_pipeline.claims.catalogue", "dperm_pipeline.config_files", "dperm_pipeline.places", "dperm_pipeline.target",
}  # fmt: skip
# Ranges and words of settings, which decide no number: the values are among the params.
DECLARES = {"dperm_pipeline.settings", "dperm_papers.kifer2012.output.settings"}
DESIGNS = {name for experiment in places.experiments().values() for name in experiment.designs}
DATA, RESULTS = "resources/prepared/breast-cancer.parquet", "results/tiny"
ROWS, BASELINE = (
    f"{RESULTS}/kifer2012-output/rows.parquet",
    f"{RESULTS}/kifer2012-output/baselines/breast-cancer.parquet",
)
OWN = {
    "name": "people", "title": "People", "task": "binary", "format": "csv", "path": "people.csv", "licence": "private",
    "citation": "none", "target": {"column": "tall", "positive": "yes"}, "ranges": {"height": [100, 200]},
    "data_dependent": [],
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(finished_once, tmp_path_factory):
    """The project after one run: what is run here writes into a folder apart."""
    folder = tmp_path_factory.mktemp("digest") / "finished"
    return Project(shutil.copytree(finished_once.folder, folder, symlinks=True))


@pytest.fixture(scope="module")
def loaded(finished):
    """Return a function that runs the script of a rule on the project's files and says which modules it loaded."""
    command = [sys.executable, "-c", RUN]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=finished.folder, env=finished.environment, **pipes) as process:

        def run(rule, *, output, input=None, params=None, wildcards=None):
            shutil.rmtree(finished.folder / "apart", ignore_errors=True)
            given = {
                "rule": rule,
                "input": input or {},
                "output": {
                    name: [f"apart/{path}" for path in given] if isinstance(given, list) else f"apart/{given}"
                    for name, given in output.items()
                },
                "params": {"code": "", **(params or {})},
                "wildcards": wildcards or {},
                "resources": {},
                "log": {"log": "apart/log"},
            }
            process.stdin.write(json.dumps([f"workflow/scripts/{rule}.py", given]) + "\n")
            process.stdin.flush()
            said = [""]
            while not said[-1].startswith("ended "):
                said.append(process.stdout.readline())
                assert said[-1], "it ended, and why is on stderr"
            assert said[-1] == "ended 0\n", "why is on stderr"
            assert all((finished.folder / path).stat().st_size for path in paths_of(given["output"]))
            return set(json.loads(said[-2].removeprefix("loaded ")))

        yield run
        process.stdin.close()
    assert process.returncode == 0


def paths_of(outputs):
    return [path for given in outputs.values() for path in (given if isinstance(given, list) else [given])]


def assert_same(roots, found, no_matter=frozenset()):
    """The digest's modules are those that were loaded, but for those that do not matter and are not in it."""
    listed = set(plan.modules(*roots))
    assert no_matter <= found and not no_matter & listed
    assert not DECLARES & listed
    assert listed == found - DECLARES - ((TALK | no_matter) - listed)


def recorded(project, output):
    """Return what Snakemake remembers of the params of the job that made this output."""
    name = base64.b64encode(output.encode()).decode()
    record = json.loads((project.folder / ".snakemake/metadata" / name).read_text(encoding="utf-8"))
    return record["params"]


@pytest.fixture(scope="module")
def declared(finished):
    audit = {"draws": dict.fromkeys(plan.SCALES, 400), "confidence": 0.95, "level": 0.05}
    return plan.load({"scale": "tiny", "papers": ["kifer2012"], "seed": 1, "audit": audit}, finished.folder)


@pytest.mark.slow
def test_cells(finished, declared, loaded):
    for (slug, scenario), cell in declared.experiments["tiny", "kifer2012-output"].cells.items():
        roots = plan.cell_modules("kifer2012-output", cell["mechanism"])
        rows = f"{RESULTS}/kifer2012-output/cells/{slug}/{scenario}.parquet"
        found = loaded(
            "run_cell",
            input={"data": DATA, "baseline": BASELINE},
            output={"rows": rows},
            params={"cells": [cell]},
        )
        assert_same(roots, found)
        assert repr(plan.code_digest(*roots)) in recorded(finished, rows)


@pytest.mark.slow
def test_baselines(finished, declared, loaded):
    roots = plan.cell_modules("kifer2012-output")
    for cell in declared.experiments["tiny", "kifer2012-output"].baselines.values():
        found = loaded("fit_baseline", input={"data": DATA}, output={"rows": BASELINE}, params={"cell": cell})
        assert_same(roots, found)
        assert repr(plan.code_digest(*roots)) in recorded(finished, BASELINE)


@pytest.mark.slow
def test_audits(finished, declared, loaded):
    """One job of each family; of the objective's the one on a line, which loads no scikit-learn."""
    jobs = ("objective.tight", "saturating"), ("output.paper", "linear"), ("exp-mech.tight", "shifted")
    for key in (*jobs, ("mutants", "data")):
        job = declared.audits["tiny"][key]
        rows = f"{RESULTS}/audits/{key[0]}/{key[1]}.parquet"
        found = loaded("run_audit", output={"rows": rows}, params={"audits": [job]})
        assert_same(audits.modules([job]), found)
        assert repr(plan.code_digest(*audits.modules([job]), packages=("threadpoolctl",))) in recorded(finished, rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast-cancer", "people", "digits", "diabetes"])
def test_prepared_data(finished, declared, loaded, name):
    (finished.folder / "people.csv").write_text("height,tall\n110,no\n190,yes\n", encoding="utf-8")
    entry = {**declared.datasets, "people": OWN}[name]
    roots = "dperm_pipeline.datasets.prepare", prepare.module(entry)
    found = loaded(
        "prepare_dataset",
        input={"files": entry["path"]} if "path" in entry else {},
        output={"data": f"resources/prepared/{name}.parquet"},
        params={"entry": catalogue.numeric(entry), "folder": None, "trusted": None},
    )
    assert_same(roots, found)
    if name == "breast-cancer":
        assert repr(plan.code_digest(*roots)) in recorded(finished, DATA)


def others():
    """Rule -> (roots of its digest, packages of its digest, what it needs besides, modules that do not count)."""
    experiment, page = "kifer2012-output", f"{RESULTS}/report"
    drawn = {"svg": f"{RESULTS}/figures/{experiment}.svg", "png": f"{RESULTS}/figures/{experiment}.png"}
    made = {"csv": f"{RESULTS}/tables/{experiment}.csv", "md": f"{RESULTS}/tables/{experiment}.md"}
    claims, config = {"claims": f"{RESULTS}/claims.parquet"}, {"config": f"{RESULTS}/config.yaml"}
    yield (
        "collect_rows",
        ("dperm_pipeline.tables",),
        (),
        {
            "input": {"cells": [], "baselines": [BASELINE]},
            "output": {"rows": ROWS},
            "params": {"skipped": {}, "seed": 1, "made": None},
        },
        set(),
    )
    # A figure and a table of the experiment: the modules are those of all that it draws.
    yield "draw", figures.modules(experiment), ("matplotlib",), {
        "input": {"rows": ROWS, "elsewhere": []},
        "output": {"svg": [drawn["svg"]], "png": [drawn["png"]], "csv": [made["csv"]], "md": [made["md"]]},
        "params": {"figures": {experiment: []}, "tables": {experiment: []}},
    }, set()  # fmt: skip
    yield "judge_claims", ("dperm_pipeline.claims", "dperm.yaml_files"), (), {
        "input": {
            "catalogue": ["resources/claims/kifer2012.yaml"],
            "schema": "workflow/schemas/claims.schema.yaml",
            "rows": [ROWS],
            "privacy": f"{RESULTS}/privacy.parquet",
        },
        "output": claims,
        "params": {
            "papers": ["kifer2012"], "seed": 1, "skipped": {},
            "datasets": ["adult", "breast-cancer", "diabetes", "digits", "hadamard", *DESIGNS], "prepared": ["adult"],
        },
    }, CATALOGUE_CHECKS  # fmt: skip
    yield "collect_privacy_ledger", ("dperm_pipeline.audits.ledger",), (), {
        "input": {
            "attacks": [f"{RESULTS}/audits/output.tight/linear.parquet"],
            "mutants": [f"{RESULTS}/audits/mutants/data.parquet"],
            "rows": [ROWS],
        },
        "output": {"privacy": f"{RESULTS}/privacy.parquet", "mutants": f"{RESULTS}/mutants.parquet"},
        "params": {"confidence": 0.95, "level": 0.05, "seed": 1, "errata": [], "made": None},
    }, set()  # fmt: skip
    yield "write_config", ("dperm_pipeline.files",), (), {"output": config, "params": {"resolved": {"seed": 1}}}, set()
    yield "build_report", ("dperm_pipeline.report", *places.reported()), ("itables", "jinja2", "vl-convert-python"), {
        "input": {
            **claims, **config, "privacy": f"{RESULTS}/privacy.parquet", "mutants": f"{RESULTS}/mutants.parquet",
            "rows": [ROWS], "figures": [drawn["svg"]], "tables": [made["md"]], "data": [DATA],
            "elsewhere": [], "audited": [], "errata": "docs/errata.md", "citation": "CITATION.cff",
        },
        "output": {"folder": page},
        "params": {"skipped": {}, "origins": {}, "planned": []},
        "wildcards": {"scale": "tiny"},
    }, set()  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "roots", "packages", "given", "no_matter"), [pytest.param(*row, id=row[0]) for row in others()]
)
def test_other_rules(finished, loaded, rule, roots, packages, given, no_matter):
    found = loaded(rule, **given)
    if rule == "build_report":
        # What a figure's words load when it is drawn is listed too: the report shows what was drawn.
        found |= {
            name for name in plan.modules(*roots) if ".drawing" in name or name.startswith("dperm_pipeline.figures")
        }
    assert_same(roots, found, no_matter)
    for output in paths_of(given["output"]):
        assert repr(plan.code_digest(*roots, packages=packages)) in recorded(finished, output)


@pytest.mark.slow
def test_one_claim(loaded):
    """Its verdict in words, too; nobody asks for it in a run of all."""
    given = {
        "input": {
            "catalogue": ["resources/claims/kifer2012.yaml"],
            "schema": "workflow/schemas/claims.schema.yaml",
            "rows": [ROWS],
            "privacy": [],
        },
        "output": {"claims": f"{RESULTS}/claims/K-c38.parquet", "words": f"{RESULTS}/claims/K-c38.md"},
        "params": {
            "papers": ["kifer2012"], "seed": 1, "skipped": {},
            "datasets": ["adult", "breast-cancer", "diabetes", "digits", "hadamard", *DESIGNS], "prepared": ["adult"],
        },
        "wildcards": {"scale": "tiny", "claim": "K-c38"},
    }  # fmt: skip
    roots = "dperm_pipeline.claims", "dperm_pipeline.claims.words", "dperm.yaml_files"
    assert_same(roots, loaded("judge_claim", **given), CATALOGUE_CHECKS)


@pytest.mark.slow
def test_the_command_of_a_claim_decides_it_alone_and_makes_nothing_else(finished):
    """The command that the report prints, in a run that is there."""
    command = verdicts.command("K-c38", "tiny").split()
    assert command[0] == "snakemake"
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=finished.folder, env=finished.environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 of 1 steps (100%) done" in done.stderr
    alone, among = (
        claims.read(finished.folder / RESULTS / path) for path in ("claims/K-c38.parquet", "claims.parquet")
    )
    assert len(alone) and alone.equals(among[among["id"] == "K-c38"].reset_index(drop=True))


def test_one_mechanism_does_not_load_the_other():
    objective = plan.modules(*plan.cell_modules("kifer2012-output", "objective"))
    output = plan.modules(*plan.cell_modules("kifer2012-output", "output"))
    assert "dperm.mechanisms.output" not in objective
    assert "dperm.mechanisms.objective" not in output
    assert plan.code_digest(*objective) != plan.code_digest(*output)
