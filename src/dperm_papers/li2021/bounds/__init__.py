"""li2021-bounds."""
