"""Fetch the files of others' code that are run, each at a fixed commit and checked by its SHA-256.

python examples/frontier/fetch.py FOLDER [SOURCES.json]     (what is in the folder and right stays)

SOURCES.json holds another list than the one below, in the same shape.
"""

import json
import sys
from pathlib import Path

import pooch

HOST = "https://raw.githubusercontent.com"
# Repository -> commit, and file -> checksum and where it goes. The second has no licence: nothing of it is kept here.
SOURCES = {
    "tensorflow/privacy": (
        "cb6659d11b1ab9033daea15a4debb4e9c085a59f",
        {
            "research/dp_newton/src/my_logistic_regression.py": (
                "f5967d05ca17db2ed6e4bd235c080ab6aef322a635c4e0d2f9d15bb9ca88e429",
                "dp_newton/my_logistic_regression.py",
            ),
            "research/dp_newton/src/opt_algs.py": (
                "01506b2fc2160df2b66015bf4587086d8668f0e07cd0ee707492cd4934c1d412",
                "dp_newton/opt_algs.py",
            ),
        },
    ),
    "rredberg/better-objpert": (
        "7aa43aa3a4c9b8f2db96ce98cd61424403dedf11",
        {
            "utilities/models.py": (
                "66417c37722728150281fe4f13ccf729c694e2132a6046a24d6c8deb0217d80d",
                "better_objpert/utilities/models.py",
            ),
            "utilities/noise_calibration.py": (
                "8e1af7fed56af65ff2ec703810c98a23df0f40745c7e7def4640ea66b45e43e6",
                "better_objpert/utilities/noise_calibration.py",
            ),
            "utilities/utils.py": (
                "56818fa48ae2896d2f99781d1bd8778506400fc600c4df7c788179c07ad51445",
                "better_objpert/utilities/utils.py",
            ),
        },
    ),
}


def fetch(folder: Path, sources: dict = SOURCES) -> list[Path]:
    """Return where each file is, after it was fetched or found there; pooch refuses one with another checksum."""
    found = []
    for repository, (commit, files) in sources.items():
        for name, (checksum, place) in files.items():
            path = folder / place
            url = f"{HOST}/{repository}/{commit}/{name}"
            found.append(Path(pooch.retrieve(url, f"sha256:{checksum}", fname=path.name, path=path.parent)))
    return found


if __name__ == "__main__":
    fetch(Path(sys.argv[1]), *(json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[2:]))
