"""Where a report's numbers come from: code, machine, packages, data, and what the run cost."""

import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dperm_pipeline import tables
from dperm_pipeline.report import assets, citation, cost

# Those that decide the numbers; the whole environment is requirements.lock.
PACKAGES = (
    "numpy", "scipy", "numba", "cvxpy", "clarabel", "scikit-learn", "pandas", "pyarrow", "dp-accounting", "snakemake",
    "matplotlib",
)  # fmt: skip
# What Snakemake's rules are called on the page; any other stage is an experiment.
STAGES = {
    "fetch": "data: fetched",
    "prepare": "data: prepared",
    "audits": "audits",
    "privacy": "privacy ledger",
    "claims": "claims",
    "figures": "figures and tables",
    "config": "configuration",
}


def collect(
    *,
    seed: int,
    data: Iterable[str | Path],
    benchmarks: str | Path,
    planned: Collection[str] | None = None,
    root: str | Path = ".",
    cited: str | Path | None = None,
) -> dict[str, Any]:
    """Return what made the results, as strings, numbers, lists and mappings; differs between runs and machines.

    `made` (when the last job ended, in UTC), `code`, `seed` (root of every random stream), `machine`, `packages`,
    `data`, `cost` and `span` (`dperm_pipeline.report.cost.stages`, which says what `planned` is) and `citation`
    (BibTeX of `cited`, by default the project's CITATION.cff, or None without one).
    """
    prepared = sorted(map(Path, data))
    stages, span = cost.stages(benchmarks, [path.stem for path in prepared], planned)
    own = Path(root, "CITATION.cff")
    cited = cited or (own if own.is_file() else None)
    return {
        "made": None if span is None else datetime.fromtimestamp(span["last"], UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "code": _code(Path(root)),
        "seed": seed,
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory": _memory(),
        },
        "packages": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in PACKAGES},
        "data": {path.stem: _data(path) for path in prepared},
        "cost": stages,
        "span": span,
        "citation": citation.bibtex(cited) if cited else None,
    }


def context(
    collected: Mapping[str, Any],
    *,
    rows: Sequence[Any] = (),
    config: Mapping[str, Any] | None = None,
    libraries: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Arrange for the page what `collect` found, shown as it is where something is missing; equal input, equal context.

    `rows` are `rows_read.RowsSummary` or mappings with its `name`, `rows`, `failed` and `sha256`; the resolved
    `config` says how data sets are called, licensed and cited. Returned are `facts` and `machine` (pairs of a name
    and words), `packages`, `libraries`, `data`, `stages` (one a paper and kind of job), `experiments`, `total`,
    `split` (of all core time: work, start of Python, the rest), `untimed` (experiments of which no time is
    recorded), `citation`, `rows`, `packed` (the configuration, as an element of the page) and `others`.
    """
    config = config or {}
    known = ("made", "code", "seed", "machine", "packages", "data", "cost", "span", "citation")
    cost_of = [_timed(stage) for stage in collected.get("cost", ())]
    own = [stage for stage in cost_of if stage["name"] not in STAGES]
    rows = [file if isinstance(file, Mapping) else vars(file) for file in rows]
    experiments = [str(file["name"]).partition("/")[0] for file in rows]
    resolved = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False)
    entries = config.get("datasets", {})
    return {
        **_facts(collected, config),
        "packages": dict(collected.get("packages", {})),
        "libraries": dict(libraries or {}),
        "data": [_data_set(name, found, entries.get(name, {})) for name, found in collected.get("data", {}).items()],
        "stages": _by_paper(own) + [s | {"name": STAGES[s["name"]]} for s in _in_order(cost_of)],
        "experiments": own,
        "total": _sum("all", cost_of) if cost_of else None,
        "split": _split(cost_of, collected.get("span")),
        "untimed": [name for name in experiments if cost_of and name not in {stage["name"] for stage in own}],
        "citation": collected.get("citation"),
        "rows": rows,
        "packed": assets.pack("config", resolved.encode()),
        "others": {key: value for key, value in collected.items() if key not in known},
    }


def duration(seconds: float) -> str:
    """Return a stretch of time in words of two units at most: `0.4 s`, `3 min 5 s`, `2 h 41 min`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _facts(collected: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    code, machine = collected.get("code", {}), collected.get("machine", {})
    changed = ", with uncommitted changes" if code.get("changed") else ""
    commit = f"commit {code['commit']}{changed}" if code.get("commit") else "not a git checkout"
    facts = {
        "results made": collected.get("made"),
        "scale": config.get("scale"),
        "seed": collected.get("seed"),
        # Results are kept over commits: what is known is the checkout that built the page.
        "dperm, when this page was built": f"{code['version']}, {commit}" if code else None,
    }
    of_machine = {
        "processor": f"{machine['processor']}, {machine['cores']} cores" if machine else None,
        "memory": machine.get("memory"),
        "system": machine.get("system"),
    }
    return {
        heading: [(name, str(value)) for name, value in pairs.items() if value is not None]
        for heading, pairs in (("facts", facts), ("machine", of_machine))
    }


def _data_set(name: str, collected: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return one line of the table of data sets: its checksum and files, and the words of the catalogue."""
    collected = collected if isinstance(collected, Mapping) else {"sha256": collected}
    return {
        "name": name,
        **{key: entry.get(key, "") for key in ("title", "licence", "citation")},
        "rows": " + ".join(f"{count:,} {part}" for part, count in entry.get("rows", {}).items()),
        "sha256": collected.get("sha256", ""),
        "files": dict(collected.get("files", {})),
        "looked": list(collected.get("data_dependent", ())),
    }


_SECONDS = ("wall", "work", "cpu", "start")


def _timed(stage: Mapping[str, Any]) -> dict[str, Any]:
    words = {f"{key}_words": duration(stage[key]) for key in (*_SECONDS, "longest")}
    of_declared = f" of {stage['declared']:,.0f}" if stage["declared"] else ""
    return {**stage, **words, "memory_words": f"{stage['memory']:,.0f}{of_declared} MB"}


def _sum(name: str, stages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    added = {key: sum(stage[key] for stage in stages) for key in ("jobs", *_SECONDS)}
    nearest = max(stages, key=lambda stage: cost.nearness(stage["memory"], stage["declared"]))
    longest = max(stage["longest"] for stage in stages)
    return _timed(
        {"name": name, **added, "longest": longest, "memory": nearest["memory"], "declared": nearest["declared"]}
    )


def _split(stages: Sequence[Mapping[str, Any]], span: Mapping[str, float] | None) -> list[dict[str, Any]]:
    """Share out the core time in which jobs ran, and the CPU time that they took."""
    if not span or not stages:
        return []
    wall, work, cpu, start = (sum(stage[key] for stage in stages) for key in _SECONDS)
    core = span["seconds"] * span["cores"]
    parts = (
        ("work", work, cpu),
        ("starting Python, loading libraries", wall - work, start),
        ("waiting for Snakemake or for the last job", core - wall, None),
    )
    return [
        {
            "name": name,
            "core_words": duration(max(seconds, 0.0)),
            "share": f"{max(seconds, 0.0) / core:.1%}" if core else "",
            "cpu_words": "" if of_cpu is None else duration(of_cpu),
        }
        for name, seconds, of_cpu in parts
    ]


def _by_paper(experiments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    papers = sorted({stage["name"].partition("-")[0] for stage in experiments})
    return [
        _sum(f"experiments: {paper}", [stage for stage in experiments if stage["name"].partition("-")[0] == paper])
        for paper in papers
    ]


def _in_order(stages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [dict(stage) for name in STAGES for stage in stages if stage["name"] == name]


def _code(root: Path) -> dict[str, Any]:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    version = importlib.metadata.version("dperm")
    try:
        changed = bool(git("status", "--porcelain", "--untracked-files=no"))
        return {"version": version, "commit": git("rev-parse", "HEAD"), "changed": changed}
    except (OSError, subprocess.CalledProcessError):
        return {"version": version, "commit": None, "changed": False}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "processor unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "processor unknown"


def _memory() -> str | None:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"
    except (OSError, ValueError):
        return None


def _data(path: Path) -> dict[str, Any]:
    provenance = tables.metadata(path)["provenance"]
    shown = {key: provenance[key] for key in ("files", "data_dependent", "versions") if key in provenance}
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), **shown}
