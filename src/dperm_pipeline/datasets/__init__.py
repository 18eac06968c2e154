"""Data sets: from an address to one Parquet file with public bounds.

`catalogue` reads the entries, `fetch` brings their files here, `prepare` parses and encodes them, `prepared` is the
form that experiments read. Nothing is imported here, so that a job loads only what it uses.
"""
