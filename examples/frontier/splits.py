"""Write the splits of frontier-linear to files that any environment can read, and what is to be tried on them.

    python examples/frontier/splits.py FOLDER      (from the repository's folder, with its prepared data sets)

One file FOLDER/<data set>-<split>.npz with X, y (training) and Q, target (test): rows of length one, labels -1 and +1.
"""

import json
import sys
from pathlib import Path

import numpy as np
import yaml

from dperm_papers.frontier.linear.settings import Settings
from dperm_papers.frontier.shared.splits import splits
from dperm_pipeline.experiments import Cell

DATASETS = ("adult", "breast-cancer", "covertype")
EPSILONS, DELTA = (0.1, 0.5, 1.0, 5.0), 1e-4


def main(folder: Path) -> None:
    """Write the splits that scale `paper` has of each data set."""
    folder.mkdir(parents=True, exist_ok=True)
    seed = yaml.safe_load(Path("config/config.yaml").read_text(encoding="utf-8"))["seed"]
    config = yaml.safe_load(Path("config/experiments/frontier-linear.yaml").read_text(encoding="utf-8"))
    settings = Settings(**config["common"], **config["settings"]["paper"])
    for dataset in DATASETS:
        files = {"data": f"resources/prepared/{dataset}.parquet"}
        cell = Cell("frontier", config["experiment"], seed, {"dataset": dataset}, settings, files=files)
        for number, split in enumerate(splits(cell)):
            parts = {"X": split.X, "y": split.y, "Q": split.Q, "target": split.target}
            np.savez(folder / f"{dataset}-{number}.npz", **parts)
    (folder / "budgets.json").write_text(json.dumps({"epsilons": EPSILONS, "delta": DELTA}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
