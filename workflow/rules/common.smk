# The plan, and the functions by which rules look up their jobs in it. Nothing is computed here.
from pathlib import Path

from snakemake import benchmark as sampling
from snakemake.exceptions import WorkflowError

from dperm.errors import ConfigError, RunGoingOn
from dperm_pipeline import files, forked, one_run, plan
from dperm_pipeline.datasets import fetch
from dperm_pipeline.plan import drawings, jobs

# Snakemake looks twice a second at the memory of each young job, for a fiftieth of all CPU time; logs say the true peak.
sampling.BENCHMARK_INTERVAL_SHORT = 10.0

try:
    PLAN = plan.load(config, workflow.basedir, unavailable=fetch.unavailable)
    JOBS = plan.Jobs(PLAN, workflow.basedir)
except ConfigError as error:
    raise WorkflowError(str(error))


onstart:
    one_run.heed_signals()
    # Before the first file is deleted: of two runs at one scale, one must go; and a disk must be fit to write on.
    try:
        one_run.hold(PLAN.scale)
    except (RunGoingOn, OSError) as error:
        raise WorkflowError(str(error))
    files.undo_future_times(
        path for job in workflow.dag.needrun_jobs() for path in job.input
    )
    # Snakemake itself would end with a traceback where it cannot write.
    made = (path for job in workflow.dag.needrun_jobs() for path in job.products())
    for folder in sorted({str(Path(*Path(path).parts[:2])) for path in made}):
        if why := one_run.unwritable(folder):
            raise WorkflowError(why)
    # What jobs hold the code that they load against; the Snakemake of a job on a cluster runs with --no-hooks.
    plan.announce()
    if workflow.local_exec:
        try:
            making = [job for job in workflow.dag.needrun_jobs() if job.output]
            forking = forked.start(len(making), "snakemake.script")
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


def look_up(pattern, wildcards):
    """The job that makes an output, by the pattern of its rule."""
    try:
        return JOBS.find(pattern, dict(wildcards.items()))
    except ConfigError as error:
        raise WorkflowError(str(error))


def needs(pattern, name):
    return lambda wildcards: look_up(pattern, wildcards).input[name]


def given(pattern, name):
    return lambda wildcards: look_up(pattern, wildcards).params[name]


def priority_of(pattern):
    return lambda wildcards: look_up(pattern, wildcards).priority


def code_of(pattern):
    return lambda wildcards: look_up(pattern, wildcards).code


def marked(drawing, kind, suffix, **labels):
    """The files of one format, and what Snakemake's report says of each."""

    # A line that starts with `report` would be a directive of Snakemake's.
    def file(name, path):
        return report(
            path,
            caption="../report/figure.rst",
            category=drawing.paper or "privacy",
            subcategory=kind,
            labels={
                kind.removesuffix("s"): name,
                "title": drawing.params["words"][f"{kind}/{name}"]["title"],
                **labels,
            },
        )

    return [*map(file, drawing.names[kind], drawing.files(kind, suffix))]
