"""kifer2012-example1."""
