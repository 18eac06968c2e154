"""li2021-recycling."""
