"""What a mechanism's noise is worth: exact privacy curves and their conservative inverses (docs/privacy.md)."""
