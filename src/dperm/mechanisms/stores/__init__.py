"""Where the records of interactive answers stand: in a file, in SQLite or in PostgreSQL (`state=`, `ledger=`).

    state="ledger.journal"                     a file (`mechanisms.journal`)
    state="sqlite:///ledger.sqlite"            SQLite (`stores.sqlite`): three slashes, then the path;
    state="sqlite:////var/lib/ledger.sqlite"   so an absolute one has four
    state="postgresql://user@host/database"    PostgreSQL (`stores.postgres`), which machines can share

All are lists of the same lines under one lock. A line is on disk before the call that writes it returns, each contains
a checksum of itself and of all before it, and whoever takes the lock reads what others wrote. What each of them can
tell of damage, of deletion and of an earlier state that was restored: docs/security.md.

A database may have a witness, a small file elsewhere (another disk, another machine's): `sqlite:///ledger.sqlite#witness=/mnt/w`
(`stores.witness`).
"""
