"""Solvers: from arrays to a minimiser and a certificate of how near it is.

Where a docstring says nothing else, X has shape (n, p) and y (n,), one record a row; R problems are solved at once, one
a row of theta (R, p). A solver raises DataError for arrays that do not fit, and ValueError for other arguments outside
their range. It raises nothing where it did not converge, since that depends on private data; only `cubic` and `kernel`
raise SolverError then.
"""
