"""kifer2012-table2."""
