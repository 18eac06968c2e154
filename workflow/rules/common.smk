# The plan, and the functions by which rules look things up in it. Nothing is computed here.
from functools import cache
from pathlib import Path

from snakemake import benchmark as sampling
from snakemake.exceptions import WorkflowError

from dperm_pipeline import (
    audits,
    experiments,
    figures,
    files,
    forked,
    one_run,
    places,
    plan,
    stamps,
)
from dperm_pipeline.datasets import checksums, fetch, prepare
from dperm.errors import ConfigError, RunGoingOn

# Snakemake looks twice a second at the memory of each young job, for a fiftieth of all CPU time; logs say the true peak.
sampling.BENCHMARK_INTERVAL_SHORT = 10.0

try:
    PLAN = plan.load(config, workflow.basedir, unavailable=fetch.unavailable)
except ConfigError as error:
    raise WorkflowError(str(error))


onstart:
    one_run.heed_signals()
    # Before the first file is deleted: of two runs at one scale, one must go; and a disk must be fit to write on.
    try:
        one_run.hold(PLAN.scale)
    except (RunGoingOn, OSError) as error:
        raise WorkflowError(str(error))
    files.settle(path for job in workflow.dag.needrun_jobs() for path in job.input)
    for folder in folders_written():
        if why := one_run.unwritable(folder):
            raise WorkflowError(why)
    # What jobs hold the code that they load against; the Snakemake of a job on a cluster runs with --no-hooks.
    plan.announce()
    if workflow.local_exec:
        try:
            jobs = [job for job in workflow.dag.needrun_jobs() if job.output]
            forking = forked.start(len(jobs), "snakemake.script")
        except ConfigError as error:
            raise WorkflowError(str(error))
        # Snakemake starts scripts with the Python that it runs in.
        sys.executable = forking or sys.executable


for reason in sorted(set(PLAN.skipped(PLAN.scale).values())):
    print(f"skipped: {reason}", file=sys.stderr)


wildcard_constraints:
    scale="|".join(plan.SCALES),
    experiment="[a-z0-9-]+",
    mechanism="[a-z0-9.-]+",
    scenario="[A-Za-z0-9_.-]+",
    dataset="[a-z0-9-]+",
    pair="[a-z0-9_-]+",
    claim="[KJDN]-c[0-9]{2}[a-z]?",


def experiment_of(wildcards):
    try:
        return PLAN.experiments[wildcards.scale, wildcards.experiment]
    except KeyError:
        known = ", ".join(e.name for e in PLAN.of_scale(wildcards.scale))
        raise WorkflowError(
            f"no experiment {wildcards.experiment!r} among the selected papers; there are: {known}"
        )


def job_of(wildcards):
    """The cells of a job, in order: of one mechanism, on one data set or on data that each makes itself."""
    jobs = experiment_of(wildcards).jobs
    if (wildcards.mechanism, wildcards.scenario) not in jobs:
        raise WorkflowError(
            f"{wildcards.experiment} has no cell {wildcards.mechanism}/{wildcards.scenario} at scale "
            f"{wildcards.scale}; add it to config/experiments/{wildcards.experiment}.yaml"
        )
    return jobs[wildcards.mechanism, wildcards.scenario]


def baseline_of(wildcards):
    return experiment_of(wildcards).baselines[wildcards.scenario]


def folders_written():
    """By the jobs of this run; Snakemake itself would end with a traceback where it cannot write."""
    products = (path for job in workflow.dag.needrun_jobs() for path in job.products())
    return sorted({str(Path(*Path(path).parts[:2])) for path in products})


@cache
def checksum_of(path):
    """Of a file that people edit: its time says little after a clock went wrong, or a copy that keeps times."""
    path = Path(workflow.basedir, path)
    return checksums.sha256(path) if path.is_file() else "missing"


def checksums_of(*paths):
    return {str(path): checksum_of(path) for path in paths}


def files_of(wildcards):
    """What a data set is prepared from: its download's receipt, a user's own file, or nothing where it is bundled."""
    entry = PLAN.datasets[wildcards.dataset]
    if entry.get("files"):
        return [f"resources/downloads/{wildcards.dataset}.json"]
    return [entry["path"]] if "path" in entry else []


def prepared_dataset_of(cell):
    return f"resources/prepared/{cell['point']['dataset']}.parquet"


def input_of_job(kind, wildcards):
    """A data set or the baseline on it, or nothing where the cells make their own data."""
    cell = job_of(wildcards)[0]
    if "baseline" not in cell:
        return []
    if kind == "data":
        return prepared_dataset_of(cell)
    return f"results/{wildcards.scale}/{wildcards.experiment}/baselines/{cell['baseline']}.parquet"


def cells_of(wildcards):
    return [
        f"results/{wildcards.scale}/{wildcards.experiment}/cells/{mechanism}/{scenario}.parquet"
        for mechanism, scenario in experiment_of(wildcards).jobs
    ]


def baselines_of(wildcards):
    return [
        f"results/{wildcards.scale}/{wildcards.experiment}/baselines/{scenario}.parquet"
        for scenario in experiment_of(wildcards).baselines
    ]


def made_of_experiment(wildcards):
    """From each cell and baseline of an experiment to the fingerprint of the job that must have made it."""
    experiment = experiment_of(wildcards)
    folder = f"results/{wildcards.scale}/{wildcards.experiment}"
    return {
        f"{folder}/cells/{mechanism}/{scenario}.parquet": stamps.fingerprint(
            {"cells": cells}
        )
        for (mechanism, scenario), cells in experiment.jobs.items()
    } | {
        f"{folder}/baselines/{scenario}.parquet": stamps.fingerprint({"cell": cell})
        for scenario, cell in experiment.baselines.items()
    }


def made_of_audits(wildcards):
    return {
        f"results/{wildcards.scale}/audits/{mechanism}/{pair}.parquet": stamps.fingerprint(
            {"audits": audits}
        )
        for (mechanism, pair), audits in PLAN.audit_jobs[wildcards.scale].items()
    }


def audit_job_of(wildcards):
    """The audits of a job, in order: of one mechanism, or of mutants."""
    jobs = PLAN.audit_jobs[wildcards.scale]
    if (wildcards.mechanism, wildcards.pair) not in jobs:
        known = ", ".join(sorted(f"{mechanism}/{pair}" for mechanism, pair in jobs))
        raise WorkflowError(
            f"no audit {wildcards.mechanism}/{wildcards.pair} in config/audits.yaml; there are: {known}"
        )
    return jobs[wildcards.mechanism, wildcards.pair]


def audits_of(mutants):
    """What the ledger of mechanisms, or the one of mutants, is collected from."""
    return lambda wildcards: [
        f"results/{wildcards.scale}/audits/{mechanism}/{pair}.parquet"
        for mechanism, pair in PLAN.audit_jobs[wildcards.scale]
        if (mechanism == plan.MUTANTS) == mutants
    ]


def drawings():
    """From each experiment, and each ledger, to the names of the figures and tables that are drawn from it."""
    found = {
        experiment.name: {"figures": experiment.figures, "tables": experiment.tables}
        for experiment in PLAN.experiments.values()
        if experiment.figures or experiment.tables
    }
    for kind, known in DRAWN.items():
        for name, target in known.items():
            if target.source != "rows":
                of_ledger = found.setdefault(
                    target.source, {"figures": (), "tables": ()}
                )
                of_ledger[kind] += (name,)
    return found


# What there is to draw, by the folder that it goes to; its files; and what is drawn in this run.
DRAWN = {"figures": figures.FIGURES, "tables": figures.TABLES}
FORMATS = {"figures": ("svg", "png"), "tables": ("csv", "md")}
DRAWINGS = drawings()


def is_ledger(source):
    return not any(source == experiment for _, experiment in PLAN.experiments)


def file_drawn_from(source):
    return "results/{scale}/" + (
        f"{source}.parquet" if is_ledger(source) else f"{source}/rows.parquet"
    )


def files_drawn(source, kind, suffix, **labels):
    """The files of one format that are drawn from an experiment or a ledger, and what Snakemake's report says of each."""

    # A line that starts with `report` would be a directive of Snakemake's.
    def marked(name):
        return report(
            f"results/{{scale}}/{kind}/{name}.{suffix}",
            caption="../report/figure.rst",
            category="privacy" if is_ledger(source) else source.split("-")[0],
            subcategory=kind,
            labels={
                kind.removesuffix("s"): name,
                "title": DRAWN[kind][name].title,
                **labels,
            },
        )

    return [marked(name) for name in DRAWINGS[source][kind]]


def recipes(source, kind):
    return {name: figures.recipe(name, DRAWN[kind]) for name in DRAWINGS[source][kind]}


def words_drawn(source):
    """What the reports show beside them, by folder and name: a figure and a table may share a name."""
    return {
        f"{kind}/{name}": figures.words(name, DRAWN[kind])
        for kind, names in DRAWINGS[source].items()
        for name in names
    }


def code_of_drawing(source):
    names = [name for names in DRAWINGS[source].values() for name in names]
    roots = dict.fromkeys(root for name in names for root in figures.modules(name))
    return lambda wildcards: plan.code_digest(*roots, packages=("matplotlib",))


def names_not_drawn():
    """A pattern of names, so that those that a rule draws are left to it."""
    names = sorted(
        {n for kinds in DRAWINGS.values() for of in kinds.values() for n in of}
    )
    return rf"(?!(?:{'|'.join(names)})\.)[a-z0-9-]+"


def refuse_drawing(wildcards):
    kind, name = wildcards.kind, wildcards.drawing
    raise WorkflowError(
        f"no selected experiment declares {name!r} under {kind} in config/experiments"
    )


def sources_at(scale, paper=None):
    """The experiments and ledgers that something is drawn from; ledgers belong to no paper."""
    papers = {e.name: e.paper for e in PLAN.of_scale(scale)}
    return [
        source
        for source in DRAWINGS
        if (source in papers or is_ledger(source))
        and paper in (None, papers.get(source))
    ]


def shown(scale, paper=None):
    """Every figure and table of a scale, of one paper or all."""
    return [
        f"results/{scale}/{kind}/{name}.{suffix}"
        for source in sources_at(scale, paper)
        for kind, names in DRAWINGS[source].items()
        for name in names
        for suffix in FORMATS[kind]
    ]


def jobs_planned(wildcards):
    """Of one scale, by their benchmarks' places: others are left there by jobs that the plan no longer has."""
    names = ["claims", "config", "privacy", "report"]
    for e in PLAN.of_scale(wildcards.scale):
        names += [f"{e.name}/collect", *(f"{e.name}/{'/'.join(job)}" for job in e.jobs)]
        names += [f"{e.name}/baselines/{scenario}" for scenario in e.baselines]
    names += [f"audits/{'/'.join(job)}" for job in PLAN.audit_jobs[wildcards.scale]]
    return names + [f"figures/{source}" for source in sources_at(wildcards.scale)]


def rows_of_scale(wildcards):
    return [
        f"results/{wildcards.scale}/{e.name}/rows.parquet"
        for e in PLAN.of_scale(wildcards.scale)
    ]


def released_rows_of_scale(wildcards):
    """Of the experiments that release something: what the ledger lists besides what was attacked."""
    return [
        f"results/{wildcards.scale}/{e.name}/rows.parquet"
        for e in PLAN.of_scale(wildcards.scale)
        if places.experiments()[e.name].releases
    ]


def datasets_at(scale):
    return sorted({dataset for e in PLAN.of_scale(scale) for dataset in e.datasets})


def catalogues():
    """What the papers claim, a file for each."""
    found = Path(workflow.basedir, "resources/claims").glob("*.yaml")
    return sorted(f"resources/claims/{path.name}" for path in found)


@cache
def needs_of_claim(name):
    """The experiments and the ledger that one claim stands on; the catalogue is read for those who ask alone."""
    from dperm_pipeline.claims import catalogue

    schema = Path(workflow.basedir, "workflow/schemas/claims.schema.yaml")
    entries = [Path(workflow.basedir, path) for path in catalogues()]
    try:
        return catalogue.needs(catalogue.load(entries, schema), name)
    except ConfigError as error:
        raise WorkflowError(str(error))


def rows_of_claim(wildcards):
    """An experiment that was not selected has no rows, and the verdict says so."""
    needed = needs_of_claim(wildcards.claim).experiments
    return [
        f"results/{wildcards.scale}/{e.name}/rows.parquet"
        for e in PLAN.of_scale(wildcards.scale)
        if e.name in needed
    ]


def ledger_of_claim(wildcards):
    needed = needs_of_claim(wildcards.claim).ledger
    return [f"results/{wildcards.scale}/privacy.parquet"] if needed else []


def parts_of_page():
    folder = Path(workflow.basedir, "src/dperm_pipeline/report/page")
    return [
        f"src/dperm_pipeline/report/page/{path.name}"
        for path in sorted(folder.iterdir())
    ]


def origins_at(scale):
    """From figures and tables to the experiment whose rows they are made from."""
    return {
        name: experiment.name
        for experiment in PLAN.of_scale(scale)
        for name in (*experiment.figures, *experiment.tables)
    }


def targets_of(scale):
    # Rows and configuration too: a run would not notice that they are gone while what is made from them is still there.
    return [
        f"results/{scale}/config.yaml",
        *(f"results/{scale}/{e.name}/rows.parquet" for e in PLAN.of_scale(scale)),
        *shown(scale),
        f"results/{scale}/claims.parquet",
        f"results/{scale}/privacy.parquet",
        f"results/{scale}/mutants.parquet",
        f"results/{scale}/report/index.html",
    ]
