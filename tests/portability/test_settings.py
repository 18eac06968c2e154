"""The bytes of rows do not depend on settings of the machine: two experiments, without Snakemake."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from machines import ASCII, PLACE, PLAIN, ROOT, bytes_of, environment, finish, locale, start, threads

pytestmark = pytest.mark.slow

# Short ones, with linear algebra, compiled loops, a data set and a baseline between them; all others are computed under
# other settings by test_versions.py.
ONLY = ("kifer2012-output", "jain2013-queries")


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> dict[str, bytes]:
    """What the plainest machine computes."""
    out = tmp_path_factory.mktemp("plain") / "out"
    finish(start(out, "--only", *ONLY, **PLAIN))
    return bytes_of(out)


def part(found: dict[str, bytes], name: str) -> dict[str, bytes]:
    """Return what one experiment has made."""
    own = {path: content for path, content in found.items() if path.startswith(f"{name}/")}
    assert own
    return own


def test_hash_seed_and_ascii(plain, tmp_path):
    only = "jain2013-queries"
    finish(start(tmp_path / "out", "--only", only, **ASCII, PYTHONHASHSEED="2"))
    assert bytes_of(tmp_path / "out") == part(plain, only)


def test_order_more_threads_and_turkish_on_an_island_far_east(plain, tmp_path):
    settings = {**threads(7), **locale(tmp_path / "locales", "tr_TR"), "TZ": "Pacific/Kiritimati"}
    out = tmp_path / PLACE / "out"
    finish(start(out, "--backwards", "--only", *ONLY, umask=0o077, PYTHONHASHSEED="7", **settings))
    assert bytes_of(out) == plain
    # Nor is anything readable that should not be.
    assert [path for path in out.rglob("*.parquet") if path.stat().st_mode & 0o077] == []


def test_no_locale_in_a_folder_of_any_name(plain, tmp_path):
    # The code and the configuration stand there too. Nothing compiled: that would take half a minute.
    root, only = tmp_path / PLACE, "kifer2012-output"
    for folder in ("src", "config", "workflow/schemas"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("*.egg-info"))
    finish(start(root / "out", "--root", str(root), "--only", only, LC_ALL="C", LANG="C"))
    assert bytes_of(root / "out") == part(plain, only)


ASKED = """
import json, sys, types
from threadpoolctl import threadpool_info
from dperm_pipeline import experiments, places

probe, declared = types.ModuleType("probe"), types.ModuleType("declared")
def run(cell, rows):
    import scipy.linalg  # as late as an experiment may
    rows.add("threads", [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"])
probe.run, declared.Settings = run, types.SimpleNamespace
folder = places.package("kifer2012-probe")
sys.modules |= {folder: types.ModuleType("folder"), f"{folder}.experiment": probe, f"{folder}.settings": declared}
cell = {"paper": "kifer2012", "experiment": "kifer2012-probe", "seed": 0, "point": {}, "settings": {}}
print(json.dumps(experiments.run(cell)["value"].tolist()))
"""


def test_a_cell_meets_one_thread_in_a_process_that_has_loaded_nothing():
    done = subprocess.run(
        [sys.executable, "-c", ASKED], env=environment(**threads(2), PYTHONPATH=str(ROOT / "src")),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    # NumPy's and SciPy's.
    assert len(found) >= 2
    assert set(found) == {1}


COMPILED = """
import sys
from dperm.compiled import compiled

@compiled
def total(x):
    found = 0.0
    for value in x:
        found += value
    return found

import numpy as np
assert total(np.array([0.5, 0.25])) == 0.75
print(sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values()))
"""


def test_what_numba_compiles_is_kept_in_a_folder_of_any_name(tmp_path):
    folder = tmp_path / PLACE
    folder.mkdir()
    (folder / "loop.py").write_text(COMPILED, encoding="utf-8")
    given = environment(LC_ALL="C", PYTHONPATH=str(ROOT / "src"), DPERM_NUMBA_CACHE=str(folder / "cache"))

    def run():
        done = subprocess.run([sys.executable, str(folder / "loop.py")], env=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.split()

    assert run() == [b"0", b"1"]
    assert [path for path in (folder / "cache").rglob("*") if path.suffix == ".nbc"]
    assert run() == [b"1", b"0"]


# Both are ready before either compiles.
TOGETHER = """
import os, pathlib, time
ready = pathlib.Path(__file__).parent / f"{os.getpid()}.ready"
ready.touch()
while len(list(ready.parent.glob("*.ready"))) < 2:
    time.sleep(0.01)
import numpy as np
"""


def test_of_two_processes_that_need_the_same_at_once_one_compiles_it(tmp_path):
    (tmp_path / "loop.py").write_text(COMPILED.replace("import numpy as np\n", TOGETHER), encoding="utf-8")
    given = environment(PYTHONPATH=str(ROOT / "src"), DPERM_NUMBA_CACHE=str(tmp_path / "cache"))
    command = [sys.executable, str(tmp_path / "loop.py")]
    both = [subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(one.communicate()[0].split() for one in both) == [["0", "1"], ["1", "0"]]


COPIED = """
import sys
from dperm.solvers import berhu
assert berhu.__file__.startswith(sys.argv[1])
assert berhu.penalty(2.0, 1.0, 0.0, 0.0, 0.0) == 2.0
print(sum(berhu.penalty.stats.cache_hits.values()), sum(berhu.penalty.stats.cache_misses.values()))
"""


def test_a_copy_of_the_code_does_not_compile_what_another_has_compiled(tmp_path):
    def run(name):
        given = environment(PYTHONPATH=str(tmp_path / name), DPERM_NUMBA_CACHE=str(tmp_path / "cache"))
        command = [sys.executable, "-c", COPIED, str(tmp_path / name)]
        return subprocess.run(command, env=given, capture_output=True, text=True, check=True).stdout.split()

    for name in ("first", "second", "edited"):
        shutil.copytree(ROOT / "src/dperm", tmp_path / name / "dperm", copy_function=shutil.copyfile)
    # Another file than the one whose function is called.
    with (tmp_path / "edited/dperm/solvers/gram.py").open("a", encoding="utf-8") as edited:
        edited.write("# edited")
    assert [run("first"), run("second"), run("edited")] == [["0", "1"], ["1", "0"], ["0", "1"]]


def test_a_mirror_in_a_folder_of_any_name(tmp_path):
    mirror = tmp_path / PLACE
    mirror.mkdir()
    asked = "from dperm_pipeline import plan; import sys, yaml, pathlib\n" + (
        "root = pathlib.Path(sys.argv[1])\n"
        "config = yaml.safe_load((root / 'config/config.yaml').read_text(encoding='utf-8'))\n"
        "seen = plan.load(config, root).mirror\n"
        "import os; sys.stdout.buffer.write(os.fsencode(seen))"
    )
    given = environment(LC_ALL="C", PYTHONPATH=str(ROOT / "src"), DPERM_MIRROR=str(mirror))
    done = subprocess.run([sys.executable, "-c", asked, str(ROOT)], env=given, capture_output=True, check=True)
    assert Path(os.fsdecode(done.stdout)) == mirror
