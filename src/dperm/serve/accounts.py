"""Who may ask, and how much: analysts' keys, shares and retries, as records of the ledger.

They stand in the log that has the charges and the answers, so that one commit writes them together. Records:

    ["key", name, id, digest, share, rate]   a key was made; share: its new rows in all, null for no limit of its own
    ["revoked", id]                          it may not ask any more
    ["used", id, new, rows]                  about to be answered to it: rows, of which so many are new and charged
    ["used", id, new, rows, retry, body]     the same under an idempotency key, of which and the body salted digests

A request without new rows is no record, or repeats, which are free, would fill the disk: there is nothing that a retry
of it could be charged twice. Its idempotency key is kept in memory, to refuse another body under it.

A key is `dperm_<id>_<secret>`, its secret 256 bits of the system's randomness: no search finds it from a digest.
The digest alone is kept, salted by the ledger, and compared in constant time.

Shares are limits beside the budget's and never more budget: whoever asks, the answers together are those of one
interactive mechanism, and its ledger counts them all (docs/privacy.md, section 12, Theorem T).
"""

import dataclasses
import hmac
import re
import secrets
from typing import NamedTuple

from dperm.errors import ConfigError
from dperm.mechanisms.serving import Listener, Serving

# How many keys there may be: each has a place in what workers share (`shared`).
MOST = 4096
# Of one key; a retry comes soon, or not at all.
_RETRIES = 10_000
KEY = re.compile(r"dperm_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")


class Cost(NamedTuple):
    """What a request cost: rows that were new, those that were free, and what was left of the share then."""

    charged: int
    repeated: int
    remaining: int | None


@dataclasses.dataclass
class Account:
    """One key.

    - place: its number in the order in which keys were made.
    - digest: of the whole key.
    - share: new rows that it may ask in all; None: no limit but the budget.
    - rate: requests a minute.
    - used: new rows that were charged to it.
    - retries: digests of its last idempotency keys, each with that of the body that came with it, and what it cost.
    - free: the same of those under which nothing was charged, as this process knows them.
    """

    name: str
    id: str
    place: int
    digest: str
    share: int | None
    rate: int
    used: int = 0
    revoked: bool = False
    retries: dict[str, tuple[str, "Cost"]] = dataclasses.field(default_factory=dict)
    free: dict[str, tuple[str, "Cost"]] = dataclasses.field(default_factory=dict)

    @property
    def remaining(self) -> int | None:
        """New rows that are left of its share."""
        return None if self.share is None else max(0, self.share - self.used)


class Accounts(Listener):
    """All accounts of a ledger; every method but `forget` and `replay` needs the turn, for `of` to be up to date."""

    def __init__(self, serving: Serving):
        self.serving = serving
        self.forget()
        serving.listen(self)

    def forget(self) -> None:
        """Know of no key, before all are read anew."""
        self.all: dict[str, Account] = {}

    def replay(self, records: list[list]) -> None:
        """Take in what others recorded."""
        for kind, *said in records:
            if kind == "key":
                name, id, digest, share, rate = said
                self.all[id] = Account(name, id, len(self.all), digest, share, rate)
            elif kind == "revoked":
                self.all[said[0]].revoked = True
            elif kind == "used":
                _take(self.all[said[0]], *said[1:])

    def add(self, name: str, *, share: int | None = None, rate: int = 600) -> str:
        """Make a key for an analyst and return it: it is nowhere else."""
        if not (isinstance(name, str) and 0 < len(name) <= 100 and name.isprintable()):
            raise ConfigError(f"the name {name!r} must have 1 to 100 printable characters")
        for what, value in (("share", share), ("rate", rate)):
            if value is not None and value < 1:
                raise ConfigError(f"{what}={value} must be 1 or above")
        if any(one.name == name and not one.revoked for one in self.all.values()):
            raise ConfigError(f"{name!r} has a key; revoke it first, or take another name")
        if len(self.all) == MOST:
            raise ConfigError(f"there are {MOST} keys, revoked ones included, and a ledger has no place for more")
        id = secrets.token_hex(4)
        while id in self.all:
            id = secrets.token_hex(4)
        key = f"dperm_{id}_{secrets.token_urlsafe(32)}"
        self._write(["key", name, id, self.serving.salted(key.encode()), share, rate])
        return key

    def revoke(self, name: str) -> None:
        """Let nobody ask by this analyst's key any more."""
        found = [one for one in self.all.values() if one.name == name and not one.revoked]
        if not found:
            raise ConfigError(f"{name!r} has no key that could be revoked")
        self._write(["revoked", found[0].id])

    def of(self, key: str | None) -> Account | None:
        """Return the account of a key; None of a wrong or revoked one, after as much work."""
        match = KEY.fullmatch(key or "")
        account = self.all.get(match[1]) if match else None
        right = hmac.compare_digest(self.serving.salted((key or "").encode()), account.digest if account else "")
        return account if account and right and not account.revoked else None

    def use(self, account: Account, new: int, rows: int, *retry: str) -> Cost:
        """Charge new rows, of so many, to an account, before they are answered (retry: two digests, or none)."""
        if new:
            self._write(["used", account.id, new, rows, *retry])
        cost = Cost(new, rows - new, account.remaining)
        if retry and not new:
            _keep(account.free, *retry, cost)
        return cost

    def before(self, account: Account, retry: str) -> tuple[str, Cost] | None:
        """Return what came under an idempotency key (its digest): the digest of the body, and what that cost."""
        return account.retries.get(retry) or account.free.get(retry)

    def _write(self, record: list) -> None:
        self.serving.write(record)
        self.replay([record])


def _take(account: Account, new: int, rows: int, retry: str | None = None, body: str = "") -> None:
    account.used += new
    if retry is not None:
        _keep(account.retries, retry, body, Cost(new, rows - new, account.remaining))


def _keep(kept: dict[str, tuple[str, Cost]], retry: str, body: str, cost: Cost) -> None:
    kept[retry] = body, cost
    if len(kept) > _RETRIES:
        del kept[next(iter(kept))]
