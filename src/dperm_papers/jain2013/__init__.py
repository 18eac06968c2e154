"""The experiments of jain2013."""

TITLE = "Differentially Private Learning with Kernels"
AUTHORS = "Jain & Thakurta, ICML 2013"
