"""Bad configurations through Snakemake itself: a message, no traceback, nothing run."""

import shutil

import pytest

AUDITS = "config/audits.yaml"
EXPERIMENT = "config/experiments/kifer2012-output.yaml"
NEW = "config/experiments/kifer2012-foo.yaml"


# --config, edit of a file, words of the message. A Snakemake of its own for each takes its time, so that most are slow
# tests: tests/dperm_pipeline/plan/test_config.py holds the messages themselves.
FAST = [
    (("scale=papper",), None, "did you mean 'paper'"),
    ((), ("config/config.yaml", "scale: quick", "scale: [quick"), "config.yaml"),
    ((), (EXPERIMENT, "epsilon: [1.0]", "epsilon: [-1.0]"), "must be above 0"),
]
SLOW = [
    ((), ("config/config.yaml", "mirror: null", "mirror: &a [*a]"), "aliases (*name) are not read"),
    ((), (AUDITS, "pairs:", "piars:"), "did you mean 'pairs'"),
    ((), (NEW, "experiment: kifer2012-output", "experiment: kifer2012-foo"), "'kifer2012-foo' has no folder"),
    (("seed=-3",), None, "must be at least 0"),
    (("seed=many",), None, "must be integer"),
    (("sclae=tiny",), None, "did you mean 'scale'"),
    (("mirror=/no/such/folder",), None, "is not a folder"),
    ((), ("config/config.yaml", "papers: [kifer2012]", "papers: [kifer2021]"), "did you mean 'kifer2012'"),
    ((), (EXPERIMENT, "repeats: 6", "repeats: 0"), "must be at least 1"),
    ((), ("config/datasets.yaml", "adult:", "adult:\n  colour: blue"), "unknown key 'colour'"),
    ((), ("config/datasets.yaml", "adult:", "5:"), "a key must be text; put 5 in quotes"),
    ((), ("config/datasets.yaml", "[17, 100]", f"[17, 1{'0' * 400}]"), "is not a finite number"),
    ((), ("config/datasets.yaml", "- - https://archive", "- - https://[archive"), "is not an address"),
    ((), (EXPERIMENT, "  ridge: 0.01", ""), "settings.quick: the setting 'ridge' is missing"),
    ((), (EXPERIMENT, "calibration: tight", "calibration: corrected"), "not offered by 'objective'"),
    ((), (EXPERIMENT, "    epsilon: [1.0]\n", ""), "grid.tiny: the axis 'epsilon' is missing"),
    ((), (EXPERIMENT, "data_axes: [dataset]", "data_axes: []"), "what decides the data"),
    ((), (EXPERIMENT, "[kifer2012-output,", "[kifer2012-ouput,"), "did you mean 'kifer2012-output'"),
    (("audit={level: 2}",), None, "audit"),
    ((), ("config/config.yaml", "tiny: 2000", "tiny: 20"), "(a side and attack): must be at least 200"),
    (
        (),
        (AUDITS, "tiny: [saturating]", "tiny: [saturatin]"),
        "'saturatin' is no pair of the family 'linear'; did you mean 'saturating'",
    ),
    ((), (AUDITS, "mechanism: output", "mechanism: outputs"), "'outputs' is no mechanism; did you mean 'output'"),
    ((), (AUDITS, "mechanism: output", "mechanism: objective"), "'objective' is there twice"),
    ((), (AUDITS, "family: linear", "family: linaer"), "did you mean 'linear'"),
    ((), (AUDITS, "calibration: tight", "calibration: corrected"), "is not offered by 'objective'"),
    ((), (AUDITS, "epsilon: 1.0", "epsilon: 0.0"), "(the claim): must be above 0"),
    ((), (AUDITS, "tiny: [data]", "tiny: [date]"), "'date' is no group of mutants; did you mean 'data'"),
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
