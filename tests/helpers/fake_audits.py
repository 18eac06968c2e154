"""Made-up attacks, for tests of what is made of them: a claim that holds, one that does not, and mutants."""

import fake_rows

from dperm_pipeline import tables
from dperm_pipeline.audits import attacks, ledger

ATTACK = {
    "paper": "kifer2012", "mechanism": "objective", "variant": "gamma", "calibration": "tight",
    "neighbours": "add_remove", "guarantee": "proved_exact", "loss": "huber", "epsilon": 1.0, "delta": 0.0,
    "pair": "knee", "pair_words": "a made-up pair", "attack": "sampling", "model": "none", "likelier": "data",
    "event": "output >= 0.5", "draws": 2_000, "hits": 500, "tries": 1_000, "other_hits": 250, "other_tries": 1_000,
    "white_box_p": 0.4,
}  # fmt: skip
EXACT = {
    "attack": "exact law on a line", "draws": 0, "hits": None, "tries": None, "other_hits": None, "other_tries": None,
    "probability": 1e-5, "other_probability": 1e-7,
}  # fmt: skip
MUTANT = {
    "name": "half-noise", "group": "noise", "broken": "half of the noise", "source": "a classic",
    "neighbours": "add_remove", "epsilon": 1.0, "delta": 0.0, "attack": "sampling", "event": "output >= 1",
    "mutant_bound": 1.6, "twin_bound": 0.8, "mutant_p": 1e-9, "twin_p": 1.0, "hits": 500, "tries": 1_000,
    "other_hits": 50, "other_tries": 1_000, "white_box_p": 1e-5, "twin_white_box_p": 0.5, "caught_by": "lower bound",
}  # fmt: skip


def attack(**changes):
    """Return one attack; by default its claim, epsilon = 1, holds."""
    return {**ATTACK, **changes}


def exact(bound, **changes):
    """Return one exact attack."""
    return {**ATTACK, **EXACT, "exact_bound": bound, **changes}


def mutant(**changes):
    """Return one mutant; by default it is refuted and its twin is not."""
    return {**MUTANT, **changes}


def write_attacks(records, path):
    """Write attacks as an audit job does."""
    tables.write_records(records, attacks.ATTACKS, path, metadata={})
    return path


def write_mutants(records, path):
    """Write mutants as an audit job does."""
    tables.write_records(records, attacks.MUTANTS, path, metadata={})
    return path


def write_ledgers(folder):
    """Write privacy.parquet and mutants.parquet of one claim that holds, one that is refuted and one mutant."""
    made = folder / "made-up"
    paths = [
        write_attacks([attack(), exact(0.9)], made / "knee.parquet"),
        write_attacks([exact(1.4, calibration="paper", neighbours="replace", guarantee="none")], made / "line.parquet"),
    ]
    fixed = {"level": 0.05, "metadata": {}}
    ledger.collect(paths, [], folder / "privacy.parquet", confidence=0.95, **fixed)
    ledger.collect_mutants([write_mutants([mutant()], made / "noise.parquet")], folder / "mutants.parquet", **fixed)
    return folder / "privacy.parquet", folder / "mutants.parquet"


COUNTS = ("hits", "tries", "other_hits", "other_tries")


def released(path, **options):
    """Few rows of both mechanisms; the epsilons and deltas are those of `fake_rows` unless told."""
    return fake_rows.write(fake_rows.rows(datasets=("adult",), multiples=(2.0,), repeats=2, **options), path)


def collect_files(folder, paths, rows=(), *, confidence=0.95, level=0.05):
    out = folder / "privacy.parquet"
    ledger.collect(paths, rows, out, confidence=confidence, level=level, metadata={"seed": 3})
    return ledger.read(out)


def collect_mutants(folder, records, level=0.05):
    out = folder / "mutants.parquet"
    path = write_mutants(records, folder / "mutants-in.parquet")
    ledger.collect_mutants([path], out, level=level, metadata={"seed": 3})
    return tables.read_records(out, ledger.MUTANTS)
