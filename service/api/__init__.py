"""The contracts that callers meet, one folder each."""
