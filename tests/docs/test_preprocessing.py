"""docs/preprocessing.md tells the truth: its example runs, and its file is a schema."""

import re
from pathlib import Path

import pandas as pd

from dperm import PublicEncoder

PAGE = (Path(__file__).parents[2] / "docs/preprocessing.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path, capsys):
    names = {}
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(block, "docs/preprocessing.md", "exec"), names)
    assert "'city=(missing)'" in capsys.readouterr().out and names["chain"].score(names["table"], names["y"]) > 0.8
    (schema,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "schema.yaml").write_text(schema, encoding="utf-8")
    row = {"age": 17, "hours": None, "job": "sea", "city": "?", "since": "2000-01-01", "id": 1, "lab7": 1}
    read = PublicEncoder(tmp_path / "schema.yaml").fit_transform(pd.DataFrame([row]))
    assert (read[0] > 0).tolist() == [False, True, False, False, True, False, False, True, False, True]
