"""Bad configurations through Snakemake itself: a message, no traceback, nothing run."""

import shutil

import pytest

AUDITS = "config/audits.yaml"
EXPERIMENT = "config/experiments/kifer2012-output.yaml"
NEW = "config/experiments/kifer2012-foo.yaml"


# --config, edit of a file, words of the message. A Snakemake of its own for each takes its time, so that most are slow
# tests, and most messages have theirs elsewhere: tests/dperm_pipeline/plan/test_config.py, audits/test_attacks.py.
FAST = [((), (EXPERIMENT, "epsilon: [1.0]", "epsilon: [-1.0]"), "must be above 0")]
SLOW = [
    (("scale=papper",), None, "did you mean 'paper'"),
    ((), ("config/config.yaml", "scale: quick", "scale: [quick"), "config.yaml"),
    ((), ("config/config.yaml", "mirror: null", "mirror: &a [*a]"), "aliases (*name) are not read"),
    ((), (AUDITS, "pairs:", "piars:"), "did you mean 'pairs'"),
    ((), (NEW, "experiment: kifer2012-output", "experiment: kifer2012-foo"), "'kifer2012-foo' has no folder"),
    (("seed=many",), None, "must be integer"),
    (("sclae=tiny",), None, "did you mean 'scale'"),
    (("mirror=/no/such/folder",), None, "is not a folder"),
    ((), ("config/datasets.yaml", "adult:", "adult:\n  colour: blue"), "unknown key 'colour'"),
    ((), ("config/datasets.yaml", "adult:", "5:"), "a key must be text; put 5 in quotes"),
    ((), ("config/datasets.yaml", "- - https://archive", "- - https://[archive"), "is not an address"),
    ((), (EXPERIMENT, "  ridge: 0.01", ""), "settings.quick: the setting 'ridge' is missing"),
    (("audit={level: 2}",), None, "audit"),
    ((), ("config/config.yaml", "tiny: 2000", "tiny: 20"), "(a side and attack): must be at least 200"),
    ((), (AUDITS, "mechanism: output", "mechanism: objective"), "'objective' is there twice"),
    ((), (AUDITS, "epsilon: 1.0", "epsilon: 0.0"), "(the claim): must be above 0"),
]


@pytest.mark.parametrize(
    ("config", "edit", "words"), [*FAST, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_refused_in_words(project, config, edit, words):
    if edit and edit[0] == NEW:
        shutil.copy(project.folder / EXPERIMENT, project.folder / NEW)
    if edit:
        project.edit(*edit)
    output = project.run("--dry-run", check=False, config=config or ("seed=1",))
    assert words in output
    assert "Traceback" not in output
    assert not (project.folder / "results").exists()
