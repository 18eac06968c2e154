"""Private learning with kernels (jain2013): three query models, and what a user would pick instead of them."""
