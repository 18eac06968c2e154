"""The ledger's figure: a line for each law, and one for whatever an estimator was called with."""

import fake_audits
import pandas as pd

from dperm_pipeline.audits import ledger
from dperm_pipeline.figures import audit


def test_calls_of_an_estimator_share_a_line(tmp_path):
    called = [fake_audits.exact(0.5 + k / 10, variant=f"called-{loss}") for k, loss in enumerate(("huber", "logistic"))]
    made = fake_audits.write_attacks([fake_audits.attack(), *called], tmp_path / "attacks.parquet")
    ledger.collect([made], [], tmp_path / "privacy.parquet", confidence=0.95, level=0.05, metadata={})
    rows = ledger.read(tmp_path / "privacy.parquet")
    (axis,) = audit.ledger(rows).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["objective: as called", "objective: Gamma"]
    at = [line.get_xdata()[0] for line in axis.lines if len(line.get_xdata()) == 1]
    assert {round(float(x), 6) for x in at} >= {0.5, 0.6}
    # The table tells them apart.
    _, words = audit.ledger_table(rows)
    assert set(words["noise"]) == {"gamma", "called-huber", "called-logistic"} and isinstance(words, pd.DataFrame)
