"""The frontier, ours and no paper: how good private models are today, side by side."""

TITLE = "The frontier: the best private models there are (ours, no paper)"
AUTHORS = "measured by this project; nothing here is a claim of a paper"
