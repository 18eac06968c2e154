"""The experiments of dwork2018."""
