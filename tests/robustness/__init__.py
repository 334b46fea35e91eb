"""Faults on purpose: processes that hang or are killed, and hostile callers, against the real service."""
