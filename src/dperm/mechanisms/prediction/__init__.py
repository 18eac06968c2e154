"""Private prediction (dwork2018): one query at a time is answered from the data, and a ledger counts the answers.

Where a docstring says nothing else, epsilon is that of one answer and above 0, r is the public number of shards,
`count` is how many of them vote for label 1, and `rngs` holds a generator for each query.
"""
