"""kifer2012-output."""
