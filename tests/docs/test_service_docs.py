"""docs/service.md: its quick start runs as it stands, on made-up records of Adult; its unit is one for systemd."""

import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/service.md").read_text(encoding="utf-8")
SCHEMA = ROOT / "examples/gallery/adult.yaml"


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


def adult(rows=300):
    """Lines as of adult.data: values that the schema allows, and an income that goes with the age."""
    rng, lines = np.random.default_rng(0), []
    for _ in range(rows):
        cells = [
            str(rng.integers(*words["range"])) if "range" in words else str(rng.choice(words["levels"]))
            for words in yaml.safe_load(SCHEMA.read_text(encoding="utf-8")).values()
            if words != "ignore"
        ]
        lines.append(", ".join([*cells, ">50K" if int(cells[0]) > 50 else "<=50K"]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path):
    """Where the commands of the page run."""
    (tmp_path / "adult.data").write_text(adult(), encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def environment():
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


# Four programs are started, and each compiles or imports.
@pytest.mark.slow
def test_the_quick_start_runs(folder):
    table, commands, key = blocks("sh")[:3]
    (folder / "table.sh").write_text(table, encoding="utf-8")
    pack, serve = map(shlex.split, commands.strip().splitlines())
    how = {"cwd": folder, "env": environment(), "text": True, "timeout": 120}
    for command in (["sh", "table.sh"], pack):
        subprocess.run(command, check=True, capture_output=True, **how)
    made = subprocess.run(shlex.split(key), check=True, capture_output=True, **how)
    # Any port that is free.
    serve[serve.index("--port") + 1] = "0"
    del how["timeout"]
    with subprocess.Popen([*serve, "--workers", "1"], stdout=subprocess.PIPE, **how) as server:
        try:
            url = re.search(r"http://\S+?(?=/?\n)", server.stdout.readline())[0]
            (folder / "asks.py").write_text(blocks("python")[0], encoding="utf-8")
            found = runpy.run_path(str(folder / "asks.py"), init_globals={"URL": url, "KEY": made.stdout.strip()})
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == 0
        finally:
            server.kill()
    assert found["first"]["charged"] == 2 and found["left"] == 98
    assert found["again"].tolist() == found["first"]["answers"] and set(found["again"]) <= {"<=50K", ">50K"}


def test_the_unit_is_one_for_systemd(tmp_path):
    command = shutil.which("systemd-analyze")
    if command is None:
        pytest.skip("systemd-analyze is not installed")
    (unit,) = blocks("ini")
    assert "dperm serve " in unit
    # That program is not on this machine.
    file = tmp_path / "dperm.service"
    file.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", unit), encoding="utf-8")
    done = subprocess.run([command, "verify", str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "dperm.service:" not in done.stderr, done.stderr
