"""Ten bad configurations through Snakemake itself: a message, no traceback, nothing run."""

import pytest

EXPERIMENT = "config/experiments/kifer2012-output.yaml"


@pytest.mark.parametrize(
    ("config", "edit", "words"),
    [
        (("scale=papper",), None, "did you mean 'paper'"),
        (("seed=-3",), None, "must be at least 0"),
        (("seed=many",), None, "must be integer"),
        (("sclae=tiny",), None, "did you mean 'scale'"),
        (("mirror=/no/such/folder",), None, "is not a folder"),
        ((), ("config/config.yaml", "papers: [kifer2012]", "papers: [kifer2021]"), "did you mean 'kifer2012'"),
        ((), ("config/config.yaml", "scale: quick", "scale: [quick"), "config.yaml"),
        ((), (EXPERIMENT, "epsilon: [1.0]", "epsilon: [-1.0]"), "must be above 0"),
        ((), (EXPERIMENT, "repeats: 6", "repeats: 0"), "must be at least 1"),
        ((), ("config/datasets.yaml", "adult:", "adult:\n  colour: blue"), "unknown key 'colour'"),
    ],
)
def test_refused_in_words(project, config, edit, words):
    if edit:
        project.edit(*edit)
    output = project.run("--dry-run", check=False, config=config or ("seed=1",))
    assert words in output
    assert "Traceback" not in output
    assert not (project.folder / "results").exists()
