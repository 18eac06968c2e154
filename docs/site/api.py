"""The pages of the API: which names stand on which, everything else comes from the docstrings.

Names that a table of the code lists (the estimators, the mechanisms, the experiments, the tests of claims) are taken
from there, so that a new one has its place without a word here.
"""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import dperm
import dperm_papers
from dperm import audit, mechanisms
from dperm_pipeline.claims import TESTS

DATASETS = ("catalogue", "fetch", "prepare", "prepared", "encode", "user_files", "synthetic", "overlap")
# What a folder of an experiment holds besides what computes.
SHOWN = ("drawing", "figures", "settings")
PAPERS = ("kifer2012", "jain2013", "dwork2018", "li2021")


def summary(name: str) -> str:
    """Return the first line of the docstring of a module, or of what stands in one."""
    try:
        thing = importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        thing = getattr(importlib.import_module(module), attribute)
    return inspect.getdoc(thing).splitlines()[0]


def _public(package) -> list[str]:
    return [
        f"{package.PUBLIC[name]}.{name}"
        for name in package.__all__
        if package.PUBLIC[name] != f"{package.__name__}.{name}"
    ]


def _modules(package: str) -> list[str]:
    """Return the public modules of a package, itself first."""
    folder = importlib.import_module(package).__path__
    found = [module.name for module in pkgutil.iter_modules(folder, f"{package}.")]
    return [package, *sorted(name for name in found if "._" not in name)]


def _experiments(paper: str) -> str:
    """Return what the modules of a paper that compute say of themselves; what shows and declares is left out."""
    root = Path(dperm_papers.__file__).parent
    blocks = []
    for path in sorted((root / paper).glob("*/*.py")):
        if not path.stem.startswith(SHOWN):
            name = ".".join(path.relative_to(root).with_suffix("").parts)
            words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
            blocks.append(f"## {name}\n\n{words}\n")
    return "\n".join(blocks)


def _block(name: str, **options) -> str:
    lines = [f"::: {name}", "    options:", *(f"      {key}: {value}" for key, value in options.items())]
    return "\n".join(lines if options else lines[:1]) + "\n"


def _page(title: str, introduction: str, names: list[str], *, package: str = "", **options) -> str:
    blocks = []
    for name in names:
        # Under the name that is imported.
        short = name.rpartition(".")[2]
        heading = {"heading": f"{package}.{short}", "toc_label": short} if package else {}
        blocks.append(_block(name, **heading, **options))
    return f"# {title}\n{introduction}\n\n" + "\n".join(blocks)


def _library(*names: str) -> list[str]:
    return [f"dperm.{name}" for name in names]


def _engine(*names: str) -> list[str]:
    return [f"dperm_pipeline.{name}" for name in names]


def pages() -> dict[str, str]:
    """Return the Markdown of every page of the API, by its place in the site."""
    estimators = _public(dperm)
    made = {
        "estimators": _page(
            "Estimators",
            "What `from dperm import ...` gives: every mechanism in scikit-learn's manner, with what it promises in "
            "`privacy_`. What each promise means, and its proof: [privacy](../privacy.md).",
            estimators, package="dperm", inherited_members="true",
        ),
        "audit": _page(
            "Auditing",
            "What `from dperm.audit import ...` gives, and the command `dperm audit`. How a bound is certified: "
            "[the auditor](../audit.md).",
            [
                *_public(audit),
                *_library("audit.exact", "audit.line", "audit.one_run", "audit.search", "audit.trade_off"),
                *_library("audit.pairs", "cli", "cli.audit"),
                *_engine("audits.ledger"),
            ],
        ),
        "accounting": _page(
            "Accounting",
            "Calibrations and composition, in floating point that errs to the safe side.",
            _modules("dperm.accounting")[1:],
        ),
        "mechanisms": _page(
            "Mechanisms inside",
            "The batched cores that the experiments call, and that the estimators stand on, with their mathematics.",
            ["dperm.mechanisms", *(mechanism.module for mechanism in mechanisms.REGISTRY.values())],
        ),
        "library": _page(
            "Losses, noise, domains",
            "What the mechanisms are made of.",
            _library("domain", "losses", "feasible", "kernels", "noise", "grid", "seeds", "errors", "planning.law",
                     "comparing.errors"),
        ),
        "datasets": _page(
            "Data sets",
            "From the catalogue to arrays; where the sets come from is said on [their page](../data.md).",
            [f"dperm_pipeline.datasets.{name}" for name in DATASETS],
        ),
        "results": _page(
            "Rows, claims, figures",
            "What reads and writes the [results](../results.md). A claim's rule is one of `dperm_pipeline.claims.*`.",
            [*_engine("tables", "claims"), *(TESTS[name].__name__ for name in sorted(TESTS)),
             *_engine("multiple", "figures", "figures.style", "report", "files", "places")],
        ),
    }  # fmt: skip
    for paper in PAPERS:
        made[f"experiments-{paper}"] = (
            f"# Experiments of {paper}\nWhat each module computes, in its own words; what came out stands with "
            f"[the paper](../papers/{paper}.md).\n\n{_experiments(paper)}"
        )
    listed = "\n".join(
        f"| [`{name.rpartition('.')[2]}`](estimators.md#{name}) | {summary(name)} |" for name in estimators
    )
    made["index"] = (
        "# API\nFrom the docstrings. Estimators take their arguments by keyword; `Raises` says what each name "
        "refuses.\n\n| `from dperm import` | what |\n|---|---|\n" + listed + "\n"
    )
    return {f"api/{name}.md": text for name, text in made.items()}
