"""What several experiments of li2021 share."""
