"""The experiments of li2021."""
