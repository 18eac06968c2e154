"""The auditor: certified lower bounds on what a mechanism really spends (docs/audit.md)."""
