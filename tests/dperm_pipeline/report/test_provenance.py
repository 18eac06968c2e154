"""Where a report says that its numbers come from: times, machine, data, citation."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import pytest
import together
import yaml

from dperm.errors import ConfigError
from dperm_pipeline import report
from dperm_pipeline.datasets import catalogue, prepare, prepared
from dperm_pipeline.report import assets, citation, cost, provenance, serve
from dperm_pipeline.report.__main__ import main

ROOT = Path(__file__).parents[3]
# The header that Snakemake writes.
HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


@pytest.fixture
def benchmarks(tmp_path):
    """Return the folder of one scale, with what five of its jobs, and two that all scales share, left behind.

    All but the last were logged to have worked a second less than they ran, half of it CPU, and to have started with
    0.75 s of it.
    """
    jobs = {
        "quick/jain2013-kdd/tddl.tight/kdd-like": (4000.0, 300, 2000, 4010.0),
        "quick/jain2013-kdd/collect": (2.0, 500, 1000, 4012.0),
        "quick/kifer2012-output/output.tight/adult": (10.0, 100, 2000, 4022.0),
        "quick/claims": (3.0, 746, 1000, 4025.0),
        "quick/report": (9.0, 900, 1000, 5000.0),
        "prepare/adult": (5.0, 200, 1000, 20.0),
        "prepare/url": (50.0, 2000, 0, 9000.0),
    }
    for name, (wall, memory, declared, ended) in jobs.items():
        path, log = tmp_path / "benchmarks" / f"{name}.tsv", tmp_path / "logs" / f"{name}.log"
        for folder in (path.parent, log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{HEADER}{wall}\t0:00:00\t{memory}\t1\t1\t1\t0\t0\t1\t9\n", encoding="utf-8")
        os.utime(path, (ended, ended))
        if declared:
            worked = f"worked {wall - 1:.3f} s, {(wall - 1) / 2:.3f} s of CPU, peak {memory} MB of {declared} MB"
            log.write_text(f"words\nstarted with 0.750 s of CPU\n{worked}\n", encoding="utf-8")
    return tmp_path / "benchmarks/quick"


def test_stages_add_up(benchmarks):
    """By hand; a data set that was not asked for, other scales and the report itself do not count."""
    stages, span = cost.stages(benchmarks, ["adult"])
    # Of one job after the other: 15 to 20, 10 to 4010, then 2 + 10 + 3 s.
    assert span == {"last": 4025.0, "seconds": 4015.0, "cores": 2}
    assert [stage["name"] for stage in stages] == ["claims", "jain2013-kdd", "kifer2012-output", "prepare"]
    kdd = stages[1]
    assert (kdd["jobs"], kdd["wall"], kdd["longest"], kdd["memory"], kdd["declared"]) == (2, 4002.0, 4000.0, 500, 1000)
    assert (kdd["work"], kdd["cpu"], kdd["start"]) == (4000.0, 2000.0, 1.5)
    assert cost.stages(benchmarks.parent / "paper") == ([], None)


@pytest.mark.parametrize("text", ["s\tcpu_time\n-\t-\n", "s\th:m:s\n0.3\t0:00:00\n", f"{HEADER}0.1\t0:00:00\tNA\t1\n"])
def test_a_job_that_was_over_before_it_was_measured(tmp_path, text):
    path = tmp_path / "b/claims.tsv"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    (stage,), _ = cost.stages(path.parent)
    assert stage["jobs"] == 1 and stage["cpu"] == stage["memory"] == 0 and stage["wall"] <= 0.3


@together.over(
    "seconds, words",
    [
        (0.04, "0.0 s"), (59.94, "59.9 s"), (59.96, "1 min 0 s"), (119.6, "2 min 0 s"),
        (3599.4, "59 min 59 s"), (3599.6, "1 h 0 min"), (9660, "2 h 41 min"), (360000, "100 h 0 min"),
    ],
)  # fmt: skip
def test_durations_in_words(seconds, words):
    assert provenance.duration(seconds) == words


def test_what_is_collected(benchmarks, tmp_path):
    breast_cancer = tmp_path / "breast-cancer.parquet"
    prepared.write(prepare.prepare(catalogue.load(ROOT / "config/datasets.yaml")["breast-cancer"]), breast_cancer)
    shutil.copy(ROOT / "CITATION.cff", tmp_path)
    found = provenance.collect(seed=7, data=[breast_cancer], benchmarks=benchmarks, root=tmp_path)
    assert found["seed"] == 7 and found["made"] == "1970-01-01 01:07 UTC"
    assert found["code"]["commit"] is None and re.match(r"\d", found["code"]["version"])
    assert found["machine"]["cores"] == os.cpu_count() and "GiB" in found["machine"]["memory"]
    assert found["packages"]["python"] == sys.version.split()[0]
    (data,) = found["data"].values()
    assert re.fullmatch("[0-9a-f]{64}", data["sha256"]) and data["data_dependent"]
    assert "@inproceedings{kifer2012," in found["citation"]
    # It goes through JSON and back: nothing but plain values.
    assert json.loads(json.dumps(found)) == found


def test_a_checkout_says_its_commit(tmp_path):
    def git(*arguments):
        author = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", "-C", str(tmp_path), *author, *arguments], check=True, capture_output=True, text=True
        )

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-q", "-m", "a")
    told = provenance.collect(seed=1, data=[], benchmarks=tmp_path / "none", root=tmp_path)
    commit = git("rev-parse", "HEAD").stdout.strip()
    assert told["code"]["commit"] == commit and not told["code"]["changed"] and told["made"] is None
    (tmp_path / "a").write_text("2")
    told = provenance.collect(seed=1, data=[], benchmarks=tmp_path / "none", root=tmp_path)
    assert told["code"]["changed"]
    words = dict(provenance.context(told)["facts"])
    assert words["dperm, when this page was built"].endswith(f"commit {commit}, with uncommitted changes")


def test_the_citation_in_bibtex(tmp_path):
    """Held against the titles, years and people of the file itself, read by hand here."""
    text = citation.bibtex(ROOT / "CITATION.cff")
    entries = dict(re.findall(r"^@\w+\{(\w+),\n(.*?)\n\}", text, flags=re.MULTILINE | re.DOTALL))
    assert list(entries) == ["dperm", "kifer2012", "jain2013", "dwork2018", "li2021"]
    assert "author = {Dwork, Cynthia and Feldman, Vitaly}" in entries["dwork2018"]
    assert "title = {{Differentially Private Learning with Kernels}}" in entries["jain2013"]
    assert "year = {2012}" in entries["kifer2012"] and "booktitle = {Conference on" in entries["kifer2012"]
    # BibTeX asks every @article for its journal.
    assert "@misc{li2021," in text and "@article" not in text
    assert text.count("{") == text.count("}")
    for broken in ("title: x\n", "a: [", "- 1\n", "type: poem\ntitle: a\nauthors: []\n"):
        (tmp_path / "CITATION.cff").write_text(broken)
        with pytest.raises(ConfigError, match=r"CITATION\.cff is not a citation file"):
            citation.bibtex(tmp_path / "CITATION.cff")


ADULT = {"title": "Adult <1994>", "licence": "CC BY 4.0", "citation": "Becker", "rows": {"train": 30162, "test": 1}}
CONFIG = {"scale": "quick", "datasets": {"adult": ADULT}}
ROWS = [
    {"name": f"{name}/rows.parquet", "rows": 12345, "failed": 2, "sha256": "c" * 64}
    for name in ("jain2013-kdd", "li2021-moor")
]


@pytest.fixture
def context(benchmarks):
    stages, span = cost.stages(benchmarks, ["adult"])
    collected = {
        "made": "2026-01-02 03:04 UTC",
        "seed": 2012,
        "cost": stages,
        "span": span,
        "citation": "@misc{a}",
        "machine": {"system": "Linux", "processor": "A CPU", "cores": 8, "memory": "16.0 GiB"},
        "packages": {"numpy": "2.4.6"},
        "code": {"version": "0.1.0", "commit": None, "changed": False},
        "data": {"adult": {"sha256": "a" * 64, "files": {"adult.data": "b" * 64}, "data_dependent": ["a <max>"]}},
        "strange": {"<b>": ["<i>"]},
    }
    return provenance.context(collected, rows=ROWS, config=CONFIG, libraries={"vega": "6"})


def test_the_context(context):
    # Hardware under a heading of its own: the rows may have been made on another machine.
    told = [("processor", "A CPU, 8 cores"), ("memory", "16.0 GiB"), ("system", "Linux")]
    assert context["machine"] == told and "processor" not in dict(context["facts"])
    assert "<h2>The machine that built this page</h2>" in render(context)
    assert [(s["name"], s["jobs"], s["wall"]) for s in context["stages"]] == [
        ("experiments: jain2013", 2, 4002.0),
        ("experiments: kifer2012", 1, 10.0),
        ("data: prepared", 1, 5.0),
        ("claims", 1, 3.0),
    ]
    total = context["total"]
    assert (total["jobs"], total["wall"], total["longest"], total["memory"]) == (5, 4020.0, 4000.0, 746)
    assert total["wall_words"] == "1 h 7 min" and total["memory_words"] == "746 of 1,000 MB"
    # Of 2 x 4,015 s: each job worked but one second, and half of that was CPU.
    assert [(part["core_words"], part["share"], part["cpu_words"]) for part in context["split"]] == [
        ("1 h 6 min", "50.0%", "33 min 28 s"),
        ("5.0 s", "0.1%", "3.8 s"),
        ("1 h 6 min", "49.9%", ""),
    ]
    assert context["untimed"] == ["li2021-moor"]
    assert context["data"][0]["rows"] == "30,162 train + 1 test"
    assert context == provenance.context({"cost": []}) | context


def test_nothing_known_is_nothing_said():
    context = provenance.context({})
    assert context["facts"] == [] == context["stages"] and context["total"] is None and context["untimed"] == []
    assert "provenance-title" in render(context)


def render(context):
    return report.render("provenance.html", provenance=context)


def test_the_section(context):
    words = render(context)
    assert "Adult &lt;1994&gt;" in words and "<b>" not in words and "a &lt;max&gt;" in words
    # Numbers stand in full where the page sorts by them.
    assert re.search(r'<tr data-stage="claims">.*data-order="3\.0">3\.0 s<.*data-order="746">746 of 1,000 MB<', words)
    assert re.search(r'data-stage="all".*?1 h 7 min', words)
    assert re.search(r'data-part="work".*>50\.0%<.*>33 min 28 s<', words)
    for checksum in "abc":
        assert checksum * 64 in words
    assert str(assets.pack("config", json.dumps(CONFIG, indent=2, sort_keys=True).encode())) in words
    ids = re.findall(r'id="([\w-]+)"', words)
    assert words.count("<h1") == 1 and len(ids) == len(set(ids))


def test_the_catalogue_says_licence_and_title_of_every_set():
    """What the page shows of a data set is there for each entry of the real catalogue."""
    entries = yaml.safe_load((ROOT / "config/datasets.yaml").read_text(encoding="utf-8"))
    told = {"data": {name: {"sha256": "0"} for name in entries}}
    shown = provenance.context(told, config={"datasets": entries})["data"]
    assert len(shown) == len(entries) and all(s["title"] and s["licence"] and s["rows"] for s in shown)


@pytest.mark.parametrize("how", [signal.SIG_DFL, signal.SIG_IGN], ids=["in front", "in a script's background"])
def test_the_report_is_served_until_ctrl_c(tmp_path, how):
    page = tmp_path / "results/quick/report/index.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>the page</p>")
    (tmp_path / "secret").write_text("no")
    asked = ["--serve", "0", "--root", str(tmp_path), "--config", "scale=quick"]
    command = [sys.executable, "-m", "dperm_pipeline.report", *asked]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    started = partial(signal.signal, signal.SIGINT, how)
    with subprocess.Popen(command, preexec_fn=started, **settings) as process:
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        assert urllib.request.urlopen(address, timeout=10).read() == b"<p>the page</p>"
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{address}../../../secret", timeout=10)
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0 and rest.strip() == "ended"


def test_what_cannot_be_served_is_said(tmp_path, capsys):
    arguments = ["--root", str(tmp_path), "--config", "scale=quick"]
    assert main(["--serve", "0", *arguments]) == 1 and "run snakemake for this scale first" in capsys.readouterr().err
    page = tmp_path / "results/quick/report/index.html"
    page.parent.mkdir(parents=True)
    page.write_text("x")
    with serve.server(page.parent, 0) as taken:
        for port in (taken.server_port, 70000):
            assert main(["--serve", str(port), *arguments]) == 1
            assert f"port {port} cannot be had" in capsys.readouterr().err
