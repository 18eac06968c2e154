"""The service without its network: requests of many analysts, answered in one turn of one estimator.

A turn holds the ledger's lock. In it every request is looked at in order: whose key it is, whether it is a retry, which
of its rows are new, whether its share and the budget have room. What is accepted is charged, answered, and written in
one commit, and only then does any answer leave. A request is answered as a whole or not at all.

Nothing here depends on records but the answers, and what the statement covers beside them: whether a budget of
contested answers (`mode="consensus"`) has ended. Of that mode, of `PINP` and of `RKHSGaussian` no count is told: how
many answers were contested or paid for is no part of `predict`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from dperm.errors import BudgetExhausted, DomainViolation
from dperm.mechanisms.queries import first_of
from dperm.mechanisms.session.card import privacy_card
from dperm.serve.accounts import Account, Accounts, Cost
from dperm.serve.files import Model
from dperm.serve.shared import Shared

# Of one request.
MOST_ROWS = 1000
NO_KEY = "give the key of an analyst: Authorization: Bearer dperm_..."


@dataclass(frozen=True)
class Asked:
    """One request: its key, its rows (None: of `budget`), its idempotency key, and its body, which a retry repeats.

    - known: whether the key is a good one is all that is asked, which counts as no request.
    """

    key: str | None
    rows: np.ndarray | None = None
    retry: str | None = None
    body: bytes = b""
    known: bool = False


@dataclass(frozen=True)
class Told:
    """What a request got.

    - status: 200, or of a problem: 401, 403, 409, 422, 429.
    - detail: of a problem.
    - answers: one for each row.
    - counts: new rows, those that were free, and what the account has left, as it stood then.
    - wait: seconds, of 429.
    """

    status: int
    detail: str = ""
    answers: list = field(default_factory=list)
    counts: tuple = ()
    wait: int = 0


class Service:
    """One fitted estimator and its accounts.

    - model: what a model file holds.
    - ledger: path or URL of the journal; None for one process, whose answers may come from a seed: for science only.
    - shared: what workers of one machine share.
    """

    def __init__(self, model: Model, ledger: Any, *, shared: Shared | None = None, random_state: Any = None):
        self.model, self.shared = model, Shared() if shared is None else shared
        self.fitted = model.fitted(ledger, random_state)
        counted = hasattr(self.fitted, "ledger_") and getattr(self.fitted, "mode", "each") == "each"
        # Prices are fixed, and so the number of answers depends on queries alone.
        self.ledger = self.fitted.ledger_ if counted else None
        self.serving = turns(self.fitted)
        self.accounts = Accounts(self.serving)
        self.classes = self.fitted.classes_.tolist() if hasattr(self.fitted, "classes_") else None
        self.card = privacy_card(self.fitted)
        told = self.fitted.privacy_
        self.promise = {
            "epsilon": told.epsilon,
            "delta": told.delta,
            "neighbours": told.neighbours,
            "each": self.ledger.each if counted else None,
        }
        self.schema = self._schema()

    def knows(self, key: str) -> bool:
        """Return whether a key was good when the ledger was last read; it needs no turn, and so decides nothing."""
        return self.accounts.of(key) is not None

    def answer(self, asked: Sequence[Asked]) -> list[Told]:
        """Answer requests in one turn and one commit: where that raises, none of them."""
        together: set[bytes] = set()
        with self.serving.transaction():
            accounts = [self.accounts.of(one.key) for one in asked]
            names = self._names(asked, accounts)
            found = [self._look(*one, together) for one in zip(asked, accounts, names, strict=True)]
            accepted = [one for one in found if isinstance(one, _Accepted)]
            # Where a count decides, all rows fit, and are answered at once; else any of them may end the budget.
            parts = [accepted] if self.ledger is not None else [[one] for one in accepted]
            given = iter([told for part in parts if part for told in self._give(part)])
            return [next(given) if isinstance(one, _Accepted) else one for one in found]

    def _names(self, asked: Sequence[Asked], accounts: list[Account | None]) -> list[list[bytes]]:
        """Return what names the rows of each request that have no answer yet, each once."""
        there = [one.rows for one, account in zip(asked, accounts, strict=True) if account and one.rows is not None]
        if not there:
            return [[]] * len(asked)
        # All in one go: scikit-learn's checks of one row take longer than all else.
        names, known = self.fitted._asked(np.vstack(there))
        left = iter(names)
        each = [
            list(islice(left, len(one.rows))) if account and one.rows is not None else []
            for one, account in zip(asked, accounts, strict=True)
        ]
        return [[one[i] for i in first_of(one, known)] for one in each]

    def _look(
        self, asked: Asked, account: Account | None, names: list[bytes], together: set[bytes]
    ) -> "Told | _Accepted":
        """Return a problem, or a request that is accepted and charged to its account."""
        if account is None:
            return Told(401, NO_KEY)
        if asked.known:
            return Told(200)
        wait = self.shared.wait(account.place, account.rate, time.monotonic())
        if wait:
            return Told(429, f"this key may send {account.rate} requests a minute", wait=wait)
        if asked.rows is None:
            return Told(200, counts=(account.share, account.used, account.remaining, *self._left()))
        retry, before = (), None
        if asked.retry is not None:
            retry = self.serving.salted(asked.retry.encode()), self.serving.salted(asked.body)
            before = self.accounts.before(account, retry[0])
            if before and before[0] != retry[1]:
                return Told(409, "this idempotency key came with another body; take a new one for another request")
        new = [name for name in names if name not in together]
        if before and not new:
            return _Accepted(asked, before[1])
        # Rows may be new under a known idempotency key: answers were lost in a crash, or another model answers now.
        if account.remaining is not None and len(new) > account.remaining:
            return Told(
                403, f"{len(new)} new rows, and {account.remaining} remain of this key's share; repeats are free"
            )
        if self.ledger is not None and len(new) + len(together) > self.ledger.remaining:
            left = self.ledger.remaining - len(together)
            return Told(403, f"{len(new)} new rows, and {left} remain of the budget; repeats are free")
        together.update(new)
        self.shared.rows(len(asked.rows), len(new))
        return _Accepted(asked, self.accounts.use(account, len(new), len(asked.rows), *retry))

    def _give(self, accepted: "list[_Accepted]") -> list[Told]:
        """Answer what was accepted; one that the estimator refuses is refused, and stays charged to its account."""
        try:
            answers = self.fitted.predict(np.vstack([one.asked.rows for one in accepted])).tolist()
        except BudgetExhausted:
            return [Told(403, "the budget is spent: no new row is answered any more; repeats are free")]
        except DomainViolation:
            return [Told(403, "no new row is answered any more: what the answers so far need has outgrown its memory")]
        ends = np.cumsum([len(one.asked.rows) for one in accepted]).tolist()
        return [
            Told(200, answers=answers[end - len(one.asked.rows) : end], counts=one.cost)
            for one, end in zip(accepted, ends, strict=True)
        ]

    def checked(self, rows: list[list[float]]) -> np.ndarray:
        """Return rows as an array, or raise ValueError."""
        wide = len(self.model.columns)
        if any(len(row) != wide for row in rows):
            raise ValueError(f"every row has {wide} numbers: see /v1/schema")
        return np.array(rows, dtype=np.float64)

    def encoded(self, records: list[dict[str, Any]]) -> np.ndarray:
        """Return raw records as rows, or raise ValueError; what is missing or unknown goes where the schema says."""
        if self.model.encoder is None:
            raise ValueError("this model has no schema: give rows of numbers")
        names = list(self.model.encoder.schema_)
        if any(set(record) - set(names) for record in records):
            raise ValueError("a record names a column that the schema has not: see /v1/schema")
        cells = np.empty((len(records), len(names)), dtype=object)
        for i, record in enumerate(records):
            cells[i] = [record.get(name) for name in names]
        return self.model.encoder.transform(cells)

    def _schema(self) -> dict[str, Any]:
        """Return what a row is: public words of the model alone."""
        encoder = self.model.encoder
        raw = {name: {} for name in self.model.columns} if encoder is None else encoder.schema_
        columns = [{"name": name, **words} for name, words in raw.items() if words != "ignore"]
        return {
            "takes": ["rows"] if encoder is None else ["rows", "records"],
            "columns": columns,
            "features": list(self.model.columns),
            "x_norm": getattr(self.fitted, "x_norm", None),
            "classes": self.classes,
            "most_rows": MOST_ROWS,
        }

    def _left(self) -> tuple[int | None, int | None, int | None]:
        """Answers in all, given and left, where that depends on queries alone."""
        if self.ledger is None:
            return None, None, None
        return self.ledger.answers, self.ledger.answered, self.ledger.remaining


@dataclass(frozen=True)
class _Accepted:
    asked: Asked
    cost: Cost


def turns(fitted: Any) -> Any:
    """Return the turns of a fitted interactive estimator."""
    for name in ("ledger_", "dialogue_", "path_"):
        if hasattr(fitted, name):
            return getattr(fitted, name).serving
    raise TypeError(f"{type(fitted).__name__} answers nothing one by one")
