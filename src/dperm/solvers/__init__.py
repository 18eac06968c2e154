"""Solvers: from arrays to a minimiser and a certificate of how near it is."""
