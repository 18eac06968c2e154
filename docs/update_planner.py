"""Fit the planner's law to a run's frontier: docs/assets/frontier.csv and src/dperm/planning/law.json.

    .venv/bin/python docs/update_planner.py results/paper [MORE.parquet ...]

after `snakemake --config scale=paper -- frontier`. Rows of MORE files take the place of a run's rows of the same data
set, relation and method. frontier.csv has the mean error of every cell (data set, relation, method, epsilon, delta)
and how much noise it has;
the law's lines, one for each method, are fitted to it by least squares; and docs/planning.md is told the rank
correlations of predicted and measured errors: of the law, of laws each fitted without the data set that they predict,
and of one fitted to the simulated sets alone on the real ones.
"""

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from scipy import optimize, stats

from dperm.domain import Budget
from dperm.planning import noise
from dperm.planning.law import Line, place, table
from dperm.planning.plans import plan
from dperm_pipeline import files, tables
from dperm_pipeline.datasets import prepared

ROOT = Path(__file__).parents[1]
CELLS, LAW, PAGE = ROOT / "docs/assets/frontier.csv", ROOT / "src/dperm/planning/law.json", ROOT / "docs/planning.md"
EXPERIMENTS = ("frontier-linear", "frontier-multiclass")
# The example of the page.
EXAMPLE = {
    "n": 30_000, "p": 100, "epsilon": 1.0, "delta": 1e-6, "bounds": {"majority": 0.25, "plain": 0.15}, "wanted": 0.01,
}  # fmt: skip
KEY = ["dataset", "neighbours", "method"]


def measured(results: Path, more: list[Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the mean error of every cell, and of every data set n, p, k and the errors of both references."""
    rows = pd.concat([tables.read_records(results / name / "rows.parquet") for name in EXPERIMENTS])
    newer = [pd.read_parquet(path) for path in more]
    if newer:
        newer = pd.concat(newer)
        again = pd.MultiIndex.from_frame(rows[KEY]).isin(pd.MultiIndex.from_frame(newer[KEY]))
        rows = pd.concat([rows[~again], newer])
    known = {*noise.BINARY, *noise.SEVERAL}
    means = rows[rows["method"].isin(known)].groupby([*KEY, "epsilon", "delta"])["value"].mean()
    levels = rows[rows["mechanism"] == "nonprivate"].groupby(["dataset", "variant"])["value"].mean().unstack()
    sets = []
    for name, level in levels.iterrows():
        data = prepared.read(str(results.parents[1] / f"resources/prepared/{name}.parquet"))
        classes = len(np.unique(data.y))
        settings = yaml.safe_load((ROOT / f"config/experiments/{EXPERIMENTS[classes > 2]}.yaml").read_text("utf-8"))
        settings = settings["common"] | settings["settings"]["paper"]
        trained = len(data.y) - round(settings["test_share"] * len(data.y))
        p = data.X.shape[1] + ("(constant)" not in data.features)
        plain = level.drop("majority").dropna().item()
        sets.append((name, min(trained, settings["train_rows"]), p, classes, plain, level["majority"]))
    columns = ["dataset", "n", "p", "classes", "plain", "majority"]
    return means.rename("error").reset_index(), pd.DataFrame(sets, columns=columns)


def placed(cells: pd.DataFrame) -> list[float]:
    """Return log(k sqrt(p) N/n) of every cell, where a law's line reads."""
    found = []
    for row in cells.itertuples():
        told = noise.Told(Budget(row.epsilon, row.delta), row.neighbours, row.n, row.p)
        strength = noise.records(row.method, told, row.classes).records
        found.append(round(place(strength, row.n, row.p, row.classes), 4))
    return found


def joined(means: pd.DataFrame, sets: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with what is known of their sets, and the share of what can be learned that is lost."""
    cells = means.merge(sets, on="dataset")
    cells["span"] = cells["majority"] - cells["plain"]
    cells["lost"] = (cells["error"] - cells["plain"]) / cells["span"]
    cells["task"] = np.where(cells["classes"] == 2, "binary", "several")
    return cells


def fitted(cells: pd.DataFrame) -> dict[tuple[str, str], Line]:
    """Return the line of each task and method: least squares in the share lost, cut to [0, 1]; slopes are positive."""
    lines = {}
    for key, part in cells.groupby(["task", "method"]):
        x, lost = part["place"].to_numpy(), part["lost"].clip(0, 1).to_numpy()

        def missed(found, x=x, lost=lost):
            return 1 / (1 + np.exp(-(found[0] + math.exp(found[1]) * x))) - lost

        a, logarithm = optimize.least_squares(missed, [0.0, 0.0]).x
        lines[key] = Line(float(a), math.exp(logarithm))
    return lines


def predicted(lines: dict[tuple[str, str], Line], cells: pd.DataFrame) -> np.ndarray:
    """Return the share lost at each cell, by the line of its task and method."""
    return np.array([lines[row.task, row.method].share(row.place) for row in cells.itertuples()])


def held_out(cells: pd.DataFrame) -> np.ndarray:
    """Return the share lost at each cell by a law that was fitted without its data set."""
    found = np.empty(len(cells))
    for _, places in cells.groupby("dataset").indices.items():
        found[places] = predicted(fitted(cells.drop(cells.index[places])), cells.iloc[places])
    return found


def correlations(lost: np.ndarray, cells: pd.DataFrame) -> dict[str, float]:
    """Return Spearman's correlations of predicted and measured errors over cells.

    Of excess errors, without a word about the data set (the same span for all) and told the errors of both references,
    as a user may guess them; and of errors, told both.
    """
    excess = (cells["error"] - cells["plain"]).to_numpy()
    told = lost * cells["span"].to_numpy()
    return {
        "excess": float(stats.spearmanr(lost, excess)[0]),
        "excess_told": float(stats.spearmanr(told, excess)[0]),
        "error_told": float(stats.spearmanr(cells["plain"] + told, cells["error"])[0]),
    }


def tested(cells: pd.DataFrame, lost: np.ndarray) -> dict[str, dict[str, float]]:
    """Return the correlations of every test; `lost` is what `held_out` gives."""
    binary = (cells["task"] == "binary").to_numpy()
    simulated = cells["dataset"].str.startswith("simulated").to_numpy()
    real = cells[binary & ~simulated]
    found = {
        "all cells, fitted to them": correlations(predicted(fitted(cells), cells), cells),
        "all cells, each data set held out": correlations(lost, cells),
        "two classes, each data set held out": correlations(lost[binary], cells[binary]),
        "real sets of two classes, fitted to the simulated ones": correlations(
            predicted(fitted(cells[simulated]), real), real
        ),
    }
    return {name: {key: round(value, 3) for key, value in values.items()} for name, values in found.items()}


def misses(cells: pd.DataFrame, lost: np.ndarray) -> dict[str, list[float]]:
    """Return by task the median and the 90 % quantile of |predicted - measured share lost|, each data set held out."""
    apart = (lost - cells["lost"].clip(0, 1)).abs().groupby(cells["task"])
    return {task: [round(float(part.quantile(level)), 3) for level in (0.5, 0.9)] for task, part in apart}


def picks(cells: pd.DataFrame, lost: np.ndarray) -> str:
    """Say how much more the method that is predicted best, each data set held out, errs than the best measured one."""
    budgets = cells.assign(held=lost).groupby(["dataset", "neighbours", "epsilon", "delta"])
    more = [part.loc[part["held"].idxmin(), "error"] - part["error"].min() for _, part in budgets]
    hit = np.mean(np.array(more) == 0)
    return (
        f"Over {len(more)} data sets, relations and budgets, each data set held out, the method that is predicted best "
        f"errs on {100 * np.mean(more):.1f} points more than the one that was measured best (median "
        f"{100 * np.median(more):.1f}, at most {100 * np.max(more):.1f}); in {hit:.0%} it is that one."
    )


def law(cells: pd.DataFrame, lost: np.ndarray, sets: pd.DataFrame, origin: str) -> dict:
    """Return what law.json holds."""
    lines: dict = {"binary": {}, "several": {}}
    for (task, method), one in fitted(cells).items():
        lines[task][method] = [round(number, 4) for number in one]
    levels = {name: list(rest) for name, *rest in sets.itertuples(index=False)}
    epsilons = sorted(cells["epsilon"].unique().tolist())
    return {"origin": origin, "sets": levels, "epsilons": epsilons, "misses": misses(cells, lost), "lines": lines}


def written(cells: pd.DataFrame, lost: np.ndarray) -> str:
    """Return what docs/planning.md says of the tests."""
    lines = ["| cells | excess error, told nothing | excess error, told both levels | error, told both levels |",
             "| --- | --- | --- | --- |"]  # fmt: skip
    lines += [f"| {name} | " + " | ".join(f"{value:.2f}" for value in values.values()) + " |"
              for name, values in tested(cells, lost).items()]  # fmt: skip
    return "\n".join([*lines, "", picks(cells, lost)]) + "\n"


def filled(page: str, cells: pd.DataFrame, lost: np.ndarray) -> str:
    """Return the page with what its example prints and what was tested, between their markers."""
    for name, text in (("plan", f"```\n{plan(**EXAMPLE)}\n```\n"), ("planner", written(cells, lost))):
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        page = page[: page.index(start) + len(start)] + text + page[page.index(end) :]
    return page


def kept() -> tuple[pd.DataFrame, pd.DataFrame, dict]:
    """Return cells and sets as the checkout holds them, and law.json."""
    held = json.loads(LAW.read_text(encoding="utf-8"))
    columns = ["n", "p", "classes", "plain", "majority"]
    sets = pd.DataFrame.from_dict(held["sets"], orient="index", columns=columns)
    return pd.read_csv(CELLS), sets.rename_axis("dataset").reset_index(), held


def main(results: Path, *more: Path) -> None:
    """Write all three."""
    means, sets = measured(results, list(more))
    means, sets = means.round({"error": 4}), sets.round({"plain": 4, "majority": 4})
    again = f", and {len(more)} files of rows that took the place of older ones" if more else ""
    origin = f"docs/update_planner.py, from {' and '.join(EXPERIMENTS)} at scale paper{again}"
    means["place"] = placed(means.merge(sets, on="dataset"))
    cells = joined(means, sets)
    lost = held_out(cells)
    files.write_text(CELLS, means.to_csv(index=False, lineterminator="\n"))
    # A list in a line.
    text = re.sub(r"\[\s+([^]]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]",
                  json.dumps(law(cells, lost, sets, origin), indent=1))  # fmt: skip
    files.write_text(LAW, text + "\n")
    table.cache_clear()
    files.write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), cells, lost))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
