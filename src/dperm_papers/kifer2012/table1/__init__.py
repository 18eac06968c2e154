"""kifer2012-table1."""
