"""Private prediction (dwork2018): one query at a time is answered from the data, and a ledger counts the answers."""
