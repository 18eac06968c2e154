"""Preprocessing that learns nothing from the records."""
