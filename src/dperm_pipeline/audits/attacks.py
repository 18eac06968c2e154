"""One audit job: attack a mechanism with one or a few pairs of neighbours, and write the rows that the ledger reads."""

import importlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from dperm.audit.families import FAMILIES
from dperm.solvers.blas import one_thread
from dperm_pipeline import tables

_TEXT, _COUNT, _NUMBER = pa.string(), pa.int64(), pa.float64()

# One row is one attack. Sampled: whole numbers of hits; exact: probabilities and the bound itself.
ATTACKS = pa.schema(
    [
        *(
            (name, _TEXT)
            for name in ("paper", "mechanism", "variant", "calibration", "neighbours", "guarantee", "loss")
        ),
        ("epsilon", _NUMBER),
        ("delta", _NUMBER),
        *((name, _TEXT) for name in ("pair", "pair_words", "attack", "model", "likelier", "event")),
        *((name, _COUNT) for name in ("draws", "hits", "tries", "other_hits", "other_tries")),
        *((name, _NUMBER) for name in ("exact_bound", "probability", "other_probability", "white_box_p")),
    ]
)
# One row is one mutant and its twin.
MUTANTS = pa.schema(
    [
        *((name, _TEXT) for name in ("name", "group", "broken", "source", "neighbours")),
        ("epsilon", _NUMBER),
        ("delta", _NUMBER),
        *((name, _TEXT) for name in ("attack", "event")),
        *((name, _NUMBER) for name in ("mutant_bound", "twin_bound", "mutant_p", "twin_p")),
        *((name, _COUNT) for name in ("hits", "tries", "other_hits", "other_tries")),
        *((name, _NUMBER) for name in ("white_box_p", "twin_white_box_p")),
        ("caught_by", _TEXT),
    ]
)


def schema(job: Mapping[str, Any]) -> pa.Schema:
    """Return the columns of a job's rows."""
    return MUTANTS if job["family"] == "mutants" else ATTACKS


def run(audits: Sequence[Mapping[str, Any]], out: str, *, metadata: Mapping[str, Any]) -> None:
    """Attack, and write the rows of the audits of one job, and so of one family, in order; the log says which is on."""
    records = []
    for k, audit in enumerate(audits, start=1):
        logging.info("audit %d of %d: %s", k, len(audits), audit.get("pair", audit.get("group")))
        # One BLAS thread: the same bytes whatever the number of cores.
        with one_thread():
            records += importlib.import_module(FAMILIES[audit["family"]].module).run(audit)
    tables.write_records(records, schema(audits[0]), out, metadata=dict(metadata))
