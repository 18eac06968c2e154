"""Run the script of one rule alone, with the object that Snakemake would give it; and plan the workflow in process."""

import functools
import logging
import runpy
import shutil
import warnings
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.api import SnakemakeApi
from snakemake.iocontainers import InputFiles, Log, OutputFiles, Params, ResourceList, Snakemake, Wildcards
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

from dperm_pipeline import experiments, plan, tables
from dperm_pipeline.datasets import prepare, prepared

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "workflow/scripts"


class Workflow:
    """A copy of the project's workflow, planned by Snakemake itself in this process; nothing is run."""

    def __init__(self, folder: Path):
        self.folder = folder
        parts = ("Snakefile", "CITATION.cff", "config", "workflow", "src/dperm_pipeline/report", "resources/claims")
        for part in (
            *parts,
            "docs/errata.md",
            "docs/assets/libraries.jsonl",
            "src/dperm_papers/frontier/linear/elsewhere.jsonl",
        ):
            source, target = ROOT / part, folder / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, target)

    @contextmanager
    def _dag(self, targets, config):
        with (
            pytest.MonkeyPatch.context() as environment,
            SnakemakeApi(OutputSettings(dryrun=True, enable_file_logging=False)) as api,
        ):
            # What is in a mirror decides what is planned.
            environment.delenv("DPERM_MIRROR", raising=False)
            workflow = api.workflow(
                ResourceSettings(cores=1),
                config_settings=ConfigSettings(config=config),
                snakefile=self.folder / "Snakefile",
                workdir=self.folder,
            )
            yield workflow, workflow.dag(DAGSettings(targets=set(targets)))

    def rules(self) -> dict:
        """Return the rules as Snakemake understood them, by name."""
        with self._dag((), {}) as (workflow, _):
            return {rule.name: rule for rule in workflow._workflow.rules}

    def jobs(self, *targets: str, **config) -> list[SimpleNamespace]:
        """Return the jobs of a dry run (without targets: of `all`), as plain values."""
        with self._dag(targets, {"scale": "tiny", **config}) as (workflow, dag):
            dag.execute_workflow(executor="dryrun")
            return [
                SimpleNamespace(
                    rule=job.rule.name,
                    input=[str(path) for path in job.input],
                    output=[str(path) for path in job.output],
                    log=[str(path) for path in job.log],
                    benchmark=str(job.benchmark),
                    message=job.message,
                    params=dict(job.params.items()),
                    threads=job.threads,
                    resources=dict(job.resources.items()),
                )
                for job in workflow._workflow.dag.jobs
            ]


@pytest.fixture(scope="session")
def workflow(tmp_path_factory) -> Workflow:
    """The workflow as it is in the project; whoever asks for the same jobs gets the same plan."""
    made = Workflow(tmp_path_factory.mktemp("workflow"))
    made.jobs = functools.cache(made.jobs)
    return made


@pytest.fixture
def own_workflow(tmp_path) -> Workflow:
    """The workflow, to edit."""
    return Workflow(tmp_path / "workflow")


@pytest.fixture(scope="session")
def rules(workflow) -> dict:
    """The rules as Snakemake understood them, by name."""
    return workflow.rules()


def _named(kind, given):
    """Return names and values as Snakemake holds them; a list of files becomes many items under one name."""
    named = kind()
    for name, value in given.items():
        if isinstance(value, list) and kind is not Params:
            named.extend(map(str, value))
            named._set_name(name, len(named) - len(value), end=len(named))
        else:
            named.append(value if kind is Params else str(value))
            named._add_name(name)
    return named


class Runner:
    """Runs the script of a rule in this process.

    The names given must be the names that the rule declares, so that no test runs a script in a way in which Snakemake
    would not. `log` is what the last script left in its log file.
    """

    def __init__(self, folder: Path, rules: dict):
        self.folder, self.rules, self.log = folder, rules, ""

    def __call__(self, name, *, input=None, output, params=None, wildcards=None, config=None):
        rule = self.rules[name]
        parts = {"input": input or {}, "output": output, "params": params or {}}
        for part, given in parts.items():
            assert set(given) == set(getattr(rule, part).keys()), f"{part} of the rule {name}"
        assert set(wildcards or {}) == set(rule.wildcard_names), f"wildcards of the rule {name}"
        log = self.folder / "logs" / f"{name}.log"
        given = Snakemake(
            _named(InputFiles, parts["input"]),
            _named(OutputFiles, parts["output"]),
            _named(Params, parts["params"]),
            _named(Wildcards, wildcards or {}),
            threads=1,
            resources=ResourceList(fromdict={"mem_mb": rule.resources["mem_mb"].value}),
            log=_named(Log, {"log": log}),
            config=dict(config or {}),
            rulename=name,
            bench_iteration=None,
        )
        with _logging_of_its_own():
            try:
                script = SCRIPTS / Path(rule.script).name
                runpy.run_path(str(script), init_globals={"snakemake": given}, run_name="__main__")
            finally:
                self.log = log.read_text(encoding="utf-8")

    def fails(self, name, *, output, leaves=(), **parts) -> str:
        """Run a script that must end with status 1, say why in its log, and write no output; return the log.

        `leaves`: outputs that were there before, and must be there still.
        """
        with pytest.raises(SystemExit) as ended:
            self(name, output=output, **parts)
        assert ended.value.code == 1
        assert "error: " in self.log
        assert "Traceback" not in self.log
        made = [given if isinstance(given, list) else [given] for given in output.values()]
        paths = [Path(path) for given in made for path in given]
        assert {path for path in paths if path.exists()} == {Path(path) for path in leaves}
        # No temporary file beside them either.
        for path in paths:
            assert list(path.parent.glob(".*")) == [], path.parent
        return self.log


@contextmanager
def _logging_of_its_own():
    """A script sets up logging for a process of its own: give the tests' back afterwards."""
    root = logging.getLogger()
    handlers, level, form = root.handlers[:], root.level, warnings.formatwarning
    # Taken away, so that the script's set-up does not close pytest's.
    root.handlers[:] = []
    try:
        yield
    finally:
        logging.captureWarnings(False)
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        warnings.formatwarning = form


@pytest.fixture
def run_script(tmp_path, monkeypatch, rules) -> Runner:
    """A runner of scripts, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DPERM_MIRROR", raising=False)
    return Runner(tmp_path, rules)


@pytest.fixture(scope="module")
def run_once(tmp_path_factory, rules):
    """Such a runner for all tests of a module; they take what they need from its folder."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("once")
        patch.chdir(folder)
        patch.delenv("DPERM_MIRROR", raising=False)
        yield Runner(folder, rules)


@pytest.fixture(scope="session")
def tiny() -> plan.Plan:
    """The project's configuration at scale tiny."""
    audit = {"draws": dict.fromkeys(plan.SCALES, 400), "confidence": 0.95, "level": 0.05}
    return plan.load({"scale": "tiny", "papers": ["kifer2012"], "seed": 5, "mirror": None, "audit": audit}, ROOT)


@pytest.fixture(scope="session")
def experiment(tiny) -> plan.Experiment:
    """kifer2012-output at scale tiny: three cells on one data set."""
    return tiny.experiments["tiny", "kifer2012-output"]


@pytest.fixture(scope="session")
def catalogue(tiny) -> dict:
    """The data sets of the catalogue, by name."""
    return tiny.datasets


@pytest.fixture(scope="session")
def breast_cancer(catalogue, tmp_path_factory) -> Path:
    """The prepared data set, made without a script."""
    path = tmp_path_factory.mktemp("prepared") / "breast-cancer.parquet"
    prepared.write(prepare.prepare(catalogue["breast-cancer"]), path)
    return path


@pytest.fixture(scope="session")
def baseline(experiment, breast_cancer, tmp_path_factory) -> Path:
    """The rows of the non-private fit, made without a script."""
    path = tmp_path_factory.mktemp("baselines") / "breast-cancer.parquet"
    rows = experiments.run_baseline(experiment.baselines["breast-cancer"], data=str(breast_cancer))
    tables.write(rows, path, metadata={})
    return path
