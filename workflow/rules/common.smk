# The plan, and the functions by which rules look things up in it. Nothing is computed here.
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

from dperm import experiments, figures, mechanisms, plan
from dperm.audit import families
from dperm.datasets import fetch, prepare
from dperm.errors import ConfigError

try:
    PLAN = plan.load(
        config,
        workflow.basedir,
        known=plan.Known(
            experiments=experiments.REGISTRY,
            mechanisms=mechanisms.REGISTRY,
            figures=figures.FIGURES,
            tables=figures.TABLES,
            audits=plan.KnownAudits(
                families={n: f.pairs for n, f in families.FAMILIES.items()}
            ),
        ),
        unavailable=fetch.unavailable,
    )
except ConfigError as error:
    raise WorkflowError(str(error))

for reason in sorted(set(PLAN.skipped(PLAN.scale).values())):
    print(f"skipped: {reason}", file=sys.stderr)


wildcard_constraints:
    scale="|".join(plan.SCALES),
    experiment="[a-z0-9-]+",
    mechanism="[a-z0-9.-]+",
    scenario="[A-Za-z0-9_.-]+",
    dataset="[a-z0-9-]+",
    figure="[a-z0-9-]+",
    table="[a-z0-9-]+",
    pair="[a-z0-9_]+",
    claim="[KJDN]-c[0-9]{2}[a-z]?",


def experiment_of(wildcards):
    try:
        return PLAN.experiments[wildcards.scale, wildcards.experiment]
    except KeyError:
        known = ", ".join(e.name for e in PLAN.of_scale(wildcards.scale))
        raise WorkflowError(
            f"no experiment {wildcards.experiment!r} among the selected papers; there are: {known}"
        )


def cell_of(wildcards):
    cells = experiment_of(wildcards).cells
    if (wildcards.mechanism, wildcards.scenario) not in cells:
        raise WorkflowError(
            f"{wildcards.experiment} has no cell {wildcards.mechanism}/{wildcards.scenario} at scale "
            f"{wildcards.scale}; add it to config/experiments/{wildcards.experiment}.yaml"
        )
    return cells[wildcards.mechanism, wildcards.scenario]


def baseline_of(wildcards):
    return experiment_of(wildcards).baselines[wildcards.scenario]


def files_of(wildcards):
    """What a data set is prepared from: its download's receipt, a user's own file, or nothing where it is bundled."""
    entry = PLAN.datasets[wildcards.dataset]
    if entry.get("files"):
        return [f"resources/downloads/{wildcards.dataset}.json"]
    return [entry["path"]] if "path" in entry else []


def prepared_dataset_of(cell):
    return f"resources/prepared/{cell['point']['dataset']}.parquet"


def input_of_cell(kind, wildcards):
    """A data set or the baseline on it, or nothing where the cell makes its own data."""
    cell = cell_of(wildcards)
    if "baseline" not in cell:
        return []
    if kind == "data":
        return prepared_dataset_of(cell)
    return f"results/{wildcards.scale}/{wildcards.experiment}/baselines/{cell['baseline']}.parquet"


def cells_of(wildcards):
    return [
        f"results/{wildcards.scale}/{wildcards.experiment}/cells/{mechanism}/{scenario}.parquet"
        for mechanism, scenario in experiment_of(wildcards).cells
    ]


def baselines_of(wildcards):
    return [
        f"results/{wildcards.scale}/{wildcards.experiment}/baselines/{scenario}.parquet"
        for scenario in experiment_of(wildcards).baselines
    ]


def audit_of(wildcards):
    jobs = PLAN.audits[wildcards.scale]
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
        for mechanism, pair in PLAN.audits[wildcards.scale]
        if (mechanism == plan.MUTANTS) == mutants
    ]


def drawn_by(kind, name):
    """The experiment that declares a figure or table of this name."""
    for experiment in PLAN.of_scale(PLAN.scale):
        if name in getattr(experiment, kind):
            return experiment.name
    raise WorkflowError(
        f"no selected experiment declares {name!r} under {kind} in config/experiments"
    )


def source_of(kind, known):
    """What a figure or table is drawn from: an experiment's rows, or a ledger."""

    def source(wildcards):
        name = getattr(wildcards, kind.removesuffix("s"))
        drawn_from = known[name].source if name in known else "rows"
        if drawn_from != "rows":
            return f"results/{wildcards.scale}/{drawn_from}.parquet"
        return f"results/{wildcards.scale}/{drawn_by(kind, name)}/rows.parquet"

    return source


def shown(scale, paper=None):
    """Every figure and table of a scale, of one paper or all; the ledgers' belong to no paper."""
    ledgers = [
        f"results/{scale}/{kind}/{name}{suffix}"
        for kind, known, suffixes in (
            ("figures", figures.FIGURES, (".svg", ".png")),
            ("tables", figures.TABLES, (".csv", ".md")),
        )
        for name, target in known.items()
        for suffix in suffixes
        if paper is None and target.source != "rows"
    ]
    return ledgers + [
        f"results/{scale}/{kind}/{name}{suffix}"
        for experiment in PLAN.of_scale(scale)
        if paper in (None, experiment.paper)
        for kind, suffixes in (
            ("figures", (".svg", ".png")),
            ("tables", (".csv", ".md")),
        )
        for name in getattr(experiment, kind)
        for suffix in suffixes
    ]


def category_of(kind, known):
    """Where Snakemake's report shows a figure or table: with its paper, or with the ledger that it is drawn from."""

    def category(wildcards):
        name = getattr(wildcards, kind.removesuffix("s"))
        of_ledger = name in known and known[name].source != "rows"
        return "privacy" if of_ledger else name.split("-")[0]

    return category


def labels_of(kind, known, **others):
    """What stands in a line of Snakemake's report."""

    def labels(wildcards):
        name = getattr(wildcards, kind.removesuffix("s"))
        title = known[name].title if name in known else name
        return {kind.removesuffix("s"): name, "title": title, **others}

    return labels


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
        if experiments.REGISTRY[e.name].releases
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
    from dperm.claims import catalogue

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
    folder = Path(workflow.basedir, "src/dperm/report/page")
    return [f"src/dperm/report/page/{path.name}" for path in sorted(folder.iterdir())]


def origins_at(scale):
    """From figures and tables to the experiment whose rows they are made from."""
    return {
        name: experiment.name
        for experiment in PLAN.of_scale(scale)
        for name in (*experiment.figures, *experiment.tables)
    }


def targets_of(scale):
    # Rows too: without them a run would not notice that they are gone while what is drawn from them is still there.
    return [
        *(f"results/{scale}/{e.name}/rows.parquet" for e in PLAN.of_scale(scale)),
        *shown(scale),
        f"results/{scale}/claims.parquet",
        f"results/{scale}/privacy.parquet",
        f"results/{scale}/mutants.parquet",
        f"results/{scale}/report/index.html",
    ]
