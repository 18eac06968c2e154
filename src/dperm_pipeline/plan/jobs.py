"""The jobs of a run as values: outputs, inputs, parameters, and the code that each depends on.

The rules in workflow/rules look their jobs up here and add nothing to them; Snakemake decides which of them are run.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dperm.errors import ConfigError
from dperm_pipeline import audits, config_files, places, stamps
from dperm_pipeline.datasets import catalogue, checksums, prepare
from dperm_pipeline.plan import drawings
from dperm_pipeline.plan.audits import MUTANTS
from dperm_pipeline.plan.cells import Plan
from dperm_pipeline.plan.code_digest import attacked_modules, cell_modules, code_digest
from dperm_pipeline.plan.drawings import BROKEN, PRIVACY, ROWS, Drawing
from dperm_pipeline.plan.grids import Experiment

# What a job makes, by what is filled in: the rules' own patterns.
FETCHED = "resources/downloads/{dataset}.json"
PREPARED = "resources/prepared/{dataset}.parquet"
BASELINE = "results/{scale}/{experiment}/baselines/{scenario}.parquet"
CELL = "results/{scale}/{experiment}/cells/{mechanism}/{scenario}.parquet"
AUDIT = "results/{scale}/audits/{mechanism}/{pair}.parquet"
CLAIMS = "results/{scale}/claims.parquet"
CLAIM = "results/{scale}/claims/{claim}.parquet"
CONFIG = "results/{scale}/config.yaml"
# A folder, that Snakemake's own report takes whole.
REPORT = "results/{scale}/report"
_SCHEMA = "workflow/schemas/claims.schema.yaml"
_PAGE = "src/dperm_pipeline/report/page"
_AUDITED = ("docs/assets/libraries.jsonl",)


@dataclass(frozen=True)
class Job:
    """One job. `label` names its log and its benchmark. `modules` and `packages` are what `code` is the digest of.

    Of jobs that are ready those of the highest `priority` start first.
    """

    rule: str
    label: str
    output: tuple[str, ...]
    input: Mapping[str, str | list[str]]
    params: Mapping[str, Any]
    modules: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    priority: int = 0

    @property
    def code(self) -> str:
        """Return the digest of the code that its output depends on."""
        return code_digest(*self.modules, packages=self.packages)


class Jobs:
    """The jobs of a plan, at each scale and of each data set."""

    def __init__(self, plan: Plan, root: str | Path):
        self.plan, self._root = plan, Path(root)
        self._at: dict[str, dict[str, Job]] = {}
        self._checksum, self._needs = functools.cache(self._read_checksum), functools.cache(self._read_needs)

    def find(self, pattern: str, wildcards: Mapping[str, str]) -> Job:
        """Return the job that makes a pattern with its wildcards filled in; ConfigError lists those that there are."""
        output = pattern.format(**wildcards)
        found = self._one_claim(wildcards) if pattern == CLAIM else self._known(wildcards).get(output)
        if found is None:
            raise ConfigError(self._missing(wildcards))
        return found

    def at(self, scale: str) -> dict[str, Job]:
        """Return the jobs of one scale by what they make first: all but those of data sets and of single claims."""
        if scale not in self._at:
            made = [self._claims(scale), self._config(scale), self._privacy(scale), *self._of_experiments(scale)]
            made += [*self._audits(scale), *self._drawn(scale)]
            made.append(self._report(scale, made))
            self._at[scale] = {job.output[0]: job for job in made}
        return self._at[scale]

    @functools.cached_property
    def of_datasets(self) -> dict[str, Job]:
        """Return the jobs that fetch and prepare data, by what they make."""
        made = [job for name in self.plan.datasets for job in self._dataset(name)]
        return {job.output[0]: job for job in made}

    def targets(self, scale: str) -> list[str]:
        """Return what a run of everything makes.

        Rows and configuration too: a run would not notice that they are gone while what is made from them is there.
        """
        return [
            CONFIG.format(scale=scale),
            *self._rows(scale),
            *self.shown(scale),
            *(pattern.format(scale=scale) for pattern in (CLAIMS, PRIVACY, BROKEN, REPORT)),
        ]

    def shown(self, scale: str, paper: str | None = None) -> list[str]:
        """Return every figure and table of a scale, of one paper or all; ledgers belong to no paper."""
        return [path.format(scale=scale) for drawing in self._drawings_at(scale, paper) for path in drawing.every_file]

    @functools.cached_property
    def drawings(self) -> dict[str, Drawing]:
        """Return what is drawn, by the experiment or ledger that it is drawn from."""
        return drawings.drawings(self.plan)

    @property
    def names_drawn(self) -> list[str]:
        return sorted({n for drawing in self.drawings.values() for names in drawing.names.values() for n in names})

    # What is there to be looked up, and what to say where it is not.

    def _known(self, wildcards: Mapping[str, str]) -> dict[str, Job]:
        return self.at(wildcards["scale"]) if "scale" in wildcards else self.of_datasets

    def _missing(self, wildcards: Mapping[str, str]) -> str:
        if "scale" not in wildcards:
            name = wildcards["dataset"]
            return f"{name!r} is not in config/datasets.yaml{config_files.nearest(name, self.plan.datasets)}"
        scale = wildcards["scale"]
        if "drawing" in wildcards:
            kind, name = wildcards["kind"], wildcards["drawing"]
            return f"no selected experiment declares {name!r} under {kind} in config/experiments"
        if "pair" in wildcards:
            known = ", ".join(sorted("/".join(job) for job in self.plan.audit_jobs[scale]))
            asked = f"{wildcards['mechanism']}/{wildcards['pair']}"
            return f"no audit {asked} in config/audits.yaml; there are: {known}"
        name = wildcards["experiment"]
        if (scale, name) not in self.plan.experiments:
            known = ", ".join(e.name for e in self.plan.of_scale(scale))
            return f"no experiment {name!r} among the selected papers; there are: {known}"
        asked = "/".join(wildcards[word] for word in ("mechanism", "scenario") if word in wildcards)
        skipped = "; ".join(self.plan.experiments[scale, name].skipped.values())
        return (
            f"{name} has no cell {asked} at scale {scale}; add it to config/experiments/{name}.yaml"
            f"{f' (left out: {skipped})' if skipped else ''}"
        )

    # Data sets.

    def _dataset(self, name: str) -> Iterator[Job]:
        entry = self.plan.datasets[name]
        trusted, folder = f"resources/trusted/{name}.json", f"resources/downloads/{name}"
        params = {"files": entry.get("files", {}), "folder": folder, "trusted": trusted}
        received, own = FETCHED.format(dataset=name), [entry["path"]] if "path" in entry else []
        yield Job("fetch_dataset", f"fetch/{name}", (received,), {"catalogue": "config/datasets.yaml"}, params)
        yield Job(
            "prepare_dataset",
            f"prepare/{name}",
            (PREPARED.format(dataset=name),),
            # What it is prepared from: its download's receipt, a user's own file, or nothing where it is bundled.
            {"files": [received] if entry.get("files") else own},
            {
                "entry": catalogue.numeric(entry),
                "folder": folder,
                "trusted": trusted,
                "sources": self._checksums(*own),
            },
            ("dperm_pipeline.datasets.prepare", prepare.module(entry)),
        )

    # Experiments.

    def _of_experiments(self, scale: str) -> Iterator[Job]:
        for experiment in self.plan.of_scale(scale):
            cells, baselines = self._cells(scale, experiment), self._baselines(scale, experiment)
            made = {job.output[0]: stamps.fingerprint(job.params) for job in (*cells, *baselines)}
            yield Job(
                "collect_rows",
                f"{experiment.name}/collect",
                (ROWS.format(scale=scale, experiment=experiment.name),),
                {"cells": [job.output[0] for job in cells], "baselines": [job.output[0] for job in baselines]},
                {"skipped": experiment.skipped, "made": made, "seed": self.plan.seed},
                ("dperm_pipeline.tables",),
            )
            yield from cells
            yield from baselines

    def _cells(self, scale: str, experiment: Experiment) -> list[Job]:
        """Return the jobs of a few cells each: of one mechanism, on one data set or on data that each makes itself."""
        made, at = [], {"scale": scale, "experiment": experiment.name}
        for (mechanism, scenario), cells in experiment.jobs.items():
            taken: dict[str, str | list[str]] = {"data": [], "baseline": []}
            if "baseline" in cells[0]:
                taken = {
                    "data": PREPARED.format(dataset=cells[0]["point"]["dataset"]),
                    "baseline": BASELINE.format(**at, scenario=cells[0]["baseline"]),
                }
            made.append(
                Job(
                    "run_cell",
                    f"{experiment.name}/{mechanism}/{scenario}",
                    (CELL.format(**at, mechanism=mechanism, scenario=scenario),),
                    taken,
                    {"cells": cells},
                    cell_modules(experiment.name, cells[0]["mechanism"]),
                    priority=int(experiment.starts_early),
                )
            )
        return made

    def _baselines(self, scale: str, experiment: Experiment) -> list[Job]:
        return [
            Job(
                "fit_baseline",
                f"{experiment.name}/baselines/{scenario}",
                (BASELINE.format(scale=scale, experiment=experiment.name, scenario=scenario),),
                {"data": PREPARED.format(dataset=cell["point"]["dataset"])},
                {"cell": cell},
                cell_modules(experiment.name),
            )
            for scenario, cell in experiment.baselines.items()
        ]

    def _rows(self, scale: str) -> list[str]:
        return [ROWS.format(scale=scale, experiment=e.name) for e in self.plan.of_scale(scale)]

    # The audit.

    def _audits(self, scale: str) -> list[Job]:
        return [
            Job(
                "run_audit",
                f"audits/{mechanism}/{pair}",
                (AUDIT.format(scale=scale, mechanism=mechanism, pair=pair),),
                {},
                {"audits": found},
                # A family may look its mechanism up by name: no import statement leads there.
                (*audits.modules(found), *attacked_modules(found)),
                ("threadpoolctl",),
            )
            for (mechanism, pair), found in self.plan.audit_jobs[scale].items()
        ]

    def _privacy(self, scale: str) -> Job:
        attacks = self._audits(scale)
        # Of the experiments that release something: what the ledger lists besides what was attacked.
        released = [e for e in self.plan.of_scale(scale) if places.experiments()[e.name].releases]
        return Job(
            "collect_privacy_ledger",
            "privacy",
            (PRIVACY.format(scale=scale), BROKEN.format(scale=scale)),
            {
                "attacks": [job.output[0] for job in attacks if not job.label.startswith(f"audits/{MUTANTS}/")],
                "mutants": [job.output[0] for job in attacks if job.label.startswith(f"audits/{MUTANTS}/")],
                "rows": [ROWS.format(scale=scale, experiment=e.name) for e in released],
            },
            {
                "confidence": self.plan.audit["confidence"],
                "level": self.plan.audit["level"],
                "seed": self.plan.seed,
                "errata": self.plan.errata,
                "made": {job.output[0]: stamps.fingerprint(job.params) for job in attacks},
            },
            ("dperm_pipeline.audits.ledger",),
        )

    # Figures and tables.

    def _drawings_at(self, scale: str, paper: str | None = None) -> list[Drawing]:
        here = {e.name for e in self.plan.of_scale(scale)}
        return [
            drawing
            for source, drawing in self.drawings.items()
            if (source in here or drawing.paper is None) and paper in (None, drawing.paper)
        ]

    def _drawn(self, scale: str) -> list[Job]:
        return [
            Job(
                f"draw_{drawing.source.replace('-', '_')}",
                f"figures/{drawing.source}",
                tuple(path.format(scale=scale) for path in drawing.every_file),
                {"rows": drawing.rows.format(scale=scale), "elsewhere": drawing.elsewhere},
                drawing.params,
                drawing.modules,
                drawings.PACKAGES,
            )
            for drawing in self._drawings_at(scale)
        ]

    # Claims.

    def _claims(self, scale: str) -> Job:
        return Job(
            "judge_claims",
            "claims",
            (CLAIMS.format(scale=scale),),
            {
                "catalogue": self._catalogues(),
                "schema": _SCHEMA,
                "rows": self._rows(scale),
                "privacy": PRIVACY.format(scale=scale),
            },
            self._judging(scale),
            # How YAML becomes numbers counts; the checks of the catalogue refuse it or leave it as it is.
            ("dperm_pipeline.claims", "dperm.yaml_files"),
        )

    def _one_claim(self, wildcards: Mapping[str, str]) -> Job:
        scale, claim = wildcards["scale"], wildcards["claim"]
        # An experiment that was not selected has no rows, and the verdict says so.
        asked, ledger = self._needs(claim)
        needed = [e for e in self.plan.of_scale(scale) if e.name in asked]
        return Job(
            "judge_claim",
            f"claims/{claim}",
            (CLAIM.format(**wildcards), f"results/{scale}/claims/{claim}.md"),
            {
                "catalogue": self._catalogues(),
                "schema": _SCHEMA,
                "rows": [ROWS.format(scale=scale, experiment=e.name) for e in needed],
                "privacy": [PRIVACY.format(scale=scale)] if ledger else [],
            },
            self._judging(scale),
            ("dperm_pipeline.claims", "dperm_pipeline.claims.words", "dperm.yaml_files"),
        )

    def _read_needs(self, claim: str) -> tuple[frozenset[str], bool]:
        """Return the experiments that a claim stands on, and whether on the privacy ledger too."""
        # Here, because the catalogue is read for those who ask for one claim alone.
        from dperm_pipeline.claims import catalogue

        entries = [self._root / path for path in self._catalogues()]
        found = catalogue.needs(catalogue.load(entries, self._root / _SCHEMA), claim)
        return frozenset(found.experiments), bool(found.ledger)

    def _judging(self, scale: str) -> dict[str, Any]:
        return {
            "papers": sorted({e.paper for e in self.plan.of_scale(scale)}),
            "datasets": sorted({*self.plan.datasets, *self.plan.designs}),
            "prepared": sorted(self.plan.datasets),
            "seed": self.plan.seed,
            "sources": self._checksums(*self._catalogues(), _SCHEMA),
            "skipped": self.plan.skipped(scale),
        }

    def _catalogues(self) -> list[str]:
        """Return what the papers claim, a file for each."""
        found = (self._root / "resources/claims").glob("*.yaml")
        return sorted(f"resources/claims/{path.name}" for path in found)

    # The report, and the configuration that made it.

    def _config(self, scale: str) -> Job:
        made = (CONFIG.format(scale=scale),)
        return Job(
            "write_config", "config", made, {}, {"resolved": self.plan.resolved(scale)}, ("dperm_pipeline.files",)
        )

    def _report(self, scale: str, others: list[Job]) -> Job:
        shown, selected = self.shown(scale), self.plan.of_scale(scale)
        datasets = sorted({dataset for e in selected for dataset in e.datasets})
        page = [f"{_PAGE}/{path.name}" for path in sorted((self._root / _PAGE).iterdir())]
        elsewhere = [path for e in selected for path in places.elsewhere(e.name)]
        audited = [path for path in _AUDITED if (self._root / path).is_file()]
        return Job(
            "build_report",
            "report",
            (REPORT.format(scale=scale),),
            {
                "claims": CLAIMS.format(scale=scale),
                "privacy": PRIVACY.format(scale=scale),
                "mutants": BROKEN.format(scale=scale),
                "config": CONFIG.format(scale=scale),
                "rows": self._rows(scale),
                "figures": [path for path in shown if path.endswith(".svg")],
                "tables": [path for path in shown if path.endswith(".md")],
                "errata": "docs/errata.md",
                "citation": "CITATION.cff",
                "page": page,
                "data": [PREPARED.format(dataset=dataset) for dataset in datasets],
                "elsewhere": elsewhere,
                # Kept from the last `snakemake libraries`, which is no part of a run.
                "audited": audited,
            },
            {
                "skipped": self.plan.skipped(scale),
                # From figures and tables to the experiment whose rows they are made from.
                "origins": {name: e.name for e in selected for name in (*e.figures, *e.tables)},
                # Other benchmarks are left there by jobs that the plan no longer has.
                "planned": [*(job.label for job in others[:3]), "report", *(job.label for job in others[3:])],
                "sources": self._checksums("docs/errata.md", "CITATION.cff", *page, *elsewhere, *audited),
            },
            ("dperm_pipeline.report", *places.reported()),
            ("itables", "jinja2", "vl-convert-python"),
        )

    def _read_checksum(self, path: str) -> str:
        return checksums.sha256(self._root / path) if (self._root / path).is_file() else "missing"

    def _checksums(self, *paths: str) -> dict[str, str]:
        """Return those of files that people edit, whose times say little: a clock may go wrong, a copy keep them."""
        return {path: self._checksum(path) for path in paths}
