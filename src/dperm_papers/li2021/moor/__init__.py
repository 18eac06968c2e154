"""li2021-moor."""
