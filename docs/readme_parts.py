"""The parts of README.md that come from a run, made from docs/assets alone; each stands between its markers."""

import csv
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dperm.errors import CorruptFile
from dperm_pipeline.claims import answers as of_claims
from dperm_pipeline.figures import FIGURES
from dperm_pipeline.report.ledgers import CONTROLS, least, rounded_down

GLYPHS = {"reproduced": "✓", "inconclusive": "~", "not reproduced": "✗", "not run": "–"}


# Columns of claims.csv; in the others an empty cell is an empty text.
_NUMBERS = ("measured", "low", "high", "expected", "certified", "n", "held", "points")


class Section(NamedTuple):
    """What README.md shows of a paper: figures, and what became of claims, by id and variant."""

    figures: tuple[str, ...]
    claims: tuple[tuple[str, tuple[str, ...]], ...]


SECTIONS = {
    "kifer2012": Section(
        ("kifer2012-output",),
        (
            ("K-c26", ("printed-over-p",)),
            ("K-c27", ("printed-over-p",)),
            ("K-c29", ("printed-over-p",)),
            ("K-c38", ("printed", "tight", "tight-over-kst")),
        ),
    ),
    "jain2013": Section(
        ("jain2013-fig2a",),
        (
            (
                "J-c34",
                ("printed", *(f"printed-over-{name}" for name in ("raw", "symmetric", "zscore", "minmax", "libsvm"))),
            ),
            (
                "J-c35",
                ("printed", "printed-over-bare", "printed-over-rawbarefive", "corrected", "tight", "tight-over-five"),
            ),
        ),
    ),
    "dwork2018": Section(
        ("dwork2018-queries",), (("D-c01c", ("printed", "tight")), ("D-c57", ("printed", "printed-over-later")))
    ),
    "li2021": Section(
        ("li2021-fig6", "li2021-fig6-corrected"),
        (("N-c50", ("printed",)), ("N-c51", ("printed", "corrected", "tight"))),
    ),
}


class Promise(NamedTuple):
    """A guarantee as printed that is refuted: its key in privacy.csv, what it is in words, and its erratum."""

    paper: str
    mechanism: str
    variant: str
    neighbours: str
    words: str
    erratum: str


# One for each erratum that breaks a promise where the attack shows it best.
REFUTED = (
    Promise("kifer2012", "sparse", "samp_agg_gamma", "add_remove", "Algorithm 6: Samp-Agg with √n blocks", "K6"),
    Promise("jain2013", "tdil", "laplace", "replace", "Algorithm 3: a factor stands twice in its exponent", "J1"),
    Promise("dwork2018", "stable_sgd", "laplace", "replace", "stable gradient descent at rate R L_f/√n", "D2"),
    Promise("li2021", "napp", "erm", "add_remove", "NAPP-ERM with the printed radius of pure noise", "N1"),
    Promise("li2021", "napp", "vs_plus", "add_remove", "NAPP-VS+: noise truncated", "N2"),
    Promise("li2021", "napp", "erm-moor", "add_remove", "NAPP-ERM with the dual-purpose regularizer", "N4"),
    Promise("li2021", "napp", "erm-returned", "add_remove", "NAPP-ERM with a part of its budget returned", "N5"),
)


def filled(page: str, assets: Path) -> str:
    """Return the README with every part made anew.

    Parameters
    ----------
    page : str
        With a pair of markers, `<!-- name -->` and `<!-- /name -->`, for each part.
    assets : path
        docs/assets.

    Returns
    -------
    str

    Raises
    ------
    CorruptFile
        If a pair of markers is missing, or stands there twice, or a ledger lacks a row that is shown.
    """
    claims, privacy = read(assets / "claims.csv"), read(assets / "privacy.csv")
    parts = {
        "picture": picture(),
        "summary": summary(answers(assets), claims, privacy),
        **{paper: section(paper, claims, assets) for paper in SECTIONS},
        "ledger": ledger(privacy),
        "run": run(json.loads((assets / "run.json").read_text(encoding="utf-8"))),
    }
    for name, text in parts.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        page, count = re.subn(pattern, lambda found, text=text: found[1] + text + found[2], page, flags=re.DOTALL)
        if count != 1:
            raise CorruptFile(
                f"README.md has {count} pairs of markers <!-- {name} --> and <!-- /{name} --> instead of 1"
            )
    return page


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def judged(assets: Path) -> pd.DataFrame:
    """Return claims.csv as a table of claims, as `dperm_pipeline.claims.read` does claims.parquet."""
    return pd.read_csv(assets / "claims.csv", keep_default_na=False, na_values={name: [""] for name in _NUMBERS})


def answers(assets: Path, entry: str | None = None) -> list[of_claims.Answer]:
    """Return one answer for each claim, from claims.csv; or that of one entry alone, which may be a part of a claim."""
    verdicts = judged(assets)
    return of_claims.answers(verdicts if entry is None else verdicts[verdicts["id"] == entry])


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a pipe table."""
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def number(text: str) -> str:
    """Return a number of a CSV file in three digits as people write it (−0.5, 10⁻⁶), or nothing for none."""
    short = f"{float(text):.3g}" if text else ""
    if short.startswith("1e") or short == "0.0001":
        return "10" + str(round(math.log10(float(short)))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return short.replace("-", "−")


def picture() -> str:
    """Return the figure of all answers and guarantees."""
    alt = (
        "Left: bars of the answers to the claims of each paper. Right: every attacked guarantee as a dot at what it is "
        "certified to spend over what it claims; those with a proof end at 1, refuted ones lie beyond, hollow where "
        "no paper promises them. The counts are "
        "in the table below."
    )
    return f"![{alt}](docs/assets/summary.svg)\n"


def summary(answered: list[of_claims.Answer], claims: list[dict[str, str]], privacy: list[dict[str, str]]) -> str:
    """Return the counts of all answers and guarantees, in words and by paper."""
    beside = sum(row["beside"] == "True" for row in claims)
    idle = sum(row["verdict"] == "not run" and row["beside"] == "False" and row["test"] != "weakest" for row in claims)
    attacked = [row for row in privacy if row["verdict"] != "not audited"]
    refuted = [row for row in attacked if row["verdict"] == "refuted"]
    controls = sum(row["variant"] in CONTROLS for row in refuted)
    broken = [row for row in refuted if row["claims"]]
    others = len(refuted) - len(broken) - controls
    proved = sum(row["guarantee"] != "none" for row in attacked)
    rows = []
    for paper in SECTIONS:
        kinds = [answer.kind for answer in answered if answer.paper == paper]
        held = [row["verdict"] for row in attacked if row["paper"] == paper]
        rows.append((f"[{paper}](docs/papers/{paper}.md)", *(str(kinds.count(kind)) for kind in of_claims.ANSWERS),
                     str(held.count("holds up")), str(held.count("refuted")),
                     str(sum(row["paper"] == paper for row in broken))))  # fmt: skip
    rows.append(("**all**", *(f"**{sum(int(row[k]) for row in rows)}**" for k in range(1, len(rows[0])))))
    header = ("paper", *(f"{of_claims.GLYPHS[kind]} {kind}" for kind in of_claims.ANSWERS), "✓ holds up", "✗ refuted",
              "of these promised")  # fmt: skip
    return (
        f"**{len(answered)} claims, one answer each**: {in_words(answered)}. They rest on "
        f"{sum(answer.tests for answer in answered)} tests ({idle} of them not run): each claim as printed and as "
        "mended, on every data set; "
        f"{beside} more, readings and findings of ours, stand beside them and decide nothing. Of the "
        f"{sum(answer.headline for answer in answered)} that a paper is read for, "
        f"{in_words([answer for answer in answered if answer.headline])}.\n\n"
        f"**{len(attacked)} guarantees attacked**: {len(refuted)} are refuted. {len(broken)} of them are promises "
        f"of the papers as printed, {controls} are controls that have to fall, and {others} are "
        "of readings, neighbours or solvers on which no claim of a paper rests. Of the "
        f"{proved} with a proof none is.\n\n" + table(header, rows)
    )


def in_words(answered: list[of_claims.Answer]) -> str:
    """Return how many claims have each answer, those that none has left out."""
    counts = Counter(answer.kind for answer in answered)
    many = {
        "holds as printed": "hold as printed", "holds when mended": "hold when mended",
        "depends on": "depend on a named choice", "undecided": "are undecided", "fails": "fail",
        "not run": "are not run",
    }  # fmt: skip
    one = {"hold": "holds", "depend": "depends", "are": "is", "fail": "fails"}
    parts = []
    for kind, words in many.items():
        verb, _, rest = words.partition(" ")
        if counts[kind]:
            parts.append(f"{counts[kind]} {one[verb] if counts[kind] == 1 else verb} {rest}".rstrip())
    return ", ".join(parts)


def section(paper: str, claims: list[dict[str, str]], assets: Path) -> str:
    """Return a paper's figures, and what became of the claims that they show."""
    shown = SECTIONS[paper]
    lines = [f"![{FIGURES[name].alt}](docs/assets/{name}.svg)\n" for name in shown.figures]
    for name, variants in shown.claims:
        found = [row for row in claims if row["id"] == name]
        for variant in variants:
            here = [row for row in found if row["variant"] == variant]
            if not here:
                raise CorruptFile(f"docs/assets/claims.csv has no verdict on {name} ({variant}), which README.md shows")
            if variant == variants[0]:
                stated = f"; stated: {number(here[0]['expected'])}" if here[0]["expected"] else ""
                lines.append(f"**{name}** {here[0]['statement'].strip()} *({here[0]['place']}{stated})*\n")
                (answer,) = answers(assets, name)
                parts = {
                    (row["id"], row["statement"])
                    for row in claims
                    if of_claims.number(row["id"]) == of_claims.number(name)
                    and row["test"] != "weakest"
                    and row["beside"] == "False"
                }
                lines.append(f"{answer_in_words(answer, of_many=len(parts) > 1)}\n")
            for beside, told in (("False", ""), ("True", ", beside the claim")):
                rows = [row for row in here if row["beside"] == beside]
                if rows:
                    lines.append(f"- *{here[0]['words']}*{told}: {verdicts(rows)}")
        lines[-1] += "\n"
    return "\n".join(lines)


def answer_in_words(answer: of_claims.Answer, *, of_many: bool = False) -> str:
    """Return the answer to a claim in a line: its words, where it holds, what was measured, at how many points.

    `of_many`: it is that of one part of a claim of several.
    """
    parts = [answer.where, f"{answer.quantity}: {answer.range.replace('-', '−')}" if answer.range else ""]
    shown = "not refuted" if answer.quantity == of_claims.QUANTITIES["ledger"] else "shown to hold"
    of = " of this part of the claim" if of_many else ""
    parts.append(f"{shown} at {answer.held} of {answer.points} points{of}" if answer.points else "")
    told = "; ".join(part for part in parts if part)
    return f"{of_claims.GLYPHS[answer.kind]} **{answer.words}**" + (f": {told}" if told else "")


def verdicts(rows: list[dict[str, str]]) -> str:
    """Return the verdicts on a claim with what was measured, gathered by verdict; those not run are left out."""
    parts = []
    for word, glyph in GLYPHS.items():
        found = [row for row in rows if row["verdict"] == word]
        if found and word != "not run":
            places = (f"{row['dataset'].removeprefix('no-data')} {measured(row)}".strip() for row in found)
            parts.append(f"{glyph} **{word}**: {', '.join(places)}")
    return "; ".join(parts) or "not run"


def measured(row: dict[str, str]) -> str:
    """Return what was measured, with its interval if it has one."""
    text = number(row["measured"])
    if text and row["low"] and row["low"] != row["high"]:
        text += f" [{number(row['low'])}, {number(row['high'])}]"
    return text


def ledger(privacy: list[dict[str, str]]) -> str:
    """Return the refuted promises beside the least that the same mechanism, mended, leaves unspent."""
    rows = []
    for promise in REFUTED:
        here = [row for row in privacy if row["mechanism"] == promise.mechanism and row["verdict"] != "not audited"]
        printed = [
            row
            for row in here
            if (row["variant"], row["neighbours"], row["calibration"], row["verdict"])
            == (promise.variant, promise.neighbours, "paper", "refuted")
            and row["claims"]
        ]
        mended = [row for row in here if row["calibration"] != "paper" and row["guarantee"] != "none"]
        if not printed or not mended:
            raise CorruptFile(
                f"docs/assets/privacy.csv holds no {'refuted' if mended else 'proved'} row of {promise.mechanism} "
                f"({promise.variant}), which README.md shows"
            )
        worst, best = max(printed, key=share), max(mended, key=share)
        link = f"[{promise.erratum}](docs/errata.md#{promise.paper})"
        words = (
            f"`{best['calibration']}`: {rounded_down(float(best['audit_lower_bound']))} of {number(best['epsilon'])}"
        )
        rows.append((promise.paper, promise.words, link, number(worst["epsilon"]), number(worst["delta"]),
                     f"**{least(float(worst['audit_lower_bound']))}**", words))  # fmt: skip
    return table(("paper", "as printed", "why", "claims ε", "at δ", "spends", "ours spends at least"), rows)


def share(row: dict[str, str]) -> float:
    """Return what a guarantee is certified to spend, in units of its claim."""
    return float(row["audit_lower_bound"]) / float(row["epsilon"])


def run(made: dict) -> str:
    """Return what made the numbers, in a line."""
    names = ", ".join(f"`{name}`" for name in made["datasets"])
    commit = re.sub(r"^([0-9a-f]{12})[0-9a-f]{28}", r"\1", made["commit"])
    return (
        f"All numbers above: `{made['command']}`, seed {made['seed']}, {made['date']}, commit {commit}; data: {names}. "
        "Every answer: [answers.csv](docs/assets/answers.csv); every test: [claims.csv](docs/assets/claims.csv); every "
        "guarantee: [privacy.csv](docs/assets/privacy.csv); what made them: [run.json](docs/assets/run.json).\n"
    )
