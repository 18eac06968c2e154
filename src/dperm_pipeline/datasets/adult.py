"""UCI Adult: its two raw files and its public codebook (adult.names)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dperm.errors import DataError
from dperm_pipeline.datasets.encode import Raw

COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race",
    "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
# As adult.names lists them, in its order and spelling; 99 levels of eight factors.
LEVELS = {
    "workclass": (
        "Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov", "Without-pay",
        "Never-worked",
    ),
    "education": (
        "Bachelors", "Some-college", "11th", "HS-grad", "Prof-school", "Assoc-acdm", "Assoc-voc", "9th", "7th-8th",
        "12th", "Masters", "1st-4th", "10th", "Doctorate", "5th-6th", "Preschool",
    ),
    "marital-status": (
        "Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent",
        "Married-AF-spouse",
    ),
    "occupation": (
        "Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty",
        "Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving",
        "Priv-house-serv", "Protective-serv", "Armed-Forces",
    ),
    "relationship": ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    "race": ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
    "sex": ("Female", "Male"),
    "native-country": (
        "United-States", "Cambodia", "England", "Puerto-Rico", "Canada", "Germany", "Outlying-US(Guam-USVI-etc)",
        "India", "Japan", "Greece", "South", "China", "Cuba", "Iran", "Honduras", "Philippines", "Italy", "Poland",
        "Jamaica", "Vietnam", "Mexico", "Portugal", "Ireland", "France", "Dominican-Republic", "Laos", "Ecuador",
        "Taiwan", "Haiti", "Columbia", "Hungary", "Guatemala", "Nicaragua", "Scotland", "Thailand", "Yugoslavia",
        "El-Salvador", "Trinadad&Tobago", "Peru", "Hong", "Holand-Netherlands",
    ),
}  # fmt: skip


def parse(entry: Mapping[str, Any], folder: Path) -> Raw:
    """Read `adult.data` (train) and `adult.test` (test), every record, missing values marked `?` as in the source.

    DataError names the file and the line that has another number of fields.
    """
    train, test = _records(folder / "adult.data"), _records(folder / "adult.test")
    cells = np.array(train + test, dtype=object)
    return Raw(
        columns={name: cells[:, j] for j, name in enumerate(COLUMNS)},
        split=np.repeat(["train", "test"], [len(train), len(test)]),
        levels=LEVELS,
    )


def _records(path: Path) -> list[list[str]]:
    records = []
    for number, line in enumerate(path.read_text(encoding="ascii", errors="replace").splitlines(), start=1):
        # A blank last line; `|` opens a comment, as in the first line of adult.test.
        if not line.strip() or line.startswith("|"):
            continue
        record = [cell.strip() for cell in line.split(",")]
        if len(record) != len(COLUMNS):
            raise DataError(f"{path}, line {number}: {len(record)} fields instead of {len(COLUMNS)}; fetch it again")
        # The labels of adult.test end with a full stop.
        record[-1] = record[-1].removesuffix(".")
        records.append(record)
    if not records:
        raise DataError(f"{path} holds no record; fetch it again")
    return records
