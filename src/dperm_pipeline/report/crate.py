"""The report's folder as a Workflow Run RO-Crate: what ran, on what, and what came out, for machines to read.

It keeps to three profiles of the Workflow Run collection: process run 0.5, workflow run 0.5, workflow 1.0. Beside the
pages lie, in `run`, what a run has and the pages only show: the Snakefile, the configuration, the verdicts and the
ledger.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from dperm_pipeline import files

METADATA = "ro-crate-metadata.json"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_TERMS = "https://w3id.org/ro/terms/workflow-run/context"
_SNAKEFILE = Path("Snakefile")
_LICENCE = "https://spdx.org/licenses/MIT"
# What the run was given, and what it gave beside the pages.
_CONFIG, _CLAIMS, _LEDGER = "run/config.yaml", "run/claims.parquet", "run/privacy.parquet"
_KINDS = {".html": "text/html", ".svg": "image/svg+xml", ".csv": "text/csv", ".yaml": "application/yaml"}
_KINDS |= {".parquet": "application/vnd.apache.parquet", ".json": "application/json"}


def write(
    folder: Path, *, claims: str | Path, privacy: str | Path, config: Mapping[str, Any], provenance: Mapping[str, Any]
) -> None:
    """Copy what a run has into `run`, and describe all that lies in the folder; equal input gives equal bytes."""
    copies = {
        "run/Snakefile": _SNAKEFILE.read_bytes(),
        _CONFIG: yaml.safe_dump(dict(config), sort_keys=True, allow_unicode=True).encode(),
        _CLAIMS: Path(claims).read_bytes(),
        _LEDGER: Path(privacy).read_bytes(),
    }
    for name, content in copies.items():
        with files.replacing(folder / name) as path:
            path.write_bytes(content)
    listed = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != METADATA)
    told = graph([_file(path, folder) for path in listed], config, provenance)
    document = {"@context": ["https://w3id.org/ro/crate/1.1/context", _TERMS], "@graph": told}
    files.write_text(folder / METADATA, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def graph(listed: list[dict], config: Mapping[str, Any], provenance: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entities of a crate of these files."""
    scale, seed = config.get("scale", "unknown"), config.get("seed")
    span, code = provenance.get("span"), provenance.get("code") or {}
    ended = None if span is None else datetime.fromtimestamp(span["last"], UTC).isoformat(timespec="seconds")
    words = f"All figures, tables, verdicts and audits of dperm at scale {scale}, seed {seed}"
    data = [_data(name, found, config) for name, found in provenance.get("data", {}).items()]
    outcome = [_CLAIMS, _LEDGER, "index.html"]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"dperm, scale {scale}",
        "description": words,
        "datePublished": ended or "unknown",
        "license": {"@id": _LICENCE},
        "conformsTo": [{"@id": profile} for profile in _PROFILES],
        "hasPart": [{"@id": file["@id"]} for file in listed],
        "mainEntity": {"@id": "run/Snakefile"},
        "mentions": {"@id": "#run"},
        "author": {"@id": "#authors"},
        "publisher": {"@id": "#authors"},
    }
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"A run of dperm at scale {scale}",
        "description": f"{words}; made by snakemake --config scale={scale}",
        "instrument": {"@id": "run/Snakefile"},
        "object": [{"@id": _CONFIG}, *({"@id": one["@id"]} for one in data)],
        "result": [{"@id": name} for name in outcome],
        "actionStatus": "http://schema.org/CompletedActionStatus",
        "agent": {"@id": "#authors"},
        **({"endTime": ended} if ended else {}),
    }
    version = code.get("version", "unknown") + (f", commit {code['commit']}" if code.get("commit") else "")
    workflow = {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "dperm",
        "description": "Four papers on differentially private learning, reproduced end to end",
        "version": version + (", with uncommitted changes" if code.get("changed") else ""),
        "conformsTo": {"@id": "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"},
        "license": {"@id": _LICENCE},
        "programmingLanguage": {"@id": "#snakemake"},
        "input": {"@id": "#configuration"},
        "output": [{"@id": f"#{Path(name).stem}"} for name in outcome],
    }
    snakemake = {
        "@id": "#snakemake",
        "@type": "ComputerLanguage",
        "name": "Snakemake",
        "alternateName": "snakemake",
        "identifier": {"@id": "https://doi.org/10.1093/bioinformatics/bts480"},
        "url": {"@id": "https://snakemake.readthedocs.io"},
        "version": provenance.get("packages", {}).get("snakemake", "unknown"),
    }
    parameters = {
        "configuration": (_CONFIG, "The resolved configuration: scale, seed, experiments, audits"),
        "claims": (_CLAIMS, "A verdict for every test of every claim"),
        "privacy": (_LEDGER, "The privacy ledger: what each guarantee claims, and what is certified of it"),
        "index": ("index.html", "The report for people"),
    }
    about = {"@id": METADATA, "@type": "CreativeWork", "about": {"@id": "./"}}
    about["conformsTo"] = [{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": list(_PROFILES)[-1]}]
    of_file = {
        file: {"description": words, "exampleOfWork": {"@id": f"#{name}"}} for name, (file, words) in parameters.items()
    }
    of_file["run/Snakefile"] = workflow
    return [
        about,
        root,
        run,
        *(file | of_file.get(file["@id"], {}) for file in listed),
        snakemake,
        *(_parameter(name, *of) for name, of in parameters.items()),
        *data,
        {"@id": "#authors", "@type": "Organization", "name": "The dperm authors"},
        {"@id": _LICENCE, "@type": "CreativeWork", "name": "MIT License", "description": "The licence of dperm"},
        *(
            {"@id": profile, "@type": "CreativeWork", "name": name, "version": version}
            for profile, (name, version) in _PROFILES.items()
        ),
    ]


def _file(path: Path, folder: Path) -> dict[str, Any]:
    content = path.read_bytes()
    kind = _KINDS.get(path.suffix, "text/plain")
    return {
        "@id": path.relative_to(folder).as_posix(),
        "@type": "File",
        "name": path.name,
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
        "encodingFormat": kind,
    }


def _data(name: str, found: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a data set, which the crate does not hold: its checksum says which bytes were read."""
    entry = config.get("datasets", {}).get(name, {})
    checksum = found["sha256"] if isinstance(found, Mapping) else found
    return {
        "@id": f"#data-{name}",
        "@type": "PropertyValue",
        "name": name,
        "description": str(entry.get("title", name)),
        "propertyID": "sha256",
        "value": checksum,
    }


def _parameter(name: str, file: str, words: str) -> dict[str, Any]:
    return {
        "@id": f"#{name}",
        "@type": "FormalParameter",
        "additionalType": "File",
        "conformsTo": {"@id": "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"},
        "name": name,
        "description": words,
        "workExample": {"@id": file},
    }
