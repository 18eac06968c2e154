"""li2021-adult."""
