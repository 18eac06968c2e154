"""Put a run's tables into the docs, between their markers: the last step of make docs-assets (update_assets.py).

The ledgers go to docs/audit.md, the verdicts to docs/papers/<paper>.md, to kifer2012.md what K-c38 is told by, and to
docs/frontier.md the errors of the frontier.
"""

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import special

from dperm_pipeline import claims
from dperm_pipeline.claims import answers
from dperm_pipeline.claims.words import changed
from dperm_pipeline.report import ledgers

DOCS = Path(__file__).parent
# Test in the catalogue -> its letter there.
RULES = {
    "bound": "B", "coverage": "C", "crossing": "X", "equal": "EQ", "exact": "E", "ledger": "L", "monotone": "M",
    "ordered": "O", "paired": "P", "slope": "S", "threshold": "T", "vanishing": "V", "weakest": "W", "within": "I",
}  # fmt: skip
ANSWERS = ("claim", "place", "said", "answer", "measured", "stated", "at points", "figure")
VERDICTS = ("claim", "place", "said", "rule", "form", "data", "verdict", "measured", "figure")
# Table of results/paper/tables -> the columns that a page has room for.
COLUMNS = {
    "privacy-ledger": (
        "verdict", "mechanism", "calibration", "neighbours", "noise", "claimed ε", "δ", "spends at least", "attack",
    ),
    "audit-mutants": (
        "mutant", "what is wrong", "source", "claimed ε", "δ", "attack", "spends at least", "verdict",
        "its twin spends at least", "the twin",
    ),
}  # fmt: skip
# Methods of kifer2012-output, by their names in its table -> what stands over their column.
METHODS = {
    "objective, tight": "objective, tight", "CMS11, Algorithm 2": "CMS11",
    "objective, Algorithm 1": "objective, Algorithm 1", "output": "output",
    "approximate minima": "approximate minima", "noisy gradient descent": "gradient descent",
}  # fmt: skip
# Forms of K-c38 -> what is compared with output perturbation.
PAIRS = {"printed": "CMS11, Algorithm 2", "tight": "objective, tight", "tight-over-kst": "objective, Algorithm 1"}
# What the reason of a paired test says: points for and against, and the span of the ratio.
PAIRED = re.compile(
    r"^(\d+) of (\d+) points reject in favour of the claim and (\d+) against it.* is (\S+ to \S+) times "
)
# A number in the prose of a page.
MARKED = re.compile(r"(<!-- measured (\S+ \S+(?: \S+)?) -->)[^<]*(<!-- /measured -->)")


def cells(text: str) -> list[list[str]]:
    """Return the cells of a pipe table, header first, without the rule."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for k, line in enumerate(lines) if k != 1]


def narrowed(name: str, text: str) -> str:
    """Return a table with the columns that the page shows, and of the ledger the rows that were attacked."""
    header, *lines = cells(text)
    places = [header.index(column) for column in COLUMNS[name]]
    kept = [line for line in lines if "not audited" not in line]
    rows = [COLUMNS[name], ["---"] * len(places), *([line[place] for place in places] for line in kept)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def between(page: str, name: str) -> str:
    """Return what stands between the markers of a table."""
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", page, flags=re.DOTALL)[1]


def measured(row: Any) -> str:
    """Return what a verdict measured, with its interval if it has one; of the auditor, as the ledger says it."""
    if ledgers.unbounded(row.certified):
        return "no bound"
    if math.isnan(row.measured):
        return ""
    interval = not math.isnan(row.high) and row.low < row.high
    return f"{row.measured:.3g}" + (f" [{row.low:.3g}, {row.high:.3g}]" if interval else "")


def measured_of(answer: answers.Answer) -> str:
    """Return what was measured of a claim, in words and numbers."""
    form = f" ({answer.form})" if answer.form != answers.PRINTED else ""
    return f"{answer.quantity}{form}: {answer.range}" if answer.range else ""


def answered(paper: str, verdicts: pd.DataFrame) -> str:
    """Return one answer for each claim of a paper as a pipe table."""
    lines = [ANSWERS, ["---"] * len(ANSWERS)]
    # In the catalogue's order, by which answers.csv says the same; then by claim.
    found = answers.answers(verdicts.query("paper == @paper"))
    for answer in sorted(found, key=lambda answer: answer.claim):
        words = f"{answers.GLYPHS[answer.kind]} **{answer.words}**" + (f": {answer.where}" if answer.where else "")
        stated = "" if math.isnan(answer.expected) else f"{answer.expected:.4g}"
        said = answer.statement.replace("|", "\\|")
        lines.append(
            (
                answer.claim,
                answer.place,
                said,
                words,
                measured_of(answer),
                stated,
                answer.at_points,
                f"`{answer.figure}`",
            )
        )
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def changes(paper: str, judged: pd.DataFrame) -> str:
    """Return what the notes of a paper's entries tell of changes that were made when outcomes were known."""
    lines = [("claim", "what was changed, why, and which verdict stood before"), ("---", "---")]
    notes = judged.query("paper == @paper").sort_values("id", kind="stable").drop_duplicates(["id", "note"])
    for row in notes.itertuples():
        if told := changed(row.note):
            lines.append((row.id, told.replace("|", "\\|")))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def verdicts(paper: str, judged: pd.DataFrame) -> str:
    """Return a paper's verdicts as a pipe table, sorted by claim; what is said stands once."""
    found = judged.query("paper == @paper").sort_values(["id", "statement"], kind="stable")
    lines, said = [VERDICTS, ["---"] * len(VERDICTS)], None
    for row in found.itertuples():
        now = (row.id, row.statement)
        new = (row.id, row.place, row.statement.replace("|", "\\|")) if now != said else ("", "", "")
        said = now
        rule = RULES[row.test] + (" (beside)" if row.beside else "")
        lines.append(
            (
                *new,
                rule,
                row.words.replace("|", "\\|"),
                row.dataset,
                f"**{row.verdict}**",
                measured(row),
                f"`{row.figure}`",
            )
        )
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def risks(means: pd.DataFrame) -> str:
    """Return the mean excess risks of the table kifer2012-output over epsilon, the least of a budget in bold."""
    shown = means[means.method.isin(METHODS)].assign(risk=lambda rows: rows.excess_risk.map("{:.3g}".format))
    # As printed: what looks equal is bold together.
    budget = ["dataset", "delta", "epsilon"]
    best = shown.groupby(budget).risk.transform(lambda risks: min(risks, key=float))
    shown["risk"] = shown.risk.where(shown.risk != best, "**" + shown.risk + "**")
    lines = [("data set", "δ", *METHODS.values()), ["---"] * (2 + len(METHODS))]
    for (dataset, delta), part in shown.sort_values(budget).groupby(["dataset", "delta"]):
        cell = part.groupby("method").risk.agg(" / ".join)
        lines.append((dataset, f"{delta:g}".replace("e-0", "e-"), *(cell.get(method, "") for method in METHODS)))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def pairs(found: pd.DataFrame) -> str:
    """Return what the paired tests of K-c38 count, and how many times as large output perturbation's excess risk is."""
    lines = [("against output perturbation", "data", "verdict", "points for", "against", "ratio"), ["---"] * 6]
    for variant, words in PAIRS.items():
        for row in found[(found.id == "K-c38") & (found.variant == variant)].sort_values("dataset").itertuples():
            held, points, against, ratio = PAIRED.match(row.reason).groups()
            lines.append((words, row.dataset, row.verdict, f"{held} of {points}", against, ratio))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def errors(means: pd.DataFrame, source: str) -> str:
    """Return the test errors of a table of the frontier in %, with standard errors over splits, at its largest delta.

    The least private error of a data set, relation and epsilon is bold; what is tuned on test rows is none. What was
    measured elsewhere has a table of its own on that page.
    """
    means = means[~means.method.str.endswith("(elsewhere)")]
    epsilons = [name for name in means if name.startswith("error_") and name.count("_") == 1 and name != "error_inf"]
    plain = means.neighbours.fillna("") == ""
    private = means[~plain & (means.delta == means.delta.max())]
    real = private[~private.method.str.contains("not private")]
    best = real.groupby(["dataset", "neighbours"])[epsilons].min()
    lines = [
        ("data set", "neighbours", "method", *(f"ε = {name[6:]}" for name in epsilons)),
        ["---"] * (3 + len(epsilons)),
    ]
    for dataset, part in private.groupby("dataset"):
        for row in means[plain & (means.dataset == dataset)].to_dict("records"):
            lines.append((dataset, "", row["method"], _percent(row, "error_inf"), *[""] * (len(epsilons) - 1)))
        for row in part.to_dict("records"):
            least = best.loc[(dataset, row["neighbours"])]
            shown = [(_percent(row, name), "not private" not in row["method"] and row[name] == least[name])
                     for name in epsilons]  # fmt: skip
            cell = [f"**{words}**" if bold else words for words, bold in shown]
            lines.append((dataset, row["neighbours"].replace("_", "/"), row["method"], *cell))
    return f"Run: {source}.\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _percent(row: dict, name: str) -> str:
    """Return a mean and its standard error over splits, in %: a table has Student's interval and their number."""
    if math.isnan(row[name]):
        return ""
    half = 100 * (row[f"{name}_high"] - row[name])
    error = "" if math.isnan(half) else f" ± {half / special.stdtrit(row['splits'] - 1, 0.975):.1f}"
    return f"{100 * row[name]:.1f}{error}"


def filled(text: str, judged: pd.DataFrame) -> str:
    """Return a page whose prose has the numbers of its verdicts: behind `<!-- measured claim variant data -->`."""
    numbers = {(row.id, row.variant, row.dataset): measured(row) for row in judged.itertuples()}

    def number(marker: re.Match) -> str:
        claim, variant, data = [*marker[2].split(), ""][:3]
        return f"{marker[1]}{numbers[claim, variant, data]}{marker[3]}"

    return MARKED.sub(number, text)


def put(page: Path, name: str, table: str) -> None:
    """Replace what stands between the markers."""
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace(f"<!-- {name} -->\n{between(text, name)}", f"<!-- {name} -->\n{table}"), encoding="utf-8"
    )


def main(results: Path) -> None:
    """Rewrite docs/audit.md and docs/papers from a run's folder."""
    for name in COLUMNS:
        put(DOCS / "audit.md", name, narrowed(name, (results / f"tables/{name}.md").read_text(encoding="utf-8")))
    kifer2012 = DOCS / "papers/kifer2012.md"
    put(kifer2012, "risks", risks(pd.read_csv(results / "tables/kifer2012-output.csv")))
    put(kifer2012, "pairs", pairs(claims.read(results / "claims.parquet")))
    name = "dwork2018-queries-answered"
    put(DOCS / "papers/dwork2018.md", name, (results / f"tables/{name}.md").read_text(encoding="utf-8"))
    for name in ("frontier-linear", "frontier-multiclass"):
        means = pd.read_csv(results / f"tables/{name}.csv")
        put(DOCS / "frontier.md", name, errors(means, f"scale `{results.name}`"))
    judged = claims.read(results / "claims.parquet")
    for page in sorted((DOCS / "papers").glob("*.md")):
        put(page, "answers", answered(page.stem, judged))
        put(page, "claims", verdicts(page.stem, judged))
        put(page, "changes", changes(page.stem, judged))
        page.write_text(filled(page.read_text(encoding="utf-8"), judged), encoding="utf-8")
