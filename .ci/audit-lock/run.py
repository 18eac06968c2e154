"""Hold the locked packages against the advisories of OSV, by pip-audit in an environment of its own (.venv-audit).

Status 0: nothing is known against any of them, or the advisories could not be reached, which is then said. Status 1:
something is known. Status 2: the audit itself is broken (a lock file without hashes, another checksum).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
# tests/portability/oldest.lock is left out: it holds old versions on purpose and is installed by nobody else.
LOCKS = ("requirements.lock", "examples/diffprivlib/requirements.lock", ".ci/audit-lock/requirements.lock")
# What requests, urllib3 and pip say of a network that is not there, or of a service that is down.
UNREACHABLE = (
    "ConnectionError", "ConnectTimeout", "ReadTimeout", "NameResolutionError", "NewConnectionError", "ProxyError",
    "SSLError", "Max retries exceeded", "Could not connect", "No matching distribution found", "ServiceError",
)  # fmt: skip
ENVIRONMENT = ROOT / ".venv-audit"


def main() -> int:
    """Audit the lock files, or say why not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("locks", nargs="*", default=[str(ROOT / lock) for lock in LOCKS], help="lock files")
    parser.add_argument("--accept", action="append", default=[], metavar="ID", help="an advisory to pass over")
    parser.add_argument("--osv-url", metavar="ADDRESS", help="another service than OSV's own that speaks its language")
    parser.add_argument("--program", default=str(ENVIRONMENT / "bin/pip-audit"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not Path(given.program).exists() and (status := install()) is not None:
        return status
    return max(audit(lock, given) for lock in given.locks)


def install() -> int | None:
    """Make the environment; return a status where that cannot be."""
    lock = ROOT / ".ci/audit-lock/requirements.lock"
    pip = [str(ENVIRONMENT / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    done = subprocess.run([*pip, "--require-hashes", "-r", str(lock)], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    if "DO NOT MATCH THE HASHES" not in done.stderr and any(word in done.stderr for word in UNREACHABLE):
        return unreachable("pip-audit could not be installed", done.stderr)
    print(f"pip-audit could not be installed:\n{done.stderr}", file=sys.stderr)
    return 2


def audit(lock: str, given: argparse.Namespace) -> int:
    """Audit one lock file."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "found.json")
        command = [
            given.program, "--requirement", lock, "--require-hashes", "--disable-pip", "--format", "json",
            "--output", str(out), "--progress-spinner", "off", "--vulnerability-service", "osv",
        ]  # fmt: skip
        command += ["--osv-url", given.osv_url] if given.osv_url else []
        command += [word for accepted in given.accept for word in ("--ignore-vuln", accepted)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = json.loads(out.read_text(encoding="utf-8"))["dependencies"] if out.exists() else None
    if found is None and done.returncode == 0:
        print(
            f"{lock}: nothing is known against its packages" + (f" (passed over: {given.accept})" * bool(given.accept))
        )
        return 0
    if found is None:
        if any(word in done.stderr for word in UNREACHABLE):
            return unreachable(f"{lock} was NOT audited", done.stderr)
        print(f"{lock}: pip-audit failed:\n{done.stderr}", file=sys.stderr)
        return 2
    known = [(package, one) for package in found for one in package.get("vulns", ())]
    for package, one in known:
        fixed = ", ".join(one["fix_versions"]) or "no version yet"
        print(f"{lock}: {package['name']} {package['version']}: {one['id']} (mended in {fixed})", file=sys.stderr)
    # Passed over without an answer is not the same as sound.
    skipped = [package["name"] for package in found if "skip_reason" in package]
    if skipped:
        print(f"{lock}: NOT audited, the service does not know them: {', '.join(skipped)}", file=sys.stderr)
    if not known:
        print(f"{lock}: nothing is known against {len(found) - len(skipped)} packages")
    return 1 if known else 0


def unreachable(what: str, said: str) -> int:
    """Say that there was no answer; that is no reason to fail a build."""
    last = said.strip().splitlines()[-1] if said.strip() else "no answer"
    print(f"{what}: the advisories could not be reached ({last}); run make audit-lock where there is a network")
    return 0


if __name__ == "__main__":
    sys.exit(main())
