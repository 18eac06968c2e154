"""Private choice of a support: which s of the p features a sparse model may use (kifer2012, Section 3)."""
