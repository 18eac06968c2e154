"""Bad configurations: a message, no traceback, nothing run."""

import re
import shutil

import pytest
import together

from dperm.errors import ConfigError
from dperm_pipeline import config_files, plan
from dperm_pipeline.datasets import fetch

AUDITS = "config/audits.yaml"
DATASETS = "config/datasets.yaml"
EXPERIMENT = "config/experiments/kifer2012-output.yaml"
NEW = "config/experiments/kifer2012-foo.yaml"


# --config, edit of a file, words of the message. A Snakemake of its own for each takes its time, so that most are slow
# tests, and most messages have theirs below and in tests/dperm_pipeline/plan/test_config.py, audits/test_attacks.py.
FAST = [((), (EXPERIMENT, "epsilon: [1.0]", "epsilon: [-1.0]"), "must be above 0")]
SLOW = [
    (("scale=papper",), None, "did you mean 'paper'"),
    ((), ("config/config.yaml", "scale: quick", "scale: [quick"), "config.yaml"),
    ((), ("config/config.yaml", "mirror: null", "mirror: &a [*a]"), "aliases (*name) are not read"),
    ((), (NEW, "experiment: kifer2012-output", "experiment: kifer2012-foo"), "'kifer2012-foo' has no folder"),
    (("audit={level: 2}",), None, "audit"),
    (("mirror=/no/such/folder",), None, "is not a folder"),
]


@pytest.mark.parametrize(
    ("config", "edit", "words"), [*FAST, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_refused_in_words(project, config, edit, words):
    """By Snakemake itself, which says what the plan says."""
    if edit and edit[0] == NEW:
        shutil.copy(project.folder / EXPERIMENT, project.folder / NEW)
    if edit:
        project.edit(*edit)
    output = project.run("--dry-run", check=False, config=config or ("seed=1",))
    assert words in output
    assert "Traceback" not in output
    assert not (project.folder / "results").exists()


@pytest.mark.slow
@together.over(
    "edit, words",
    [
        (("config/config.yaml", "seed: ", "seed: many # "), "must be integer"),
        (("config/config.yaml", "scale:", "sclae:"), "did you mean 'scale'"),
        (("config/config.yaml", "tiny: 2000", "tiny: 20"), "(a side and attack): must be at least 200"),
        ((DATASETS, "adult:", "5:"), "a key must be text; put 5 in quotes"),
        ((DATASETS, "- - https://archive", "- - https://[archive"), "is not an address"),
        ((EXPERIMENT, "  ridge: 0.01", ""), "settings.quick: the setting 'ridge' is missing"),
        ((AUDITS, "mechanism: output", "mechanism: objective"), "'objective' is there twice"),
        ((AUDITS, "epsilon: 1.0", "epsilon: 0.0"), "(the claim): must be above 0"),
        ((AUDITS, "pairs:", "piars:"), "did you mean 'pairs'"),
        ((DATASETS, "adult:", "adult:\n  colour: blue"), "unknown key 'colour'"),
    ],
)
def test_refused_by_the_plan(project, monkeypatch, edit, words):
    monkeypatch.delenv("DPERM_MIRROR", raising=False)
    file = project.folder / edit[0]
    before = file.read_bytes()
    project.edit(*edit)
    with pytest.raises(ConfigError, match=re.escape(words)):
        plan.load(
            config_files.parse(project.folder / "config/config.yaml"), project.folder, unavailable=fetch.unavailable
        )
    file.write_bytes(before)


@pytest.mark.slow
def test_a_plan_that_cannot_be_made_says_so_alone(project):
    """A target that was meant for --config: nothing is said of results, of which there are none."""
    output = project.run("scale=tiny", "--dry-run", "--logger", "dperm", check=False)
    assert "No rule to produce scale=tiny" in output and "nothing would run" not in output
    assert "jobs would run" in project.run("--dry-run", "--logger", "dperm")


@pytest.mark.slow
@together.over("cores", [0, -1])
def test_a_run_on_no_core_is_refused(project, cores):
    output = project.run("--dry-run", cores=cores, check=False)
    assert f"--cores {cores}: no job runs on fewer than one" in output and "Traceback" not in output
