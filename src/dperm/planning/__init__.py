"""What to expect of a private model before any record is looked at: from calibrations and a law of measured errors."""
