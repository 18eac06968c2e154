"""Print the first line of `elsewhere.jsonl`: which implementations of others are measured, and on which splits.

python examples/frontier/provenance.py      (from the repository's folder)
"""

import hashlib
import json
import re
from pathlib import Path

import yaml
from fetch import SOURCES

# Method -> the repository of `fetch.SOURCES` that holds it.
FETCHED = {"double-noise Newton (dp_newton)": "tensorflow/privacy", "better-objpert (AMP)": "rredberg/better-objpert"}
PINNED = re.compile(r"^(diffprivlib)==(\S+)((?:\s*\\\n\s*--hash=sha256:\w+)+)", re.MULTILINE)
LOCKS = ("examples/diffprivlib/requirements.lock", "examples/frontier/requirements.lock")


def methods() -> dict[str, dict]:
    """Return source, version and checksums of each method."""
    name, version, hashes = PINNED.search(Path(LOCKS[0]).read_text(encoding="utf-8")).groups()
    installed = {"source": name, "version": version, "sha256": re.findall(r"sha256:(\w+)", hashes)}
    found = {"diffprivlib LogisticRegression": installed}
    for method, repository in FETCHED.items():
        commit, files = SOURCES[repository]
        checksums = {file: checksum for file, (checksum, _) in files.items()}
        found[method] = {"source": repository, "version": f"@{commit[:12]}", "sha256": checksums}
    return found


if __name__ == "__main__":
    seed = yaml.safe_load(Path("config/config.yaml").read_text(encoding="utf-8"))["seed"]
    environments = {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in LOCKS}
    print(json.dumps({"scale": "paper", "seed": seed, "environments": environments, "methods": methods()}))
