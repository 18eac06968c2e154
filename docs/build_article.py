"""Set the article: make article writes results/article.pdf from docs/assets, with RESULTS=results/paper from that run.

The text is docs/article; every number of a row in it is looked up by docs/article/lib.typ.
"""

import argparse
import datetime
import json
import shutil
import sys
import tempfile
from pathlib import Path

import typst
import update_assets
from matplotlib import get_data_path

from dperm.errors import DpermError

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs/assets"
MAIN = ROOT / "docs/article/main.typ"
# Rows that no run of the pipeline makes: other tools, and what the frontier's drawing keeps.
MEASURED_APART = ("auditors.jsonl", "frontier.csv", "libraries.jsonl")


def compiler(assets: Path, main: Path = MAIN) -> typst.Compiler:
    """Return what sets the article; its fonts are Typst's own and matplotlib's, the same on every machine."""
    fonts = typst.Fonts(include_system_fonts=False, font_paths=[Path(get_data_path()) / "fonts/ttf"])
    # A run's folder may lie anywhere.
    return typst.Compiler(main, root="/", font_paths=fonts, sys_inputs={"assets": str(assets.resolve())})


def pdf(assets: Path = ASSETS) -> bytes:
    """Return the article, dated as the run is: the same rows give the same bytes."""
    day = json.loads((assets / "run.json").read_text(encoding="utf-8"))["date"]
    noon = datetime.datetime.fromisoformat(day).replace(hour=12, tzinfo=datetime.UTC)
    return compiler(assets).compile(format="pdf", timestamp=noon)


def of_run(results: Path, root: Path) -> Path:
    """Return a folder below `root` with what the article reads, from a finished run: as make docs-assets takes it."""
    shutil.copy(ROOT / "README.md", root)
    update_assets.renew(results, root=root)
    for name in MEASURED_APART:
        shutil.copy(ASSETS / name, root / "docs/assets")
    return root / "docs/assets"


def main(arguments: list[str] | None = None) -> int:
    """Write the article; return 1 with a message if that cannot be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", help="a run's folder; without it, the rows of docs/assets")
    given = parser.parse_args(arguments)
    place = ROOT / "results/article.pdf"
    try:
        with tempfile.TemporaryDirectory() as folder:
            made = pdf(of_run(given.results, Path(folder)) if given.results else ASSETS)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(made)
    except (DpermError, OSError, typst.TypstError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(place.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
