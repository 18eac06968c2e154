"""kifer2012-bound."""
