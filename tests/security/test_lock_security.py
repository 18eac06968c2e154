"""The lock files pin every package by its bytes, and the audit of them says what it did and did not do."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = sorted(
    {*ROOT.glob("*.lock"), *ROOT.glob("examples/**/*.lock"), *ROOT.glob(".ci/*/*.lock"), *ROOT.glob("tests/*/*.lock")}
)
UV = Path(sys.executable).with_name("uv")


def entries(text: str) -> dict[str, tuple[Requirement, list[str]]]:
    """Name -> requirement and its hashes; a line that is neither fails."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    found, name = {}, None
    for line in lines:
        part = line.strip().removesuffix("\\").strip()
        if line.startswith(" "):
            kind, _, value = part.partition("=")
            assert kind == "--hash" and re.fullmatch(r"sha256:[0-9a-f]{64}", value), line
            found[name][1].append(value)
        else:
            requirement = Requirement(part)
            name = str(requirement)
            assert name not in found, f"{name} stands there twice"
            found[name] = (requirement, [])
    return found


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_package_is_pinned_and_hashed(path):
    text = path.read_text(encoding="utf-8")
    found = entries(text)
    assert found
    for requirement, hashes in found.values():
        assert [spec.operator for spec in requirement.specifier] == ["=="], requirement
        assert "*" not in str(requirement.specifier) and requirement.url is None
        assert hashes and len(set(hashes)) == len(hashes), requirement
    # Neither a host nor an option that brings one: the installer's own settings decide where packages come from.
    options = re.sub(r"--extra \w+", "", text)
    assert not re.search(r"://|--index|--extra|--find-links|--trusted|git\+|file:| @ ", options)


def test_the_lock_holds_what_the_project_asks_for():
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = {
        canonicalize_name(requirement.name): requirement.specifier
        for requirement, _ in entries((ROOT / "requirements.lock").read_text(encoding="utf-8")).values()
    }
    for text in [*asked["dependencies"], *asked["optional-dependencies"]["dev"]]:
        requirement = Requirement(text)
        (pin,) = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pin.version), text


def _dry_run(lock: Path) -> subprocess.CompletedProcess:
    """What an installer makes of a lock file, without a network and without installing."""
    command = [UV, "pip", "install", "--python", sys.executable, "--offline", "--dry-run", "--no-deps"]
    command += ["--require-hashes", "-r", lock]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def test_an_installer_takes_the_lock_and_no_weaker_one(tmp_path):
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    done = _dry_run(ROOT / "requirements.lock")
    assert done.returncode == 0, done.stderr
    weaker = tmp_path / "requirements.lock"
    weaker.write_text(
        re.sub(r"^(numpy==\S+).*\n(    --hash=.*\n)+", r"\1\n", text, flags=re.MULTILINE), encoding="utf-8"
    )
    done = _dry_run(weaker)
    assert done.returncode != 0 and "hash" in done.stderr
    assert "numpy" in done.stderr


@pytest.fixture(scope="module")
def audit():
    spec = importlib.util.spec_from_file_location("audit_lock", ROOT / ".ci/audit-lock/run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLEAN = {"name": "sound", "version": "1.0", "vulns": []}
WEAK = {"name": "weak", "version": "1.0", "vulns": [{"id": "GHSA-1", "fix_versions": ["1.1"]}]}
UNKNOWN = {"name": "unheard", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "said", "ended", "status", "words"),
    [
        (None, "No known vulnerabilities found", 0, 0, "nothing is known against its packages"),
        ([CLEAN, WEAK], "Found 1 known vulnerability", 1, 1, "weak 1.0: GHSA-1 (mended in 1.1)"),
        (
            [CLEAN, UNKNOWN],
            "No known vulnerabilities found",
            0,
            0,
            "NOT audited, the service does not know them: unhea",
        ),
        ([UNKNOWN, WEAK], "Found 1 known vulnerability", 1, 1, "NOT audited"),
        (
            None,
            "requests.exceptions.ConnectionError: Max retries exceeded",
            1,
            0,
            "was NOT audited: the advisories could",
        ),
        (None, "Could not connect to OSV's vulnerability feed", 1, 0, "could not be reached"),
        (None, "requirement weak==1.0 does not contain a hash", 1, 2, "does not contain a hash"),
        (None, "KeyError: 'x'", 1, 2, "pip-audit failed"),
    ],
)
def test_what_the_audit_says(audit, tmp_path, monkeypatch, capsys, packages, said, ended, status, words):
    """`pip-audit` ends with 1 for a weakness, a dead network and its own mistakes alike, with 0 where it skipped."""
    program = tmp_path / "pip-audit"
    answer = json.dumps({"dependencies": packages}) if packages else ""
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n"
        f"if {answer!r}: Path(sys.argv[sys.argv.index('--output') + 1]).write_text({answer!r})\n"
        f"print({said!r}, file=sys.stderr)\nsys.exit({ended})\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", ["run.py", "--program", str(program), "some.lock"])
    assert audit.main() == status
    out, err = capsys.readouterr()
    assert words in out + err
    assert "some.lock" in out + err
