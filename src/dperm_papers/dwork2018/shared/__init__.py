"""What several experiments of dwork2018 share."""
