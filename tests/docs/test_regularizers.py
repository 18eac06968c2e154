"""docs/regularizers.md tells the truth: its examples run, one after the other."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/regularizers.md").read_text(encoding="utf-8")


def test_examples_run():
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, "docs/regularizers.md", "exec"), names)
    assert {"model", "mixture", "shifted", "steps"} <= names.keys()
