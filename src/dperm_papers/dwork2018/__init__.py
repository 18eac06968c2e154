"""The experiments of dwork2018."""

TITLE = "Privacy-preserving Prediction"
AUTHORS = "Dwork & Feldman, COLT 2018"
